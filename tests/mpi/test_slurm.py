#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs that Slurm starts: its real daemons, for one node, with a configuration, key and ports of their
own, in a temporary folder. Everything listens on 127.0.0.1 only, and ends with the test.

test_slurm.py KYMO IMPLEMENTATION FOLDER [TEST...]
"""

import ctypes
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

from jobs import IMPLEMENTATION, KYMO, Base, main

DAEMONS = ("munged", "slurmctld", "slurmd")
# What carries ranks from Slurm into each implementation, as Debian builds them.
PLUGIN = {"openmpi": "pmix", "mpich": "pmi2"}[IMPLEMENTATION]
PR_SET_PDEATHSIG = 1

CONFIGURATION = """ClusterName=kymo
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
KillOnBadExit=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=5 State=UP
"""


def free_ports(n):
    listening = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in listening]
    for s in listening:
        s.close()
    return ports


class Cluster:
    """One node. Daemons that are not stopped, because the test was killed, end with it."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="kymo-slurm-"))
        self.host = socket.gethostname().split(".")[0]
        self.running = []
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        (self.folder / "cgroup.conf").touch()
        self.configuration = self.folder / "slurm.conf"
        self.configuration.write_text(CONFIGURATION.format(
            host=self.host, user=getpass.getuser(), ports=free_ports(2), folder=self.folder))
        (self.folder / "key").write_bytes(secrets.token_bytes(128))
        (self.folder / "key").chmod(0o600)

    def spawn(self, *argv):
        libc = ctypes.CDLL(None)
        log = open(self.folder / (argv[0] + ".log"), "w", encoding="utf-8")
        self.running.append(subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment(),
            preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)))

    def environment(self):
        return dict(os.environ, SLURM_CONF=str(self.configuration))

    def start(self):
        """Whether the node came up within half a minute."""
        f = self.folder
        self.spawn("munged", "--foreground", "--force", f"--key-file={f}/key", f"--socket={f}/munge.socket",
                   f"--pid-file={f}/munged.pid", f"--log-file={f}/munge.log", f"--seed-file={f}/seed",
                   "--num-threads=1")
        self.wait(lambda: (f / "munge.socket").exists())
        self.spawn("slurmctld", "-D", "-c")
        self.spawn("slurmd", "-D")
        return self.wait(lambda: self.ask("sinfo", "-h", "-o", "%T") == "idle")

    def ask(self, *argv):
        return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False,
                              env=self.environment()).stdout.strip()

    def wait(self, condition):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and all(p.poll() is None for p in self.running):
            if condition():
                return True
            time.sleep(0.1)
        return False

    def stop(self):
        self.ask("scancel", "--user", getpass.getuser())
        self.wait(lambda: not self.ask("squeue", "--noheader"))
        for p in reversed(self.running):
            p.terminate()
            try:
                p.wait(timeout=10)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        kymotest.remove(self.folder, missing_ok=True)

    def logs(self):
        return "\n".join(f"{f.name}: {f.read_text(errors='replace')[-1000:]}" for f in self.folder.glob("*.log"))


CLUSTER = None


class Slurm(Base):
    RANKS = 4

    def srun(self, *command, plugin="none", **more):
        return ["srun", "--quiet", f"--mpi={plugin}", "-n", self.RANKS, *command]

    def needs(self, plugin):
        if plugin not in CLUSTER.ask("srun", "--mpi=list").split():
            self.skipTest(f"this Slurm has no plugin {plugin}")

    def recorded_by(self, inside, command, plugin="none", options=()):
        kymo = [KYMO, "run", "--no-summary", "-o", self.trace, *options]
        argv = self.srun(*kymo, *command, plugin=plugin) if inside else [*kymo, *self.srun(*command, plugin=plugin)]
        return self.run_any(argv, SLURM_CONF=str(CLUSTER.configuration))

    def check_mpi(self, inside):
        """Ranks, messages and bytes are those that the program counts itself."""
        self.needs(PLUGIN)
        command = [self.program("traffic")]
        plain = self.run_any(self.srun(*command, plugin=PLUGIN), SLURM_CONF=str(CLUSTER.configuration))
        self.assertEqual(plain.code, 0, plain.err)
        self.assertEqual(len({l.split()[0] for l in plain.out.splitlines()}), self.RANKS, plain.out)
        p = self.recorded_by(inside, command, PLUGIN)
        self.assertEqual((p.code, sorted(p.out.splitlines())), (0, sorted(plain.out.splitlines())), p.err)
        want = {}
        for line in p.out.splitlines():
            rank, op, peer, messages, sent, received = line.split()
            want[rank, op, "all" if peer == "-1" else peer] = (int(messages), int(sent), int(received))
        got = {(r["rank"], r["op"], r["peer"]): (r["calls"], r["sent"], r["received"])
               for r in self.summary("rank,peer,op")["messages"]}
        self.assertEqual(got, want)
        self.assertIn("4 ranks compared: they read one clock", self.foot())

    def test_mpi_around_srun(self):
        self.check_mpi(False)

    def test_mpi_in_each_task(self):
        self.check_mpi(True)
        self.assertEqual([f.name for f in self.folder.glob("*.kymo")], ["t.kymo"])

    def check_without_mpi(self, inside):
        """Programs that never call MPI have the ranks that Slurm gave them."""
        p = self.recorded_by(inside, ["sh", "-c", "exit 0"], options=["--threads"])
        self.assertEqual(p.code, 0, p.err)
        ranks = self.rows("SELECT DISTINCT rank FROM process WHERE rank IS NOT NULL ORDER BY 1")
        self.assertEqual(ranks, [(r,) for r in range(self.RANKS)])

    def test_without_mpi_around_srun(self):
        self.check_without_mpi(False)

    def test_without_mpi_in_each_task(self):
        self.check_without_mpi(True)

    def test_one_speaks(self):
        self.needs(PLUGIN)
        p = self.run_any(self.srun(KYMO, "run", "-o", self.trace, self.program("ending"), plugin=PLUGIN),
                         SLURM_CONF=str(CLUSTER.configuration))
        self.assertEqual(p.code, 0, p.err)
        self.assertEqual((p.out + p.err).count("trace in "), 1, p.err)
        self.assertIn("MPI_Allreduce", p.out + p.err)

    def test_killed_task(self):
        """A task that dies takes none of the others' records with it, nor does Slurm, which ends them."""
        self.needs(PLUGIN)
        p = self.recorded_by(False, [self.program("ending"), "kill"], PLUGIN)
        self.assertNotEqual(p.code, 0)
        self.assertEqual(self.calls()["MPI_Init"], self.RANKS)

    def test_status(self):
        for inside in (False, True):
            self.assertEqual(self.recorded_by(inside, ["sh", "-c", "exit 5"], options=["-f"]).code, 5)


if __name__ == "__main__":
    missing = [d for d in (*DAEMONS, "srun") if not shutil.which(d, path=os.environ["PATH"] + ":/usr/sbin")]
    if missing:
        print(f"skipped: {', '.join(missing)} not here (packages slurmctld, slurmd, slurm-client, munge)")
        sys.exit(77)
    os.environ["PATH"] += ":/usr/sbin"
    CLUSTER = Cluster()
    try:
        if not CLUSTER.start():
            print(f"skipped: Slurm does not come up here\n{CLUSTER.logs()}")
            sys.exit(77)
        main()
    finally:
        CLUSTER.stop()
