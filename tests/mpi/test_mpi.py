#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records MPI programs and compares with what they say themselves.

test_mpi.py KYMO IMPLEMENTATION FOLDER [TEST...]      FOLDER holds the programs, NAME.IMPLEMENTATION
"""

import csv
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
import references  # noqa: E402
from jobs import ENVIRONMENT, KYMO, LAUNCHER, PROGRAMS, Base, main


class Traffic(Base):
    def compare(self, ranks, inside):
        args = [self.folder / "file"]
        plain = self.run_any([LAUNCHER, "-n", ranks, self.program("traffic"), *args])
        p = self.recorded(ranks, "traffic", *args, inside=inside)
        self.assertEqual((p.code, sorted(p.out.splitlines())), (0, sorted(plain.out.splitlines())), p.err)
        want = {}
        for line in p.out.splitlines():
            rank, op, peer, messages, sent, received = line.split()
            want[rank, op, "all" if peer == "-1" else peer] = (int(messages), int(sent), int(received))
        got = {(r["rank"], r["op"], r["peer"]): (r["calls"], r["sent"], r["received"])
               for r in self.summary("rank,peer,op")["messages"]}
        self.assertEqual(got, want)
        self.assertGreater(len(want), 16)
        self.check_means()

    def check_means(self):
        """Of each message what was sent or received, whichever is more: a rank is root of one and no root of another."""
        means = {(r["rank"], r["name"]): r["mean"] for r in self.query(
            "SELECT p.rank, o.name, avg(max(c.sent, c.received)) AS mean FROM comm c JOIN process p ON p.id = c.process "
            "JOIN op o ON o.id = c.op WHERE o.name <> 'collective' OR c.datatype OR c.sent OR c.received GROUP BY 1, 2")}
        for by_store in False, True: # the query has built it
            if not by_store:
                os.unlink(self.trace / "store.db")
            rows = self.summary("rank,op")["messages"]
            for row in rows:
                mean = means[int(row["rank"]), row["op"]]
                self.assertAlmostEqual(row["bytes_each"], mean, delta=0.05 if mean < 100 else 0.5, msg=row)
            self.assertEqual(len(rows), len(means))
            self.query("SELECT 1")

    def test_around_the_launcher(self):
        self.compare(4, False)

    def test_in_each_rank(self):
        self.compare(2, True)
        self.assertEqual([p.name for p in self.folder.glob("*.kymo")], ["t.kymo"])

    def test_messages_without_their_calls(self):
        """--include speaks of calls; messages need those that start and complete them all the same."""
        p = self.recorded(2, "traffic", options=["--include", "^MPI_Barrier$"])
        self.assertEqual(p.code, 0, p.err)
        self.assertEqual(self.calls(), {"MPI_Barrier": 4})
        sent = {r["op"]: r["sent"] for r in self.summary("op")["messages"]}
        want = sum(int(l.split()[4]) for l in p.out.splitlines() if l.split()[1] == "send")
        self.assertEqual(sent["send"], want)

    def messages_by_call(self):
        """Messages of each kind that each call has started; of nobody where nothing is recorded."""
        counts = self.rows("SELECT region_name, kind, count(*), sum(sent), sum(received) FROM messages GROUP BY 1, 2")
        kymotest.remove(self.trace)
        return set(counts)

    def test_excluded_calls_have_no_messages(self):
        self.assertEqual(self.recorded(2, "traffic", self.folder / "file").code, 0)
        whole = self.messages_by_call()
        for excluded in ("MPI_Isend", "MPI_Send_init", "MPI_Irecv", "MPI_Allreduce", "MPI_File_write_at_all"):
            p = self.recorded(2, "traffic", self.folder / "file", options=["--exclude", f"^{excluded}$"])
            self.assertEqual(p.code, 0, p.err)
            self.assertNotIn(excluded, self.calls())
            made_by = {"MPI_Send_init": "MPI_Startall"}.get(excluded, excluded)
            kinds = {"MPI_Send_init": {"send"}}.get(excluded, {m[1] for m in whole})
            want = {m for m in whole if not (m[0] == made_by and m[1] in kinds)}
            self.assertLess(want, whole, excluded)
            self.assertEqual(self.messages_by_call(), want, excluded)

    def test_all_calls_excluded(self):
        for mode in ("default", "summary"):
            p = self.recorded(2, "traffic", options=["--exclude", "^MPI_", "--mode", mode])
            self.assertEqual(p.code, 0, p.err)
            tables = self.summary("op")
            self.assertEqual([tables.get("mpi"), tables.get("messages")], [None, None], mode)
            self.assertFalse(any("comm:" in l or "mpi:" in l for l in self.shown()))
            kymotest.remove(self.trace)

    def test_left_out_calls_are_counted(self):
        """By rank: what is recorded and what the mode leaves out make up what mode full records."""
        counts = {}
        for mode in ("full", "default", "minimal"):
            p = self.recorded(2, "traffic", self.folder / "file", options=["--mode", mode])
            self.assertEqual(p.code, 0, p.err)
            counts[mode] = [{(pid, name): n for pid, name, n in self.rows(sql)} for sql in (
                "SELECT (SELECT rank FROM process p WHERE p.pid = r.pid) AS k, name, count(*) AS n FROM regions r WHERE "
                "category = 'mpi' AND name NOT IN ('MPI_Testall', 'MPI_Waitsome') GROUP BY 1, 2",
                "SELECT (SELECT rank FROM process p WHERE p.pid = l.pid) AS k, name, sum(calls) AS n FROM not_recorded l "
                "WHERE category = 'mpi' AND name NOT IN ('MPI_Testall', 'MPI_Waitsome') GROUP BY 1, 2")]
            foot = self.foot()
            self.assertEqual("Not recorded in this mode: " in foot, mode != "full", foot)
            kymotest.remove(self.trace)
        full, none = counts["full"]
        self.assertEqual(none, {})
        for mode in ("default", "minimal"):
            calls, left_out = counts[mode]
            self.assertEqual({k: calls.get(k, 0) + left_out.get(k, 0) for k in {*calls, *left_out}}, full)
            self.assertEqual({k[0] for k in left_out}, {k[0] for k in full}, "of each rank")

    def test_excluded_calls_are_not_wrapped(self):
        calls = ["MPI_Send", "MPI_Isend", "MPI_Recv", "MPI_Sendrecv", "MPI_Bcast", "MPI_Wait"]
        # Collective calls are seen for the clocks' sake.
        for exclude, bare in (([], []), (["-x", "^MPI_Isend$"], ["MPI_Isend"]),
                              (["-x", "^MPI_"], [c for c in calls if c != "MPI_Bcast"])):
            p = self.recorded(1, "bare", options=exclude)
            self.assertEqual(p.code, 0, p.err)
            self.assertEqual(p.out.splitlines(), [f"{c} {'bare' if c in bare else 'wrapped'}" for c in calls])
            kymotest.remove(self.trace, missing_ok=True)

    def test_names(self):
        self.recorded(2, "traffic")
        lines = self.shown()
        self.assertTrue(any("half of 1" in l for l in lines), "communicator's own name")
        self.assertTrue(any("type=pair" in l for l in lines), "datatype's own name")
        self.assertTrue(any("comm:put" in l and "window of 2" in l for l in lines), "window's own name")


class Tallies(Base):
    """--mode summary: the ranks add up all calls that they counted; one of them has it in its file."""

    # How often the program had to ask differs from run to run.
    ASKED = ("MPI_Testall", "MPI_Waitsome")
    ALL_CALLS = ("--mode", "summary", "--include", "^MPI_")

    def counted(self):
        tables = self.summary("op")
        calls = {r["op"]: r["calls"] for r in tables["mpi"] if r["op"] not in self.ASKED}
        messages = {r["op"]: (r["calls"], r["sent"], r["received"]) for r in tables["messages"]}
        return calls, messages

    def ranks_with_tallies(self):
        return {r["rank"] for r in self.summary("rank")["mpi"]}

    def record_both(self, inside):
        kymotest.remove(self.trace, missing_ok=True)
        p = self.recorded(4, "traffic", self.folder / "file", options=["--mode", "default"], inside=inside)
        self.assertEqual(p.code, 0, p.err)
        want = self.counted(), {(r["kind"], r["op"]): r["ranks"] for r in self.summary("rank,op")["imbalance"]
                                if r["op"] not in self.ASKED}
        kymotest.remove(self.trace)
        p = self.recorded(4, "traffic", self.folder / "file", options=["--mode", "summary"], inside=inside)
        self.assertEqual(p.code, 0, p.err)
        return want

    def check(self, inside):
        (calls, messages), having = self.record_both(inside)
        self.assertGreater(len(calls), 40)
        self.assertEqual(self.counted(), (calls, messages))
        self.assertEqual(self.ranks_with_tallies(), {"all"})
        told = self.summary("op")["quality"][0]
        self.assertEqual((told["ranks"], told["threads"]), (4, None))
        if inside:
            self.assertEqual(told["processes"], 4)
        self.assertIn(" 4 ranks, ", self.foot().splitlines()[1])
        self.assertIn("MPI_Finalize counts until all ranks had come to it", self.foot())
        loads = {(r["kind"], r["op"]): r for r in self.summary("rank,op")["imbalance"]
                 if r["op"] not in self.ASKED}
        self.assertEqual({k: r["ranks"] for k, r in loads.items()}, having)
        rows = {r["op"]: r for r in self.summary("op")["mpi"]}
        for (kind, op), r in loads.items():
            self.assertLessEqual(r["min_ns"], r["mean_ns"])
            self.assertLessEqual(r["mean_ns"], r["max_ns"])
            self.assertEqual(r["min_ns"] == 0, r["ranks"] < 4, op)
            if kind == "mpi":
                self.assertAlmostEqual(4 * r["mean_ns"], rows[op]["self_ns"], delta=4)
        self.assertFalse(any("mpi:MPI_Send(" in l or "comm:" in l for l in self.shown()))

    def test_around_the_launcher(self):
        self.check(False)
        raw = self.summary("op")
        self.assertEqual(self.run_any([KYMO, "query", self.trace, "SELECT 1"]).code, 0)
        stored = self.summary("op")
        for table in raw:
            self.assertEqual(stored[table], raw[table], table)

    def test_in_each_rank(self):
        self.check(True)

    def test_costs_count_once(self):
        """What recording cost the ranks, and how long their threads were there, is in the table; the rank that has the
        table in its file has what came later."""
        for inside in (False, True):
            kymotest.remove(self.trace, missing_ok=True)
            p = self.recorded(4, "traffic", self.folder / "file", options=["--mode", "summary"], inside=inside)
            self.assertEqual(p.code, 0, p.err)
            columns = "cost_samples, loading_ns, thread_time_ns, beside_ns, end - start"
            (samples, loading, threads, beside, span), = self.rows(f"SELECT {columns} FROM process WHERE merged_ranks = 4")
            (own_samples, own_loading, own_threads, own_beside, _), = self.rows(
                f"SELECT {columns} FROM process WHERE rank = 0")
            self.assertGreater(samples, 4 * 10)
            self.assertLess(own_samples, 4)
            self.assertGreater(loading, 0)
            self.assertLess(own_loading, loading / 100)
            self.assertGreater(beside, 0)
            self.assertLess(own_beside, beside)
            self.assertGreater(threads, span)  # of 4 ranks
            there = self.rows("SELECT sum(t.end - t.start) FROM thread t JOIN process p ON p.id = t.process "
                              "WHERE p.rank = 0 AND NOT t.own")[0][0]
            self.assertLess(own_threads, 0)
            self.assertGreaterEqual(there + own_threads, 0)
            self.assertLess(there + own_threads, -own_threads)
            told = self.summary("op")["quality"][0]
            costs = self.rows("SELECT sum(measured_ns), sum(variance_ns2), sum(loading_ns) FROM overhead")[0]
            self.assertAlmostEqual(told["overhead_high_ns"], costs[0] + 2 * costs[1] ** 0.5, delta=1)
            self.assertAlmostEqual(told["overhead_loading_ns"], costs[2], delta=1)

    def test_size(self):
        """Nothing is written for each rank: not its file, and the table is no larger with more of them."""
        sizes = []
        for ranks in (2, 6):
            kymotest.remove(self.trace, missing_ok=True)
            p = self.recorded(ranks, "ring_mpif", options=["--mode", "summary"])
            if p.code:
                self.skipTest("no Fortran compiler of this implementation")
            self.assertEqual(self.calls()["MPI_Finalize"], ranks)
            files = [f for f in (self.trace / "raw").iterdir() if self.is_rank(f)]
            self.assertEqual(len(files), 1, files)
            sizes.append(files[0].stat().st_size)
        self.assertLess(sizes[1], sizes[0] * 1.1)

    def is_rank(self, file):
        p = self.run_any([KYMO, "info", file])
        return "rank 0 of" in p.out or not ("mpirun" in p.out or "mpiexec" in p.out) # nor a launcher

    def kept(self):
        """A rank that is killed when MPI is over leaves its file, which says how it ended."""
        self.recorded(2, "ending", "late", options=self.ALL_CALLS)
        self.assertIn("killed by signal 9", self.foot())

    def by_rank(self, status=0):
        return {(r["rank"], r["op"]): r["calls"] for r in self.summary("rank,op", status)["mpi"]}

    def test_nothing_twice(self):
        """What is in the table and in a file counts once; calls after MPI_Finalize do not."""
        self.kept()
        want = {op: 2 for op in ("MPI_Initialized", "MPI_Init", "MPI_Comm_rank", "MPI_Allreduce",
                                 "MPI_Barrier", "MPI_Finalize")}
        self.assertEqual(self.by_rank(), {("all", op): n for op, n in want.items()})

    def test_no_table(self):
        """Without the rank that has the table in the trace the others' files still have everything."""
        self.kept()
        for f in (self.trace / "raw").iterdir():
            if "rank 0 of" in self.run_any([KYMO, "info", f]).out:
                f.unlink()
        calls = self.by_rank(status=3)  # a file is missing
        for op in ("Init", "Allreduce", "Finalize"):
            self.assertEqual(calls["1", "MPI_" + op], 1, op)
        self.assertEqual({rank for rank, _ in calls}, {"1"})

    def test_rank_that_never_comes(self):
        """Without MPI_Finalize, or killed: what each rank counted is its own."""
        for how in ("leave", "kill"):
            kymotest.remove(self.trace, missing_ok=True)
            self.recorded(2, "ending", how, options=["--mode", "summary"])
            calls = {(r["rank"], r["op"]): r["calls"] for r in self.summary("rank,op")["mpi"]}
            self.assertEqual((calls["0", "MPI_Init"], calls["1", "MPI_Init"]), (1, 1), how)

    def test_some_ranks(self):
        p = self.recorded(3, "ending", options=["--mode", "summary", "--rank", "1-2"])
        self.assertEqual(p.code, 0, p.err)
        self.assertEqual(self.ranks_with_tallies(), {"1", "2"})

    def test_different_programs(self):
        """Added up by name; one of them records, and adds nothing."""
        ending = [self.program("ending"), "error"]
        p = self.run_any([KYMO, "run", "--no-summary", "--mode", "summary", "-o", self.trace, LAUNCHER, "-n",
                          2, *ending, ":", "-n", 1, self.program("other")])
        self.assertEqual(p.code, 0, p.err)
        calls = {r["op"]: r["calls"] for r in self.summary("op")["mpi"]}
        self.assertEqual((calls["MPI_Init"], calls["MPI_Send"], calls["MPI_Finalize"]), (3, 2, 3))

    def test_one_of_another_mode(self):
        kymo = [KYMO, "run", "--no-summary", "-o", self.trace]
        p = self.run_any([LAUNCHER, "-n", 1, *kymo, self.program("ending"), ":",
                          "-n", 2, *kymo, "--mode", "summary", self.program("ending")])
        self.assertEqual(p.code, 0, p.err)
        calls = {(r["rank"], r["op"]): r["calls"] for r in self.summary("rank,op")["mpi"]}
        self.assertEqual((calls["0", "MPI_Init"], calls["2 of 3", "MPI_Init"]), (1, 2))
        self.assertEqual(self.calls()["MPI_Finalize"], 3)


class Store(Base):
    def test_messages(self):
        p = self.recorded(4, "traffic", self.folder / "file")
        want = set()
        for line in p.out.splitlines():
            rank, op, peer, messages, sent, received = line.split()
            want.add((int(rank), op, int(peer), int(messages), int(sent), int(received)))
        raw = self.summary("rank,peer,op")["messages"]
        got = self.rows("SELECT rank, kind, ifnull(peer, -1), count(*), sum(sent), sum(received) "
                        "FROM messages GROUP BY 1, 2, 3")
        self.assertEqual(set(got), want)
        calls = self.rows("SELECT count(*), count(region_name) FROM messages WHERE kind = 'send'")
        self.assertEqual(*calls[0])
        names = {n for n, in self.rows("SELECT DISTINCT communicator FROM messages")}
        self.assertLessEqual({"half", "window", "MPI_COMM_WORLD"}, names)
        self.assertIn(("pair",), self.rows("SELECT DISTINCT datatype FROM messages"))
        world = self.rows("SELECT c.size, r.first, r.count, r.stride FROM communicator c JOIN "
                          "communicator_ranks r ON r.communicator = c.id WHERE c.name = 'MPI_COMM_WORLD'")
        self.assertEqual({(w[0], w[1], w[2]) for w in world}, {(4, 0, 4)})
        self.assertEqual(self.rows("SELECT count(*) FROM activity a JOIN op o ON o.id = a.op JOIN domain d "
                                   "ON d.id = o.domain WHERE d.name = 'comm'"), [(0,)])
        self.assertTrue((self.trace / "store.db").exists())
        store = self.trace / "store.db"
        self.assertEqual(self.summary("rank,peer,op", trace=store)["messages"], raw)

    def matrix(self, title, *words):
        out = self.run_any([KYMO, "summary", "--by", "rank,peer", *words, self.trace]).out
        lines = re.search(rf"^{title}.*\n((?:.+\n)*)", out, re.M).group(1).splitlines()
        names = lines[0].split("to", 1)[1].split()
        cells = {}
        for line in (l for l in lines[1:] if not l.startswith("(")):
            begin, end = re.match(r" *(\S+)", line).span()
            for k, name in enumerate(names):  # cells end where the names of their columns do
                at = [m.end() for m in re.finditer(r"\S+", lines[0])][-len(names):]
                text = line[end if k == 0 else at[k - 1]:at[k]].strip()
                if text:
                    cells[line[begin:end].strip(), name] = text
        return cells

    def test_some_ranks(self):
        """Of a rank alone nothing is said of what it waits for, nor of whether others had processors."""
        self.assertEqual(self.recorded(2, "traffic", self.folder / "file").code, 0)
        said = "some ranks or processes alone were chosen"
        for words, there in (((), False), (("--rank", "1"), True), (("--after", "0"), False)):
            out = self.run_any([KYMO, "diagnose", *words, self.trace]).out
            self.assertEqual(said in " ".join(out.split()), there, words)
        for rank in "01":
            out = self.run_any([KYMO, "summary", "--rank", rank, "--tables", "digest", self.trace]).out
            self.assertNotIn(f"(rank {1 - int(rank)})", out)

    def test_matrix(self):
        """Senders and receivers, as SQL has them; of many ranks some are taken together, and nothing is left out."""
        for ranks, block in ((4, 1), (10, 2)):
            kymotest.remove(self.trace, missing_ok=True)
            self.assertEqual(self.recorded(ranks, "traffic", self.folder / "file").code, 0)
            pairs = {}
            for rank, kind, peer, n, sent, received in self.rows(
                    "SELECT rank, kind, peer, count(*), sum(sent), sum(received) FROM messages WHERE peer IS NOT NULL AND "
                    "kind IN ('send', 'put', 'accumulate', 'get') GROUP BY 1, 2, 3"):
                key = (peer, rank) if kind == "get" else (rank, peer)
                key = tuple(k // block for k in key)
                a, b = pairs.get(key, (0, 0))
                pairs[key] = a + n, b + (received if kind == "get" else sent)
            name = lambda k: f"{k * block}-{k * block + 1}" if block > 1 else str(k)  # noqa: E731
            want = {(name(a), name(b)): n for (a, b), (n, _) in pairs.items()}
            got = {k: int(v.replace(",", "")) for k, v in self.matrix("Messages sent").items()}
            self.assertEqual(got, want)
            self.assertEqual(self.matrix("Messages sent", "--tables", "messages"), self.matrix("Messages sent"))
            self.assertEqual(set(self.matrix("Bytes sent")), {(name(a), name(b)) for (a, b), (_, s) in pairs.items() if s})
            units = {"B": 1, "KiB": 1024, "MiB": 1024 ** 2}
            for key, text in self.matrix("Bytes sent").items():
                number, unit = text.split()
                exact = next(s for (a, b), (_, s) in pairs.items() if (name(a), name(b)) == key)
                self.assertLess(abs(float(number) * units[unit] - exact), max(1, exact * 1e-3), key)
            if block > 1:
                self.assertEqual(len({a for a, _ in self.matrix("Messages sent", "--all")}), ranks)
            self.assertTrue(all("peer" in r for r in self.summary("rank,peer")["messages"]))  # programs get a list

    def test_shares(self):
        """The runtimes' part of each rank, with its recorded time, as SQL adds them up."""
        self.assertEqual(self.recorded(4, "traffic", self.folder / "file").code, 0)
        rows = self.summary("op")["shares"]
        self.assertEqual([r["rank"] for r in rows if r["runtime"] == "MPI"], ["0", "1", "2", "3"])
        mpi = {r["op"]: r for r in self.summary("op")["mpi"]}
        self.assertEqual(sum(r["time_ns"] for r in rows if r["runtime"] == "MPI"), sum(r["self_ns"] for r in mpi.values()))
        want = self.rows("SELECT p.rank, p.recorded, (SELECT count(*) FROM call c JOIN thread t ON t.id = c.thread WHERE t.process = p.id), "
                         "(SELECT sum(c.duration) FROM call c JOIN thread t ON t.id = c.thread LEFT JOIN call_extra e ON e.id = c.id "
                         "WHERE t.process = p.id AND ifnull(e.parent, 0) = 0) FROM processes p WHERE p.rank IS NOT NULL ORDER BY 1")
        for rank, recorded, calls, ns in want:
            mine = [r for r in rows if r["rank"] == str(rank)]
            self.assertEqual(sum(r["calls"] for r in mine), calls)
            self.assertEqual({r["recorded_ns"] for r in mine}, {recorded})
            self.assertEqual(sum(r["time_ns"] for r in mine), ns)
            for r in mine:
                self.assertAlmostEqual(r["percent_of_recorded"], 100 * r["time_ns"] / recorded, 6)

    def test_by_communicator(self):
        """One row in all ranks; two that are called the same are two."""
        self.assertEqual(self.recorded(4, "traffic", self.folder / "file").code, 0)
        want = self.rows("SELECT c.name, c.size, c.key, count(*), sum(m.sent), sum(m.received), c.kind "
                         "FROM messages m JOIN communicator c ON c.id = m.communicator_id WHERE c.size > 1 GROUP BY 1, 2, 3, 7")
        self.assertEqual(len([w for w in want if w[0] == "half"]), 2)
        shown = [r for r in self.summary("communicator")["messages"] if " ranks)" in r["communicator"]]
        told = [(re.sub(" #[0-9]+", "", r["communicator"]), r["calls"], r["sent"], r["received"]) for r in shown]
        words = {0: "communicator", 1: "intercommunicator", 2: "window", 3: "file"}
        self.assertEqual(sorted(told), sorted((f"{w[0] or words[w[6]]} ({w[1]} ranks)", *w[3:6]) for w in want))
        names = [r["communicator"] for r in shown]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({n for n in names if n.startswith("half")}, {"half #0 (2 ranks)", "half #1 (2 ranks)"})
        rows = self.summary("rank,communicator")["messages"]
        for n in (0, 1):
            self.assertEqual(len({r["rank"] for r in rows if r["communicator"] == f"half #{n} (2 ranks)"}), 2)

    def test_json(self):
        """Communicators and types of messages are those of the message's process, and the same as in SQL."""
        self.assertEqual(self.recorded(4, "traffic", self.folder / "file").code, 0)
        out = self.folder / "t.json"
        self.assertEqual(self.run_any([KYMO, "export", "--to", "json", "-o", out, self.trace]).code, 0)
        document = json.loads(out.read_text())
        problems, met = references.check(document)
        self.assertEqual(problems, [])
        self.assertGreater(met["send", "communicator"], 0)
        lists, got = document["trace"], {}
        for r in (r for r in document["records"] if r.get("domain") == "comm"):
            a, process = r["args"], lists["processes"][lists["threads"][r["thread"]]["process"]]
            c, t = a.get("communicator", 0), a.get("datatype", 0)
            key = (process["rank"], r["op"], lists["communicators"][c]["name"] if c else None,
                   lists["communicators"][c]["size"] if c else None, lists["strings"][t] if t else None)
            got[key] = got.get(key, 0) + 1
        want = self.rows("SELECT rank, kind, communicator, communicator_size, datatype, count(*) FROM messages "
                         "GROUP BY 1, 2, 3, 4, 5")
        self.assertEqual(got, {w[:5]: w[5] for w in want})
        self.assertLessEqual({"half", "window", "MPI_COMM_WORLD"}, {k[2] for k in got})


class Nulls(Base):
    def test_null_pointers(self):
        """Calls that MPI itself refuses, or crashes in: it does so as without Kymo, and the call is in the trace."""
        refused = 0
        for n in range(100):
            command = [self.program("nulls"), n]
            plain = self.run_any(command)
            for mode in ("default", "full"):
                p = self.run_any([KYMO, "run", "-f", "--no-summary", "--mode", mode, "-o", self.trace, *command])
                self.assertEqual((p.code, p.out), (plain.code, plain.out), (n, mode, p.err))
            if plain.code == 3:
                break
            refused += plain.out == "1\n"
        self.assertEqual(n, 21)
        self.assertGreater(refused, 5)


class Objects(Base):
    SOURCE = Path(__file__).resolve().parent / "objects.c"

    def found(self, how):
        p = self.recorded(2, "objects", how)
        self.assertEqual(p.code, 0, p.err)
        lines = self.SOURCE.read_text(encoding="ascii").splitlines()
        rows = [r for t in self.tables("objects") for r in t["rows"]]
        return sorted((r["kind"], re.search(r"line: (\w+)", lines[int(r["site"].rpartition(":")[2]) - 1])[1], r["alive"],
                       r["created"], r["released"]) for r in rows)

    def tables(self, name):
        p = self.run_any([KYMO, "summary", "-f", "json", "--tables", name, self.trace])
        return [t for t in json.loads(p.out)["tables"] if t["name"] == name]

    def test_leaks(self):
        of_each = [("MPI communicator", "dup", 6, 6, 0), ("MPI communicator", "split", 2, 2, 0),
                   ("MPI datatype", "type", 3, 5, 2), ("MPI group", "group", 1, 1, 0)]
        of_one = [("MPI operation", "op", 3, 3, 0), ("MPI persistent request", "request", 1, 1, 0)]
        self.assertEqual(self.found("leaks"), sorted(2 * of_each + of_one))

    def test_clean(self):
        self.assertEqual(self.found("clean"), [])


class Matches(Base):
    """Which send and which receive are one message: match.c knows it from what its messages hold."""

    def posted(self):
        """(rank, kind): matches of its messages in the order they were posted, those of threads left out."""
        ends = {}
        for rank, kind, match in self.rows(
                "SELECT m.rank, m.kind, ifnull(m.match, 0) FROM messages m "
                "WHERE m.kind IN ('send', 'receive') AND ifnull(m.tag, 0) < 96 AND m.state <> 'freed' ORDER BY m.start, m.request, m.id"):
            ends.setdefault((rank, kind), []).append(match)
        return ends

    def check(self, ranks, *args):
        p = self.recorded(ranks, "match", self.folder, *args)
        self.assertEqual(p.code, 0, p.err)
        ends, wanted, cancelled = self.posted(), {}, 0
        received = [line for f in self.folder.glob("received.*") for line in f.read_text().splitlines()]
        for line in received:
            rank, number, source, sent = map(int, line.split())
            match = ends[rank, "receive"][number]
            if source < 0:
                cancelled += 1
                self.assertEqual(match, 0, line)
                continue
            self.assertNotEqual(match, 0, line)
            self.assertEqual(match, ends[source, "send"][sent], line)
            wanted[match] = wanted.get(match, 0) + 1
        self.assertGreater(len(wanted), 300)
        self.assertEqual(cancelled, ranks)
        self.assertEqual(set(wanted.values()), {1}) # a number is one message's
        self.assertEqual(len(wanted), sum(len(e) for (_, kind), e in ends.items() if kind == "send"))
        self.assertEqual(self.rows("SELECT match FROM messages WHERE match IS NOT NULL GROUP BY 1 "
                                   "HAVING count(*) <> 2 OR sum(kind = 'send') <> 1 OR min(ifnull(tag, -1)) <> max(tag)"), [])

    def test_order_of_posting(self):
        self.check(3)

        self.assertEqual(self.rows("SELECT kind, count(*), count(match) FROM messages WHERE tag = 98 GROUP BY 1 ORDER BY 1"),
                         [("receive", 3, 0), ("send", 6, 0)]) # behind one that may have got anything
        self.assertEqual(self.rows("SELECT kind, count(*), count(match) FROM messages WHERE tag = 97 AND state <> 'freed' "
                                   "GROUP BY 1 ORDER BY 1"), [("receive", 9, 0), ("send", 9, 0)]) # that was cancelled, perhaps

    def test_with_oneself(self):
        self.check(1)

    def test_threads_at_once(self):
        """Nobody knows the order of what threads post at the same time."""
        self.check(2, "threads")
        self.assertEqual(self.rows("SELECT kind, count(*), count(match) FROM messages WHERE tag = 99 GROUP BY 1 ORDER BY 1"),
                         [("receive", 200, 0), ("send", 200, 0)])

    def test_not_all_recorded(self):
        """No number rather than a wrong one."""
        p = self.recorded(2, "match", self.folder, options=["--exclude", "^MPI_Mrecv$"])
        self.assertEqual(p.code, 0, p.err)
        self.assertEqual(self.rows("SELECT count(match) FROM messages WHERE kind IN ('send', 'receive')"), [(0,)])

    def test_damage(self):
        """Of a rank of which records cannot be read nobody knows the order."""
        self.assertEqual(self.recorded(2, "match", self.folder).code, 0)
        self.assertGreater(self.rows("SELECT count(match) FROM messages WHERE rank = 1")[0][0], 0)
        (file,), = self.rows("SELECT file FROM process WHERE rank = 1")
        with open(file, "r+b") as f:
            f.seek(os.path.getsize(file) * 8 // 10) # among the records
            f.write(b"\xff\x00\xff\x00")
        self.assertGreater(self.rows("SELECT damaged_blocks FROM process WHERE rank = 1")[0][0], 0)
        self.assertEqual(self.rows("SELECT count(match) FROM messages WHERE rank = 1 OR peer = 1"), [(0,)])

    def test_formats(self):
        self.assertEqual(self.recorded(2, "match", self.folder).code, 0)
        want = sorted(m for m, in self.rows("SELECT match FROM messages WHERE match IS NOT NULL"))
        probed = self.rows("SELECT count(*) FROM messages m JOIN call c ON c.id = m.probe JOIN op o ON o.id = c.op "
                           "WHERE o.name = 'MPI_Mprobe' AND m.kind = 'receive'")
        self.assertEqual(probed, [(2 * 2 * 50,)])
        for form in "json", "csv", "perfetto":
            self.assertEqual(self.run_any([KYMO, "export", "--to", form, "-o", self.folder / form, self.trace]).code, 0)
        records = json.loads((self.folder / "json").read_text())["records"]
        self.assertEqual(sorted(r["match"] for r in records if "match" in r), want)
        with open(self.folder / "csv" / "messages.csv", newline="") as f:
            self.assertEqual(sorted(int(r["match"]) for r in csv.DictReader(f) if r["match"] != "0"), want)
        checker = Path(__file__).parents[1] / "golden" / "perfetto_check.py"
        p = self.run_any([sys.executable, checker, self.folder / "perfetto"])
        self.assertEqual((p.code, json.loads(p.out)["problems"]), (0, []), p.err)


class Perfetto(Base):
    def test_messages_have_names(self):
        """Read by a decoder of its own, tests/golden/perfetto_check.py."""
        self.assertEqual(self.recorded(2, "traffic").code, 0)
        out = self.folder / "t.pftrace"
        p = self.run_any([KYMO, "export", "--to", "perfetto", "-o", out, self.trace])
        self.assertEqual(p.code, 0, p.err)
        checker = Path(__file__).parents[1] / "golden" / "perfetto_check.py"
        p = self.run_any([sys.executable, checker, out])
        self.assertEqual((p.code, json.loads(p.out)["problems"]), (0, []), p.err)
        data = out.read_bytes()
        self.check_arrows(out)
        for name in (b"send to 1", b"receive from 0", b"collective with root 0", b"put to 1", b"MPI_COMM_WORLD"):
            self.assertTrue(name in data, name)


    def check_arrows(self, out):
        """One for each message, from the begin of its send to the end of its receive, which may begin first."""
        sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))
        import perfetto_check
        _, steps, _ = perfetto_check.read(str(out)).replay()
        arrows = [(a["type"], a.get("name", "").split()[0], b["type"]) for a, b in steps]
        (wanted,) = kymotest.query(KYMO, self.trace, "SELECT count(*) AS n FROM (SELECT match FROM comm WHERE match IS "
                                   "NOT NULL GROUP BY match HAVING count(*) = 2)")
        self.assertGreater(wanted["n"], 0)
        self.assertEqual(arrows, [(perfetto_check.BEGIN, "send", perfetto_check.END)] * wanted["n"])


class SomeRanks(Base):
    def check(self, inside):
        plain = self.run_any([LAUNCHER, "-n", 4, self.program("traffic")])
        p = self.recorded(4, "traffic", options=["--rank", "1,3-9"], inside=inside)
        self.assertEqual((p.code, sorted(p.out.splitlines())), (0, sorted(plain.out.splitlines())), p.err)
        calls = {(r["rank"], r["op"]): r["calls"] for r in self.summary("rank,op")["mpi"]}
        self.assertEqual({rank for rank, _ in calls}, {"1", "3"})
        self.assertEqual(calls["1", "MPI_Finalize"], 1)
        self.assertEqual({r["rank"] for r in self.summary("rank")["messages"]}, {"1", "3"})
        raw = {json.loads(m) for m in re.findall(r'"file": ("[^"]*")', self.manifests())}
        self.assertEqual(raw, {f.name for f in (self.trace / "raw").iterdir()})
        self.assertIn(len(raw), (2, 2 if inside else 3)) # Open MPI's launcher looks for OpenCL devices

    def manifests(self):
        return "".join(f.read_text() for f in self.trace.glob("manifest*.json"))

    def test_around_the_launcher(self):
        self.check(False)

    def test_in_each_rank(self):
        self.check(True)
        self.assertEqual([f.name for f in self.trace.glob("manifest*.json")], ["manifest.json"])

    def test_lowest_speaks(self):
        """Rank 0 says nothing where it is not recorded; nobody waits for it."""
        begin = time.monotonic()
        p = self.run_any([LAUNCHER, "-n", 3, KYMO, "run", "--rank", "1-2", "-o", self.trace,
                          self.program("ending")])
        self.assertEqual(p.code, 0, p.err)
        self.assertEqual(p.err.count("trace in "), 1, p.err)
        self.assertNotIn("still recording", p.err)
        self.assertIn("MPI_Allreduce", p.err)
        self.assertLess(time.monotonic() - begin, 30)

    def test_none_of_the_job(self):
        p = self.recorded(2, "ending", options=["--rank", "7"], inside=True)
        self.assertEqual((p.code, self.trace.exists()), (0, False), p.err)

    def test_mistakes(self):
        for ranks in ("", "1-", "3-2", "all"):
            p = self.recorded(2, "ending", options=["--rank", ranks])
            self.assertEqual(p.code, 2, ranks)
            self.assertIn("--rank takes", p.err)


class NodeLocal(Base):
    def check(self, inside):
        disk = self.folder / "disk"
        p = self.recorded(2, "traffic", options=["--node-local", disk], inside=inside)
        self.assertEqual(p.code, 0, p.err)
        self.assertEqual(list(disk.iterdir()), [])
        self.assertGreaterEqual(len(list((self.trace / "raw").glob("*.kyr"))), 2)
        self.assertEqual([f for f in (self.trace / "raw").iterdir() if f.suffix != ".kyr"], [])
        self.assertEqual(self.calls()["MPI_Finalize"], 2)

    def test_around_the_launcher(self):
        self.check(False)

    def test_in_each_rank(self):
        self.check(True)

    def test_meanwhile(self):
        """While the program runs its file lies on the node's disk and nothing in the trace."""
        look = "ls disk/*/raw; ls t.kymo/raw"
        p = self.run_any([KYMO, "run", "--no-summary", "--threads", "--node-local", "disk", "-o", self.trace,
                          "sh", "-c", look])
        self.assertEqual(p.code, 0, p.err)
        self.assertEqual([l.endswith(".kyr") for l in p.out.split()][:1], [True], p.out + p.err)
        self.assertTrue(any((self.trace / "raw").glob("*.kyr")))

    def test_what_cannot_be_collected_stays(self):
        p = self.run_any([KYMO, "run", "--no-summary", "--threads", "--node-local", "disk", "-o", self.trace,
                          "sh", "-c", "rm -rf t.kymo/raw; /bin/true"])
        self.assertEqual(p.code, 0, p.err)
        left = {str(f) for f in (self.folder / "disk").glob("*/raw/*.kyr")}
        self.assertTrue(left)
        self.assertIn("files that did not get into the trace are in " + os.path.dirname(min(left)), p.err)
        errors = json.loads((self.trace / "manifest.json").read_text())
        self.assertTrue(all(f in json.dumps(errors) for f in left))

    def test_no_disk(self):
        (self.folder / "file").write_text("")
        p = self.recorded(2, "ending", options=["--node-local", "file"])
        self.assertNotEqual(p.code, 0)
        self.assertIn("--node-local", p.err)
        self.assertFalse(self.trace.exists())


class Imbalance(Base):
    def test_against_the_ranks_rows(self):
        self.assertEqual(self.recorded(4, "traffic").code, 0)
        tables = self.summary("rank,op")
        for domain, column in (("mpi", "self_ns"), ("messages", "time_ns")):
            times = {}
            for r in tables[domain]:
                times.setdefault(r["op"], {})[int(r["rank"])] = r[column]
            loads = {r["op"]: r for r in tables["imbalance"] if r["kind"] == domain}
            self.assertEqual(set(loads), set(times))
            for op, by_rank in times.items():
                load, all_ns = loads[op], [by_rank.get(r, 0) for r in range(4)]
                self.assertEqual((load["min_ns"], load["max_ns"], load["ranks"]),
                                 (min(all_ns), max(all_ns), len(by_rank)), op)
                self.assertEqual(all_ns[load["min_rank"]], load["min_ns"])
                self.assertEqual(all_ns[load["max_rank"]], load["max_ns"])
                self.assertAlmostEqual(load["mean_ns"], sum(all_ns) / 4, delta=1)
        self.assertTrue(any(r["ranks"] < 4 and r["min_ns"] == 0 for r in tables["imbalance"]))
        self.assertEqual(len(self.summary("op")["imbalance"]), 10)
        whole = self.summary("rank")
        load = [r for r in whole["imbalance"] if r["kind"] == "mpi"][0]
        self.assertEqual(load["max_ns"], max(r["self_ns"] for r in whole["mpi"]))

    def test_formats(self):
        self.assertEqual(self.recorded(2, "ending").code, 0)
        self.assertEqual({r["percent"] for r in self.summary("op")["messages"]}, {None}) # times overlap
        self.assertNotIn(None, {r["percent"] for r in self.summary("op")["mpi"]})
        self.assertIn("Load of 2 ranks", self.foot())
        for form, want in (("md", "| kind | min | of rank | mean | max | of rank | imbalance % | ranks |"),
                           ("csv", "imbalance_percent")):
            p = self.run_any([KYMO, "summary", "--by", "rank", "--format", form, self.trace])
            self.assertIn(want, p.out)

    def test_csv_of_messages(self):
        self.assertEqual(self.recorded(2, "traffic", self.folder / "file").code, 0)
        out = f"{self.trace}.csv"
        self.assertEqual(self.run_any([KYMO, "export", "--to", "csv", "-o", out, self.trace]).code, 0)
        wanted = self.query("SELECT start, end, duration, pid, tid, kind AS name, rank, peer, tag, sent, received, "
                            "datatype, communicator, communicator_size, request, state, "
                            "ifnull(call_id, 0) & 0xffffffffff AS correlation, "
                            "ifnull(completed_by, 0) & 0xffffffffff AS completed_by, ifnull(probe, 0) & 0xffffffffff AS probe, "
                            "ifnull(partitions, 0) AS partitions, ifnull(match, 0) AS match FROM messages")
        wanted = [{k: "" if v is None or (k in ("peer", "tag") and v < 0) else str(v) for k, v in r.items()}
                  for r in wanted]
        with open(os.path.join(out, "messages.csv"), newline="") as f:
            rows = list(csv.DictReader(f))
        self.assertGreater(len(rows), 10)
        key = lambda r: [r[k] for k in ("start", "tid", "end", "name", "peer", "tag", "request", "correlation")]
        for got, want in zip(sorted(rows, key=key), sorted(wanted, key=key)):
            self.assertEqual(got, want)
        self.assertEqual(len(rows), len(wanted))

    def test_one_rank(self):
        self.assertEqual(self.recorded(1, "ending").code, 0)
        self.assertNotIn("imbalance", self.summary("op"))


class Worlds(Base):
    """Ranks that others have spawned are ranks of another world: theirs are not added to the parents'."""

    def test_two_spawned(self):
        command = [LAUNCHER, "-n", 1, self.program("spawn")]
        try:
            plain = subprocess.run([str(c) for c in command], env=ENVIRONMENT, cwd=self.folder, text=True,
                                   capture_output=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            plain = None
        if not plain or plain.returncode or "spawned" not in plain.stdout:
            self.skipTest("this MPI cannot spawn here, without Kymo")
        p = self.recorded(1, "spawn")
        self.assertEqual((p.code, p.out), (0, plain.stdout), p.err)
        tables = self.summary("rank,op")
        calls = {(r["rank"], r["op"]): r["calls"] for r in tables["mpi"]}
        ranks = ["0.0", "1.0", "1.1", "2.0", "2.1"]
        self.assertEqual({k: n for k, n in calls.items() if k[1] == "MPI_Init"}, {(r, "MPI_Init"): 1 for r in ranks})
        self.assertEqual(calls["0.0", "MPI_Barrier"], 2)
        self.assertEqual(list(dict.fromkeys(r["rank"] for r in tables["mpi"])), ranks) # in their order
        self.assertNotIn("imbalance", tables) # of one rank
        for name in ("imbalance_1", "imbalance_2"):
            loads = {r["op"]: r["ranks"] for r in tables[name] if r["kind"] == "mpi"}
            self.assertEqual(loads["MPI_Recv"], 2)
            self.assertNotIn("MPI_Comm_spawn", loads)
        peers = {(r["rank"], r["peer"]): r["calls"] for r in self.summary("rank,peer")["messages"]}
        self.assertEqual(peers["0.0", "another world's"], 4)
        self.assertEqual(peers["1.1", "another world's"], 1)
        self.assertIn("3 worlds of ranks", self.foot())
        self.assertEqual(self.rows("SELECT world, count(*), count(DISTINCT rank) FROM processes WHERE rank IS NOT NULL "
                                   "GROUP BY 1 ORDER BY 1"), [(0, 1, 1), (1, 2, 2), (2, 2, 2)])
        self.assertEqual(self.rows("SELECT world, count(*) FROM messages WHERE kind = 'receive' GROUP BY 1 ORDER BY 1"),
                         [(1, 2), (2, 2)])
        self.assertIn("rank 2.1", self.run_any([KYMO, "info", self.trace]).out)
        out = self.folder / "t.pftrace"
        self.assertEqual(self.run_any([KYMO, "export", "--to", "perfetto", "-o", out, self.trace]).code, 0)
        self.assertIn(b"rank 2.1", out.read_bytes())

    def test_one_world(self):
        """Numbers as ever."""
        self.assertEqual(self.recorded(3, "ending").code, 0)
        self.assertEqual([r["rank"] for r in self.summary("rank")["mpi"]], ["0", "1", "2"])
        self.assertNotIn("worlds", self.foot())


class Fortran(Base):
    def ring(self, kind):
        if not self.program(f"ring_{kind}").exists():
            self.skipTest("no Fortran compiler of this implementation")
        p = self.recorded(2, f"ring_{kind}")
        self.assertEqual(p.code, 0, p.err)
        self.assertIn("total   1.0", p.out)
        rows = {(r["rank"], r["op"]): (r["calls"], r["sent"], r["received"])
                for r in self.summary("rank,op")["messages"]}
        want = {"send": (1, 32, 0), "receive": (1, 0, 32), "collective": (1, 8, 8)}
        self.assertEqual(rows, {(r, op): v for r in "01" for op, v in want.items()})
        calls = self.calls()
        for name in ("Init", "Comm_rank", "Comm_size", "Irecv", "Send", "Wait", "Allreduce", "Finalize"):
            self.assertEqual(calls.get("MPI_" + name), 2, name)
        sites = {l.split("mpi:")[1].split("(")[0]: l.split(" @ ")[1] for l in self.shown() if "mpi:MPI_" in l}
        for name in ("Send", "Allreduce", "Comm_rank"):
            self.assertIn(f"ring_{kind}.f90:", sites["MPI_" + name])

    def test_mpif(self):
        self.ring("mpif")

    def test_module(self):
        self.ring("mpi")

    def test_f08(self):
        self.ring("f08")


class Clocks(Base):
    def clocks(self):
        """(offset, its bound, offset measured, bound of the measurement) of each rank."""
        out = self.run_any([KYMO, "info", self.trace]).out
        return [tuple(map(int, m)) for m in re.findall(
            r"job clock: node's \+ (-?\d+) ns, within (\d+) ns; measured (-?\d+) ns, within (\d+) ns", out)]

    def check_barrier(self, ranks, bound_ns):
        """Nobody leaves the barrier before the last has entered it, as far as clocks can tell."""
        begin, end = [], []
        for line in self.shown():
            if "MPI_Barrier(" in line:
                words = line.split()
                scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[words[2]]
                begin.append(float(words[0]))
                end.append(float(words[0]) + float(words[1]) * scale)
        self.assertEqual(len(begin), ranks)
        self.assertLess(max(begin) - min(end), (bound_ns + 1000) / 1e9)

    def test_one_node(self):
        self.assertEqual(self.recorded(4, "ending").code, 0)
        self.assertIn("4 ranks compared: they read one clock", self.foot())
        clocks = self.clocks()
        self.assertEqual([c[:2] for c in clocks], [(0, 0)] * 4)
        for _, _, measured, bound in clocks:
            self.assertLessEqual(abs(measured), bound)
        self.check_barrier(4, 0)

    def test_other_clock(self):
        """A rank whose monotonic clocks are 1000 s ahead, as another node's could be."""
        ahead = ["unshare", "-T", "--monotonic", "1000", "--fork"]
        if subprocess.run([*ahead, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("no time namespaces here")
        kymo = [KYMO, "run", "--no-summary", "-o", self.trace, self.program("ending")]
        for clock in ("tsc", "monotonic"):
            p = self.run_any([LAUNCHER, "-n", 1, *kymo, ":", "-n", 1, *ahead, *kymo], KYMO_JOB="job",
                             KYMO_CLOCK=clock)
            self.assertEqual(p.code, 0, p.err)
            offset, bound = min(self.clocks())[:2]
            self.assertLessEqual(abs(offset + 1000 * 10**9), bound)
            self.assertGreater(bound, 0)
            self.check_barrier(2, bound)
            kymotest.remove(self.trace)

    def points(self):
        """How often each rank's clock was compared."""
        return [int(n) for n in re.findall(r"; compared (\d+) times", self.run_any([KYMO, "info", self.trace]).out)]

    def said(self, ended):
        """But for the names of what these tests alone set."""
        return [l for l in ended.err.splitlines() if "variable KYMO_CLOCK_" not in l]

    def test_long_job(self):
        """Every 20 ms at a collective call, if ranks take their time for it; a short job at its ends alone."""
        for options in ([], ["--include", "^MPI_Init$"], ["--exclude", "^MPI_"]):
            kymotest.remove(self.trace, missing_ok=True)
            # As many calls as may lie between two looks for letters, and before all ranks know of a point.
            p = self.recorded(5, "ending", "long", 4000, options=options, KYMO_CLOCK_PERIOD_MS="20",
                              KYMO_CLOCK_WAIT_MS="60000")
            self.assertEqual(p.code, 0, p.err)
            points = self.points()
            self.assertEqual(len(points), 5, points)
            self.assertGreater(min(points), 2, points)
        self.assertEqual(self.recorded(2, "ending", options=["--force"]).code, 0)
        self.assertEqual(self.points(), [2, 2])

    def test_rank_that_jumps_out(self):
        """It counts other calls than the others after that: nobody waits, and the last point is made."""
        p = self.recorded(3, "ending", "skip", KYMO_CLOCK_PERIOD_MS="20")
        self.assertEqual((p.code, self.said(p)), (0, []))
        self.assertEqual(self.calls()["MPI_Finalize"], 3)
        self.assertGreaterEqual(min(self.points()), 2)

    def test_calls_that_need_not_meet(self):
        """A rank that is out of a call before another is in it is so with Kymo, however long that might wait."""
        program = self.program("sparse")
        plain = self.run_any([LAUNCHER, "-n", 2, program, "3", "+++++"])
        self.assertEqual(plain.code, 0, plain.err)
        self.assertIn("+", plain.out) # no counts at all: nobody needs anything of anybody
        p = self.recorded(2, "sparse", "40", plain.out.replace("-", " "), KYMO_CLOCK_PERIOD_MS="0",
                          KYMO_CLOCK_WAIT_MS="3600000")
        self.assertEqual((p.code, p.out), (0, plain.out.replace("-", "")), p.err)
        self.assertGreater(min(self.points()), 2)

    def test_crowded_node(self):
        """Far more ranks than processors: whoever is not found in time is left alone, and what was sent to him meanwhile
        is taken in the end. Nothing is said that is not said without Kymo, or that is not so."""
        cpu = str(min(os.sched_getaffinity(0)))
        plain = self.run_any(["taskset", "-c", cpu, LAUNCHER, "-n", 12, self.program("ending"), "long", 40])
        p = self.run_any(["taskset", "-c", cpu, KYMO, "run", "--no-summary", "-o", self.trace, LAUNCHER, "-n", 12,
                          self.program("ending"), "long", 40], KYMO_CLOCK_PERIOD_MS="0", KYMO_CLOCK_WAIT_MS="2")
        self.assertEqual((p.code, p.out, self.said(p)), (plain.code, plain.out, self.said(plain)))
        self.assertEqual(self.calls()["MPI_Finalize"], 12)
        self.assertIn("12 ranks compared", self.foot())
        points = self.points()
        self.assertGreaterEqual(min(points), 2, points)
        self.assertGreater(max(points), 2, points)  # rank 0 goes to every point, every few calls
        self.assertEqual(self.rows("SELECT count(*) FROM note WHERE part = 'mpi'"), [(0,)])

    def test_not_all_recorded(self):
        kymo = [KYMO, "run", "--no-summary", "-o", self.trace]
        program = self.program("ending")
        p = self.run_any([LAUNCHER, "-n", 1, *kymo, program, ":", "-n", 1, program])
        self.assertEqual(p.code, 0, p.err)
        self.assertIn("not all ranks are recorded", self.foot())
        self.assertEqual(self.calls()["MPI_Init"], 1)


class Control(Base):
    """MPI_Pcontrol: 0 pauses the rank's recording, 1 resumes it, others are recorded and do nothing."""

    def test_pause(self):
        p = self.recorded(3, "ending", "pause", options=["--include", "^MPI_"])
        self.assertEqual(p.code, 0, p.err)
        calls = {(r["rank"], r["op"]): r["calls"] for r in self.summary("rank,op")["mpi"]}
        for rank, paused in (("0", False), ("1", True), ("2", False)): # rank 1 does not resume
            self.assertEqual(calls[rank, "MPI_Allreduce"], 1)
            self.assertEqual(calls[rank, "MPI_Pcontrol"], 2 if paused else 3)
            self.assertEqual((rank, "MPI_Finalize") not in calls, paused)
        levels = [l for l in self.shown() if "MPI_Pcontrol(" in l]
        self.assertEqual(sum("level=2" in l for l in levels), 3)
        if "clocks" not in self.foot():
            self.assertIn("3 ranks compared", self.foot()) # paused or not


class OtherTool(Base):
    """Another library that wraps MPI by its profiling interface sees what it saw without Kymo."""

    def said(self, ended):
        self.assertEqual(ended.code, 0, ended.err)
        return sorted(l for l in ended.err.splitlines() if l.startswith("other tool: "))

    def test_preloaded(self):
        library = str(self.program("other_tool"))
        program = [self.program("traffic")]
        plain = self.said(self.run_any([LAUNCHER, "-n", 2, *program], LD_PRELOAD=library))
        self.assertEqual(len(plain), 2)
        kymo = [KYMO, "run", "--no-summary", "-o", self.trace]
        self.assertEqual(self.said(self.run_any([*kymo, LAUNCHER, "-n", 2, *program],
                                                LD_PRELOAD=library)), plain)
        calls = self.calls()
        for op, word in (("MPI_Send", 5), ("MPI_Allreduce", 7)):
            seen = sum(int(l.split()[word]) for l in plain)
            self.assertGreater(seen, 0)
            self.assertEqual(calls[op], seen)


    def test_both_names(self):
        """One that has MPI_X and PMPI_X and passes both on: recorded behind it; before it left alone, and said."""
        library, program = str(self.program("translator")), self.program("ending")
        for inside in (False, True):
            kymotest.remove(self.trace, missing_ok=True)
            kymo = [KYMO, "run", "--no-summary", "-o", self.trace]
            preload = f"LD_PRELOAD=$LD_PRELOAD:{library} exec {program}"
            command = [LAUNCHER, "-n", 2, *(["sh", "-c", preload] if inside else [program])]
            p = self.run_any([*kymo, *command], **({} if inside else {"LD_PRELOAD": library}))
            said = [l for l in p.err.splitlines() if l.startswith("translator: ")]
            self.assertEqual((p.code, said), (0, ["translator: 4"] * 2), p.err)
            if inside:
                self.assertIn("two MPI libraries", self.foot())
            else:
                self.assertEqual(self.calls(), {"MPI_Init": 2, "MPI_Comm_rank": 2, "MPI_Allreduce": 2,
                                                "MPI_Barrier": 2, "MPI_Finalize": 2,
                                                **{k: v for k, v in self.calls().items() if "ized" in k}})


class BadInput(Base):
    def test_asked_at_once(self):
        """The launcher may have killed `kymo run`, and the drain is still at work: who asks then is told so, or has all."""
        for style in (True, False):
            kymotest.remove(self.trace, missing_ok=True)
            kymo = [KYMO, "run", "--no-summary", "-o", self.trace]
            launch = [LAUNCHER, "-n", 2]
            job = [self.program("ending"), "abort"]
            self.run_any([*launch, *kymo, *job] if style else [*kymo, *launch, *job])
            p = self.run_any([KYMO, "query", "--format", "json", self.trace,
                              "SELECT count(*) AS n FROM regions WHERE name = 'MPI_Init'"])
            self.assertEqual(p.code, 0, p.err)
            if json.loads(p.out)[0]["n"] != 2:
                self.assertRegex(p.err, "still (recording|being written)")
            self.whole()
            self.assertEqual(self.calls()["MPI_Init"], 2)

    def test_abort(self):
        plain = self.run_any([LAUNCHER, "-n", 2, self.program("ending"), "abort"])
        p = self.recorded(2, "ending", "abort")
        self.assertEqual(p.code, plain.code)
        self.assertTrue(any("MPI_Abort(...) was open" in l for l in self.shown()))
        calls = self.calls()
        self.assertEqual(calls["MPI_Init"], 2)
        self.assertIn(calls["MPI_Allreduce"], (1, 2)) # the other may be killed before it is through

    def check_killed(self):
        """The launcher may kill the other rank while it still adds up; what was done by then is there."""
        calls = self.calls()
        self.assertEqual(calls["MPI_Init"], 2)
        self.assertIn(calls["MPI_Allreduce"], (1, 2))

    def test_killed_rank(self):
        self.assertNotEqual(self.recorded(2, "ending", "kill").code, 0)
        self.check_killed()
        self.assertIn("killed by signal 9", self.foot())

    def test_killed_rank_among_launchers(self):
        """The launcher of ranks may kill `kymo run` as well: the drains outlive it, for a moment."""
        self.recorded(2, "ending", "kill", inside=True)
        self.check_killed()

    def test_no_finalize(self):
        self.recorded(2, "ending", "leave")
        self.assertEqual(self.calls()["MPI_Init"], 2)

    def test_longjmp_out_of_a_call(self):
        p = self.recorded(2, "ending", "longjmp")
        self.assertEqual((p.code, sorted(p.out.split("\n"))), (0, ["", "back 0", "back 1"]), p.err)
        calls = self.calls()
        self.assertEqual((calls["MPI_Send"], calls["MPI_Barrier"], calls["MPI_Finalize"]), (2, 4, 2))

    def test_error(self):
        p = self.recorded(2, "ending", "error")
        self.assertEqual(p.out, "status 1\nstatus 1\n", p.err)
        errors = self.summary("op")["errors"]
        self.assertEqual([(e["op"], e["status"], e["calls"]) for e in errors],
                         [("MPI_Send", "MPI_ERR_RANK", 2)])
        self.assertFalse(any("comm:send" in l for l in self.shown()))

    def test_different_programs(self):
        p = self.run_any([KYMO, "run", "--no-summary", "-o", self.trace, LAUNCHER, "-n", 1,
                          self.program("ending"), ":", "-n", 1, self.program("other")])
        self.assertEqual(p.code, 0, p.err)
        self.assertEqual(self.calls()["MPI_Finalize"], 2)

    def test_unknown_mpi(self):
        p = self.run_any([KYMO, "run", "--no-summary", "-o", self.trace, PROGRAMS / "unknown"])
        self.assertEqual((p.code, p.out), (0, "42\n"), p.err)
        self.assertIn("is no MPI that a module of Kymo supports", self.foot())

    def test_two_mpis(self):
        p = self.run_any([KYMO, "run", "--no-summary", "-o", self.trace, self.program("two"),
                          PROGRAMS / "libunknown_mpi.so"])
        self.assertEqual((p.code, p.out), (0, "1\n"), p.err)
        self.assertIn("two MPI libraries", self.foot())

    def test_no_mpi(self):
        p = self.run_any([KYMO, "run", "--no-summary", "-o", self.trace, PROGRAMS / "optional"])
        self.assertEqual((p.code, p.out), (0, "no MPI\n"), p.err)


if __name__ == "__main__":
    main()
