#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writers need memory that does not grow with the trace: what they keep of each record until the end (ranges, values of counters of kernels,
kernels that may be counted, rows of devices, messages) goes to temporary files beyond KYMO_READ_MEMORY. With as much memory as is stated here they fail if
it may all lie in memory, and write the same bytes as ever if it may not.

    write_memory.py KYMO KYMO_SYNTH"""
import os
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, environment, must  # noqa: E402

KYMO, SYNTH = (os.path.abspath(p) for p in sys.argv[1:3])
FAILURE = 3  # exit status: it could not be done
COUNTED, MESSAGES = ("counted", 80000), ("mpi", 200000)
# Format, output, MB of writable memory: 6 more than are needed for any number of records, and 6 less than all of these take.
CASES = {
    COUNTED: (("xspace", "o.xplane.pb", (), 48), ("rocprofv3:json", "o.json", (), 20), ("chrome", "o.json", ("--rows", "device"), 16)),
    MESSAGES: (("paraver", "o", (), 9),),
}


def content(path):
    """Of a file, or of all in a folder by name."""
    if not os.path.isdir(path):
        with open(path, "rb") as f:
            return f.read()
    return {name: content(os.path.join(path, name)) for name in sorted(os.listdir(path))}


def exported(trace, case, memory, **options):
    to, output, more, _ = case
    run = kymotest.run(KYMO, "export", "--to", to, *more, "--force", "-o", output, trace, env=environment(KYMO_READ_MEMORY=memory), **options)
    return run, content(output) if run.returncode == 0 else None


def test_case(trace, case):
    name = " ".join((case[0], *case[2]))
    run, all_in_memory = exported(trace, case, "1G")
    check(f"{name}: {run.stderr}", (run.returncode, len(all_in_memory or "") > 2), (0, True))
    if kymotest.SANITIZED:
        run, got = exported(trace, case, "0")
        check(f"{name}: all in files: {run.stderr}", (run.returncode, got == all_in_memory), (0, True))
        return

    def bound_data():
        resource.setrlimit(resource.RLIMIT_DATA, (case[3] << 20, case[3] << 20))

    run, _ = exported(trace, case, "1G", preexec_fn=bound_data)
    check(f"{name}: without files: {run.stderr}", (run.returncode, "not enough memory to write it" in run.stderr), (FAILURE, True))
    run, got = exported(trace, case, "1M", preexec_fn=bound_data)
    check(f"{name}: with files: {run.stderr}", (run.returncode, got == all_in_memory), (0, True))


def test_no_room(trace):
    run = kymotest.run(KYMO, "export", "--to", "chrome", "-o", "full.json", trace, env=environment(KYMO_READ_MEMORY="0", TMPDIR="/nonexistent/kymo"))
    check(f"no folder: {run.stderr}", (run.returncode, "full.json: no room for what is kept to write it: temporary file in /nonexistent/kymo: No such file "
          "or directory; free space or set TMPDIR" in run.stderr), (FAILURE, True))
    check("nothing is left", [name for name in os.listdir(".") if name.startswith("full.")], [])


def main():
    with kymotest.Folder() as folder:
        os.chdir(folder)
        for (kind, calls), cases in CASES.items():
            must(SYNTH, "growth", f"{kind}.kymo", kind, str(calls if not kymotest.SANITIZED else calls // 20))
            for case in cases:
                test_case(f"{kind}.kymo", case)
        test_no_room("counted.kymo")
        os.chdir("/")
    return 1 if kymotest.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
