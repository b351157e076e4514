#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files without an order of time are read in memory that does not grow with them: what is noted of their records goes to
temporary files beyond KYMO_READ_MEMORY. What comes out is the same with all of it in files; a file of so many records that
their notes have no room is read where they may lie in files; disks without room and signals leave nothing behind.

    read_memory.py KYMO KYMO_SYNTH"""
import json
import os
import resource
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, environment, must, wait_for  # noqa: E402
import nsys_db  # noqa: E402
import rpd_db  # noqa: E402

KYMO, SYNTH = (os.path.abspath(p) for p in sys.argv[1:3])
EXPORTED = ("chrome", "perfetto", "xspace", "otf2", "rocpd", "rocprofv3:json", "rocprofv3")
FILES = {"chrome": "t.json", "perfetto": "t.pftrace", "xspace": "t.xplane.pb", "otf2": "t.otf2", "rocpd": "t.db", "rocprofv3:json": "r.json",
         "rocprofv3": "r.csv"}
DATA = 16 << 20  # bytes of writable memory of a process: no more is needed for any number of records
CALLS = 50000
FAILURE = 3  # exit status: it could not be done


def chrome_backwards(path, calls):
    """The last event first, each call with a kernel; of every four calls two begin and end as the others of another thread."""
    with open(path, "w", encoding="utf-8") as f:
        f.write('{"traceEvents":[\n')
        for i in reversed(range(calls)):
            at = i // 4 * 100
            f.write(json.dumps({"ph": "X", "cat": "kernel", "name": f"k{i % 7}", "pid": 0, "tid": 7, "ts": at + 50, "dur": 20,
                                "args": {"correlation": i + 1, "device": 0, "stream": 7}}) + ",\n")
            f.write(json.dumps({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 5, "tid": 10 + i % 2, "ts": at + i % 4 // 2 * 40,
                                "dur": 10, "args": {"correlation": i + 1}}) + (",\n" if i else "\n"))
        f.write("]}\n")


def records(trace):
    """All that is in it, in its order, less where it lies."""
    return [line for line in must(KYMO, "export", "--to", "jsonl", "-o", "-", trace).splitlines() if '"path"' not in line]


def imported(path, memory, name, **options):
    trace = f"{name}.kymo"
    return trace, kymotest.run(KYMO, "import", path, "-o", trace, env=environment(KYMO_READ_MEMORY=memory), **options)


def same_records(path, name):
    """However much of it is in files."""
    traces = []
    for memory in ("1G", "0", "100K"):
        trace, run = imported(path, memory, f"{name}-{memory}")
        check(f"{name}: import in {memory}: {run.stderr}", run.returncode, 0)
        traces.append(records(trace) if run.returncode == 0 else [])
    check(f"{name}: records", len(traces[0]) > 1000, True)
    check(f"{name}: all in files is as all in memory", traces[1] == traces[0], True)
    check(f"{name}: some in files is as all in memory", traces[2] == traces[0], True)


def test_same():
    must(SYNTH, "growth", "t.kymo", "submit", "2000")
    for to in EXPORTED:
        path = FILES[to]
        must(KYMO, "export", "--to", to, "-o", path, "t.kymo")
        same_records(path, to.replace(":", "-"))
    nsys_db.write_many("n.sqlite", 1000)
    rpd_db.write_many("r.rpd", 1000)
    chrome_backwards("backwards.json", 1000)
    for path in ("n.sqlite", "r.rpd", "backwards.json"):
        same_records(path, path)


def bound_data():
    resource.setrlimit(resource.RLIMIT_DATA, (DATA, DATA))


def test_memory():
    """In DATA bytes there is no room for the notes of all records, but for those of a few."""
    makers = {"nsys": ("big.sqlite", nsys_db.write_many), "rpd": ("big.rpd", rpd_db.write_many), "chrome": ("big.json", chrome_backwards)}
    for name, (path, make) in makers.items():
        make(path, CALLS * 2)
        _, run = imported(path, "1G", name + "-all", preexec_fn=bound_data)
        check(f"{name}: without files: {run.stderr}", (run.returncode != 0, "there is not enough memory to read it" in run.stderr), (True, True))
        trace, run = imported(path, "1M", name + "-bound", preexec_fn=bound_data)
        check(f"{name}: with files: {run.stderr}", run.returncode, 0)
        if run.returncode:
            continue
        got = kymotest.query(KYMO, trace, "SELECT (SELECT count(*) FROM call) AS c, (SELECT count(*) FROM dispatch) AS d, "
                             "(SELECT count(*) FROM dispatch WHERE call IS NOT NULL) AS of")
        check(f"{name}: calls, kernels, and those with a call", got, [{"c": CALLS * 2, "d": CALLS * 2, "of": CALLS * 2}])


def left(place):
    return sorted(os.listdir(place))


def test_no_room():
    os.mkdir("tmp")
    where = os.path.abspath("tmp")

    def bound_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (512 << 10, 512 << 10))

    before = left(".")
    for path in ("n.sqlite", "r.rpd"):
        run = kymotest.run(KYMO, "import", path, "-o", "full.kymo", env=environment(KYMO_READ_MEMORY="0", TMPDIR=where), preexec_fn=bound_files)
        check(f"{path}: no room: {run.stderr}", (run.returncode, f"temporary file in {where}: File too large; free space or set TMPDIR" in run.stderr), (FAILURE, True))
        check(f"{path}: nothing is left of it", (left("."), left("tmp")), (before, []))
    run = kymotest.run(KYMO, "import", "n.sqlite", "-o", "full.kymo", env=environment(KYMO_READ_MEMORY="0", TMPDIR="/nonexistent/kymo"))
    check(f"no folder: {run.stderr}", (run.returncode, "temporary file in /nonexistent/kymo: No such file or directory" in run.stderr), (FAILURE, True))
    run = kymotest.run(KYMO, "import", "n.sqlite", "-o", "full.kymo", env=environment(KYMO_READ_MEMORY="much"))
    check(f"no number: {run.stderr}", (run.returncode, "KYMO_READ_MEMORY" in run.stderr), (2, True))
    check("nothing is left", left("."), before)


def files_without_a_name(pid, place):
    """Of the process, in that folder."""
    top, found = os.path.realpath(place) + "/", 0
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            to = os.readlink(f"/proc/{pid}/fd/{fd}")
            found += to.startswith(top) and to.endswith(" (deleted)")
    except OSError:
        pass
    return found


def test_signal():
    """While notes are in files, which have no names; beside the output, for there is no TMPDIR."""
    before = left(".")
    env = environment(KYMO_READ_MEMORY="0")
    env.pop("TMPDIR", None)
    with subprocess.Popen([KYMO, "import", "big.json", "-o", "killed.kymo"], env=env, stderr=subprocess.DEVNULL) as p:
        wait_for(lambda: p.poll() is not None or files_without_a_name(p.pid, ".") > 2, "temporary files beside the output")
        check("it still reads", p.poll(), None)
        p.send_signal(signal.SIGTERM)
        check("killed", p.wait(), -signal.SIGTERM)
    check("nothing is left", left("."), before)


def main():
    with kymotest.Folder() as folder:
        os.chdir(folder)
        test_same()
        test_no_room()
        if kymotest.SANITIZED:
            chrome_backwards("big.json", CALLS)
        else:
            test_memory()
        test_signal()
        os.chdir("/")
    return 1 if kymotest.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
