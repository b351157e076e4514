#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records whole jobs: the bundled program that uses everything at once, and programs nobody here wrote.

test_jobs.py KYMO IMPLEMENTATION FOLDER [TEST...]
"""

import json
import re
import shutil
import sys
import unittest
from pathlib import Path

from jobs import IMPLEMENTATION, KYMO, LAUNCHER, Base, main

BIN = Path(KYMO).parent


class Drum(Base):
    """examples/drum: MPI, OpenMP, OpenCL and ranges in one program, on one timeline."""
    RANKS, SIZE, STEPS = 3, 61, 100

    def check(self, inside):
        drum = BIN / f"drum.{IMPLEMENTATION}"
        kymo = [KYMO, "run", "--no-summary", "-o", self.trace]
        launch = [LAUNCHER, "-n", self.RANKS]
        command = [drum, self.SIZE, self.STEPS]
        plain = self.run_any([*launch, *command], OMP_NUM_THREADS="2")
        self.assertEqual(plain.code, 0, plain.err)
        self.assertIn("correct", plain.out)
        p = self.run_any([*launch, *kymo, *command] if inside else [*kymo, *launch, *command],
                         OMP_NUM_THREADS="2")
        self.assertEqual((p.code, self.results(p), p.err), (0, self.results(plain), plain.err))
        self.check_counts()
        self.check_scopes()
        self.check_timeline()

    def results(self, ended):
        return [l for l in ended.out.splitlines() if not l.startswith("time")]

    def check_counts(self):
        ranks, steps, listens = self.RANKS, self.STEPS, self.STEPS // 50
        tables = self.summary("op")
        calls = {t: {r["op"]: r["calls"] for r in tables[t]} for t in ("mpi", "openmp") if t in tables}
        for op, n in (("MPI_Waitall", ranks * steps), ("MPI_Isend", 2 * ranks * steps),
                      ("MPI_Allreduce", ranks * (listens + 1)), ("MPI_Finalize", ranks)):
            self.assertEqual(calls["mpi"][op], n, op)
        rows = {r["op"]: (r["calls"], r["sent"], r["received"]) for r in tables["messages"]}
        edges = 2 * (ranks - 1) * steps
        moved = edges * 4 * (self.SIZE + 2)
        self.assertEqual(rows["send"], (edges, moved, 0))
        self.assertEqual(rows["receive"], (edges, 0, moved))
        self.assertEqual(self.rows("SELECT count(*), count(DISTINCT pid) FROM kernels"),
                         [(ranks * steps, ranks)])
        self.assertEqual(self.rows("SELECT count(*), count(DISTINCT pid) FROM memory_copies"),
                         [(ranks * (4 * steps + 1), ranks)])
        for name, n in (("setup", ranks), ("step", ranks * steps), ("exchange", ranks * steps),
                        ("listen", ranks * listens), ("check", ranks)):
            self.assertEqual(self.rows(f"SELECT count(*) FROM scopes WHERE name = '{name}'"), [(n,)], name)
        if self.has_ompt():
            self.assertEqual(calls["openmp"]["parallel"], ranks * (steps + listens + 2))
            # The primary thread of the two is in the region itself.
            self.assertEqual(calls["openmp"]["implicit_task"], ranks * (steps + listens + 2))
        else:
            self.assertIn("libgomp", self.foot())

    def has_ompt(self):
        return "libomp.so" in self.run_any(["ldd", BIN / f"drum.{IMPLEMENTATION}"]).out

    def check_scopes(self):
        """What happens in a range is inside it in the trace, whichever runtime it belongs to."""
        inside = self.rows("SELECT c.name AS call, s.name AS scope, count(*) FROM regions c JOIN scopes s ON "
                           "s.scope = c.scope AND s.pid = c.pid GROUP BY 1, 2")
        where = {}
        for call, scope, n in inside:
            where.setdefault(call, {})[scope] = n
        per = self.RANKS * self.STEPS
        self.assertEqual(where["MPI_Waitall"], {"exchange": per})
        self.assertEqual(where["clEnqueueNDRangeKernel"], {"step": per})
        self.assertEqual(self.rows("SELECT s.name, count(*) FROM kernels k JOIN scopes s ON "
                                   "s.scope = k.scope AND s.pid = k.pid GROUP BY 1"), [("step", per)])

    def check_timeline(self):
        """A Perfetto file that its own decoder finds nothing wrong with, with what all runtimes did."""
        out = self.folder / "t.pftrace"
        p = self.run_any([KYMO, "export", "--to", "perfetto", "-o", out, self.trace])
        self.assertEqual(p.code, 0, p.err)
        p = self.run_any([sys.executable, Path(__file__).parents[1] / "golden" / "perfetto_check.py", out])
        self.assertEqual((p.code, json.loads(p.out)["problems"]), (0, []), p.err)
        data = out.read_bytes()
        for name in ("send to 1", "MPI_Waitall", "clFinish", "vibrate", "membrane", "exchange",
                     *(["implicit_task"] if self.has_ompt() else [])):
            self.assertIn(name.encode(), data)

    def test_around_the_launcher(self):
        self.check(False)

    def test_in_each_rank(self):
        self.check(True)


class Together(Base):
    """Mode summary of a program with devices: what the ranks counted together is told as theirs."""

    def check(self, ranks):
        p = self.recorded(ranks, BIN / "drum", 61, 10, options=["-f", "--mode", "summary"],
                          inside=True, OMP_NUM_THREADS="2")
        self.assertEqual(p.code, 0, p.err)
        tables = self.summary("op")
        self.assertEqual((tables["quality"][0]["ranks"], tables["quality"][0]["processes"]), (ranks, ranks))
        self.assertEqual({(r["queue"], r["what"], r["calls"]) for r in tables["queues"]},
                         {(f"all of {ranks} ranks", what, n * ranks) for what, n in (("kernels", 10), ("copies", 41))})
        for table in ("kernels", "copies", "waiting"):
            self.assertEqual({r["queue"] for r in self.summary("queue")[table]}, {f"all of {ranks} ranks"}, table)
        info = self.run_any([KYMO, "info", self.trace]).out.splitlines()
        devices = info[info.index("Devices") + 1:]
        devices = devices[:devices.index("")]
        self.assertGreater(len(devices), 0)
        named = [d.split("  ")[1:3] for d in devices]
        self.assertEqual(len({n[0] for n in named}), len(devices), devices)
        for name, what in named:
            self.assertRegex(what, r"^\w+, \w+", devices)
        known = self.rows("SELECT DISTINCT type FROM agent WHERE type = '' OR name = 'device'")
        self.assertEqual(known, [])

    def test_two(self):
        self.check(2)

    def test_four(self):
        self.check(4)


class Again(Base):
    def test_force_in_each_rank(self):
        """Ranks replace an old trace together: none finds the place taken by another of its own job."""
        for attempt in range(8):
            p = self.recorded(4, "ending", options=["-f"], inside=True)
            self.assertEqual((p.code, p.err), (0, ""), f"attempt {attempt}")
            self.assertEqual(self.calls()["MPI_Init"], 4)
        self.assertEqual([f.name for f in self.folder.iterdir()], ["t.kymo"])


class Table(Base):
    """The table that ranks add up in mode summary has an end."""

    def check(self, ranges, ranks=2):
        p = self.recorded(ranks, "names", ranges, options=["-f", "--mode", "summary"], inside=True)
        self.assertEqual((p.code, p.err), (0, ""))
        foot = self.foot()
        left_out = self.rows("SELECT sum(left_out_rows) FROM process")[0][0]
        strict = self.run_any([KYMO, "summary", "--strict", self.trace])
        return left_out, foot, strict.code

    def test_full_table(self):
        left_out, foot, strict = self.check(5000)
        # 4,096 rows, some of them for the ranks' loads and MPI's functions.
        self.assertGreater(left_out, 5000 - 4096)
        self.assertIn(f"Lost: {left_out:,} tally rows. The ranks have called more than the table of their job holds", foot)
        self.assertNotIn("buffer", foot)
        self.assertEqual(strict, 1)
        self.assertIn(f"left out {left_out}", re.sub(" +", " ", self.run_any([KYMO, "info", self.trace]).out))
        self.assertEqual(self.summary("op")["quality"][0]["left_out_rows"], left_out)

    def test_table_that_has_room(self):
        left_out, foot, strict = self.check(10)
        self.assertEqual((left_out, strict), (0, 0))
        self.assertIn("Lost: nothing.", foot)


NETPIPE = {"openmpi": "NPopenmpi", "mpich": "NPmpich2"}[IMPLEMENTATION]

LAMMPS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo 10
run 50
"""

NWCHEM = """start he
memory 100 mb
geometry
 He 0.0 0.0 0.0
end
basis
 * library sto-3g
end
task scf energy
"""

HPCC = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
# Of hpcc's list at the end, what the machine's speed has no part in.
HPCC_FACTS = r"^\w+(?:_N|_n|residual|Errors|RnormI|norm1|normI|maxErr|ExeUpdates|Procs)=.*"


class RealPrograms(Base):
    """Programs nobody here wrote: the same results as without Kymo, and what a library between program
    and MPI counts in the same run (count.c) is in the trace, rank by rank, peer by peer, byte by byte."""

    def check(self, ranks, command, results):
        if not shutil.which(command[0]):
            self.skipTest(f"{command[0]} is not here")
        launch = [LAUNCHER, "-n", ranks]
        plain = self.run_any([*launch, *command])
        self.assertEqual(plain.code, 0, plain.out + plain.err)
        want = results(plain.out + plain.err)
        self.assertTrue(want)
        kymo = [KYMO, "run", "--no-summary", "-f", "-o", self.trace]
        for argv in ([*kymo, *launch, *command], [*launch, *kymo, *command]):
            p = self.run_any(argv, LD_PRELOAD=str(self.program("count")), COUNT_OUT=str(self.folder / "count"))
            self.assertEqual((p.code, results(p.out + p.err)), (0, want), p.err)
            self.compare(ranks)
            self.assertIn("Lost: nothing.", self.foot())

    def compare(self, ranks):
        want = {}
        for rank in range(ranks):
            for line in (self.folder / f"count.{rank}").read_text().splitlines():
                op, peer, messages, sent, received = line.split()
                want[rank, op, int(peer)] = (int(messages), int(sent), int(received))
        for (rank, op, peer), (messages, sent, _) in list(want.items()):
            if op == "send":
                want[peer, "receive", rank] = (messages, 0, sent)
        got = {(int(r["rank"]), r["op"], -1 if r["peer"] == "all" else int(r["peer"])):
               (r["calls"], r["sent"], r["received"]) for r in self.summary("rank,peer,op")["messages"]}
        # Receives from anybody that were cancelled, not sent by anybody.
        got = {k: v for k, v in got.items() if k[1:] != ("receive", -1) or v[1:] != (0, 0)}
        self.assertEqual(got, want)
        self.assertGreater(sum(v[1] for v in want.values()), 0)
        # Barriers carry no message; what carries one has a type, be it empty.
        means = {r["rank"]: r["mean"] for r in self.query(
            "SELECT p.rank, avg(max(c.sent, c.received)) AS mean FROM comm c JOIN process p ON p.id = c.process "
            "JOIN op o ON o.id = c.op WHERE o.name <> 'collective' OR c.datatype OR c.sent OR c.received GROUP BY p.rank")}
        for row in self.summary("rank")["messages"]:
            mean = means[int(row["rank"])]
            self.assertAlmostEqual(row["bytes_each"], mean, delta=0.05 if mean < 100 else 0.5)

    def test_netpipe(self):
        self.check(2, [NETPIPE, "-u", "5000", "-n", "10", "-o", "netpipe.out"],
                   lambda out: re.findall(r"^\s*\d+:\s+\d+ bytes\s+\d+ times", out, re.M))

    @unittest.skipIf(IMPLEMENTATION != "openmpi", "Debian builds LAMMPS with Open MPI alone")
    def test_lammps(self):
        (self.folder / "in.melt").write_text(LAMMPS)
        self.check(4, ["lmp", "-in", "in.melt", "-log", "none"],
                   lambda out: re.findall(r"^(?: +\d+ +\S+ +\S+ +\S+ +\S+ +\S+|N\w+: .*|Total # .*|Neigh.* builds.*)$",
                                          out, re.M))

    @unittest.skipIf(IMPLEMENTATION != "openmpi", "Debian builds hpcc with Open MPI alone")
    def test_hpcc(self):
        if not HPCC.exists():
            self.skipTest("hpcc is not here")
        text = HPCC.read_text()
        for number, comment in ((100, "Ns"), (20, "NBs"), (1, "Ps")):
            text = re.sub(rf"^\d+( +{comment}$)", rf"{number}\1", text, flags=re.M)
        (self.folder / "hpccinf.txt").write_text(text)
        self.check(2, ["hpcc"], lambda out: self.hpcc_results())

    def hpcc_results(self):
        """hpcc appends to its file: each run's own is looked at."""
        path = self.folder / "hpccoutf.txt"
        text = path.read_text()
        path.unlink()
        self.assertIn("Success=1", text)
        return re.findall(HPCC_FACTS, text, re.M)

    def test_nwchem(self):
        """Global Arrays over one-sided communication, in Fortran and C."""
        (self.folder / "he.nw").write_text(NWCHEM)
        self.check(2, [f"nwchem.{IMPLEMENTATION}", "he.nw"],
                   lambda out: re.findall(r"^ +(?:Total SCF|One-electron|Two-electron) energy.*", out, re.M))


if __name__ == "__main__":
    main()
