#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kymo view of a trace that is still written, that another view has at the same time, and on a disk without room: each shows what
there was when it began, and what cannot be made, or cannot be kept, is told.

    view_disk.py KYMO SYNTH HOLD_OPEN"""
import json
import os
import resource
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kymotest  # noqa: E402
from kymotest import must  # noqa: E402
from view import KYMO, SYNTH, View  # noqa: E402
from view_glance import Held  # noqa: E402

CALLS = 20000
checks = kymotest.Checks()


def head(view):
    return json.loads(view.ask("/head.json")[2])


def told(view):
    """Ends it; what it has said but where it is."""
    code = view.end()
    return code, [line for line in view.process.stderr.read().splitlines() if "open this address" not in line]


def growing(folder, whole):
    """A trace of which the second half is written while it is seen; a view that begins then has all of it."""
    trace = os.path.join(folder, "growing.kymo")
    os.makedirs(os.path.join(trace, "raw"))
    files = {name: os.path.getsize(os.path.join(whole, "raw", name)) // 2 for name in os.listdir(os.path.join(whole, "raw"))}

    def write(name, mode, start, end):
        with open(os.path.join(whole, "raw", name), "rb") as source, open(os.path.join(trace, "raw", name), mode) as to:
            source.seek(start)
            to.write(source.read(end - start))

    for name, half in files.items():
        write(name, "wb", 0, half)
    with View(trace) as first, Held(trace, folder) as held:
        before = head(first)
        checks.equal("half of it", 0 < before["trace"]["records"] < CALLS, True)
        checks.equal("it says so", "the end of 1 recording is missing" in before["loss"]["text"], True)
        for name, half in files.items():
            write(name, "ab", half, 2 * half + 1)
        with View(trace, "--rebuild") as second:
            checks.equal("all of it, nothing lost", (head(second)["trace"]["records"], head(second)["loss"]["text"]), (CALLS, "Lost: nothing."))
            checks.equal("the first shows what it had", head(first), before)
            held.go()
            checks.equal("one that had opened it before has what it opened, or all", head(held)["trace"]["records"] in (before["trace"]["records"], CALLS), True)
            checks.equal("each ends well", [told(v)[0] for v in (held, second, first)], [0, 0, 0])
    with View(trace) as last:
        checks.equal("what is kept is of all of it, or made anew", head(last)["trace"]["records"], CALLS)


def together(folder, whole):
    """One prepares while the other does: both have all of it, and one file is left."""
    trace = os.path.join(folder, "together.kymo")
    shutil.copytree(whole, trace)
    with Held(trace, folder) as held, View(trace) as other:
        wanted = head(other)
        checks.equal("the other waits for nothing", wanted["trace"]["records"], CALLS)
        first = os.stat(os.path.join(trace, "page.data")).st_ino
        held.go()
        checks.equal("the same of both", head(held), wanted)
        checks.equal("the one that came last is kept", os.stat(os.path.join(trace, "page.data")).st_ino != first, True)
        checks.equal("the first is served on", [v.ask("/section/0")[0] for v in (other, held)], [200, 200])
        checks.equal("nothing was told", [told(v) for v in (held, other)], [(0, []), (0, [])])
    checks.equal("nothing else is left", sorted(set(os.listdir(trace)) - {"manifest.json"}), ["page.data", "raw"])


def full(folder, whole):
    trace = os.path.join(folder, "full.kymo")
    shutil.copytree(whole, trace)
    before = sorted(os.listdir(trace))
    no_tmpdir = {k: v for k, v in os.environ.items() if k != "TMPDIR"}
    view = View(trace, env=no_tmpdir, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)))
    view.process.wait(kymotest.WAIT)
    code, lines = told(view)
    checks.equal("no room to prepare it", (code, lines), (3, [f"kymo: error: temporary file in {trace}: File too large; free space or set TMPDIR"]))
    checks.equal("nothing is left", sorted(os.listdir(trace)), before)
    os.mkdir(os.path.join(trace, "page.data"))  # which no file can take the place of
    with View(trace, env={**os.environ, "TMPDIR": folder}) as view:
        checks.equal("it is shown all the same", head(view)["trace"]["records"], CALLS)
        checks.equal("temporary files are gone", [name for name in os.listdir(folder) if name.startswith("kymo-view")], [])
        checks.equal("it is not kept", told(view), (0, [f"kymo: warning: {trace}/page.data: Is a directory; what is prepared is not kept for the next time"]))
    checks.equal("nothing else is left", sorted(os.listdir(trace)), sorted(before + ["page.data"]))


def main():
    with kymotest.Folder() as folder:
        whole = os.path.join(folder, "whole.kymo")
        must(SYNTH, "bulk", whole, "2", str(CALLS // 2))
        must(KYMO, "info", whole)
        growing(folder, whole)
        together(folder, whole)
        full(folder, whole)
    return checks.status(18)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except kymotest.Failure as e:
        print(e)
        sys.exit(1)
