#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What exports and imports say of what they did: how much was written, where, what stayed out, what is damaged.

    exchange.py KYMO KYMO_SYNTH EVERY_KIND COUNT_SYNC"""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO, SYNTH, EVERY, SYNC = (os.path.abspath(a) for a in sys.argv[1:5])
LIST = subprocess.run([KYMO, "list", "formats"], capture_output=True, text=True, check=True).stdout
HAS = {line.split()[0] for line in LIST.splitlines()[1:] if line.strip()}


def kymo(*words, status=0, **more):
    p = subprocess.run([KYMO, *words], capture_output=True, text=True, errors="replace", timeout=300, check=False,
                       env=kymotest.environment(**more))
    expect(status is None or p.returncode == status, words, "gave", p.returncode, p.stdout[:500], p.stderr[:2000])
    return p


def query(trace, sql):
    return [tuple(row.values()) for row in json.loads(kymo("query", "--format", "json", trace, sql).stdout)]


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def demo():
    if not os.path.exists("demo.kymo"):
        subprocess.run([SYNTH, "demo", "demo.kymo"], check=True, stdout=subprocess.DEVNULL)
    return "demo.kymo"


# ---- exports -------------------------------------------------------------------------------------

def test_how_many_were_written():
    """Of every kind of record in two processes: what has no place is not among those that are written."""
    subprocess.run([EVERY, "every.kymo"], check=True, stdout=subprocess.DEVNULL)
    said = kymo("export", "--to", "jsonl", "-o", "all.jsonl", "every.kymo").stderr
    total = int(re.search(r"all.jsonl: (\d+) records, jsonl\n", said).group(1))
    told = {}
    for to in ("folded", "caliper", "rocprofv3", "rocprofv3:json", "paraver", "xspace", "rocpd", "perfetto", "chrome"):
        if to.split(":")[0] not in HAS:
            continue
        said = kymo("export", "--to", to, "-o", to, "every.kymo").stderr
        m = re.search(r": wrote (\d+) of (\d+) records, (\w+); (\d+) had no place\n", said)
        if not m:
            expect(f"{to}: {total} records, {to}\n" in said, to, said)
            continue
        wrote, of, left = int(m.group(1)), int(m.group(2)), int(m.group(4))
        whole = re.search(r" no (?:place|CSV file) for: (.*?)(?:; no whole records: .*)?\n", said).group(1)
        told[to] = {k.strip(): int(n) for k, n in re.findall(r"([^,()]+?) \((\d+)\)", whole.replace(", ", ","))}
        expect((of, wrote + left) == (total, total), to, said)
        lost = [k for k in told[to] if "that were lost" in k] # of these so many are told as were lost: a record in each process
        expect(sum(n for k, n in told[to].items() if k not in lost) + 2 * len(lost) == left, to, said)
        expect(all(said.count(f" {k} (") == 1 for k in told[to]), to, "something is told twice", said)
    counts = dict(query("every.kymo", "SELECT 'sync', count(*) FROM sync UNION SELECT 'comm', count(*) FROM comm UNION SELECT 'allocation', count(*) FROM allocation "
                        "UNION SELECT 'calls', count(*) FROM call"))
    for to, kinds in (("folded", ("calls", "sync", "comm", "allocation")), ("caliper", ("sync", "comm", "allocation")),
                      ("rocprofv3", ("sync", "comm"))):
        expect(to not in HAS or to in told, to, "left out nothing")
        for kind in kinds:
            expect(to not in told or told[to].get(kind) == counts[kind], to, kind, told[to].get(kind), counts[kind])
    expect("perfetto" not in told and "chrome" not in told, "formats that keep all", told)


def test_places_that_users_know():
    """Errors name the output, not the hidden file that is written until it is whole."""
    demo()
    script = 'ulimit -f 1; exec "$@"'
    for to, out in (("json", "x.json"), ("csv", "x-csv"), ("rocpd", "x.db"), ("perfetto", "x.pftrace"), ("store", "x.store"), ("text", "x.txt")):
        if to not in HAS:
            continue
        p = subprocess.run(["sh", "-c", script, "sh", KYMO, "export", "--to", to, "-o", out, "demo.kymo"], capture_output=True, text=True, check=False)
        expect(p.returncode == 3 and re.search(rf"error: {out}(/[^:]*)?: ", p.stderr) and "/." not in p.stderr and not os.path.exists(out), to, p.stderr)
    kymo("export", "--to", "perfetto", "-o", "d.pftrace", "demo.kymo")
    p = subprocess.run(["sh", "-c", script, "sh", KYMO, "import", "--no-compress", "-o", "d.kymo", "d.pftrace"], capture_output=True, text=True, check=False)
    expect(p.returncode == 3 and "error: d.kymo/raw/" in p.stderr and not os.path.exists("d.kymo"), p.stderr)


def test_format_that_can_be_written_only():
    demo()
    kymo("export", "--to", "json", "-o", "d.json", "demo.kymo")
    for name, said in (("json", 'the format "json" can be written only'), ("nosuch", 'there is no format "nosuch"')):
        expect(said in kymo("import", "--from", name, "d.json", status=2).stderr, name)


def test_trace_with_nothing_in_it():
    """What comes of one is known again, and said to have nothing in it: not damaged, not unknown."""
    kymo("run", "--no-summary", "-o", "empty.kymo", "true")
    for to in ("ctf", "rocprofv3:csv", "rocprofv3:json", "chrome", "perfetto", "xspace", "otf2"):
        if to.split(":")[0] not in HAS:
            continue
        remove("empty")
        kymo("export", "--to", to, "-o", "empty", "empty.kymo")
        said = kymo("import", "-o", "again.kymo", "empty", status=3).stderr
        expect("error: empty: there is no event in it that can be taken" in said and "damaged" not in said, to, said)


# ---- imports -------------------------------------------------------------------------------------

def cut_once(to, source, which, tenth):
    """The status of an import of the cut output, and of a strict summary of what it made."""
    remove("cut")
    remove("cut.kymo")
    (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, "cut")
    path = "cut"
    if os.path.isdir("cut"):
        path = next(os.path.join(f, n) for f, _, names in sorted(os.walk("cut")) for n in sorted(names) if which in n)
    os.truncate(path, os.path.getsize(path) * tenth // 10)
    p = kymo("import", "-o", "cut.kymo", "cut", status=None)
    lines = p.stderr.splitlines()
    expect(p.returncode in (0, 3), to, which, tenth, p.returncode, p.stderr)
    expect(os.path.exists("cut.kymo") == (p.returncode == 0), to, which, tenth, "a trace", p.stderr)
    if p.returncode:
        expect(lines[0].startswith("kymo: error: "), to, which, tenth, "what failed comes first", p.stderr)
        return 3
    expect(lines[0].startswith("kymo: warning: ") and not any(l.startswith("kymo: error") for l in lines), to, which, tenth, p.stderr)
    kymo("summary", "--strict", "cut.kymo", status=1)
    return 0


def test_cut_files():
    """One rule: read up to the damage, a warning, status 0 and loss in the trace; of what has nothing that can be read, 3."""
    demo()
    table = (("chrome", "d.json", ""), ("chrome", "d.json.gz", ""), ("perfetto", "d.pftrace", ""), ("xspace", "d.xplane.pb", ""), ("rocprofv3:json", "r.json", ""),
             ("rocprofv3:csv", "r-csv", "kernel_trace"), ("rocpd", "d.db", ""), ("otf2", "d-otf2", "1.evt"), ("otf2", "d-otf2", ".def"), ("ctf", "d-ctf", "records_1"),
             ("ctf", "d-ctf", "definitions"), ("ctf", "d-ctf", "metadata"))
    for to, out, which in table:
        if to.split(":")[0] not in HAS:
            continue
        kymo("export", "-f", "--to", to, "-o", out, "demo.kymo")
        results = [cut_once(to, out, which, tenth) for tenth in range(10)]
        if which not in (".def", "definitions", "metadata"): # without which nothing is known
            expect(0 in results, to, which, "nothing is read of any part of it")
        if which == "records_1": # of several files the others are read
            expect(results == 10 * [0], to, which, results)
        print("  ", to, which, results)


def test_what_failed_comes_first():
    """The explanation, then what was noticed on the way."""
    with open("none.json", "w", encoding="utf-8") as f:
        f.write('{"traceEvents": [{"ph": "Z", "ts": 1, "pid": 1, "name": "x"}, {"ph": "O", "ts": 1, "pid": 1, "name": "x"}]}')
    lines = kymo("import", "none.json", status=3).stderr.splitlines()
    expect(len(lines) == 3 and "error: none.json: there is no event in it" in lines[0] and all("warning: none.json: not taken" in x for x in lines[1:]), lines)


def test_folder_of_several_formats():
    """Which was taken, and how many files of others were left."""
    demo()
    kymo("export", "--to", "rocprofv3", "-o", "several", "demo.kymo")
    said = kymo("import", "-o", "one.kymo", "several").stderr
    expect("files of other formats" not in said, said)
    for to, name in (("perfetto", "a.pftrace"), ("perfetto", "b.pftrace"), ("chrome", "c.json")):
        kymo("export", "--to", to, "-o", f"several/{name}", "demo.kymo")
    expect("several: read as rocprofv3; files of other formats in it, which can be named alone: " in kymo("import", "-o", "two.kymo", "several").stderr, "it is not told")
    said = kymo("summary", "several").stderr
    expect("perfetto (2)" in said and "chrome (1)" in said, said)


def test_sizes_that_csv_has_not():
    """Copies of rocprofv3's CSV files have no bytes, which is told once; its JSON has them."""
    demo()
    copies = query("demo.kymo", "SELECT count(*), sum(bytes > 0) FROM copy WHERE start IS NOT NULL")[0]
    kymo("export", "--to", "rocprofv3", "-o", "sizes", "demo.kymo")
    said = kymo("import", "-o", "sizes.kymo", "sizes").stderr
    expect(said.count("have no sizes of copies") == 1, said)
    expect(query("sizes.kymo", "SELECT count(*), sum(bytes > 0) FROM copy")[0][1] == 0 and copies[1], copies)
    n = int(re.search(r"(\d+) copies are of 0 bytes", said).group(1))
    expect(n == query("sizes.kymo", "SELECT count(*) FROM copy")[0][0] > 0, n)
    kymo("export", "--to", "rocprofv3:json", "-o", "sizes.json", "demo.kymo")
    expect("sizes of copies" not in kymo("import", "-o", "sizes2.kymo", "sizes.json").stderr, "JSON has them")


def test_disk_is_waited_for_once():
    """Of hundreds of processes, each with a file of its own."""
    events = [{"ph": "X", "cat": "cuda_runtime", "name": "cudaMalloc", "pid": pid, "tid": pid, "ts": i, "dur": 1, "args": {"correlation": i + 1}}
              for pid in range(1000, 1300) for i in range(20)]
    with open("many.json", "w", encoding="utf-8") as f:
        json.dump({"traceEvents": events}, f)
    for more in ([], ["--no-compress"]):
        remove("many.kymo")
        kymo("import", *more, "many.json", LD_PRELOAD=SYNC, SYNC_COUNT="count")
        with open("count", encoding="utf-8") as f:
            files, systems = map(int, f.read().split())
        expect(len(os.listdir("many.kymo/raw")) == 300 and systems == 1 and files < 10, more, files, systems)
    expect(query("many.kymo", "SELECT count(*) FROM call") == [(6000,)], "calls")


# ---- two traces ----------------------------------------------------------------------------------

def of_devices(name, names, more=()):
    """A trace whose devices come in that order."""
    events = [{"ph": "X", "cat": "kernel", "name": "k", "pid": d, "tid": 7, "ts": 100 * i + 10, "dur": 5, "args": {"device": d, "stream": 7, "correlation": 2 * i + d + 1}}
              for i in range(20) for d in range(len(names))]
    events += more
    with open(name + ".json", "w", encoding="utf-8") as f:
        json.dump({"traceEvents": events, "deviceProperties": [{"id": i, "name": n} for i, n in enumerate(names)]}, f)
    remove(name + ".kymo")
    kymo("import", name + ".json")
    return name + ".kymo"


def test_compare():
    """Devices in another order are the same ones; nothing says that there is no change above work that differs."""
    a, b = of_devices("a", ("Alpha", "Beta")), of_devices("b", ("Beta", "Alpha"))
    said = kymo("compare", a, b, status=None).stdout
    expect("Not the same, devices" not in said and "No change found" in said, said)
    said = kymo("compare", a, of_devices("c", ("Beta", "Gamma")), status=None).stdout
    expect("Not the same, devices" in said, said)
    one = {"ph": "X", "cat": "kernel", "name": "another", "pid": 0, "tid": 7, "ts": 50, "dur": 1, "args": {"device": 0, "stream": 7, "correlation": 900}}
    said = kymo("compare", a, of_devices("d", ("Alpha", "Beta"), [one]), status=None).stdout
    expect("Work differs" in said and "No change found" not in said and "No change of time found in what both did" in said, said)


def test_views_are_named():
    demo()
    other = of_devices("e", ("Alpha",))
    for traces in (["demo.kymo"], ["demo.kymo", other]):
        said = kymo("query", *traces, "SELECT count(*) FROM copies", status=2).stderr
        expect('did you mean "memory_copies"?' in said, said)
        listed = re.search(r"the views are ([^;]*);", said)
        views = {row[0] for row in query("demo.kymo", "SELECT name FROM sqlite_schema WHERE type = 'view'")}
        expect(listed and set(listed.group(1).split(", ")) == views and "kernels" in views, said)


def main():
    bad = 0
    for name, fn in list(globals().items()):
        if not name.startswith("test_"):
            continue
        with kymotest.Folder() as folder:
            os.chdir(folder)
            try:
                fn()
                print("ok  ", name, flush=True)
            except kymotest.Failure as e:
                bad += 1
                print("FAIL", name + ":", str(e)[:2500], flush=True)
            os.chdir("/")
    return 1 if bad else 0


sys.exit(main())
