#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of the program (domain function): test_functions.py KYMO COMPILER WHAT

hooks      -finstrument-functions: counts are the program's own, its output is as without Kymo; two threads, recursion, longjmp, signals
mcount     the same with -pg
fentry     the same with -pg -mfentry
patched    the same of a program that was built for nothing of the kind
leaving    exceptions, cancelled threads, contexts, stacks that are looked at: all four ways
instrumented  the same of a program and a library that were patched on disk: with and without fixed addresses, stripped, started by a shell; what is refused
debian     the same of python3, of xz with its library, and of small programs without symbols, of node
opened     libraries that are opened later, twice each, named by their paths; in one that starts a thread nothing is patched
xray       a program of clang's XRay that has its handlers called meanwhile: both count all
sampled    samples in instructions that a patch has moved are the function's, below its caller; by signals too, while a library is loaded by another one
unwound    samples in and under functions of a program and a library that were patched on disk: each frame has its caller; exceptions, two threads
stepped    with gdb: a debugger finds the whole stack from each instruction of calls and returns
given      deep recursions that longjmp leaves: their places for return addresses are for other threads
signaled   a timer's handler calls functions wherever the thread is: each call is recorded once, or said to be untraced
recursive  calls with others of the same function inside are counted
short      shorter calls are counted, not recorded; what has calls inside is recorded
"""
import json
import os
import re
import shutil
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "base"))
import kymotest  # noqa: E402
from kymotest import run  # noqa: E402

import planned  # noqa: E402

KYMO = os.path.abspath(sys.argv[1])
COMPILER, WHAT = sys.argv[2:4]
del sys.argv[1:]

HOOKS = ["-finstrument-functions"]
MCOUNT = ["-pg", "-fno-optimize-sibling-calls", "-fno-inline"]
FENTRY = [*MCOUNT, "-mfentry"]
PLAIN = ["-fno-optimize-sibling-calls", "-fno-inline"]
HOOKED = "fib|leaf|jumper|inlined|sum|tail|end|handler|deep|mixed"
HOUR = 3600 * 10**9
# Prints how much of the program's code in memory is not what the file has.
CHANGED = """
import sys
code = changed = 0
for line in open('/proc/self/smaps'):
    words = line.split()
    if '-' in words[0]:
        code = 'x' in words[1] and words[-1] == sys.executable
    elif code and words[0] == 'Private_Dirty:':
        changed += int(words[1])
print(changed)
"""
# Who calls whom, in unwound.cpp.
CALLERS = {"leaf": {"fib", "thrower"}, "fib": {"fib", "worker"}, "thrower": {"passer"}, "passer": {"catcher"}, "catcher": {"worker"},
           "worker": {"beginner"}, "beginner": {"main", "start_thread"}, "main": {"__libc_start_call_main"}}
LEAVING = "thrower|catcher|rethrower|waiter|ender|yielder|looker|sinker"


class Functions(unittest.TestCase):
    def setUp(self):
        scratch = kymotest.Folder()
        self.addCleanup(scratch.cleanup)
        self.folder = os.path.realpath(scratch.name)
        self.trace = os.path.join(self.folder, "t.kymo")
        for variable in [v for v in os.environ if v.startswith("KYMO_")]:
            del os.environ[variable]

    def build(self, source, *flags, name="program"):
        compiler = COMPILER
        if source.endswith(".cpp"):
            compiler = shutil.which(re.sub(r"cc$", "c++", re.sub(r"gcc(-\d+)?$", r"g++\1", COMPILER)))
            if not compiler:
                self.skipTest("no C++ compiler")
        program = os.path.join(self.folder, name)
        kymotest.must(compiler, "-O2", "-g", "-pthread", *flags, os.path.join(HERE, source), "-o", program)
        return program

    def instrument(self, program, names=".", out=None, status=0):
        """The file with these functions patched in it; what was said."""
        out = out or program + ".k"
        def content():
            with open(program, "rb") as f:
                return f.read()

        before = content() if os.path.isfile(program) else b""
        p = run(KYMO, "instrument", program, "-o", out, "--functions", names, "--functions-min-instructions", "0")
        self.assertEqual(p.returncode, status, p.stderr)
        if before:
            self.assertEqual(content(), before)
        left = [f for f in os.listdir(os.path.dirname(out)) if re.fullmatch(re.escape(os.path.basename(out)) + r"\.[0-9a-f]{8}", f)]
        self.assertEqual(left, [])
        return out, p.stderr

    def trace_it(self, program, names, patched=False, more=(), **variables):
        """What it prints, which must be what it prints by itself, with the words of the first lines."""
        alone = run(program, cwd=self.folder)
        if patched == "disk":
            program, _ = self.instrument(program, f"^({names})\\b")
            by_itself = run(program, cwd=self.folder)
            self.assertEqual((by_itself.returncode, by_itself.stdout), (alone.returncode, alone.stdout), by_itself.stderr)
        plan = os.path.join(self.folder, "plan")
        environment = kymotest.environment(**variables)
        words = ["--functions", f"^({names})\\b", "--functions-min-instructions", "0"] if patched is True else []
        if not patched:
            planned.write(plan, f"^({names})\\b", program)
            environment["KYMO_FUNCTIONS_PLAN"] = plan
        p = run(KYMO, "run", "--no-summary", "-f", "-o", self.trace, *words, *more, "--", program, cwd=self.folder,
                env=environment)
        self.assertEqual((p.returncode, p.stdout), (alone.returncode, alone.stdout), p.stderr)
        self.assertNotIn("lost", p.stderr)
        return p.stdout

    def counts(self):
        """Calls by function, of those that were recorded."""
        rows = kymotest.query(KYMO, self.trace, "SELECT name, count(*) AS n FROM regions WHERE category = 'function' GROUP BY name")
        return {re.sub(r"\(.*", "", row["name"]): row["n"] for row in rows}

    def table(self, column="calls"):
        """The same by the summary, which adds those that were counted."""
        p = run(KYMO, "summary", "--all", "--format", "json", self.trace)
        self.assertEqual(p.returncode, 0, p.stderr)
        rows = [row for table in json.loads(p.stdout)["tables"] if table["name"] == "function" for row in table["rows"]]
        for row in rows:
            self.assertTrue(0 <= row["min_ns"] <= row["max_ns"] <= row["time_ns"] < HOUR, row)
            self.assertLessEqual(row["self_ns"], row["time_ns"], row)
        return {re.sub(r"\(.*", "", row["op"]): row[column] for row in rows}

    def told(self, out, names):
        return {k: int(v) for k, v in re.findall(rf"^({names}) (\d+)$", out, re.M)}

    def counted(self, flags, patched=False):
        out = self.trace_it(self.build("hooked.c", *flags), HOOKED, patched)
        wanted = self.told(out, HOOKED)
        if "-fno-inline" in flags:
            wanted.pop("inlined")  # always inlined: there is no such function
        self.assertEqual(len(wanted), 10 - ("-fno-inline" in flags))
        self.assertEqual(self.table(), wanted)
        recorded = self.counts()
        deep = recorded.pop("deep")  # 601 calls inside each other: the last ones are counted
        self.assertTrue(0 < deep < wanted.pop("deep"), deep)
        for function in wanted:
            # Those that the deepest ones call are counted as well.
            self.assertTrue(recorded[function] == wanted[function] or function == "leaf", (function, recorded))
        self.nested()

    def nested(self):
        """Calls of tail() have no others around them, those of leaf() in sum() and jumper() have them."""
        rows = kymotest.query(KYMO, self.trace, "SELECT c.name AS name, p.name AS around, count(*) AS n FROM regions c LEFT JOIN "
                              "regions p ON p.stack_id = c.parent_stack_id AND p.pid = c.pid WHERE c.category = 'function' GROUP BY 1, 2")
        around = {}
        for row in rows:
            around.setdefault(row["name"], set()).add(row["around"])
        if WHAT != "hooks":  # what was left is known by where the hook was called, which may be above it
            self.assertEqual(around["sum"], {None})
        self.assertEqual(around["tail"], {None})
        self.assertLessEqual({"jumper", "handler"}, around["leaf"])
        self.assertEqual(around["handler"], {None})

    @unittest.skipUnless(WHAT == "hooks", "")
    def test_hooks(self):
        self.counted(HOOKS)

    @unittest.skipUnless(WHAT == "mcount", "")
    def test_mcount(self):
        self.counted(MCOUNT)

    @unittest.skipUnless(WHAT == "fentry", "")
    def test_fentry(self):
        self.counted(FENTRY)

    @unittest.skipUnless(WHAT == "patched", "")
    def test_patched(self):
        self.counted(PLAIN, patched=True)

    @unittest.skipUnless(WHAT == "patched", "")
    def test_backends(self):
        """What --functions asks for is recorded beside the backends that are named; it cannot be taken out."""
        program = self.build("hooked.c", *PLAIN)
        for backends in ("none", "wait"):
            with self.subTest(backends):
                wanted = self.told(self.trace_it(program, HOOKED, True, ["--backends", backends]), HOOKED)
                self.assertEqual(self.table()["fib"], wanted["fib"])
        p = run(KYMO, "run", "-o", self.trace, "--functions", ".", "--backends=-function", "--", program, cwd=self.folder)
        self.assertEqual(p.returncode, 2)
        self.assertIn("--functions records what --backends -function leaves out", p.stderr)

    @unittest.skipUnless(WHAT == "instrumented", "")
    def test_instrumented(self):
        self.counted(PLAIN, patched="disk")

    @unittest.skipUnless(WHAT == "instrumented", "")
    def test_fixed_address(self):
        # Far from what the linker adds, whose bytes may read as branches.
        self.counted([*PLAIN, "-no-pie", "-falign-functions=256"], patched="disk")

    @unittest.skipUnless(WHAT == "instrumented", "")
    def test_what_readers_say(self):
        """Of the file's own notes, sections and segments nothing is lost; the program and what a shell starts are found."""
        program = self.build("hooked.c", *PLAIN, "-s")
        os.chmod(program, 0o751)
        out, _ = self.instrument(program)
        self.assertEqual(os.stat(out).st_mode & 0o7777, 0o751)
        self.assertEqual(planned.build_id(out), planned.build_id(program))
        p = run("readelf", "-aW", out)
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        for name in (".note.kymo", ".kymo.plan", ".kymo.text", ".kymo.slots", ".text"):
            self.assertIn(name, p.stdout)
        self.assertNotIn(".symtab", p.stdout)  # a table of some alone would be taken for all
        alone = run(program, cwd=self.folder)
        p = run(KYMO, "run", "--no-summary", "-f", "-o", self.trace, "--", "sh", "-c", f"{out}; {out}", cwd=self.folder)
        self.assertEqual((p.returncode, p.stdout), (0, 2 * alone.stdout), p.stderr)
        self.assertEqual(sum(n % 2 for n in self.table().values()), 0, self.table())
        self.assertIn(2 * 27900, self.table().values())  # fib()

    def refuse(self, path, why, status):
        other = os.path.join(self.folder, "other")
        _, said = self.instrument(path, "no such" if "matches" in why else ".", out=other, status=status)
        self.assertIn(why, said)
        self.assertFalse(os.path.exists(other), path)

    @unittest.skipUnless(WHAT == "instrumented", "")
    def test_refused(self):
        program = self.build("hooked.c", *PLAIN)
        out, _ = self.instrument(program)
        text = os.path.join(self.folder, "text")
        with open(text, "w") as f:
            f.write("#!/bin/sh\n")
        short = os.path.join(self.folder, "short")
        with open(short, "wb") as f, open(program, "rb") as whole:
            f.write(whole.read(100))
        for path, why, status in ((out, "instrumented already", 3), (text, "no ELF file", 3), (short, "headers are damaged", 3),
                                  (self.folder, "directory", 3), (os.path.join(self.folder, "none"), "No such file", 2),
                                  (program, "no function matches", 2)):
            self.refuse(path, why, status)
        for flags, why in ((["-static"], "it is static, or packed"), (["-static-pie"], "static-pie"), (HOOKS, "hooks")):
            self.refuse(self.build("hooked.c", *flags), why, 3)
        _, said = self.instrument(program, out=program, status=2)
        self.assertIn("are one file", said)
        link = os.path.join(self.folder, "link")
        os.symlink(program, link)
        _, said = self.instrument(program, out=link, status=2)
        self.assertIn("are one file", said)
        self.assertEqual(run(program, cwd=self.folder).returncode, 0)

    @unittest.skipUnless(WHAT == "instrumented", "")
    def test_too_many(self):
        """Of 60,007 functions the last ones are left out, which is said."""
        source = os.path.join(self.folder, "many.S")
        with open(source, "w") as f:
            f.write(".text\n.rept 60007\n.cfi_startproc\nmov $1, %eax\nret\n.cfi_endproc\n.endr\n.section .note.GNU-stack\n")
        _, said = self.instrument(self.build(source, "-shared", "-nostdlib", name="libmany.so"))
        self.assertIn("functions: 7 are left out", said)

    @unittest.skipUnless(WHAT == "debian", "")
    def test_program(self):
        """All functions of python3: what it prints is the same, and so are counts where it is patched in memory."""
        python = os.path.realpath("/usr/bin/python3")
        if not os.path.exists(python):
            self.skipTest("no /usr/bin/python3")
        words = ["-S", "-E", "-c", "import hashlib, sys\nf = lambda n: n if n < 2 else f(n - 1) + f(n - 2)\ntry:\n raise ValueError\n"
                 "except ValueError: pass\nprint(f(9), hashlib.sha256(b'x').hexdigest())"]
        program = os.path.join(self.folder, "python")  # one place for both: python looks for its modules from there
        shutil.copy(python, program)
        os.environ["PYTHONHASHSEED"] = "1"
        os.environ["PYTHONHOME"] = "/usr"
        alone = run(program, *words)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        counted = []
        for more in (["--functions", ".", "--functions-min-instructions", "0"], []):
            if not more:
                self.instrument(python, out=program)
                self.assertEqual(run(program, *words).stdout, alone.stdout)
            p = run(KYMO, "run", "--no-summary", "--mode", "summary", "-f", "-o", self.trace, *more, "--", program, *words)
            self.assertEqual((p.returncode, p.stdout), (0, alone.stdout), p.stderr)
            counted.append(self.table())
            p = run(KYMO, "run", "--no-summary", "--mode", "summary", "-f", "-o", self.trace, *more, "--", program, "-S", "-E", "-c", CHANGED)
            self.assertEqual(int(p.stdout) > 0, bool(more), "memory of the program's code that was written")
        here = {name: n for name, n in counted[0].items() if name.startswith(("_PyEval", "PyNumber", "PyObject_Call"))}
        self.assertGreater(len(here), 5)
        self.assertGreater(max(here.values()), 100)
        self.assertEqual({name: counted[1].get(name) for name in here}, here)

    @unittest.skipUnless(WHAT == "debian", "")
    def test_library(self):
        """xz compresses the same by a library that was patched, whose functions are counted."""
        library = os.path.realpath("/usr/lib/x86_64-linux-gnu/liblzma.so.5")
        if not shutil.which("xz") or not os.path.exists(library):
            self.skipTest("no xz")
        os.mkdir(os.path.join(self.folder, "lib"))
        self.instrument(library, out=os.path.join(self.folder, "lib", "liblzma.so.5"))
        text = os.path.join(self.folder, "text")
        with open(text, "w") as f:
            f.write(" ".join(map(str, range(3000))))
        command = ["xz", "-T1", "--keep", "--force", text]
        kymotest.must(*command)
        with open(text + ".xz", "rb") as f:
            alone = f.read()
        environment = kymotest.environment(LD_LIBRARY_PATH=os.path.join(self.folder, "lib"))
        p = run(KYMO, "run", "--no-summary", "--mode", "summary", "-f", "-o", self.trace, "--", *command, env=environment)
        self.assertEqual(p.returncode, 0, p.stderr)
        with open(text + ".xz", "rb") as f:
            self.assertEqual(f.read(), alone)
        self.assertGreater(self.table()["lzma_code"], 0)
        self.assertGreater(sum(self.table().values()), 1000)

    @unittest.skipUnless(WHAT == "debian", "")
    def test_stripped(self):
        """All functions of programs without symbols, in memory and on disk: what they print and end with is the same."""
        text = os.path.join(self.folder, "text")
        with open(text, "w") as f:
            f.write("".join(f"{n * 7919 % 3001}\n" for n in range(3000)))
        for words in (["sort", "-n", text], ["awk", "{ n += $1 } END { print n; exit 3 }", text], ["gzip", "-nc", text],
                      ["tar", "-cf", "-", "--mtime=@0", "-C", self.folder, "text"]):
            alone = run(*words, text=False)
            self.assertTrue(alone.stdout, words)
            program, _ = self.instrument(os.path.realpath(shutil.which(words[0])), out=os.path.join(self.folder, words[0]))
            for command in ([program, *words[1:]], [KYMO, "run", "--no-summary", "-f", "-o", self.trace, "--", program, *words[1:]],
                            [KYMO, "run", "--no-summary", "-f", "-o", self.trace, "--functions", ".", "--functions-min-instructions", "0",
                             "--", *words]):
                p = run(*command, text=False)
                self.assertEqual((p.returncode, p.stdout), (alone.returncode, alone.stdout), (command, p.stderr))
                if command[0] == KYMO:
                    self.assertGreater(sum(self.table().values()), 10, command)

    @unittest.skipUnless(WHAT == "debian", "")
    def test_own_stacks(self):
        """Functions of node: V8 finds each frame when it collects garbage, and the program goes on."""
        node = shutil.which("node")
        if not node:
            self.skipTest("no node")
        script = "for (let i = 0, k = []; i < 300000; i++) k.push({i}); console.log(require('vm').runInThisContext('gc(); 7'), [3, 2].sort((a, b) => { gc(); return a - b })[0], Object.is(1, 1)); process.exit(5)"
        p = run(KYMO, "run", "--no-summary", "--mode", "summary", "-f", "-o", self.trace, "--functions", "^Builtins_(Object|Call)|Runtime_|vm|ontextify",
                "--functions-min-instructions", "0", "--", node, "--expose-gc", "-e", script)
        self.assertEqual((p.returncode, p.stdout), (5, "7 2 true\n"), p.stderr)
        self.assertGreater(sum(self.table().values()), 10)

    @unittest.skipUnless(WHAT == "opened", "")
    def test_opened(self):
        """Opened twice and closed: a library, one that is patched on disk, one whose constructor starts a thread; by a path, and by a name
        where the program has folders of its own, which is told."""
        shared = ["-shared", "-fPIC"]
        plain = self.build("library.c", *shared, name="libplain.so")
        disk, _ = self.instrument(self.build("library.c", *shared, name="libdisk.so"), out=os.path.join(self.folder, "libslots.so"))
        threads = self.build("library.c", *shared, "-DTHREADS", "-Wl,-z,nodelete", name="libthreads.so")
        host = self.build("opened.c")
        self.assertEqual(self.open_them(host, plain), ({"work": 10, "step": 20}, ""))
        self.assertEqual(self.open_them(host, disk), ({"work": 10, "step": 20}, ""))
        counts, noted = self.open_them(host, plain, disk)
        self.assertEqual((sum(counts.values()), noted), (60, ""))
        counts, noted = self.open_them(host, threads)
        self.assertEqual(counts, {})
        self.assertIn("1 threads when it was loaded", noted)
        folders = self.build("opened.c", f"-Wl,-rpath,{self.folder}", name="folders")
        self.assertEqual(self.open_them(folders, plain), ({"work": 10, "step": 20}, ""))
        counts, noted = self.open_them(folders, plain, by_name=True)
        self.assertEqual(counts, {})
        self.assertIn("has folders of its own", noted)

    @unittest.skipUnless(WHAT == "opened", "")
    def test_sampled_by_signals(self):
        """Their thread begins while the loader is in a constructor of Kymo's, and must not wait for it."""
        self.trace_it(self.build("hooked.c", *PLAIN), HOOKED, True, more=["--sample", "--sample-clock", "wall"])
        self.assertGreater(self.table()["fib"], 1)

    @unittest.skipUnless(WHAT == "opened", "")
    def test_opened_by_two_threads(self):
        plain = self.build("library.c", "-shared", "-fPIC", name="libplain.so")
        host = self.build("opened.c")
        os.environ["ROUNDS"] = "120"
        self.assertEqual(self.open_them(host, plain), ({"work": 1200, "step": 2400}, ""))

    def open_them(self, host, *libraries, by_name=False):
        """Calls of functions of the libraries, and what was noted."""
        command = [host, "5", *(os.path.basename(p) if by_name else p for p in libraries)]
        alone = run(*command)
        self.assertEqual(alone.returncode, 0, alone.stdout)
        words = [word for p in libraries for word in ("--functions", f"work|step@{p}")]
        p = run(KYMO, "run", "--no-summary", "-f", "-o", self.trace, *words, "--functions-min-instructions", "0", "--", *command)
        self.assertEqual((p.returncode, p.stdout), (0, alone.stdout), p.stderr)
        told = run(KYMO, "summary", "--all", self.trace).stdout
        return self.counts(), "".join(re.findall(r"^.*not traced.*$", told, re.M))

    @unittest.skipUnless(WHAT == "xray", "")
    def test_xray(self):
        program = os.path.join(self.folder, "program")
        clang = shutil.which("clang++") or shutil.which("clang++-14")
        if not clang or run(clang, "-O2", "-fxray-instrument", os.path.join(HERE, "xray.cpp"), "-o", program).returncode:
            self.skipTest("no clang with XRay's runtime")
        for patched in (True, "disk"):
            out = self.trace_it(program, "inner|outer", patched=patched)
            self.assertRegex(out, r"^\d+: 55 entries, 55 exits$")
            self.assertEqual(self.counts(), {"inner": 150, "outer": 15})

    @unittest.skipUnless(WHAT == "stepped", "")
    def test_stepped(self):
        if not shutil.which("gdb") or run("gdb", "-batch", "-ex", "python print(1)").stdout != "1\n":
            self.skipTest("no gdb with Python")
        program = self.build("hooked.c", *PLAIN)
        for target, words in ((program, ["--functions", f"^leaf@{program}", "--functions-min-instructions", "0"]),
                              (self.instrument(program, "^leaf")[0], [])):
            p = run(KYMO, "run", "--no-summary", "-f", "-o", self.trace, *words, "--", "gdb", "-batch", "-x",
                    os.path.join(HERE, "stepped.py"), target, cwd=self.folder)
            found = re.search(r"instructions of the way back: (\d+) lost: (.*)", p.stdout)
            self.assertTrue(found, p.stdout[-2000:] + p.stderr)
            self.assertGreater(int(found[1]), 20)
            self.assertEqual(found[2], "{}")

    @unittest.skipUnless(WHAT == "sampled", "")
    def test_sampled(self):
        program = self.build("sampled.c", *PLAIN)
        for words, patched in (((), True), (("--sample-clock", "wall"), True), (("--sample-clock", "wall"), "disk")):
            with self.subTest(words=words, patched=patched):
                self.trace_it(program, "filler|filling", patched=patched, more=("--sample=500", *words))
                stacks = self.stacks()
                there = [(end, names) for (_, end), names in stacks.items() if names[0] == "filler"]
                self.assertGreater(len(there), 3, stacks)  # timers of processor time are slow where the kernel ticks slowly
                self.assertEqual([(end, names) for end, names in there if end != "thread start" or names[1:3] != ["filling", "main"]], [])
                self.assertNotIn("not in an object", {end for _, end in stacks})
                self.assertEqual([n for names in stacks.values() for n in names if n and "@" in n], [])  # versions are no part of names

    def stacks(self):
        """Names of functions of each sample, the innermost first, by its number and where it ends."""
        rows = kymotest.query(KYMO, self.trace, "SELECT s.id, k.end, n.text AS name FROM sample s JOIN stack k ON k.id = s.stack "
                              "JOIN stack_frame f ON f.stack = k.id JOIN site i ON i.id = f.site LEFT JOIN string n ON n.id = i.function "
                              "ORDER BY s.id, f.depth")
        stacks = {}
        for r in rows:
            stacks.setdefault((r["id"], r["end"]), []).append(r["name"] or "")
        return stacks

    @unittest.skipUnless(WHAT == "unwound", "")
    def test_unwound(self):
        os.environ["LD_LIBRARY_PATH"] = self.folder
        # Far from what the linker adds, whose bytes may read as branches.
        library = self.build("unwound.cpp", *PLAIN, "-falign-functions=256", "-DLIBRARY", "-shared", "-fPIC", name="libunwound.so")
        program = self.build("unwound.cpp", *PLAIN, "-falign-functions=256", "-Wl,--no-as-needed", f"-L{self.folder}", "-lunwound")
        program, _ = self.instrument(program)
        named = set(re.findall(r" T (\w+)\.kymo$", run("nm", program).stdout, re.M))
        self.assertLessEqual({"beginner", "catcher", "fib", "main", "worker"}, named)
        self.instrument(library, out=os.path.join(self.folder, "new"))
        os.rename(os.path.join(self.folder, "new"), library)
        for words in (("--sample=1000",), ("--sample=1000", "--sample-clock", "wall")):
            with self.subTest(words=words):
                p = run(KYMO, "run", "--no-summary", "--mode", "summary", "-f", "-o", self.trace, *words, "--", program)
                self.assertEqual(p.returncode, 0, p.stderr)
                wanted, found = self.told(p.stdout, "|".join(CALLERS)), self.table()
                self.assertEqual({name: found[name] for name in wanted}, wanted)
                self.callers()

    def callers(self):
        seen = 0
        for (_, end), names in self.stacks().items():
            # Where libgcc makes another stack of this one, nobody can tell it; and before main() the loader has its own.
            if any(name.startswith(("_Unwind_", "_dl_", "__clone")) for name in names):
                continue
            self.assertEqual(end, "thread start", names)
            known = [name for name in names if name in CALLERS or name in ("start_thread", "__libc_start_call_main")]
            for inner, outer in zip(known, known[1:]):
                self.assertIn(outer, CALLERS[inner], names)
            seen += "worker" in known
        self.assertGreater(seen, 4)  # of timers of processor time there may be few

    @unittest.skipUnless(WHAT == "sampled", "")
    def test_replaced(self):
        """Stacks that are read when their return addresses have been replaced for other calls have no caller rather than a wrong one."""
        program = self.build("replaced.c", *PLAIN)
        for words, whole in ((("--sample=500", "--off-cpu"), False), (("--sample=500",), True), (("--sample=500", "--sample-clock", "wall"), True)):
            with self.subTest(words=words):
                self.trace_it(program, "work", patched=True, more=words)
                rows = kymotest.query(KYMO, self.trace, "SELECT s.id, k.end, n.text AS name FROM sample s JOIN stack k ON k.id = s.stack "
                                      "JOIN stack_frame f ON f.stack = k.id JOIN site i ON i.id = f.site LEFT JOIN string n ON n.id = i.function "
                                      "ORDER BY s.id, f.depth")
                stacks = {}
                for r in rows:
                    stacks.setdefault((r["id"], r["end"]), []).append(r["name"])
                ways = {}
                for (_, end), names in stacks.items():
                    if "work" in names[1:]:
                        at = names.index("work")
                        way = names[at - 1], (names + [end])[at + 1]
                        ways[way] = ways.get(way, 0) + 1
                right = {("spend_one", "one"), ("spend_two", "two")}
                replaced = {("spend_one", "caller replaced"), ("spend_two", "caller replaced")}
                self.assertEqual(set(ways) - replaced, right)
                self.assertEqual(bool(set(ways) & replaced), not whole, ways)
                said = run(KYMO, "summary", self.trace).stdout
                self.assertEqual("caller replaced" in said, not whole, said)

    @unittest.skipUnless(WHAT == "sampled", "")
    def test_own_code(self):
        """Samples in Kymo's code, where a function returns, have its callers."""
        self.trace_it(self.build("small.c", *PLAIN), "small", patched=True, more=("--sample=500", "--mode", "summary"))
        ends = {r["end"]: r["n"] for r in kymotest.query(
            KYMO, self.trace, "SELECT k.end, count(*) AS n FROM sample s JOIN stack k ON k.id = s.stack GROUP BY 1")}
        self.assertGreater(ends["thread start"], 50)
        self.assertLess(sum(ends.values()) - ends["thread start"], ends["thread start"] / 10, ends)

    @unittest.skipUnless(WHAT == "leaving", "")
    def test_leaving(self):
        for flags, patched in ((HOOKS, False), (MCOUNT, False), (FENTRY, False), (PLAIN, True), (PLAIN, "disk")):
            with self.subTest(flags=flags, patched=patched):
                out = self.trace_it(self.build("leaving.cpp", *flags), LEAVING, patched=patched)
                wanted = self.told(out, LEAVING)
                self.assertEqual(len(wanted), 8)
                self.assertEqual(self.table(), wanted)
                recorded = self.counts()
                self.assertTrue(0 < recorded.pop("sinker") < wanted.pop("sinker"))  # the deepest ones are counted
                self.assertEqual(recorded, wanted)

    @unittest.skipUnless(WHAT == "given", "")
    def test_given_back(self):
        for flags, patched in ((MCOUNT, False), (PLAIN, True), (PLAIN, "disk")):
            with self.subTest(flags=flags, patched=patched):
                out = self.trace_it(self.build("given_back.c", *flags), "deeper|shallow", patched=patched)
                self.assertEqual(self.table(), self.told(out, "deeper|shallow"))
                told = run(KYMO, "summary", "--all", self.trace)
                self.assertNotIn("too many calls are open", told.stdout + told.stderr)

    @unittest.skipUnless(WHAT == "signaled", "")
    def test_signaled(self):
        names = "leaf|nester|handler"
        for flags, patched in ((HOOKS, False), (FENTRY, False), (PLAIN, True)):
            with self.subTest(flags=flags):
                program, plan = self.build("signaled.c", *flags), os.path.join(self.folder, "plan")
                environment = kymotest.environment()
                words = ["--functions", f"^({names})$", "--functions-min-instructions", "0"] if patched else []
                if not patched:
                    planned.write(plan, f"^({names})$", program)
                    environment["KYMO_FUNCTIONS_PLAN"] = plan
                p = run(KYMO, "run", "-f", "-o", self.trace, *words, "--", program, cwd=self.folder, env=environment)
                self.assertEqual(p.returncode, 0, p.stderr)
                wanted, found, recorded = self.told(p.stdout, names), self.table(), self.counts()
                untraced = re.search(r"calls in signal handlers that came while Kymo recorded ran untraced \((\d+) times\)", p.stderr)
                missing = {name: wanted[name] - found[name] for name in wanted}
                self.assertEqual(sum(missing.values()), int(untraced[1]) if untraced else 0, p.stderr)
                self.assertEqual(missing["nester"], 0)
                self.assertTrue(0 <= missing["handler"] <= missing["leaf"], missing)
                # Those of frames are rows of the store, none twice.
                self.assertTrue(0 < recorded["nester"] < found["nester"])
                self.assertGreater(recorded["handler"], 0)
                told = run(KYMO, "query", self.trace, "SELECT count(*) FROM regions")
                self.assertNotIn("damaged", told.stderr)

    @unittest.skipUnless(WHAT == "short", "")
    def test_short(self):
        out = self.trace_it(self.build("hooked.c", *HOOKS), HOOKED, KYMO_FUNCTIONS_MIN="3600000000000ns")
        wanted = self.told(out, HOOKED)
        self.assertEqual(self.table(), wanted)
        left = wanted.pop("jumper")  # by longjmp: recorded whatever their length
        self.assertEqual(self.counts(), {"jumper": left})
        said = run(KYMO, "summary", "--all", "--unit", "ns", self.trace).stdout
        n, ns = re.search(r"([\d,]+) calls of functions \((\d+) ns\) were counted", said).groups()
        self.assertEqual(n, f"{sum(wanted.values()):,}")
        self.assertEqual(int(ns), sum(time for name, time in self.table("time_ns").items() if name != "jumper"))

    @unittest.skipUnless(WHAT == "recursive", "")
    def test_recursive(self):
        """Of how many calls the time has that of others of the same function, from raw files and from the store."""
        program = self.build("recursive.c", *PLAIN)
        wanted = {"chain": 3 * 9, "tree": 3 * 15, "even": 3 * 4, "odd": 3 * 3, "leaf": 0, "plain": 0}
        for names in (wanted, ("leaf", "plain")):
            said = sum(wanted[name] for name in names)
            note = f"({said} have others of the same name inside (recursion): their time counts again in its time, not in self and %)"
            self.trace_it(program, "|".join(names), True)
            for made in ("raw files", "store"):
                out = run(KYMO, "summary", "--tables", "function", self.trace).stdout
                self.assertEqual(note in out, said > 0, (made, out))
                self.assertIn("time includes traced calls made inside" if said else "Functions: ", out)
                rows = kymotest.query(KYMO, self.trace, "SELECT name, recursive FROM tally_call t JOIN op o ON o.id = t.op "
                                      "WHERE name IN ('chain', 'tree', 'even', 'odd', 'leaf', 'plain')")
                self.assertEqual({row["name"]: row["recursive"] for row in rows}, {name: wanted[name] for name in names})


if __name__ == "__main__":
    unittest.main()
