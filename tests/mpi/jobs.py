# SPDX-License-Identifier: Apache-2.0
"""What tests of MPI jobs share: the command line (KYMO IMPLEMENTATION FOLDER [TEST...], FOLDER holds
the programs, NAME.IMPLEMENTATION), how jobs are started, and questions to their traces."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

KYMO, IMPLEMENTATION, PROGRAMS = os.path.abspath(sys.argv[1]), sys.argv[2], Path(sys.argv[3]).resolve()
LAUNCHER = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.hydra"}[IMPLEMENTATION]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl_base_warn_component_unused="0",
                   HWLOC_COMPONENTS="-opencl,-gl,-pci")  # of which MPICH starts every device, in each rank


class Ended:
    def __init__(self, argv, code, out, err):
        self.argv, self.code, self.out, self.err = argv, code, out, err


class Base(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="kymo-mpi-"))
        self.addCleanup(kymotest.remove, self.folder, missing_ok=True)
        self.trace = self.folder / "t.kymo"

    def run_any(self, argv, **more):
        argv = [str(a) for a in argv]
        p = subprocess.Popen(argv, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             stdin=subprocess.DEVNULL, text=True, start_new_session=True,
                             env=dict(ENVIRONMENT, **more))
        try:
            out, err = p.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
            self.fail(f"{' '.join(argv)} hangs: {out[-500:]} {err[-500:]}")
        return Ended(argv, p.returncode, out, err)

    def program(self, name):
        return PROGRAMS / f"{name}.{IMPLEMENTATION}"

    def recorded(self, ranks, name, *args, options=(), inside=False, **more):
        """One `kymo run` around the launcher, or one in each rank."""
        kymo = [KYMO, "run", "--no-summary", "-o", self.trace, *options]
        launch = [LAUNCHER, "-n", ranks]
        command = [self.program(name), *args]
        p = self.run_any([*launch, *kymo, *command] if inside else [*kymo, *launch, *command], **more)
        if p.code:
            self.whole()
        return p

    def whole(self):
        """Waits for processes that outlive `kymo run`: ranks that the launcher has killed are gone some time later."""
        deadline = time.monotonic() + 60
        while self.trace.exists() and "still recording" in self.run_any([KYMO, "info", self.trace]).out:
            self.assertLess(time.monotonic(), deadline, "the trace does not end")
            time.sleep(0.05)

    def summary(self, by, status=0, trace=None):
        p = self.run_any([KYMO, "summary", "--by", by, "--format", "json", trace or self.trace])
        self.assertEqual(p.code, status, p.err)
        return {t["name"]: t["rows"] for t in json.loads(p.out)["tables"]}

    def shown(self):
        p = self.run_any([KYMO, "show", self.trace])
        self.assertEqual(p.code, 0, p.err)
        return p.out.splitlines()

    def foot(self):
        return self.run_any([KYMO, "summary", self.trace]).out

    def calls(self):
        return {r["op"]: r["calls"] for r in self.summary("op").get("mpi", [])}

    def query(self, sql):
        p = self.run_any([KYMO, "query", "--format", "json", self.trace, sql])
        self.assertEqual(p.code, 0, p.err)
        return json.loads(p.out)

    def rows(self, sql):
        answer = self.query(sql)
        return [tuple(r.values()) if isinstance(r, dict) else tuple(r)
                for r in (answer["rows"] if isinstance(answer, dict) else answer)]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def main():
    if not shutil.which(LAUNCHER):
        skip(f"{LAUNCHER} is not installed")
    job = subprocess.run([LAUNCHER, "-n", "2", PROGRAMS / f"ending.{IMPLEMENTATION}", "size"],
                         env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    if job.stdout.split() == ["size", "1"] * 2:  # as in Ubuntu 24.04's MPICH 4.2
        skip(f"{LAUNCHER} and the library do not fit: each rank is a job of its own")
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
