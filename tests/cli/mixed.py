# SPDX-License-Identifier: Apache-2.0
"""Traces for tests of writers: of two ranks with two devices of one name each, with two threads, samples, markers and
with names that are there to break a file."""
import json
import os

from kymotest import must

HOSTILE = ['a "b", c', "line\nbreak", "=1+cmd|' /C calc'!A0", "@sum(1)", "-2+3", "+4", "\x1b[31m\x01red", "<b>&amp;|`x`|</b>",
           "\u202eright", "k" * 40000, "_x0041_", "a;b/c", "\U0001f600", "\ttab", "007", "1e5"]
NO_TEXT = b"\xff\xe9t\xc3\xa9\xc3"
NO_TEXT_READ = "\ufffd\ufffdt\u00e9\ufffd"


def record(kymo, two, threads, annotated):
    """all.kymo, in this folder."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("KYMO_")}
    env.update(POCL_DEVICES="pthread pthread")
    job = {"SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "2", "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0"}
    for rank in "01":
        must(kymo, "run", "--no-summary", "-o", f"{rank}.kymo", two, env={**env, **job, "SLURM_PROCID": rank})
    must(kymo, "run", "--no-summary", "--sample", "-o", "threads.kymo", threads, env=env)
    must(kymo, "run", "--no-summary", "-o", "marks.kymo", annotated, env=env)
    must(kymo, "merge", "-o", "all.kymo", "0.kymo", "1.kymo", "threads.kymo", "marks.kymo")


def record_hostile(synth):
    """names.json: a range and a kernel of each of these names; bytes.kymo: a kernel whose name is no text."""
    events = []
    for i, name in enumerate(HOSTILE):
        events.append({"ph": "X", "name": name, "cat": "user_annotation", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5})
        events.append({"ph": "X", "name": name, "cat": "kernel", "pid": 1, "tid": 7, "ts": 10 * i + 1, "dur": 3,
                       "args": {"device": 0, "stream": 7}})
    with open("names.json", "w", encoding="utf-8") as f:
        json.dump({"traceEvents": events}, f)
    must(synth, "names", "bytes.kymo", os.fsdecode(NO_TEXT), "fine")
