#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keys in names of traces: their values, hostile ones, mistakes; ranks of a job make one trace: keys.py KYMO"""
import csv
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must  # noqa: E402

KYMO = os.path.abspath(sys.argv[1])
FOREIGN = ("SLURM_", "PMI", "OMPI_", "RANK", "WORLD_SIZE", "MASTER_", "TORCHELASTIC_", "KYMO_", "JAX_", "FLUX_", "PALS_")
CLEAN = {n: v for n, v in os.environ.items() if not n.startswith(FOREIGN)}
HOST = re.sub(r"[^\w.+=,@:-]", "_", socket.gethostname())


def record(name, *argv, **env):
    """Status, what was said, what lies there then."""
    with kymotest.Folder() as folder:
        done = subprocess.run([KYMO, "run", "--no-summary", "-o", name, "--", *(argv or ("true",))], cwd=folder, capture_output=True,
                              text=True, env={**CLEAN, **env}, check=False)
        return done.returncode, done.stderr, sorted(os.listdir(folder.encode()))


def named(name, wanted, *argv, **env):
    check(f"-o {name}", record(name, *argv, **env), (0, "", [wanted.encode()]))


def values():
    named("%program%", "true")
    named("%tag%-%program%.kymo", "true-true.kymo", "/bin/true")
    named("%args%", "a_b", "true", "a", "b")
    named("%argv%", "true_a", "/bin/true", "a")
    named("%arg0%-%arg2%-%arg10%", "true-b-j", "true", *"abcdefghij")
    named("%job%-%size%-%rank%", "0-1-0")
    named("%host%+%hostname%", f"{HOST}+{HOST}")
    named("%env{A}%-%env{B}%.kymo", "one-two.kymo", A="one", B="two")
    named("100%%-%program%%%", "100%-true%")
    named("x%date{%%}%", "x_")
    named("%time{at}%", "at")
    before, (code, err, found), after = time.localtime(), record("%date%-%time%"), time.localtime()
    form = "%Y%m%d-%H%M%S"
    check("date and time", (code, err, time.strftime(form, before) <= found[0].decode() <= time.strftime(form, after)), (0, "", True))
    before, (_, _, found), after = time.localtime(), record("%time{%F_%H.%M}%"), time.localtime()
    check("a form", time.strftime("%F_%H.%M", before) <= found[0].decode() <= time.strftime("%F_%H.%M", after), True)


def processes():
    with kymotest.Folder() as folder:
        p = subprocess.Popen([KYMO, "run", "--no-summary", "-o", "%pid%-%ppid%-%pgid%-%psid%", "true"], cwd=folder, env=CLEAN,
                             start_new_session=True)
        p.wait()
        check("processes", os.listdir(folder), [f"{p.pid}-{os.getpid()}-{p.pid}-{p.pid}"])


def hostile():
    for value, wanted in (("../../x", "_._.._x"), ("..", "_."), (".", "_"), ("-rf", "_rf"), ("/etc/passwd", "_etc_passwd"),
                          ("a\nb\x1b[2J", "a_b__2J"), ("a b;$(c)`d`'\"", "a_b___c__d___"), ("%pid%", "_pid_"),
                          ("\u202egnp", "_gnp"), ("sch\u00f6n", "sch\u00f6n"), ("a\udcffb", "a_b")):
        named("t-%env{X}%" if not value.startswith((".", "-")) else "%env{X}%",
              ("t-" if not value.startswith((".", "-")) else "") + wanted, X=value)
    named("%arg1%/t", "_.", "true", "..")
    code, err, found = record("%env{X}%", X="")
    check("no name is left", (code, "no name is left" in err, found), (2, True, []))
    code, err, found = record("%env{X}%", X="x" * 300)
    check("too long", (code, "File name too long" in err, found), (3, True, []))


def mistakes():
    for name, said in (("%nosuch%", "there is no key %nosuch%: there are %program%"), ("%hots%", "did you mean %host%?"),
                       ("%p", "%% stands for one"), ("50%", "%% stands for one"), ("%env{A}", "%% stands for one"),
                       ("%env{A", "%% stands for one"), ("%env%", "belongs in the braces"), ("%env{KEYS_NOSUCH}%", "is not set"),
                       ("%arg%", "a number belongs behind"), ("%arg1%", "the program has 0 arguments"),
                       ("%argx%", "there is no key %argx%"), ("%pid{x}%", "takes nothing in braces"), ("%time{%Q", "%% stands for one"),
                       ("%arg99999999999999999999%", "arguments")):
        code, err, found = record(name)
        check(f"{name}: refused", (code, said in err or err, found), (2, True, []))
    done = kymotest.run(KYMO, "run", "--dry-run", "-o", "%nosuch%", "true", env=CLEAN)
    check("seen without a run, too", done.returncode, 2)


def ranks():
    def slurm(rank, size):
        return {"SLURM_PROCID": str(rank), "SLURM_NTASKS": str(size), "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0",
                "SLURM_STEP_NUM_TASKS": str(size)}
    for key in ("rank", "pid", "ppid", "pgid", "psid", "host", "hostname", "date", "time", "time{%H}"):
        code, err, found = record(f"t-%{key}%", **slurm(0, 2))
        check(f"%{key}% of two ranks", (code, "differs from rank to rank" in err, found), (2, True, []))
    code, err, found = record("t-%rank%-%size%-%pid%", **slurm(0, 1))
    check("of one rank", (code, err, bool(re.fullmatch(rb"t-0-1-\d+", found[0]))), (0, "", True))
    # A script of a batch system has the variables of a rank, and starts the ranks.
    with kymotest.Folder() as folder:
        launcher = os.path.join(folder, "srun")
        os.symlink(shutil.which("true"), launcher)
        code, err, found = record("t-%host%-%rank%", launcher, **slurm(0, 2))
        check("around the ranks", (code, err, found), (0, "", [f"t-{HOST}-0".encode()]))
    with kymotest.Folder() as folder:
        started = [subprocess.Popen([KYMO, "run", "--no-summary", "-o", "%program%-%job%-%size%-%env{A}%.kymo", "true"], cwd=folder,
                                    env={**CLEAN, **slurm(rank, 2), "A": "a"}) for rank in range(2)]
        check("two ranks", [p.wait() for p in started], [0, 0])
        found = os.listdir(folder)
        check("make one trace", (len(found), bool(re.fullmatch(r"true-.*77.*-2-a\.kymo", found[0]))), (1, True))


def listed():
    def keys(*words, **env):
        out = must(KYMO, "list", "keys", "-f", "csv", *words, env={**CLEAN, **env})
        return {r["key"]: r for r in csv.DictReader(io.StringIO(out, newline=""))}
    found = keys("/bin/echo", "a/b", HOME="/home/me")
    check("values", {k: found[k]["value"] for k in ("%program%", "%args%", "%argN%", "%host%", "%size%", "%env{NAME}%")},
          {"%program%": "echo", "%args%": "a_b", "%argN%": "echo", "%host%": HOST, "%size%": "1", "%env{NAME}%": "_home_me"})
    found = keys(SLURM_PROCID="1", SLURM_NTASKS="2", SLURM_JOB_ID="77", SLURM_STEP_ID="0", SLURM_STEP_NUM_TASKS="2")
    check("in a job", (found["%size%"]["value"], found["%rank%"]["value"], "rank to rank" in found["%rank%"]["why_not"]), ("2", "", True))


values()
processes()
hostile()
mistakes()
ranks()
listed()
sys.exit(1 if kymotest.wrong else 0)
