#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with Kymo preloaded by hand, or in circumstances that leave Kymo little room.

Usage: alone.py KYMO LIBRARY_FOLDER
The programs are Python ones that call OpenCL through ctypes; what they print with Kymo must be what
they print without.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import Failure, expect  # noqa: E402

KYMO, LIBRARIES = map(os.path.abspath, sys.argv[1:3])

USE_OPENCL = """
import ctypes, os, resource, signal, sys
cl = ctypes.CDLL("libOpenCL.so.1")
cl.clCreateContext.restype = ctypes.c_void_p
cl.clReleaseContext.argtypes = [ctypes.c_void_p]
def use():
    platform, device, error = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    cl.clGetPlatformIDs(1, ctypes.byref(platform), None)
    cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xffffffff), 1, ctypes.byref(device), None)
    context = cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(error))
    print("context", error.value, cl.clReleaseContext(context), flush=True)
def listing():
    found = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            found.append((int(fd), os.readlink("/proc/self/fd/" + fd).split(":")[0]))
        except OSError:
            pass # the listing's own
    return sorted(f for f in found if not f[1].startswith("/proc"))
def wait(*arguments):
    try:
        return os.waitpid(-1, *arguments)[1]
    except ChildProcessError:
        return "no child"
"""

NO_TRACES_OF_THE_DRAIN = USE_OPENCL + """
seen = []
signal.signal(signal.SIGCHLD, lambda *a: seen.append(1))
before = listing()
use()
print(wait(0), wait(os.WNOHANG | 0x40000000), seen, listing() == before)
"""

CHILDREN = USE_OPENCL + """
use()
for status in range(20):
    if os.fork() == 0:
        os._exit(status)
print(sum(os.waitstatus_to_exitcode(wait(0)) for _ in range(20)), wait(0))
"""

IGNORES_CHILDREN = USE_OPENCL + """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
use()
print(wait(0))
"""


def run(script, *prefix, **options):
    # Newer Pythons warn of fork() beside threads (PoCL's), with the process id.
    return subprocess.run([*prefix, sys.executable, "-W", "ignore", "-c", script], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False, **options)


def preloaded(**more):
    return {**os.environ, "LD_PRELOAD": LIBRARIES + "/libkymo-inject.so",
            "OPENCL_LAYERS": LIBRARIES + "/libkymo.so.1", "KYMO_BIN": KYMO,
            "KYMO_TRACE": os.getcwd() + "/t.kymo", **more}


def manifest():
    try:
        with open("t.kymo/manifest.json", encoding="utf-8") as f:
            return json.load(f)
    except OSError:
        return {}


def await_trace():
    deadline = time.monotonic() + 30
    while manifest().get("state") != "complete":
        expect(time.monotonic() < deadline, "the drain did not finish:", manifest())
        time.sleep(0.001)
    return manifest()


def same_preloaded(script):
    plain, traced = run(script), run(script, env=preloaded())
    expect(plain.returncode == 0, plain)
    expect((traced.returncode, traced.stdout, traced.stderr) ==
           (plain.returncode, plain.stdout, plain.stderr), "was", plain, "is", traced)
    expect(await_trace()["totals"]["processes"] >= 1, manifest())


def test_wait_sees_no_drain():
    same_preloaded(NO_TRACES_OF_THE_DRAIN)


def test_own_children_only():
    same_preloaded(CHILDREN)


def test_ignored_children():
    same_preloaded(IGNORES_CHILDREN)


def test_drain_prints_nothing():
    open("t.kymo", "w", encoding="utf-8").close() # no directory can be made here
    plain = run(USE_OPENCL + "use()")
    traced = run(USE_OPENCL + "use()", env=preloaded())
    expect((traced.returncode, traced.stdout, traced.stderr) ==
           (plain.returncode, plain.stdout, plain.stderr), "was", plain, "is", traced)


def test_compression_as_asked():
    """A drain that a process starts does what `kymo run` was told: its trace may be one of a launcher."""
    for asked, plain in (({}, False), ({"KYMO_NO_COMPRESS": "0"}, False), ({"KYMO_NO_COMPRESS": "1"}, True)):
        shutil.rmtree("t.kymo", ignore_errors=True)
        run(USE_OPENCL + "use()", env=preloaded(**asked))
        totals = await_trace()["totals"]
        kymotest.wait_for(lambda: not kymotest.writers("t.kymo"), "the drain's end")
        expect((totals["stored_bytes"] == totals["bytes"]) == plain, asked, totals)


def test_exec_ends_an_image():
    """The drain knows exec from the end of the process, and does not keep the old image's memory."""
    script = USE_OPENCL + """
use()
again = int(sys.argv[1]) if len(sys.argv) > 1 else 2
if again:
    os.execv(sys.executable, [sys.executable, sys.argv[0], str(again - 1)])
"""
    with open("again.py", "w", encoding="utf-8") as f:
        f.write(script)
    subprocess.run([KYMO, "run", "--no-summary", "-o", "t.kymo", sys.executable, "again.py"],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=60, check=True)
    ends = [p["ended"] for p in manifest()["processes"]]
    expect(ends == ["exec", "exec", "finalised"], ends)


def limited(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_file_size_limit():
    script = USE_OPENCL + "signal.signal(signal.SIGXFSZ, signal.SIG_DFL); use()\n" \
             "print(resource.getrlimit(resource.RLIMIT_FSIZE))"
    for size, recorded in ((8 << 20, True), (1 << 20, False)):
        plain = run(script, preexec_fn=limited(size))
        traced = run(script, KYMO, "run", "-f", "-o", "t.kymo", preexec_fn=limited(size))
        expect(plain.returncode == 0, plain)
        expect((traced.returncode, traced.stdout) == (plain.returncode, plain.stdout),
               "with files of", size, "it was", plain, "is", traced)
        expect((manifest()["totals"]["processes"] == 1) == recorded, size, manifest())
        expect(("limit of file sizes" in traced.stderr) != recorded, traced.stderr)


def test_closed_streams():
    """With 0 to 2 closed, nothing that Kymo opens may take their place in the program."""
    script = USE_OPENCL + """
use()
with open("fds", "w") as f:
    f.write(str([fd for fd in listing() if fd[0] < 3]))
"""
    def close():
        for fd in range(3):
            os.close(fd)
    seen = []
    for words in ([], [KYMO, "run", "-f", "-o", "t.kymo"]):
        command = [*words, sys.executable, "-c", script]
        pid = os.fork()
        if pid == 0:
            close()
            os.execv(command[0], command)
        expect(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, words)
        with open("fds", encoding="utf-8") as f:
            seen.append(f.read())
    expect(seen[0] == seen[1], "the program has", seen[1], "and had", seen[0])
    for path, _, names in os.walk("t.kymo"):
        for name in names:
            with open(os.path.join(path, name), "rb") as f:
                expect(b"kymo: trace in" not in f.read(), "a message went into", name)


def main():
    failed, home = 0, os.getcwd()
    for name, test in [(n, f) for n, f in globals().items() if n.startswith("test_")]:
        if sys.argv[3:] and name not in sys.argv[3:]:
            continue
        with kymotest.Folder(prefix="kymo-harm-") as folder:
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
