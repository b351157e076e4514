#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kymo export writes where it may, all or nothing: what is there stays where nothing comes of it, and traces that are
read are not written over.

Usage: outputs.py KYMO KYMO_SYNTH
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
FORMATS = ("json", "jsonl", "text", "perfetto", "store", "csv")
PROFILES = ("folded", "speedscope", "pprof")
# glibc fills what is freed with a byte; not what its caches hold.
OVERWRITTEN = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
NOTHING = ("-p", "nosuchprogram")
LIST = subprocess.run([KYMO, "list", "formats"], capture_output=True, text=True, check=True).stdout
WRITERS = [line.split()[0] for line in LIST.splitlines() if "write" in line.split()[1:3]]


def kymo(*words, **environment):
    return subprocess.run([KYMO, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
                          env=dict(os.environ, **environment))


def synth(*words):
    subprocess.run([SYNTH, *words], check=True, stdout=subprocess.DEVNULL)


def content(path):
    """Of a file, or of all in a folder; None: nothing is there."""
    if os.path.isdir(path):
        return {name: content(os.path.join(path, name)) for name in sorted(os.listdir(path))}
    if not os.path.exists(path):
        return None
    with open(path, "rb") as f:
        return f.read()


def same_again(words, path):
    """A failing command leaves a folder as it was."""
    before = content(path)
    p = kymo(*words)
    expect(content(path) == before, words, "changed", path, p.stderr)
    return p


def test_nothing_matches():
    for to in FORMATS:
        os.mkdir(to)
        words = ["export", "--to", to, "-o", f"{to}/out"]
        p = same_again([*words, *NOTHING, "t.kymo"], to)
        expect(p.returncode == 2, p)
        expect(kymo(*words, "t.kymo").returncode == 0, words)
        expect(content(to) and list(content(to)) == ["out"], os.listdir(to))
        p = same_again([*words, "-f", *NOTHING, "t.kymo"], to)
        expect(p.returncode == 2 and "no records that match --process" in p.stderr, p)
        # None of several traces has it.
        p = same_again(["export", "--to", to, *NOTHING, "t.kymo", "u.kymo"], ".")
        expect(p.returncode == 2 and "all traces" in p.stderr, p)
        p = same_again([*words, "t.kymo"], to)
        expect(p.returncode == 3 and "--force" in p.stderr, p)


def test_replaced():
    for to in FORMATS:
        out = f"again-{to}"
        expect(kymo("export", "--to", to, "-o", out, "t.kymo").returncode == 0, to)
        whole = content(out)
        if to == "csv":
            with open(f"{out}/mine.txt", "w", encoding="utf-8") as f:
                f.write("mine")
            with open(f"{out}/calls.csv", "w", encoding="utf-8") as f:
                f.write("old")
        else:
            with open(out, "w", encoding="utf-8") as f:
                f.write("old")
            os.chmod(out, 0o640)
        expect(kymo("export", "-f", "--to", to, "-o", out, "t.kymo").returncode == 0, to)
        got = content(out)
        if to == "csv":
            expect(got.pop("mine.txt") == b"mine", "another's file is gone")
        else:
            expect(os.stat(out).st_mode & 0o777 == 0o640, oct(os.stat(out).st_mode))
        expect(to == "store" or got == whole, to, "differs")


def test_memory_after_it_is_freed():
    """Writers end after the reader has freed the trace: with freed memory overwritten they do the same."""
    expect({"rocpd", "paraver", *FORMATS} <= set(WRITERS), WRITERS)
    for to in WRITERS:
        for words in ((), NOTHING):
            got = [kymo("export", "-f", "--to", to, "-o", f"freed-{to}{i}", *words, "t.kymo", **environment)
                   for i, environment in enumerate(({}, OVERWRITTEN))]
            fine = 2 if words else 3 if to in PROFILES else 0  # there are no samples
            expect(got[0].returncode == got[1].returncode == fine, to, got)


def test_nothing_recorded():
    """A trace without records is written, as what it is."""
    shutil.copytree("t.kymo", "empty.kymo")
    for name in os.listdir("empty.kymo/raw"):
        os.unlink(f"empty.kymo/raw/{name}")
    for to in [name for name in WRITERS if name not in PROFILES]:
        p = kymo("export", "--to", to, "-o", f"empty-{to}", "empty.kymo")
        expect(p.returncode == 0 and os.path.exists(f"empty-{to}") and "error" not in p.stderr, to, p)
    for to in ("rocpd", "rocpd:folder"):
        expect(kymo("export", "-f", "--to", to, "-o", "empty.rpdb", "empty.kymo").returncode == 0, to)
        p = kymo("info", "empty.rpdb")
        expect(p.returncode == 0 and "Records      0\n" in p.stdout, p)
        kymotest.remove("empty.rpdb") if os.path.isdir("empty.rpdb") else os.unlink("empty.rpdb")


def test_own_folders_are_replaced():
    """Formats that are folders, with folders in them, go over what the same command wrote before."""
    for to in [name for name in WRITERS if name not in PROFILES]:
        for trace in ("large.kymo", "t.kymo", "t.kymo"):
            p = kymo("export", "-f", "--to", to, "-o", f"over-{to}", trace)
            expect(p.returncode == 0, to, trace, p)
        expect(kymo("export", "--to", to, "-o", f"fresh-{to}", "t.kymo").returncode == 0, to)
        if not os.path.isdir(f"over-{to}"):
            continue
        for folder, _, names in os.walk(f"fresh-{to}"):
            for name in names:
                path = os.path.join(folder, name)
                expect(os.path.getsize(path) == os.path.getsize(path.replace("fresh", "over", 1)), path)
    expect(not [name for name in os.listdir(".") if name.startswith(".over")], os.listdir("."))


def test_links_and_devices():
    os.mkdir("real")
    os.symlink("real/x.json", "link.json")
    open("real/x.json", "w", encoding="utf-8").close()
    expect(kymo("export", "-f", "--to", "json", "-o", "link.json", "t.kymo").returncode == 0, "link")
    expect(os.path.islink("link.json") and os.path.getsize("real/x.json") > 100, "the link was replaced")
    expect(kymo("export", "-f", "--to", "json", "-o", "/dev/null", "t.kymo").returncode == 0, "/dev/null")
    p = kymo("export", "-f", "--to", "json", "-o", "/dev/stdout", "t.kymo")
    expect(p.returncode == 0 and p.stdout == content("real/x.json").decode(), p.stderr)
    p = kymo("export", "--to", "json", "-o", "lost/x.json", "t.kymo")
    expect(p.returncode == 3 and "lost/x.json: cannot be written: No such file" in p.stderr, p)


def test_trace_is_not_written_over():
    (raw,) = ["t.kymo/raw/" + name for name in os.listdir("t.kymo/raw")][:1]
    os.symlink("t.kymo", "way")
    os.symlink(raw, "file")
    for to, out in (("json", raw), ("json", "t.kymo/manifest.json"), ("json", "t.kymo/new.json"), ("csv", "t.kymo/raw"),
                    ("csv", "t.kymo"), ("csv", "t.kymo/raw/new"), ("csv", "t.kymo/new/"), ("store", "t.kymo/store.db"),
                    ("json", "way/raw/new"), ("json", "file"), ("perfetto", os.path.abspath(raw)), ("text", f"u.kymo/../{raw}")):
        for force in ([], ["-f"]):
            p = same_again(["export", *force, "--to", to, "-o", out, "t.kymo"], "t.kymo")
            expect(p.returncode == 2 and "is in the trace" in p.stderr, out, p)
    p = same_again(["export", "-f", "--to", "json", "-o", raw, "way"], "t.kymo")
    expect(p.returncode == 2, "the trace by a link", p)
    # Other traces are not read; beside is not in.
    expect(kymo("export", "--to", "json", "-o", "t.kymo.json", "t.kymo").returncode == 0, "beside")
    expect(kymo("export", "--to", "json", "-o", "u.kymo/new.json", "t.kymo").returncode == 0, "another trace")


def test_signals():
    """While it is written, a signal leaves nothing."""
    os.mkdir("ended")
    for to in ("json", "csv", "store"):
        for end in (signal.SIGTERM, signal.SIGINT):
            p = subprocess.Popen([KYMO, "export", "--to", to, "-o", "ended/out", "large.kymo"], stderr=subprocess.DEVNULL,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            kymotest.wait_for(lambda: os.listdir("ended") or p.poll() is not None, "output begins", pause=0)
            p.send_signal(end)
            status = p.wait()
            if status == 0:
                expect(os.listdir("ended") == ["out"], to, os.listdir("ended"))
                kymotest.remove("ended/out") if to == "csv" else os.unlink("ended/out")
            else:
                expect(status == -end and not os.listdir("ended"), to, end, status, os.listdir("ended"))


def raw_files(folder):
    """Whether a file of a trace is below it; what is gone meanwhile is none."""
    return any(name.endswith(".kyr") for _, _, names in os.walk(folder) for name in names)


def test_signals_of_imports():
    """While another tool's file is made a trace, for good or for a while, a signal leaves nothing."""
    with open("large.json", "w", encoding="utf-8") as f:
        json.dump([{"ph": "X", "name": f"n{i % 50}", "pid": i % 40, "tid": 1, "ts": i, "dur": 1} for i in range(200000)], f)
    os.mkdir("imported")
    for words in (("import", "large.json", "-o", "imported/out.kymo"), ("summary", "large.json")):
        for end in (signal.SIGTERM, signal.SIGINT):
            p = subprocess.Popen([KYMO, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env=dict(os.environ, TMPDIR=os.path.abspath("imported")),
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            kymotest.wait_for(lambda: raw_files("imported") or p.poll() is not None, "files of the trace", pause=0)
            p.send_signal(end)
            status = p.wait()
            expect(status == -end or (status == 0 and words[0] == "import"), words, status)
            expect(status == 0 or not os.listdir("imported"), words, os.listdir("imported"))
            if status == 0:
                kymotest.remove("imported/out.kymo")


def main():
    failed = 0
    with kymotest.Folder() as folder:
        os.chdir(folder)
        synth("demo", "t.kymo")
        synth("demo", "u.kymo")
        synth("bulk", "large.kymo", "2", "100000")
        for name, test in sorted(globals().items()):
            if not name.startswith("test_"):
                continue
            try:
                test()
                print("ok  ", name, flush=True)
            except (Failure, OSError, subprocess.SubprocessError) as e:
                failed += 1
                print("FAIL", name, type(e).__name__, e, flush=True)
        os.chdir("/")
    return 1 if failed else 0


sys.exit(main())
