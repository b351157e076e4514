#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs of a configuration file: each run once, in a trace of its own, with its options: jobs.py KYMO"""
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check  # noqa: E402

KYMO = os.path.abspath(sys.argv[1])
FOREIGN = ("SLURM_", "PMI", "OMPI_", "RANK", "WORLD_SIZE", "MASTER_", "TORCHELASTIC_", "KYMO_", "JAX_", "FLUX_", "PALS_")
CLEAN = {n: v for n, v in os.environ.items() if not n.startswith(FOREIGN)}
CONFIG = """# Of all jobs
args = none
no-summary = yes
summary.top = 3
mode = full

[job few]
mode = minimal
  [ job many ]
[job many]
buffer-size = 16M
args = scalars
"""
SAY = 'echo "$KYMO_MODE $KYMO_ARGS" >> said'
TWO = "no-summary = yes\n[job one]\n[job two]\nmode = full\n"


def run(config, *words, env=None):
    """Status, what was said, what is there, what the program wrote."""
    with kymotest.Folder() as folder:
        with open(os.path.join(folder, "jobs.conf"), "w", encoding="utf-8") as f:
            f.write(config)
        done = subprocess.run([KYMO, "run", *words], cwd=folder, capture_output=True, text=True, env={**CLEAN, **(env or {})}, check=False)
        found = sorted(os.listdir(folder))
        said = ""
        if "said" in found:
            with open(os.path.join(folder, "said"), encoding="utf-8") as f:
                said = f.read()
        return done.returncode, done.stderr, [n for n in found if n.endswith(".kymo")], said


def each():
    good = CONFIG.replace("  [ job many ]\n", "")
    code, err, traces, said = run(good, "-c", "jobs.conf", "sh", "-c", SAY)
    check("all", (code, said), (0, "minimal none\nfull scalars\n"))
    check("says which", [line for line in err.splitlines() if "job" in line], ["kymo: job few", "kymo: job many"])
    check("a trace each", [bool(re.fullmatch(rf"sh-{n}-\d+-\d+\.kymo", t)) for n, t in zip(("few", "many"), traces)], [True, True])
    check("named", run(good, "-o", "t-%config_job%.kymo", "-c", "jobs.conf", "true")[:3:2], (0, ["t-few.kymo", "t-many.kymo"]))
    check("by the environment", run(good, "sh", "-c", SAY, env={"KYMO_CONFIG": "jobs.conf"})[3], "minimal none\nfull scalars\n")
    check("one of them", run(good, "--config-job", "many", "-o", "x.kymo", "-c", "jobs.conf", "sh", "-c", SAY)[2:], (["x.kymo"], "full scalars\n"))
    check("the command line is before them", run(good, "-m", "summary", "-c", "jobs.conf", "sh", "-c", SAY)[3], "summary none\nsummary scalars\n")
    check("words of the program", run(TWO, "-c", "jobs.conf", "--", "sh", "-c", 'echo "$1" >> said', "-", "-c")[3], "-c\n-c\n")
    check("names in sections", run(TWO + "output = two.kymo\n", "-c", "jobs.conf", "true")[2][-1], "two.kymo")
    check("another command reads the rest", kymotest.run(KYMO, "list", "backends").returncode, 0)


def statuses():
    both = 'echo x >> said; exit $(wc -l < said)'
    code, err, traces, said = run(TWO, "-c", "jobs.conf", "sh", "-c", both)
    check("the first that is not 0; all are run", (code, len(traces), said), (1, 2, "x\nx\n"))
    check("said", "job two ended with status 2" in err, True)
    code, _, _, said = run(TWO, "-c", "jobs.conf", "sh", "-c", 'echo x >> said; [ $(wc -l < said) = 1 ] || kill -9 $$')
    check("of a signal", (code, said), (137, "x\nx\n"))


def ended():
    """SIGTERM ends the run of the moment, and no other one is begun."""
    with kymotest.Folder() as folder:
        with open(os.path.join(folder, "jobs.conf"), "w", encoding="utf-8") as f:
            f.write(TWO)
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        p = subprocess.Popen([KYMO, "run", "-c", "jobs.conf", "sh", "-c", "echo x >> said; echo > fifo; exec sleep 1000"], cwd=folder,
                             env=CLEAN, stderr=subprocess.DEVNULL)
        with open(fifo, encoding="utf-8") as f:
            f.read()
        p.send_signal(signal.SIGTERM)
        check("status", p.wait(kymotest.WAIT), 128 + signal.SIGTERM)
        with open(os.path.join(folder, "said"), encoding="utf-8") as f:
            check("one was begun", f.read(), "x\n")


def mistakes():
    for config, words, said in ((CONFIG, (), "jobs.conf:9: \"[ job many ]\" begins no section"), (TWO + "[job one]\n", (), 'a job "one" already'),
                                (TWO + "[job a b]\n", (), "begins no section"), (TWO + "[x]\n", (), "begins no section"),
                                (TWO + "mood = full\n", (), "did you mean \"mode\""), (TWO + "mode = all\n", (), "job two"),
                                (TWO + "summary.top = 3\n", (), "options of kymo run alone"), (TWO, ("--config-job", "three"), 'no job "three"'),
                                (TWO, ("-o", "x.kymo"), "%config_job% in it")):
        code, err, traces, told = run(config, "-c", "jobs.conf", *words, "sh", "-c", SAY)
        check(f"{said}: refused before any is run", (code, said in err or err, traces, told), (2, True, [], ""))
    check("of which file", run(TWO, "--config-job", "one", "true")[0], 2)
    ranks = {"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}
    code, err, traces, _ = run(TWO, "-c", "jobs.conf", "true", env=ranks)
    check("of a rank", (code, "can be run once" in err, traces), (2, True, []))
    with kymotest.Folder() as folder:
        launcher = os.path.join(folder, "srun")
        os.symlink(shutil.which("true"), launcher)
        code, err, traces, _ = run(TWO, "-c", "jobs.conf", launcher, env=ranks)
        check("around the ranks", (code, len(traces)), (0, 2))
    code, err, traces, _ = run(TWO, "-c", "jobs.conf", "--config-job", "one", "true", env=ranks)
    check("one job of a rank", (code, len(traces)), (0, 1))
    check("no such program", run(TWO, "-c", "jobs.conf", "/nonexistent/x")[0], 127)


each()
statuses()
ended()
mistakes()
sys.exit(1 if kymotest.wrong else 0)
