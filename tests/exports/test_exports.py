#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Libraries of plain functions, by fakes for NCCL, cuBLAS, NVRTC and hipRTC: test_exports.py KYMO WHAT."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "annotation"))
import base  # noqa: E402
from base import check, must  # noqa: E402

FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-I", HERE]
SHARED = [*FLAGS, "-shared", "-fPIC", "-fvisibility=hidden"]


class Test(base.Test):
    def build(self):
        source = os.path.join(HERE, "library.c")
        self.nccl = self.compile("libnccl.so.2", *SHARED, "-Wl,-soname,libnccl.so.2", source)
        self.cublas = self.compile("libcublas.so.13", *SHARED, "-DCUBLAS",
                                   "-Wl,-soname,libcublas.so.13", source)
        program = os.path.join(HERE, "program.c")
        self.linked = self.compile("linked", *FLAGS, program, self.nccl, self.cublas,
                                   f"-Wl,-rpath,{self.folder}")
        self.by_name = self.compile("by_name", *FLAGS, "-DBY_NAME", program, "-ldl")

    def ways(self, library, *words, **options):
        """The program that is linked to the library, then the one that looks its functions up."""
        for built in (self.linked, self.by_name):
            way = os.path.basename(built)
            yield way, self.record(built, *words, env={"LIBRARY": library}, **options)
            check(f"{way}: notes", self.query("SELECT text FROM note"), [])

    def rows(self, sql):
        return [tuple(r.values()) for r in self.query(sql)]

    def one(self, sql):
        return self.rows(sql)[0][0]

    def messages(self):
        return self.rows("SELECT region_name, kind, peer, sent, received, datatype FROM messages "
                         "ORDER BY start, call_id")

    def test_collectives(self):
        """What each gives and gets, in the root and elsewhere; the communicator."""
        self.build()
        for rank in (0, 1):
            root = rank == 1
            for way, _ in self.ways(self.nccl, "collectives", str(rank)):
                check(f"{way} {rank}: messages", self.messages(), [
                    ("ncclAllReduce", "collective", None, 400, 400, "ncclFloat32"),
                    ("ncclAllGather", "collective", None, 800, 3200, "ncclFloat64"),
                    ("ncclReduceScatter", "collective", None, 40, 10, "ncclInt8"),
                    ("ncclAlltoAll", "collective", None, 40, 40, "ncclInt8"),
                    ("ncclBroadcast", "collective", 1, *((10, 0) if root else (0, 10)), "ncclInt8"),
                    ("ncclReduce", "collective", 1, 10, 10 if root else 0, "ncclInt8"),
                    ("ncclGather", "collective", 1, 10, 40 if root else 0, "ncclInt8"),
                    ("ncclScatter", "collective", 1, 40 if root else 0, 10, "ncclInt8")])
                check(f"{way} {rank}: communicator", self.rows(
                    "SELECT name, size, key <> 0 FROM communicator"),
                    [(f"everyone, NCCL rank {rank}", 4, 1)])
                check(f"{way} {rank}: its life", self.one(
                    "SELECT group_concat(name) FROM (SELECT name FROM regions WHERE name LIKE "
                    "'ncclComm%' ORDER BY start)"), "ncclCommInitRankConfig,ncclCommDestroy")
                check(f"{way} {rank}: arguments", self.one(
                    "SELECT kymo_args(c.id) LIKE '%\"count\": 100,%\"datatype\": \"ncclFloat32\"%"
                    "\"op\": \"ncclSum\"%' FROM call c JOIN op o ON o.id = c.op WHERE o.name = "
                    "'ncclAllReduce'"), 1)

    def test_groups(self):
        """Records of a group end with it; communicators of all kinds; failures."""
        self.build()
        keys = []
        for rank in (0, 2):
            for way, out in self.ways(self.nccl, "groups", str(rank)):
                check(f"{way}: output", out, "failed invalid argument\n")
                check(f"{way} {rank}: messages", self.messages(), [
                    ("ncclSend", "send", rank + 1, 40, 0, "ncclFloat32"),
                    ("ncclRecv", "receive", (rank + 3) % 4, 0, 40, "ncclFloat32"),
                    ("ncclSend", "send", 0, 1, 0, "ncclInt8"),
                    ("ncclAllReduce", "collective", None, 4, 4, "ncclFloat32"),
                    ("ncclAllReduce", "collective", None, 8, 8, "ncclFloat32")])
                check(f"{way}: two last until the outer end of their group", self.rows(
                    "SELECT kind FROM messages WHERE completed_by AND end = (SELECT max(end) FROM "
                    "regions WHERE name = 'ncclGroupEnd') ORDER BY start"), [("send",), ("receive",)])
                check(f"{way}: the others end with their call", self.one(
                    "SELECT count(*) FROM messages m JOIN regions r ON r.event_id & 0xffffffffff = "
                    "m.call_id & 0xffffffffff WHERE m.end = r.end AND m.completed_by IS NULL"), 3)
                check(f"{way}: communicators", self.rows(
                    "SELECT c.name, c.size, p.name AS parent FROM communicator c LEFT JOIN communicator p ON "
                    "p.id = c.parent ORDER BY c.id"), [
                        (f"NCCL rank {rank}", 4, None),
                        (f"NCCL rank {rank // 2}", 2, f"NCCL rank {rank}"),
                        ("NCCL rank 0", 2, None), ("NCCL rank 1", 2, None)])
                keys.append(self.rows("SELECT key FROM communicator ORDER BY id")[:2])
                check(f"{way}: keys differ", len(set(keys[-1])), 2)
                check(f"{way}: failure", self.rows(
                    "SELECT name, kymo_status(op, status) FROM regions WHERE failed"),
                    [("ncclAllReduce", "ncclInvalidArgument")])
        check("keys are the same in all ranks", [k == keys[0] for k in keys], [True] * 4)

    def test_gemm(self):
        """Fourteen arguments arrive; sizes are recorded; what only sets something is not."""
        self.build()
        for way, _ in self.ways(self.cublas, "gemm"):
            check(f"{way}: calls", self.rows(
                "SELECT name, kymo_status(op, status) FROM regions ORDER BY start"), [
                    ("cublasCreate_v2", "CUBLAS_STATUS_SUCCESS"),
                    ("cublasSgemm_v2", "CUBLAS_STATUS_SUCCESS"),
                    ("cublasSgemm_v2", "CUBLAS_STATUS_INVALID_VALUE")])
            check(f"{way}: arguments", self.one(
                "SELECT kymo_args(c.id) LIKE '%\"transa\": \"CUBLAS_OP_N\"%\"transb\": "
                "\"CUBLAS_OP_T\"%\"m\": 11,%\"n\": 12,%\"k\": 13,%\"lda\": 14,%\"ldc\": 16%' FROM "
                "call c JOIN op o ON o.id = c.op WHERE o.name = 'cublasSgemm_v2' ORDER BY c.id"), 1)
        for _ in self.ways(self.cublas, "gemm", options=["--mode", "full"]):
            check("full: all calls", self.one("SELECT count(*) FROM regions"), 4)
        for _ in self.ways(self.cublas, "gemm", options=["--backends", "nccl"]):
            check("not asked for", self.one("SELECT count(*) FROM regions"), 0)

    def test_lookups(self):
        """The program finds what it would find without Kymo; a plugin's, a stub's calls are seen."""
        self.build()
        out = self.record(self.by_name, "lookups", env={"LIBRARY": self.nccl})
        check("lookups", out, "before 0, error 1, there 1, not there 0, error 1, of the C library 1\n")
        host = self.compile("host", *FLAGS, os.path.join(HERE, "plugin.c"), "-ldl")
        plugin = self.path("plugin.c")
        with open(plugin, "w", encoding="ascii") as f:
            f.write('#include "library.h"\nint use(void) { ncclUniqueId i; return '
                    'ncclGetUniqueId(&i) + ncclGroupStart() + ncclGroupEnd(); }\n')
        built = self.compile("plugin.so", *FLAGS, "-shared", "-fPIC", plugin, self.nccl,
                             f"-Wl,-rpath,{self.folder}")
        check("plugin", self.record(host, built, "use"), "0\n")
        check("plugin: calls", self.rows("SELECT name FROM regions ORDER BY start"),
              [("ncclGetUniqueId",), ("ncclGroupStart",), ("ncclGroupEnd",)])
        stub = self.compile("libframework.so", *FLAGS, "-shared", "-fPIC",
                            os.path.join(HERE, "stub.c"), "-ldl")
        check("stub", self.record(host, stub, "stub_use", env={"LIBRARY": self.cublas}), "1\n")
        check("stub: calls", self.rows("SELECT name FROM regions"), [("cublasCreate_v2",)])

    def compilers(self, scene, *, ways=("linked", "by name"), **options):
        """NVRTC's fake, then hipRTC's, each linked and looked up: (domain, way)."""
        for domain, file, flags in (("nvrtc", "libnvrtc.so.13", []),
                                    ("hiprtc", "libhiprtc.so.7", ["-DHIPRTC"])):
            library = self.compile(file, *SHARED, *flags, f"-Wl,-soname,{file}",
                                   os.path.join(HERE, "rtc.c"), "-lpthread")
            program = os.path.join(HERE, "compile.c")
            built = {"linked": [library, f"-Wl,-rpath,{self.folder}"], "by name": ["-DBY_NAME"]}
            for way in ways:
                binary = self.compile("compile", *FLAGS, *flags, program, *built[way], "-ldl",
                                      "-lpthread")
                self.record(binary, scene, env={"LIBRARY": library}, **options)
                check(f"{domain} {way}: notes", self.query("SELECT text FROM note"), [])
                yield domain, f"{domain} {way}"

    def builds(self, *columns):
        """The table of builds for programs: by program's name, where there are several by number."""
        out = json.loads(must(self.kymo, "summary", "--tables", "builds", "--format", "json",
                              self.trace))
        rows = sorted(out["tables"][0]["rows"], key=lambda r: (r["name"], r["program"]))
        return [tuple(r[c] for c in columns) for r in rows]

    def test_builds(self):
        """What is compiled, how often, what failed and why; the text for people."""
        for domain, way in self.compilers("builds"):
            check(f"{way}: builds", self.builds("name", "domain", "builds", "failed", "status"), [
                ("bad.cu", domain, 1, 1, 6), ("good.cu", domain, 1, 0, None),
                *[("loop.cu", domain, 1, 0, None)] * 3])
            log = "k.cu(2): error: #error directive: fake\n"
            check(f"{way}: log", self.builds("log")[0], (log,))
            check(f"{way}: options", self.rows(
                "SELECT data FROM blob WHERE what = 'build options'"), [("-DN=1 -DM=2",)])
            check(f"{way}: sources are kept once", self.one(
                "SELECT count(DISTINCT source) FROM program"), 3)
            check(f"{way}: calls", self.rows(
                "SELECT name, count(*) FROM regions WHERE name LIKE '%Program' GROUP BY name"),
                [(f"{domain}{what}Program", 5) for what in ("Compile", "Create", "Destroy")])
            check(f"{way}: status", self.one(
                "SELECT kymo_status(op, status) FROM regions WHERE failed"),
                f"{domain.upper()}_ERROR_COMPILATION")
            text = must(self.kymo, "summary", "--tables", "builds", self.trace)
            check(f"{way}: the log is shown", [line.strip("( )") for line in text.splitlines()
                                              if "failed to build" in line or "#error" in line],
                  ["program 2 (bad.cu) failed to build (6); its log:", log.strip()])
            done = base.run(self.kymo, "summary", "--tables", "errors,calls", self.trace)
            check(f"{way}: which table has the calls", (done.returncode, f"--tables {domain}\n" in done.stderr),
                  (2, True))
            spent = self.one("SELECT sum(end - start) FROM regions WHERE name LIKE '%Compile%'")
            hosts = json.loads(must(self.kymo, "summary", "--tables", "hosts", "--format", "json",
                                    self.trace))["tables"][0]["rows"]
            check(f"{way}: the digest's share", hosts[0]["building_ns"], spent)
        for _, way in self.compilers("builds", options=["--backends", "nccl"]):
            check(f"{way}: not asked for", self.one(
                "SELECT (SELECT count(*) FROM regions) + (SELECT count(*) FROM program)"), 0)

    def test_builds_edges(self):
        """Two of one name, no name, twice the same, what is no program, a log of a megabyte."""
        for _, way in self.compilers("edges"):
            check(f"{way}: builds", self.builds("name", "builds", "failed", "status"), [
                ("", 1, 1, 4), ("", 1, 0, None), ("same.cu", 2, 0, None), ("same.cu", 1, 1, 6)])
            check(f"{way}: no program has no log", self.builds("program", "log")[0], (0, None))
            log = self.builds("log")[3][0]
            check(f"{way}: its log", (log[:8], len(log), set(log[100:])),
                  ("k.cu(2):", 1000039, {"x"}))
            text = must(self.kymo, "summary", "--tables", "builds", self.trace)
            check(f"{way}: for people it is cut", len(text) < 3000, True)

    def test_builds_threads(self):
        """Two threads that compile at once, with handles that come again: none is mistaken."""
        for _, way in self.compilers("threads"):
            rows = self.builds("name", "builds", "failed")
            check(f"{way}: builds", (len(rows), rows.count(("one.cu", 1, 1)),
                                     rows.count(("two.cu", 1, 0))), (41, 10, 10))
            check(f"{way}: each with its log", sum(
                1 for failed, log in self.builds("failed", "log") if failed == bool(log)), 41)

    def test_builds_besides(self):
        """Headers and names that are instantiated are part of what is built."""
        for _, way in self.compilers("besides"):
            options = [r[0] for r in self.rows("SELECT data FROM blob WHERE what = 'build options'")]
            check(f"{way}: all differ", (len(options), len(set(options))), (4, 4))
            check(f"{way}: names", sorted(o.partition(") ")[2] for o in options),
                  ["(name f<int>)"] * 2 + ["(name f<long>)"] * 2)

    def test_builds_links(self):
        """hipRTC links what was compiled: a build of a program of its own."""
        for domain, way in self.compilers("links"):
            if domain == "hiprtc":
                check(f"{way}: builds", self.builds("domain", "builds", "failed", "status"),
                      [("hiprtc", 1, 1, 100)])
                check(f"{way}: kind", self.rows("SELECT kind FROM program"), [("linked",)])

    def test_sanitized(self):
        """Sanitizers look functions up before anything else runs: they find them."""
        self.build()
        for name in ("address", "thread", "undefined"):
            built = self.compile(name, *FLAGS, f"-fsanitize={name}", "-DBY_NAME",
                                 os.path.join(HERE, "program.c"), "-ldl")
            out = self.record(built, "gemm", env={
                "LIBRARY": self.cublas, "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"})
            check(f"{name}: output", out, "bad sizes 7\n")
            check(f"{name}: calls", self.one("SELECT count(*) FROM regions"), 3)


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
