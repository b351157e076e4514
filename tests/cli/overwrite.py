# SPDX-License-Identifier: Apache-2.0
"""kymo run --on-full overwrite: the end of the run remains, what gave way is counted and is no loss.

    overwrite.py KYMO OCL_MANY KYMO_SYNTH
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

kymo, program, synth = sys.argv[1:4]
command = [program, "--threads", "2", "--queues", "1", "--kernels", "20000"]


def record(folder, name, *options):
    """Runs the program; its trace, and what was printed."""
    trace = os.path.join(folder, name + ".kymo")
    done = subprocess.run([kymo, "run", *options, "-o", trace, "--", *command],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    if "nothing was recorded" in done.stdout:
        print("skipped: no OpenCL device here")
        sys.exit(77)
    assert done.returncode == 0, done.stdout
    return trace, done.stdout


def totals(trace):
    with open(os.path.join(trace, "manifest.json"), encoding="utf-8") as f:
        return json.load(f)["totals"]


def shown(trace):
    out = subprocess.run([kymo, "show", trace], stdout=subprocess.PIPE, text=True, check=True)
    return out.stdout.splitlines()


def output(*words):
    return " ".join(subprocess.run([kymo, *words], stdout=subprocess.PIPE, text=True, check=True).stdout.split())


with kymotest.Folder() as folder:
    trace, said = record(folder, "ring", "--on-full", "overwrite", "--buffer-size", "1M")
    t = totals(trace)
    assert t["overwritten_records"] > 0, t
    assert t["lost_records"] == 0 and t["lost_definitions"] == 0, t
    told = re.search(r"Overwritten: ([\d,]+) older records", said)
    assert told and int(told.group(1).replace(",", "")) == t["overwritten_records"], said
    assert "Lost: nothing." in said, said
    # What there is tells nothing of the whole, but of the time from which on all is there.
    plain = " ".join(said.split())
    assert "What bounds the run, and why devices idle, cannot be told of the whole" in plain and " bounds the run:" not in plain, said
    after = re.search(r"kymo summary --after ([0-9.]+) ", plain).group(1)
    rest = output("summary", "--after", after, trace)
    # Of the rest it can: but of a device whose threads had no processor, as on a busy machine, the causes are not known.
    assert re.search(r" the run: | too much of the devices' idle time has no known cause", rest), rest
    assert "of the whole:" not in rest, rest
    early = output("summary", "--after", str(float(after) - 0.00001), trace)
    assert "cannot be told of the whole" in early, early
    diagnosis = output("diagnose", trace)
    assert f"of the rest: --after {after}" in diagnosis and "could win" not in diagnosis, diagnosis
    assert "lost" not in diagnosis, diagnosis
    assert f"--after {after}" not in output("diagnose", "--after", after, trace)
    lines = shown(trace)
    assert "clReleaseContext" in lines[-1], lines[-1]
    assert all("=" in line for line in lines if "clEnqueueNDRangeKernel(" in line)
    kept = sum("clEnqueueNDRangeKernel(" in line for line in lines)
    assert 0 < kept < 20000, kept
    # Room enough: nothing gives way, and the summary does not speak of it.
    trace, said = record(folder, "room", "--on-full", "overwrite", "--buffer-size", "64M")
    assert totals(trace)["overwritten_records"] == 0 and "Overwritten" not in said, said
    kept = sum("clEnqueueNDRangeKernel(" in line for line in shown(trace))
    assert kept == 20000, kept
    assert "cannot be told of the whole" not in output("summary", trace)
    # Most was lost: what is left says nothing of the whole.
    trace = os.path.join(folder, "lossy.kymo")
    subprocess.run([synth, "losses", trace, "300", "2000"], check=True)
    head = output("summary", trace)
    assert "cannot be told: 2,000 of 2,004 records were lost" in head and " bounds the run:" not in head, head
