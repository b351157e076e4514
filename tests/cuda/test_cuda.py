#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA, from what the fake for CUPTI tells to the trace: test_cuda.py KYMO WHAT."""
import glob
import json
import lzma
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "annotation"))
import base  # noqa: E402
from base import check, must, skip  # noqa: E402
from scenes import SCENES  # noqa: E402

VERSIONS = ["18", "22", "28", "130000", "130001"]


class Test(base.Test):
    def program(self):
        flags = ["-std=gnu11", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter", "-pthread",
                 "-I" + os.path.join(self.source, "include")]
        self.library = self.compile("libcupti-fake.so", *flags, "-shared", "-fPIC",
                                    os.path.join(HERE, "fake.c"))
        return self.compile("program", *flags, *SCENES, "-rdynamic", self.library)

    def scene(self, *words, version="130001", options=(), env=None, plain=False):
        more = {"KYMO_CUPTI": self.library, "FAKE_VERSION": version, **(env or {})}
        return self.record(self.built, *words, env=more, options=options, plain=plain)

    def one(self, sql):
        return list(self.query(sql)[0].values())[0]

    def rows(self, sql):
        return [tuple(r.values()) for r in self.query(sql)]

    def calls(self, where="1"):
        return dict(self.rows(f"SELECT name, count(*) FROM regions WHERE {where} GROUP BY name"))

    def listened(self, *options):
        """Functions that CUPTI had to call back for: what that costs is most of what a call costs."""
        path = self.path("listened")
        self.scene("basic", options=options, env={"FAKE_LISTENED": path})
        with open(path, encoding="utf-8") as f:
            return f.read().splitlines()

    def lost_records(self):
        return self.one("SELECT ifnull(sum(count), 0) FROM loss")

    def arguments(self, op):
        return self.rows(f"SELECT kymo_args(c.id) FROM call c JOIN op o ON o.id = c.op "
                         f"WHERE o.name = '{op}' ORDER BY c.id")

    # ---- tests ----

    def basic_kernels(self):
        kernels = self.query("SELECT name, region, stream, agent_name, duration, grid_x, "
                             "workgroup_x, untimed, early, status FROM kernels ORDER BY name")
        check("kernels", [tuple(k.values()) for k in kernels],
              [("add(float*, float*, int)", "cudaLaunchKernel", "stream 7", "Fake GPU", 5000, 128 * 256,
                256, 0, 0, 0),
               ("mul(float*, float*, int)", "cudaLaunchKernel", "stream 13", "Fake GPU", 7000, 64 * 256,
                256, 0, 0, 0)])
        check("kernel inside its launch's time or later", self.one(
            "SELECT count(*) FROM kernels k JOIN call c ON c.id = k.call_id "
            "WHERE k.start < c.start"), 0)
        check("queued is when the launch began", self.one(
            "SELECT max(abs(k.queued - c.start)) < 2000 FROM kernels k JOIN call c "
            "ON c.id = k.call_id"), 1)
        check("stream made with a priority", self.rows(
            "SELECT number, name, handle FROM queue WHERE handle <> 0 AND name <> ''")[-1][1:],
            ("stream 13", 0x500d))
        check("what else is told of kernels", self.rows(
            "SELECT registers, static_shared, dynamic_shared, local_memory, cluster_x, cluster_y, "
            "cluster_z, graph FROM launch"), [(32, 16, 48, 8, 2, 1, 1, None)] * 2)
        raw = must(self.kymo, "show", self.trace)
        for word in ("registers=32", "static_shared=16", "dynamic_shared=48", "local_memory=8",
                     "cluster="):
            check(f"show: {word}", word in raw, True)

    def basic_chosen(self):
        """A name that was copied from a table, though as a pattern it is something else: here, and at the source of a C++ program."""
        name = "add(float*, float*, int)"
        tables = json.loads(must(self.kymo, "summary", "-f", "json", "-k", name, self.trace))["tables"]
        rows = next(t["rows"] for t in tables if t["name"] == "kernels")
        check("the kernel of that name", [(r["op"], r["calls"]) for r in rows], [(name, 1)])
        self.scene("basic", options=["-k", name], env={"LD_PRELOAD": must("cc", "-print-file-name=libstdc++.so.6").strip()})
        check("the kernel of that name, recorded", self.rows("SELECT name, count(*) FROM kernels GROUP BY name"), [(name, 1)])

    def basic_memory(self):
        check("copies", self.rows(
            "SELECT operation, size, source_kind, destination_kind, duration, blocking, "
            "region_name FROM memory_copies WHERE operation NOT IN ('migrate', 'fault') "
            "ORDER BY operation"),
            [("fill", 4096, 0, 3, 500, 0, "cuMemsetD8_v2"),
             ("write", 1 << 20, 1, 3, 1000, 1, "cudaMemcpy")])
        check("unified memory", self.rows(
            "SELECT operation, size, source_kind, destination_kind FROM memory_copies "
            "WHERE operation IN ('migrate', 'fault') ORDER BY operation"),
            [("fault", 0, 4, 4), ("migrate", 65536, 4, 4)])
        check("why pages moved, how many faults", self.rows(
            "SELECT cause, faults, address FROM copy_extra ORDER BY faults"),
            [(3, None, 0x7f1000000000), (None, 17, 0x7f1000000000)])
        check("allocations", self.rows(
            "SELECT o.name, a.kind, a.bytes, a.address FROM allocation a JOIN op o ON "
            "o.id = a.op ORDER BY a.id"),
            [("allocate", 3, 4096, 0x7f0000001000), ("free", 3, 4096, 0x7f0000001000),
             ("allocate", 4, 1 << 21, 0x7f1000000000)])
        check("waits", self.rows(
            "SELECT o.name, CASE WHEN s.queue THEN q.name ELSE '' END FROM sync s JOIN op o ON "
            "o.id = s.op LEFT JOIN queue q ON q.id = s.queue ORDER BY o.name"),
            [("barrier", "stream 13"), ("event_record", "stream 13"), ("events", ""),
             ("queue", "stream 13")])

    def basic_calls(self):
        check("calls", self.calls(), {
            "cudaMalloc": 1, "cuMemAlloc_v2": 2, "cuMemFree_v2": 1, "cudaMemcpy": 1,
            "cuMemsetD8_v2": 1, "cudaLaunchKernel": 2, "cuStreamCreateWithPriority": 1,
            "cuEventRecord": 1, "cuStreamWaitEvent": 1, "cuEventSynchronize": 1,
            "cuStreamSynchronize": 1, "cuMemAllocManaged": 1})
        check("errors", self.rows("SELECT name, kymo_status(op, status) FROM regions "
                                  "WHERE failed"), [("cuMemAlloc_v2", "CUDA_ERROR_OUT_OF_MEMORY")])
        check("nested", self.rows(
            "SELECT r.name, p.name AS outer FROM regions r JOIN call_extra x ON x.id = r.id JOIN regions p "
            "ON p.event_id & 0xffffffffff = x.parent WHERE x.parent"),
            [("cuMemAlloc_v2", "cudaMalloc")])
        text = self.arguments("cudaLaunchKernel")[0][0]
        for word in ('"gridDim.x": 128', '"blockDim.x": 256', '"sharedMem": 48'):
            check(f"arguments: {word}", word.replace(" ", "") in text.replace(" ", ""), True)
        text = self.arguments("cudaMemcpy")[0][0]
        check("arguments: kind", "cudaMemcpyHostToDevice" in text, True)
        text = self.arguments("cuMemAlloc_v2")
        check("out after success", "0x7f0000001000" in text[0][0] or
              str(0x7f0000001000) in text[0][0], True)
        check("no out after failure", "dptr" in text[1][0] and (
            "0x7f0000001000" in text[1][0] or str(0x7f0000001000) in text[1][0]), False)
        agent = self.query("SELECT * FROM agent WHERE name = 'Fake GPU'")[0]
        check("device", (agent["type"], agent["vendor"]), ("gpu", "NVIDIA"))
        check("identity", "deadbeef" in str(agent.get("uuid")).lower().replace("-", ""), True)

    def test_basic(self):
        """Every version's layout gives the same trace."""
        self.built = self.program()
        for version in VERSIONS:
            out = self.scene("basic", version=version)
            check(f"{version}: what is listened to", out, "kernels 1 driver 1 runtime 1\n")
            self.basic_kernels()
            self.basic_memory()
            self.basic_calls()
            check(f"{version}: notes", self.notes("cuda"), {})
            check(f"{version}: lost", self.lost_records(), 0)
        self.basic_chosen()

    def test_modes(self):
        self.built = self.program()
        out = self.scene("basic", options=["--mode", "full"])
        check("full: driver launches too", out, "kernels 1 driver 1 runtime 1\n")
        check("full: nothing is left out", self.rows("SELECT * FROM not_recorded"), [])
        check("full: nested launch", self.one(
            "SELECT count(*) FROM regions WHERE name = 'cuLaunchKernel' AND parent_stack_id"), 2)
        check("full: chatty call", self.calls("name = 'cudaGetDevice'"), {"cudaGetDevice": 1})
        check("full: kernels belong to the outer call", self.rows(
            "SELECT DISTINCT region FROM kernels"), [("cudaLaunchKernel",)])
        out = self.scene("basic", options=["--include", "cuLaunchKernel"])
        check("driver only: listened to", out, "kernels 1 driver 1 runtime 0\n")
        check("driver only: the kernels' call", self.rows("SELECT DISTINCT region FROM kernels"),
              [("cuLaunchKernel",)])
        self.scene("basic")
        check("default: what is left out is not listened to, and not counted", self.rows(
            "SELECT * FROM not_recorded"), [])
        self.scene("basic", options=["--args", "none"])
        check("no arguments: calls", self.calls()["cudaLaunchKernel"], 2)
        listened = {mode: self.listened("--mode", mode) for mode in ("default", "summary", "full")}
        check("full listens to more", len(listened["full"]) > len(listened["default"]) > 5, True)
        check("counting listens to no more than recording", listened["summary"], listened["default"])
        self.scene("basic", options=["--backends", "cuda_runtime"])
        check("runtime only", self.calls(),
              {"cudaLaunchKernel": 2, "cudaMalloc": 1, "cudaMemcpy": 1})
        check("runtime only: kernels", self.one("SELECT count(*) FROM dispatch"), 2)
        out = self.scene("basic", options=["--backends", "none"])
        check("nothing of CUDA", out, "kernels 0 driver 0 runtime 0\n")

    def test_driver(self):
        """Launches by the driver are calls of their own, but inside one by the runtime."""
        self.built = self.program()
        out = self.scene("driver")
        check("listened to from the start", out.splitlines()[0], "listened to 1")
        check("calls", self.calls(), {"cuLaunchKernel": 1000})
        check("kernels with calls", self.rows("SELECT region, count(*) FROM kernels GROUP BY 1"),
              [("cuLaunchKernel", 1000)])
        # It is switched off while nobody is in it: CUPTI would give all later calls of that thread one number.
        for how, said in (((), ["1", "0"]), (("late",), ["0", "1", "0"]), (("held",), ["1", "0"])):
            out = self.scene("trial", *how)
            check(f"trial {how}", [line.split()[-1] for line in out.splitlines() if line.startswith("listened")], said)
            check(f"trial {how}: calls", self.rows("SELECT name, region, count(*), count(DISTINCT call_id) FROM kernels GROUP BY 1, 2 ORDER BY 1"),
                  [("empty", "cudaLaunchKernel", 1000, 1000), ("later", "cudaLaunchKernel", 2, 2), ("within", "cudaLaunchKernel", 1, 1)])
        out = self.scene("driver", "late")
        check("the runtime alone so far", out.splitlines()[0], "listened to 0")
        check("late: calls", self.calls("name LIKE '%Launch%'"),
              {"cudaLaunchKernel": 1000, "cuLaunchKernel": 1000})
        check("late: every kernel's call", self.one(
            "SELECT count(*) FROM kernels WHERE region IS NULL"), 0)
        out = self.scene("mixed")
        check("both: that one is still listened to", out.splitlines()[0], "listened to 1 0")
        check("both: every kernel's call", self.rows(
            "SELECT region, count(*) FROM kernels GROUP BY 1 ORDER BY 1"),
            [("cuLaunchKernel", 2), ("cudaLaunchKernel", 1000)])
        self.scene("unheard")
        check("not listened to", self.rows(
            "SELECT name, region FROM kernels WHERE name LIKE '%heard' ORDER BY name"),
            [("heard", "cuLaunchKernel"), ("unheard", None)])
        check("counted", [t for t in self.notes("cuda") if "without their call" in t],
              ["1 pieces of device work are recorded without their call"])

    def exported(self):
        """The records of the trace, as JSON has them."""
        out = self.path("t.json")
        must(self.kymo, "export", "--to", "json", "-f", "-o", out, self.trace)
        with open(out, encoding="utf-8") as f:
            return [json.loads(line.rstrip(",\n")) for line in f if line.startswith('{"kind"')]

    def test_modules(self):
        """Code that is loaded: two modules and a library on two devices, one that fails; no build."""
        self.built = self.program()
        self.scene("modules", env={"FAKE_DEVICES": "2"})
        calls = self.rows("SELECT start, duration FROM regions WHERE name LIKE 'cu%Load%' ORDER BY start")
        check("calls took a while", [d >= 2000000 for _, d in calls], [True] * 4)
        loads = [(r["start"], r["end"] - r["start"]) for r in self.exported()
                 if r.get("op") == "load_module"]
        check("times of loads are those of the calls", sorted(loads), calls)
        text = must(self.kymo, "show", self.trace)
        found = re.findall(r"(\w+):load_module\(correlation=#(\d+), program=(#\d+|none), agent=([^,]+), "
                           r"status=(\d+)", text)
        check("domain", {f[0] for f in found}, {"code_object"})
        ids = [i & 0xffffffffff for i, in self.rows("SELECT id FROM regions WHERE name LIKE 'cu%Load%' "
                                                   "ORDER BY start")]
        check("calls", [int(f[1]) for f in found], ids)
        handles = {f"#{i}": handle for i, handle in self.rows("SELECT id, handle FROM program")}
        check("modules", [handles.get(f[2]) for f in found], [0xa100, 0xa200, 0xa300, None])
        check("no module", found[3][2], "none")
        check("devices", [f[3] for f in found], [f"Fake GPU #{n}" for n in (0, 1, 1, 0)])
        check("status", [int(f[4]) for f in found], [0, 0, 0, 209])
        check("kinds of code", self.rows("SELECT domain, kind, count(*) FROM code_objects GROUP BY 1, 2"),
              [("cuda", "binary", 3)])
        tables = json.loads(must(self.kymo, "summary", "--format", "json", self.trace))["tables"]
        rows = [r for t in tables if t["title"].startswith("Programs and modules") for r in t["rows"]]
        check("summary: what, times, time", [(r["op"], r["calls"], r["time_ns"]) for r in rows],
              [("load_module", 4, sum(d for _, d in calls))])
        text = must(self.kymo, "summary", self.trace)
        check("summary: title", "\nPrograms and modules: 4\n" in text, True)
        check("summary: no build", re.search(r"^build\b", text, re.M), None)

    def told_of(self, words):
        """What the summary by `words` says of each kernel: all of it but the kernel."""
        tables = json.loads(must(self.kymo, "summary", "--format", "json", "--by", words + ",kernel", self.trace))
        rows = [r for t in tables["tables"] if t["name"] == "kernels" for r in t["rows"]]
        return {r["kernel"]: r[words] for r in rows}

    def early_links(self):
        """No call submits what has begun before it: no table counts such work for that call."""
        self.scene("odd", options=["--stacks=cudaLaunchKernel"])
        check("by scope", self.told_of("scope"), {
            "backwards": "(no scope)", "early": "(no scope)", "in time": "solve", "none": "(no scope)",
            "stranger": "(no scope)"})
        inlined = {"site": r"call fake\.c:\d+$", "stack": r"call fake\.c:\d+ \(inlined\) < fake_enter fake\.c:\d+ < "}
        for words in ("site", "stack"):
            told = self.told_of(words)
            check(f"by {words}: none", sorted(k for k, v in told.items() if v == "(not known)"),
                  ["early", "stranger"])
            check(f"by {words}: the other's", re.match(inlined[words], told["in time"]) is not None, True)
        done = kymotest.run(self.kymo, "compare", "--by", "scope", "--format", "json", "--all", self.trace, "--",
                            self.trace)
        items = {r["item"] for t in json.loads(done.stdout)["tables"] if t["name"] == "items" for r in t["rows"]}
        text = must(self.kymo, "summary", self.trace)
        check("said once", text.count("before the call that it belongs to"), 1)
        check("how many", "1 piece of device work begins before the call that it belongs to." in text, True)
        check("compared by scope", {"kernel early", "kernel in time in solve"} <= items, True)

    def test_odd(self):
        """Times that cannot be are flagged; work without its call is there and counted."""
        self.built = self.program()
        self.scene("odd")
        check("kernels", self.rows("SELECT name, untimed, early, start IS NULL, call_id & "
                                   "0xffffffffff > 0 FROM kernels ORDER BY name"),
              [("backwards", 7, 0, 1, 1), ("early", 0, 1, 0, 1), ("in time", 0, 0, 0, 1), ("none", 6, 0, 1, 1),
               ("stranger", 0, 0, 0, None)])
        notes = [t for t in self.notes("cuda") if "without their call" in t]
        check("note", notes, ["1 pieces of device work are recorded without their call"])
        self.early_links()

    def numbers_shared(self):
        return [t for t in self.notes("cuda") if "their number" in t]

    def test_shared(self):
        """A number that CUPTI gave to several calls tells none of them, but to work seen before."""
        self.built = self.program()
        note = ("%d pieces of device work are recorded without their call, because CUPTI gave several calls "
                "their number")
        kernels = [("again", None, 3), ("empty", "cudaLaunchKernel", 1000), ("first", "cudaLaunchKernel", 1),
                   ("own", "cudaLaunchKernel", 1)]
        counted = "SELECT name, region, count(*) FROM kernels GROUP BY 1, 2 ORDER BY 1"
        out = self.scene("shared")
        check("shared: kernels", self.rows(counted), kernels)
        check("shared: calls of their own", self.one(
            "SELECT count(DISTINCT call_id) FROM kernels WHERE name IN ('first', 'own')"), 2)
        check("shared: nothing is known of when it was submitted", self.one(
            "SELECT count(*) FROM kernels WHERE name = 'again' AND (early OR queued <> start)"), 0)
        check("shared: copies", self.rows("SELECT region_name, count(*) FROM memory_copies GROUP BY 1"),
              [(None, 1)])
        check("shared: compiled in no call", self.one(
            "SELECT count(*) FROM regions r JOIN call_extra x ON x.id = r.id WHERE r.name = 'jit_compile' "
            "AND x.parent"), 0)
        check("shared: note", self.numbers_shared(), [note % 4])
        check("shared: all notes", len(self.notes("cuda")), 1)
        check("shared: the driver is suspected of nothing", out, "listened to 0\n")
        both = self.path("both")
        with open(both, "w", encoding="ascii") as f:
            f.write(f"#!/bin/sh\n{self.built} shared\n{self.built} many 2000\n")
        os.chmod(both, 0o755)
        self.built = both
        self.scene()
        check("another process's numbers are its own", self.rows(counted), [
            (name, call, n + 2000 * (name == "empty")) for name, call, n in kernels])
        check("and calls", self.one("SELECT count(DISTINCT call_id) FROM kernels"), 3002)

    def test_wraps(self):
        """Each kernel has the call before it, also where numbers begin again."""
        self.built = self.program()
        self.scene("wraps")
        check("kernels", self.rows("SELECT name, region, count(*), count(DISTINCT call_id) FROM kernels "
                                   "GROUP BY 1, 2 ORDER BY 1"),
              [("around", "cudaLaunchKernel", 5, 5), ("far", "cudaLaunchKernel", 3, 3)])
        check("the call before it", self.one(
            "SELECT count(*) FROM kernels k WHERE call_id <> (SELECT id FROM call c WHERE c.start <= k.start "
            "ORDER BY c.start DESC LIMIT 1)"), 0)
        check("notes", self.notes("cuda"), {})

    def test_nested(self):
        """A call inside another has its number; two in one that is not listened to are not told apart."""
        self.built = self.program()
        names = "SELECT region_name, count(*), count(DISTINCT call_id) FROM memory_copies GROUP BY 1"
        for options, parts, rows in (((), 1, [("cudaMemcpy", 1, 1)]), ((), 2, [("cudaMemcpy", 2, 1)]),
                                     (("--backends", "cuda"), 1, [("cuMemcpyHtoD_v2", 1, 1)]),
                                     (("--backends", "cuda"), 2, [(None, 2, 0)])):
            self.scene("nested", str(parts), options=options)
            check(f"{options} {parts}: copies", self.rows(names), rows)
            check(f"{options} {parts}: notes", len(self.notes("cuda")), int(rows[0][0] is None))

    def test_graphs(self):
        """All nodes of a graph, of whatever kind and device, are of the call that launched it."""
        self.built = self.program()
        self.scene("graphs", env={"FAKE_DEVICES": "2"})
        check("kernels of each launch", self.rows(
            "SELECT k.region, k.name, count(*), count(DISTINCT d.agent), count(DISTINCT d.queue), "
            "count(DISTINCT l.graph_node), count(DISTINCT l.graph) FROM kernels k JOIN dispatch d ON d.id = k.id "
            "JOIN launch l ON l.id = k.id GROUP BY k.call_id, k.name ORDER BY k.call_id, k.name"),
            [(None, "last", 1, 1, 1, 1, 1), (None, "node", 100, 2, 2, 100, 1)] +
            [("cudaGraphLaunch", "last", 1, 1, 1, 1, 1), ("cudaGraphLaunch", "node", 100, 2, 2, 100, 1)] * 2)
        check("copies of each launch", self.rows(
            "SELECT region_name, group_concat(operation) FROM (SELECT * FROM memory_copies ORDER BY operation) "
            "GROUP BY call_id ORDER BY call_id"),
            [(None, "fill,write")] + [("cudaGraphLaunch", "fill,write")] * 2)
        check("each launch has its own", self.one(
            "SELECT count(DISTINCT call_id) FROM (SELECT call_id FROM kernels UNION SELECT call_id FROM "
            "memory_copies)"), 2)
        check("note", len(self.numbers_shared()), 1)

    def test_driver_work(self):
        """What the driver does of itself has records; CUPTI's own work is overhead."""
        self.built = self.program()
        for version in VERSIONS:
            self.scene("driver_work", version=version)
            jit = [] if version == "18" else [
                (op, "PTX", 4096, "/cache", 2000, "cudaLaunchKernel")
                for op in ("jit_cache_load", "jit_cache_store", "jit_compile")]
            where = "FROM regions r JOIN call c ON c.id = r.id WHERE r.category = 'cuda_driver' AND "
            check(f"{version}: JIT", self.rows(
                "SELECT r.name, kymo_args(c.id) ->> '$.from' AS a, kymo_args(c.id) ->> '$.bytes' AS b, "
                "kymo_args(c.id) ->> '$.path' AS p, r.duration, (SELECT name FROM regions WHERE id = "
                "(SELECT parent FROM call_extra WHERE id = c.id)) AS inside " + where +
                "r.name LIKE 'jit%' ORDER BY r.name"), jit)
            check(f"{version}: pools", self.rows(
                "SELECT r.name, kymo_args(c.id) ->> '$.bytes' AS b, kymo_args(c.id) ->> '$.used' AS u, "
                "kymo_args(c.id) ->> '$.type' AS t " + where + "r.name LIKE 'pool%' ORDER BY r.name"),
                [(f"pool_{op}", 1 << 20, 4096, "local") for op in ("create", "destroy", "trim")])
            check(f"{version}: the rest", self.rows(
                "SELECT r.name, r.duration " + where + "r.name LIKE '%ing' OR r.name LIKE '%full' ORDER "
                "BY r.name"), [("command_buffer_full", 500), ("function_loading", 500),
                               ("module_loading", 500)])
            check(f"{version}: kernels", self.one("SELECT count(*) FROM dispatch"), 1)
            check(f"{version}: notes", self.notes("cuda"), {})

    def summary_devices(self):
        text = must(self.kymo, "summary", "--by", "device", "--format", "json", self.trace)
        found = set()

        def walk(x):
            if isinstance(x, dict):
                found.update(v for k, v in x.items() if k == "device" and isinstance(v, str))
                x = list(x.values())
            for y in x if isinstance(x, list) else []:
                walk(y)
        walk(json.loads(text))
        return sorted(d for d in found if d.startswith("Fake"))

    def test_devices(self):
        """Devices are known by their uuid, whichever number a process gives them."""
        self.built = self.program()
        self.scene("two_devices", env={"FAKE_DEVICES": "2"})
        first, second = ("deadbeef05060708090a0b0c0d0e0f10", "deadbeef05060708090a0b0c0d0e0f11")
        check("kernels", self.rows("SELECT k.name, a.uuid FROM kernels k JOIN dispatch d ON d.id = k.id "
                                   "JOIN agent a ON a.id = d.agent ORDER BY k.name"),
              [("here", first), ("there", second)])
        check("streams of one number are not one", self.rows(
            "SELECT count(DISTINCT q.id), count(DISTINCT q.name) FROM dispatch d JOIN queue q ON q.id = d.queue"),
            [(2, 1)])
        check("work of each call", self.rows(
            "SELECT c.name, w.what FROM regions c JOIN (SELECT call_id, name AS what FROM kernels UNION ALL SELECT "
            "call_id, operation FROM memory_copies) w ON w.call_id = c.id ORDER BY c.start"),
            [("cudaLaunchKernel", "here"), ("cudaLaunchKernel", "there"), ("cudaMemcpy", "copy")])
        check("copy", self.rows("SELECT s.uuid, d.uuid AS there, c.bytes FROM copy c JOIN agent s ON s.id = "
                                "c.source_agent JOIN agent d ON d.id = c.destination_agent"),
              [(first, second, 4096)])
        check("summary", self.summary_devices(), ["Fake GPU #0", "Fake GPU #1"])
        check("what CUPTI takes for kernels and copies", self.cupti_cost(),
              ("1.9 us to 4.8 us for 3", 1950, 4800))
        for numbers, names in ((("0", "0"), ["Fake GPU"]),
                               (("1", "0"), ["Fake GPU #0", "Fake GPU #1"])):
            self.built = self.path("both")
            with open(self.built, "w", encoding="ascii") as f:
                f.write("#!/bin/sh\n" + "".join(f"FAKE_FIRST={n} {self.path('program')} basic\n"
                                                for n in numbers))
            os.chmod(self.built, 0o755)
            self.scene()
            check(f"{numbers}: devices", self.one("SELECT count(DISTINCT uuid) FROM agent WHERE uuid IS "
                                                  "NOT NULL"), len(set(numbers)))
            check(f"{numbers}: in the summary", self.summary_devices(), names)
        self.built = self.path("program")
        self.scene("basic", env={"FAKE_MIG": "1"})
        check("an instance has its own", self.one("SELECT uuid FROM agent WHERE uuid IS NOT NULL")[:2],
              "a0")

    def test_reused(self):
        """A call frees what was at the address when it began, whoever has it since."""
        self.built = self.program()
        self.scene("reused")
        check("allocations", self.rows(
            "SELECT o.name, a.bytes, count(*), count(DISTINCT a.allocation) FROM allocation a JOIN op o "
            "ON o.id = a.op GROUP BY o.name, a.bytes ORDER BY o.name, a.bytes"),
            [("allocate", 4096, 2, 2), ("allocate", 8192, 2, 2), ("free", 4096, 2, 2),
             ("free", 8192, 2, 2)])
        check("each has its end", self.one(
            "SELECT count(*) FROM allocation b JOIN allocation e ON e.allocation = b.allocation AND "
            "e.bytes = b.bytes AND e.op <> b.op"), 8)
        check("by the call that freed it", self.rows(
            "SELECT a.bytes, count(*) FROM allocation a JOIN op o ON o.id = a.op JOIN regions r ON "
            "r.id = a.call WHERE o.name = 'free' AND r.name = 'cuMemFree_v2' GROUP BY a.bytes"),
            [(4096, 2), (8192, 2)])

    def cupti_cost(self):
        """What the summary says of CUPTI's own cost: in its line, and for programs."""
        tables = json.loads(must(self.kymo, "summary", "--format", "json", self.trace))["tables"]
        row = [t for t in tables if t["name"] == "quality"][0]["rows"][0]
        line = re.search("what CUPTI takes, some (.*) records", must(self.kymo, "summary", self.trace))
        return line and line[1], row["overhead_cupti_low_ns"], row["overhead_cupti_high_ns"]

    def object_rows(self):
        out = json.loads(must(self.kymo, "summary", "--tables", "objects", "--format", "json", self.trace))
        return sorted((r["kind"], r["function"], r["alive"], r["created"], r["released"]) for t in out["tables"] for r in t["rows"])

    def test_objects(self):
        """What was never released, of each kind: released twice, an address again, one of the runtime's. CUPTI tells no lines."""
        self.built = self.program()
        kinds = {"context": "cuCtxCreate_v2", "event": "cuEventCreate", "executable graph": "cuGraphInstantiateWithFlags",
                 "graph": "cuGraphCreate", "green context": "cuGreenCtxCreate", "library handle": "cuLibraryLoadData",
                 "link": "cuLinkCreate_v2", "memory pool": "cuMemPoolCreate", "module": "cuModuleLoadData",
                 "stream": "cuStreamCreate", "surface object": "cuSurfObjectCreate", "texture object": "cuTexObjectCreate"}
        self.scene("objects", "leaks")
        check("leaks", self.object_rows(), sorted([(f"CUDA {k}", op, 2, 3, 1) for k, op in kinds.items()] +
                                                  [("CUDA stream", "cudaStreamCreate", 1, 2, 1)]))
        self.scene("objects", "clean")
        check("clean", self.object_rows(), [])

    def test_many(self):
        self.built = self.program()
        self.scene("many", "100000")
        check("what CUPTI takes", self.cupti_cost(),
              ("65.0 ms to 160.0 ms for 100,000", 65000000, 160000000))
        check("kernels", self.one("SELECT count(*) FROM dispatch"), 100000)
        check("each with a call of its own", self.one(
            "SELECT count(DISTINCT call) FROM dispatch WHERE call & 0xffffffffff > 0"), 100000)
        check("calls", self.calls(), {"cudaLaunchKernel": 100000})
        check("lost", self.lost_records(), 0)
        self.scene("threads")
        check("threads: kernels", self.one("SELECT count(*) FROM dispatch"), 8000)
        check("threads: each with its own call", self.one(
            "SELECT count(DISTINCT call) FROM dispatch WHERE call & 0xffffffffff > 0"), 8000)

    def test_drop(self):
        self.built = self.program()
        self.scene("drop")
        check("kernels", self.one("SELECT count(*) FROM dispatch"), 20)
        check("lost", self.one("SELECT sum(lost) FROM thread"), 123)
        check("noted", any("dropped" in t for t in self.notes("cuda")), True)
        check("told apart", self.one("SELECT sum(dropped_records) FROM process"), 123)
        check("the true reason", [w for w in ("123 were dropped by the runtime", "no room in the buffer")
                                  if w in must(self.kymo, "summary", self.trace)],
              ["123 were dropped by the runtime"])

    def test_ends(self):
        self.built = self.program()
        self.scene("fork")
        check("fork: kernels", self.one("SELECT count(*) FROM dispatch"), 2)
        check("fork: the child's calls", self.rows(
            "SELECT r.name, r.status FROM regions r JOIN processes p ON p.pid = r.pid "
            "WHERE p.ppid IN (SELECT pid FROM processes)"), [("cuLaunchKernel", 3)]
            if self.one("SELECT count(*) FROM processes") == 2 else [])
        self.scene("late")
        check("late: kernels", self.rows("SELECT name FROM kernels"), [("late",)])

    def test_quick_ends(self):
        """_exit() and its like collect what is complete, once, and wait for nothing else."""
        self.built = self.program()
        more = dict(os.environ, KYMO_CUPTI=self.library)
        for how in ("_exit", "_Exit", "quick", "children"):
            kymotest.remove(self.trace, missing_ok=True)
            done = base.run(self.kymo, "run", "--no-summary", "-o", self.trace, self.built, "exit",
                            how, env=more)
            check(f"{how}: status", done.returncode, 3)
            check(f"{how}: kernels", self.one("SELECT count(*) FROM dispatch"), 10)
        kymotest.remove(self.trace)
        done = base.run(self.kymo, "run", "--no-summary", "-o", self.trace, self.built, "exit", "kill",
                        env=more)
        check("killed: status", done.returncode, -9)
        check("killed: kernels", self.one("SELECT count(*) FROM dispatch"), 10)
        check("killed: calls", self.calls(), {"cudaLaunchKernel": 11})
        more["FAKE_STUCK"] = "1"
        kymotest.remove(self.trace)
        before = time.monotonic()
        done = base.run(self.kymo, "run", "--no-summary", "-o", self.trace, self.built, "exit", "_exit",
                        env=more)
        check("stuck: status", done.returncode, 3)
        check("stuck: not for long", time.monotonic() - before < 5, True)
        check("stuck: calls", self.calls(), {"cudaLaunchKernel": 10})

    UNFINISHED = ("SELECT u.operation, u.name, u.size, q.name AS queue, u.agent_id, u.tid, u.age, u.region_name "
                  "FROM unfinished u JOIN queue q ON q.id = u.queue_id")
    HANGING = [("fill", None, 4096, "stream 7", "cuMemsetD8_v2"),
               ("launch", "hung", 0, "stream 13", "cudaLaunchKernel"),
               ("launch", "there", 0, "stream 7", "cudaLaunchKernel")]

    def hanging(self, what, calls=True):
        """Two devices, two streams, two threads: what hangs is told, and nothing else."""
        rows = self.query(self.UNFINISHED)
        wanted = [w[:4] for w in self.HANGING]
        check(f"{what}: unfinished", sorted((r["operation"], r["name"], r["size"], r["queue"])
                                            for r in rows), wanted)
        if calls:
            check(f"{what}: by calls", sorted((r["operation"], r["name"], r["size"], r["queue"],
                                               r["region_name"]) for r in rows), self.HANGING)
        check(f"{what}: devices, threads", sorted((r["agent_id"] == rows[0]["agent_id"],
                                                   r["tid"] == rows[0]["tid"]) for r in rows),
              sorted((r["name"] != "hung",) * 2 if rows[0]["name"] != "hung" else
                     (r["name"] == "hung",) * 2 for r in rows))
        check(f"{what}: before the end", all(r["age"] > 0 for r in rows), True)
        check(f"{what}: kernels that ended", "before" in self.kernel_names(), True)
        check(f"{what}: notes", self.notes("cuda"), {})

    def hang(self, how, status, *options, version="130001", more=()):
        kymotest.remove(self.trace, missing_ok=True)
        done = base.run(self.kymo, "run", "--no-summary", "-o", self.trace, *options, self.built, "hang",
                        str(how), *more, env=dict(os.environ, KYMO_CUPTI=self.library, FAKE_DEVICES="2",
                                           FAKE_VERSION=version))
        check(f"{how}: status", (done.returncode, done.stdout), (status, "hangs\n"))

    def test_hang(self):
        """Work that hangs is told by name, device, stream, thread, however the program ends."""
        self.built = self.program()
        for end in (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM):
            self.hang(int(end), -end)
            self.hanging(end.name)
        text = must(self.kymo, "summary", self.trace)
        check("summary", [w in text for w in ("never seen to finish", "hung", "there")], [True] * 3)
        for how in ("_exit", "exit"): # with what CUPTI still had, of which these have no times
            self.hang(how, 0)
            self.hanging(how)
            check(f"{how}: untimed", self.rows("SELECT name, untimed FROM kernels WHERE untimed ORDER BY 1"),
                  [("hung", 6), ("there", 6)])
        for version in VERSIONS:
            self.hang("ends", 0, version=version)
            check(f"{version}: it did end", self.query(self.UNFINISHED), [])
            check(f"{version}: all kernels", self.kernel_names(),
                  {n: 1 for n in ("before", "waited", "seen", "hung", "there")})

    def test_meet(self):
        """A kernel that two threads launch first, one stopped at each step: the other's record has what it names."""
        self.built = self.program()
        stops = met = 0
        for n in range(1, 200):
            kymotest.remove(self.trace, missing_ok=True)
            done = base.run(self.kymo, "run", "--no-summary", "-o", self.trace, self.built, "meet", str(n),
                            env=dict(os.environ, KYMO_CUPTI=self.library, FAKE_VERSION="130001"))
            if done.returncode == 3:
                break
            check(f"lock {n}: status", done.returncode, -9)
            rows = self.rows("SELECT k.name AS kernel, q.name AS queue, c.id > 0 AS context FROM kernels k LEFT JOIN queue q ON q.id = "
                             "k.queue_id AND q.id > 0 LEFT JOIN device_context c ON c.id = q.context AND c.id > 0")
            check(f"lock {n}: all is named", [r for r in rows if r != ("fresh", "stream 7", 1)], [])
            stops += 1
            met += len(rows) > 0
        check("stopped, went on, ended", (stops > 3, met > 3, stops < 199), (True, True, True))

    def test_hang_many(self):
        """Thousands behind a kernel that hangs are listed, each of them."""
        self.built = self.program()
        self.hang(9, -9, more=["9000"])
        names = {}
        for r in self.query(self.UNFINISHED):
            names[r["name"]] = names.get(r["name"], 0) + 1
        check("unfinished", names, {None: 1, "hung": 1, "there": 1, "behind": 9000})
        check("not only counted", self.one("SELECT unlisted FROM process"), 0)
        check("notes", self.notes("cuda"), {})

    def test_hang_modes(self):
        """The same where calls are not recorded, and of a hang while it lasts."""
        self.built = self.program()
        for options in (["--mode", "minimal"], ["--mode", "full"], ["--mode", "summary"],
                        ["--exclude", "Launch|Memset"], ["--backends", "cuda"]):
            self.hang(9, -9, *options)
            self.hanging(" ".join(options), calls=False)
        self.hang(9, -9, "--start-paused")
        check("paused: nothing", self.query(self.UNFINISHED), [])
        kymotest.remove(self.trace, missing_ok=True)
        program = subprocess.Popen(
            [self.kymo, "run", "--no-summary", "-o", self.trace, self.built, "hang", "live"], text=True,
            stdout=subprocess.PIPE, env={**os.environ, "KYMO_CUPTI": self.library, "FAKE_DEVICES": "2"})
        check("the program's answer", program.stdout.readline(), "hangs\n")
        for look in (1, 2):
            check(f"flush {look}", self.ctl("flush"), (0, "kymo: TRACE: 1 process flushed"))
            self.hanging(f"flush {look}")
        os.kill(self.one("SELECT pid FROM process"), signal.SIGKILL)
        program.communicate(timeout=60)
        self.hanging("killed")

    def test_origins(self):
        """What a tool had at submission holds for every record; ids are retired after the last."""
        self.built = self.program()
        tool = self.compile("tool.so", "-std=gnu11", "-shared", "-fPIC", "-I",
                            self.source + "/include", os.path.join(HERE, "tool.c"))
        out = self.path("calls")
        self.scene("tooled", env={"KYMO_TOOLS": tool, "TOOL_OUT": out})
        with open(out, encoding="utf-8") as f:
            lines = f.read().splitlines()
        check("calls and their records", lines, [
            "cudaLaunchKernel records 1 wrong 0 retired 1 early 0",
            "cudaLaunchKernel records 0 wrong 0 retired 1 early 0",
            "cudaGraphLaunch records 3 wrong 0 retired 1 early 0",
            "cudaMemcpy records 1 wrong 0 retired 1 early 0",
            "cudaLaunchKernel records 0 wrong 0 retired 1 early 0",
            "filter asked 6 knows 2"])
        check("the recorder's kernels", self.rows(
            "SELECT name, count(*) FROM kernels GROUP BY 1 ORDER BY 1"),
            [("first", 1), ("node", 3), ("second", 1)])

    def test_origins_shared(self):
        """Tools hear of work whose number tells no call, without one; no id waits for it."""
        self.built = self.program()
        tool = self.compile("tool.so", "-std=gnu11", "-shared", "-fPIC", "-I",
                            self.source + "/include", os.path.join(HERE, "tool.c"))
        out = self.path("calls")
        self.scene("tooled_shared", env={"KYMO_TOOLS": tool, "TOOL_OUT": out})
        with open(out, encoding="utf-8") as f:
            lines = f.read().splitlines()
        check("calls and their records", lines[:-1], [
            "cudaLaunchKernel records 0 wrong 0 retired 1 early 0",
            "cudaLaunchKernel records 0 wrong 0 retired 1 early 0",
            "cudaLaunchKernel records 0 wrong 0 retired 1 early 0",
            "cudaLaunchKernel records 1 wrong 0 retired 1 early 0"])
        check("kernels", self.rows("SELECT name, region FROM kernels ORDER BY 1"),
              [("one", None), ("refused", "cudaLaunchKernel"), ("three", "cudaLaunchKernel"), ("two", None)])

    def test_alone(self):
        """A tool without a recorder hears waits, and the memory that its filter lets through."""
        self.built = self.program()
        tool = self.compile("alone.so", "-std=gnu11", "-shared", "-fPIC", "-I",
                            self.source + "/include", os.path.join(HERE, "alone.c"), self.lib)
        out = self.path("heard")
        must(self.built, "basic", env=dict(os.environ, CUDA_INJECTION64_PATH=self.lib, KYMO_TOOLS=tool,
                                           KYMO_CUPTI=self.library, TOOL_OUT=out))
        with open(out, encoding="utf-8") as f:
            lines = sorted(f.read().splitlines())
        check("heard", lines, ["allocate 1", "barrier 1", "event_record 1", "events 1", "queue 1"])

    def test_without(self):
        """No CUPTI, one that is too old, one that another tool holds: the program runs on."""
        self.built = self.program()
        self.scene("basic", env={"KYMO_CUPTI": "/nowhere/libcupti.so"})
        check("none: noted", any("CUPTI was not found" in t for t in self.notes("cuda")), True)
        self.scene("basic", version="17")
        check("old: noted", any("version 17" in t for t in self.notes("cuda")), True)
        for version, who in (("130001", "Some Other Profiler"), ("28", "Some Other Profiler")):
            out = self.scene("other", version=version)
            check(f"{version}: other: nothing listened to", out, "kernels 0 driver 0 runtime 0\n")
            check(f"{version}: other: named", any(who in t for t in self.notes("cuda")), True)
        out = self.scene("basic", env={"FAKE_NO_SUBSCRIBER": "35"})
        check("refused: nothing listened to", out, "kernels 0 driver 0 runtime 0\n")
        check("refused: why", any("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" in t for t in self.notes("cuda")),
              True)
        self.scene("basic", env={"CUDA_INJECTION64_PATH": self.library})
        check("user's own injection", self.one("SELECT count(*) FROM dispatch"), 2)

    def takes(self, how, where=None, env=None):
        """The program's own profiler hears the same with Kymo; returns what Kymo says of CUDA."""
        words = ["takes", how] + ([where] if where else [])
        out = self.scene(*words, plain=True, env=env)
        check(f"{how}: the program's profile", out.splitlines(), [
            "profiler: 5 kernels, 0 not in its time, 0 buffers of others, status 0 0 0",
            "kernels wanted: 0"])
        check(f"{how}: lost", self.lost_records(), 0)
        return list(self.notes("cuda"))

    def kernel_names(self):
        return dict(self.rows("SELECT name, count(*) FROM kernels GROUP BY name"))

    def test_aside(self):
        """A program that uses CUPTI itself comes first, however it gets at it; Kymo says so."""
        self.built = self.program()
        flags = ["-std=gnu11", "-shared", "-fPIC", os.path.join(HERE, "profiler.c")]
        profiler = self.compile("libprofiler.so", *flags, self.library)
        for how, where, by in (("linked", None, "program"), ("activities", None, "program"),
                               ("loaded", profiler, "libprofiler.so"),
                               ("dlsym", self.library, "program")):
            notes = self.takes(how, where)
            call = "cuptiActivityRegisterCallbacks" if how == "activities" else "cuptiSubscribe"
            check(f"{how}: said once", notes, [
                "CUDA is not traced from here on: only one tool can use CUPTI, and "
                f"{by} of this program uses it itself ({call})"])
            check(f"{how}: kernels until then", self.kernel_names(), {"before": 3})
            check(f"{how}: launches until then", self.calls("name = 'cudaLaunchKernel'"),
                  {"cudaLaunchKernel": 3})
        notes = self.takes("early")
        check("early: said", [n.partition(":")[0] for n in notes], ["CUDA is not traced"])
        check("early: no kernel", self.kernel_names(), {})
        for name, who in (("NV_COMPUTE_PROFILER_PERFWORKS_DIR", "Nsight Compute (ncu)"),
                          ("NSYS_PROFILING_SESSION_ID", "Nsight Systems (nsys)")):
            out = self.scene("basic", env={name: "1"})
            check(f"{who}: nothing listened to", out, "kernels 0 driver 0 runtime 0\n")
            check(f"{who}: said", list(self.notes("cuda")), [
                "CUDA is not traced: only one tool can use CUPTI, and this program runs under " + who])

    def test_static(self):
        """CUPTI linked statically into the program, or into a library that it loads later."""
        self.built = self.program()
        fake = os.path.join(HERE, "fake.c")
        sources = [*SCENES, fake]
        static = ["-std=gnu11", "-DFAKE_STATIC", "-shared", "-fPIC", fake]
        brings = self.compile("libbrings.so", *static)
        out = self.scene("brought", brings)
        check("brought: given up", out, "kernels 0 driver 0 runtime 0\n")
        check("brought: said once", [n.endswith("libbrings.so has CUPTI linked into it (libcupti_static.a)")
                                     for n in self.notes("cuda")], [True])
        names = self.kernel_names()
        check("brought: kernels until then, none after", (names.pop("before"), "after" in names),
              (3, False))
        kept = self.built
        self.built = self.compile("fake", "-std=gnu11", "-pthread", *sources)
        self.scene("basic")
        check("functions of the same names alone are none", self.notes("cuda"), {})
        shutil.copy(kept, self.path("ncu"))
        self.built = self.path("ncu")
        out = self.scene("basic")
        check("ncu: nothing listened to", out, "kernels 0 driver 0 runtime 0\n")
        check("ncu: said", self.notes("cuda"), {"CUDA is not traced: only one tool can use CUPTI, and in what "
                                                "ncu runs Nsight Compute does": 1})
        self.built = self.compile("static", "-std=gnu11", "-DFAKE_STATIC", "-pthread", *sources)
        out = self.scene("basic")
        check("nothing listened to", out, "kernels 0 driver 0 runtime 0\n")
        check("said", [n.endswith("static has CUPTI linked into it (libcupti_static.a)") or
                       n.endswith("exe has CUPTI linked into it (libcupti_static.a)")
                       for n in self.notes("cuda")], [True])

    # ---- what a GPU told ----

    def told(self, capture):
        """Counts and times of device work in a capture, read without Kymo."""
        kernels, copies = {}, {}
        with open(capture, encoding="ascii") as f:
            for words in (line.rstrip("\n").split(" ", 4) for line in f):
                if words[1] != "R":
                    continue
                record = bytes.fromhex(words[3]).ljust(int(words[2]), b"\0")
                kind = struct.unpack_from("<I", record)[0]
                if kind == 10:
                    start, end = struct.unpack_from("<QQ", record, 16)
                    n, ns = kernels.get(words[4], (0, 0))
                    kernels[words[4]] = (n + 1, ns + end - start)
                elif kind in (1, 2):
                    size = struct.unpack_from("<Q", record, 8)[0]
                    what = "fill" if kind == 2 else {1: "write", 2: "read"}.get(record[4], "copy")
                    n, total = copies.get(what, (0, 0))
                    copies[what] = (n + 1, total + size)
        return kernels, copies

    def test_replay(self):
        """What CUPTI told on an H200, said again: all of it is recorded, with its calls."""
        self.program()
        replay = self.compile("replay", "-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter",
                              "-pthread", "-I", self.source + "/src", os.path.join(HERE, "replay.c"),
                              self.library)
        # Calls as the trace taken there had them; the program counts kernels, copies, sets itself.
        for name, calls, by_driver, own in (("app", 199, 4, (98, 14, 2)), ("training", 233, 18, None)):
            capture = self.path(name + ".txt")
            with lzma.open(os.path.join(HERE, "captures", f"h200-{name}.txt.xz")) as f, \
                    open(capture, "wb") as out:
                shutil.copyfileobj(f, out)
            self.record(replay, capture, env={"KYMO_CUPTI": self.library}, plain=False)
            kernels, copies = self.told(capture)
            check(f"{name}: kernels", sorted(self.rows(
                "SELECT count(*), sum(duration) FROM kernels GROUP BY name")), sorted(kernels.values()))
            check(f"{name}: copies", {o: (n, size) for o, n, size in self.rows(
                "SELECT operation, count(*), sum(size) FROM memory_copies WHERE operation NOT IN "
                "('migrate', 'fault') GROUP BY 1")}, copies)
            if own:
                check(f"{name}: counted by the program", own,
                      (sum(n for n, _ in kernels.values()),
                       sum(n for o, (n, _) in copies.items() if o != "fill"), copies["fill"][0]))
            check(f"{name}: calls", self.one("SELECT count(*) FROM regions WHERE category <> 'cuda_driver'"),
                  calls)
            check(f"{name}: what the driver did of itself", self.one(
                "SELECT count(*) FROM regions WHERE category = 'cuda_driver'"), by_driver)
            check(f"{name}: kernels without call or time, or early", self.one(
                "SELECT count(*) FROM kernels WHERE ifnull(region, '') NOT LIKE '%Launch%' "
                "OR untimed OR early"), 0)
            check(f"{name}: device", self.rows("SELECT DISTINCT agent_name FROM kernels"),
                  [("NVIDIA H200",)])
            check(f"{name}: lost", self.lost_records(), 0)

    # ---- kymo ctl ----

    def served(self, *options, env=None):
        """A program under Kymo that launches when it is told to; its launcher."""
        kymotest.remove(self.trace, missing_ok=True)
        return subprocess.Popen(
            [self.kymo, "run", "--no-summary", "-o", self.trace, *options, self.built, "served"],
            env={**os.environ, "KYMO_CUPTI": self.library, **(env or {})}, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)

    def launch(self, program, count):
        program.stdin.write(f"launch {count}\n")
        program.stdin.flush()
        check("the program's answer", program.stdout.readline(), "done\n")

    def ctl(self, what, whom=None):
        done = base.run(self.kymo, "ctl", what, whom or self.trace)
        return done.returncode, done.stderr.strip().replace(self.trace, "TRACE")

    def recorded(self):
        return self.rows("SELECT (SELECT count(*) FROM dispatch), (SELECT count(*) FROM call "
                         "c JOIN op o ON o.id = c.op WHERE o.name LIKE 'cudaLaunch%')")[0]

    def test_ctl(self):
        """What was recorded can be read while the program runs; pauses leave out what they should."""
        self.built = self.program()
        program = self.served()
        self.launch(program, 5)
        check("flush", self.ctl("flush"), (0, "kymo: TRACE: 1 process flushed"))
        check("in the trace", self.recorded(), (5, 5))
        self.launch(program, 2000)
        check("flush, by the launcher", self.ctl("flush", str(program.pid))[0], 0)
        check("in the trace then", self.recorded(), (2005, 2005))
        check("pause", self.ctl("pause"), (0, "kymo: TRACE: 1 process paused"))
        self.launch(program, 300)
        check("flush in a pause", self.ctl("flush")[0], 0)
        check("not recorded", self.recorded(), (2005, 2005))
        check("resume", self.ctl("resume"), (0, "kymo: TRACE: 1 process recorded again"))
        self.launch(program, 7)
        check("no such word", base.run(self.kymo, "ctl", "stop", self.trace).returncode, 2)
        program.communicate(timeout=60)
        check("status", program.returncode, 0)
        check("in the end, each once", self.recorded(), (2012, 2012))
        check("each with its call", self.one("SELECT count(DISTINCT call) FROM dispatch"), 2012)
        check("lost", self.lost_records(), 0)
        check("damaged", self.one("SELECT sum(damaged_blocks) FROM process"), 0)
        code, text = self.ctl("flush")
        check("complete", (code, "nothing is being recorded into it" in text), (3, True))
        code, text = self.ctl("flush", str(os.getpid()))
        check("not recorded", (code, "neither" in text), (3, True))

    def test_ctl_recorder(self):
        """A flight recorder writes what it holds, which is more than fits, when it is asked to."""
        self.built = self.program()
        program = self.served("--on-full", "overwrite", "--buffer-size", "2M")
        for _ in range(20):
            self.launch(program, 10000)
        check("nothing yet", self.recorded(), (0, 0))
        check("flush", self.ctl("flush")[0], 0)
        calls = self.recorded()[1]
        check("the newest", 5000 < calls < 200000, True)
        newest = self.one("SELECT max(c.id & 0xffffffffff) FROM call c")
        check("the last call is there", newest >= 200000, True)
        program.communicate(timeout=60)
        check("status", program.returncode, 0)

    def test_ctl_silent(self):
        """A process that does not answer is named, and so is a recording that was killed."""
        self.built = self.program()
        program = self.served(env={"FAKE_STUCK": "1"})
        self.launch(program, 1)
        pid = self.one("SELECT pid FROM process")
        code, text = self.ctl_for("200ms")
        check("stuck", (code, "1 of 1 processes did not answer" in text, f"process {pid} " in text),
              (3, True, True))
        self.launch(program, 1)
        os.kill(pid, signal.SIGKILL)
        program.communicate(timeout=60)
        check("status", program.returncode, -signal.SIGKILL)
        check("calls", self.recorded()[1], 2)

    def ctl_for(self, timeout):
        done = base.run(self.kymo, "ctl", "--timeout", timeout, "flush", self.trace)
        return done.returncode, done.stderr

    def doctor(self, root, **env):
        done = base.run(self.kymo, "doctor", env=dict(os.environ, KYMO_TELEMETRY_ROOT=root, **env))
        return [line for line in done.stdout.splitlines() if line[6:].startswith(("CUDA ", "CUPTI "))]

    def test_doctor(self):
        """What doctor says of a driver, of CUPTI that is there, missing or too old, and of rights."""
        self.built = self.program()
        root = self.path("root")
        os.makedirs(root + "/proc/driver/nvidia/capabilities/gpu0/mig/gi1")
        with open(root + "/proc/driver/nvidia/version", "w", encoding="ascii") as f:
            f.write("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23\n"
                    "GCC version: 12.2.0\n")
        with open(root + "/proc/driver/nvidia/params", "w", encoding="ascii") as f:
            f.write("EnableMSI: 1\nRmProfilingAdminOnly: 1\n")
        lines = self.doctor(root, KYMO_CUPTI=self.library)
        check("driver", "driver 580.95.05" in lines[0], True)
        check("CUPTI", lines[1], f"ok    CUPTI            {self.library}, version 130001 (CUDA 13); "
              "lines of kernels (--instrument-kernels) are for CUDA 12.2's or later")  # this fake has no metrics of instructions
        check("rights", any("administrator only" in x for x in lines), os.geteuid() != 0)
        check("MIG", any(x.startswith("note  CUDA ") and "1 MIG instances" in x for x in lines), True)
        lines = self.doctor(root, KYMO_CUPTI="/nowhere/libcupti.so")
        check("no CUPTI", "note" in lines[1] and "KYMO_CUPTI names no library" in lines[1], True)
        lines = self.doctor(root, KYMO_CUPTI=self.library, FAKE_VERSION="17")
        check("old", "version 17: CUDA 11.8 or later" in lines[1], True)
        lines = self.doctor(root, KYMO_CUPTI=self.library, CUDA_INJECTION64_PATH="/x.so")
        check("another tool", "/x.so is started before Kymo" in lines[0], True)

    def test_layout(self):
        """What is declared of CUPTI is what its headers say, where there are any."""
        folders = [f for f in [os.environ.get("CUPTI_INCLUDE", "-"),
                               *sorted(glob.glob("/usr/local/cuda*/include")),
                               *sorted(glob.glob("/usr/local/cuda*/extras/CUPTI/include"))]
                   if os.path.exists(os.path.join(f, "cupti_activity.h"))]
        if not folders:
            skip("CUPTI's headers are not here (set CUPTI_INCLUDE)")
        for folder in folders:
            must(os.environ.get("CC", "cc"), "-std=gnu11", "-fsyntax-only", "-I", self.source + "/src",
                 "-I", self.source + "/include", "-isystem", folder,
                 os.path.join(HERE, "layout.c"))


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
