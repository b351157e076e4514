#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts of instructions of kernels, on the fake for CUPTI: test_sass.py KYMO WHAT."""
import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "annotation"))
import base  # noqa: E402
from base import check, must  # noqa: E402

HOT, COLD, FILE = "hot(float*, int)", "cold(float*)", "/src/hot.cu"
COUNTS = ("SELECT agent_name, module, function, offset, ifnull(line, 0), sum(warps), sum(items), what, kind, bytes, sum(accesses), "
          "sum(sectors_needed), sum(sectors_used), sum(rounds_needed), sum(rounds_used), sum(uniform), sum(divergent) "
          "FROM kernel_instructions GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4")


def hot(warps, agent="Fake GPU", module="4d", launches=1):
    """What the fake says of the kernel: of so many warps in all."""
    lines = module == "4d"
    rows = [(0x00, 32, None, None, None, 0, 0, 0, 0, 0), (0x20, 32, "load", "global", 4, 16, 2, 16, 0, 0),
            (0x28, 24, None, None, None, 0, 0, 0, 0, 0), (0x40, 32, None, None, None, 0, 0, 0, 0, 0),
            (0x50, 64, "load", "local", 4, 64, 0, 0, 2, 64), (0x60, 32, "store", "global", 8, 32, 8, 8, 0, 0)]
    out = []
    for offset, items, what, kind, size, *sums in rows:
        branches = (warps - launches, launches) if offset == 0x40 else (0, 0)
        out.append((agent, module, HOT, offset, 100 + offset // 16 if lines else 0, warps * (2 if offset == 0x50 else 1),
                    warps * items, what, kind, size, *[warps * x for x in sums], *branches))
    return out


def cold(warps):
    return [("Fake GPU", "4e", COLD, 0, 0, warps, 32 * warps, None, None, None, 0, 0, 0, 0, 0, 0, 0),
            ("Fake GPU", "4e", COLD, 16, 0, warps, 32 * warps, "atomic", "global", 4, 32 * warps, warps, warps, 0, 0, 0, 0)]


class Test(base.Test):
    def build(self, *more):
        flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-missing-field-initializers", "-pthread", *more]
        self.library = self.compile("libcupti-fake.so", *flags, "-shared", "-fPIC",
                                    *(os.path.join(HERE, f"fake{x}.c") for x in ("", "_profile", "_range", "_sass")))
        self.built = self.compile("program", *flags, os.path.join(HERE, "sass.c"), os.path.join(HERE, "calls.c"), self.library)

    def scene(self, *words, options=("--instrument-kernels",), env=None):
        more = {"KYMO_CUPTI": self.library, "FAKE_VERSION": "130001", **(env or {})}
        return self.record(self.built, *words, env=more, options=options, plain=False)

    def rows(self, sql):
        return [tuple(r.values()) for r in self.query(sql)]

    def noted(self, what, words, count=None):
        notes = self.rows("SELECT text, count FROM note WHERE part = 'instrument'")
        check(f"{what}: note in {notes}", [n for n in notes if words in n[0] and (count is None or n[1] == count)] != [], True)

    def kernels(self, panel, **more):
        report = json.loads(base.run(self.kymo, "kernels", "-f", "json", "--panel", panel, self.trace, **more).stdout)
        return [r for t in report["tables"] for r in t["rows"]]

    def test_once(self):
        """Counts of each instruction, with its line, in the store, the views, the panel of lines and the counters."""
        self.build()
        out = self.scene("once")
        told = base.run(self.kymo, "doctor", env=dict(os.environ, KYMO_CUPTI=self.library, FAKE_VERSION="130001")).stdout
        check("doctor", "--instrument-kernels" in told, False)
        check("alone, serial", out, "patched 2 concurrent 0 serial 1\n")
        check("instructions", self.rows(COUNTS), sorted(hot(10) + cold(7)))
        check("kernels have records", self.rows("SELECT count(*) FROM dispatch"), [(2,)])
        self.noted("times", "ran instrumented and not as they are", 2)
        check("parts", self.rows("SELECT what, kind, line, executed, bytes FROM kernel_parts WHERE kernel_name LIKE 'hot%' AND "
                                 "kind IS NOT NULL ORDER BY line"),
              [("load", "global", 102, 160, 640), ("load", "local", 105, 640, 2560), ("store", "global", 106, 320, 2560)])
        check("accesses", self.rows("SELECT line, accesses, warps, lanes, needed, used, unit FROM kernel_accesses ORDER BY line, unit"),
              [(None, 224, 7, 224, 7, 7, "sector")] * (self.rows("SELECT count(*) FROM kernel_accesses WHERE line IS NULL")[0][0]) +
              [(0, 224, 7, 224, 7, 7, "sector")] * (self.rows("SELECT count(*) FROM kernel_accesses WHERE line = 0")[0][0]) +
              [(102, 160, 10, 320, 20, 160, "sector"), (105, 640, 20, 640, 20, 640, "round"), (106, 320, 10, 320, 80, 80, "sector")])
        lines = {r["line"]: r for r in self.kernels("22") if r["kernel"] == HOT}
        check("lines", [(n, r["executed"], r["lanes_percent"], r["sectors_needed"], r["sectors_used"], r["conflicts"],
                         r["warp_branches"], r["divergent_branches"], r["lines_used"]) for n, r in sorted(lines.items())],
              [(100, 320, 100, None, None, None, None, None, None), (102, 320, 87.5, 20, 160, None, None, None, None),
               (104, 320, 100, None, None, None, 10, 1, None), (105, 640, 100, None, None, 620, None, None, None),
               (106, 320, 100, 80, 80, None, None, None, None)])
        totals = dict(self.rows("SELECT name, value FROM counters WHERE provider = 'instrument' AND kernel_name LIKE 'hot%'"))
        check("counters", {k: v for k, v in totals.items() if v},
              {"global_loads": 160, "global_load_bytes": 640, "local_loads": 640, "local_load_bytes": 2560, "global_stores": 320,
               "global_store_bytes": 2560, "warp_instructions": 70, "item_instructions": 2160, "branches_uniform": 9,
               "branches_divergent": 1, "sectors_needed": 100, "sectors_used": 240, "rounds_needed": 20, "rounds_used": 640})
        check("unknown ones", "flops_single" in totals, False)

    def test_processes(self):
        """Lines of machine code are each process's own: nothing of another one's is added."""
        self.build()
        more = {"KYMO_CUPTI": self.library, "FAKE_VERSION": "130001"}
        self.record("sh", "-c", '"$0" once && "$0" once', self.built, env=more, options=("--instrument-kernels",), plain=False)
        pids = [r[0] for r in self.rows("SELECT DISTINCT pid FROM kernel_instructions ORDER BY 1")]
        check("processes", len(pids), 2)
        lines = [(r["pid"], r["executed"], r["lanes_percent"], r["sectors_needed"], r["sectors_used"])
                 for r in self.kernels("22") if r["kernel"] == HOT and r["line"] == 102]
        check("a line", lines, [(p, 320, 87.5, 20, 160) for p in pids])

    def test_many(self):
        """Two devices, one name in two modules, a launch that failed."""
        self.build()
        out = self.scene("many", env={"FAKE_DEVICES": "2", "FAKE_SASS_TOLD": "1"})
        check("let go at the end", out.splitlines()[1:], ["device 0 let go", "device 1 let go"])
        agents = [r[0] for r in self.rows("SELECT DISTINCT agent_name FROM kernel_instructions ORDER BY 1")]
        check("devices", len(agents), 2)
        check("instructions", self.rows(COUNTS), sorted(
            [(agents[0], *r[1:]) for r in hot(30, launches=2) + hot(100, module="4e") + cold(7)] +
            [(agents[1], *r[1:]) for r in hot(1000)]))
        check("launches", self.rows("SELECT count(DISTINCT call_id) FROM kernel_instructions"), [(5,)])
        self.scene("many", options=("--instrument-kernels=hot#2-3",), env={"FAKE_DEVICES": "2"})
        check("chosen ones", self.rows("SELECT DISTINCT warps FROM kernel_instructions WHERE offset = 0 ORDER BY 1"), [(20,), (100,)])

    def test_graph(self):
        """Launches of graphs and those that are captured are left alone, and counted as such."""
        self.build()
        out = self.scene("graph")
        check("patched", out.split()[:2], ["patched", "2"])
        check("instructions", self.rows(COUNTS), hot(30, launches=2))
        self.noted("graph", "not instrumented: they are of graphs", 1)
        self.noted("captured", "while a stream was being captured", 1)

    def test_threads(self):
        """One launch at a time is counted, of all threads."""
        self.build()
        self.scene("threads")
        check("instructions", self.rows(COUNTS), hot(600, launches=200))

    def test_refused(self):
        """The program runs as it is, and why is said once; metrics that the chip does not have are named."""
        self.build()
        for result, words in (("35", "administrator"), ("43", "MIG"), ("27", "does not support"), ("8", "8")):
            out = self.scene("once", env={"FAKE_REFUSE_PROFILE": result})
            check(f"{result}: nothing patched", out.split()[:2], ["patched", "0"])
            self.noted(result, words)
            check(f"{result}: rows", self.rows("SELECT count(*) FROM kernel_instruction"), [(0,)])
            check(f"{result}: kernels", self.rows("SELECT count(*) FROM dispatch"), [(2,)])
        self.scene("once", env={"FAKE_SASS_MISSING": "wavefronts"})
        self.noted("missing", "device 0 has no smsp__sass_thread_inst_executed_op_ldgsts_pred_on, ")
        self.noted("missing", "wavefronts_mem_shared_ideal")
        check("others", self.rows("SELECT sum(rounds_used), sum(sectors_used) FROM kernel_instruction"), [(0, 247)])
        self.scene("once", options=("--instrument-kernels", "--pc-sampling"))
        check("beside samples", self.rows("SELECT count(*) FROM kernel_instruction"), [(0,)])
        self.noted("samples", "CUPTI cannot both sample and count")
        self.scene("once", options=("--instrument-kernels", "--lanes", "32"))
        check("addresses are not its", self.rows("SELECT count(*) FROM kernel_instruction"), [(0,)])

    def test_old(self):
        """A CUPTI without these functions: the program runs as it is."""
        self.build("-DcuptiSassMetricsSetConfig=fake_not_there")
        out = self.scene("once")
        check("nothing patched", out.split(), ["patched", "0", "concurrent", "1", "serial", "0"])
        self.noted("old", "this CUPTI cannot; CUDA 12.2 or later is needed")
        check("kernels", self.rows("SELECT count(*) FROM dispatch"), [(2,)])

    def test_findings(self):
        """Lines are named with their cause and exact numbers, of good ones nothing is said."""
        self.build()
        self.scene("once")
        report = json.loads(must(self.kymo, "kernels", "-f", "json", self.trace))
        found = [(r["kernel"], r["rule"], r["finding"]) for t in report["tables"] if t["name"] == "findings" for r in t["rows"]]
        check("findings", [f for f in found if f[1].endswith("-line")], [
            (HOT, "uncoalesced-line", "uncoalesced load at /src/hot.cu:102: takes 160 sectors of 32 bytes, where its bytes fill 20: "
             "8.0 times as many"),
            (HOT, "bank-conflicts-line", "bank conflicts of the load at /src/hot.cu:105: 620 rounds of local memory too many in 20 "
             "accesses of warps, 31.0 for each"),
            (HOT, "divergence-line", "divergence at /src/hot.cu:104: in 1 of 10 branches of warps (10.0 %) work items part")])

    def test_instructions(self):
        """Counts beside the text of instructions."""
        self.build()
        self.scene("once")
        folder = self.path("tools")
        os.makedirs(folder, exist_ok=True)
        shutil.copy(os.path.join(HERE, "nvdisasm.sh"), os.path.join(folder, "nvdisasm"))
        env = dict(os.environ, PATH=f"{folder}:/usr/bin:/bin", CUDA_HOME="", CUDA_PATH="")
        rows = {(r["function"], r["address"]): r for r in self.kernels("21.2", env=env)}
        r = rows[HOT, "0x20"]
        check("a load", (r["instruction"], r["line"], r["warps"], r["lanes_percent"], r["sectors_needed"], r["sectors_used"],
                         r["samples"], r["use_after"]), ("@!P0 LDG.E R2, desc[UR4][R2.64]", 102, 10, 100, 20, 160, None, 1))
        check("conflicts", (rows[HOT, "0x50"]["conflicts"], rows[HOT, "0x28"]["lanes_percent"]), (620, 75))


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
