# SPDX-License-Identifier: Apache-2.0
"""The cases of harm.py. A job is (case, function, arguments); the function gets a folder of its own before them, says
how often it ran (None: the system does not let it be tried), and raises Failure."""
import errno
import glob
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys

from account import expect
from compare import MODES, compare
import kymotest

HERE = os.path.dirname(os.path.abspath(__file__))

SHAPES = ("plain at_exit destructor quick at_once aborts faults killed busy_group busy_exit busy_kill main_leaves overflow come_and_go crowd "
          "small_stacks destructors cancelled forks storm busy_forks vforks vfork_marks spawns raw_clone chain busy_exec background stopped "
          "handler jumps reload closes_all").split()
# Tests of other folders that are about harm as well, and who is not started by its name here.
TESTS = r"^(harm\.(?!campaign$|table$)|cli\.attach\.killed$|cli\.hostile_trace$|cli\.names\.|unit\.resume$|fuzz\.raw$|badtools)"
LAST_CALL = 470
# Of x86-64, as all numbers of the table: exit_group, without which nobody can end who has threads, and a recorded program has one.
NEVER = (231,)
# execve, without which the launcher is not started, exit, without which no thread of the drain can end (the C library tries for
# ever), prctl, without which nothing more can be refused to the program, ftruncate, without which it has no file to count in, and
# write, without which nothing can be said.
NOT_AROUND = (1, 59, 60, 77, 157)
ERRORS = (errno.EPERM, errno.ENOSYS, errno.ENOMEM)
ALLOCATIONS = 200
WRITES = 20
CHUNK = 10  # rounds of the campaign in one part
ATTACHES = 20

# Limits that a program which does little keeps to.
LIMITS = {"AS": (64 << 20, 200 << 20), "CORE": (0,), "CPU": (60,), "DATA": (32 << 20,), "FSIZE": (0, 64 << 20), "MEMLOCK": (0,), "MSGQUEUE": (0,),
          "NICE": (0,), "NOFILE": (4, 16), "NPROC": (1,), "RSS": (0,), "RTPRIO": (0,), "RTTIME": (0,), "SIGPENDING": (0,), "STACK": (64 << 10, 1 << 20)}
PRELOADS = ("libjemalloc.so*", "libtcmalloc*.so*", "libeatmydata.so*", "coreutils/libstdbuf.so", "libmemusage.so", "libpcprofile.so", "faketime/libfaketime.so*",
            "libc_malloc_debug.so.0")
PLACES = ("/usr/lib", "/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/libexec")


def shape(folder, build, name, mode):
    compare(f"{build}/bin/kymo", folder, [f"{build}/tests/harm/shapes", "counts", name], MODES[mode],
            exact=not name.startswith("handler_"))
    return 1


def refused(folder, build, numbers, where, seed):
    """System calls, one by one: before the first mark, from exec on, or for the launcher and its drain as well."""
    dice, runs, wrong = random.Random(f"{seed}/{where}/{numbers[0]}"), 0, []
    for number in numbers:
        if number in NEVER or where == "all" and number in NOT_AROUND:
            continue
        what = f"refuse:{number}:{dice.choice(ERRORS)}"
        runs += tried(folder, build, what, where, dice.choice(["default", "default", "full", "everything"]), wrong)
    expect(not wrong, *wrong)
    return runs


def tried(folder, build, what, where, mode, wrong):
    kymo, program = f"{build}/bin/kymo", f"{build}/tests/harm/shapes"
    words = [program, "counts", "plain", what, *(["exec"] if where == "exec" else [])]
    try:
        if where == "all":
            wrapped = f"{folder}/kymo"
            with open(wrapped, "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\nexec {program} none none {what} exec {kymo} \"$@\"\n")
            os.chmod(wrapped, 0o755)
            done = compare(wrapped, folder, [program, "counts", "plain", what], MODES[mode], may_refuse=True, reader=kymo, spoilt=True)
        else:
            done = compare(kymo, folder, words, MODES[mode], spoilt=True)
        return done is not None
    except (kymotest.Failure, OSError, ValueError, subprocess.SubprocessError) as e:
        wrong.append(f"{where} {what}: {e}\n")
        return 1


def limit(folder, build, name, where):
    number = getattr(resource, "RLIMIT_" + name)
    kymo, program = f"{build}/bin/kymo", f"{build}/tests/harm/shapes"
    runs, wrong = 0, []
    for value in LIMITS[name]:
        for mode in ("default", "everything"):
            try:
                if where == "launcher":
                    done = compare(kymo, folder, [program, "counts", "plain"], MODES[mode], may_refuse=True, spoilt=True,
                                   before=lambda v=value: resource.setrlimit(number, (v, v)))
                else:
                    done = compare(kymo, folder, [program, "counts", "plain", f"limit:{number}:{value}", *(["exec"] if where == "exec" else [])], MODES[mode], spoilt=True)
                runs += done is not None
            except (kymotest.Failure, OSError, ValueError, subprocess.SubprocessError) as e:
                wrong.append(f"{where} {name} {value} {mode}: {e}\n")
    expect(not wrong, *wrong)
    return runs


def allocations(folder, build, numbers, program, mode):
    wrong, options = [], MODES[mode]
    for number in numbers:
        env = {"LD_PRELOAD": f"{build}/lib/libharm_fail_alloc.so", "FAIL_AT": str(number), "FAIL_PROGRAM": program}
        if program == "kymo":
            env["FAIL_FROM_MAIN"] = "1"  # GLib, which babeltrace2 needs, ends who has no memory to load it
        try:
            compare(f"{build}/bin/kymo", folder, [f"{build}/tests/harm/shapes", "counts", "plain"], options, env=env, may_refuse=program == "kymo", spoilt=True)
        except (kymotest.Failure, OSError, ValueError, subprocess.SubprocessError) as e:
            wrong.append(f"{program} {number} {mode}: {e}\n")
    expect(not wrong, *wrong)
    return len(numbers)


def writes(folder, build, number, error, count):
    env = {"LD_PRELOAD": f"{build}/tests/harm/fail_write.so", "FAIL_AT": str(number), "FAIL_WITH": str(error), "FAIL_COUNT": str(count)}
    compare(f"{build}/bin/kymo", folder, [f"{build}/tests/harm/shapes", "counts", "busy_forks"], env=env, spoilt=True)
    return 1


def read_only(folder, build):
    os.mkdir(f"{folder}/place")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", f"{folder}/place"], stderr=subprocess.DEVNULL, check=False).returncode:
        return None
    try:
        p = subprocess.run([f"{build}/bin/kymo", "run", "-o", f"{folder}/place/t.kymo", f"{build}/tests/harm/shapes", f"{folder}/counts", "plain"], capture_output=True,
                           text=True, check=False)
        expect(p.returncode == 3 and "kymo: error:" in p.stderr and not os.path.exists(f"{folder}/counts"), p)
    finally:
        subprocess.run(["umount", f"{folder}/place"], check=True)
    return 1


def preload(folder, build, library):
    for mode in ("default", "everything"):
        # What some tell at the end is of what Kymo allocates, too.
        compare(f"{build}/bin/kymo", folder, [f"{build}/tests/harm/shapes", "counts", "forks"], MODES[mode], env={"LD_PRELOAD": library}, messages="memusage" not in library)
    return 2


def under(folder, build, *words):
    if not shutil.which(words[0]):
        return None
    for name in ("plain", "forks"):  # they have messages of their own about libraries that they see
        compare(f"{build}/bin/kymo", folder, [*words, f"{build}/tests/harm/shapes", "counts", name], messages=False)
    return 2


def sanitized(folder, build, compiler, kind, shapes=("plain", "come_and_go", "forks", "busy_exit")):
    program = f"{folder}/sanitized"
    source = [f"{HERE}/shapes.c", "-I", f"{HERE}/../../include", "-D_GNU_SOURCE", "-g", "-pthread"]
    if not shutil.which(compiler) or subprocess.run([compiler, f"-fsanitize={kind}", "-o", program, *source], capture_output=True, check=False).returncode:
        return None
    runs = 0
    for name in shapes:
        runs += compare(f"{build}/bin/kymo", folder, [program, "counts", name], env={"ASAN_OPTIONS": "detect_leaks=0"}) is not None
    return runs


def script(folder, words, more):
    """A test or campaign that says itself what was wrong."""
    p = subprocess.run(words, capture_output=True, text=True, errors="replace", cwd=folder, env={**os.environ, **more}, timeout=1800, check=False)
    lines = [line for line in p.stdout.splitlines() if re.search(r"^FAIL|FAILED|WRONG", line)]
    expect(p.returncode in (0, kymotest.SKIPPED), f"status {p.returncode}:", *(lines or [p.stdout[-1000:]]), p.stderr[-2000:] if p.returncode else "")
    return None if p.returncode else 1


def tests(build):
    done = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    for test in json.loads(done.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        if re.search(TESTS, test["name"]) and not properties.get("DISABLED") and "command" in test:
            yield "test: " + test["name"], script, (test["command"], dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", [])))


def rows_of(numbers, size):
    return [numbers[i:i + size] for i in range(0, len(numbers), size)]


def jobs(build, seed, rounds):
    """The long ones first, the others in random order."""
    python = [sys.executable, "-B"]
    yield from sorted(tests(build), key=lambda job: not re.search(r"compress|keeper|rooms|node|small_stack", job[0]))
    for n in range(0, ATTACHES, 5):
        programs = [f"{build}/bin/{name}" for name in ("kymo", "attach_program", "attach_loop")]
        yield "attached at random moments", script, ([*python, f"{HERE}/../attach/campaign.py", *programs, "5", str(seed + n)], {})
    rest = [("killed", script, ([*python, f"{HERE}/campaign.py", build, str(min(CHUNK, rounds - n)), str(seed), str(n)], {})) for n in range(0, rounds, CHUNK)]
    rest += [("shape: " + name, shape, (build, name, mode)) for name in [*SHAPES, "handler_marks", "handler_names"] for mode in MODES]
    for where in ("before the first call", "exec", "all"):
        rest += [(f"refused system calls: {where}", refused, (build, numbers, where, seed)) for numbers in rows_of(range(LAST_CALL), 10)]
    for where in ("program", "exec", "launcher"):
        rest += [(f"limit: {name}", limit, (build, name, where)) for name in LIMITS]
    for program, mode in (("shapes", "default"), ("shapes", "counters"), ("shapes", "everything"), ("kymo", "default"), ("kymo", "counters")):
        rest += [(f"malloc fails: {'launcher and drain' if program == 'kymo' else 'program'}, {mode}", allocations, (build, n, program, mode))
                 for n in rows_of(range(1, ALLOCATIONS + 1), 10)]
    rest += [(f"write fails: {errno.errorcode[error]}", writes, (build, n, error, count)) for error in (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS)
             for count in (1, 1 << 40) for n in range(1, WRITES + 1)]
    rest += [("read-only", read_only, (build,)), ("under strace", under, (build, "strace", "-f", "-o", "strace.txt")),
             ("under valgrind", under, (build, "valgrind", "-q", "--trace-children=yes"))]
    rest += [(f"preloaded: {os.path.basename(pattern)}", preload, (build, found)) for pattern in PRELOADS
             for found in [path for place in PLACES for path in sorted(glob.glob(f"{place}/{pattern}"))][:1]]
    rest += [(f"sanitizer: {compiler} {kind}", sanitized, (build, compiler, kind)) for compiler in ("gcc", "clang") for kind in ("address", "thread", "undefined")]
    random.Random(seed).shuffle(rest)
    yield from rest
