#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks of jobs without MPI: test_ranks.py KYMO WHAT. A launcher is the variables that it sets; what starts
the ranks here is a shell."""
import json
import os
import shlex
import subprocess
import sys
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "annotation"))
import base  # noqa: E402
from base import check, kymotest, must  # noqa: E402
from kymotest import WAIT, expect  # noqa: E402

# Of whatever started this test.
FOREIGN = ("SLURM_", "PMI", "OMPI_", "RANK", "WORLD_SIZE", "MASTER_", "TORCHELASTIC_", "KYMO_", "JAX_", "FLUX_", "PALS_")
CLEAN = {n: v for n, v in os.environ.items() if not n.startswith(FOREIGN)}


def torchrun(rank, size, restart=0, local=None, port=29500, run_id="none", **more):
    local = local or size
    return dict(RANK=rank, WORLD_SIZE=size, LOCAL_RANK=rank % local, LOCAL_WORLD_SIZE=local,
                GROUP_RANK=rank // local, MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                TORCHELASTIC_RUN_ID=run_id, TORCHELASTIC_RESTART_COUNT=restart, **more)


def slurm(rank, size, job=77, step=0, **more):
    return dict(SLURM_PROCID=rank, SLURM_NTASKS=size, SLURM_JOB_ID=job, SLURM_STEP_ID=step,
                SLURM_STEP_NUM_TASKS=size, **more)


def words(variables, *argv):
    """A command of a shell."""
    return " ".join(["exec env", *(shlex.quote(f"{n}={v}") for n, v in variables.items()),
                     *(shlex.quote(str(a)) for a in argv)])


def together(*commands):
    """Started by one shell at the same time; its status is the number of those that failed."""
    return ["sh", "-c", "n=0; pids=; " + " ".join(f"({c}) & pids=\"$pids $!\";" for c in commands) +
            " for p in $pids; do wait $p || n=$((n + 1)); done; exit $n"]


class Test(base.Test):
    def rank(self):
        return self.compile("rank", "-std=gnu11", f"-I{self.source}/include", os.path.join(HERE, "rank.c"))

    def nccl_rank(self):
        library = self.compile("libnccl.so.2", "-shared", "-fPIC", "-Wl,-soname,libnccl.so.2", os.path.join(HERE, "nccl.c"))
        return self.compile("nccl_rank", "-std=gnu11", "-DNCCL", f"-I{self.source}/include",
                            os.path.join(HERE, "rank.c"), library, f"-Wl,-rpath,{self.folder}")

    def run(self, argv, status=0, env=None):
        p = subprocess.run([str(a) for a in argv], cwd=self.folder, env=dict(CLEAN, **(env or {})), text=True,
                           capture_output=True, timeout=WAIT * 2, check=False)
        check("status", (p.returncode, p.stderr if p.returncode != status else ""), (status, ""))
        self.stderr = p.stderr
        return p

    def around(self, argv, *options, status=0):
        """One `kymo run` around all."""
        kymotest.remove(self.trace, missing_ok=True)
        return self.run([self.kymo, "run", "-o", self.trace, *options, "--", *argv], status)

    def in_each(self, commands, *options, status=0):
        """One in each rank."""
        kymo = " ".join(shlex.quote(w) for w in [self.kymo, "run", *options, "--"])
        return self.run(together(*(c.replace(" @ ", f" {kymo} ") for c in commands)), status)

    def traces(self):
        return sorted(n for n in os.listdir(self.folder) if n.endswith(".kymo"))

    def processes(self):
        """How many there are of each (world, rank, size, source, belongs to)."""
        return Counter((r["world"], r["rank"], r["ranks"], r["rank_by"], r["of_rank"]) for r in self.query(
            "SELECT world, rank, ranks, rank_by, of_rank FROM process WHERE NOT telemetry"))

    def ranks(self, size, by, world=0, workers=0):
        """What processes() says of a job all of whose ranks are there."""
        return Counter({**{(world, r, size, by, None): 1 for r in range(size)},
                        **({(world, None, 0, "", r): workers for r in range(size)} if workers else {})})

    def rows_by_rank(self, op):
        p = self.run([self.kymo, "summary", "--by", "rank,op", "--top", "0", "--format", "json", self.trace])
        return {r["rank"]: r["calls"] for t in json.loads(p.stdout)["tables"] for r in t["rows"]
                if t["name"] == "ranges" and r["op"] == op}

    def test_torchrun(self):
        """Ranks, and workers that they have started: in SQL, tables, info, Perfetto."""
        rank, n = self.rank(), 3
        p = self.around(together(*(words(torchrun(r, n), rank, "open", "step", "fork", 2, "close") for r in range(n))))
        check("processes", self.processes(), self.ranks(n, "torchrun", workers=2))
        check("summary says", "3 ranks by torchrun, 9 processes" in p.stderr, True)
        check("load", "Load of 3 ranks" in self.run([self.kymo, "summary", "--by", "rank", self.trace]).stdout, True)
        check("steps by rank", self.rows_by_rank("step"), {str(r): 1 for r in range(n)})
        check("workers by rank", self.rows_by_rank("worker"), {f"of {r}": 2 for r in range(n)})
        info = self.run([self.kymo, "info", self.trace]).stdout
        check("info", [info.count(f"rank {r} of 3, by torchrun\n") for r in range(n)], [1] * n)
        check("info of workers", [info.count(f"of rank {r}: started by it, or around it\n") for r in range(n)], [2] * n)
        out = self.path("t.pftrace")
        must(self.kymo, "export", "--to", "perfetto", "-o", out, self.trace)
        with open(out, "rb") as f:
            data = f.read()
        check("Perfetto", [data.count(b"rank rank %d" % r) > 0 for r in range(n)], [True] * n)
        must(self.kymo, "export", "--to", "store", "-o", self.path("t.db"), self.trace)
        self.trace = self.path("t.db")
        check("steps by rank of a store", self.rows_by_rank("step"), {str(r): 1 for r in range(n)})
        check("workers by rank of a store", self.rows_by_rank("worker"), {f"of {r}": 2 for r in range(n)})

    def test_inside(self):
        """`kymo run` in each rank: one trace, one of them prints; the next job has its own, wherever they meet."""
        rank, n = self.rank(), 3
        several = [words(torchrun(r, n), "@", rank, "open", "step", "fork", 1, "close") for r in range(n)]
        nodes = [words(torchrun(r, n, local=1, run_id="100"), "@", rank, "open", "step", "close") for r in range(n)]
        bare = [words(dict(RANK=r, WORLD_SIZE=n, MASTER_ADDR="localhost", MASTER_PORT=1), "@", rank,
                      "open", "step", "close") for r in range(n)]
        jax = [words(dict(JAX_PROCESS_ID=r, JAX_NUM_PROCESSES=n, JAX_COORDINATOR_ADDRESS="localhost:1"), "@", rank,
                     "open", "step", "close") for r in range(n)]
        task = [words(slurm(r, n), "@", rank, "open", "step", "close") for r in range(n)]
        for commands, by, workers, times in ((several, "torchrun", 1, 2), (nodes, "torchrun", 0, 2), (bare, "PyTorch", 0, 2),
                                             (jax, "JAX", 0, 2), (task, "Slurm", 0, 1)):
            for _ in range(times):
                before = self.traces()
                p = self.in_each(commands)
                new = [t for t in self.traces() if t not in before]
                check(f"{by}: one trace", len(new), 1)
                self.trace = self.path(new[0])
                check(f"{by}: processes", self.processes(), self.ranks(n, by, workers=workers))
                check(f"{by}: one prints", (p.stdout + p.stderr).count("trace in "), 1)
                check(f"{by}: of all ranks", f"{n} ranks by {by}, " in p.stderr, True)

    def test_next_job(self):
        """The next job meets where the last one has met, within minutes: none of its ranks joins that one's trace."""
        rank = self.rank()

        def job(n):
            return [words(dict(RANK=r, WORLD_SIZE=n, MASTER_ADDR="localhost", MASTER_PORT=29500), "@", rank,
                          "open", "step", "touch", self.path(f"go{r}"), *(["wait", self.path("go0")] if r else []), "close")
                    for r in range(n)]

        def clean():
            for name in [n for n in os.listdir(self.folder) if n.startswith("go")]:
                os.unlink(self.path(name))

        def in_its_own(what, first, second):
            """The ranks of `second` that the first trace lacks are started first: they are those that would join it."""
            before = self.traces()
            self.in_each(first)
            old = [t for t in self.traces() if t not in before]
            check(f"{what}: the first job", len(old), 1)
            self.trace = self.path(*old)
            was = self.processes()
            clean()
            late = second[0].replace("exec env ", f"while [ ! -e {self.path('go1')} ]; do sleep 0.01; done; exec env ", 1)
            self.in_each([late] + second[1:])
            clean()
            check(f"{what}: the first job's trace", self.processes(), was)
            new = [t for t in self.traces() if t not in before + old]
            check(f"{what}: the next job", len(new), 1)
            self.trace = self.path(*new)

        in_its_own("more ranks", job(2), job(4))
        check("more ranks", self.processes(), self.ranks(4, "PyTorch"))
        in_its_own("some ranks recorded", [job(2)[0], job(2)[1].replace(" @ ", " ")], job(2))
        check("some ranks recorded", self.processes(), self.ranks(2, "PyTorch"))
        self.trace = self.path("placed.kymo")
        for n in (2, 4):
            self.in_each(job(n), "-o", self.trace, "--force")
            clean()
            check("--force", self.processes(), self.ranks(n, "PyTorch"))

    def test_same_address(self):
        """Two jobs at once that say the same of where they meet, as in two containers, and differ in their size."""
        rank = self.rank()

        def job(n, name, *does):
            go = [self.path(f"{name}{r}") for r in range(n)]
            return [words(dict(RANK=r, WORLD_SIZE=n, MASTER_ADDR="localhost", MASTER_PORT=29500), "@", rank, "open", "step",
                          "touch", go[r], *(w for g in go for w in ("wait", g)), *does, "close") for r in range(n)]

        first = job(2, "a", "wait", self.path("end"))
        second = [f"while [ ! -e {self.path('a0')} ] || [ ! -e {self.path('a1')} ]; do sleep 0.01; done; {c}"
                  for c in job(4, "b", "touch", self.path("end"))]
        self.in_each(first + second)
        check("traces", len(self.traces()), 2)
        found = []
        for t in self.traces():
            self.trace = self.path(t)
            found.append(self.processes())
        check("ranks", sorted(found, key=len), [self.ranks(2, "PyTorch"), self.ranks(4, "PyTorch")])

    def test_large_manifest(self):
        """Whatever lies where the job's trace would be: no more of it is read than a manifest can have."""
        rank = self.rank()
        for name in ("theirs", "rank"):
            folder = self.path(f"{name}-big.kymo")
            os.makedirs(os.path.join(folder, "raw"))
            with open(os.path.join(folder, "manifest.json"), "wb") as f:
                f.truncate(3 << 29)
        before = self.traces()
        with subprocess.Popen([self.kymo, "run", "--no-summary", rank, "open", "step", "close"], cwd=self.folder,
                              env=dict(CLEAN, KYMO_JOB="big"), stderr=subprocess.DEVNULL) as p:
            _, status, usage = os.wait4(p.pid, 0)
            p.returncode = os.waitstatus_to_exitcode(status)
        check("status", p.returncode, 0)
        check("memory", usage.ru_maxrss < 700 << 10, True)
        check("a trace of its own", [t for t in self.traces() if t not in before], ["rank-big-2.kymo"])

    def test_restart(self):
        """Ranks that are started again are a world of their own, in the same trace."""
        rank = self.rank()
        first = [words(torchrun(r, 2), rank, "open", "step", "close", "exit", r) for r in range(2)]
        again = [words(torchrun(r, 2, restart=1), rank, "open", "step", "close") for r in range(2)]
        both = ["sh", "-c", " ; ".join(shlex.join(together(*c)) for c in (first, again))]
        self.around(both)
        check("around", self.processes(), self.ranks(2, "torchrun") + self.ranks(2, "torchrun", world=1))
        check("rows", self.rows_by_rank("step"), {"0.0": 1, "0.1": 1, "1.0": 1, "1.1": 1})
        before = self.traces()
        # torchrun's agent is one process: here the shell around both
        inside = [[c.replace(f" {rank} ", f" {self.kymo} run --no-summary {rank} ") for c in cs] for cs in (first, again)]
        lines = "".join("pids=; " + "".join(f"({c}) & pids=\"$pids $!\"; " for c in cs) + "wait $pids; " for cs in inside)
        self.run(["sh", "-c", lines])
        self.trace = self.path(*[t for t in self.traces() if t not in before])
        check("inside", self.processes(), self.ranks(2, "torchrun") + self.ranks(2, "torchrun", world=1))

    def test_slurm(self):
        rank, n = self.rank(), 4
        self.around(together(*(words(slurm(r, n), rank, "open", "step", "fork", 1, "close") for r in range(n))))
        check("one job", self.processes(), self.ranks(n, "Slurm", workers=1))
        self.around(together(*(words(slurm(r, 2, step=s), rank, "open", "step", "close") for r in range(2) for s in (0, 1))))
        found = self.processes()
        check("two steps at once", found, self.ranks(2, "Slurm") + self.ranks(2, "Slurm", world=1))

    def test_stale(self):
        """What variables of a batch system are left in a shell makes no rank, and no job: each run has its trace."""
        rank = self.rank()
        for left in (dict(SLURM_JOB_ID=77, SLURM_NTASKS=4), slurm(0, 1), slurm(0, 4, step=4294967291),
                     slurm(0, 4, SLURM_PTY_PORT=1), dict(RANK=0, WORLD_SIZE=1, MASTER_ADDR="a", MASTER_PORT=1),
                     dict(RANK=0, WORLD_SIZE=8), slurm(5, 4)):
            before = self.traces()
            for _ in range(2):
                self.run(["env", *(f"{n}={v}" for n, v in left.items()), self.kymo, "run", rank, "open", "a", "close"])
            new = [t for t in self.traces() if t not in before]
            check(f"{left}: traces", len(new), 2)
            for t in new:
                self.trace = self.path(t)
                check(f"{left}: processes", self.processes(), {(0, None, 0, "", None): 1})

    def test_nested(self):
        """srun starts one torchrun a node: its ranks count, not the tasks of srun; in both ways of recording."""
        rank = self.rank()

        def agents(kymo=""):
            for node in range(2):
                inner = together(*(words(torchrun(2 * node + i, 4, local=2), rank, "open", "step", "fork", 1, "close")
                                   for i in range(2)))
                # The shell is what torchrun is; the process before it has the task's rank only, as torchrun has.
                yield words(slurm(node, 2), *([self.kymo, "run", "--no-summary", "-o", self.trace] if kymo else []),
                            rank, "open", "agent", "sh", shlex.join(inner), "close")

        wanted = self.ranks(4, "torchrun", workers=1) + Counter({(0, None, 0, "", None): 2})
        self.around(together(*agents()))
        check("around", self.processes(), wanted)
        kymotest.remove(self.trace)
        self.run(together(*agents("inside")))
        check("inside", self.processes(), wanted)
        # MPI's launcher in a batch script, whose variables all ranks have
        self.around(together(*(words({**slurm(0, 8), **dict(PMIX_NAMESPACE=5, PMIX_RANK=r, OMPI_COMM_WORLD_RANK=r,
                                                            OMPI_COMM_WORLD_SIZE=2)}, rank, "open", "a", "close")
                               for r in range(2))))
        check("mpirun in a script", self.processes(), self.ranks(2, "Open MPI"))

    def test_together(self):
        """Two jobs at once: two worlds in one trace, or two traces; ranks that come late are of theirs."""
        rank = self.rank()

        def job(name, kymo=()):
            go = self.path(f"go-{name}")
            ranks = [words(torchrun(0, 2), *kymo, rank, "open", name, "touch", go, "close"),
                     # the second starts when the first of its job is at work
                     "while [ ! -e " + go + " ]; do sleep 0.01; done; " +
                     words(torchrun(1, 2), *kymo, rank, "open", name, "close")]
            return shlex.join(together(*ranks))

        self.around(together(job("a"), job("b")))
        check("around", self.processes(), self.ranks(2, "torchrun") + self.ranks(2, "torchrun", world=1))
        names = self.query("SELECT p.world, p.rank, m.name FROM scopes m JOIN process p ON p.id = m.process")
        check("ranges of a world", len({(r["world"], r["name"]) for r in names}), 2)
        for name in ("go-a", "go-b"):
            os.unlink(self.path(name))
        before = self.traces()
        kymo = [self.kymo, "run", "--no-summary"]
        self.run(together(job("a", kymo), job("b", kymo)))
        new = [t for t in self.traces() if t not in before]
        check("inside: traces", len(new), 2)
        for t in new:
            self.trace = self.path(t)
            check("inside", self.processes(), self.ranks(2, "torchrun"))

    def test_nodes(self):
        """Clocks of two nodes that nobody has compared are no time line, and that is said; the rest is right."""
        rank, n = self.rank(), 2
        node = ["unshare", "-u", "-T", "--monotonic", "100000", "sh", "-c", 'hostname other; exec "$@"', "sh"]
        if subprocess.run([*node, "true"], capture_output=True, check=False).returncode:
            base.skip("no other node can be simulated here (unshare -u -T)")
        kymo = [self.kymo, "run", "-o", self.trace]
        commands = [words(slurm(r, n), *(node if r else []), *kymo, rank, "open", "step", "touch", self.path(f"go{r}"),
                          "wait", self.path(f"go{1 - r}"), "close") for r in range(n)]
        p = self.run(together(*commands))
        said = "the clocks of 2 nodes were not compared"
        check("processes", self.processes(), self.ranks(n, "Slurm"))
        check("said by kymo run", said in p.stderr and "not known between 2 nodes" in p.stderr, True)
        p = self.run([self.kymo, "summary", "--by", "rank", "--format", "json", self.trace])
        check("said by summary", said in p.stderr, True)
        tables = {t["name"]: t["rows"] for t in json.loads(p.stdout)["tables"]}
        check("load", [r["imbalance_percent"] >= 0 for r in tables["imbalance"]], [True])
        took = next(r["duration_ns"] for rows in tables.values() for r in rows if "duration_ns" in r)
        check("the run took as long as that of a node", 0 < took < 10**13, True)
        for command in (["show"], ["info"], ["export", "--to", "perfetto", "-o", self.path("t.pftrace")]):
            p = self.run([self.kymo, *command, self.trace])
            check(f"said by {command[0]}", said in p.stderr, True)
        self.around(together(*(words(slurm(r, n), rank, "open", "step", "close") for r in range(n))))
        check("one node", "not compared" in self.stderr or "not known between" in self.stderr, False)

    def test_nccl(self):
        """A communicator that is the whole of a job has its ranks; one of a part of it has not."""
        rank = self.nccl_rank()

        def job(n, *groups, env=lambda r: {}, first=1):
            """groups: ranks of communicators, in the order in which they are made"""
            for r in range(n):
                calls = [w for i, g in enumerate(groups) if r in g for w in ("nccl", first + i, len(g), g.index(r))]
                yield words(env(r), rank, *calls, "open", "step", "fork", 1, "close")

        def found(*commands):
            self.around(together(*commands))
            return Counter({k: v for k, v in self.processes().items() if k[1] is not None})

        whole = list(range(4))
        check("the world", found(*job(4, whole)), self.ranks(4, "NCCL"))
        check("the world after its parts", found(*job(4, [0, 1], [2, 3], [0, 2], [1, 3], whole)), self.ranks(4, "NCCL"))
        check("parts only", found(*job(4, [0, 1], [2, 3], [0, 2], [1, 3])), {})
        check("its ranks in another order later", found(*job(4, whole, whole[::-1])), self.ranks(4, "NCCL"))
        check("two jobs", found(*job(2, [0, 1]), *job(3, [0, 1, 2], first=9)) in
              (self.ranks(2, "NCCL") + self.ranks(3, "NCCL", world=1),
               self.ranks(2, "NCCL", world=1) + self.ranks(3, "NCCL")), True)
        check("who agrees", found(*job(4, whole, env=lambda r: torchrun(r, 4))), self.ranks(4, "torchrun, NCCL"))
        check("who disagrees", found(*job(4, whole, env=lambda r: torchrun(3 - r, 4))), self.ranks(4, "NCCL"))
        check("a part of a launcher's", found(*job(2, [0, 1], env=lambda r: torchrun(r + 2, 4, local=4))),
              {(0, r, 4, "torchrun", None): 1 for r in (2, 3)})
        check("all in one process", found(words({}, rank, "nccl", 1, 2, 0, "nccl", 1, 2, 1, "open", "a", "close")), {})

    def test_wrapper(self):
        """A shell around the rank, and what was there before exec(), are recorded with --threads, and no ranks."""
        rank, n = self.rank(), 2
        step = f"{rank} open step fork 1 close"
        self.around(together(*(words(torchrun(r, n), "sh", "-c", f"{step}; true") for r in range(n))), "--threads")
        ranks = Counter({k: v for k, v in self.processes().items() if k[1] is not None})
        check("a shell around", ranks, self.ranks(n, "torchrun"))
        check("whose work", self.rows_by_rank("step"), {str(r): 1 for r in range(n)})
        self.around(together(*(words(torchrun(r, n), "sh", "-c", f"exec {step}") for r in range(n))), "--threads")
        check("exec", Counter({k: v for k, v in self.processes().items() if k[1] is not None}), ranks)
        self.around(together(*(words(torchrun(r, n), rank, "open", "before", "close", "exec", *step.split())
                               for r in range(n))))
        check("work before exec", self.processes(), self.ranks(n, "torchrun", workers=2))
        check("whose work", self.rows_by_rank("step"), {str(r): 1 for r in range(n)})
        # a worker behind a shell that is not recorded
        self.around(together(*(words(torchrun(r, n), rank, "open", "step", "sh", f"{rank} open worker close; true", "close")
                               for r in range(n))))
        check("behind a shell", self.processes(), self.ranks(n, "torchrun", workers=1))
        # one after the other, started by what is not recorded: both are the rank
        self.around(together(*(words(torchrun(r, n), "sh", "-c", f"{rank} open a close; {rank} open b close")
                               for r in range(n))))
        check("two programs", self.processes(), self.ranks(n, "torchrun") + self.ranks(n, "torchrun"))
        check("two programs, told", "2 ranks by torchrun, 4 processes" in self.stderr, True)

    def test_dies(self):
        """A rank that is killed early is in the trace, by its rank, and the others are whole."""
        rank = self.rank()
        p = self.around(together(*(words(torchrun(r, 3), rank, "open", "step", *(["kill"] if r == 1 else ["close"]))
                                   for r in range(3))), status=1)
        check("processes", self.processes(), self.ranks(3, "torchrun"))
        check("told", "Rank 1 (process" in p.stderr and "killed by signal 9" in p.stderr, True)
        p = self.in_each([words(torchrun(r, 3), "@", rank, "open", "step", *(["kill"] if r == 1 else ["close"]))
                          for r in range(3)], "-o", self.path("u.kymo"), status=1)
        self.trace = self.path("u.kymo")
        check("inside", self.processes(), self.ranks(3, "torchrun"))

    def test_many(self):
        rank, n = self.rank(), 64
        p = self.in_each([words(slurm(r, n), "@", rank, "open", "step", "close") for r in range(n)], "-o", self.trace)
        check("processes", self.processes(), self.ranks(n, "Slurm"))
        check("one prints", (p.stdout + p.stderr).count("trace in "), 1)
        check("steps by rank", self.rows_by_rank("step"), {str(r): 1 for r in range(n)})
        check("of all", f"{n} ranks by Slurm" in self.run([self.kymo, "summary", self.trace]).stdout, True)

    def test_some(self):
        """--rank, in both ways, and where the launcher that is recorded is a rank itself."""
        rank, n = self.rank(), 4
        wanted = Counter({(0, r, n, "torchrun", None): 1 for r in (1, 3)})
        wanted += Counter({(0, None, 0, "", r): 1 for r in (1, 3)})
        commands = [words(torchrun(r, n), rank, "open", "step", "fork", 1, "close") for r in range(n)]
        self.around(together(*commands), "--rank", "1,3")
        check("around", self.processes(), wanted)
        kymotest.remove(self.trace)
        p = self.in_each([c.replace(f" {rank} ", f" @ {rank} ") for c in commands], "-o", self.trace, "--rank", "1,3")
        check("inside", self.processes(), wanted)
        check("one prints", p.stderr.count("trace in "), 1)
        for name in ("torchrun", "mpiexec.hydra", "mpirun_rsh", "flux", "ibrun"):
            launcher = self.path(name)
            with open(launcher, "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\n" + shlex.join(together(*commands)) + "\n")
            os.chmod(launcher, 0o755)
            kymotest.remove(self.trace, missing_ok=True)
            self.in_each([words(slurm(0, 2), "@", launcher)], "-o", self.trace, "--rank", "1,3")
            check(f"nested: {name}", self.processes(), wanted)
        expect(True)

    def test_variable(self):
        """--rank-variable: ranks out of variables that no launcher knows, in both ways, and instead of a launcher's."""
        rank, n = self.rank(), 3
        wanted = Counter({(0, r, n, "variable", None): 1 for r in (0, 2)})
        options = ("--rank-variable", "MY_RANK:MY_SIZE", "--rank", "0,2")
        for more in ({}, torchrun(1, 2)):
            commands = [words({**more, "MY_RANK": r, "MY_SIZE": n}, "@", rank, "open", "step", "close") for r in range(n)]
            kymotest.remove(self.trace, missing_ok=True)
            self.around(together(*(c.replace(" @ ", " ") for c in commands)), *options)
            check(f"around {len(more)}", self.processes(), wanted)
            kymotest.remove(self.trace)
            p = self.in_each(commands, "-o", self.trace, *options)
            check(f"inside {len(more)}", self.processes(), wanted)
            check("one prints", p.stderr.count("trace in "), 1)
        for variables, option, said in (({"R": "x"}, "R", 'R is "x", which is no number'), ({"R": "3", "N": "3"}, "R:N", "R is 3, and there are 3 ranks (N)"),
                                        ({}, ":", "expected the name of a variable"), ({}, "A:B:C", "expected the name"), ({}, "A=1", "expected the name")):
            p = kymotest.run(self.kymo, "run", "--rank-variable", option, "true", env=dict(os.environ, **variables))
            check(f"{variables} {option}", (p.returncode, said in p.stderr), (2, True))


if __name__ == "__main__":
    sys.exit(base.main(Test, HERE))
