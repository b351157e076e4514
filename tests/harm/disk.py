#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reaches the disk, whoever dies next and whatever the file system refuses: records have their
names, and what is missing is counted.

Usage: disk.py BUILD
"""
import errno
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

sys.dont_write_bytecode = True
from account import (WAIT, alive, await_true, counted, drain_of, everybody_of, exact, expect, keeper_of, kill,
                     named, recorded, Failure)

BUILD = os.path.abspath(sys.argv[1])
KYMO = BUILD + "/bin/kymo"
LOAD = BUILD + "/tests/harm/load"
FAIL_WRITE = BUILD + "/tests/harm/fail_write.so"
ENDLESS = str(1 << 40)


def start(*load, options=(), trace="t.kymo", **popen):
    return subprocess.Popen([KYMO, "run", "--no-summary", "--no-compress", "-o", trace, *options, LOAD,
                             "counts", *load], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            start_new_session=True, **popen)


def raw_bytes(trace="t.kymo"):
    try:
        return sum(os.path.getsize(f"{trace}/raw/{name}") for name in os.listdir(trace + "/raw"))
    except OSError:
        return 0


def finish(p, status=7):
    out, err = p.communicate(timeout=WAIT)
    expect(p.returncode == status and out == "done\n", "the program gave", p.returncode, out, err)
    expect("--buffer-size" not in err, "advice that does not fit:", err)
    return err


def said(*words):
    p = subprocess.run([KYMO, *words], capture_output=True, text=True, timeout=WAIT, check=False)
    return p.stdout + p.stderr


def test_everybody_is_killed():
    """As a container is stopped: the drain and the launcher first, the program at once after."""
    for load, what in ((("2", ENDLESS), "marks"), (("2", ENDLESS, "cl"), "kernels")):
        trace = what + ".kymo"
        p = start(*load, trace=trace)
        await_true(lambda: raw_bytes(trace) > 300000, "records on the disk")
        victims = [v for v in everybody_of(p.pid) if v]
        expect(len(victims) == 4, victims)
        for pid in victims:
            kill(pid)
        p.communicate(timeout=WAIT)
        await_true(lambda: not any(alive(pid) for pid in victims), "they die")
        r = recorded(KYMO, trace)
        named(r)
        expect(0 < r[what] <= counted("counts")[0], what, "recorded:", r)
        os.unlink("counts")


def lossy(trace, *errors):
    begun, done = counted("counts")
    r = recorded(KYMO, trace)
    if r["marks"]: # else not even a definition may have been written
        named(r)
    expect(r["lost"] > 0 and r["damaged"] == 0, "nothing lost?", r)
    exact(r, "marks", begun, done)
    expect(r["marks"] + r["lost"] == done, "made:", done, "accounted for:", r)
    with open(trace + "/manifest.json", encoding="utf-8") as f:
        m = json.load(f)
    expect(m["totals"]["lost_records"] == r["lost"], m["totals"], r)
    for words in (("summary", trace), ("info", trace)):
        text = said(*words).replace(",", "")
        expect(str(r["lost"]) in text, words, "does not say", r["lost"], text)
        if words[0] == "summary":
            expect(f"The file system refused {r['lost']} of the records; -o puts" in text and
                   "--buffer-size" not in text, "where they went:", text)
        else:
            expect(re.search(rf"refused by the file system +{r['lost']}\n", text), text)
    expect(any(e in str(m["errors"]) for e in errors), "the reason:", m["errors"])
    if 10 * r["lost"] > done:  # each of them once in the whole
        text = " ".join(said("diagnose", trace).split())
        expect(f"{r['lost']:,} of {done:,} records were lost" in text, "of how many:", done, text)
        expect(f"try: put the trace elsewhere (-o): the file system refused {r['lost']:,} of the records" in text and
               "--buffer-size" not in text, "advice:", text)


def test_full_file_system():
    os.mkdir("full")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", "full"],
                      stderr=subprocess.DEVNULL, check=False).returncode:
        return "tmpfs cannot be mounted here"
    try:
        said_then = finish(start("2", "400000", trace="full/t.kymo"))
        where = os.path.realpath("full")
        expect(f'the file system at "{where}" has 4.0 MiB, of which ' in said_then, said_then)
        subprocess.run(["mv", "full/t.kymo", "moved.kymo"], check=True)
        lossy("moved.kymo", os.strerror(errno.ENOSPC))
    finally:
        subprocess.run(["umount", "-l", "full"], check=True)
    return None


def test_file_size_limit():
    limit = 4 << 20
    p = start("2", "400000", trace="limit.kymo",
              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    finish(p)
    lossy("limit.kymo", os.strerror(errno.EFBIG))


def test_disk_fails():
    """A write is refused: this one alone, or all from then on, so that not even the end is written."""
    for error, count in ((errno.EIO, 1), (errno.EIO, 1 << 40), (errno.EDQUOT, 1 << 40)):
        for at in (3, 9):
            trace = f"e{error}-{count & 1}-{at}.kymo"
            p = start("2", "200000", trace=trace,
                      env=dict(os.environ, LD_PRELOAD=FAIL_WRITE, FAIL_AT=str(at),
                               FAIL_COUNT=str(count), FAIL_WITH=str(error)))
            finish(p)
            lossy(trace, os.strerror(error))


def test_a_hang_is_looked_at():
    """Two threads in calls that do not return; then one more flush when one of them is back."""
    p = subprocess.Popen([KYMO, "run", "--no-summary", "-o", "hang.kymo", LOAD, "counts", "2", "1", "hang"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.PIPE)
    await_true(lambda: counted("counts")[0] == 2, "both hang")
    # They have said that they are about to call.
    def flushed():
        f = subprocess.run([KYMO, "ctl", "flush", "hang.kymo"], capture_output=True, text=True,
                           timeout=WAIT, check=False)
        expect(f.returncode == 0, f)
        q = subprocess.run([KYMO, "query", "--format", "json", "hang.kymo",
                            "SELECT o.name, p.recording, p.seen - c.start AS age FROM open_call c "
                            "JOIN op o ON o.id = c.op JOIN thread t ON t.id = c.thread "
                            "JOIN process p ON p.id = t.process"], capture_output=True, text=True,
                           timeout=WAIT, check=False)
        return json.loads(q.stdout)
    rows = await_true(lambda: len(flushed()) == 2 and flushed(), "two open calls")
    expect(all(r["name"] == "clWaitForEvents" and r["recording"] == 1 and r["age"] > 0 for r in rows), rows)
    text = said("summary", "hang.kymo")
    expect("is still recording (last data" in text and "Calls that had not finished" in text, text)
    expect("Lost: nothing so far; 1 process is still recording." in text, text)
    expect(subprocess.run([KYMO, "summary", "--strict", "hang.kymo"], capture_output=True, timeout=WAIT,
                          check=False).returncode == 0, "a recording that goes on is no loss")
    text = said("info", "hang.kymo")
    expect(text.count("clWaitForEvents since") == 2 and "still recording (last data" in text, text)
    expect("is open: still recording" in said("show", "hang.kymo"), "show")
    p.stdin.write("x")
    p.stdin.flush()
    await_true(lambda: counted("counts")[1] == 1, "one returns")
    rows = await_true(lambda: len(flushed()) == 1 and flushed(), "one open call")
    p.stdin.write("x")
    p.stdin.flush()
    out, err = p.communicate(timeout=WAIT)
    expect(p.returncode == 7 and out == "done\n", out, err)
    text = said("summary", "hang.kymo")
    expect("had not finished" not in text and "never finished" not in text and "Lost: nothing." in text, text)


def test_the_end_is_missing():
    """Neither file nor manifest have an end: nobody may say that nothing was lost."""
    p = start("1", ENDLESS, "100000", trace="cut.kymo")
    await_true(lambda: raw_bytes("cut.kymo") > 2000, "records on the disk")
    for pid in everybody_of(p.pid):
        kill(pid)
    p.communicate(timeout=WAIT)
    await_true(lambda: not kymotest.writers("cut.kymo"), "all that were killed are gone")
    text = said("summary", "cut.kymo")
    expect("is missing: what was lost after" in text and "Lost: nothing" not in text, text)
    expect("recordings without end" in said("info", "cut.kymo"), "info")
    strict = subprocess.run([KYMO, "summary", "--strict", "cut.kymo"], capture_output=True, timeout=WAIT,
                            check=False)
    expect(strict.returncode == 1, "--strict gave", strict.returncode)


def test_strict():
    for options, status in ((["--buffer-size", "512k", "--on-full", "drop"], 1), ([], 0)):
        p = subprocess.run([KYMO, "run", "--strict", "-f", "-o", "s.kymo", *options, "sh", "-c",
                            f"{LOAD} counts 4 {300000 if status else 1000}; [ $? -eq 7 ]"], capture_output=True,
                           text=True, timeout=WAIT, check=False)
        expect(p.returncode == status, options, "gave", p.returncode, p.stderr)
        expect(("--buffer-size" in p.stderr) == (status == 1), "advice:", p.stderr)
        q = subprocess.run([KYMO, "summary", "--strict", "s.kymo"], capture_output=True, text=True,
                           timeout=WAIT, check=False)
        expect(q.returncode == status and ("--buffer-size" in q.stdout) == (status == 1), q)
        expect("memory" not in p.stderr + q.stdout, "a full buffer is no want of memory:", p.stderr, q)


def test_strict_of_damage():
    """A program that spoils what it shares ends well, but its recording did not."""
    for options, status in ((["--strict"], 1), ([], 0)):
        p = subprocess.run([KYMO, "run", *options, "-f", "-o", "d.kymo", BUILD + "/bin/harm_scribble"],
                           capture_output=True, text=True, timeout=WAIT, check=False)
        if p.returncode == 77:
            return "the memory is not found in /proc/self/maps"
        expect(p.returncode == status and "1 chunks were damaged by the program" in p.stderr, options, p)
        expect(re.search(r"Lost: [12] damaged blocks?\.", p.stderr), p.stderr)
        q = subprocess.run([KYMO, "summary", "--strict", "d.kymo"], capture_output=True, timeout=WAIT, check=False)
        expect(q.returncode == 1, q)
    return None


def test_strict_of_an_unreadable_trace():
    """What nobody can read nobody can call complete; it is read, and said to be unreadable, once."""
    for options in ([], ["--no-summary"]):
        p = subprocess.run([KYMO, "run", "--strict", "-f", "-o", "u.kymo", *options, "sh", "-c",
                            f"{LOAD} counts 1 1000; rm -r u.kymo/raw"], capture_output=True, text=True,
                           timeout=WAIT, check=False)
        expect(p.returncode == 1, options, p)
        expect(p.stderr.count("not a Kymo trace") == 1, options, p.stderr)


def test_a_crowd_of_threads():
    """More threads alive than the buffer has chunks: nothing is lost, and it costs a chunk a thread."""
    for threads, options in ((3000, []), (600, ["--buffer-size", "1M", "--on-full", "drop"]),
                             (600, ["--buffer-size", "1M", "--on-full", "overwrite"])):
        p = subprocess.run([KYMO, "run", "--no-summary", "-f", "-o", "crowd.kymo", *options,
                            BUILD + "/tests/harm/crowd", str(threads)], capture_output=True, text=True,
                           timeout=WAIT, check=False)
        if p.returncode == 77:
            return "so many threads cannot be made here"
        expect(p.returncode == 7, p)
        r = recorded(KYMO, "crowd.kymo")
        named(r)
        expect(r["marks"] == 2 * threads and r["lost"] == 0 and r["overwritten"] == 0, threads, options, r)
        kilobytes = int(p.stdout)
        expect(kilobytes < 40 * threads + (40 << 10), threads, "threads took", kilobytes, "kB")
    return None


def test_short_threads():
    """More threads one after the other than the buffer has chunks, and a drain that does nothing meanwhile:
    what each leaves is no reason to lose the next one's."""
    p = subprocess.Popen([KYMO, "run", "--no-summary", "-o", "short.kymo", "--block-time", "0",
                          BUILD + "/tests/harm/crowd", "3000", "after"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)
    expect(p.stdout.readline() == "begun\n", "did not begin")
    drain = drain_of(p.pid)
    os.kill(drain, signal.SIGSTOP)
    p.stdin.write("go\n")
    p.stdin.flush()
    kilobytes = p.stdout.readline()
    os.kill(drain, signal.SIGCONT)
    out, _ = p.communicate(timeout=WAIT)
    expect(p.returncode == 7 and out == "", p.returncode, out)
    r = recorded(KYMO, "short.kymo")
    named(r)
    expect(r["marks"] == 3001 and r["lost"] == 0, r)
    expect(int(kilobytes) < 40 * 3000 + (40 << 10), "took", kilobytes, "kB")


def test_a_dead_drain_is_known():
    """Nobody waits for room that nobody makes: not the block time, not until the heart beats no more."""
    p = start("2", "600000", options=["--buffer-size", "1M", "--block-time", "90s"], trace="dead.kymo")
    await_true(lambda: raw_bytes("dead.kymo") > 100000, "records on the disk")
    drain = drain_of(p.pid)
    kill(keeper_of(p.pid)) # else there would be another
    kill(drain)
    began = time.monotonic()
    out, err = p.communicate(timeout=WAIT)
    took = time.monotonic() - began
    expect(p.returncode == 7 and out == "done\n" and "drain ended unexpectedly" in err, out, err)
    expect(counted("counts")[1] == 1200000, "the program did not do its work")
    expect(took < 60, "the program waited for a dead drain:", took, "s")
    named(recorded(KYMO, "dead.kymo"))


def test_nobody_records_any_more():
    """Drain and keeper are killed while two threads record: what there is, and what is not known, is told."""
    p = subprocess.Popen([KYMO, "run", "--no-compress", "-o", "gone.kymo", LOAD, "counts", "2", "6000000"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    await_true(lambda: raw_bytes("gone.kymo") > 100000, "records on the disk")
    drain = drain_of(p.pid)
    kill(keeper_of(p.pid))
    kill(drain)
    out, err = p.communicate(timeout=WAIT)
    expect(p.returncode == 7 and out == "done\n", p.returncode, out, err)
    expect("drain ended unexpectedly" in err, err)
    for text in err, said("summary", "gone.kymo"):
        expect(re.search(r"^Marks", text, re.M), "no summary:", text)
        expect("the end of 1 recording is missing" in text, text)
        expect("Overhead: not known: the end of a recording tells it." in text, text)
    # What is behind it are messages: the drain may have been killed in a write.
    tables = json.JSONDecoder().raw_decode(said("summary", "--format", "json", "gone.kymo"))[0]["tables"]
    quality, = [t["rows"][0] for t in tables if t["name"] == "quality"]
    expect(quality["overhead_ns"] is None and quality["overhead_beside_ns"] is None, quality)


def test_who_records_later():
    """Two processes outlive the program and begin to record only then: nobody says that nothing was recorded."""
    for name in "ab":
        os.mkfifo(name)
    later = " ".join(f"(: > there-{name}; read x < {name}; exec {LOAD} counts-{name} 1 1000) > /dev/null 2>&1 &" for name in "ab")
    later += " until [ -e there-a ] && [ -e there-b ]; do :; done" # they have said that they are there by then
    p = subprocess.run([KYMO, "run", "-o", "later.kymo", "sh", "-c", later], capture_output=True, text=True,
                       timeout=WAIT, check=False)
    expect(p.returncode == 0, p)
    expect("nothing was recorded so far: 2 of the program's processes run on" in p.stderr, p.stderr)
    expect("no process that could reach" not in p.stderr, p.stderr)
    for name in "ab":
        with open(name, "w", encoding="ascii") as f:
            f.write("go\n")
    await_true(lambda: all(os.path.exists(f"counts-{name}") and counted(f"counts-{name}")[1] == 1000 for name in "ab"),
               "they do their work")
    await_true(lambda: not kymotest.writers("later.kymo"), "their recordings end")
    r = recorded(KYMO, "later.kymo")
    expect(r["marks"] == 2000 and r["processes"] == 2 and r["endless"] == 0, r)


def test_a_job_that_is_killed():
    """Its ranks' launchers get SIGTERM when their program has ended, and wait for others: what was recorded is
    told. Of two ranks one never comes."""
    p = subprocess.Popen([KYMO, "run", "-o", "job.kymo", LOAD, "counts", "1", "1000"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True,
                         env=dict(os.environ, KYMO_JOB=f"job{os.getpid()}", PMI_RANK="0", PMI_SIZE="2"))
    def ended():
        """The program has been waited for by the drain; the launcher waits for the other rank."""
        try:
            with open("job.kymo/manifest.json", encoding="utf-8") as f:
                return json.load(f)["state"] != "recording"
        except (OSError, ValueError, KeyError):
            return False
    await_true(lambda: ended() or p.poll() is not None, "the recording ends")
    p.terminate()
    _, err = p.communicate(timeout=WAIT)
    expect(p.returncode == 7 and "Lost: nothing" in err and "kymo: trace in" in err, p.returncode, err)


def main():
    failed = 0
    selected = sys.argv[2:]
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (selected and name not in selected):
            continue
        with kymotest.Folder(prefix="kymo-disk-") as folder:
            os.chdir(folder)
            try:
                skipped = test()
                print(f"{name}: {'skipped: ' + skipped if skipped else 'passed'}", flush=True)
            except (Failure, OSError, KeyError, subprocess.SubprocessError) as e:
                failed += 1
                print(f"{name}: FAILED: {e}", flush=True)
            os.chdir("/")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
