#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every function of the annotation interfaces and every callback of OMPT is provided, or left alone for a reason.

test_functions.py PROVIDED LIBRARY: the program that prints what is provided, and libkymo. functions.txt is compared with both, and
with the headers and libraries that are installed.
"""
import glob
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from base import must, wrong  # noqa: E402


def fail(what):
    wrong.append(what)
    print(what)


def listed():
    """(interface, key): reason."""
    found = {}
    with open(os.path.join(HERE, "functions.txt"), encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                words, _, reason = line.strip().partition(" : ")
                interface, key = words.split()[:2]
                found[interface, key] = reason
    return found


def provided(program, library):
    found = {tuple(line.split()) for line in must(program).splitlines()}
    symbols = must("nm", "-D", "--defined-only", library)
    return found | {("kokkos", n) for n in re.findall(r"\b(kokkosp_\w+)", symbols)}


def texts(*patterns):
    for path in sorted(p for pattern in patterns for p in glob.glob(pattern)):
        with open(path, "rb") as f:
            yield path, f.read().decode("latin-1")


def ompt():
    for path, text in texts("/usr/lib/llvm-*/lib/clang/*/include/omp-tools.h"):
        for name, number in re.findall(r"macro \(ompt_callback_(\w+), *\w+, *(\d+)\)", text):
            yield path, "ompt", number, name


EXTENSIONS = {"nvToolsExtPayload.h": "PAYLOAD", "nvToolsExtCounters.h": "COUNTERS",
              "nvToolsExtMem.h": "MEM", "nvToolsExtMemCudaRt.h": "MEM"}


def nvtx():
    for include in [os.environ.get("NVTX_INCLUDE", "-"), "/usr/include", "/usr/local/include",
                    *glob.glob("/usr/local/cuda*/include")]:
        for path, text in texts(include + "/nvtx3/nvtxDetail/nvtxTypes.h"):
            for module, name, number in re.findall(
                    r"NVTX_CBID_(CORE2|CORE|CUDART|CUDA|OPENCL|SYNC)_(\w+)\s*=\s*(\d+),", text):
                if name != "INVALID":
                    yield path, "nvtx", f"{module}.{number}", name
        for header, module in EXTENSIONS.items():
            for path, text in texts(f"{include}/nvtx3/{header}"):
                for name, number in re.findall(r"NVTX3EXT_CBID_nvtx(\w+)\s+(\d+)", text):
                    yield path, "nvtx", f"{module}.{number}", name


def itt():
    """Static parts lie in libraries, with the names of all their functions."""
    for path, text in texts("/usr/lib/*/libtbb.so.12", "/usr/lib/*/libtbbmalloc.so.2"):
        for name in set(re.findall(r"\0__itt_([a-z]\w+)(?=\0)", text)):
            yield path, "itt", name, name


# Kokkos's own names of callbacks, where they are not those of the functions that it looks for.
CALLED = {"init": "init_library", "finalize": "finalize_library", "push_region": "push_profile_region",
          "pop_region": "pop_profile_region", "sync_dual_view": "dual_view_sync",
          "modify_dual_view": "dual_view_modify", "request_output_values": "request_values",
          "begin_tuning_context": "begin_context", "end_tuning_context": "end_context"}


def kokkos():
    for path, text in texts("/usr/include/trilinos/impl/Kokkos_Profiling_C_Interface.h",
                            "/usr/include/impl/Kokkos_Profiling_C_Interface.h"):
        members = text[text.index("struct Kokkos_Profiling_EventSet"):]
        for name in re.findall(r"Function (\w+);", members[:members.index("\n}")]):
            yield path, "kokkos", "kokkosp_" + CALLED.get(name, name), name


def main():
    if not shutil.which("nm"):
        print("skipped: no nm here")
        return 77
    known, have = listed(), provided(*sys.argv[1:3])
    for key, reason in known.items():
        if reason and key in have:
            fail(f"{' '.join(key)}: provided, and left alone because: {reason}")
        elif not reason and key not in have:
            fail(f"{' '.join(key)}: neither provided nor left alone for a reason")
    for key in sorted(have - set(known)):
        fail(f"{' '.join(key)}: provided and not listed")
    compared = {}
    for source in (ompt, nvtx, itt, kokkos):
        for path, interface, key, name in source():
            compared[path] = compared.get(path, 0) + 1
            if (interface, key) not in known:
                fail(f"{interface} {key} ({name}): in {path} and not listed")
    for path, count in compared.items():
        print(f"{path}: {count} compared")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
