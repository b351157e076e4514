#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what the libraries loaded into programs need and export.

needed.py LIBRARY... : DT_NEEDED entries must be libc's own (and libkymo itself); the exported
symbols must be kymo_* and the documented doors of runtimes, and the functions that libkymo-inject
stands before (_exit: a last collect of device work, because nothing of the program's runs after it; __asan_default_options: a sanitizer
that asks for options); no text relocations, no executable stack.
"""
import re
import subprocess
import sys

NEEDED = re.compile(r"^(libc|libdl|libpthread|ld-linux-[a-z0-9-]+|libkymo)\.so\.\d+$")
EXPORTED = re.compile(r"^(kymo_\w+|rocprofiler_set_api_table|rocprofiler_register_\w+|cl[A-Z]\w+|KYMO_\w+|"
                      r"P?MPI_\w+|mpi_\w+|InitializeInjection(Nvtx\w+)?|__itt_api_init|ze[rst]?Get\w+ProcAddrTable|kokkosp_\w+|ompt_start_tool|__tgt_target_kernel(_nowait)?|_exit|_Exit|"
                      r"sigaction|(bsd_|s|sysv_|__sysv_)?signal|sigset|sigignore|fork|daemon|execv|execve|execvp|execvpe|execl|execle|execlp|posix_spawnp?|unshare|setns|set(res|re|e)?[ug]id|setgroups|initgroups|setrlimit(64)?|prlimit(64)?|"
                      r"__asan_default_options)$")
# Functions that end the program, print to its streams or change its signals.
FORBIDDEN = {"exit", "_exit", "abort", "printf", "puts", "putchar", "perror", "sigaction", "signal",
             "sqlite3_open", "ZSTD_compress"}
# In the forked child that becomes the drain; in a child that a tool forked out of a delivery
# callback; for sampling by timers, where the user asks for it; and where the last thread of the program
# is gone and the C library would have called exit() there (core/process/life.c).
ALLOWED_IN = {"libkymo-inject": {"_exit", "sigaction"}, "libkymo": {"_exit", "exit", "sigaction"}}


def run(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def check(path, problems):
    name = path.rsplit("/", 1)[-1].split(".so")[0]
    dynamic = run("readelf", "-dW", path)
    for entry in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if not NEEDED.match(entry):
            problems.append(f"{path}: needs {entry}")
    if "TEXTREL" in dynamic:
        problems.append(f"{path}: has text relocations")
    if re.search(r"GNU_STACK.*RWE", run("readelf", "-lW", path)):
        problems.append(f"{path}: wants an executable stack")
    exported = undefined = 0
    for line in run("nm", "-D", path).splitlines():
        words = line.split()
        symbol = words[-1].split("@")[0]
        if words[-2] == "U":
            undefined += 1
            if symbol in FORBIDDEN - ALLOWED_IN.get(name, set()):
                problems.append(f"{path}: calls {symbol}")
        elif words[-2] in "TDBRVW" and len(words) == 3:
            exported += 1
            if not EXPORTED.match(symbol):
                problems.append(f"{path}: exports {symbol}")
    print(f"{path}: {exported} exported, {undefined} undefined symbols")
    if not undefined:
        problems.append(f"{path}: no symbols read")


def main():
    problems = []
    if len(sys.argv) < 2:
        problems.append("usage: needed.py LIBRARY...")
    for path in sys.argv[1:]:
        check(path, problems)
    for p in problems:
        print(p)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
