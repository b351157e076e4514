#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compression beside the program, after it and by `kymo compress`: whoever reads, removes or kills meanwhile finds
a whole trace or none, and nobody waits for it.

Usage: compress.py BUILD [TEST]
"""
import glob
import hashlib
import json
import contextlib
import os
import random
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

sys.dont_write_bytecode = True
from account import WAIT, Failure, alive, await_true, counted, expect, kill, named, recorded, state

BUILD = os.path.abspath(sys.argv[1])
KYMO = BUILD + "/bin/kymo"
LOAD = BUILD + "/tests/harm/load"
PLAIN = {**os.environ, "LD_PRELOAD": BUILD + "/tests/harm/plain_files.so"}  # no files without names, no exchange
SEED = int(os.environ.get("TEST_SEED", "20"))
LONG = 600  # whoever may not change its scheduling waits until the machine has a processor left
GROWN = 32 << 20  # bytes of a file that is compressed while it grows


def kymo(*words, status=0):
    p = subprocess.run([KYMO, *words], capture_output=True, text=True, timeout=LONG, check=False)
    expect(status is None or p.returncode == status, words, "gave", p.returncode, p.stdout, p.stderr)
    return p


def start(*load, trace="t.kymo", options=(), command=None):
    return subprocess.Popen([KYMO, "run", "--no-summary", "--block-time", "60s", "-o", trace, *options,
                             *(command or (LOAD, "counts", *load))],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def finish(p, status=7):
    out, err = p.communicate(timeout=LONG)
    expect(p.returncode == status, "the program gave", p.returncode, out, err)
    return err


def record(*load, **more):
    return finish(start(*load, **more))


def files(trace="t.kymo"):
    return sorted(glob.glob(trace + "/raw/*.kyr"))


def size(trace="t.kymo"):
    return sum(os.path.getsize(f) for f in files(trace))


def content(trace="t.kymo"):
    """All that `kymo show` says, in the order of the files."""
    p = subprocess.run([KYMO, "show", "--order", "recorded", trace], capture_output=True, timeout=LONG, check=False)
    expect(p.returncode == 0 and not p.stderr, p.returncode, p.stderr[:1000])
    return hashlib.sha256(p.stdout).hexdigest()


def clean(trace="t.kymo"):
    names = os.listdir(trace + "/raw")
    expect(all(n.endswith(".kyr") for n in names), "left:", names)


def all_there(marks, trace="t.kymo", processes=1):
    r = recorded(KYMO, trace)
    named(r)
    expect(r["marks"] == marks and r["lost"] == 0 and r["damaged"] == 0 and r["endless"] == 0 and
           r["processes"] == processes, "not all of", marks, "marks:", r)


def at_work(where="."):
    """The drains, and their keepers, that have something open here."""
    return [p for p in kymotest.writers(where) if (state(p) or ("",))[0] != "kymo"]


def until_done(where="."):
    def done():
        left = at_work(where)
        for pid in left:
            kymotest.let_compress(pid)
        return not left

    await_true(done, "compression goes on", LONG)


def identity(path):
    s = os.stat(path)
    return s.st_ino, s.st_size, s.st_mtime_ns


# ---- the command

def test_same_to_all_readers():
    two = ("sh", "-c", f"{LOAD} a 2 60000 & {LOAD} b 1 60000; wait; exit 7")
    record(options=("--no-compress",), command=two)
    kymo("query", "t.kymo", "SELECT count(*) FROM markers")
    before, shown, store = size(), content(), identity("t.kymo/store.db")
    said = [kymo("summary", *words, "t.kymo").stdout for words in ((), ("--by", "thread"))]
    told = kymo("compress", "t.kymo")
    expect("times smaller" in told.stdout and not told.stderr, told.stdout, told.stderr)
    expect(len(files()) == 2 and size() < before / 3, before, size())
    expect(content() == shown, "not the same")
    expect([kymo("summary", *words, "t.kymo").stdout for words in ((), ("--by", "thread"))] == said, "summary")
    all_there(180000, processes=2)
    expect(identity("t.kymo/store.db") == store, "the store was built again")
    clean()
    files_then = [identity(f) for f in files()]
    told = kymo("compress", "t.kymo", "t.kymo")
    expect("nothing left to compress" in told.stdout and told.stdout.count("\n") == 1, told.stdout)
    expect([identity(f) for f in files()] == files_then, "compressed twice")
    one = kymo("compress", files()[0])
    expect("nothing left to compress" in one.stdout, one.stdout)


def test_what_it_refuses():
    kymo("compress", status=2)
    expect("No such file" in kymo("compress", "nothing.kymo", status=3).stderr, "no trace")
    os.mkdir("folder")
    expect("not a trace" in kymo("compress", "folder", status=3).stderr, "a folder")
    with open("text", "w", encoding="utf-8") as f:
        f.write("text")
    expect("neither a trace" in kymo("compress", "text", status=3).stderr, "a text")
    two = ("sh", "-c", f"{LOAD} a 1 60000 & {LOAD} b 1 60000; wait; exit 7")
    record(options=("--no-compress",), command=two)
    bad, good = files()
    with open(bad, "r+b") as f:
        f.seek(500000)
        byte = f.read(1)
        f.seek(500000)
        f.write(bytes([byte[0] ^ 255]))
    with open(bad, "rb") as f:
        before, big = f.read(), os.path.getsize(good)
    p = kymo("compress", "t.kymo", status=3)
    expect("damaged at offset" in p.stderr and os.path.basename(bad) in p.stderr and
           os.path.basename(good) not in p.stderr and p.stderr.count("\n") == 1, p.stderr)
    with open(bad, "rb") as f:
        expect(f.read() == before, "the damaged file was changed")
    expect(os.path.getsize(good) < big / 3, "the other one was not compressed")
    clean()


def test_cut_afterwards():
    """What a compressed file lost is told, and one without its end that was compressed since has lost nothing."""
    record("1", "60000", options=("--no-compress",))
    kymo("compress", "t.kymo")
    os.truncate(files()[0], size() * 2 // 3)
    said = kymo("summary", "t.kymo", status=None)
    expect("the rest is lost" in said.stdout + said.stderr, said.stdout, said.stderr)
    record("1", "60000", trace="u.kymo", options=("--no-compress",))
    with open("u.kymo/manifest.json", encoding="utf-8") as f:
        manifest = f.read()
    whole = size("u.kymo")
    with open(files("u.kymo")[0], "rb") as f:
        f.seek(-1024, 2)
        tail = f.read()
    end = len(tail) - tail.rfind(b"KBLK\3\0")
    expect(end == 56 + int.from_bytes(tail[-end + 40:-end + 44], "little"), "the last block is not the end")
    os.truncate(files("u.kymo")[0], whole - end)
    os.utime(files("u.kymo")[0], (1, 1))
    with open("u.kymo/manifest.json", "w", encoding="utf-8") as f:
        expect(f'"bytes": {whole}}}' in manifest, manifest)
        f.write(manifest.replace(f'"bytes": {whole}}}', f'"bytes": {whole - end}}}'))
    for _ in range(2):
        said = kymo("summary", "u.kymo", status=None)
        expect("the rest is lost" not in said.stdout + said.stderr, said.stdout, said.stderr)
        kymo("compress", "u.kymo")
    expect(size("u.kymo") < whole / 3, size("u.kymo"))


def test_recording_is_left_alone():
    p = start("2", "60000", "0", "1000")
    await_true(lambda: counted("counts")[1] == 118000, "the calls")
    q = kymo("compress", "t.kymo", status=3)
    expect("still being recorded" in q.stderr, q.stderr)
    for _ in range(2):
        before = os.stat(files()[0]).st_ino
        os.utime(files()[0], (1, 1))  # as if its file system took nothing any more
        both = [subprocess.Popen([KYMO, "compress", what], stderr=subprocess.PIPE, text=True) for what in (files()[0], "t.kymo")]
        for q in both:  # each looks for a second whether it ends
            said = q.communicate(timeout=LONG)[1]
            expect(q.returncode == 3 and "still being recorded" in said and os.stat(files()[0]).st_ino == before, q.args, said)
    open("counts.go", "w", encoding="utf-8").close()
    finish(p)
    until_done()
    all_there(120000)


def test_command_is_killed():
    dice, met, span = random.Random(SEED), 0, 0.02
    record("2", "200000", options=("--no-compress",))
    shown = content()
    for _ in range(40):
        p = subprocess.Popen([KYMO, "compress", "t.kymo"], stdout=subprocess.DEVNULL)
        while p.poll() is None and not kymotest.compresses(p.pid, "t.kymo"):
            pass
        time.sleep(dice.uniform(0, span))  # anywhere
        p.kill()
        killed = p.wait() == -signal.SIGKILL
        met += killed
        expect(len(files()) == 1, os.listdir("t.kymo/raw"))
        if met == 5:
            break
        if not killed:  # it was quicker, and there is nothing left to be compressed
            expect(content() == shown, "not the same")
            span /= 2
            record("2", "200000", options=("-f", "--no-compress"))
            shown = content()
    expect(met, "never in time")
    expect(content() == shown, "not the same")
    kymo("compress", "t.kymo")
    expect(content() == shown, "not the same")
    clean()


def half_made():
    return glob.glob("t.kymo/raw/*.tmp")


def begin_plain():
    """`kymo compress` where files need names, when the first is half made; or when it is over."""
    p = subprocess.Popen([KYMO, "compress", "t.kymo"], stdout=subprocess.DEVNULL, env=PLAIN)
    await_true(lambda: half_made() or p.poll() is not None, "the file")
    return p


def test_interrupted():
    """Where files need names nothing stays of them, or the next one removes it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        record("2", "200000", options=("-f", "--no-compress",))
        shown, met = content(), False
        for _ in range(40):
            p = begin_plain()
            p.send_signal(number)
            met = p.wait(timeout=LONG) == -number
            if met:
                break
            record("2", "200000", options=("-f", "--no-compress",))
            shown = content()
        expect(met, "never in time")
        expect(number == signal.SIGKILL or not half_made(), number, "left", half_made())
        expect(content() == shown, "not the same")
        kymo("compress", "t.kymo")
        expect(content() == shown, "not the same")
        clean()


def test_two_at_once():
    two = ("sh", "-c", f"{LOAD} a 2 150000 & {LOAD} b 1 150000; wait; exit 7")
    for env in (PLAIN, None, PLAIN, None):
        record(options=("-f", "--no-compress",), command=two)
        before, shown = size(), content()
        both = [subprocess.Popen([KYMO, "compress", "t.kymo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, env=env) for _ in range(2)]
        for p in both:
            out, err = p.communicate(timeout=LONG)
            expect(p.returncode == 0 and not err, p.returncode, out, err)
        expect(content() == shown and size() < before / 3, "not the same, or not compressed", before, size())
        clean()


def test_store_knows_its_files():
    """Whose size has changed otherwise than by compression."""
    record("1", "60000", options=("--no-compress",))
    kymo("query", "t.kymo", "SELECT count(*) FROM markers")
    kymo("compress", "t.kymo")
    store, path = identity("t.kymo/store.db"), files()[0]
    kymo("query", "t.kymo", "SELECT count(*) FROM markers")
    expect(identity("t.kymo/store.db") == store, "the store was built again")
    for change in (lambda: os.truncate(path, os.path.getsize(path) * 2 // 3),
                   lambda: subprocess.run(["sh", "-c", f"cat '{path}' '{path}' >x.kyr; cat x.kyr >'{path}'"], check=True)):
        then = os.stat(path).st_mtime_ns
        change()
        os.utime(path, ns=(then, then))
        kymo("query", "t.kymo", "SELECT count(*) FROM markers", status=None)
        expect(identity("t.kymo/store.db") != store, "the store was not built again")
        store = identity("t.kymo/store.db")


def test_versions():
    """Files of the version before are read and compressed, those of one to come are not."""
    record("2", "60000", options=("--no-compress",))
    shown, before, path = content(), size(), files()[0]
    for version in (1, 3):
        with open(path, "r+b") as f:
            f.seek(8)
            expect(struct.unpack("<I", f.read(4))[0] == 2, "another version by now")
            f.seek(8)
            f.write(struct.pack("<I", version))
        if version == 1:
            expect(content() == shown, "not the same")
            kymo("compress", "t.kymo")
            expect(content() == shown and size() < before / 8, "not the same, or not compressed", size())
    expect("this Kymo reads 1 to 2" in kymo("show", "t.kymo", status=None).stderr, "a version to come is read")
    expect("damaged at offset 0" in kymo("compress", "t.kymo", status=3).stderr, "a version to come is compressed")


def test_no_room():
    os.mkdir("small")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", "small"],
                      stderr=subprocess.DEVNULL, check=False).returncode:
        return "tmpfs cannot be mounted here"
    try:
        record("2", "100000", options=("--no-compress",))
        subprocess.run(["cp", "-r", "t.kymo", "small/t.kymo"], check=True)
        with open("small/filler", "wb") as f:
            room = os.statvfs("small")
            f.write(bytes(room.f_bavail * room.f_bsize - 65536))
        shown, before = content("small/t.kymo"), size("small/t.kymo")
        p = kymo("compress", "small/t.kymo", status=3)
        expect(os.strerror(28) in p.stderr and "left as it is" in p.stderr, p.stderr)
        expect(size("small/t.kymo") == before and content("small/t.kymo") == shown, "changed")
        clean("small/t.kymo")
        os.unlink("small/filler")
        kymo("compress", "small/t.kymo")
        expect(size("small/t.kymo") < before / 3 and content("small/t.kymo") == shown, "not compressed")
    finally:
        subprocess.run(["umount", "-l", "small"], check=True)
    return None


# ---- after the program

LEFT = 400000  # marks of each thread, of which most are not compressed yet when the program has ended


@contextlib.contextmanager
def busy_processors():
    """Nothing is left for the thread that compresses beside the program."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for p in burners:
            p.kill()
            p.wait()


def run_and_leave(trace="t.kymo", options=()):
    """Until the run is over and compression goes on; the pids of who does it. On a machine that is too fast for that it has more to do."""
    global LEFT
    for tried in range(1, 21):
        with busy_processors():
            record("2", str(LEFT), trace=trace, options=("-f", "--buffer-size", "512M", *options))
            found = at_work(trace)
        if found:
            return found
        LEFT *= 2 if tried % 4 == 0 else 1
    raise Failure("it was always quicker")


def test_nothing_changes_after_the_command():
    """Whoever packs the trace then does not come upon a file that is being replaced."""
    run_and_leave()
    kymo("compress", "t.kymo")
    then = [identity(f) + (os.stat(f).st_ctime_ns,) for f in files()]
    subprocess.run(["tar", "cf", "t.tar", "t.kymo"], check=True)
    until_done()
    expect([identity(f) + (os.stat(f).st_ctime_ns,) for f in files()] == then, "changed")
    expect(size() < 8 * 2 * LEFT, size())
    clean()


def test_asked_to_end_afterwards():
    """As at a shutdown: it is not waited for."""
    for _ in range(20):
        pids = run_and_leave(options=("-f",))
        for p in pids:
            kill(p, signal.SIGTERM)
        await_true(lambda: not at_work(), "they do not end", WAIT)
        all_there(2 * LEFT)
        clean()
        if "times smaller" in kymo("compress", "t.kymo").stdout:
            return
    raise Failure("it always goes on")


def drain_among(pids):
    return [p for p in pids if (state(p) or ("",))[0] == "kymo-drain"]


def test_nobody_waits():
    run_and_leave()
    texts = [kymo("summary", "t.kymo"), kymo("info", "t.kymo"), kymo("export", "--to", "json", "-o", "t.json", "t.kymo")]
    for p in texts:
        expect("still" not in p.stdout + p.stderr, "it is not recorded any more:", p.stdout, p.stderr)
    all_there(2 * LEFT)
    shown = content()
    with open("t.kymo/manifest.json", "rb") as f:
        manifest = f.read()
    until_done()
    expect(content() == shown, "not the same")
    expect(size() < 8 * 2 * LEFT, size())
    with open("t.kymo/manifest.json", "rb") as f:
        expect(f.read() == manifest, "the manifest was changed")
    clean()
    expect("nothing left to compress" in kymo("compress", "t.kymo").stdout, "not all was done")


def test_removed_meanwhile():
    run_and_leave()
    subprocess.run(["rm", "-r", "t.kymo"], check=True)
    until_done()
    expect(not os.path.exists("t.kymo"), "it came back:", glob.glob("t.kymo/*"))


def test_replaced_meanwhile():
    run_and_leave()
    record("1", "1000", options=("-f",))
    all_there(1000)
    until_done()
    all_there(1000)
    expect(not glob.glob("t.kymo.old*"), glob.glob("t.kymo*"))


def test_moved_meanwhile():
    run_and_leave()
    os.rename("t.kymo", "u.kymo")
    until_done()
    all_there(2 * LEFT, trace="u.kymo")
    expect(size("u.kymo") < 8 * 2 * LEFT and not os.path.exists("t.kymo"), size("u.kymo"), glob.glob("*"))


def test_killed_afterwards():
    """The drain alone, then all of them: whoever comes next does not touch the trace, and `kymo compress` does the rest."""
    for everybody in (False, True):
        pids = run_and_leave()
        for p in pids if everybody else drain_among(pids):
            kill(p)
        until_done()
        all_there(2 * LEFT)
        expect(len(files()) == 1, files())
        shown = content()
        kymo("compress", "t.kymo")
        expect(content() == shown and size() < 8 * 2 * LEFT, "not the same, or not compressed", size())
        clean()


# ---- beside the program

MANY = 1000000  # of each thread; their file is larger than GROWN

def grown(options=()):
    """A run whose first calls take more than is compressed while they grow, and who waits with the last ones."""
    p = start("2", str(MANY), "0", "500", options=options)
    await_true(lambda: counted("counts")[1] == 2 * (MANY - 500), "the calls", LONG)
    expect(size() > GROWN / 4, "more calls are needed:", size())
    await_true(lambda: any(kymotest.let_compress(d) for d in drain_among(at_work("t.kymo"))), "the thread", LONG)
    await_true(lambda: size() < GROWN / 2, "it is not compressed beside the program", LONG)
    expect(p.poll() is None, "the program has ended")
    return p


def test_while_it_grows():
    p = grown()
    clean()
    kymo("ctl", "flush", "t.kymo")
    r = recorded(KYMO, "t.kymo")
    expect(r["marks"] == 2 * (MANY - 500) and r["damaged"] == 0, r)
    open("counts.go", "w", encoding="utf-8").close()
    finish(p)
    until_done()
    all_there(2 * MANY)
    clean()


def test_drain_is_killed_meanwhile():
    """Another one goes on with the compressed file."""
    p = grown()
    for d in drain_among(at_work("t.kymo")):
        kill(d)
    open("counts.go", "w", encoding="utf-8").close()
    expect("was started again" in finish(p), "not told")
    until_done()
    all_there(2 * MANY)
    clean()


def test_killed_when_small_files_are_done():
    """They are smaller then than the drain that goes on knows: nothing of them is lost."""
    for _ in range(20):
        p = start(options=("-f", "--buffer-size", "512M"), command=("sh", "-c", f"{LOAD} a 1 10; {LOAD} b 4 200000; exit 7"))
        await_true(lambda: drain_among(at_work("t.kymo")) or p.poll() is not None, "the drain")
        drains, met = drain_among(at_work("t.kymo")), False
        while drains and not met and p.poll() is None:
            met = kymotest.compresses(drains[0], "t.kymo")
        if met:
            kill(drains[0])
        finish(p)
        until_done()
        with open("t.kymo/manifest.json", encoding="utf-8") as f:
            met = json.load(f)["totals"]["drain_restarts"] == 1
        if met:
            break
    expect(met, "the moment was not met")
    all_there(800010, processes=2)
    said = kymo("summary", "t.kymo")
    expect("the rest is lost" not in said.stdout + said.stderr, said.stdout, said.stderr)
    clean()


def test_all_are_killed_meanwhile():
    p = grown()
    pids = at_work("t.kymo")
    os.killpg(p.pid, signal.SIGKILL)
    for pid in pids:
        kill(pid)
    p.communicate(timeout=WAIT)
    await_true(lambda: not any(alive(pid) for pid in pids), "they live")
    expect(size() < GROWN, size())
    r = recorded(KYMO, "t.kymo")
    named(r)
    expect(0.9 * 2 * MANY < r["marks"] <= counted("counts")[0] and r["damaged"] == 0, r)
    clean()


def test_removed_while_it_grows():
    p = grown()
    subprocess.run(["rm", "-r", "t.kymo"], check=True)
    open("counts.go", "w", encoding="utf-8").close()
    finish(p)
    until_done()
    expect(not glob.glob("t.kymo/raw/*"), "it came back:", glob.glob("t.kymo/raw/*"))


def main():
    failed, home = 0, os.getcwd()
    for name, test in [(n, f) for n, f in globals().items() if n.startswith("test_")]:
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        with kymotest.Folder(prefix="kymo-harm-") as folder:
            os.chdir(folder)
            try:
                skipped = test()
                print("skip" if skipped else "ok  ", name, skipped or "", flush=True)
            except (Failure, OSError, subprocess.SubprocessError, ValueError) as e:
                failed += 1
                print("FAIL", name, type(e).__name__, e, flush=True)
            os.chdir(home)
    return 1 if failed else 0


if __name__ == "__main__":
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    sys.exit(main())
