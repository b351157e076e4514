#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records whole jobs: the bundled program that uses everything at once, and programs nobody here wrote.

test_jobs.py KYMO IMPLEMENTATION FOLDER [TEST...]
"""

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
            self.assertEqual(calls["openmp"]["implicit_task"], 2 * ranks * (steps + listens + 2))
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

    def test_around_the_launcher(self):
        self.check(False)

    def test_in_each_rank(self):
        self.check(True)


if __name__ == "__main__":
    main()
