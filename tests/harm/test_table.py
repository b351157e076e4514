#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make harm` found once and is cheap to look at, and that its table tells of harm that is done.

Usage: test_table.py BUILD [TEST...]
"""
import contextlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "base"))
sys.dont_write_bytecode = True
import cases  # noqa: E402
import harm  # noqa: E402
import kymotest  # noqa: E402
from account import Failure, alive, kill  # noqa: E402
from compare import MODES, compare  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
# A kymo that does harm, in the place of the real one: WHAT is done around it.
FAKE = """#!/bin/sh
case $1 in
run) {run} ;;
query) {query} ;;
*) exec {kymo} "$@" ;;
esac
"""


class Table(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kymo-table-")
        self.addCleanup(kymotest.remove, self.folder)

    def test_thread_that_marks_while_the_program_ends(self):
        """Marks are recorded until the process is gone."""
        cases.shape(self.folder, BUILD, "destructor", "default")

    def test_marks_in_handlers(self):
        """They do not wait for the lock that their own thread has taken."""
        for mode in ("default", "summary"):
            with self.subTest(mode):
                cases.shape(self.folder, BUILD, "handler_names", mode)

    def test_crowd_is_sampled(self):
        """Signals to thousands of threads leave them time for their work."""
        cases.shape(self.folder, BUILD, "crowd", "wall")

    def test_system_calls_that_are_refused(self):
        """madvise: nothing can be recorded, which is told; futex: the C library ends who uses it."""
        self.assertEqual(cases.refused(self.folder, BUILD, [28, 41, 202], "exec", 1), 3)
        for mode in ("functions", "heap", "lock", "posix", "everything"):
            with self.subTest(mode):
                r = compare(f"{BUILD}/bin/kymo", self.folder, [f"{BUILD}/tests/harm/shapes", "counts", "plain", "refuse:202:1", "exec"], MODES[mode], spoilt=True)
                self.assertEqual((r["marks"], r["turned_away"]), (0, 1))

    def recorded_without(self, *calls, mode="full"):
        """What is recorded where a filter refuses system calls to all, launcher and drain too."""
        wrapped, program = f"{self.folder}/kymo", f"{BUILD}/tests/harm/shapes"
        with open(wrapped, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nexec " + "".join(f"{program} none none refuse:{call}:1 exec " for call in calls) + f'{BUILD}/bin/kymo "$@"\n')
        os.chmod(wrapped, 0o755)
        return compare(wrapped, self.folder, [program, "counts", "plain"], MODES[mode], reader=f"{BUILD}/bin/kymo", spoilt=True)

    def test_calls_that_the_launcher_and_its_drain_do_without(self):
        for name, call in (("sendto", 44), ("sendmsg", 46), ("recvmsg", 47), ("waitid", 247), ("accept4", 288)):
            with self.subTest(name):
                r = self.recorded_without(call)
                self.assertEqual((r["marks"], r["processes"], r["turned_away"]), (3000, 1, 0))

    def test_who_cannot_share_memory_is_told(self):
        """Descriptors cannot be received at all."""
        r = self.recorded_without(47, 299)
        self.assertEqual((r["marks"], r["turned_away"]), (0, 1))

    def test_drain_that_can_hear_nobody(self):
        """It ends, which its launcher tells; nobody waits for it."""
        for name, call in (("epoll_create1", 291), ("epoll_wait", 232), ("epoll_ctl", 233)):
            with self.subTest(name):
                self.assertEqual(self.recorded_without(call)["marks"], 0)

    def test_limit_of_files_before_the_start(self):
        """It shares no memory, and may not write that down: the drain does."""
        number, program = resource.RLIMIT_FSIZE, f"{BUILD}/tests/harm/shapes"
        r = compare(f"{BUILD}/bin/kymo", self.folder, [program, "counts", "plain", f"limit:{number}:0", "exec"], spoilt=True)
        self.assertEqual((r["marks"], r["processes"], r["turned_away"]), (0, 1, 1))

    def test_last_descriptor_is_the_programs(self):
        """With four of them its file of calls is the last; what counts would take it at the first call."""
        compare(f"{BUILD}/bin/kymo", self.folder, [f"{BUILD}/tests/harm/shapes", "counts", "plain", f"limit:{resource.RLIMIT_NOFILE}:4", "exec"], MODES["everything"], spoilt=True)

    def test_counters_without_descriptors_are_told(self):
        done = kymotest.run(f"{BUILD}/bin/kymo", "run", "-o", f"{self.folder}/t.kymo", "--counters", "page-faults", f"{BUILD}/tests/harm/shapes", f"{self.folder}/counts", "plain",
                            f"limit:{resource.RLIMIT_NOFILE}:10", "exec")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("no file descriptor is left for page-faults", done.stdout + done.stderr)

    def test_daemons_are_awaited(self):
        """Their marks are part of the sum."""
        r = compare(f"{BUILD}/bin/kymo", self.folder, [f"{BUILD}/tests/harm/shapes", "counts", "background"])
        self.assertEqual((r["marks"], r["processes"]), (1010, 2))

    def test_jump_out_of_a_counted_call(self):
        """A handler interrupts it where the thread's counters are read, and never returns: all calls that follow are recorded."""
        cases.shape(self.folder, BUILD, "jumps", "everything")

    def test_memory_that_counters_need(self):
        """Threads begin to count without any, and PAPI, which ends who has none for it, is loaded where it is asked for only."""
        said = kymotest.must(f"{BUILD}/bin/kymo", "run", "--no-summary", "-o", f"{self.folder}/t.kymo", "--counters", "page-faults", "cat", "/proc/self/maps")
        self.assertIn("libkymo", said)
        self.assertNotIn("libpapi", said)
        cases.allocations(self.folder, BUILD, range(62, 67), "shapes", "counters")

    def test_memory_that_the_drain_needs(self):
        """For a chunk there is that of those before it, once they are written."""
        cases.allocations(self.folder, BUILD, [*range(110, 130, 2), *range(164, 174, 2)], "kymo", "default")

    def test_sanitizer_and_fork(self):
        """It knows that the locks which Kymo holds over fork() are free in the child."""
        if cases.sanitized(self.folder, BUILD, "gcc", "thread", ["forks"]) is None:
            self.skipTest("no thread sanitizer here")

    def fake(self, **what):
        kymo, build = f"{BUILD}/bin/kymo", f"{self.folder}/build"
        os.makedirs(f"{build}/bin")
        os.symlink(f"{BUILD}/tests", f"{build}/tests")
        with open(f"{build}/bin/kymo", "w", encoding="utf-8") as f:
            f.write(FAKE.format(kymo=kymo, **{"run": f'exec {kymo} "$@"', "query": f'exec {kymo} "$@"', **what}))
        os.chmod(f"{build}/bin/kymo", 0o755)
        return build

    def expect_harm(self, text, **what):
        os.mkdir(f"{self.folder}/case")
        with self.assertRaisesRegex(Failure, text):
            cases.shape(f"{self.folder}/case", self.fake(**what), "plain", "default")

    def test_status(self):
        self.expect_harm("ended with", run=f'{BUILD}/bin/kymo "$@"; exit 4')

    def test_output(self):
        self.expect_harm("said", run=f'echo warning >&2; exec {BUILD}/bin/kymo "$@"')

    def test_left_over(self):
        self.expect_harm("left over", run=f'touch $TMPDIR/kymo-left; exec {BUILD}/bin/kymo "$@"')

    def test_silent_loss(self):
        self.expect_harm("made 3000 but recorded or lost", query=f'{BUILD}/bin/kymo "$@" | sed "s/3000/2999/"')

    def test_unreadable(self):
        self.expect_harm("kymo query", query="exit 3")

    def end_driver(self, sig):
        """Of a program that would not end by itself. Its processes, which must be gone."""
        os.mkdir(f"{self.folder}/tmp")
        build, pids = self.fake(run="setsid sleep 1000 & echo $! > $HARM_PIDS.new; echo $$ >> $HARM_PIDS.new; mv $HARM_PIDS.new $HARM_PIDS; exec sleep 1000"), f"{self.folder}/pids"
        driver = subprocess.Popen([sys.executable, "-B", f"{HERE}/harm.py", build, "--only", "^limit: CORE", "--jobs", "1"], env={**os.environ, "HARM_PIDS": pids, "TMPDIR": f"{self.folder}/tmp"},
                                  stdout=subprocess.DEVNULL)
        kymotest.wait_for(lambda: os.path.exists(pids), "the program")
        driver.send_signal(sig)
        driver.wait()
        with open(pids, encoding="ascii") as f:
            return [int(line) for line in f]

    def test_driver_that_ends_takes_all_with_it(self):
        for sig in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(sig), tempfile.TemporaryDirectory() as self.folder:
                left = self.end_driver(sig)
                self.addCleanup(lambda pids=left: [kill(pid) for pid in pids])
                kymotest.wait_for(lambda pids=left: not any(alive(pid) for pid in pids), "processes are left", seconds=20)
                kymotest.wait_for(lambda: not os.listdir(f"{self.folder}/tmp"), "temporary files are left", seconds=20)

    def test_files_are_bounded(self):
        """Of programs that nobody ends."""
        os.mkdir(f"{self.folder}/case")
        with self.assertRaisesRegex(Failure, "said.*limit 2147483648 2147483648"):
            cases.shape(f"{self.folder}/case", self.fake(run=f'echo limit $(($(ulimit -Sf) * 512)) $(($(ulimit -Hf) * 512)) >&2; exec {BUILD}/bin/kymo "$@"'), "plain", "default")

    def test_table(self):
        """A row for each case, with sums; what was harmed makes the status 1, and stands in the file with the seed."""
        for query, status in ("", 0), (' | sed "s/3000/2999/"', 1):
            with tempfile.TemporaryDirectory() as self.folder:
                build, output = self.fake(query=f'{BUILD}/bin/kymo "$@"{query}'), f"{self.folder}/table.json"
                sys.argv = ["harm.py", build, "--only", "^limit: (CORE|NICE)", "--seed", "5", "--output", output]
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    self.assertEqual(harm.main(), status, said.getvalue())
                with open(output, encoding="utf-8") as f:
                    table = json.load(f)
            rows = {r["case"]: r for r in table["rows"]}
            self.assertEqual(set(rows), {"limit: CORE", "limit: NICE"}, said.getvalue())
            self.assertEqual(table["seed"], 5)
            self.assertRegex(table["ended"], r"^\d{4}-\d\d-\d\dT")
            self.assertIn("seed 5", said.getvalue())
            self.assertEqual(table["total"]["harmed"], sum(r["harmed"] for r in rows.values()))
            self.assertEqual(table["total"]["produced"], 12 * 3000)
            self.assertEqual(table["total"]["recorded"], 12 * (2999 if status else 3000))
            self.assertEqual(bool(table["failures"]), bool(status))


if __name__ == "__main__":
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=1)
