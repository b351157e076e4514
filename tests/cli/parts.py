#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parts of devices (sub-devices): rows of their own where asked for, else work of their device, never twice.

    parts.py KYMO OCL_PARTS"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check  # noqa: E402

KYMO, PROGRAM = (os.path.abspath(p) for p in sys.argv[1:3])
LAUNCHES = {(0, ""): 1, (0, " part 0"): 2, (0, " part 1"): 3, (1, ""): 4, (1, " part 0"): 5, (1, " part 1"): 6}


def tables(trace, *words):
    out = kymotest.must(KYMO, "summary", "-f", "json", *words, trace, stdin=subprocess.DEVNULL)
    return {t["name"]: t["rows"] for t in json.loads(out)["tables"]}


def covered(spans):
    """Length of a union."""
    total, end = 0, 0
    for a, b in sorted(spans):
        total += max(b - max(a, end), 0)
        end = max(end, b)
    return total


def by_part(trace, base):
    labels = {(i, p): f"{base} #{i}{p}" for i, p in LAUNCHES}
    for words, wanted in (
            ("subdevice", {(labels[k],): n for k, n in LAUNCHES.items()}),
            ("device", {(f"{base} #0",): 6, (f"{base} #1",): 15}),
            ("device,subdevice", {(f"{base} #{k[0]}", labels[k]): n for k, n in LAUNCHES.items()})):
        rows = tables(trace, "--by", words)
        names = words.split(",")
        check(f"kernels by {words}", {tuple(r[w] for w in names): r["calls"] for r in rows["kernels"]}, wanted)
        check(f"copies by {words}", {tuple(r[w] for w in names): r["calls"] for r in rows["copies"]},
              {k: len(LAUNCHES) // len(wanted) for k in wanted})
    queues = {r["queue"].rsplit(" queue ", 1)[0]: r["calls"] for r in tables(trace)["queues"] if r["what"] == "kernels"}
    check("queues", queues, {labels[k]: n for k, n in LAUNCHES.items()})


def busy(trace, base):
    """Of a device: the union of its own work and that of its parts."""
    found = {r["device"]: r for r in tables(trace, "--tables", "devices")["devices"]}
    check("devices of the digest", sorted(found), [f"{base} #0", f"{base} #1"])
    for i in (0, 1):
        spans = [(r["start"], r["end"]) for r in kymotest.query(
            KYMO, trace, f"SELECT start, end FROM kernels WHERE agent_name LIKE '{base} #{i}%' AND untimed = 0")]
        check(f"time of kernels of device {i}", found[f"{base} #{i}"]["kernels_ns"], covered(spans))


def chosen(trace, base):
    """A device is chosen with its parts; the number of a part is not that of a device."""
    for device, count in (("1", 15), ("0", 6), (f"{base} #1 part 0", 5)):
        rows = tables(trace, "--by", "subdevice", "--device", device)["kernels"]
        check(f"--device {device}", sum(r["calls"] for r in rows), count)


def people(trace, base):
    text = kymotest.must(KYMO, "summary", "--by", "subdevice", trace)
    found = dict(re.findall(r"^(D\d(?: part \d)?) {2,}\S+ \S+ +\S+ +(\d+) ", text.split("\nKernels: ", 1)[1].split("\n\n")[0], re.M))
    check("rows of people", sorted(int(n) for n in found.values()), sorted(LAUNCHES.values()))
    legend = re.search(r"^Devices: (.*)\.$", text, re.M).group(1)
    check("legend", sorted(part.split(" is ")[1] for part in legend.split("; ")), [f"{base} #0", f"{base} #1"])


os.environ["POCL_DEVICES"] = "pthread pthread"
with kymotest.Folder() as scratch:
    here = scratch + "/t.kymo"
    kymotest.must(KYMO, "run", "--no-summary", "-o", here, PROGRAM, "--counts", scratch + "/counts.json")
    with open(scratch + "/counts.json", encoding="utf-8") as f:
        facts = json.load(f)["facts"]
    if facts != {"devices": 2, "parts_0": 2, "parts_1": 2}:
        kymotest.skip(f"the first OpenCL platform has no two devices with two parts each: {facts}")
    (name,) = {r["label"].split(" #")[0] for r in kymotest.query(KYMO, here, "SELECT label FROM agent")}
    by_part(here, name)
    by_part(here + "/store.db", name)
    busy(here, name)
    chosen(here, name)
    people(here, name)
print("%d failed" % len(kymotest.wrong))
sys.exit(1 if kymotest.wrong else 0)
