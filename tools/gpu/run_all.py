#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests and benchmarks of the CUDA backend on a GPU; see run-all.sh. Prints one table."""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import steps as turns
from checks import Checks
from kernels import Kernels
from lines import Lines

HERE = pathlib.Path(__file__).resolve().parent
GPU = HERE.parent.parent / "tests" / "cuda" / "gpu"
GRAPH_KERNELS = 50  # of app.cu


class Bench(Checks, Kernels, Lines):
    def __init__(self, args):
        self.kymo, self.programs, self.out = args.kymo, pathlib.Path(args.programs), args.out
        self.seconds, self.traces = args.seconds, 0
        self.rows, self.work = [], pathlib.Path(tempfile.mkdtemp())
        self.log = open(pathlib.Path(self.out) / "log.txt", "w", encoding="utf-8")

    def say(self, name, value, verdict=""):
        self.rows.append((name, value, verdict))
        print(f"{name:58} {value:38} {verdict}", flush=True)

    def check(self, name, ok, value):
        self.say(name, str(value), "ok" if ok else "FAILED")

    def run(self, command, env=None, timeout=90):
        done = subprocess.run([str(c) for c in command], env={**os.environ, **(env or {})},
                              capture_output=True, text=True, timeout=timeout)
        self.log.write(f"$ {command}\n{done.stdout}\n{done.stderr}\n")
        self.log.flush()
        return done

    def trace(self, name, command, *options, env=None):
        path = self.work / f"{name}.kymo"
        shutil.rmtree(path, ignore_errors=True)
        done = self.run([self.kymo, "run", "--no-summary", "-o", path, *options, *command], env)
        return path, done

    def sql(self, path, query):
        done = self.run([self.kymo, "query", "--format", "json", path, query])
        try:
            rows = json.loads(done.stdout)
        except ValueError:
            return []
        rows = rows.get("rows", rows) if isinstance(rows, dict) else rows
        return [list(r.values()) if isinstance(r, dict) else r for r in rows]

    def one(self, path, query):
        rows = self.sql(path, query)
        return rows[0][0] if rows else None

    def summary(self, path, name):
        done = self.run([self.kymo, "summary", path])
        (pathlib.Path(self.out) / f"{name}.txt").write_text(done.stdout + done.stderr)

    # ---- what is recorded ----

    def app(self, end):
        plain = self.run([self.programs / "app", end])
        path, done = self.trace(f"app-{end}", [self.programs / "app", end])
        try:
            want = json.loads(done.stdout.splitlines()[0])
            json.loads(plain.stdout.splitlines()[0])  # it runs without Kymo, too
        except (ValueError, IndexError):
            self.check(f"app {end}", False, (done.stdout + done.stderr)[-300:])
            return
        want["kernels"] += "late" in done.stdout
        got = {"kernels": self.one(path, "SELECT count(*) FROM dispatch"),
               "copies": self.one(path, "SELECT count(*) FROM copy m JOIN op o ON o.id=m.op "
                                        "WHERE o.name IN ('read','write','copy')"),
               "sets": self.one(path, "SELECT count(*) FROM copy m JOIN op o ON o.id=m.op "
                                      "WHERE o.name='fill'")}
        self.check(f"app {end}: kernels, copies, sets", all(got[k] == want[k] for k in got),
                   " ".join(f"{got[k]}/{want[k]}" for k in got))
        lost = self.one(path, "SELECT count(*) FROM dispatch WHERE call IS NULL OR call & "
                              "0xffffffffff = 0 OR start IS NULL OR early")
        self.check(f"app {end}: kernels without call or time, or early", lost == 0, lost)
        if end != "return":
            return
        self.durations(path, want["event_us"])
        path2, _ = self.trace("app-graph", [self.programs / "app"],
                              env={"KYMO_CUDA_GRAPHS": "graph"})
        by_graph = self.sql(path2, "SELECT sum(s.text LIKE '%graph%') g, count(*) n FROM dispatch k "
                                   "JOIN kernel n ON n.id=k.kernel JOIN string s ON s.id=n.name")
        nodes = self.one(path, "SELECT count(*) FROM launch WHERE graph")
        self.check("by graph: graphs, all", by_graph == [[10, want["kernels"] - nodes + 10]], by_graph)
        self.say("app: graph nodes", str(self.sql(
            path, "SELECT count(*), count(DISTINCT graph), count(DISTINCT graph_node) FROM launch "
                  "WHERE graph")))
        self.say("app: clusters, priorities", str(self.sql(
            path, "SELECT (SELECT count(*) FROM launch WHERE cluster_x > 1), "
                  "(SELECT group_concat(properties >> 32) FROM queue)")))
        for what, query in (
                ("migrations, bytes", "SELECT count(*), sum(bytes) FROM copy m JOIN op o ON "
                                      "o.id=m.op WHERE o.name='migrate'"),
                ("faults", "SELECT count(*) FROM copy m JOIN op o ON o.id=m.op WHERE "
                           "o.name='fault'"),
                ("nested calls", "SELECT count(*) FROM call_extra WHERE parent"),
                ("allocations, frees", "SELECT sum(calls), sum(frees) FROM tally_allocation"),
                ("waits", "SELECT group_concat(o.name || ' ' || n) FROM (SELECT op, count(*) n "
                          "FROM sync GROUP BY op) JOIN op o ON o.id=op"),
                ("notes", "SELECT group_concat(text, '; ') FROM note")):
            self.say(f"app: {what}", str(self.sql(path, query))[:300])
        self.summary(path, "app")
        self.store(path, "app.kymo")

    def durations(self, path, by_event):
        """Kernels that take ever longer, then ten and twenty in a row, each lot after one other."""
        rows = self.sql(path, "SELECT k.start, k.duration FROM dispatch k JOIN kernel n "
                        "ON n.id=k.kernel JOIN string s ON s.id=n.name WHERE s.text LIKE '%spin%' "
                        "ORDER BY k.start")
        if len(rows) != 50:
            self.check("kernels beside events", False, len(rows))
            return
        apart = [e - rows[2 * i + 1][1] / 1e3 for i, e in enumerate(by_event[:9])]
        self.say("event time less kernel time, us: empty kernel, others",
                 f"{apart[0]:.2f}; " + " ".join(f"{a:.2f}" for a in apart[1:]))
        most = max(abs(a - apart[0]) for a in apart)
        self.check("the same less what it is for the empty one: most, us (<= 1)", most <= 1, f"{most:.2f}")
        lots = [rows[19:29], rows[30:50]]
        spans = [(lot[-1][0] + lot[-1][1] - lot[0][0]) / 1e3 for lot in lots]
        one = ((by_event[10] - by_event[9]) / 10, (spans[1] - spans[0]) / 10)
        self.check("a kernel in a row, 20 less 10: event, kernel, us (apart <= 1)",
                   abs(one[0] - one[1]) <= 1, f"{one[0]:.3f} {one[1]:.3f}")

    def store(self, path, name):
        shutil.make_archive(str(pathlib.Path(self.out) / name), "gztar", path)

    # ---- what doctor says; OpenCL ----

    def doctor(self):
        done = self.run([self.kymo, "doctor"])
        for line in done.stdout.splitlines():
            if line[6:].startswith(("CUDA ", "CUPTI ")):
                self.say("doctor: " + line[6:22].strip(), line[23:], line[:5].strip())

    def layout(self):
        """What the sources declare of CUPTI is what the headers here say."""
        done = self.run(["python3", "-B", GPU.parent / "test_cuda.py", self.kymo, "layout"])
        self.check("layout of CUPTI's structures", done.returncode == 0,
                   (done.stdout + done.stderr).strip()[-100:])

    def opencl(self):
        """The programs of tests/programs, with their own counts, on NVIDIA's driver alone."""
        vendors = self.work / "vendors"
        vendors.mkdir(exist_ok=True)
        (vendors / "nvidia.icd").write_text("libnvidia-opencl.so.1\n")
        path = f"{self.programs}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
        env = {"OCL_ICD_VENDORS": str(vendors), "LD_LIBRARY_PATH": path}
        tests = HERE.parent.parent / "tests" / "cli"
        others = ("ocl_sleepy", "ocl_two", "ocl_hang", "ocl_flood", "ocl_calls") # which count nothing
        names = sorted(p.name for p in self.programs.glob("ocl_*") if p.name not in others)
        for name in names:
            test = "test_quick.py" if name == "ocl_quick" else "test_programs.py"
            done = self.run(["python3", "-B", tests / test, self.kymo, self.programs / name], env, timeout=400)
            last = (done.stdout.strip().splitlines() or [done.stderr[-200:]])[-1]
            if done.returncode == 77:
                self.say(f"OpenCL: {name}", last[:100], "skipped")
            else:
                self.check(f"OpenCL: {name}", done.returncode == 0, last[:100])
        if not names:
            self.say("OpenCL", "no programs in GPU_PROGRAMS", "skipped")

    # ---- samples and counters of kernels ----

    def hot(self, launches, *options):
        """The program with one hot line: its trace, and what it printed."""
        path, done = self.trace("hot", [self.programs / "hot", launches, 20000], *options)
        try:
            return path, json.loads(done.stdout.splitlines()[0])
        except (ValueError, IndexError):
            self.check("hot " + " ".join(options), False, (done.stdout + done.stderr)[-200:])
            return path, None

    def samples(self):
        totals = []
        for launches in (20, 200):
            path, said = self.hot(launches, "--pc-sampling")
            if not said:
                return
            totals.append(self.one(path, "SELECT sum(samples) FROM device_samples"))
            share = self.one(path, f"SELECT sum(samples * (line = {said['line']})) * 100.0 / "
                                   "sum(samples) FROM device_samples WHERE function LIKE 'hot%'")
            self.check(f"samples: in the hot line, of {totals[-1]} (> 90 %)", (share or 0) > 90, share)
        self.check("samples: ten times the work, samples (9 to 11 times)",
                   9 < totals[1] / max(totals[0], 1) < 11, totals)
        plain = json.loads(self.run([self.programs / "hot", "200", "20000"]).stdout)["ms"]
        self.say("samples: kernels without, with, ms", f"{plain:.1f} {said['ms']:.1f}")
        self.say("samples: fetched at times", str(self.one(
            path, "SELECT count(DISTINCT time) FROM device_samples")))
        self.summary(path, "samples")
        path, said = self.hot(5, "--pc-sampling", "--pc-serialize")
        self.check("samples, serialized: launches with samples of 5 and 1", self.one(
            path, "SELECT count(DISTINCT call_id) FROM device_samples") in (5, 6), said)
        path, said = self.hot(20, "--pc-sampling=5")
        self.check("samples: too often is said", self.one(
            path, "SELECT sum(buffer_full + lost) > 0 FROM tally_device_sample") == 1,
            self.one(path, "SELECT group_concat(text) FROM note"))

    def counters(self):
        done = self.run([self.kymo, "list", "counters"])
        n = sum(line.startswith("cuda:") for line in done.stdout.splitlines())
        self.check("counters listed for the device (> 1000)", n > 1000, n)
        path, said = self.hot(5, "--counters", "smsp__warps_launched.sum,smsp__inst_executed.sum")
        if not said:
            return
        rows = self.sql(path, "SELECT value FROM counters WHERE name = 'smsp__warps_launched.sum' AND "
                              "kernel_name LIKE 'hot%'")
        self.check("counters: warps launched, each of 5", rows == [[said["warps"]]] * 5, rows)
        rows = self.sql(path, "SELECT min(value), max(value), count(*) FROM counters WHERE "
                              "name = 'smsp__inst_executed.sum' AND kernel_name LIKE 'hot%'")
        self.check("counters: instructions, the same each time", rows and rows[0][0] == rows[0][1] > 0,
                   rows)
        path, done = self.trace("counted", [self.programs / "app"], "--counters",
                                "smsp__warps_launched.sum")
        plain = self.run([self.programs / "app"])
        self.check("counters: a program with graphs and captures runs on",
                   done.returncode == plain.returncode == 0, done.stderr[-200:])
        want = json.loads(plain.stdout.splitlines()[0])["kernels"] - GRAPH_KERNELS
        self.check(f"counters: all of its kernels but those of graphs ({want})", self.one(
            path, "SELECT count(*) FROM counters WHERE kind = 'dispatch'") == want, str(self.sql(
                path, "SELECT kernel_name, count(*) FROM counters WHERE kind = 'dispatch' GROUP BY 1")))
        self.say("counters: notes", str(self.sql(path, "SELECT group_concat(text,'; ') FROM note"))[:200])
        path, _ = self.hot(2, "--pc-sampling", "--counters", "smsp__warps_launched.sum")
        self.check("samples and counters together are refused", "cannot both" in str(self.one(
            path, "SELECT group_concat(text) FROM note")), "said")

    # ---- programs and tools that use CUPTI themselves ----

    def profilers(self):
        """What a profiler of the program's own sees, or one that the program runs under."""
        for what in ("torch", "jax"):
            command = ["python3", "-B", GPU / "profiled.py", what]
            plain = self.run(command, timeout=180).stdout.strip().splitlines()[-1:]
            path, done = self.trace(f"profiled-{what}", command)
            seen = done.stdout.strip().splitlines()[-1:]
            self.check(f"{what}'s own profiler: events of the GPU, without and with Kymo",
                       seen == plain and plain and min(json.loads(plain[0])) > 0, f"{plain} {seen}")
            note = str(self.one(path, "SELECT group_concat(text) FROM note WHERE part = 'cuda'"))
            self.check(f"{what}'s own profiler: said", "only one tool can use CUPTI" in note, note)
            self.check(f"{what}'s own profiler: kernels until then",
                       (self.one(path, "SELECT count(*) FROM dispatch") or 0) > 0, "some")
        self.under_ncu()

    def under_ncu(self):
        ncu = shutil.which("ncu")
        if not ncu:
            self.say("ncu", "not here", "skipped")
            return
        command = [ncu, "--metrics", "smsp__inst_executed.sum", self.programs / "hot", "2", "200"]
        plain = re.findall(r"inst_executed.sum\s+inst\s+([\d,]+)", self.run(command, timeout=180).stdout)
        path, done = self.trace("ncu", command)
        seen = re.findall(r"inst_executed.sum\s+inst\s+([\d,]+)", done.stdout)
        self.check("kymo run ncu: what ncu counts, without and with Kymo", plain and seen == plain,
                   f"{plain} {seen}")
        note = str(self.one(path, "SELECT group_concat(text) FROM note WHERE part = 'cuda'"))
        self.check("kymo run ncu: said", "Nsight Compute" in note, note[:200])

    # ---- what it costs ----

    def floor(self, what):
        return {"FLOOR": what, "CUDA_INJECTION64_PATH": str(self.programs / "libfloor.so")}

    def recorded(self, command, *options):
        """The command under kymo, each time into a trace of its own."""
        self.traces += 1
        return [self.kymo, "run", "--no-summary", "-o", self.work / f"cost{self.traces}.kymo",
                *options, *command]

    def compare(self, title, ways, seconds, steps, unit, rare=()):
        """Percent that each way adds, from processes that take turns; see steps.py."""
        servers = turns.measure(ways, pathlib.Path(self.out) / "turns.log", seconds, steps, rare)
        added = turns.compare(servers, "time")
        for name, (median, low, high) in added.items():
            blocks = [b["time"] for s in servers if s.name == name for _, b in s.blocks]
            self.say(f"{title}: {name}", f"{statistics.median(blocks):.3f} {unit} {median:+.1f} % "
                     f"({low:+.1f} to {high:+.1f})", f"{len(blocks)} turns")
        return {name: (median, statistics.median(b["time"] for s in servers if s.name == name
                                                 for _, b in s.blocks))
                for name, (median, _, _) in added.items()}

    def ways(self, command, kineto=False):
        """Fresh processes differ a little: those that matter are there more than once."""
        every = [("none", command, {}), ("none", command, {})]
        every += [(f"CUPTI {text}", command, self.floor(what))
                  for what, text in (("a", "activities"), ("ar", "activities, runtime callback"))
                  for _ in range(2)]
        every += [("kymo", self.recorded(command), {}) for _ in range(3)]
        every += [("kymo --args none", self.recorded(command, "--args", "none"), {})]
        if kineto:
            every += [("kineto CUDA only", [*command, "kineto_cuda"], {}),
                      ("kineto CPU and CUDA", [*command, "kineto"], {})]
        sample = os.environ.get("CUPTI_SAMPLE")
        if sample:
            every += [("cupti_trace_injection", command,
                       {"CUDA_INJECTION64_PATH": sample, "NVTX_INJECTION64_PATH": ""})
                      for _ in range(1 if kineto else 2)]
        return every

    def rates(self):
        got = self.compare("launch", self.ways([self.programs / "launch_rate", "0"]),
                           self.seconds, 5000, "ns")
        floor, sample = got["CUPTI activities, runtime callback"], got.get("cupti_trace_injection")
        above = (got["kymo"][0] - floor[0]) / 100 * got["none"][1]
        self.check("kymo above the floor of CUPTI, a launch (<= 200 ns)", above <= 200,
                   f"{above:.0f} ns")
        if sample:
            self.check("kymo dearer than CUPTI's sample, a launch (< 0)", got["kymo"][0] < sample[0],
                       f"{(got['kymo'][0] - sample[0]) / 100 * got['none'][1]:.0f} ns")

    def small(self):
        command = ["python3", "-B", GPU / "train.py", "small", "0"]
        got = self.compare("small step", self.ways(command, kineto=True), self.seconds * 2, 20, "ms",
                           {"kineto CUDA only", "kineto CPU and CUDA", "cupti_trace_injection"})
        self.check("small step: kymo adds <= 10 %", got["kymo"][0] <= 10, f"{got['kymo'][0]:+.1f} %")

    def memory(self):
        done = self.run(self.recorded([self.programs / "launch_rate", "0", str(self.seconds)]),
                        timeout=self.seconds + 120)
        found = re.search(r"rss_kb ([\d ]+) launches (\d+)", done.stdout)
        sizes = [int(w) / 1024 for w in found.group(1).split()] if found else []
        # The buffer reaches its size in the first half; what leaks would go on in the second.
        self.check("resident memory after each tenth of a flat out run, MiB (second half grows < 1)",
                   len(sizes) == 10 and sizes[-1] - sizes[4] < 1, " ".join(f"{m:.1f}" for m in sizes))
        n = self.one(self.work / f"cost{self.traces}.kymo", "SELECT sum(calls) FROM tally_dispatch")
        self.check("kernels of that run", found and n == int(found.group(2)), n)

    def million(self):
        path, done = self.trace("million", [self.programs / "launch_rate", "1000000"])
        self.say("1,000,000 launches under kymo", done.stdout.strip())
        n = self.one(path, "SELECT sum(calls) FROM tally_dispatch")
        self.check("kernels recorded of 1,001,000", n == 1001000, n)
        self.say("lost", str(self.sql(path, "SELECT sum(calls), sum(gaps) FROM tally_loss")))
        self.say("kernels without their call", str(self.one(
            path, "SELECT count(*) FROM dispatch WHERE call & 0xffffffffff = 0 OR call IS NULL")))
        used = re.search(r"rss_kb (\d+)", done.stdout)
        plain = re.search(r"rss_kb (\d+)", self.run([self.programs / "launch_rate", "1000000"]).stdout)
        if used and plain:
            self.say("resident memory added, MiB",
                     f"{(int(used.group(1)) - int(plain.group(1))) / 1024:.0f}")
        raw = sum(f.stat().st_size for f in (path / "raw").glob("*"))
        self.say("bytes of raw trace a launch", f"{raw / 1001000:.1f}")
        self.say("notes", str(self.sql(path, "SELECT group_concat(text,'; ') FROM note"))[:300])
        self.summary(path, "million")

    # ---- PyTorch ----

    def step(self, what, steps, tool="none", traced=False, env=None, options=()):
        command = ["python3", GPU / "train.py", what, str(steps), tool]
        if traced:
            name = "-".join(["train", what, *(o.strip("-") for o in options)])
            path, done = self.trace(name, command, *options, env=env)
        else:
            path, done = None, self.run(command, env)
        try:
            return json.loads(done.stdout.strip().splitlines()[-1]), path
        except (ValueError, IndexError):
            self.say(f"train {what} {tool}", "failed: " + (done.stdout + done.stderr)[-300:])
            return None, path

    def training(self, what, steps, mark, rounds):
        """Rounds differ more than tools do, so each way is compared with `none` of its round."""
        times, kernels, path = {}, {}, None
        for i in range(rounds):
            for name, tool, traced, options in (
                    ("none", "none", False, ()), ("kymo", "none", True, ()),
                    ("kineto CUDA only", "kineto_cuda", False, ())):
                got, p = self.step(what, steps, tool, traced, options=options)
                if not got:
                    continue
                times.setdefault(name, []).append(got["median_ms"])
                kernels[name] = got["kernels"]
                path = p if name == "kymo" else path
                if name == "kymo":
                    kernels[name] = self.one(p, "SELECT sum(calls) FROM tally_dispatch")
        more = {name: (statistics.median(t / n for t, n in zip(ms, times["none"])) - 1) * 100
                for name, ms in times.items()}
        for name, ms in times.items():
            every = " ".join(f"{m:.2f}" for m in ms)
            self.say(f"train {what}: {name}", f"{statistics.median(ms):.3f} ms a step "
                     f"{more[name]:+.1f} % ({every})", f"kernels {kernels[name]}")
        if "kymo" in times:
            self.check(f"train {what}: kymo adds <= {mark} %", more["kymo"] <= mark,
                       f"{more['kymo']:+.1f} %")
        if path:
            self.summary(path, f"train-{what}")
            self.say(f"train {what}: launches", str(self.sql(
                path, "SELECT o.name, sum(t.calls) n FROM tally_call t JOIN op o ON o.id = t.op "
                      "WHERE o.name LIKE '%Launch%' GROUP BY 1"))[:120])
            self.say(f"train {what}: notes",
                     str(self.sql(path, "SELECT group_concat(text,'; ') FROM note"))[:300])

    def everything(self, only):
        parts = {"doctor": self.doctor,
                 "app": lambda: [self.app(e) for e in ("return", "exit", "_exit", "handler",
                                                       "fork", "reset")],
                 "samples": self.samples, "counters": self.counters, "kernels": self.kernels,
                 "sass": self.sass, "ptx": self.lines, "layout": self.layout,
                 "edge": self.edge, "hang": self.hang, "multi": self.multi,
                 "profilers": self.profilers, "attach": self.attach,
                 "opencl": self.opencl, "roofs": self.roofs,
                 "rates": self.rates, "million": self.million, "memory": self.memory,
                 "small": self.small,
                 "large": lambda: self.training("large", 20, 1, 1)}
        for name, part in parts.items():
            if only and name not in only.split(","):
                continue
            try:
                part()
            except (subprocess.TimeoutExpired, OSError, statistics.StatisticsError) as e:
                self.check(name, False, repr(e)[:200])
        return any(v == "FAILED" for _, _, v in self.rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--kymo", "--programs", "--out"):
        parser.add_argument(option, required=True)
    parser.add_argument("--only")
    parser.add_argument("--seconds", type=int, default=30, help="of each measurement")
    args = parser.parse_args()
    sys.exit(Bench(args).everything(args.only))


if __name__ == "__main__":
    main()
