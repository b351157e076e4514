# SPDX-License-Identifier: Apache-2.0
"""What tests/harm/load and shapes counted, against what the trace has: shared by the campaigns and what fills disks."""
import json
import os
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

WAIT, Failure, expect, await_true = kymotest.WAIT, kymotest.Failure, kymotest.expect, kymotest.wait_for

def counted(path):
    """Calls begun and done, by the load's own account."""
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError:
        return 0, 0
    rows = list(struct.iter_unpack("<8Q", data))
    return sum(r[0] for r in rows), sum(r[1] for r in rows)


def state(pid):
    """Name and state of a process, or None."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            text = f.read()
    except OSError:
        return None
    return text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2]


def alive(pid):
    found = state(pid)
    return found is not None and found[1] not in "ZX"


def kill(pid, sig=signal.SIGKILL):
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        pass


def children(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
                found += [int(word) for word in f.read().split()]
    except OSError:
        pass
    return found


def _living(pids, name):
    for pid in pids:
        found = state(pid)
        if found and found[0] == name and found[1] not in "ZX":
            return pid
    return None


def keeper_of(launcher):
    return _living(children(launcher), "kymo-keeper")


def drain_of(launcher):
    """Of the moment: another one takes the place of one that dies, as long as its keeper lives."""
    keeper = keeper_of(launcher)
    return _living(children(keeper), "kymo-drain") if keeper else None


def everybody_of(launcher):
    """The launcher last, before it the program; the keeper is dead before its drain."""
    keeper = keeper_of(launcher)
    return [*([keeper, drain_of(launcher)] if keeper else []),
            *(c for c in children(launcher) if c != keeper), launcher]


def program_of(launcher, name="load"):
    for pid in children(launcher):
        found = state(pid)
        if found and found[0] == name:
            return pid
    return None


QUERY = """SELECT
 (SELECT count(*) FROM markers) AS marks,
 (SELECT count(*) FROM markers WHERE kind IS NULL OR name IS NULL OR name NOT LIKE 'm%.%') AS unnamed_marks,
 (SELECT coalesce(nullif(count(*), 0), -- with --mode summary counted alone
   (SELECT total(t.calls) FROM tally_call t JOIN op o ON o.id = t.op WHERE o.name = 'clEnqueueNDRangeKernel'))
   FROM call c JOIN op o ON o.id = c.op WHERE o.name = 'clEnqueueNDRangeKernel') AS kernels,
 (SELECT count(*) FROM call c JOIN op o ON o.id = c.op WHERE o.name LIKE 'undefined%') AS undefined,
 (SELECT count(*) FROM kernels WHERE name IS NOT 'add' OR agent_name IS NULL) AS unnamed_kernels,
 (SELECT count(*) FROM process WHERE how_ended IS NOT 6 AND (argv IS NULL OR argv = '' OR exe = '')) AS unnamed_processes,
 (SELECT count(*) FROM thread t LEFT JOIN string s ON s.id = t.name WHERE (s.text IS NULL OR s.text = '')
   AND NOT EXISTS (SELECT 1 FROM thread u JOIN string n ON n.id = u.name WHERE u.tid = t.tid AND n.text <> '')) AS unnamed_threads,
 (SELECT count(*) FROM process) AS processes,
 (SELECT count(*) FROM process WHERE how_ended IS NULL OR (how_ended > 4 AND how_ended <> 6)) AS endless,
 (SELECT count(*) FROM process WHERE how_ended IS NULL AND name = 'telemetry') AS endless_telemetry,
 (SELECT count(*) FROM process WHERE how_ended = 6) AS turned_away,
 (SELECT total(lost_definitions) FROM process) AS lost_definitions,
 (SELECT total(lost_records) FROM process) AS lost,
 (SELECT total(overwritten_records) FROM process) AS overwritten,
 (SELECT total(damaged_blocks) FROM process) AS damaged"""


def recorded(kymo, trace, environment=None):
    """What the trace has, as a dict of numbers."""
    p = subprocess.run([kymo, "query", "--format", "json", trace, QUERY], capture_output=True,
                       text=True, timeout=600, check=False, env=environment)
    expect(p.returncode == 0, "kymo query:", p.returncode, p.stderr)
    return {k: int(v) for k, v in json.loads(p.stdout)[0].items()}


def named(r, about=""):
    """Whatever is on the disk has its names."""
    expect(r["undefined"] == 0, about, r["undefined"], "records of operations that are not defined:", r)
    expect(r["unnamed_marks"] == 0, about, r["unnamed_marks"], "marks without name:", r)
    expect(r["unnamed_kernels"] == 0, about, r["unnamed_kernels"], "kernels without name or device:", r)
    expect(r["unnamed_processes"] == 0 and r["unnamed_threads"] == 0, about, "no name of a process or thread:", r)


def tell(begun, done, r, what="marks", case=None, end_is_known=True):
    """A row for the table of harm.py, when it asks. A call that was under way counts as produced if it was recorded
    or lost. What is lost of other kinds of records is none of these calls. Where who counts was killed, and the trace has
    no end, or told a process that it cannot be recorded, the fate of what is missing is unknown."""
    if not os.environ.get("HARM_ROWS"):
        return
    got = r[what]
    lost = min(r["lost"] + r["overwritten"], max(0, begun - got))
    produced = max(done, got + lost)
    row = {"case": case, "produced": produced, "recorded": got, "lost": lost, "unknown": 0 if end_is_known else produced - got - lost}
    with open(os.environ["HARM_ROWS"], "a", encoding="utf-8") as f:
        f.write(json.dumps(row) + "\n")


def exact(r, what, begun, done, case=None):
    """Recorded and counted as lost are together what was made."""
    got = r[what] + r["lost"] + r["overwritten"]
    tell(begun, done, r, what, case)
    expect(r[what] <= begun, what, "recorded:", r[what], "made:", begun, r)
    expect(done <= got, what, done, "made, but", got, "recorded or lost:", r)
