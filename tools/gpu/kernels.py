# SPDX-License-Identifier: Apache-2.0
"""What run_all.py checks of counted and sampled kernels: values against ncu's, ways of replay, findings, lines of Python."""
import csv
import io
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
GPU = HERE.parent.parent / "tests" / "cuda" / "gpu"

TIME = "gpu__time_duration.sum"
# Per cent by which a value may differ from ncu's; 0: equal.
AGAINST_NCU = {
    "smsp__inst_executed.sum": 0, "smsp__thread_inst_executed.sum": 0, "smsp__warps_launched.sum": 0,
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 0,
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 0, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 0,
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 0, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 5,
    "lts__t_sectors.sum": 5, "dram__bytes_read.sum": 5, "dram__bytes_write.sum": 5, TIME: 1, "sm__cycles_elapsed.max": 1,
    "sm__warps_active.avg.pct_of_peak_sustained_active": 3, "sm__throughput.avg.pct_of_peak_sustained_elapsed": 3}
# Compared where they take one pass: before a further one CUPTI and ncu put memory back, each in its way, which caches then have.
ONE_PASS = ["dram__bytes_read.sum", "dram__bytes_write.sum", TIME, "sm__cycles_elapsed.max"]
# More than one pass, few enough that a run for each takes no minute.
REPLAYED = ["smsp__inst_executed.sum", "smsp__warps_launched.sum", "lts__t_sectors.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
            "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "smsp__thread_inst_executed.sum", TIME]
PROGRAMS = [(p, mode) for p in ("transpose", "matmul") for mode in ("bad", "repaired")]
# What the report of the bad program is to name, one of each.
LIMITS = {"transpose": {"uncoalesced", "memory-bound"}, "matmul": {"memory-bound", "latency-bound"}}


def apart(a, b):
    """Per cent."""
    return 100 * abs(a - b) / abs(b) if b else (0 if a == b else 100)


def ncu_values(text):
    """{metric: [value of each launch]} of ncu's CSV in either of its forms."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))
    found = {}
    for row in rows:
        pairs = [(row["Metric Name"], row["Metric Value"])] if "Metric Name" in row else \
            [(name, row[name]) for name in AGAINST_NCU if name in row]
        for name, value in pairs:
            try:
                found.setdefault(name, []).append(float(value.replace(",", "")))
            except ValueError:
                pass  # the row of units
    return found


class Kernels:
    """Needs run_all.Bench: say(), check(), trace(), sql(), one(), run(), kymo, programs, out."""

    def kernels(self):
        begin = time.monotonic()
        plain = {}
        for program in PROGRAMS:
            said = self.printed(self.run([self.programs / program[0], program[1]]))
            if not said or not said.get("right"):
                self.check(f"{program}: runs", False, said)
                return
            plain[program] = said["ms"]
        parts = {"beside ncu": self.against_ncu, "replays": self.replays, "Triton": self.triton,
                 "torch.compile": self.compiled, "repaired": lambda: self.repaired(plain), "costs": self.kernel_costs}
        for name, part in parts.items():
            try:
                part()
            except (subprocess.TimeoutExpired, OSError, KeyError, TypeError) as e:
                self.check(f"kernels, {name}", False, repr(e)[:200])
        self.say("kernels: the whole part, s (<= 180)", f"{time.monotonic() - begin:.0f}")

    def printed(self, done):
        """The JSON that a program printed."""
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                try:
                    return json.loads(line)
                except ValueError:
                    break
        self.log.write(f"no JSON: {done.stdout[-300:]}{done.stderr[-300:]}\n")
        return None

    def values(self, *traces, kernel):
        """{metric: [value of each launch]} of one trace or of the passes of several."""
        found = {}
        for path in traces:
            for name, value in self.sql(path, "SELECT name, value FROM counters WHERE kind = 'dispatch' AND "
                                              f"kernel_name LIKE '{kernel}%' AND value IS NOT NULL ORDER BY id"):
                found.setdefault(name, []).append(value)
        return found

    def notes(self, path):
        return str(self.one(path, "SELECT group_concat(text, '; ') FROM note WHERE part IN ('cuda', 'counter')"))

    # ---- (a) beside ncu ----

    def ncu(self, command, metrics, *options):
        return [shutil.which("ncu"), "--csv", "--print-units", "base", "--clock-control", "none", "--cache-control",
                "none", "--metrics", ",".join(metrics), *options, *command]

    def against_ncu(self):
        if not shutil.which("ncu"):
            self.say("kernels beside ncu", "no ncu here", "skipped")
            return
        for program, mode in PROGRAMS:
            command = [self.programs / program, mode]
            for metrics in ([name for name in AGAINST_NCU if name not in ONE_PASS], ONE_PASS):
                done = self.run(self.ncu(command, metrics), timeout=120)
                theirs = ncu_values(done.stdout)
                if not theirs:
                    self.say(f"{program} {mode}: ncu", (done.stdout + done.stderr).strip()[-120:], "skipped")
                    return
                path, _ = self.trace(f"ncu-{program}-{mode}", command, "--counters", ",".join(metrics))
                ours = self.values(path, kernel=program)
                for name in metrics:
                    self.beside(f"{program} {mode}: {name}", ours.get(name), theirs.get(name), AGAINST_NCU[name])
                self.say(f"{program} {mode}: notes", self.notes(path)[:300])

    def beside(self, title, ours, theirs, most):
        if not ours or not theirs:
            self.check(title, False, f"Kymo {ours}, ncu {theirs}"[:200])
            return
        a, b = statistics.median(ours), statistics.median(theirs)
        self.check(f"{title} ({'equal' if not most else f'<= {most} %'})", apart(a, b) <= most,
                   f"{a:.9g} {b:.9g} {apart(a, b):.2f} %, {len(ours)} and {len(theirs)} launches")

    # ---- (b) ways of replay ----

    def replays(self):
        metrics, seen, traces = ",".join(REPLAYED), {}, {}
        begin = time.monotonic()
        done = self.run([self.kymo, "list", "counters", metrics])
        self.say("kymo list counters: s, passes", f"{time.monotonic() - begin:.2f} {[w.split()[-1] for w in done.stdout.splitlines()]}")
        command = [self.programs / "matmul", "repaired"]
        for way in ("kernel", "application", "rotate", "off"):
            begin = time.monotonic()
            path, done = self.trace(f"replay-{way}", command, "--replay", way, "--counters", metrics)
            wall = time.monotonic() - begin
            traces[way] = sorted(path.parent.glob(f"replay-{way}.pass*.kymo"),
                                 key=lambda p: int(p.name.split(".pass")[1].split(".")[0])) if way == "application" \
                else [path] if path.exists() else []
            seen[way] = self.values(*traces[way], kernel="matmul")
            note = self.notes(traces[way][0]) if traces[way] else done.stderr.strip()[-200:]
            self.say(f"--replay {way}: s, traces, metrics with values; notes",
                     f"{wall:.2f} {len(traces[way])} {len(seen[way])}; {note[:300]}", f"status {done.returncode}")
        for name, most in ((name, AGAINST_NCU[name]) for name in REPLAYED):
            for way in ("application", "rotate"):
                if name in seen[way] or way == "application":
                    self.beside(f"--replay {way}, kernel: {name}"[:80], seen[way].get(name), seen["kernel"].get(name),
                                most)
        self.joined(traces["application"])
        self.chosen(command)

    def joined(self, traces):
        """A row for each launch, with all counters of all runs."""
        if not traces:
            return
        done = self.run([self.kymo, "query", "--kernel-counters", "--format", "json", *traces])
        try:
            rows = json.loads(done.stdout)
            rows = rows.get("rows", rows) if isinstance(rows, dict) else rows
        except ValueError:
            rows = []
        rows = [r for r in rows if str(r.get("kernel", "")).startswith("matmul")]
        full = [r for r in rows if all(r.get(name) is not None for name in REPLAYED)]
        self.check("--replay application: launches joined, with all counters (5)", len(full) == len(rows) == 5,
                   f"{len(rows)} {len(full)} {done.stderr.strip()[-150:]}")

    def chosen(self, command):
        path, _ = self.trace("chosen", command, "--count-kernel", "matmul#2-3", "--counters", "smsp__inst_executed.sum")
        rows = self.sql(path, "SELECT launch, value FROM kernel_counters ORDER BY 1")
        timed = self.one(path, "SELECT count(*) FROM dispatch WHERE duration > 0")
        self.check("--count-kernel matmul#2-3: launches counted; others have times (3)",
                   [r[0] for r in rows] == [2, 3] and timed == 3, f"{rows} {timed}")
        self.say("--count-kernel: notes", self.notes(path)[:300])

    # ---- (c) findings, and what the repair gained ----

    def report(self, path, *options):
        done = self.run([self.kymo, "kernels", "-f", "json", *options, path])
        try:
            return json.loads(done.stdout)["tables"]
        except (ValueError, KeyError):
            self.log.write(f"no report: {done.stdout[-300:]}{done.stderr[-300:]}\n")
            return []

    def repaired(self, plain):
        for program in LIMITS:
            traces, promised = {}, None
            for mode in ("bad", "repaired"):
                begin = time.monotonic()
                traces[mode], _ = self.trace(f"metrics-{program}-{mode}", [self.programs / program, mode, 3],
                                             "--metrics", "2,7,16,12.1")
                self.say(f"{program} {mode}: --metrics, s; notes",
                         f"{time.monotonic() - begin:.1f}; {self.notes(traces[mode])[:200]}")
                found = self.limits(program, mode, traces[mode])
                promised = promised or re.search(r"up to ([\d.]+) times as fast", " ".join(found))
            real = plain[program, "bad"] / plain[program, "repaired"]
            if promised:
                self.check(f"{program} bad: times as fast that the finding promises, and real (apart <= 25 %)",
                           apart(float(promised[1]), real) <= 25, f"{promised[1]} {real:.2f}")
            self.gain(program, traces, real)
            text = self.run([self.kymo, "kernels", "--baseline", traces["bad"], traces["repaired"]])
            (pathlib.Path(self.out) / f"kernels-{program}.txt").write_text(text.stdout + text.stderr)

    def limits(self, program, mode, path):
        tables = self.report(path)
        rows = {r["id"]: r for t in tables for r in t["rows"] if "id" in r and
                str(r.get("kernel", "")).startswith(program)}
        for name in ("2.1.1", "2.1.2", "2.1.3", "2.1.4", "2.1.5", "2.2.23", "16.1.3", "7.2.1", "7.3.1"):
            r = rows.get(name, {})
            self.say(f"{program} {mode}: {name} {r.get('metric')}", f"{r.get('value')} {r.get('unit')}",
                     str(r.get("note") or "")[:100])
        found = [r for t in tables if t["name"] == "findings" for r in t["rows"]
                 if str(r["kernel"]).startswith(program)]
        for r in found:
            self.say(f"{program} {mode}: {r['rule']}", r["finding"])
        rules = {r["rule"] for r in found}
        if mode == "bad":
            self.check(f"{program} bad: the limit is named, one of {sorted(LIMITS[program])}",
                       bool(rules & LIMITS[program]), sorted(rules))
        return [r["finding"] for r in found]

    def gain(self, program, traces, real):
        """What the comparison of both traces tells, against events of the programs without Kymo."""
        rows = [r for t in self.report(traces["repaired"], "--baseline", traces["bad"], "--panel", "7.3.1")
                for r in t["rows"] if r.get("id") == "7.3.1" and str(r.get("kernel", "")).startswith(program)]
        change = rows[0].get("change_1_percent") if rows else None
        told = 1 / (1 + change / 100) if change not in (None, -100) else 0
        self.check(f"{program}: times as fast, told and real (apart <= 25 %)", apart(told, real) <= 25,
                   f"{told:.2f} {real:.2f}")

    # ---- (d) lines of Python ----

    def python_samples(self, what, period, env=None):
        path, done = self.trace(f"python-{what}", ["python3", "-B", GPU / "triton_step.py", what],
                                f"--pc-sampling={period}", env=env)
        said = self.printed(done)
        if not said:
            self.say(f"samples of {what}", (done.stdout + done.stderr).strip()[-200:], "skipped")
            return None, None
        self.check(f"samples of {what}: the program computes what it should", said["ok"], said)
        return path, said

    def triton(self):
        path, said = self.python_samples("triton", 18)
        if not path:
            return
        rows = self.sql(path, "SELECT file, line, sum(samples) AS n FROM device_samples WHERE function LIKE "
                              "'hot_kernel%' GROUP BY 1, 2 ORDER BY 3 DESC")
        every = sum(r[2] for r in rows) or 1
        hot = sum(r[2] for r in rows if r[0] == said["file"] and r[1] == said["line"])
        self.check(f"Triton: samples in line {said['line']}, of {every} of the kernel (> 90 %)", hot > 0.9 * every,
                   f"{100 * hot / every:.1f} % {rows[:3]}"[:200])
        of_kernel = self.one(path, "SELECT sum(samples * (function LIKE 'hot_kernel%')) * 100.0 / sum(samples) FROM "
                                   "device_samples")
        self.check("Triton: samples in its kernel, of all (> 90 %)", (of_kernel or 0) > 90, of_kernel)
        self.instructions(path, "hot_kernel")

    def instructions(self, path, function):
        """Lines with their instructions, where the toolkit's disassembler is here."""
        done = self.run([self.kymo, "kernels", "--panel", "21", "-f", "json", path])
        (pathlib.Path(self.out) / f"samples-{function}.txt").write_text(
            self.run([self.kymo, "kernels", "--panel", "21", path]).stdout)
        try:
            tables = {t["name"]: t for t in json.loads(done.stdout)["tables"]}
        except (ValueError, KeyError):
            self.check(f"{function}: panel 21", False, (done.stdout + done.stderr)[-200:])
            return
        rows = [r for r in tables.get("21.2", {}).get("rows", []) if str(r.get("function", "")).startswith(function)]
        with_text = sum(bool(r.get("instruction")) for r in rows)
        if not shutil.which("nvdisasm"):
            self.say(f"{function}: instructions", f"no nvdisasm here: {with_text} of {len(rows)}", "skipped")
            return
        self.check(f"{function}: sampled instructions with their text, all of {len(rows)}",
                   len(rows) == with_text > 0, [(r["address"], r["instruction"]) for r in rows[:3]])

    def compiled(self):
        folder = self.work / "inductor"
        path, _ = self.python_samples("compile", 14, {"TORCHINDUCTOR_CACHE_DIR": str(folder),
                                                      "TORCHINDUCTOR_COMPILE_THREADS": "1"})
        if not path:
            return
        rows = self.sql(path, "SELECT function, file, count(DISTINCT line) AS lines, sum(samples) AS n FROM "
                              "device_samples WHERE function LIKE 'triton_%' GROUP BY 1, 2 ORDER BY 4 DESC")
        every = sum(r[3] for r in rows) or 1
        ours = sum(r[3] for r in rows if str(r[1]).startswith(str(folder)) and os.path.exists(str(r[1])))
        self.check(f"torch.compile: samples in its generated source, of {every} of its kernels (> 75 %)", ours > 0.75 * every,
                   f"{100 * ours / every:.1f} %")
        for r in rows:  # functions of Triton's and of CUDA's libraries that it calls, inlined
            if not str(r[1]).startswith(str(folder)):
                self.say("torch.compile: samples elsewhere", f"{100 * r[3] / every:.1f} % {r[1]}"[:120])

    # ---- (e) what it costs ----

    def wall(self, command, env=None):
        begin = time.monotonic()
        done = self.run(command, env, timeout=120)
        return time.monotonic() - begin if done.returncode == 0 else None

    def each(self, make, few=20, many=120):
        """Milliseconds of a launch more, with everything that is once left out; `make` is of the launches."""
        walls = [self.wall(*make(n)) for n in (few, many)]
        return None if None in walls else (walls[1] - walls[0]) * 1e3 / (many - few)

    def kernel_costs(self):
        command = lambda n: [self.programs / "transpose", "repaired", n, 1024]  # noqa: E731
        one = ["smsp__inst_executed.sum"]
        counted = lambda metrics, n: self.recorded(command(n), "--counters", ",".join(metrics))  # noqa: E731
        ways = {"alone": lambda n: (command(n),), "kymo": lambda n: (self.recorded(command(n)),),
                "kymo, one counter": lambda n: (counted(one, n),),
                f"kymo, {len(AGAINST_NCU)} counters": lambda n: (counted(AGAINST_NCU, n),)}
        if shutil.which("ncu"):
            ways["ncu, one counter"] = lambda n: (self.ncu(command(n), one),)
            ways[f"ncu, {len(AGAINST_NCU)} counters"] = lambda n: (self.ncu(command(n), AGAINST_NCU),)
        injection = os.environ.get("CUPTI_COUNTING")
        if injection:
            ways["CUPTI's profiling_injection, one counter"] = lambda n: (command(n), {
                "CUDA_INJECTION64_PATH": injection, "INJECTION_METRICS": one[0]})
        for name, make in ways.items():
            ms = self.each(make)
            self.say(f"a launch costs, ms: {name}", "failed" if ms is None else f"{ms:.3f}")
        passes = re.search(r"(\d+) passes|run (\d+) times each|passes: (\d+)", self.notes(
            self.work / f"cost{self.traces}.kymo"))
        self.say(f"passes of these {len(AGAINST_NCU)} counters", next((g for g in passes.groups() if g), "?")
                 if passes else "not told")
        ranges = os.environ.get("CUPTI_RANGES")
        if ranges:
            self.say("CUPTI's range_profiling sample, s", str(self.wall([ranges])))
