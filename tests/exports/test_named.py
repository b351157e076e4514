#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Libraries that are recorded where they are named: test_named.py KYMO WHAT.

numa, ucx, openshmem, vaapi with the libraries themselves, each by a program that counts its calls; oneccl with a fake; weak without any
"""
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "annotation"))
import base  # noqa: E402
from base import check, run, skip  # noqa: E402

FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter"]
NAMED = os.path.join(HERE, "named")


class Test(base.Test):
    def build(self, name, *libraries, compiler="cc", source="c", flags=FLAGS):
        """Skips where headers or library are not here."""
        out, words = self.path(name), [*flags, os.path.join(NAMED, f"{name}.{source}"), *libraries]
        if not shutil.which(compiler) or run(compiler, "-O2", "-g", *words, "-o", out).returncode:
            skip(f"{name}: cannot be built here")
        return out

    def rows(self, sql):
        return [tuple(r.values()) for r in self.query(sql)]

    def counted(self, domain, *argv, polls=(), **options):
        """Records it; what the program counted is what was recorded. Returns the output's other lines.

        polls: calls whose number differs from run to run; all other lines of the output are those of a run without Kymo.
        """
        def steady(out):
            return [line for line in out.splitlines() if not line.startswith(tuple(f"call {name} " for name in polls))]

        if polls:
            before = run(*argv, env=dict(os.environ, **options.get("env", {})))
            check("status", before.returncode, 0)
        out = self.record(*argv, options=["-b", domain, "--mode", "full"], plain=not polls, **options)
        if polls:
            check("output", steady(out), steady(before.stdout))
        lines = out.splitlines()
        told = {n: int(c) for _, n, c in (line.split() for line in lines if line.startswith("call "))}
        check(f"{domain}: calls", dict(self.rows("SELECT name, count(*) FROM regions GROUP BY name")), told)
        check(f"{domain}: some", len(told) > 5, True)
        check(f"{domain}: notes", self.rows("SELECT text FROM note"), [])
        return [line for line in lines if not line.startswith("call ")]

    def arguments(self, name):
        return [r[0] for r in self.rows("SELECT kymo_args(c.id) FROM call c JOIN op o ON o.id = c.op WHERE o.name = "
                                        f"'{name}' ORDER BY c.id")]

    def messages(self):
        return self.rows("SELECT region_name, kind, peer, tag, sent, received FROM messages ORDER BY start, call_id")

    def test_numa(self):
        """Calls of the program, not those of the library itself; sizes; nothing where it is not named."""
        program = self.build("numa", "-lnuma", "-lpthread")
        self.counted("numa", program)
        check("sizes", sorted(int(a.split('"size": ')[1].split(",")[0].rstrip("}")) for a in self.arguments("numa_free")),
              [777, 12345, 1 << 20])
        check("node", '"node": 0' in self.arguments("numa_alloc_onnode")[0], True)
        self.record(program, options=["-b", "all"])
        check("not named", self.rows("SELECT count(*) FROM regions WHERE name LIKE 'numa%'"), [(0,)])
        self.record(program, options=["-b", "all,numa", "--mode", "minimal"])
        check("with all others", dict(self.rows("SELECT name, count(*) FROM regions WHERE name LIKE 'numa%' OR name "
                                                "LIKE 'm%' GROUP BY name")),
              {"numa_alloc": 2, "numa_alloc_onnode": 1, "numa_free": 3, "mbind": 1, "move_pages": 1})

    def test_weak(self):
        """Libraries that are named and not there: who is linked to them weakly finds functions, each of which fails."""
        program = self.build("weak")
        check("by itself", run(program).stdout, "numa none\nucx none\n")
        for backends, said in (("posix", "numa none\nucx none\n"), ("posix,numa", "numa -1 -1 0\nucx 1\n")):
            check(backends, self.record(program, options=["-b", backends], plain=False), said)

    def test_ucx(self):
        """Calls, and bytes: by counts, by datatypes, in pieces."""
        self.counted("ucx", self.build("ucx", "-lucp", "-lucs"), polls=("ucp_request_check_status", "ucp_worker_progress"),
                     env={"UCX_TLS": "self,tcp", "UCX_LOG_LEVEL": "fatal"})
        check("messages", self.messages(), [
            ("ucp_tag_send_nbx", "send", None, 0, 1000, 0), ("ucp_tag_send_nbx", "send", None, 1, 800, 0),
            ("ucp_tag_send_nbx", "send", None, 2, 42, 0), ("ucp_put_nbx", "put", None, None, 2000, 0),
            ("ucp_put_nbi", "put", None, None, 24, 0), ("ucp_get_nbx", "get", None, None, 0, 500)])

    def test_openshmem(self):
        """Two PEs: calls of the first, bytes of both."""
        if not shutil.which("oshrun"):
            skip("no oshrun here")
        program = self.build("shmem", compiler="shmemcc")
        started = ["oshrun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
        env = {"UCX_LOG_LEVEL": "fatal"}
        before = run(*started, program, env=dict(os.environ, **env))
        if before.returncode:
            skip("OpenSHMEM does not work here: " + before.stderr[-200:])
        after = run(self.kymo, "run", "--no-summary", "-o", self.trace, "-b", "openshmem", "--mode", "full", "--",
                    *started, program, env=dict(os.environ, **env))
        check("status", after.returncode, 0)
        check("output", sorted(after.stdout.splitlines()), sorted(before.stdout.splitlines()))
        told = {n: 2 * int(c) for _, n, c in (x.split() for x in after.stdout.splitlines() if x.startswith("call "))}
        check("calls", dict(self.rows("SELECT name, count(*) FROM regions WHERE name <> 'shmem_sync_all' GROUP BY "
                                    "name")), told)
        for me in (0, 1):
            check(f"bytes to {1 - me}", self.rows(
                "SELECT region_name, kind, sent, received FROM messages m WHERE peer = "
                f"{1 - me} AND region_name <> 'shmem_double_g' ORDER BY start"), [
                    ("shmem_putmem", "put", 10, 0), ("shmem_put32", "put", 12, 0), ("shmem_double_p", "put", 8, 0),
                    ("shmem_ctx_double_put", "put", 24, 0), ("shmem_long_put_nbi", "put", 16, 0),
                    ("shmem_getmem", "get", 0, 7)])
        check("of itself", self.rows("SELECT kind, received FROM messages WHERE region_name = 'shmem_double_g'"),
              [("get", 8)] * 2)

    def test_vaapi(self):
        """With libva itself and a driver that does nothing."""
        program = self.build("va", "-lva")
        driver = os.path.join(NAMED, "va_driver.c")
        self.compile("made_drv_video.so", *FLAGS, "-shared", "-fPIC", driver)
        env = {"LIBVA_DRIVERS_PATH": self.folder, "LIBVA_MESSAGING_LEVEL": "0"}
        if run(program, env=dict(os.environ, **env)).returncode:
            skip("libva finds no driver here")
        check("vaapi: output", self.counted("vaapi", program, env=env), ["end 0", "end 5"])
        check("vaapi: failure", self.rows("SELECT name, kymo_status(op, status) FROM regions WHERE failed"),
              [("vaEndPicture", "VA_STATUS_ERROR_INVALID_CONTEXT")])
        check("vaapi: arguments", [p in self.arguments("vaCreateConfig")[0] for p in (
            '"profile": "VAProfileH264Main"', '"entrypoint": "VAEntrypointVLD"')], [True, True])

    def test_oneccl(self):
        """With a fake, by the names that the public headers give: objects returned, an exception."""
        flags = ["-std=c++17", "-Wall", "-Wno-unused-parameter"]
        library = self.path("libccl.so.1")
        self.compile("libccl.so.1", *flags, "-shared", "-fPIC", "-Wl,-soname,libccl.so.1",
                     os.path.join(NAMED, "ccl_library.cpp"), compiler="c++")
        program = self.build("ccl", library, f"-Wl,-rpath,{self.folder}", compiler="c++", source="cpp", flags=flags)
        out = self.record(program, options=["-b", "oneccl", "--mode", "full"])
        check("output", out, "caught nothing to reduce\n629\n")
        check("calls", self.rows("SELECT name FROM regions ORDER BY start"), [
            ("ccl::group_start",), ("ccl::allreduce",), ("ccl::allreduce (host)",), ("ccl::group_end",),
            ("ccl::allreduce",), ("ccl::barrier (host)",)])
        check("arguments", [p in self.arguments("ccl::allreduce")[0] for p in (
            '"count": 100', '"dtype": "float32"', '"rtype": "max"')], [True] * 3)


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
