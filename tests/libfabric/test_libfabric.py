#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libfabric's calls and messages: test_libfabric.py KYMO PROGRAM WHAT

counted   a program of two endpoints counts what it sends, by each provider that is here, and so does the trace
pingpong  fi_pingpong, server and client
openmpi   Open MPI over libfabric
unasked   nothing is preloaded where libfabric is not named
looked    a program that asks what there is and opens nothing: the reason why nothing was recorded
"""
import csv
import os
import re
import shutil
import socket

import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import run  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])
WHAT = sys.argv[3]
del sys.argv[1:]

BY_ENDPOINT = """SELECT c.name, o.name, m.state, count(*), sum(m.sent), sum(m.received), min(m.peer), max(m.peer)
                 FROM comm m JOIN communicator c ON c.id = m.communicator JOIN op o ON o.id = m.op
                 GROUP BY 1, 2, 3"""


class Libfabric(unittest.TestCase):
    def setUp(self):
        scratch = kymotest.Folder()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        for variable in [v for v in os.environ if v.startswith("KYMO_")]:
            del os.environ[variable]

    def query(self, sql, trace="t.kymo"):
        p = run(KYMO, "query", "--format", "csv", os.path.join(self.folder, trace), sql)
        self.assertEqual(p.returncode, 0, p.stderr)
        return list(csv.reader(p.stdout.splitlines()))[1:]

    def record(self, *words, backends="libfabric", options=(), status=(0,), **more):
        p = run(KYMO, "run", "--no-summary", "-f", "-o", os.path.join(self.folder, "t.kymo"), "-b", backends, *options, "--",
                *words, cwd=self.folder, **more)
        self.assertIn(p.returncode, status, p.stderr)
        self.assertNotIn("lost", p.stderr)
        return p

    @unittest.skipUnless(WHAT == "counted", "another test")
    def test_counted(self):
        tried = 0
        for provider in ("tcp;ofi_rxm", "tcp", "udp;ofi_rxd", "sockets", "shm"):
            for form in ("context", "tagged"):
                with self.subTest(provider=provider, form=form):
                    p = self.record(PROGRAM, provider, form, 40, status=(0, 77))
                    if p.returncode == 77:
                        continue
                    tried += 1
                    self.compare(p.stdout)
                    alone = run(PROGRAM, provider, form, 40)
                    self.assertEqual(alone.stdout, p.stdout)
        self.assertGreater(tried, 0, "no provider is here")

    def compare(self, said):
        """What the program says of its endpoints, against the trace."""
        found = {}
        for name, op, state, *numbers in self.query(BY_ENDPOINT):
            number = int(re.search(r"endpoint (\d+)$", name).group(1)) - 1
            found[number, op, int(state)] = numbers
        wanted = {}
        for line in said.splitlines():
            words = line.split()
            n = int(words[0])
            for i, (what, op, column) in enumerate((("sent", "send", 1), ("received", "receive", 2), ("put", "put", 1),
                                                    ("got", "get", 2))):
                self.assertEqual(words[1 + 3 * i], what)
                count, size = words[2 + 3 * i:4 + 3 * i]
                if int(count):
                    wanted[n, op, 0] = (count, column, size)
            if int(words[14]):
                wanted[n, "receive", 1] = (words[14], 2, "0")
        wanted[1, "receive", 2] = ("1", 2, "0")  # the endpoint was closed with it
        self.assertEqual(set(found), set(wanted), found)
        for key, (count, column, size) in wanted.items():
            self.assertEqual((found[key][0], found[key][column]), (count, size), key)
            self.assertEqual(found[key][3 - column], "0", key)
            if key[1] != "receive":
                self.assertEqual(found[key][3:], ["1", "1"], key)
        calls = dict(self.query("SELECT name, count(*) FROM regions WHERE category = 'libfabric' GROUP BY 1"))
        self.assertEqual((calls["fi_endpoint"], calls["fi_cq_open"], calls["fi_domain"], calls["fi_fabric"]), ("2", "2", "1", "1"))
        # endpoints, queues, domain, fabric; not the region and the tables of addresses
        self.assertEqual(calls["fi_close"], "6")
        self.assertEqual(self.query("SELECT count(*) FROM comm WHERE start IS NULL OR duration < 0"), [["0"]])

    @unittest.skipUnless(WHAT == "counted", "another test")
    def test_modes(self):
        """Messages are recorded where calls are not, polls where all calls are."""
        self.record(PROGRAM, "tcp;ofi_rxm", "context", 10, options=("--mode", "full"), status=(0, 77))
        if not self.query("SELECT name FROM process"):
            self.skipTest("tcp;ofi_rxm is not here")
        calls = dict(self.query("SELECT name, count(*) FROM regions WHERE category = 'libfabric' GROUP BY 1"))
        self.assertGreater(int(calls.get("fi_cq_read", 0)), 0)
        self.assertNotIn("fi_cq_readfrom", calls)  # as the provider calls itself
        seen = self.query("SELECT count(*) FROM comm m JOIN call c ON c.id = m.completed_by")
        self.assertGreater(int(seen[0][0]), 0)
        self.record(PROGRAM, "tcp;ofi_rxm", "context", 10, options=("--exclude", "^fi_(t?send|t?recv)"))
        self.assertEqual(self.query("SELECT count(*) FROM comm m JOIN op o ON o.id = m.op WHERE o.name = 'receive'"),
                         [["0"]])

    @unittest.skipUnless(WHAT == "pingpong" and shutil.which("fi_pingpong"), "another test, or no fi_pingpong")
    def test_pingpong(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        script = os.path.join(self.folder, "both.sh")
        with open(script, "w", encoding="utf-8") as f:
            # The client asks until the server listens.
            f.write(f"""fi_pingpong -p tcp -e msg -B {port} -I 25 -S 1000 & server=$!
for i in $(seq 300); do
    fi_pingpong -p tcp -e msg -P {port} -I 25 -S 1000 127.0.0.1 && break
    kill -0 $server || break
    sleep 0.2
done
wait $server""")
        self.record("sh", script)
        rows = self.query("SELECT m.process, o.name, count(*), sum(m.sent) + sum(m.received) FROM comm m JOIN op o ON o.id = m.op"
                          " WHERE m.state = 0 AND m.sent + m.received = 1000 GROUP BY 1, 2")
        self.assertEqual(sorted((op, count, size) for _, op, count, size in rows),
                         [("receive", "25", "25000")] * 2 + [("send", "25", "25000")] * 2, rows)

    @unittest.skipUnless(WHAT == "openmpi" and shutil.which("mpirun.openmpi") and shutil.which("mpicc.openmpi"),
                         "another test, or no Open MPI")
    def test_openmpi(self):
        with open(os.path.join(self.folder, "p.c"), "w", encoding="utf-8") as f:
            f.write(OPENMPI)
        p = run("mpicc.openmpi", "-o", "p", "p.c", cwd=self.folder)
        self.assertEqual(p.returncode, 0, p.stderr)
        environment = {**os.environ, "FI_PROVIDER": "tcp", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        job = ["mpirun.openmpi", "--oversubscribe", "-n", "2", "--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca",
               "mtl_ofi_provider_include", "tcp"]
        if run(*job, "./p", cwd=self.folder, env=environment).returncode != 0:
            self.skipTest("this Open MPI does not run over libfabric")
        p = run(*job, KYMO, "run", "--no-summary", "-b", "mpi,libfabric", "-o", "t.kymo", "./p", cwd=self.folder,
                env=environment)
        self.assertEqual(p.returncode, 0, p.stderr)
        rows = self.query("SELECT CASE WHEN c.name LIKE 'libfabric %' THEN 'libfabric' ELSE 'mpi' END, o.name, m.peer, count(*),"
                          " sum(m.sent), sum(m.received) FROM comm m JOIN op o ON o.id = m.op LEFT JOIN communicator c"
                          " ON c.id = m.communicator WHERE o.name IN ('send', 'receive') GROUP BY 1, 2, 3")
        by = {"libfabric": [], "mpi": []}
        for which, *rest in rows:
            by[which].append(rest)
        self.assertEqual(by["libfabric"], by["mpi"])
        self.assertEqual(by["mpi"], [["receive", "0", "30", "0", str(sum(range(1000, 1030)))],
                                     ["receive", "1", "30", "0", "60000"],
                                     ["send", "0", "30", "60000", "0"],
                                     ["send", "1", "30", str(sum(range(1000, 1030))), "0"]])

    @unittest.skipUnless(WHAT == "unasked", "another test")
    def test_unasked(self):
        for options in ([], ["-b", "all"], ["-b", "mpi"]):
            p = run(KYMO, "run", "--dry-run", "-o", os.path.join(self.folder, "t.kymo"), *options, "true")
            self.assertNotIn("libfabric.so", p.stdout)
        p = run(KYMO, "run", "--dry-run", "-o", os.path.join(self.folder, "t.kymo"), "-b", "mpi,libfabric", "true")
        self.assertIn("/libkymo-libfabric.so", p.stdout)

    @unittest.skipUnless(WHAT == "looked", "another test")
    def test_looked(self):
        p = self.record(PROGRAM, "no such provider", "context", 1, status=(77,))
        self.assertRegex(p.stderr, "nothing was recorded: libfabric was loaded, and nothing was opened")
        p = self.record(PROGRAM, "no such provider", "context", 1, backends="mpi", status=(77,))
        self.assertNotIn("libfabric was loaded", p.stderr)
        p = self.record("true", status=(0,))
        self.assertNotIn("libfabric was loaded", p.stderr)


OPENMPI = """#include <mpi.h>
int main(int argc, char **argv)
{
	static char b[100000];
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 30; i++)
		if (rank == 0) {
			MPI_Send(b, 1000 + i, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
			MPI_Recv(b, sizeof(b), MPI_CHAR, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(b, sizeof(b), MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(b, 2000, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
		}
	MPI_Finalize();
	return 0;
}
"""

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
