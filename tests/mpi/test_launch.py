#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`kymo run` in the ranks of jobs: several nodes, several programs, and every way to die.

test_launch.py KYMO IMPLEMENTATION FOLDER [TEST...]

Other nodes are other host names in UTS namespaces of this one: what tells nodes apart is their name.
"""

import json
import os
import re
import shutil
import subprocess
import time
import unittest
from collections import Counter

from jobs import IMPLEMENTATION, KYMO, LAUNCHER, Base, kymotest, main

RANKS = 4
# Open MPI kills what has not ended a second after SIGTERM, also the launcher that is about to print the summary.
TIME_TO_TELL = {"OMPI_MCA_odls_base_sigkill_timeout": "5"}
# Odd ranks are on another node; a shell stands between the launcher of the job and the rank.
NODES = """#!/bin/sh
if [ $((${PMI_RANK:-$OMPI_COMM_WORLD_RANK} % 2)) = 1 ]; then
    unshare -u sh -c 'hostname other; exec "$@"' sh "$@"
    exit $?
fi
exec "$@"
"""


def no_nodes():
    if subprocess.run(["unshare", "-u", "hostname", "other"], capture_output=True, check=False).returncode:
        return "host names cannot be changed here (unshare -u)"
    return None


class Job(Base):
    def traces(self):
        self.assertEqual([f.name for f in self.folder.iterdir() if f.name.startswith(".")], [])
        return [f for f in self.folder.iterdir() if f.name.endswith(".kymo")]

    def await_complete(self):
        """What records a job outlives it where its launcher is killed, or where the program has its place."""
        deadline = time.monotonic() + 60
        while any(json.loads(f.read_text())["state"] != "complete" for f in self.trace.glob("manifest*.json")):
            self.assertLess(time.monotonic(), deadline, "the recording does not end")
            time.sleep(0.01)
        # The drain holds the trace a moment longer, which is not replaced meanwhile.
        kymotest.wait_for(lambda: not kymotest.writers(self.trace), "the drain's end")

    def complete(self, trace, ranks):
        """All ranks are in it, each with all its calls, and they have compared their clocks."""
        self.trace = trace
        self.assertEqual(self.calls()["MPI_Init"], ranks)
        self.assertEqual(self.calls()["MPI_Finalize"], ranks)
        self.assertEqual(sorted(int(r["rank"]) for r in self.summary("rank")["mpi"]), list(range(ranks)))
        foot = self.foot()
        self.assertIn(f"{ranks} ranks compared", foot)
        self.assertIn("Lost: nothing.", foot)


@unittest.skipIf(no_nodes(), no_nodes())
class Nodes(Job):
    def setUp(self):
        super().setUp()
        self.nodes = self.folder / "nodes.sh"
        self.nodes.write_text(NODES)
        self.nodes.chmod(0o755)

    def start(self, *options):
        p = self.run_any([LAUNCHER, "-n", RANKS, self.nodes, KYMO, "run", "--no-summary", *options,
                          self.program("ending"), "plain"])
        self.assertEqual((p.code, p.err), (0, ""))

    def hosts(self):
        return Counter(host for host, in self.rows("SELECT hostname FROM process"))

    def test_named_trace(self):
        self.start("-o", self.trace)
        self.complete(self.trace, RANKS)
        self.assertEqual(sorted(self.hosts().values()), [2, 2])

    def test_replaced_trace(self):
        for _ in range(2):
            self.start("-f", "-o", self.trace)
            self.complete(self.trace, RANKS)
        self.assertEqual(self.traces(), [self.trace])

    def test_default_name(self):
        """One trace of each run, whose name begins with the program's."""
        for n in (1, 2):
            self.start()
            self.assertEqual(len(self.traces()), n, self.traces())
        for trace in self.traces():
            self.assertTrue(trace.name.startswith(f"ending.{IMPLEMENTATION}-"), trace.name)
            self.complete(trace, RANKS)

    def test_summary_mode(self):
        self.start("--mode", "summary", "-o", self.trace)
        self.assertIn(f"{RANKS} of {RANKS} ranks, counted together", self.foot())
        self.assertEqual(self.calls()["MPI_Init"], RANKS)


class Programs(Job):
    def test_one_trace(self):
        """Which program names it depends on who comes first."""
        shutil.copy(self.program("ending"), self.folder / "first")
        shutil.copy(self.program("ending"), self.folder / "second")
        kymo = [KYMO, "run", "--no-summary"]
        for n in (1, 2, 3):
            p = self.run_any([LAUNCHER, "-n", 2, *kymo, "./first", "plain", ":",
                              "-n", 2, *kymo, "./second", "plain"])
            self.assertEqual((p.code, p.err), (0, ""))
            self.assertEqual(len(self.traces()), n, self.traces())
        for trace in self.traces():
            self.assertIn(trace.name.split("-")[0], ("first", "second"))
            self.complete(trace, 4)


class Small(Job):
    """A rank that calls little leaves little: the interface's other operations are not in its file."""

    def start(self, name, *options):
        self.trace = self.folder / name
        p = self.run_any([LAUNCHER, "-n", RANKS, KYMO, "run", "--no-summary", "-o", self.trace, *options,
                          self.program("ending"), "plain"])
        self.assertEqual((p.code, p.err), (0, ""))
        self.await_complete()

    def shown_calls(self):
        """Calls and messages with their arguments' names and statuses, by rank."""
        return Counter(re.sub(r"=(0x[0-9a-f]+|\d+)|#\d+", "", " ".join(line.split()[5:])) for line in self.shown())

    def test_bytes(self):
        self.start("large.kymo", "--no-compress")
        as_recorded, large = self.shown_calls(), [f.stat().st_size for f in self.trace.glob("raw/*.kyr")]
        self.start("small.kymo")
        self.complete(self.trace, RANKS)
        small = [f.stat().st_size for f in self.trace.glob("raw/*.kyr")]
        self.assertEqual((len(large), len(small)), (RANKS, RANKS))
        self.assertGreater(min(large), 100_000)
        self.assertLessEqual(max(small), 4096)
        self.assertEqual(self.shown_calls(), as_recorded)


class Deaths(Job):
    """The status of the job is the untraced one and the trace has all calls, however a rank goes."""

    def dead(self, text):
        """What the summary says of ranks that did not end well, by rank."""
        said = re.findall(r"^Rank (\d+) \(process \d+ on \S+\) (.+)\.$", text, re.M)
        self.assertEqual(len(said), text.count("\nRank "), text)
        self.assertEqual(len(said), len(dict(said)), text)
        return {int(rank): how for rank, how in said}

    def check(self, how, told=True, also=(), end=None):
        launch, command = [LAUNCHER, "-n", 2], [self.program("die"), how]
        plain = self.run_any([*launch, *command])
        end = end if plain.code != 6 else None # what the launcher gave its ranks makes the signal do nothing
        for inside in (True, False):
            kymo = [KYMO, "run", "-f", "-o", self.trace]
            p = self.run_any([*launch, *kymo, *command] if inside else [*kymo, *launch, *command], **(TIME_TO_TELL if inside else {}))
            self.assertIn(p.code, (plain.code, *also), f"inside: {inside}, {p.err}")
            if told or not inside:
                self.assertIn("Lost: nothing.", p.err)
                self.assertEqual(p.err.count(f"trace in {self.trace}"), 1, p.err)
            self.await_complete()
            self.assertEqual(self.calls()["MPI_Allreduce"] + self.open("MPI_Allreduce"), 100)
            dead = self.dead(self.foot())
            if end:
                self.assertRegex(dead[1], end if inside else end + "|without MPI_Finalize$")
                self.assertEqual(self.rows("SELECT rank_stage FROM process WHERE rank = 1 AND mpi <> ''"), [(1,)])
            else:
                self.assertEqual(dead, {})
                self.assertEqual(self.rows("SELECT DISTINCT rank_stage FROM process WHERE mpi <> ''"), [(2,)])

    def open(self, op):
        """Calls that a rank had not left when it was killed with the others."""
        return self.rows(f"SELECT count(*) FROM open_call c JOIN op o ON o.id = c.op WHERE o.name = '{op}'")[0][0]

    def test_exit(self):
        # Hydra ends with 255, or by SIGPIPE where it loses a proxy that it still writes to, traced or not.
        self.check("exit", also=(255, 141, -13) if IMPLEMENTATION == "mpich" else (), end="^ended with status 5 without MPI_Finalize$")

    def test_kill(self):
        self.check("kill", end=r"^was killed by signal 9 \(")

    def test_segv(self):
        self.check("segv", end=r"^was killed by signal 11 \(")

    def test_abort(self):
        # MPICH's mpiexec leaves its proxies alone at once: nobody reads any more what they say.
        self.check("abort", told=IMPLEMENTATION != "mpich", end="^ended with status 37 without|^was killed by")

    def test_forget(self):
        # Hydra's own answer is either, traced or not: it depends on what it sees first.
        self.check("forget", also=(0, 1) if IMPLEMENTATION == "mpich" else (), end="^ended with status 0 without MPI_F|^was killed")

    def test_two_die(self):
        """Both are named, and no more lines than eight are said of many."""
        self.run_any([LAUNCHER, "-n", 3, KYMO, "run", "-f", "-o", self.trace, self.program("die"), "kill", "both"])
        self.await_complete()
        dead = self.dead(self.foot())
        self.assertRegex(dead[1] + dead[2], "signal 9")
        self.run_any([KYMO, "run", "-f", "-o", self.trace, LAUNCHER, "-n", 11, self.program("die"), "forget"])
        self.await_complete()
        text = self.foot()
        self.assertEqual(len(self.dead(text)), 8, text)
        self.assertIn("\n3 more ended so after these; `kymo info`", text)

    def test_quick_exit(self):
        self.check("quick")

    def test_status(self):
        self.check("return")


if __name__ == "__main__":
    os.environ.pop("KYMO_JOB", None)
    main()
