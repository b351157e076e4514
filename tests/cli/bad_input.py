#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the commands say to bad input: never a crash, never a silent empty result.

Usage: bad_input.py KYMO OCL_POLL
"""
import hashlib
import json
import os
import re
import socket
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import Failure, expect  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])
BLOCK = struct.Struct("<IHHIIQQQIIQ")  # struct raw_block


def kymo(*words, **options):
    return subprocess.run([KYMO, *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, timeout=60, check=False,
                          **{"stdout": subprocess.PIPE, **options})


def refused(status, said, *words, **options):
    p = kymo(*words, **options)
    expect(p.returncode == status, words, "gave", p.returncode, p.stderr)
    expect(said in p.stderr, words, "said", p.stderr)
    expect(not p.stdout, words, "printed", p.stdout)


def record(*options):
    p = kymo("run", "--no-summary", "-f", "-o", "t.kymo", *options, PROGRAM)
    expect(p.returncode == 0, p)


def test_operands():
    refused(2, "list backends takes no operand", "list", "backends", "x")
    refused(2, "help takes one command", "help", "run", "x")
    refused(2, "doctor takes no operand", "doctor", "x")
    expect("drain" not in kymo("list", "options").stdout, "hidden options are listed")
    expect("drain" not in kymo("list", "options", "--config").stdout, "hidden options are written")
    expect(kymo("list", "options", "--config").stdout.startswith("# Options of Kymo: read with --config FILE or KYMO_CONFIG=FILE.\n\n"), "what the file is")


def test_empty_question():
    record()
    for sql in ("", "  ", ";\n"):
        refused(2, "SQL, is empty", "query", "t.kymo", sql)


def test_store_for_trace():
    record()
    expect(kymo("query", "t.kymo", "SELECT 1").returncode == 0, "no store")
    for command in ("report", "diagnose"):
        p = kymo(command, "t.kymo/store.db")
        expect(p.returncode and "a store, which kymo query, summary and kernels read: give the trace" in p.stderr, p)


def test_full_standard_output():
    record()
    for words in (["help"], ["list", "options"], ["doctor"], ["info", "t.kymo"],
                  ["summary", "t.kymo"], ["show", "t.kymo"], ["query", "t.kymo", "SELECT 1"],
                  ["export", "--to", "json", "-o", "-", "t.kymo"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            p = kymo(*words, stdout=full)
        expect(p.returncode == 3, words, "gave", p.returncode)
        expect(p.stderr, words, "said nothing")


def test_drivers():
    os.mkdir("none")
    environment = {**os.environ, "OCL_ICD_VENDORS": os.getcwd() + "/none"}
    environment.pop("OPENCL_VENDOR_PATH", None)
    p = kymo("run", "-f", "-o", "t.kymo", "true", env=environment)
    expect("no OpenCL driver in" in p.stderr, p.stderr)
    os.mkdir("broken")
    with open("broken/lost.icd", "w", encoding="utf-8") as f:
        f.write("libnosuchdriver.so.1\n")
    with open("broken/empty.icd", "w", encoding="utf-8") as f:
        f.write("\n")
    environment["OCL_ICD_VENDORS"] = os.getcwd() + "/broken"
    p = kymo("doctor", env=environment)
    expect(p.returncode == 0, p)
    expect("lost: libnosuchdriver.so.1: cannot open" in p.stdout, p.stdout)
    expect("empty: names no library" in p.stdout, p.stdout)


def test_nothing_was_asked_for():
    p = kymo("run", "-f", "-o", "t.kymo", "--backends", "none", PROGRAM)
    expect("--backends is none" in p.stderr, p.stderr)
    p = kymo("run", "-f", "-o", "t.kymo", "--delay", "50", PROGRAM)
    expect("--delay" in p.stderr, p.stderr)


def test_paused():
    p = kymo("run", "-f", "-o", "t.kymo", "--start-paused", PROGRAM)
    expect(p.returncode == 0 and "neither the program nor `kymo ctl` resumed it" in p.stderr, p.stderr)
    for option in ("--delay", "--duration"):
        refused(2, "--start-paused", "run", "--start-paused", option, "1", PROGRAM)


def test_tools():
    refused(2, "./lost.so", "run", "--tool", "./lost.so", PROGRAM)
    open("here.so", "w", encoding="utf-8").close()
    plan = kymo("run", "--dry-run", "--tool", "./here.so", "--tool", "libtool.so", PROGRAM).stdout
    expect(f"KYMO_TOOLS={os.path.realpath('here.so')}:libtool.so" in plan, plan)
    expect("KYMO_TOOLS" not in kymo("run", "--dry-run", PROGRAM).stdout, "a tool of nobody's")


def test_domains():
    domains = {line.split()[0]: int(line.split()[1])
               for line in kymo("list", "domains").stdout.splitlines()}
    expect(len(domains) == len(kymo("list", "domains").stdout.splitlines()), "a domain twice")
    expect({"opencl", "cuda", "cuda_runtime", "hip", "hip_compiler", "hsa", "roctx", "level_zero", "openmp", "comm",
            "dispatch", "marker"} <= set(domains), domains)
    backends = {line.split()[0] for line in kymo("list", "backends").stdout.splitlines()}
    # These are told in domain marker, or have no ops before a program runs; a module of MPI may not be installed.
    expect(backends - set(domains) - {"mpi"} == {"nvtx", "itt", "kokkos", "function"}, backends - set(domains))
    everything = kymo("list", "ops").stdout.splitlines()
    expect(len(everything) == sum(domains.values()), len(everything))
    ops = kymo("list", "ops", "opencl").stdout
    expect(re.search(r"^opencl +minimal +clEnqueueNDRangeKernel\(command_queue, kernel, ", ops, re.M), ops)
    expect(len(ops.splitlines()) == domains["opencl"], "ops of opencl")
    refused(2, "there are dispatch", "list", "ops", "nothing")
    record()
    for words in (["show"], ["export", "--to", "json", "-o", "-"], ["summary"], ["query"], ["compare", "t.kymo"]):
        more = ["SELECT 1"] if words == ["query"] else []
        p = kymo(*words, "-d", "opencl,nothing", "t.kymo", *more)
        expect(p.returncode == 2, words, p.returncode)
        expect('no domain "nothing"; its domains are' in p.stderr, p.stderr)
        expect("dispatch" in p.stderr and "opencl" in p.stderr, p.stderr)
        expect(kymo(*words, "-d", "opencl,dispatch", "t.kymo", *more).returncode == 0, words)


def test_recording_that_goes_on():
    """--force takes away what is done, not what is being recorded."""
    with subprocess.Popen([KYMO, "run", "--no-summary", "-f", "-o", "t.kymo", "cat"], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        first.stdin.write("ready\n")
        first.stdin.flush()
        expect(first.stdout.readline() == "ready\n", "cat is not there")
        p = kymo("run", "-f", "-o", "t.kymo", PROGRAM)
        expect(p.returncode == 3, p.returncode)
        expect("still being recorded" in p.stderr, p.stderr)
        first.stdin.close()
        expect(first.wait() == 0, "the recording was disturbed")
    record()


def test_link_to_a_trace():
    """What stands where the trace is to be, and leads to one, stays, and so does that."""
    record()
    for target in ("t.kymo", "nothing"):
        os.symlink(target, "link.kymo")
        for words in ((), ("-f",)):
            p = kymo("run", "--no-summary", *words, "-o", "link.kymo", "true")
            expect(p.returncode == 3 and 'link.kymo" is a symbolic link: not replaced, even with --force; remove it' in p.stderr, p)
        expect(os.readlink("link.kymo") == target and kymo("info", "t.kymo").returncode == 0, target)
        os.unlink("link.kymo")


def test_gomp():
    if not shutil.which("gcc"):
        return
    with open("omp.c", "w", encoding="utf-8") as f:
        f.write("int main(void)\n{\n#pragma omp parallel\n\t;\n\treturn 0;\n}\n")
    subprocess.run(["gcc", "-fopenmp", "-o", "omp", "omp.c"], check=True)
    p = kymo("run", "-f", "-o", "t.kymo", "./omp")
    expect("libgomp" in p.stderr and "clang" in p.stderr, p.stderr)
    p = kymo("run", "-f", "-o", "t.kymo", "true")
    expect("libgomp" not in p.stderr and "MPI" in p.stderr, p.stderr)


def test_doctor():
    said = {line.split()[1] for line in kymo("doctor").stdout.splitlines()}
    expect({"OpenCL", "MPI", "OpenMP", "Level", "ROCm", "CUDA", "annotations", "kernels"} <= said, said)


def test_numbers_for_programs():
    """0 is left out where people read it, not where programs do."""
    record()
    tables = json.loads(kymo("summary", "-f", "json", "t.kymo").stdout)["tables"]
    rows = [row for t in tables if t["name"] in ("opencl", "kernels") for row in t["rows"]]
    expect(rows and all(row["errors"] == 0 for row in rows), rows)


def test_long_command_line():
    p = kymo("run", "-f", "-o", "t.kymo", "true", *["x" * 1000] * 500)
    expect(p.returncode == 0, p.stderr[:200])
    p = kymo("summary", "t.kymo")
    expect("xxx..." in p.stdout and len(p.stdout) < 2000, len(p.stdout))


def test_recording_without_end():
    """What a dead drain did not get is not called "nothing": it has compressed nothing either."""
    record("--no-compress")
    os.remove("t.kymo/manifest.json")
    raw, = os.listdir("t.kymo/raw")
    with open("t.kymo/raw/" + raw, "r+b") as f:
        f.truncate(os.path.getsize("t.kymo/raw/" + raw) // 2)
    p = kymo("summary", "t.kymo")
    expect("the recording has no end" in p.stdout, p)
    expect("Lost: nothing." not in p.stdout, p.stdout)
    foot = json.loads(kymo("summary", "-f", "json", "t.kymo").stdout)["foot"]
    expect(any("is not known" in line for line in foot), foot)


def test_choices():
    """What is said can be chosen is what can be."""
    record()
    for bad in ("foo", "all", "none", "rank,foo"):
        refused(2, f'--by: "{bad.split(",")[-1]}" is none of op|node|rank', "summary", "--by", bad, "t.kymo")
    p = kymo("run", "-b", "foo", "true")
    expect(p.returncode == 2 and '"foo" is none of all|none|opencl' in p.stderr, p)


def test_little_room():
    """Which file system has too little, and how much that is."""
    os.mkdir("full")
    for size, text in (("512k", "0.5 MiB"), ("900k", "0.9 MiB")):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", "full"], check=False,
                          stderr=subprocess.DEVNULL).returncode:
            print("skipped, tmpfs cannot be mounted here")
            return
        try:
            os.makedirs("full/a/b")
            p = kymo("run", "-o", "full/a/b/t.kymo", "true")
            where = os.path.realpath("full")
            expect(p.returncode == 3 and f'the file system at "{where}" has {text}, of which ' in p.stderr and
                   "a trace needs 1 MiB at least: -o" in p.stderr, p)
        finally:
            subprocess.run(["umount", "-l", "full"], check=True)


def record_three():
    """A trace of three processes, and its files in the order of their ends."""
    p = kymo("run", "--no-summary", "-f", "-o", "t.kymo", "sh", "-c", f"{PROGRAM}; {PROGRAM}; {PROGRAM}")
    expect(p.returncode == 0, p)
    with open("t.kymo/manifest.json", encoding="utf-8") as f:
        files = [process["file"] for process in json.load(f)["processes"]]
    expect(len(files) == 3, files)
    return files


def unread(files, rest):
    """Every command says which files are not there, or are not what they were; `rest` processes are read."""
    commands = (("summary", "t.kymo"), ("info", "t.kymo"), ("show", "t.kymo"),
                ("query", "t.kymo", "SELECT sum(file_state > 0) AS n FROM process"),
                ("query", "t.kymo", "SELECT count(DISTINCT process) FROM thread"),
                ("export", "-f", "-o", "t.json", "t.kymo"))
    for words in commands:
        p = kymo(*words)
        expect(p.returncode == 3, words, "gave", p.returncode, p.stderr)
        expect(all(f in p.stderr for f in files), words, "said", p.stderr)
        if words[0] == "summary":
            expect(f"Lost: all that was in {len(files)} file" in p.stdout and "Lost: nothing" not in p.stdout, p.stdout)
            expect(all(f in p.stdout for f in files) and "none of the APIs" not in p.stdout, p.stdout)
        elif words[0] == "info":
            expect(re.search(rf"files missing or unreadable +{len(files)} ", p.stdout), p.stdout)
        elif words[0] == "query":
            expect(p.stdout.split()[-1] == str(rest if "thread" in words[2] else len(files)), words, p.stdout)
    tables = json.loads(kymo("summary", "-f", "json", "t.kymo").stdout)["tables"]
    quality, = [t["rows"][0] for t in tables if t["name"] == "quality"]
    expect(quality["files_missing"] == len(files) and quality["processes"] == rest + len(files), quality)
    expect(kymo("summary", "--strict", "t.kymo").returncode != 0, "--strict")


def test_missing_files():
    files = record_three()
    expect(kymo("query", "t.kymo", "SELECT 1").returncode == 0, "the store of a whole trace")
    for n in (1, 2):
        os.rename("t.kymo/raw/" + files[n], "kept" + files[n])
        unread(files[1:n + 1], 3 - n)
    os.remove("t.kymo/raw/" + files[0])
    whole = kymo("info", "t.kymo").stdout # the manifest knows
    expect(re.search(r"^Recorded +20\d\d-\d\d-\d\d ", whole, re.M) and "unknown" not in whole.split("Duration")[0], whole)
    expect(re.search(rf"^Host +{re.escape(socket.gethostname())}$", whole, re.M), whole)
    p = kymo("summary", "t.kymo")
    expect(p.returncode == 3 and "Lost: all that was in 3 files." in p.stdout, p)
    expect("No process used" not in p.stdout and "nothing was recorded (no" not in p.stderr, p)
    for f in files[1:]: # back again
        os.rename("kept" + f, "t.kymo/raw/" + f)
    unread(files[:1], 2)


def checksums():
    return {os.path.join(folder, f): hashlib.sha256(open(os.path.join(folder, f), "rb").read()).hexdigest()
            for folder, _, files in os.walk("t.kymo") for f in files}


def as_nobody():
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)


def test_read_only_trace():
    """Another user's trace in a folder without write permission is read, and stays as it was."""
    record_three()
    before = checksums()
    for folder, _, files in os.walk("t.kymo"):
        for f in files:
            os.chmod(os.path.join(folder, f), 0o444)
        os.chmod(folder, 0o555)
    os.chmod(".", 0o755)
    for words in (("summary", "t.kymo"), ("summary", "--all", "t.kymo"), ("diagnose", "t.kymo"), ("info", "t.kymo"),
                  ("show", "t.kymo"), ("compare", "t.kymo", "t.kymo"), ("query", "t.kymo", "SELECT count(*) FROM call"),
                  ("export", "--to", "json", "-o", "-", "t.kymo"), ("export", "--to", "perfetto", "-o", "-", "t.kymo")):
        p = kymo(*words, preexec_fn=as_nobody, errors="replace")
        expect(p.returncode == 0 and p.stdout, words, "gave", p.returncode, p.stderr)
        expect(checksums() == before, words, "changed the trace")
    for folder, _, _ in os.walk("t.kymo"):
        os.chmod(folder, 0o755)


def test_empty_and_missing_file():
    files = record_three()
    with open("t.kymo/raw/" + files[0], "wb"):
        pass
    unread(files[:1], 2)
    os.remove("t.kymo/raw/" + files[2])
    unread([files[0], files[2]], 1)


def plain_size(data):
    """What it would take if none of its blocks were compressed; what is not whole, as it is."""
    at, saved = struct.unpack_from("<I", data, 12)[0], 0
    while len(data) - at >= BLOCK.size:
        _, _, flags, _, _, _, _, _, stored, raw, _ = BLOCK.unpack_from(data, at)
        at += BLOCK.size + stored
        if at <= len(data) and flags & 1:
            saved += raw - stored
    return len(data) + saved


def test_cut_files():
    """A file that has become shorter has lost its end, wherever it was cut, and whoever asks first."""
    files = record_three()
    expect(kymo("summary", "--strict", "t.kymo").returncode == 0, "the whole trace")
    for f in files[:2]:
        path = "t.kymo/raw/" + f
        with open(path, "rb") as whole:
            data = whole.read()
        blocks = [m.start() for m in re.finditer(b"KBLK", data)]
        for size in {blocks[0], blocks[len(blocks) // 2], blocks[-1], len(data) - 10}:
            os.truncate(path, size)
            p = kymo("summary", "--strict", "t.kymo")
            expect(p.returncode == 1 and "the end of 1 recording is missing" in p.stdout and
                   f"it had {plain_size(data)} bytes when it was recorded and has {plain_size(data[:size])}:" in p.stderr,
                   size, p)
            p = kymo("query", "t.kymo", "SELECT count(*) FROM process WHERE how_ended IS NULL AND id")
            expect(p.stdout.split()[-1] == "1", size, p.stdout)
            with open(path, "wb") as whole:
                whole.write(data)
    for f in files[:2]:
        os.truncate("t.kymo/raw/" + f, blocks[0])
    p = kymo("summary", "--strict", "t.kymo")
    expect(p.returncode == 1 and "the end of 2 recordings is missing" in p.stdout, p.stdout)


def renumber_definitions(path, by):
    """As if so many chunks of definitions before the last one had never been written."""
    with open(path, "r+b") as f:
        data = f.read()
        at, numbers = struct.unpack_from("<I", data, 12)[0], {}
        while at < len(data):
            _, kind, _, _, chunk, number, _, _, stored, _, _ = BLOCK.unpack_from(data, at)
            if kind == 1 and chunk == 2:
                numbers.setdefault(number, []).append(at + 16)
            at += BLOCK.size + stored
        for at in numbers[max(numbers)]:
            f.seek(at)
            f.write(struct.pack("<Q", max(numbers) + by))


def test_missing_definitions():
    """Chunks of definitions that are not there are told as lost, of each process."""
    files = record_three()
    for n, lost in (1, 2), (2, 5):
        renumber_definitions("t.kymo/raw/" + files[n - 1], 1 + n)
        p = kymo("summary", "--strict", "t.kymo")
        expect(p.returncode == 1 and f"Lost: {lost} definitions." in p.stdout, n, p)
        expect(f"{files[n - 1]}: {1 + n} of its chunks of definitions are missing" in p.stderr, n, p.stderr)
        p = kymo("info", "t.kymo")
        expect(f"lost: 0 records, {1 + n} definitions; 0 damaged places" in p.stdout, n, p.stdout)
        p = kymo("query", "t.kymo", "SELECT sum(lost_definitions) FROM process")
        expect(p.stdout.split()[-1] == str(lost), n, p.stdout)


def test_numbers_that_cannot_be():
    """Two files whose last chunk of definitions has a number that nobody can have counted to: damage."""
    files = record_three()
    for f in files[:2]:
        renumber_definitions("t.kymo/raw/" + f, 1 << 62)
    p = kymo("summary", "--strict", "t.kymo")
    expect(p.returncode == 1 and "Lost: 2 damaged blocks." in p.stdout, p)
    expect(p.stderr.count("which cannot be") == 2 and "chunks of definitions are missing" not in p.stderr, p.stderr)


def test_never_resumed():
    p = kymo("run", "--no-summary", "-f", "-o", "t.kymo", "--start-paused", PROGRAM)
    expect(p.returncode == 0, p)
    p = kymo("summary", "t.kymo")
    expect("Recording was to begin paused (--start-paused)" in p.stdout and "No process used" not in p.stdout, p.stdout)


def test_copy_of_a_running_recording():
    """Files that no manifest lists yet are no damage."""
    record_three()
    with open("t.kymo/manifest.json", encoding="utf-8") as f:
        m = json.load(f)
    m["state"], m["processes"] = "recording", []
    with open("t.kymo/manifest.json", "w", encoding="utf-8") as f:
        json.dump(m, f)
    p = kymo("summary", "--strict", "t.kymo")
    expect(p.returncode == 0 and "Lost: nothing." in p.stdout, p)


def test_manifest_that_lists_anything():
    """What it names is looked for in the folder of raw files alone, each name once."""
    files = record_three()
    with open("t.kymo/manifest.json", encoding="utf-8") as f:
        m = json.load(f)
    m["processes"] += [{"file": f, "pid": 1 << 40, "lost_records": 1 << 62, "ended": "killed", "status": 9}
                       for f in ("../manifest.json", "/etc/passwd", "", "a.kyr", "a.kyr", "\033[31m.kyr")]
    m["processes"] += [{"file": 3}, 5, "x"]
    with open("t.kymo/manifest.json", "w", encoding="utf-8") as f:
        json.dump(m, f)
    p = kymo("summary", "t.kymo")
    expect(p.returncode == 3 and "Lost: all that was in 2 files." in p.stdout, p)
    expect("\033" not in p.stdout + p.stderr and "passwd" not in p.stdout + p.stderr, p)
    expect(kymo("query", "t.kymo", "SELECT 1").returncode == 3, files)


def main():
    failed, home = 0, os.getcwd()
    for name, test in [(n, f) for n, f in globals().items() if n.startswith("test_")]:
        if sys.argv[3:] and name not in sys.argv[3:]:
            continue
        with kymotest.Folder(prefix="kymo-cli-") as folder:
            os.chdir(folder)
            try:
                test()
                print("ok  ", name)
            except (Failure, OSError, subprocess.SubprocessError, ValueError) as e:
                failed += 1
                print("FAIL", name, type(e).__name__, e)
            os.chdir(home)
    return 1 if failed else 0


if __name__ == "__main__":
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    sys.exit(main())
