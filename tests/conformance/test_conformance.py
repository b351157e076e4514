#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program with the conformance tool beside Kymo's recorder and reads what the tool found.

test_conformance.py BUILD PROGRAM: the folder cmake built in. Every promise that the program gives
occasion to must have been looked at, and none may have failed.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import SKIPPED  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
TESTS = os.path.join(BUILD, "tests")
TOOL = os.path.join(TESTS, "conformance", "conformance_tool.so")
KYMO = os.path.join(BUILD, "bin", "kymo")

CALLS = ["pairs", "parents", "ids-unique", "retired-once", "retired-last", "external", "drops",
         "start-before-end", "within-the-tool's-life", "same-views", "same-thread", "same-parent",
         "same-scope", "same-status", "same-values"]
DEVICE = CALLS + ["work-names-its-call", "three-callbacks", "work-after-its-call"]
KERNELS = DEVICE + ["kernels-announced", "kernels-once"]
SCOPES = ["scopes-known", "scopes-a-tree", "scopes-unique"]
DROPS = ["pairs", "parents", "retired-once", "retired-last", "drops", "drops-happened"]


def found(*parts):
    for folder in ("bin", "tests/programs", "tests/conformance", "tests/register"):
        path = os.path.join(BUILD, folder, *parts)
        if os.path.exists(path):
            return path
    return None


FAKE = [os.path.join(TESTS, "conformance", "conformance_program"),
        os.path.join(TESTS, "register", "linked", "libfake.so.1")]
DRIVER = os.path.join(BUILD, "lib", "libopencl_driver.so")
# program: command, promises, settings
PROGRAMS = {
    "fake": (FAKE + ["8", "500"], CALLS + SCOPES + ["nested"], {}),
    "fake_drops": (FAKE + ["8", "3000"], DROPS, {"CONFORMANCE_BYTES": "262144"}),
    "rocm": ([found("probe_rocm"), "kymo", os.path.join(TESTS, "register", "linked",
                                                        "libamdhip64.so.6"),
              os.path.join(TESTS, "register", "profiler", "librocprofiler-sdk.so")], KERNELS + ["allocations"], {}),
    "ocl_copies": ([found("ocl_copies")], DEVICE + ["direction", "allocations",
                                                    "allocation-bytes"], {}),
    "ocl_many": ([found("ocl_many"), "--kernels", "2000"], KERNELS + ["allocations"], {}),
    "ocl_svm": ([found("ocl_svm")], DEVICE, {}),
    "ocl_errors": ([found("ocl_errors")], CALLS, {}),
    # Each extension function, on a fake for a driver.
    "ocl_extensions": ([found("opencl_probe")], CALLS + ["members-together"], {"OCL_ICD_VENDORS": DRIVER, "OCL_ICD_FILENAMES": DRIVER}),
    "ocl_callbacks": ([found("ocl_callbacks")], CALLS, {}),
    "ocl_poll": ([found("ocl_poll")], DEVICE, {}),
    "ocl_drops": ([found("ocl_many"), "--kernels", "10000"], DROPS, {"CONFORMANCE_BYTES": "65536"}),
}

BROKEN = {"ocl_extensions": ["kernels-announced"]}  # its two launches give no kernel


def run(command, settings, out, trace):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("KYMO_", "LD_PRELOAD"))}
    env.update(settings, KYMO_TOOLS=TOOL, CONFORMANCE_OUT=out)
    env["LD_LIBRARY_PATH"] = os.path.join(BUILD, "lib")
    done = subprocess.run([KYMO, "run", "--no-summary", "-o", trace, "--", *command], env=env,
                          capture_output=True, text=True, errors="replace", timeout=250)
    return done.returncode, done.stdout + done.stderr


def main():
    command, promises, settings = PROGRAMS[sys.argv[2]]
    if not all(part is not None for part in command):
        print("skipped: the program was not built")
        return SKIPPED
    with kymotest.Folder() as folder:
        out = os.path.join(folder, "out")
        status, said = run(command, settings, out, os.path.join(folder, "t.kymo"))
        if status == SKIPPED:
            print("skipped:", said)
            return SKIPPED
        if status or not os.path.exists(out):
            print(f"{command} ended with {status}; the tool says "
                  f"{'something' if os.path.exists(out) else 'nothing'}\n{said}")
            return 1
        looked, wrong = {}, 0
        for line in open(out, errors="replace"):
            promise, times, failed, what = line.rstrip("\n").split(" ", 3)
            looked[promise] = int(times)
            if promise in BROKEN.get(sys.argv[2], []):
                wrong += failed != "2"
            elif int(failed):
                wrong += 1
                print(f"{promise}: {failed} of {times} do not hold, first: {what}")
    for promise in promises:
        if not looked.get(promise):
            wrong += 1
            print(f"{promise}: never looked at")
    print(" ".join(f"{promise} {times}" for promise, times in looked.items()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
