#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The installed package, as a stranger uses it: install.py BUILD SOURCE HEAT.

Installs into an empty folder; from there `kymo` must record, and the example tools must build with
pkg-config and with CMake, and see what the program did."""
import glob
import os
import re
import subprocess
import sys
import tempfile

FRAMES, STEPS = 10, 8
CONSUMER = """cmake_minimum_required(VERSION 3.21)
project(consumer C)
find_package(kymo REQUIRED)
add_library(histogram MODULE {source})
target_link_libraries(histogram PRIVATE kymo::kymo)
"""


def run(*argv, **options):
    done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=120, **options)
    if done.returncode:
        sys.exit(f"{' '.join(argv)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def check(what, holds):
    print(("ok   " if holds else "FAIL ") + what)
    if not holds:
        sys.exit(1)


def kernels_of(text):
    """Executions by kernel, from what the histogram tool printed."""
    counts = {}
    for name, n in re.findall(r"^(\w+) +\d+ ns and more: (\d+)$", text, re.M):
        counts[name] = counts.get(name, 0) + int(n)
    return counts


def main():
    build, source, heat = sys.argv[1:]
    program = [heat, "--size", "128", "--frames", str(FRAMES), "--steps", str(STEPS)]
    with tempfile.TemporaryDirectory() as folder:
        prefix, bare = os.path.join(folder, "kymo"), {"PATH": "/usr/bin:/bin", "HOME": folder}
        run("cmake", "--install", build, "--prefix", prefix)
        (pc,) = glob.glob(f"{prefix}/**/kymo.pc", recursive=True)
        libraries = os.path.dirname(os.path.dirname(pc))
        kymo = f"{prefix}/bin/kymo"

        trace = f"{folder}/t.kymo"
        run(kymo, "run", "--no-summary", "-o", trace, *program, env=bare, cwd=folder)
        told = run(kymo, "info", trace, env=bare).stdout
        check("the installed kymo records", re.search(rf"dispatch +\d+", told) is not None)

        flags = run("pkg-config", "--cflags", "--libs", "kymo",
                    env={**os.environ, "PKG_CONFIG_PATH": os.path.dirname(pc)}).stdout.split()
        tools = {}
        for name in ("kernel_histogram", "call_trace"):
            tools[name] = f"{folder}/{name}.so"
            run("cc", "-std=c11", "-Wall", "-Werror", "-shared", "-fPIC", f"{source}/examples/tools/{name}.c",
                *flags, "-o", tools[name])
        os.mkdir(f"{folder}/consumer")
        with open(f"{folder}/consumer/CMakeLists.txt", "w", encoding="utf-8") as f:
            f.write(CONSUMER.format(source=f"{source}/examples/tools/kernel_histogram.c"))
        run("cmake", "-S", f"{folder}/consumer", "-B", f"{folder}/consumer/b", f"-Dkymo_ROOT={prefix}")
        run("cmake", "--build", f"{folder}/consumer/b")

        env = {**bare, "OPENCL_LAYERS": f"{libraries}/libkymo.so.1", "LD_LIBRARY_PATH": libraries}
        wanted = {"init": 1, "advance": FRAMES * STEPS, "border": FRAMES * STEPS, "measure": FRAMES}
        for made, tool in (("pkg-config", tools["kernel_histogram"]),
                           ("CMake", f"{folder}/consumer/b/libhistogram.so")):
            told = run(*program, env={**env, "KYMO_TOOLS": tool}).stderr
            check(f"kernels of the histogram built by {made}: {kernels_of(told)}",
                  kernels_of(told) == wanted)
        both = ":".join(tools.values())
        told = run(*program, env={**env, "KYMO_TOOLS": both}).stderr
        check("two tools side by side: kernels", kernels_of(told) == wanted)
        calls = len(re.findall(r"opencl:clEnqueueNDRangeKernel #\d+ = 0, \d+ ns", told))
        check(f"two tools side by side: {calls} calls", calls == sum(wanted.values()))


main()
