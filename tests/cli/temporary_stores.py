#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stores that kymo query builds for one question, or under another name first: several are joined, nothing of them stays,
whoever ends it.

Usage: temporary_stores.py KYMO KYMO_SYNTH
"""
import json
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import Failure, expect  # noqa: E402

KYMO, SYNTH = map(os.path.abspath, sys.argv[1:3])
CALLS = "SELECT trace, count(*) AS n FROM regions GROUP BY 1"
SELECTED = ("-d", "test")


def kymo(*words):
    return subprocess.run([KYMO, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)


def synth(*words):
    subprocess.run([SYNTH, *words], check=True, stdout=subprocess.DEVNULL)


def rows(*words):
    p = kymo("query", "-f", "json", *words)
    expect(p.returncode == 0, words, p)
    return json.loads(p.stdout)


def places():
    """Where temporary stores can be."""
    return [n for n in os.listdir("t.kymo") if n not in ("raw", "manifest.json")] + os.listdir("tmp")


def begin(*words):
    """A query that has begun to build its store; None: it was done before it could be stopped."""
    before = set(places())
    p = subprocess.Popen([KYMO, "query", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        kymotest.wait_for(lambda: set(places()) - before or p.poll() is not None, "the store begins", pause=0)
        p.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if p.poll() is None and set(places()) - before - {"store.db"}:
            return p
    except BaseException:
        p.kill()
        p.wait()
        raise
    p.kill()
    p.communicate()
    if "store.db" in places():
        os.unlink("t.kymo/store.db")
    return None


def build(*words):
    """On a busy machine it may take several."""
    for _ in range(200):
        p = begin(*words)
        if p:
            return p
        kymo("query", "-p", "6000", "t.kymo", "SELECT 1")  # what was left by a kill
    raise Failure("queries are too fast to be stopped")


KINDS = (("--rebuild", "t.kymo", "SELECT 1"), ("-p", "6000", "t.kymo", "SELECT 1"))


def end(p, how):
    p.send_signal(how)
    p.send_signal(signal.SIGCONT)
    p.communicate()
    expect(p.returncode == -how, how, "gave", p.returncode)


def test_several_selected():
    synth("demo", "a.kymo")
    synth("demo", "b.kymo")
    one = rows(*SELECTED, "a.kymo", "SELECT count(*) AS n FROM regions")[0]["n"]
    got = rows(*SELECTED, "a.kymo", "b.kymo", CALLS)
    expect(one and got == [{"trace": 1, "n": one}, {"trace": 2, "n": one}], got, one)
    expect(not os.listdir("tmp"), os.listdir("tmp"))
    p = kymo("query", *SELECTED, "a.kymo", "b.kymo", "SELECT nosuch")
    expect(p.returncode == 2 and not os.listdir("tmp"), p, os.listdir("tmp"))


def test_several_that_are_not_kept():
    """Of a damaged trace no store is kept: it is built for the question."""
    for name in ("a.kymo", "b.kymo"):
        shutil.rmtree(name, ignore_errors=True)
        synth("demo", name)
        with open(f"{name}/raw/more.kyr", "w", encoding="utf-8") as f:
            f.write("no raw file")
    p = kymo("query", "-f", "json", "a.kymo", "b.kymo", CALLS)
    expect(len(json.loads(p.stdout)) == 2, p)
    expect(os.listdir("a.kymo") == ["raw"], os.listdir("a.kymo"))


def test_ended():
    for kind in KINDS:
        for how in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            end(build(*kind), how)
            expect(not places(), kind, how, "left", places())


def test_killed():
    for kind in KINDS:
        for later in (["query", *kind], ["query", "-p", "6000", "t.kymo", "SELECT 1"], ["compress", "t.kymo"]):
            end(build(*kind), signal.SIGKILL)
            expect(places(), "nothing was left of", kind)
            p = kymo(*later)
            if later[0] == "compress" and kind != KINDS[0]:
                kymo("query", *kind)  # compress looks into the trace only
            expect(p.returncode == 0 and set(places()) <= {"store.db"}, later, "left", places(), p.stderr)
            if "store.db" in places():
                os.unlink("t.kymo/store.db")


def test_of_others():
    """Folders that no query made stay, whatever they are called."""
    for name, file in (("kymo-store-mine", "x"), ("kymo-store-backup00", "x"), ("kymo-store-01234567", "x"), ("kymo-store-0123456v", None)):
        os.mkdir("tmp/" + name)
        if file:
            with open(f"tmp/{name}/{file}", "w", encoding="utf-8") as f:
                f.write("precious")
    kymo("query", "-p", "6000", "t.kymo", "SELECT 1")
    left = sorted(os.listdir("tmp"))
    expect(left == ["kymo-store-01234567", "kymo-store-backup00", "kymo-store-mine"], left)
    for name in left:
        shutil.rmtree("tmp/" + name)


def test_at_work():
    """What others build is not taken for what was left."""
    for kind in KINDS:
        p = build(*kind)
        other = kymo("query", *kind)
        p.send_signal(signal.SIGCONT)
        expect(other.returncode == 0, other)
        out, err = p.communicate()
        expect(p.returncode == 0 and "1" in out, kind, p.returncode, err)
        expect(set(places()) <= {"store.db"}, places())
        if "store.db" in places():
            os.unlink("t.kymo/store.db")


def main():
    failed = 0
    with kymotest.Folder() as folder:
        os.chdir(folder)
        os.mkdir("tmp")
        os.environ["TMPDIR"] = os.path.abspath("tmp")
        synth("bulk", "t.kymo", "2", "150000")
        for name, test in sorted(globals().items()):
            if not name.startswith("test_"):
                continue
            try:
                test()
                print("ok  ", name, flush=True)
            except (Failure, OSError, subprocess.SubprocessError, ValueError) as e:
                failed += 1
                print("FAIL", name, type(e).__name__, e, flush=True)
        os.chdir("/")
    return 1 if failed else 0


sys.exit(main())
