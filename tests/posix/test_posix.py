#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files and sockets (domain posix): test_posix.py KYMO PROGRAM PRELOAD WHAT

counted    a program counts what it reads and writes by every function, in threads, over sockets, in children: so does the trace
handlers   handlers of signals write while their thread allocates and is recorded: all goes on, what is left out is counted
programs   dd, tar, python3, h5repack, h5perf_serial, MPI-IO: their results are the same, and counts are strace's
shell      pipes of a shell are known, also where it has signals blocked and frames of handlers lie about
beside     another preloaded library is called as often as without
unasked    nothing is preloaded where posix is not named
together   with other preloaded libraries, of which none is ready yet when threads of Kymo's begin, programs start
"""
import csv
import hashlib
import json
import os
import re
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import run  # noqa: E402

KYMO, PROGRAM, PRELOAD = map(os.path.abspath, sys.argv[1:4])
WHAT = sys.argv[4]
del sys.argv[1:]

READS = {"read", "pread64", "readv", "preadv", "preadv2"}
WRITES = {"write", "pwrite64", "writev", "pwritev", "pwritev2"}
CALL = re.compile(r"^\d+ +(\w+)\((\d+)<(/[^>]*)>.* = (\d+)$")


class Posix(unittest.TestCase):
    def setUp(self):
        scratch = kymotest.Folder()
        self.addCleanup(scratch.cleanup)
        self.folder = os.path.realpath(scratch.name)
        for variable in [v for v in os.environ if v.startswith("KYMO_")]:
            del os.environ[variable]

    def record(self, *words, backends="posix", status=0, **more):
        p = run(KYMO, "run", "--no-summary", "-f", "-o", os.path.join(self.folder, "t.kymo"), "-b", backends, "--", *words,
                cwd=self.folder, **more)
        self.assertEqual(p.returncode, status, p.stderr)
        self.assertNotIn("lost", p.stderr)
        return p

    def calls(self):
        p = run(KYMO, "query", "--format", "csv", os.path.join(self.folder, "t.kymo"),
                "SELECT name, count(*) FROM regions WHERE category = 'posix' GROUP BY 1")
        self.assertEqual(p.returncode, 0, p.stderr)
        return {name: int(n) for name, n in list(csv.reader(p.stdout.splitlines()))[1:]}

    def tables(self, *names):
        p = run(KYMO, "summary", "--all", "--format", "json", "--tables", ",".join(names), os.path.join(self.folder, "t.kymo"))
        self.assertEqual(p.returncode, 0, p.stderr)
        found = json.loads(p.stdout)["tables"]
        return [row for table in found if table["name"] in names for row in table["rows"]]

    def traffic(self):
        """Reads, bytes, writes, bytes by file and by the other side of sockets."""
        return {row.get("file") or row["peer"]: (row["reads"], row["read_bytes"], row["writes"], row["written_bytes"])
                for row in self.tables("files", "sockets")}

    def compare(self, said):
        found = self.traffic()
        files = {m[0].replace("_", " ") if m[0].startswith("tcp_") else m[0]: tuple(map(int, m[1:]))
                 for m in re.findall(r"^file (\S+) (\d+) (\d+) (\d+) (\d+)$", said, re.M)}
        self.assertTrue(files)
        self.assertEqual({name: found.get(name) for name in files}, files)
        return found

    @unittest.skipUnless(WHAT == "counted", "another test")
    def test_each(self):
        p = self.record(PROGRAM, "each", self.folder)
        found = self.compare(p.stdout)
        self.assertEqual(self.calls(), {name: int(n) for name, n in re.findall(r"^call (\S+) (\d+)$", p.stdout, re.M)})
        self.assertEqual(found["/nowhere/at all"], (0, 0, 0, 0))
        rows = {row["file"]: row for row in self.tables("files")}
        self.assertEqual((rows["/nowhere/at all"]["opens"], rows["/nowhere/at all"]["errors"]), (2, 2))
        first = rows[os.path.join(self.folder, "first")]
        self.assertEqual((first["opens"], first["errors"]), (1, 1))
        self.assertGreaterEqual(first["ns"], first["longest_ns"])
        self.assertGreater(first["longest_ns"], 0)

    @unittest.skipUnless(WHAT == "counted", "another test")
    def test_writers(self):
        p = self.record(PROGRAM, "writers", self.folder)
        self.compare(p.stdout)
        self.assertEqual(self.calls(), {name: int(n) for name, n in re.findall(r"^call (\S+) (\d+)$", p.stdout, re.M)})
        self.assertEqual(run(PROGRAM, "writers", self.folder).stdout, p.stdout)

    @unittest.skipUnless(WHAT == "counted", "another test")
    def test_network(self):
        p = self.record(PROGRAM, "network", self.folder)
        self.assertEqual(len(self.compare(p.stdout)), 2)
        self.assertEqual([row["connections"] for row in self.tables("sockets")], [1, 1])

    @unittest.skipUnless(WHAT == "counted", "another test")
    def test_children(self):
        """A child of fork() is a process of its own; what one of vfork() does is not its parent's."""
        p = self.record(PROGRAM, "children", self.folder)
        self.compare(p.stdout)
        q = run(KYMO, "query", "--format", "csv", os.path.join(self.folder, "t.kymo"),
                "SELECT pid, count(*) FROM regions WHERE category = 'posix' AND name = 'write' GROUP BY 1")
        self.assertEqual([row[1] for row in csv.reader(q.stdout.splitlines())][1:], ["1", "1"], q.stderr)

    @unittest.skipUnless(WHAT == "counted", "another test")
    def test_ring(self):
        for what, told in (("ring", True), ("children", False)):
            if run(PROGRAM, what, self.folder).returncode == 77:
                self.skipTest("no io_uring here")
            self.record(PROGRAM, what, self.folder)
            self.assertEqual(any("io_uring" in row["text"] for row in self.tables("notes")), told, what)

    @unittest.skipUnless(WHAT == "handlers", "another test")
    def test_handlers(self):
        for stacks in ("", "."):
            with self.subTest(stacks=stacks):
                p = self.record(PROGRAM, "handlers", self.folder, env=dict(os.environ, KYMO_STACKS=stacks), timeout=120)
                writes, handled = (int(re.search(rf"^{what} (\d+)$", p.stdout, re.M)[1]) for what in ("writes", "handled"))
                calls = self.calls()
                left = sum(row["times"] for row in self.tables("notes") if "signal handlers" in row["text"])
                self.assertEqual(calls["pwrite"], writes)
                self.assertEqual(calls.get("write", 0) + left, handled)
                self.assertGreater(left, 0)

    def strace(self, *words, **more):
        trace = os.path.join(self.folder, "strace.txt")
        p = run("strace", "-f", "-y", "-o", trace, "-e", "trace=" + ",".join(sorted(READS | WRITES)), "--", *words, cwd=self.folder, **more)
        if p.returncode != 0 or not os.path.exists(trace):
            self.skipTest("strace may not be used here: " + p.stderr[:200])
        found = {}
        with open(trace, encoding="utf-8", errors="replace") as f:
            for line in f:
                m = CALL.match(line.rstrip())
                if m:
                    row = found.setdefault(m[3], [0, 0, 0, 0])
                    at = 0 if m[1] in READS else 2
                    row[at] += 1
                    row[at + 1] += int(m[4])
        return found

    def checksum(self, name):
        with open(os.path.join(self.folder, name), "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()

    def same(self, words, inputs, output):
        """Run alone, under strace and under Kymo the program makes the same file, and moves the same bytes."""
        def made():  # HDF5 writes down when
            return self.checksum(output) if not output.endswith(".h5") else run("h5diff", "-v", *inputs, output, cwd=self.folder).stdout

        run(*words, cwd=self.folder)
        alone = made()
        expected = self.strace(*words)
        self.record(*words)
        self.assertEqual(made(), alone)
        found = self.traffic()
        for name in inputs + [output]:
            path = os.path.join(self.folder, name)
            self.assertEqual(list(found[path]), expected[path], name)

    @unittest.skipUnless(WHAT == "programs" and shutil.which("strace"), "another test, or no strace")
    def test_programs(self):
        with open(os.path.join(self.folder, "in"), "wb") as f:
            f.write(bytes(i * i % 251 for i in range(300000)))
        shutil.copy(os.path.join(self.folder, "in"), os.path.join(self.folder, "in2"))
        self.same(["dd", "if=in", "of=out", "bs=1000", "status=none"], ["in"], "out")
        self.same(["tar", "--mtime=@1", "-cf", "out.tar", "in", "in2"], ["in", "in2"], "out.tar")
        self.same([sys.executable, "-c", "d = open('in', 'rb').read(); open('copy', 'wb').write(d[::-1])"], ["in"], "copy")

    @unittest.skipUnless(WHAT == "programs" and shutil.which("strace") and shutil.which("h5repack"), "no h5repack, or no strace")
    def test_hdf5(self):
        with open(os.path.join(self.folder, "in.txt"), "w", encoding="ascii") as f:
            f.write(" ".join(str(i % 97) for i in range(100000)))
        p = run("h5import", "in.txt", "-d", "100000", "-t", "TEXTIN", "-s", "32", "-o", "in.h5", cwd=self.folder)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.same(["h5repack", "-f", "GZIP=1", "in.h5", "out.h5"], ["in.h5"], "out.h5")

    @unittest.skipUnless(WHAT == "programs" and shutil.which("mpicc") and shutil.which("mpirun"), "another test, or no MPI")
    def test_mpi_io(self):
        """Two ranks: 20 blocks of 64 KiB each, written and read."""
        program, data = os.path.join(self.folder, "mpi_io"), os.path.join(self.folder, "data")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpi_io.c")
        p = run("mpicc", "-O2", source, "-o", program)
        self.assertEqual(p.returncode, 0, p.stderr)
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_rmaps_base_oversubscribe="1")
        self.record("mpirun", "-n", "2", program, data, env=environment)
        self.assertEqual(self.traffic()[data], (40, 40 * 65536, 40, 40 * 65536))
        self.assertEqual(os.path.getsize(data), 40 * 65536)

    @unittest.skipUnless(WHAT == "programs" and shutil.which("strace") and shutil.which("h5perf_serial"), "no h5perf_serial, or no strace")
    def test_h5perf(self):
        """Its own files, by HDF5 and without: as many reads and writes as strace counts."""
        words = ["h5perf_serial", "-e", "100,200", "-x", "10,20"]
        environment = dict(os.environ, HDF5_PREFIX=self.folder)
        counted = {path: sums for path, sums in self.strace(*words, env=environment).items() if "#sio_tmp" in path}
        self.assertEqual(len(counted), 2)
        self.record(*words, env=environment)
        found = {path: list(sums) for path, sums in self.traffic().items() if "#sio_tmp" in path}
        self.assertEqual(found, counted)

    @unittest.skipUnless(WHAT == "shell" and shutil.which("bash"), "another test, or no bash")
    def test_shell(self):
        self.record("bash", "-c", "x=$(echo hi); y=$(cat /etc/hostname); z=$(echo ho)")
        p = run(KYMO, "query", "--format", "json", os.path.join(self.folder, "t.kymo"),
                "SELECT kymo_arg(id, 'file') AS file, count(*) AS n FROM regions WHERE category = 'posix' AND name = 'read' AND NOT failed GROUP BY 1")
        found = {row["file"]: row["n"] for row in json.loads(p.stdout)}
        self.assertGreaterEqual(found.get("pipe", 0), 6, found)  # what came, and the end, three times
        self.assertFalse({None, ""} & set(found), found)

    @unittest.skipUnless(WHAT == "shell", "another test")
    def test_streams(self):
        """Of a file that is opened and written to by a stream of the C library nothing is seen: the table says so; of a directory there is nothing to see."""
        code = ("import ctypes, os, sys\nc = ctypes.CDLL(None)\nc.fdopen.restype = ctypes.c_void_p\nfd = os.open('told', os.O_CREAT | os.O_WRONLY)\n"
                "if sys.argv[1] == 'stream':\n  f = ctypes.c_void_p(c.fdopen(fd, b'w'))\n  c.fputs(b'hello', f)\n  c.fclose(f)\n"
                "else:\n  os.write(fd, b'hello')\n"
                "if sys.argv[1] == 'folder':\n  os.fsync(os.open('.', os.O_RDONLY | os.O_DIRECTORY))\n"
                "if sys.argv[1] == 'nameless':\n  os.open('.', os.O_TMPFILE | os.O_WRONLY)\n")
        notes = {}
        for how in ("stream", "write", "folder", "nameless"):
            self.record(sys.executable, "-S", "-E", "-c", code, how)
            p = run(KYMO, "summary", "--all", "--tables", "files", os.path.join(self.folder, "t.kymo"))
            found = re.search(r"(\d+) files? (?:was|were) opened, and no read or write", " ".join(p.stdout.split()))
            notes[how] = int(found[1]) if found else 0
        self.assertEqual((notes["stream"], notes["folder"], notes["nameless"]), (notes["write"] + 1, notes["write"], notes["write"] + 1), notes)

    @unittest.skipUnless(WHAT == "beside", "another test")
    def test_beside(self):
        environment = dict(os.environ, LD_PRELOAD=PRELOAD)
        alone = run(PROGRAM, "each", self.folder, env=environment)
        self.assertIn("preloaded: 1\n", alone.stderr)
        p = self.record(PROGRAM, "each", self.folder, env=environment)
        self.assertIn("preloaded: 1\n", p.stderr)
        self.assertEqual(p.stdout, alone.stdout)
        self.compare(p.stdout)

    @unittest.skipUnless(WHAT == "unasked", "another test")
    def test_unasked(self):
        """No function of the C library is stood before where nobody asked for it."""
        see = ["grep", "-c", "libkymo-posix", "/proc/self/maps"]
        for backends in ("all", "mpi", "-mpi"):
            p = self.record(*see, backends=backends, status=1)
            self.assertEqual(p.stdout, "0\n", backends)
        for backends in ("posix", "all,posix"):
            p = self.record(*see, backends=backends)
            self.assertGreater(int(p.stdout), 0, backends)

    @unittest.skipUnless(WHAT == "together", "another test")
    def test_together(self):
        """The thread that takes samples closes folders, and takes locks and memory, while the loader runs constructors."""
        for backends, more in (("posix,lock", ["--sample"]), ("wait,posix", ["--off-cpu"]),
                               ("all,lock,wait,posix", ["--sample", "--off-cpu"]),
                               ("heap,lock,wait,posix", ["--sample", "--threads", "--functions", "."])):
            p = run("timeout", "-s", "INT", "60", KYMO, "run", "--no-summary", "-f", "-o", os.path.join(self.folder, "t.kymo"),
                    "-b", backends, *more, "--", PROGRAM, "each", self.folder, cwd=self.folder)
            self.assertEqual(p.returncode, 0, p.stderr)
            self.assertGreater(self.calls().get("read", 0), 0, backends)
        # Of Python's samples stacks are found by timers, whose thread asks the loader for its tables.
        p = run("timeout", "-s", "INT", "60", KYMO, "run", "--no-summary", "-f", "-o", os.path.join(self.folder, "t.kymo"), "-b", "heap",
                "--sample", "--", sys.executable, "-S", "-c", "print(6 * 7)", cwd=self.folder)
        self.assertEqual((p.returncode, p.stdout), (0, "42\n"), p.stderr)


if __name__ == "__main__":
    unittest.main()
