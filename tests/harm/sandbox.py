#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a process gives up before its first recorded call does not make its records vanish: each is
recorded, or counted as lost.

Usage: sandbox.py KYMO SANDBOXED FAIL_ALLOC [TEST...]
"""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import account  # noqa: E402
import kymotest  # noqa: E402

KYMO, SANDBOXED, FAIL_ALLOC = map(os.path.abspath, sys.argv[1:4])
CALLS = 20000


class Sandbox(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kymo-sandbox-")
        self.trace = os.path.join(self.folder, "t.kymo")

    def tearDown(self):
        kymotest.remove(self.folder)

    def ask(self, sql):
        done = subprocess.run([KYMO, "query", "--format", "csv", self.trace, sql], timeout=120,
                              capture_output=True, text=True, check=True)
        return done.stdout.split("\n")[1:-1]

    def run_one(self, *arguments, env=None, before=None):
        """(recorded, lost) of a run of the program; the launcher does `before` first."""
        kymotest.remove(self.trace, missing_ok=True)
        done = subprocess.run([KYMO, "run", "--no-summary", "-o", self.trace, SANDBOXED, *arguments],
                              timeout=300, env={**os.environ, **(env or {})}, capture_output=True,
                              text=True, check=False, preexec_fn=before)
        if done.returncode == 77:
            return None
        self.assertEqual(done.returncode, 5, done.stderr)
        self.said = done.stderr
        recorded, lost = self.ask("SELECT (SELECT count(*) FROM markers), "
                                  "(SELECT sum(lost_records) FROM process)")[0].split(",")
        made, recorded, lost = int(arguments[-1]), int(recorded), int(lost or 0)
        account.tell(made, made, {"marks": recorded, "lost": lost, "overwritten": 0})
        return recorded, lost

    def gives_up(self, what):
        for mode in "default", "full":
            counts = self.run_one(what, str(CALLS), env={"KYMO_MODE": mode})
            if counts is None:
                self.skipTest("the system does not let a process do that")
            self.assertEqual(counts, (CALLS, 0), f"{what}, {mode}")

    def gives_up_in_child(self, what):
        counts = self.run_one("fork", what, str(CALLS))
        if counts is None:
            self.skipTest("the system does not let a process do that")
        self.assertEqual(counts, (CALLS, 0))

    def test_few_addresses(self):
        """Launcher, drain and program have but 64 MiB each."""
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))
        self.assertEqual(self.run_one("nothing", str(CALLS), before=limit), (CALLS, 0))

    def test_limited_addresses(self):
        """Who limits its own addresses has nearly all of them; that it has less than without Kymo is told, of each limit."""
        source, program = os.path.join(self.folder, "a.c"), os.path.join(self.folder, "limited")
        with open(source, "w", encoding="ascii") as f:
            f.write("""#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
int main(void)
{
	struct rlimit limit = {600 << 20, RLIM_INFINITY}, now;
	unsigned n = 0;
	if (setrlimit(RLIMIT_AS, &limit))
		return 1;
	limit.rlim_cur = 300 << 20;
	if (prlimit(0, RLIMIT_AS, &limit, NULL) || getrlimit(RLIMIT_AS, &now) || now.rlim_cur != limit.rlim_cur || now.rlim_max != RLIM_INFINITY)
		return 2;
	while (mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		n++;
	printf("%u\\n", n);
	return 0;
}
""")
        subprocess.run(["cc", "-D_GNU_SOURCE", "-o", program, source], check=True)
        alone = int(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
        done = subprocess.run([KYMO, "run", "--no-summary", "-b", "posix", "-o", self.trace, program], capture_output=True, text=True, check=True)
        self.assertTrue(alone - 80 < int(done.stdout) <= alone, (alone, done.stdout))
        summary = subprocess.run([KYMO, "summary", self.trace], capture_output=True, text=True, check=True).stdout
        self.assertIn("its addresses are limited to 600 MiB (ulimit -v, RLIMIT_AS)", summary)
        self.assertIn("its addresses are limited to 300 MiB (ulimit -v, RLIMIT_AS)", summary)

    def test_ulimit(self):
        """A limit of the shell's: what can be recorded is, and else the limit is named."""
        for kib, recorded in ((300000, True), (60000, True), (20000, False)):
            done = subprocess.run(["sh", "-c", f"ulimit -v {kib}; exec {KYMO} run -f --no-summary -b posix -o {self.trace} true"], capture_output=True, text=True, check=False)
            summary = subprocess.run([KYMO, "summary", self.trace], capture_output=True, text=True, check=True).stdout
            self.assertEqual("ulimit -v" in done.stderr, not recorded, done.stderr)
            self.assertEqual(f"its addresses are limited to {kib >> 10} MiB" in summary, recorded, summary)

    def test_memory(self):
        """Where there is none for the records, each is counted, none waits for room, and that is why."""
        for child in [], ["fork"]:
            self.assertEqual(self.run_one(*child, "memory", str(CALLS)), (0, CALLS))
            self.assertEqual(self.ask("SELECT sum(waiting_ns), sum(no_memory_records) FROM process"),
                             [f"0.0,{CALLS}"])
            said = self.said
            self.assertIn(f"{CALLS:,} records were lost because the program had no memory for them", said)
            summary = subprocess.run([KYMO, "summary", self.trace], timeout=120, capture_output=True,
                                     text=True, check=True).stdout
            self.assertIn(f"For {CALLS:,} there was no memory", summary)
            self.assertNotIn("none of the APIs", summary)
            info = subprocess.run([KYMO, "info", self.trace], timeout=120, capture_output=True,
                                  text=True, check=True).stdout
            self.assertRegex(info, rf"without memory for them +{CALLS}\n")
            for text in said, summary:
                self.assertNotIn("--buffer-size", text)
            with open(os.path.join(self.trace, "manifest.json"), encoding="utf-8") as f:
                manifest = json.load(f)
            self.assertEqual(manifest["totals"]["no_memory_records"], CALLS)
            self.assertEqual(sum(p["no_memory_records"] for p in manifest["processes"]), CALLS)

    def test_allocations(self):
        lost = 0
        for number in range(1, 41):
            counts = self.run_one("nothing", str(CALLS), env={
                "LD_PRELOAD": FAIL_ALLOC, "FAIL_AT": str(number),
                "FAIL_PROGRAM": os.path.basename(SANDBOXED)})
            self.assertEqual(sum(counts), CALLS, f"allocation {number} fails")
            self.assertEqual(self.ask("SELECT sum(no_memory_records) FROM process"), [str(counts[1])])
            lost += counts[1]
        self.assertLessEqual(lost, 40)

    def test_signal(self):
        """Of the signal of a filter of system calls, and of no other, the summary says what it may come from."""
        for name, told in (("SYS", True), ("TERM", False)):
            trace = os.path.join(self.folder, name)
            subprocess.run([KYMO, "run", "--no-summary", "-b", "posix", "-o", trace, "sh", "-c", f"echo; kill -{name} $$"],
                           stdout=subprocess.DEVNULL, check=False)
            summary = subprocess.run([KYMO, "summary", trace], capture_output=True, text=True, check=True).stdout
            self.assertIn("was killed by signal", summary)
            self.assertEqual("(seccomp)" in summary, told, summary)

    def test_programs(self):
        """A program that nothing can be preloaded into is told of, with its starts; one that can be is not."""
        source = os.path.join(self.folder, "p.c")
        with open(source, "w", encoding="ascii") as f:
            f.write("#include <unistd.h>\nint main(int n, char **words)\n{\n\treturn n > 1 ? execv(words[1], words + 1) : 0;\n}\n")
        if subprocess.run(["cc", "-static", "-o", os.path.join(self.folder, "still"), source], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("nothing can be linked statically here")
        subprocess.run([KYMO, "run", "--no-summary", "-b", "posix", "-o", self.trace, "sh", "-c", "./still; ./still /bin/cat p.c; cat p.c"], cwd=self.folder,
                       stdout=subprocess.DEVNULL, check=True)
        summary = subprocess.run([KYMO, "summary", self.trace], capture_output=True, text=True, check=True).stdout
        self.assertEqual([line for line in summary.splitlines() if line.startswith("Not recorded")],
                         ['Not recorded: "./still" is statically linked (started 2 times).'])
        self.assertEqual(self.ask("SELECT count(*) FROM process WHERE exe LIKE '%/cat'"), ["2"])

    def test_argument_lists(self):
        """execl() and its sisters start what they would, with the same words and environment, and programs that nothing can be preloaded into are told of."""
        source = os.path.join(self.folder, "l.c")
        with open(source, "w", encoding="ascii") as f:
            f.write("""#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
#define START(call) do { int status; if (!vfork()) { call; _exit(9); } wait(&status); if (status) return status >> 8; } while (0)
#define WORDS "-c", "echo $0 $# $KIND"
int main(int n, char **words)
{
	char *environment[] = {"KIND=own", getenv("PATH") - 5, getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") - 11 : NULL, NULL};
	char *none[] = {NULL};
	if (n > 1)
		return 0;
	setenv("KIND", "all", 1);
	START(execl("/bin/sh", "sh", WORDS, "a", "1", "2", "3", "4", "5", "6", "7", (char *)NULL));
	START(execle("/bin/sh", "sh", WORDS, "b", "1", (char *)NULL, environment));
	START(execlp("sh", "sh", WORDS, "c", (char *)NULL));
	START(execl("./still", "still", "x", (char *)NULL));
	START(execle("./still", "still", "x", (char *)NULL, environment));
	START(execlp("still", "still", "x", (char *)NULL));
	START(execle("./still", "still", "x", (char *)NULL, none));
	return execl("./missing", "missing", (char *)NULL) == -1 ? 4 : 5;
}
""")
        subprocess.run(["cc", "-o", os.path.join(self.folder, "starts"), source], check=True)
        if subprocess.run(["cc", "-static", "-o", os.path.join(self.folder, "still"), source], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("nothing can be linked statically here")
        done = subprocess.run([KYMO, "run", "--no-summary", "-b", "posix", "-o", self.trace, "./starts"], cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, "PATH": ".:" + os.environ["PATH"]}, check=False)
        self.assertEqual((done.returncode, done.stdout), (4, "a 7 all\nb 1 own\nc 0 all\n"), done.stderr)
        summary = subprocess.run([KYMO, "summary", self.trace], capture_output=True, text=True, check=True).stdout
        self.assertIn('Not recorded: "./still" is statically linked (started 4 times).', summary)

    def test_own_function(self):
        """A program whose own execve() calls execv()."""
        source, program = os.path.join(self.folder, "o.c"), os.path.join(self.folder, "own")
        with open(source, "w", encoding="ascii") as f:
            f.write("#include <unistd.h>\nint execve(const char *path, char *const argv[], char *const envp[])\n{\n\treturn execv(path, argv);\n}\n"
                    "int main(void)\n{\n\tchar *words[] = {\"echo\", \"done\", 0};\n\n\treturn execve(\"/bin/echo\", words, environ);\n}\n")
        subprocess.run(["cc", "-D_GNU_SOURCE", "-rdynamic", "-o", program, source], check=True)
        done = subprocess.run([KYMO, "run", "--no-summary", "-b", "posix", "-o", self.trace, program], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)

    def test_names_after_chroot(self):
        """Functions of a program that has left where its file is have their names."""
        done = subprocess.run([KYMO, "run", "--no-summary", "--sample=500", "--sample-clock", "wall", "-o", self.trace, SANDBOXED, "chroot", "3000000"],
                              capture_output=True, text=True, check=False)
        if done.returncode == 77:
            self.skipTest("the system does not let a process do that")
        functions, = (t["rows"] for t in json.loads(subprocess.run(
            [KYMO, "summary", "-f", "json", "--tables", "functions", self.trace], capture_output=True, text=True, check=True).stdout)["tables"])
        self.assertIn(os.path.basename(SANDBOXED), {r["module"] for r in functions})

    def test_other_linker(self):
        """A program of another dynamic linker runs as it does alone, and so do those that are preloaded beside Kymo."""
        source, program = os.path.join(self.folder, "m.c"), os.path.join(self.folder, "other")
        with open(source, "w", encoding="ascii") as f:
            f.write('#include <stdio.h>\n#include <stdlib.h>\nint main(void)\n{\n\tprintf("%s\\n", getenv("LD_PRELOAD"));\n\treturn 7;\n}\n')
        if not shutil.which("musl-gcc") or subprocess.run(["musl-gcc", "-o", program, source], check=False).returncode:
            self.skipTest("no musl-gcc")
        for how in ("./other", "exec ./other", "python3 -c 'import subprocess, sys; sys.exit(subprocess.run(\"./other\").returncode)'",
                    "python3 -c 'import os; os.execvp(\"./other\", [\"other\"])'", "env ./other"):
            done = subprocess.run([KYMO, "run", "-f", "--no-summary", "-b", "posix", "-o", self.trace, "sh", "-c", how], cwd=self.folder,
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (7, "\n"), done.stderr)
            summary = subprocess.run([KYMO, "summary", self.trace], capture_output=True, text=True, check=True).stdout
            self.assertIn('Not recorded: "./other" is', summary)
        own = os.path.join(self.folder, "libnone.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", own, "-x", "c", "/dev/null"], check=True)
        done = subprocess.run([KYMO, "run", "-f", "--no-summary", "-b", "posix", "-o", self.trace, "sh", "-c", f"LD_PRELOAD={own}:$LD_PRELOAD:{own} ./other"],
                              cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (7, f"{own}:{own}\n"), done.stderr)

    def test_never_records(self):
        """Who shares memory and records nothing is not in the trace, and nobody waits for it."""
        begin = time.monotonic()
        done = subprocess.run([KYMO, "run", "-o", self.trace, "sh", "-c", "sleep 300 >&- 2>&- & echo $!"],
                              timeout=250, capture_output=True, text=True, check=False)
        os.kill(int(done.stdout), signal.SIGKILL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(time.monotonic() - begin, 240)
        self.assertNotIn("background", done.stderr)
        self.assertFalse([f for _, _, files in os.walk(self.trace) for f in files if ".kyr" in f])


for WHAT in ("chroot", "setuid", "files", "addresses", "memfd_create", "socket", "mmap", "madvise",
             "mremap", "clone3"):
    setattr(Sandbox, "test_" + WHAT, lambda self, what=WHAT: self.gives_up(what))
    setattr(Sandbox, f"test_{WHAT}_in_child", lambda self, what=WHAT: self.gives_up_in_child(what))

if __name__ == "__main__":
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    unittest.main(argv=[sys.argv[0]] + sys.argv[4:], verbosity=1)
