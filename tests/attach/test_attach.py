#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that run already are recorded: test_attach.py KYMO PROGRAM LOOP CUDA WHAT [ATTACHES]

exact     what two threads do from the stated moment on is recorded, each call, and nothing of before
threads   Kymo's own thread is none of the program's; each recording begins with its own mark, and knows Kymo's libraries
again     attached to three times, each a trace of its own; the program does what it does alone
ends      the program ends before the recording; the launcher is killed
opencl    calls and kernels of a program that has begun, each launch with its kernel however the recording ends; what is missed is told
cuda      of a thread that was inside a call when a recording ended the next ones have calls and kernels, and it its kernel
refused   what cannot be attached to, with the reason, and goes on
odd       programs of other kinds and in other places: recorded, or refused with the reason; none is harmed
openmpi, mpich   ranks that are attached to late: calls and messages, and they go on right
samples   threads that were there before are sampled
stuck     what threads wait for that waited before and wait on is told, with their stacks
moments   many attaches at moments nobody chooses
"""
import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import must, run  # noqa: E402

KYMO, PROGRAM, LOOP, CUDA = map(os.path.abspath, sys.argv[1:5])
WHAT = sys.argv[5]
MOMENTS = int(sys.argv[6]) if len(sys.argv) > 6 else 5 if WHAT == "opencl" else 20
del sys.argv[1:]


class Target:
    """The program, and what it says of itself."""

    def __init__(self, folder, threads=2, wrap=()):
        self.process = subprocess.Popen([*wrap, PROGRAM, str(threads), folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid

    def lives(self):
        self.process.stdin.write("are you there\n")
        self.process.stdin.flush()
        return self.process.stdout.readline() == "here\n"

    def end(self):
        """When each round of each thread began, and how much went wrong."""
        out, _ = self.process.communicate("end\n", timeout=kymotest.WAIT)
        wrong = sum(int(n) for n in re.findall(r"^rounds \d+ wrong (\d+)$", out, re.M))
        rounds = {}
        for thread, begun in re.findall(r"^(\d+) (\d+)$", out, re.M):
            rounds.setdefault(int(thread), []).append(int(begun))
        return rounds, wrong, self.process.returncode


class Attached(unittest.TestCase):
    def setUp(self):
        scratch = kymotest.Folder()
        self.addCleanup(scratch.cleanup)
        self.folder = os.path.realpath(scratch.name)
        for variable in [v for v in os.environ if v.startswith("KYMO_")]:
            del os.environ[variable]

    def target(self, *args, **options):
        t = Target(self.folder, *args, **options)
        self.addCleanup(t.process.kill)
        return t

    def begin(self, pid, name, *options):
        """A recording that goes on; what it said."""
        path = os.path.join(self.folder, name)
        p = subprocess.Popen([KYMO, "attach", "--no-summary", "-o", path, *options, str(pid)], stderr=subprocess.PIPE,
                             text=True, start_new_session=True)
        self.addCleanup(p.stderr.close)
        self.addCleanup(p.kill)
        said, line = "", p.stderr.readline()
        while line and "is recorded since" not in said:
            said += line
            line = "" if "is recorded since" in said else p.stderr.readline()
        self.assertIn("is recorded since", said)
        return p, path

    def stop(self, p, sign=signal.SIGINT):
        """Ends the recording; what was said since it began."""
        os.killpg(p.pid, sign)
        err = p.stderr.read()
        self.assertEqual(p.wait(timeout=kymotest.WAIT), 0, err)
        self.assertNotIn("lost", err)
        return err

    def writes(self, path):
        """The rounds of which the write is recorded, by thread; those after the mark that says when it began."""
        mark = kymotest.query(KYMO, path, "SELECT start FROM marker JOIN marker_name ON marker.name = marker_name.id "
                              "WHERE marker_name.text = 'kymo attach'")
        self.assertEqual(len(mark), 1)
        by = {}
        for r in kymotest.query(KYMO, path, "SELECT tid, kymo_arg(id, 'offset') AS round, start FROM regions "
                                "WHERE category = 'posix' AND name = 'pwrite' ORDER BY start"):
            if r["start"] >= mark[0]["start"]:
                by.setdefault(r["tid"], []).append(int(r["round"]))
        return by

    def count(self, path):
        """Writes that were recorded."""
        return sum(len(v) for v in self.writes(path).values())

    def test_exact(self):
        t = self.target()
        p, path = self.begin(t.pid, "a.kymo", "-b", "posix")
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        time.sleep(0.3)  # some rounds
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.stop(p)
        over = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        rounds, wrong, status = t.end()
        self.assertEqual((wrong, status), (0, 0))
        by = sorted(self.writes(path).values())
        # From the mark on each round is there, once, in order.
        for recorded in by:
            self.assertEqual(recorded, list(range(recorded[0], recorded[-1] + 1)))
        # Of both threads: all that began after it was said that they are recorded, none that began when it was over.
        def fits(recorded, begun):
            inside = {i for i, at in enumerate(begun) if before <= at < after}
            return inside <= set(recorded) and inside and recorded[-1] < len(begun) and begun[recorded[-1]] <= over
        self.assertEqual(len(by), 2)
        self.assertTrue((fits(by[0], rounds[0]) and fits(by[1], rounds[1])) or
                        (fits(by[1], rounds[0]) and fits(by[0], rounds[1])), (by, before, after))

    def test_again(self):
        t = self.target()
        seen = []
        for i in range(3):
            p, path = self.begin(t.pid, f"{i}.kymo", "-b", "posix,heap,lock,wait", "--heap-interval=1")
            self.assertTrue(t.lives())
            time.sleep(0.2)
            self.stop(p)
            seen.append(self.count(path))
            heap = kymotest.query(KYMO, path, "SELECT COUNT(*) AS n FROM heap")[0]["n"]
            self.assertGreater(heap, 100)
            self.assertTrue(t.lives())
        rounds, wrong, status = t.end()
        self.assertEqual((wrong, status), (0, 0))
        self.assertTrue(all(n > 0 for n in seen), seen)
        self.assertLess(sum(seen), sum(len(r) for r in rounds.values()))

    def used(self, pid):
        """On processors, in ns, as far as the system counts."""
        fields = self.text(f"/proc/{pid}/stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000000000 // os.sysconf("SC_CLK_TCK")

    def test_threads(self):
        t = self.target()
        threads = {int(x) for x in os.listdir(f"/proc/{t.pid}/task")}
        for i in range(2):
            used, before = self.used(t.pid), time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            p, path = self.begin(t.pid, f"{i}.kymo", "-b", "posix,wait,heap", "--off-cpu")
            ready = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            kymotest.wait_for(lambda: set(map(int, os.listdir(f"/proc/{t.pid}/task"))) >= threads and t.lives(), "it goes on")
            self.stop(p)
            used = self.used(t.pid) - used
            # Who came in is Kymo's, in the calls too that the kernel tells of.
            of_program = kymotest.query(KYMO, path, "SELECT tid, name FROM threads WHERE NOT own")
            self.assertEqual([r for r in of_program if r["tid"] not in threads], [])
            self.assertIn("kymo-enter", {r["name"] for r in kymotest.query(KYMO, path, "SELECT name FROM threads WHERE own")})
            waits = kymotest.query(KYMO, path, "SELECT DISTINCT tid FROM regions WHERE category = 'off_cpu'")
            self.assertTrue(waits)
            self.assertLessEqual({r["tid"] for r in waits}, threads)
            # The trace begins when Kymo came in this time.
            r, = kymotest.query(KYMO, path, "SELECT m.start - (SELECT min(start) FROM processes) AS mark, p.pauses, p.user + p.system AS used, "
                                "(SELECT min(start) FROM threads) - p.start AS first FROM marker m JOIN marker_name n ON m.name = n.id, "
                                "processes p WHERE n.text = 'kymo attach'")
            self.assertLessEqual(r["mark"], ready - before)
            self.assertGreaterEqual(r["first"], 0)
            # Nothing is told of one that lives on, and has used nothing that the kernel counts meanwhile.
            self.assertLessEqual(r["used"] or 0, used + 3 * 1000000000 // os.sysconf("SC_CLK_TCK"))
            self.assertEqual(r["pauses"], 0)  # nobody paused
            # Code that was loaded for it has names, when it is gone from memory too.
            modules = {r["path"] for r in kymotest.query(KYMO, path, "SELECT path FROM module")}
            self.assertIn("libkymo-attach.so", {os.path.basename(m) for m in modules})
            self.assertEqual([m for m in modules if m.startswith("/proc/")], [])
            kymo = [[int(x, 16) for x in line.split()[0].split("-")] for line in self.text(f"/proc/{t.pid}/maps").splitlines() if "libkymo" in line]
            unknown = kymotest.query(KYMO, path, "SELECT DISTINCT s.address FROM stack_frame f JOIN site s ON s.id = f.site WHERE NOT s.module")
            self.assertEqual([r for r in unknown if any(first <= r["address"] < last for first, last in kymo)], [])
            told = must(KYMO, "summary", path)
            self.assertNotIn("malloc() of its own", told)
            self.assertNotIn("--sample-clock wall", told)
        _, wrong, status = t.end()
        self.assertEqual((wrong, status), (0, 0))

    def test_ends(self):
        t = self.target()
        p, path = self.begin(t.pid, "a.kymo", "-b", "posix")
        _, wrong, status = t.end()
        self.assertEqual((wrong, status), (0, 0))
        self.assertEqual(p.wait(timeout=kymotest.WAIT), 0, p.stderr.read())
        self.assertGreater(self.count(path), 0)
        # Who records is killed, all of it but the drain: the program is left.
        t = self.target()
        p, path = self.begin(t.pid, "b.kymo", "-b", "posix")
        os.kill(p.pid, signal.SIGKILL)
        p.wait(timeout=kymotest.WAIT)
        kymotest.wait_for(lambda: not kymotest.writers(path), "the drain ends when its launcher was killed")
        self.assertTrue(t.lives())
        q, again = self.begin(t.pid, "c.kymo", "-b", "posix")
        time.sleep(0.2)
        self.stop(q)
        _, wrong, status = t.end()
        self.assertEqual((wrong, status), (0, 0))
        self.assertGreater(self.count(again), 0)

    @staticmethod
    def text(path):
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def refuse(self, pid, text):
        p = run(KYMO, "attach", "-o", os.path.join(self.folder, "no.kymo"), str(pid))
        self.assertEqual(p.returncode, 3, p.stderr)
        self.assertIn(text, p.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "no.kymo")))

    def test_refused(self):
        t = self.target()
        os.kill(t.pid, signal.SIGSTOP)
        kymotest.wait_for(lambda: "\nState:\tT" in self.text(f"/proc/{t.pid}/status"), "it is stopped")
        self.refuse(t.pid, "it is stopped")
        os.kill(t.pid, signal.SIGCONT)
        thread = max(int(x) for x in os.listdir(f"/proc/{t.pid}/task"))
        self.refuse(thread, f"it is a thread of process {t.pid}")
        p, _ = self.begin(t.pid, "a.kymo", "-b", "posix")
        self.stop(p)
        self.assertTrue(t.lives())
        _, wrong, status = t.end()
        self.assertEqual((wrong, status), (0, 0))
        self.refuse(t.pid, "there is no such process")
        p = run(KYMO, "attach", "nobody")
        self.assertEqual(p.returncode, 2)
        self.assertIn('"nobody" is no number of a process', p.stderr)
        p = run(KYMO, "attach", "--kill=TERM", "1")
        self.assertEqual(p.returncode, 2)
        self.assertIn("--kill is for programs", p.stderr)

    def path(self, name):
        return os.path.join(self.folder, name)

    def built(self, name, *flags, compiler="cc"):
        """odd.c; None: it cannot be built here."""
        words = [compiler, "-O1", *flags, os.path.join(os.path.dirname(os.path.abspath(__file__)), "odd.c"), "-o", self.path(name)]
        return self.path(name) if shutil.which(compiler) and run(*words).returncode == 0 else None

    def odd(self, argv, refused=None, before=None, inside=False, wrap=()):
        """Starts it, attaches to it, or to its child; it goes on and ends as it would have."""
        if not argv[-1]:
            return
        try:
            q = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        except OSError as e:
            self.assertEqual(e.errno, errno.ENOEXEC, argv) # the kernel has no 32-bit programs
            print("left out:", argv, e)
            return
        self.addCleanup(q.kill)
        if q.stdout.readline() != "ready\n":
            print("left out:", argv, q.stderr.read().strip())
            q.stdin.close()
            q.wait()
            return
        pid = int(self.text(f"/proc/{q.pid}/task/{q.pid}/children").split()[0]) if inside else q.pid
        if before:
            before(pid)
        p = run(*wrap, KYMO, "attach", "--no-summary", "-b", "posix", "--duration=1ms", "-o", self.path("odd.kymo"), str(pid))
        self.assertEqual(p.returncode, 3 if refused else 0, (argv, p.stderr))
        self.assertIn(refused or "is recorded since", p.stderr, argv)
        kymotest.remove(self.path("odd.kymo"), missing_ok=True)
        q.stdin.write("are you there\n")
        q.stdin.flush()
        self.assertEqual(q.stdout.readline(), "here\n", argv)
        q.communicate("end\n", timeout=kymotest.WAIT)
        self.assertEqual(q.returncode, 7, argv)

    def replace(self, _):
        os.unlink(self.path("moved"))
        shutil.copy("/bin/true", self.path("moved"))

    def trace(self, pid):
        """A debugger has it, until the test is over."""
        g = subprocess.Popen(["gdb", "-q", "-p", str(pid), "-ex", "continue"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        self.addCleanup(g.stdin.close)
        self.addCleanup(g.wait)
        self.addCleanup(g.kill)
        kymotest.wait_for(lambda: "\nTracerPid:\t0\n" not in self.text(f"/proc/{pid}/status"), "the debugger has it")

    def test_odd(self):
        plain = self.built("plain")
        self.odd([plain, "nnp"])
        self.odd([plain, "seccomp"], "a filter of system calls (seccomp)")
        self.odd([self.built("static", "-static")], "linked statically, or with another one")
        self.odd([self.built("narrow", "-m32", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-fno-stack-protector", "-DALONE")],
                 "it is a 32-bit program")
        self.odd([self.built("musl", compiler="musl-gcc")], "linked statically, or with another one")
        if shutil.which("gdb"):
            self.odd([plain], "traces it already", before=self.trace)
        shutil.copy(plain, self.path("moved"))
        self.odd([self.path("moved")], before=self.replace)
        if os.geteuid() != 0:
            return
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        os.chmod(self.folder, 0o755)
        shutil.copy(plain, self.path("setuid"))
        os.chmod(self.path("setuid"), 0o4755)
        self.odd([*nobody, plain], "it belongs to nobody")
        self.odd([plain], "it belongs to root", wrap=nobody)
        self.odd([*nobody, self.path("setuid")], "the rights of another user", wrap=nobody)
        self.odd(["unshare", "-m", plain], "other file systems")
        self.odd(["unshare", "-p", "-f", plain], "other process numbers", inside=True)
        self.odd(["unshare", "-r", plain], "other users")
        self.odd(["unshare", "-n", plain])
        static = self.path("static")
        if os.path.exists(static):
            os.mkdir(self.path("root"))
            shutil.copy(static, self.path("root"))
            self.odd(["chroot", self.path("root"), "/static"], "another root directory")

    def test_languages(self):
        """Go, on whose stacks nobody else may run, with the C library too; Java."""
        with open(self.path("odd.go"), "w", encoding="ascii") as f:
            f.write('package main\n// int seven(void) { return 7; }\nimport "C"\nimport ("bufio"; "fmt"; "os")\nfunc main() {\n'
                    's := bufio.NewScanner(os.Stdin)\nfmt.Println("ready")\nfor s.Scan() && s.Text() != "end" { fmt.Println("here") }\n'
                    'os.Exit(int(C.seven()))\n}\n')
        if shutil.which("go") and run("go", "build", "-o", self.path("go"), self.path("odd.go"),
                                      env=dict(os.environ, GOCACHE=self.path("cache"), GOFLAGS="-mod=mod", HOME=self.folder)).returncode == 0:
            self.odd([self.path("go")], "a program of Go")
        with open(self.path("Odd.java"), "w", encoding="ascii") as f:
            f.write("public class Odd { static double x; public static void main(String[] a) throws Exception {\n"
                    "var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));\n"
                    "var t = new Thread(() -> { for (;;) x += new double[1000].length; });\nt.setDaemon(true); t.start();\n"
                    'System.out.println("ready");\nfor (String s; (s = in.readLine()) != null && !s.equals("end");) System.out.println("here");\n'
                    "System.exit(7); } }\n")
        if shutil.which("java") and shutil.which("javac"):
            self.odd(["java", self.path("Odd.java")])

    def test_recorded(self):
        """One that `kymo run` has started."""
        q = subprocess.Popen([KYMO, "run", "--no-summary", "-o", os.path.join(self.folder, "r.kymo"), "--", PROGRAM, "1", self.folder],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(q.kill)
        self.assertEqual(q.stdout.readline(), "ready\n")
        children = self.text(f"/proc/{q.pid}/task/{q.pid}/children").split()
        mine = [c for c in children if os.readlink(f"/proc/{c}/exe") == os.path.realpath(PROGRAM)]
        self.refuse(mine[0], "is recorded already")
        q.communicate("end\n", timeout=kymotest.WAIT)
        self.assertEqual(q.returncode, 0)

    def test_samples(self):
        t = self.target()
        p, path = self.begin(t.pid, "a.kymo", "-b", "none", "--sample=200")
        time.sleep(0.5)
        self.stop(p)
        _, wrong, status = t.end()
        self.assertEqual((wrong, status), (0, 0))
        rows = kymotest.query(KYMO, path, "SELECT thread, COUNT(*) AS n FROM sample GROUP BY thread")
        self.assertGreaterEqual(len(rows), 2, rows)

    def test_opencl(self):
        q = subprocess.Popen([LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(q.kill)
        if q.stdout.readline() != "ready\n":
            kymotest.skip("no OpenCL device")
        for i in range(2):
            p, path = self.begin(q.pid, f"{i}.kymo")
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            time.sleep(0.5)
            after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            err = self.stop(p)
            self.assertIn("queues that are there already", err)
            calls = kymotest.query(KYMO, path, "SELECT name, COUNT(*) AS n FROM regions WHERE category = 'opencl' GROUP BY name")
            calls = {r["name"]: r["n"] for r in calls}
            kernels = kymotest.query(KYMO, path, "SELECT COUNT(*) AS n FROM dispatch")[0]["n"]
            self.assertEqual(kernels, calls["clEnqueueNDRangeKernel"])
            self.assertGreater(kernels, 10)
            self.assertLessEqual(abs(calls["clEnqueueReadBuffer"] - kernels), 1)
            if i == 0:
                first = (before, after, kernels)
        for i in range(MOMENTS):  # a launch may be being made when the recording ends
            p, path = self.begin(q.pid, f"moment{i}.kymo")
            self.stop(p)
            self.assertEqual(kymotest.query(KYMO, path, "SELECT COUNT(*) AS n FROM regions WHERE name = 'clEnqueueNDRangeKernel' AND id NOT IN "
                                            "(SELECT call FROM dispatch)"), [{"n": 0}], i)
            self.assertEqual(kymotest.query(KYMO, path, "SELECT COUNT(*) AS n FROM dispatch WHERE call NOT IN (SELECT id FROM regions)"),
                             [{"n": 0}], i)
            kymotest.remove(path)
        out, _ = q.communicate("\n", timeout=kymotest.WAIT)
        self.assertEqual((q.returncode, re.findall(r"wrong (\d+)", out)), (0, ["0"]))
        rounds = [int(n) for n in re.findall(r"^0 (\d+)$", out, re.M)]
        self.assertGreaterEqual(first[2], sum(first[0] <= r <= first[1] for r in rounds))
        self.assertLess(first[2], sum(r <= before for r in rounds))

    def launches(self, path):
        """Calls and kernels that are recorded, by name; kernels of which the call is known."""
        calls = kymotest.query(KYMO, path, "SELECT name, COUNT(*) AS n FROM regions WHERE category = 'cuda_runtime' GROUP BY name")
        kernels = kymotest.query(KYMO, path, "SELECT name, COUNT(*) AS n, COUNT(region) AS known FROM kernels GROUP BY name")
        return {r["name"]: r["n"] for r in calls}, {r["name"]: (r["n"], r["known"]) for r in kernels}

    def rounds(self, rank):
        with open(self.path(f"stop.{rank}"), "rb") as f:
            return int.from_bytes(f.read(8), "little")

    def ranks(self, compiler, launcher, flags=()):
        """Two ranks that are attached to at once: their calls and messages; what they compute is right."""
        program = self.path("ranks")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ranks.c")
        if not shutil.which(compiler) or run(compiler, "-O1", "-fopenmp", *flags, source, "-o", program).returncode:
            print("left out:", compiler)
            return
        q = subprocess.Popen([*launcher, "-n", "2", program, self.path("stop")], stdout=subprocess.PIPE, text=True,
                             env=dict(os.environ, OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive"))
        self.addCleanup(q.kill)
        begun = [self.begin(int(q.stdout.readline()), f"{i}.kymo", "-b", "all") for i in range(2)]
        for rank in range(2):
            before = self.rounds(rank)
            kymotest.wait_for(lambda b=before, r=rank: self.rounds(r) > b + 20, "rounds go on")
        for p, _ in begun:
            said = self.stop(p)
            self.assertIn("MPI: clocks of ranks are not compared", said)
            self.assertIn("OpenMP: GCC's runtime has no interface for tools", said)
        with open(self.path("stop"), "w", encoding="ascii"):
            pass
        out, _ = q.communicate(timeout=kymotest.WAIT)
        self.assertEqual((q.returncode, re.findall(r"wrong (\d+)", out)), (0, ["0"]), out)
        for rank, (_, path) in enumerate(begun):
            calls = {r["name"]: r["n"] for r in kymotest.query(
                KYMO, path, "SELECT name, COUNT(*) AS n FROM regions WHERE category = 'mpi' GROUP BY name")}
            self.assertGreaterEqual(calls["MPI_Sendrecv"], 20)
            self.assertLessEqual(abs(calls["MPI_Sendrecv"] - calls["MPI_Bcast"]), 1)
            self.assertEqual(kymotest.query(KYMO, path, "SELECT rank, ranks FROM process"), [{"rank": rank, "ranks": 2}])
            messages = kymotest.query(KYMO, path, "SELECT COUNT(*) AS n FROM comm")[0]["n"]
            self.assertGreaterEqual(messages, 2 * calls["MPI_Sendrecv"])

    def test_openmpi(self):
        self.ranks("mpicc.openmpi", ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"])

    def test_mpich(self):
        self.ranks("mpicc.mpich", ["mpirun.mpich"])

    def test_cuda(self):
        """The fake CUPTI tells of no call of a thread that it told of a call's begin and not of its end, and of no kernel when
        such a call goes on while kinds of records are switched off. It is left as a whole, and begins anew."""
        libcuda = must("sh", "-c", f"ldd {CUDA} | sed -n 's/.*libcuda[^ ]* => \\([^ ]*\\).*/\\1/p'").strip()
        threads = 2
        q = subprocess.Popen([CUDA, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             env=dict(os.environ, KYMO_CUPTI=libcuda))
        self.addCleanup(q.kill)
        self.assertEqual(q.stdout.readline(), "ready\n")

        def tell(*lines):
            for line in lines:
                q.stdin.write(line + "\n")
                q.stdin.flush()
                answer = q.stdout.readline()
            return answer

        def record(name, *lines):
            p, path = self.begin(q.pid, name + ".kymo")
            tell(*lines)
            self.stop(p)
            return self.launches(path)

        def left():
            """Once a while has passed, at the end of a call."""
            end = time.monotonic() + kymotest.WAIT
            while tell("launch 1") != "listened 0\n":
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)

        five = ({"cudaLaunchKernel": 5 * threads}, {"kernel": (5 * threads, 5 * threads)})
        self.assertEqual(record("first", "launch 5", "enter"), five)
        for _ in range(30): # calls go on: it is not left, and nothing of them is recorded
            self.assertEqual(tell("launch 1"), "listened 1\n")
            time.sleep(0.01)
        tell("leave")
        left()
        self.assertEqual(record("again", "launch 5", "enter"), five)
        calls, kernels = record("inside", "leave", "launch 5")
        self.assertEqual(kernels.pop("held"), (threads, 0))  # begun before: nothing is known of its call
        self.assertEqual((calls, kernels), five)
        left()
        self.assertEqual(record("last", "launch 5"), five)
        # Of a thread that is inside a launch when the recording ends: it takes its kernel along.
        p, path = self.begin(q.pid, "late.kymo")
        tell("launch 5", "enter")
        os.killpg(p.pid, signal.SIGINT)
        time.sleep(0.3)  # if it has not ended by then, the launch is one of those before
        tell("leave")
        self.stop(p, 0)
        calls, kernels = self.launches(path)
        self.assertEqual(calls, {"cudaLaunchKernel": 6 * threads})
        self.assertEqual(kernels, {"kernel": (5 * threads, 5 * threads), "held": (threads, threads)})
        left()
        # Where work never ends for CUPTI, all buffers are asked for.
        self.assertEqual(record("held", "hold", "launch 5"), five)
        self.assertEqual(record("behind", "launch 5", "release"), five)
        lost = kymotest.query(KYMO, self.path("last.kymo"), "SELECT text FROM note WHERE text LIKE '%dropped%'")
        self.assertEqual(lost, [])  # of when it was left
        tell("end")
        self.assertEqual(q.wait(timeout=kymotest.WAIT), 0)

    def test_stuck(self):
        program = self.path("stuck")
        must("cc", "-g", "-O1", "-pthread", os.path.join(os.path.dirname(os.path.abspath(__file__)), "stuck.c"), "-o", program)
        q = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
        self.addCleanup(q.kill)
        self.assertEqual(q.stdout.readline(), "ready\n")
        for i in range(2):
            p, path = self.begin(q.pid, f"{i}.kymo", "--off-cpu")
            begun = time.monotonic()
            kymotest.wait_for(lambda: time.monotonic() - begun > 0.5, "half a second is waited for")
            self.stop(p)
            rows = kymotest.query(KYMO, path, "SELECT t.tid, sum(r.end - r.start) AS ns FROM regions r JOIN threads t ON t.tid = r.tid "
                                  "WHERE r.category = 'off_cpu' AND r.name = 'wait_lock' AND NOT t.own GROUP BY 1")
            self.assertEqual({r["tid"] for r in rows}, {int(t) for t in os.listdir(f"/proc/{q.pid}/task")})
            self.assertGreater(min(r["ns"] for r in rows), 500000000)
            table = must(KYMO, "summary", "--all", "--tables", "off_cpu_stacks", path)
            for function in ("main;take_second;", "other;take_first;"):
                self.assertIn(function, table)

    def test_moments(self):
        t = self.target(4)
        for i in range(MOMENTS):
            p, path = self.begin(t.pid, f"{i}.kymo", "-b", "posix")
            self.stop(p)
            kymotest.remove(path)
            self.assertTrue(t.lives(), i)
        _, wrong, status = t.end()
        self.assertEqual((wrong, status), (0, 0))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], f"Attached.test_{WHAT}"])
