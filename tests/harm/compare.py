# SPDX-License-Identifier: Apache-2.0
"""A program without Kymo and with it: what it prints, how it ends, what it leaves, and that what it made is what
was recorded and what was counted as lost."""
import json
import os
import re
import signal
import subprocess

from account import WAIT, Failure, counted, expect, named, recorded, tell
import kymotest
import warden

# What the trace may have of others than marks is lost too, where there is no room.
MODES = {
    "default": [],
    "full": ["-m", "full"],
    "summary": ["-m", "summary"],
    "block": ["--buffer-size", "512k"],
    "drop": ["--on-full", "drop", "--buffer-size", "512k"],
    "overwrite": ["--on-full", "overwrite", "--buffer-size", "512k"],
    "functions": ["--functions", "."],
    "sample": ["--sample=500"],
    "wall": ["--sample=500", "--sample-clock", "wall"],
    "off-cpu": ["--off-cpu"],
    "threads": ["--threads"],
    "heap": ["-b", "all,heap", "--heap-interval", "1"],
    "lock": ["-b", "all,lock"],
    "posix": ["-b", "all,posix,wait"],
    "stacks": ["--stacks"],
    "counters": ["--counters", "page-faults"],
    "telemetry": ["--telemetry=10"],
    "everything": ["-b", "all,posix,wait,lock,heap", "--functions", ".", "--sample=200", "--off-cpu", "--threads", "--counters", "page-faults"],
}
REFUSED = (2, 3, 126, 127)  # by the launcher, before the program runs


def environment(folder, **more):
    """Everything of Kymo's that is not in the trace goes where it is seen if it stays."""
    for name in ("tmp", "run"):
        os.makedirs(f"{folder}/{name}", exist_ok=True)
    return kymotest.environment(TMPDIR=f"{folder}/tmp", XDG_RUNTIME_DIR=f"{folder}/run", **more)


def finish(words, **options):
    """Status, output, messages; whatever hangs is killed with all its children, and is an error."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", start_new_session=True, **options) as p:
        try:
            out, err = p.communicate(timeout=WAIT)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.communicate()
            raise Failure(f"hangs: {' '.join(words)}") from None
        return p.returncode, out, err


def own(messages):
    """Without Kymo's."""
    return "".join(line for line in messages.splitlines(True) if not line.startswith("kymo:"))


def left_over(folder, trace):
    """What should not be there when all have ended. What could not be recorded is told in files of the trace."""
    found = [f"{top}/{name}" for place in ("tmp", "run") for top, _, names in os.walk(f"{folder}/{place}") for name in [".", *names]
             if (top, name) != (f"{folder}/{place}", ".")]
    for top, folders, names in os.walk(trace):
        found += [f"{top}/{n}" for n in folders + names if re.match(r"control-|\.(?!program-|unseen-)", n) or n.endswith((".tmp", ".part"))]
    return found


def started_in(folder):
    """Processes that were started with the environment() of this folder: daemons of the program, too."""
    mark, found = f"TMPDIR={folder}/tmp\0".encode(), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                found += [pid] if mark in f.read() else []
        except OSError:  # another user's, or it has ended
            pass
    return found


def all_gone(trace):
    kymotest.wait_for(lambda: kymotest.no_writers(trace), "processes of Kymo's are left")


def nothing_can_be_written(trace, said):
    """Then only the manifest knows how many processes are not recorded, or the launcher says that there is no end."""
    with open(f"{trace}/manifest.json", encoding="utf-8") as f:
        manifest = json.load(f)
    if "totals" not in manifest:
        expect("the drain ended unexpectedly; the trace ends where it did" in said, "no totals, but the launcher said:", said)
    return "totals" not in manifest or manifest["totals"]["refused"] > 0


def compare(kymo, folder, words, options=(), env=None, before=None, counts="counts", may_refuse=False, case=None, exact=True, reader=None, spoilt=False, messages=True):
    """words: the program; `counts` is the file that it counts in. None where the system does not let it do that. spoilt:
    something is refused to it or to the drain: names and ends may be missing; whose end is missing is told as that."""
    alone = environment(folder, **(env or {}))
    trace, path = f"{folder}/t.kymo", f"{folder}/{counts}"
    def run(prefix):
        if os.path.exists(path):
            os.unlink(path)
        done = finish([*prefix, *words], cwd=folder, env=alone, preexec_fn=before_it)
        kymotest.wait_for(lambda: not started_in(folder), f"{words[1:]}: somebody goes on")
        return done
    def before_it():
        warden.bounded()
        if before:
            before()
    plain = run([])
    if plain[0] == kymotest.SKIPPED:
        return None
    traced = run([kymo, "run", "--no-summary", "-f", "-o", trace, *options])
    all_gone(trace)
    about = f"{' '.join(words[1:])} {' '.join(options)}"
    if may_refuse and traced[0] in REFUSED and traced[2] and not os.path.exists(path):
        return {}
    expect(traced[:2] == plain[:2], f"{about}: ended with", traced, "and without Kymo with", plain)
    # Where it cannot even be loaded the linker names another library.
    expect(own(traced[2]) == plain[2] or not messages or (spoilt and plain[0] == 127), f"{about}: said", traced[2], "and without Kymo", plain[2])
    left = left_over(folder, trace)
    expect(not left, f"{about}: left over:", left)
    begun, done = counted(path)
    if not exact:
        return {}
    if not os.path.exists(f"{trace}/manifest.json"):
        expect(done == 0 or may_refuse, f"{about}: no trace, but made:", done, traced[2])
        return {}
    r = recorded(reader or kymo, trace, environment(folder))
    known = not r["turned_away"] and not r["endless"] and not (spoilt and nothing_can_be_written(trace, traced[2]))
    tell(begun, done, r, case=case, end_is_known=known)
    if r["marks"] and not spoilt:
        named(r, about)
    got = r["marks"] + r["lost"] + r["overwritten"]
    expect(spoilt or (r["damaged"] == 0 and known), f"{about}: damaged or without end:", r)
    expect(r["marks"] <= begun, f"{about}: made", begun, "but recorded", r)
    expect(done <= got or not known, f"{about}: made", done, "but recorded or lost", r)
    return r
