#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sampling and counting of kernels, on the fake for CUPTI: test_profile.py KYMO WHAT."""
import collections
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "annotation"))
import base  # noqa: E402
from base import check, must  # noqa: E402

HOT, COLD = "hot(float*, int)", "cold(float*)"
SAMPLED = [(COLD, None, 0, 0x20, "wait", 5, 5), (HOT, "/src/hot.cu", 102, 0x20, "long_scoreboard", 60, 50),
           (HOT, "/src/hot.cu", 102, 0x20, "wait", 10, 0), (HOT, "/src/hot.cu", 102, 0x28, "selected", 5, 0),
           (HOT, "/src/hot.cu", 104, 0x40, "wait", 20, 15)]
ROWS = ("SELECT function, file, ifnull(line, 0), offset, reason, samples, idle FROM device_samples "
        "ORDER BY 1, 4, 5")


class Test(base.Test):
    def build(self):
        flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-pthread"]
        self.library = self.compile(
            "libcupti-fake.so", *flags, "-shared", "-fPIC", os.path.join(HERE, "fake.c"),
            os.path.join(HERE, "fake_profile.c"), os.path.join(HERE, "fake_range.c"))
        self.built = self.compile("program", *flags, os.path.join(HERE, "profile.c"),
                                  os.path.join(HERE, "calls.c"), self.library)

    def scene(self, *words, version="130001", options=("--pc-sampling",), env=None):
        more = {"KYMO_CUPTI": self.library, "FAKE_VERSION": version, **(env or {})}
        return self.record(self.built, *words, env=more, options=options, plain=False)

    def rows(self, sql):
        return [tuple(r.values()) for r in self.query(sql)]

    def notes(self):
        return [r[0] for r in self.rows("SELECT text FROM note WHERE part = 'cuda'")]

    def noted(self, what, words):
        check(f"{what}: note", [n for n in self.notes() if words in n] != [], True)

    def table(self, name):
        tables = json.loads(must(self.kymo, "summary", "--format", "json", self.trace))["tables"]
        return next((t for t in tables if t["name"] == name), None)

    def test_pc(self):
        """Samples with function, line, reason; by every layout."""
        self.build()
        for version in ("18", "21", "22", "28", "130000", "130001"):
            out = self.scene("pc", version=version)
            check(f"{version}: what CUPTI was told", out, "period 18 mode 1\n")
            check(f"{version}: samples", self.rows(ROWS), SAMPLED)
            check(f"{version}: notes", self.notes(), [])
        check("module", self.rows("SELECT DISTINCT function, module FROM device_samples ORDER BY 1"),
              [(COLD, "4e"), (HOT, "4d")])
        page = self.trace + ".md"
        must(self.kymo, "report", "-f", "-o", page, self.trace)
        with open(page, encoding="utf-8") as f:
            lines = f.read().replace("\\*", "*").partition("Samples by line")[2].splitlines()
        check("in the report", [line.split(" | ")[4] for line in lines if HOT in line][:2], ["75", "20"])
        check("agent, period", self.rows("SELECT DISTINCT agent_name, cycles FROM device_samples"),
              [("Fake GPU", 1 << 18)])
        check("call", self.rows("SELECT count(call_id) FROM device_samples"), [(0,)])
        check("time", self.rows("SELECT count(*) FROM device_samples WHERE time < 0 OR duration < 0"),
              [(0,)])

    def test_reports(self):
        """The summary's table, records as text, from raw files and from the store."""
        self.build()
        self.scene("pc")
        for where in ("raw", "store"):
            text = must(self.kymo, "summary",
                        self.trace if where == "raw" else f"{self.trace}/store.db")
            lines = [x.strip() for x in text.splitlines()]
            first = next((x for x in lines if x.startswith(HOT)), "")
            check(f"{where}: the hottest line", "/src/hot.cu:102" in first and
                  "long_scoreboard 80 %, wait 13 %, selected 7 %" in first and " 75 " in first, True)
            check(f"{where}: all reasons", "long_scoreboard 60 %, wait 35 %, selected 5 %" in text, True)
            check(f"{where}: no line", "5 samples have no line" in text, True)
            self.query("SELECT 1 AS one")
        shown = must(self.kymo, "show", self.trace)
        out = self.path("t.json")
        must(self.kymo, "export", "--to", "json", "-o", out, self.trace)
        with open(out, encoding="utf-8") as f:
            records = [r for r in json.load(f)["records"] if r["kind"] == "device_sample"]
        check("json", sorted((r["function"], r.get("file"), r.get("line", 0), r["offset"], r["reason"],
                              r["samples"], r["idle"]) for r in records), SAMPLED)
        check("show", "hot(float*, int)+32 /src/hot.cu:102 long_scoreboard samples=60 idle=50" in shown,
              True)

        self.otf2()

    def otf2(self):
        """As calling contexts in an archive of their own, with the library's reader."""
        out = self.path("t.otf2")
        told = subprocess.run([self.kymo, "export", "--to", "otf2", "-o", out, self.trace], capture_output=True,
                              text=True, timeout=120, check=False)
        if told.returncode or subprocess.run(["/usr/bin/python3", "-c", "import otf2"], capture_output=True,
                                             check=False).returncode:
            print("no OTF2 here")
            return
        found = json.loads(must("/usr/bin/python3", os.path.join(os.path.dirname(HERE), "otf2", "check.py"),
                                os.path.join(out, "samples.otf2")))
        wanted = {}
        for r in SAMPLED:
            wanted[r[0]] = wanted.get(r[0], 0) + r[5]
        check("otf2", (found["sampled"], found["events"]["CallingContextSample"]), (wanted, len(SAMPLED)))

    def instructions(self, tool):
        """{(function, address): instruction} and the table's notes, with that disassembler alone in PATH."""
        folder = self.path(f"with-{tool}")
        os.makedirs(folder, exist_ok=True)
        if tool:
            shutil.copy(os.path.join(HERE, "nvdisasm.sh"), os.path.join(folder, tool))
        env = dict(os.environ, PATH=f"{folder}:/usr/bin:/bin", CUDA_HOME="", CUDA_PATH="")
        command = (self.kymo, "kernels", "--panel", "21.2", self.trace)
        rows = json.loads(base.run(*command, "-f", "json", env=env).stdout)["tables"][0]["rows"]
        return {(r["function"], r["address"]): r for r in rows}, " ".join(base.run(*command, env=env).stdout.split())

    def test_instructions(self):
        """Samples by instruction, with the text that a disassembler has of the code in the trace."""
        self.build()
        self.scene("ran")
        check("the code, once", self.rows("SELECT what, stored = total FROM blob"), [("cubin 4d", 1)])
        rows, _ = self.instructions("nvdisasm")
        check("by nvdisasm", {k: r["instruction"] for k, r in rows.items()},
              {(HOT, "0x20"): "@!P0 LDG.E R2, desc[UR4][R2.64]", (HOT, "0x28"): "FFMA R2, R2, R2, 1",
               (HOT, "0x40"): "BRA `(.L_x_0)", (COLD, "0x20"): None})
        r = rows[HOT, "0x20"]
        check("samples", (r["file"], r["line"], r["samples"], r["share_percent"], r["stalls"]),
              ("/src/hot.cu", 102, 70, 70, "long_scoreboard 60, wait 10"))
        rows, said = self.instructions("cuobjdump")
        check("by cuobjdump", rows[HOT, "0x20"]["instruction"], "@!P0 LDG.E R2, desc[UR4][R2.64]")
        check("unknown ones are counted", "text of 3 instructions N/A" in said, True)
        if os.path.exists("/usr/local/cuda/bin/nvdisasm") or shutil.which("nvdisasm", path="/usr/bin:/bin"):
            return
        rows, said = self.instructions("")
        check("without", ({r["instruction"] for r in rows.values()}, "install NVIDIA's CUDA toolkit" in said),
              ({None}, True))

    def test_soon(self):
        """How soon loads are used: the one whose use waits right behind it is a finding, the other is not."""
        self.build()
        self.scene("soon")
        rows, _ = self.instructions("nvdisasm")
        far = "far(float*)"
        check("used after", {k: r["use_after"] for k, r in rows.items() if r["use_after"]}, {(far, "0x0"): 11})
        env = dict(os.environ, PATH=f"{self.path('with-nvdisasm')}:/usr/bin:/bin", CUDA_HOME="", CUDA_PATH="")
        report = json.loads(base.run(self.kymo, "kernels", "-f", "json", self.trace, env=env).stdout)
        rows = [r for t in report["tables"] if t["name"] == "findings" for r in t["rows"]]
        check("findings", [(r["kernel"], r["finding"]) for r in rows if r["rule"] == "use-too-soon"], [
            (HOT, "use too soon at /src/hot.cu:102: FFMA R2, R2, R2, 1 needs what @!P0 LDG.E R2, desc[UR4][R2.64] loads 1 instructions "
             "before; 60 of 100 samples (60.0 %) wait there for memory")])

    def test_many(self):
        """More instructions than are fetched at once; what the device dropped is counted."""
        self.build()
        self.scene("many", options=("--pc-sampling=12",))
        check("samples", self.rows("SELECT count(*), sum(samples), min(line), max(line) FROM "
                                   "device_samples"), [(5000, 5000, 100, 5099)])
        check("lost", self.rows("SELECT sum(lost) FROM tally_device_sample"), [(7,)])
        text = must(self.kymo, "summary", self.trace)
        check("lost: said", ("7 samples were lost" in text, "Lost: 7 samples." in text), (True, True))
        strict = subprocess.run([self.kymo, "summary", "--strict", self.trace], capture_output=True, timeout=120,
                                check=False)
        check("lost: --strict, though all records are there", strict.returncode, 1)
        for words, wanted in (("many", 1), ("pc", 0)):
            run = subprocess.run([self.kymo, "run", "--strict", "--no-summary", "-f", "-o", self.trace, "--pc-sampling=12",
                                  self.built, words], capture_output=True, timeout=120, check=False,
                                 env=dict(os.environ, KYMO_CUPTI=self.library, FAKE_VERSION="130001"))
            check(f"run --strict {words}", run.returncode, wanted)

    def test_full(self):
        self.build()
        self.scene("full", options=("--pc-sampling=12",))
        check("buffer full", self.rows("SELECT sum(buffer_full) FROM tally_device_sample"), [(1,)])
        self.noted("full", "--pc-sampling=14")
        text = must(self.kymo, "summary", self.trace)
        check("full: said", ("buffer was full 1 times" in text, "Lost: 1 unmeasured gap." in text),
              (True, True))

    def test_serialized(self):
        """Kernels one at a time: samples know their launch."""
        self.build()
        out = self.scene("pc", options=("--pc-sampling=9", "--pc-serialize"))
        check("mode", out, "period 9 mode 2\n")
        check("launches", self.rows(
            "SELECT s.offset, count(DISTINCT s.call_id), min(r.name) FROM device_samples s LEFT JOIN "
            "regions r ON r.event_id = s.call_id GROUP BY 1 ORDER BY 1"),
            [(0x20, 1, "cudaLaunchKernel"), (0x28, 1, "cudaLaunchKernel"), (0x40, 1, "cudaLaunchKernel")])
        check("two of them", self.rows("SELECT count(DISTINCT call_id) FROM device_samples"), [(2,)])

    def test_refused(self):
        """Why not is said; everything else is recorded."""
        self.build()
        self.scene("count", options=("--counters", "smsp__warps_launched.sum:device=0,page-faults"))
        check("of device 0", [r[2] for r in self.rows(self.COUNTED)], [4, 8, 16, 32, 64])
        self.scene("count", options=("--counters", "smsp__warps_launched.sum:device=0-1"))
        check("of no device", [n[0] for n in self.rows("SELECT text FROM note WHERE part = 'counter'")],
              ["not counted: smsp__warps_launched.sum is of no device 1: devices that have it are numbered 0 to 0"])
        for result, words in (("35", "administrator"), ("26", "another profiler"),
                              ("27", "does not support"), ("43", "MIG"), ("41", "confidential"),
                              ("999", "999")):
            out = self.scene("pc", env={"FAKE_REFUSE_PROFILE": result})
            check(f"{result}: not sampled", out, "period 0 mode 0\n")
            self.noted(result, words)
            check(f"{result}: calls", self.rows("SELECT count(*) FROM regions"), [(2,)])
            check(f"{result}: samples", self.rows(ROWS), [])

    def test_ends(self):
        """A context that ends before the process does; no sampling where it was not asked for."""
        self.build()
        out = self.scene("end")
        check("off at the end", out.splitlines()[-1], "period 0")
        check("samples", self.rows(ROWS), SAMPLED)
        out = self.scene("pc", options=())
        check("not asked for", out, "period 0 mode 0\n")
        check("not asked for: samples", self.rows(ROWS), [])
        for wrong in ("4", "32"):
            done = base.run(self.kymo, "run", f"--pc-sampling={wrong}", "true")
            check(f"period {wrong}", (done.returncode, "5 to 31" in done.stderr), (2, True))

    def test_service(self):
        """A tool of its own: services, a pause, what codes and reasons mean."""
        self.build()
        tool = self.compile("tool.so", "-std=gnu11", "-shared", "-fPIC", "-I", self.source + "/include",
                            os.path.join(HERE, "profile_tool.c"))
        out = self.path("samples")
        printed = self.scene("paused", options=(), env={"KYMO_TOOLS": tool, "TOOL_OUT": out})
        check("on, off, on", printed, "period 10 mode 1\nperiod 0\nperiod 10\n")
        with open(out, encoding="utf-8") as f:
            lines = f.read().splitlines()
        check("service", lines[0].split(),
              ["OK", "ERROR_EXISTS", "ERROR_BUSY", "ERROR_INVALID_ARGUMENT"])
        twice = ["_Z3hotPfi+32 /src/hot.cu:102 long_scoreboard 60 50 every 1024",
                 "_Z3hotPfi+32 /src/hot.cu:102 wait 10 0 every 1024",
                 "_Z3hotPfi+40 /src/hot.cu:102 selected 5 0 every 1024",
                 "_Z3hotPfi+64 /src/hot.cu:104 wait 20 15 every 1024",
                 "_Z4coldPf+32 :0 wait 5 5 every 1024"] * 2
        check("samples before and after the pause", sorted(lines[1:]), sorted(twice))
        check("the recorder has none", self.rows(ROWS), [])

    # ---- counters ----

    COUNTED = ("SELECT kernel_name, name, value FROM counters WHERE kind = 'dispatch' ORDER BY id")

    def test_count(self):
        """Values of each kernel, with its call; counters of the host beside them."""
        self.build()
        out = self.scene("count", options=(
            "--counters", "smsp__warps_launched.sum,page-faults,cuda:sm__cycles_elapsed.avg"))
        check("printed", out, "period 0 mode 0\ncounting 1\n")
        warps, cycles = "smsp__warps_launched.sum", "sm__cycles_elapsed.avg"
        check("values", self.rows(self.COUNTED), [
            (HOT, warps, 4), (HOT, cycles, 40), (COLD, warps, 8), (COLD, cycles, 80),
            (HOT, warps, 16), (HOT, cycles, 160),
            (COLD, warps, 32), (COLD, cycles, 320), (COLD, warps, 64), (COLD, cycles, 640)])
        check("calls", self.rows(
            "SELECT r.name, c.value FROM counters c JOIN regions r ON r.event_id = c.call_id "
            f"WHERE c.name = '{warps}' ORDER BY c.id"),
            [("cudaLaunchKernel", 4), ("cudaLaunchKernel", 8), ("cudaLaunchKernel", 16),
             ("cudaLaunchKernel", 32), ("cudaLaunchKernel", 64)])
        check("of the device", self.rows("SELECT DISTINCT agent_name, unit, provider FROM counters "
                                         f"WHERE name = '{warps}'"), [("Fake GPU", "warp", "cuda")])
        check("no device that is not there", self.rows("SELECT name FROM agent WHERE type = 'gpu'"), [("Fake GPU",)])
        check("of the host", self.rows("SELECT count(*) > 0 FROM counters WHERE name = 'page-faults'"),
              [(1,)])
        check("notes", [(n[:17], n.endswith("no numbers for --count-kernel NAME#N")) for n in self.notes()], [("kernels of graphs", True)])
        for where in ("raw", "store"):
            rows = [r for r in self.table("counters")["rows"] if r["counter"] == warps]
            check(f"{where}: summary", sorted((r["name"], r["records"], r["sum"]) for r in rows),
                  [(COLD, 3, 104), (HOT, 2, 20)])
            self.query("SELECT 1 AS one")
        shown = must(self.kymo, "show", self.trace)
        check("show", f"{warps}=16 warp of Fake GPU by {HOT} call=" in shown, True)
        self.scene("count", options=("--counters", warps, "--count-kernel", "cold#2"))
        check("a launch of a graph takes no number", self.rows(self.COUNTED), [(COLD, warps, 32)])

    def test_metrics(self):
        """Metrics ask for their counters, and are computed of the kernels that have them."""
        self.build()
        self.scene("count", options=("--metrics", "nvidia:6.1.2", "--counters", "page-faults"))
        check("counters", self.rows("SELECT DISTINCT name FROM counters WHERE kind = 'dispatch'"),
              [("smsp__warps_launched.sum",)])
        report = json.loads(must(self.kymo, "kernels", "-f", "json", "--panel", "6.1.2,2.1.1", self.trace))
        rows = {(r["kernel"], r["id"]): r for t in report["tables"] for r in t["rows"]}
        waves = {k: (round(r["value"], 6), r["dispatches"]) for (k, i), r in rows.items() if i == "6.1.2"}
        check("waves", {k: waves[k] for k in (HOT, COLD)}, {HOT: (10, 2), COLD: (34.666667, 3)})
        note = rows[HOT, "2.1.1"]["note"]
        check("device", {r["device"] for r in rows.values()}, {"Fake GPU"})
        rows = [r for t in json.loads(must(self.kymo, "kernels", "-f", "json", "--panel", "7.1.1", self.trace))["tables"] for r in t["rows"]]
        check("sizes are not known", {(r["value"], r["note"]) for r in rows}, {(None, "N/A: the runtime does not tell: items")})
        check("not recorded", "kymo run --counters sm__throughput" in note, True)

    def test_passes(self):
        self.build()
        self.scene("count", options=("--counters", "smsp__warps_launched.sum,smsp__inst_executed.max,"
                                                   "sm__cycles_elapsed.sum"))
        self.noted("passes", "run 2 times each")
        check("values", len(self.rows(self.COUNTED)), 15)

    WARPS, INSTRUCTIONS, CYCLES = "smsp__warps_launched.sum", "smsp__inst_executed.sum", "sm__cycles_elapsed.avg"
    THROUGHPUT = "sm__throughput.avg.pct_of_peak_sustained_elapsed"  # needs two passes by itself
    TIMES = {WARPS: 1, INSTRUCTIONS: 100, CYCLES: 10}
    LAUNCHES = [(HOT, 1, 4), (COLD, 1, 8), (HOT, 2, 16), (HOT, 3, 32), (COLD, 2, 64)]

    def counted(self, which):
        """Values of each launch, of the metrics that which(kernel, launch) names."""
        return sorted((k, n, m, w * self.TIMES[m]) for k, n, w in self.LAUNCHES for m in which(k, n))

    LAUNCHED = "SELECT kernel_name, launch, name, value FROM kernel_counters ORDER BY 1, 2, 3"

    def note(self, words):
        notes = [r[0] for r in self.rows("SELECT text FROM note WHERE part = 'counter'")]
        check(f"note {notes}", any(words in n for n in notes), True)

    def test_chosen(self):
        """Kernels that are not chosen are neither counted nor alone."""
        self.build()
        out = self.scene("chosen", options=("--counters", self.WARPS, "--count-kernel", "hot#2-3"))
        check("values", self.rows(self.LAUNCHED), self.counted(lambda k, n: [self.WARPS] * (k == HOT and n > 1)))
        check("started", out.splitlines()[-1], "starts 2")
        self.note("2 launches of kernels ran alone to be counted, 2 times in all; passes: 1;")
        out = self.scene("inside", options=("--counters", self.WARPS, "--count-kernel", "hot"))
        check("none is counted while another launch is being made", out.splitlines()[-1], "starts 0, then 1")
        check("values", [r[2] for r in self.rows(self.COUNTED)], [16])
        self.note("1 launches of kernels have no values, or not all: launches of other threads did not return in time")
        p = base.run(self.kymo, "run", "-o", self.trace, "--counters", "page-faults", "--count-kernel", "hot", "true")
        check("of calls", (p.returncode, "goes with counters of kernels" in p.stderr), (2, True))

    def test_replay(self):
        """What becomes of metrics that do not fit into one pass."""
        self.build()
        three = [self.WARPS, self.INSTRUCTIONS, self.CYCLES]
        options = ("--counters", ",".join([*three, self.THROUGHPUT]))
        self.scene("chosen", options=("--counters", ",".join(three)))
        check("kernel", self.rows(self.LAUNCHED), self.counted(lambda k, n: three))
        self.note("5 launches of kernels ran alone to be counted, 10 times in all; passes: 2, kernel replay")
        self.scene("chosen", options=("--counters", ",".join(three)), env={"FAKE_APART": self.INSTRUCTIONS})
        check("apart", self.rows(self.LAUNCHED), self.counted(lambda k, n: [self.WARPS, self.CYCLES]))
        self.note(f"takes them only without the others (a run of their own counts them): {self.INSTRUCTIONS}")
        self.scene("chosen", options=(*options, "--replay", "rotate"))
        check("rotate", self.rows(self.LAUNCHED), self.counted(lambda k, n: three[:2] if n % 2 else three[2:]))
        self.note("5 launches of kernels ran alone to be counted, 5 times in all; passes: 2, each launch in one of them")
        self.note("needs several passes by itself, which --replay kernel gives it: " + self.THROUGHPUT)
        self.scene("chosen", options=(*options, "--replay", "off"))
        check("off", self.rows(self.LAUNCHED), self.counted(lambda k, n: three[:2]))
        self.note(f"pass 1 of 2 alone, without: {self.CYCLES};")

    def test_replay_application(self):
        """A run for each pass, planned by the devices of this machine; the runs are joined."""
        self.build()
        os.symlink(self.library, self.path("libcuda.so.1"))
        env = {"KYMO_CUPTI": self.library, "LD_LIBRARY_PATH": os.path.dirname(self.library), "FAKE_VERSION": "130001",
               "FAKE_ASKED": self.path("asked")}
        three = [self.WARPS, self.INSTRUCTIONS, self.CYCLES]
        self.record(self.built, "chosen", env=env, plain=False, options=(
            "--replay", "application", "--counters", ",".join([self.WARPS, "page-faults", *three[1:], self.THROUGHPUT])))
        traces = [self.trace.replace(".kymo", f".pass{i}.kymo") for i in (1, 2)]
        rows = json.loads(must(self.kymo, "query", "--kernel-counters", "--format", "json", *traces))
        check("joined", sorted((r["kernel"], r["launch"], m, r[m]) for r in rows for m in three),
              self.counted(lambda k, n: three))
        with open(env["FAKE_ASKED"], encoding="utf-8") as f:
            asked = collections.Counter(tuple(line.split()) for line in f)
        # Of all, of each in each pass that there is then (1, 1, 2, 2); the program: planning, admission, configuration.
        check("planned once", sorted((name, n) for (_, name), n in asked.items()),
              [("kymo", 1 + 1 + 1 + 2 + 3), ("program", 3), ("program", 3)])
        for name, value in env.items():
            os.environ[name] = value
        passes = must(self.kymo, "list", "counters", ",".join(["page-faults", *three, self.THROUGHPUT]))
        check("told", [" ".join(line.split()[1:]) for line in passes.splitlines()[-5:]],
              ["of calls and threads", "1", "1", "2", "several by itself"])
        self.trace = traces[1]
        check("second", self.rows("SELECT DISTINCT name FROM counters ORDER BY 1"), [("page-faults",), (self.CYCLES,)])

    def test_count_threads(self):
        """Every value belongs to the call that its thread made."""
        self.build()
        self.scene("threads", options=("--counters", "smsp__warps_launched.sum"))
        rows = self.rows("SELECT c.value, r.tid, c.call_id FROM counters c JOIN regions r ON "
                         "r.event_id = c.call_id ORDER BY r.start")
        check("calls", (len(rows), len({r[2] for r in rows})), (800, 800))
        for thread in range(1, 5):
            mine = [(v, t) for v, t, _ in rows if v // 1000 == thread]
            check(f"thread {thread}", ([v for v, _ in mine], len({t for _, t in mine})),
                  ([1000 * thread + i for i in range(1, 201)], 1))

    def test_count_refused(self):
        """No such metric, no permission, samples at the same time: said, and the rest goes on."""
        self.build()
        for metric in ("smsp__nonsense.sum", "smsp__warps_launched", "smsp__warps_launched.nonsense"):
            self.scene("count", options=("--counters", metric))
            check(metric, [n[0] for n in self.rows("SELECT text FROM note WHERE part = 'counter'")],
                  [f'not counted: no provider has a counter "{metric}"'])
        for result, words in (("35", "administrator"), ("26", "another profiler")):
            out = self.scene("count", options=("--counters", "smsp__warps_launched.sum"),
                             env={"FAKE_REFUSE_PROFILE": result})
            check(f"{result}: not counting", out.splitlines()[-1], "counting 0")
            self.noted(result, words)
            check(f"{result}: calls", self.rows("SELECT count(*) FROM regions"), [(10,)])
        out = self.scene("count", options=("--counters", "smsp__warps_launched.sum", "--pc-sampling"))
        check("samples came first", out, "period 18 mode 1\ncounting 0\n")
        texts = [n[0] for n in self.rows("SELECT text FROM note WHERE part = 'counter'")]
        check("said", any("cannot both sample and count" in t for t in texts), True)
        done = base.run(self.kymo, "run", "--no-summary", "-o", self.path("n.kymo"), "--counters",
                        "nonsense", "true")
        check("of the host: refused at once", done.returncode, 2)

    def test_count_fork(self):
        """A child that is made during a launch ends; the parent's launch is counted."""
        self.build()
        out = self.scene("forked", options=("--counters", "page-faults,smsp__warps_launched.sum"))
        check("child", out.splitlines()[-1], "child 7")
        check("values", self.rows(self.COUNTED), [(COLD, "smsp__warps_launched.sum", 4)])

    def test_count_end(self):
        """A context that ends lets the device go; the next one is counted again."""
        self.build()
        out = self.scene("counted-end", options=("--counters", "smsp__warps_launched.sum"))
        check("let go", out.splitlines()[-1], "counting 0")
        check("values", [r[2] for r in self.rows(self.COUNTED)], [4, 8])


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
