#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where nothing was recorded, `kymo run` and later `kymo summary` say the true reason: unseen.py KYMO OCL_QUICK"""
import ctypes
import glob
import os
import resource
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

KYMO, QUICK = map(os.path.abspath, sys.argv[1:3])
REASONS = ("a library with OpenCL's functions", "another tool has", "sets LD_PRELOAD", "--delay, --duration")
UNUSED = ("used an interface", "none of the APIs", "none of the traced")


def kymo(*words, **options):
    return kymotest.run(KYMO, *words, **options)


def check(reason, *command, options=(), prevented=False, **more):
    """Said by both, also without a summary if something stood in the way, and no other reason."""
    p = kymo("run", "-f", "-o", "t.kymo", *options, "--", *command, **more)
    later = kymo("summary", "t.kymo")
    for said in (p.stderr, later.stdout + later.stderr):
        expect(reason in said, f"{command}: no \"{reason}\" in", said)
        expect(not any(u in said for u in UNUSED), f"{command}:", said)
        expect(not any(r in said for r in REASONS if r != reason), f"{command}, another reason:", said)
    p = kymo("run", "--no-summary", "-f", "-o", "t.kymo", *options, "--", *command, **more)
    expect((reason in p.stderr) == prevented, f"{command}, --no-summary:", p.stderr)


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100 << 10, 100 << 10))


def size_limit():
    """One that even what Kymo writes of the run exceeds: the status is the program's, which is killed as without Kymo."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
    for command, status in ((["sh", "-c", "exit 7"], 7), (["sh", "-c", "exec dd if=/dev/zero of=out bs=4096 count=1 2>/dev/null"], -signal.SIGXFSZ)):
        p = kymo("run", "--no-summary", "-f", "-o", "t.kymo", "-b", "posix", "--", *command, preexec_fn=limit)
        expect(p.returncode == status, command, p)


def driver():
    """The library of an OpenCL driver, as its file for the loader names it."""
    for path in glob.glob("/etc/OpenCL/vendors/*.icd"):
        with open(path, encoding="utf-8") as f:
            name = f.read().strip()
        try:
            if ctypes.CDLL(name).clGetExtensionFunctionAddress:
                return name
        except (OSError, AttributeError):
            pass
    return None


INTERPOSER = """
int clGetPlatformIDs(unsigned n, void **p, unsigned *count) { *count = 0; return -1001; }
void *clGetExtensionFunctionAddress(const char *name) { return 0; }
"""


def interposers(folder):
    """Libraries that stand before OpenCL's functions, and no driver anywhere: none was loaded."""
    with open("cl.c", "w", encoding="utf-8") as f:
        f.write(INTERPOSER)
    names = [f"{folder}/libbefore{n}.so" for n in (1, 2)]
    for name in names:
        kymotest.must("gcc", "-shared", "-fPIC", "-o", name, "cl.c")
    call = "import ctypes; n = ctypes.c_uint(); exit(ctypes.CDLL(None).clGetPlatformIDs(0, None, ctypes.byref(n)) + 1006)"
    for count in (1, 2):
        env = {**os.environ, "LD_PRELOAD": ":".join(names[:count])}
        p = kymo("run", "-f", "-o", "t.kymo", sys.executable, "-c", call, env=env)
        said = p.stderr + kymo("summary", "t.kymo").stdout
        expect(p.returncode == 5 and "nothing was recorded" in p.stderr, p)
        expect("driver was" not in said and "OpenCL's functions" not in said, "no driver was loaded:", said)


def main():
    for variable in [v for v in os.environ if v.startswith("KYMO_")]:
        del os.environ[variable]
    library = driver()
    with kymotest.Folder() as folder:
        os.chdir(folder)
        if library:  # as a loader that is part of the program loads it
            check("a library with OpenCL's functions", sys.executable, "-c", f"import ctypes; ctypes.CDLL('{library}')",
                  prevented=True)
        check("sets LD_PRELOAD", "env", "LD_PRELOAD=libm.so.6", QUICK, prevented=True)
        check("--delay, --duration", "true", options=["--delay", "10s"])
        check("--delay, --duration", "sh", "-c", "exit 0", options=["--duration", "1ms"])
        p = kymo("run", "--no-summary", "-o", "small.kymo", "true", preexec_fn=small_files)
        expect("limit of file sizes" in p.stderr, p)
        for words in (["sh", "-c", "exit 3"], [sys.executable, "-c", "import ctypes; ctypes.CDLL('libm.so.6')"]):
            p = kymo("run", "-f", "-o", "t.kymo", *words)
            expect("used an interface" in p.stderr and "OpenCL's functions" not in p.stderr, p)
        size_limit()
        interposers(folder)
        # What was seen is not said to be unseen.
        p = kymo("run", "-f", "-o", "t.kymo", QUICK)
        expect("loaded, but" not in p.stderr and "nothing was recorded" not in p.stderr, p)
        os.chdir("/")
    if not library:
        print("skipped in part: no OpenCL driver here")


main()
