#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two devices of one name: told apart, and the same numbers in every output.

    two_devices.py KYMO OCL_TWO PERFETTO_CHECK"""
import csv
import importlib.util
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check  # noqa: E402

KYMO, PROGRAM, CHECKER = (os.path.abspath(p) for p in sys.argv[1:4])
spec = importlib.util.spec_from_file_location("perfetto_check", CHECKER)
perfetto = importlib.util.module_from_spec(spec)
spec.loader.exec_module(perfetto)


def kymo(*words):
    return kymotest.must(KYMO, *words, stdin=subprocess.DEVNULL)


def query(trace, sql):
    return [tuple(r.values()) for r in kymotest.query(KYMO, trace, sql)]


def table(trace, name, *words):
    out = json.loads(kymo("summary", "-f", "json", *words, trace))
    return {t["name"]: t["rows"] for t in out["tables"]}.get(name, [])


def rows(folder, name):
    with open(os.path.join(folder, name + ".csv"), encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def exports(trace, folder):
    kymo("export", "--to", "csv", "-o", folder + "/csv", trace)
    kymo("export", "--to", "json", "-o", folder + "/t.json", trace)
    kymo("export", "-o", folder + "/t.pftrace", trace)
    with open(folder + "/t.json", encoding="utf-8") as f:
        document = json.load(f)
    picture = perfetto.read(folder + "/t.pftrace")
    return document, picture


def names(trace, document, picture, folder):
    """Every output has the same two labels, and no two queues of a device share one."""
    labels = sorted(a for a, in query(trace, "SELECT label FROM agent"))
    base = labels[0][:-3]
    check("labels", labels, [base + " #0", base + " #1"])
    queues = [(a, "queue %d" % q) for a in labels for q in (0, 1)]
    for what, got in (
            ("sql", query(trace, "SELECT DISTINCT agent_name, lower(queue) FROM kernels "
                                 "ORDER BY 1, 2")),
            ("csv", sorted({(r["agent"], r["queue"]) for r in rows(folder, "dispatches")})),
            ("csv, copies", sorted({(r["agent"], r["queue"]) for r in rows(folder, "copies")})),
            ("json", sorted((document["trace"]["agents"][q["agent"]]["label"], q["name"])
                            for q in document["trace"]["queues"][1:])),
            ("summary", sorted(tuple(r["queue"].rsplit(" queue ", 1)[0:1]) +
                               ("queue " + r["queue"][-1],)
                               for r in table(trace, "kernels", "--by", "queue")))):
        check(what + " tells devices and queues apart", got, queues)
    check("busy", sorted(a for a, in query(trace, "SELECT name FROM busy")), labels)
    check("copies in sql", query(trace, "SELECT DISTINCT ifnull(dst_device, src_device) FROM "
                                        "memory_copies WHERE operation = 'write' ORDER BY 1"),
          [(a,) for a in labels])
    check("copies from", query(trace, "SELECT DISTINCT src_device, dst_device FROM memory_copies "
                                      "WHERE operation = 'read' ORDER BY 1"),
          [(a, None) for a in labels])
    for command in ("info", "show"):
        text = kymo(command, trace)
        check(command + " has both", [base + " #%d" % i in text for i in (0, 1)], [True, True])
        check(command + " has none without a number", text.replace(base + " #", "").count(base), 0)
    tracks(picture, labels)


def tracks(picture, labels):
    """By name as old viewers merge, and by what the descriptors say."""
    paths = {}
    for uuid, t in picture.tracks.items():
        if t.get("kind") == "track" and t["name"]:
            paths.setdefault(picture.path(uuid), []).append(t)
    mine = [p for p in paths if any(p.endswith("cpu " + a) for a in labels)]
    check("a track for each device", len(mine), 2)
    for p in mine:
        check("its queues", sorted(q[len(p) + 3:] for q in paths if q.startswith(p + " > ")),
              ["queue 0", "queue 1"])
        check("it merges with none", [t["merge"] for t in paths[p]], [(2, None)])
    keys = [t["merge"] for p in paths for t in paths[p] if p.split(" > ")[-1].startswith("queue")
            and "outstanding" not in p]
    check("queues merge with their own lanes only", (len(set(keys)), {k[0] for k in keys}),
          (4, {3}))


def legend(trace, labels):
    """People read each device once, and then its number; with their names in full they do not."""
    text = kymo("summary", trace)
    (line,) = re.findall(r"^Devices: (.*)\.$", text, re.M)
    found = dict(part.split(" is ", 1) for part in line.split("; "))
    check("legend", sorted(found.items()), [("D0", found.get("D0")), ("D1", found.get("D1"))])
    check("legend of both", sorted(found.values()), labels)
    told = dict(re.findall(r"^Device (\d): (.*?)(?:: |$)", text, re.M))
    check("numbers of the digest", {"D" + k: v for k, v in told.items()}, found)
    queues = re.findall(r"^(D\d) queue (\d)  kernels +(?:.*?) {2,}\S+ +(\d+)", kymo("summary", "--tables", "queues", trace), re.M)
    wanted = {(r["queue"], r["calls"]) for r in table(trace, "queues") if r["what"] == "kernels"}
    check("queues of people", {(found[d] + " queue " + q, int(n)) for d, q, n in queues}, wanted)
    check("memory by device", [(r["device"], r["memory"]) for r in table(trace, "memory", "--by", "device")], [("(any of its context)", "device")])
    full = kymo("summary", "--names", "full", trace)
    check("names in full", (labels[0] + " queue 0" in full, "D0" in full), (True, False))


def one_row(trace):
    """--rows device: the work of both queues of a device is in the rows of that device alone, none is left of a queue."""
    def rows(*options):
        events = json.loads(kymo("export", "--to", "chrome", "-o", "-", *options, trace))["traceEvents"]
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
        work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and e["ph"] == "X"]
        return ({(e["pid"], e["args"]["stream"], names[e["pid"], e["tid"]]) for e in work},
                sorted((e["pid"], e["args"]["stream"], e["name"], e["ts"]) for e in work))
    (by_queue, work), (by_device, same) = rows(), rows("--rows", "device")
    check("rows of queues", (len(by_queue), len({(p, s) for p, s, _ in by_queue})), (4, 4))
    check("rows of devices", ({n.split(" (")[0] for _, _, n in by_device}, len({(p, s) for p, s, _ in by_device})), ({"all queues"}, 4))
    check("both queues in the first row", len([n for _, _, n in by_device if n == "all queues"]), 4)
    check("the same work", same, work)
    kymo("export", "-f", "-o", trace + ".pftrace", "--rows", "device", trace)
    picture = perfetto.read(trace + ".pftrace")
    at = {picture.path(e["track"]) for e in picture.events if e["type"] == perfetto.BEGIN and {"dispatch", "copy"} & set(e["categories"])}
    check("perfetto: no row of a queue", [p for p in at if "queue" in p], [])
    queues = {e["args"].get("queue") for e in picture.events if {"dispatch", "copy"} & set(e.get("categories") or ())}
    check("perfetto: queues are told", len(queues - {None}) >= 2, True)


def totals(trace, document, picture, folder):
    """Device time and number of kernels and of copies, in all outputs."""
    slices = {}
    stacks = {}
    for e in sorted(picture.events, key=lambda e: e["time"]):
        stack = stacks.setdefault(e["track"], [])
        if e["type"] == perfetto.BEGIN:
            stack.append(e)
        elif e["type"] == perfetto.END:
            b = stack.pop()
            kind = next((c for c in b["categories"] if c in ("dispatch", "copy")), None)
            n, t = slices.get(kind, (0, 0))
            slices[kind] = n + 1, t + e["time"] - b["time"]
    for kind, view, name in (("dispatch", "kernels", "dispatches"), ("copy", "memory_copies", "copies")):
        records = [r for r in document["records"] if r["kind"] == kind and "untimed" not in r]
        sql = query(trace, "SELECT count(*), sum(duration) FROM %s WHERE untimed = 0" % view)[0]
        lines = [r for r in rows(folder, name) if not r["untimed"]]
        tables = [r for t in (["kernels"] if kind == "dispatch" else ["copies", "fills", "maps"])
                  for r in table(trace, t)]
        check(kind + " took time", sql[1] > 0, True)
        check(kind + " in json", (len(records), sum(r["end"] - r["start"] for r in records)), sql)
        check(kind + " in csv", (len(lines), sum(int(r["duration"]) for r in lines)), sql)
        check(kind + " in perfetto", slices.get(kind), sql)
        check(kind + " in summary", (sum(r["calls"] - (r["untimed"] or 0) for r in tables),
                                     sum(r["time_ns"] for r in tables)), sql)
        check(kind + " one by one", sorted((r["start"], r["end"], r["queued"]) for r in records),
              sorted((int(r["start"]), int(r["end"]), int(r["queued"])) for r in lines))
        check("collected after it ran", [r for r in records if r["collected"] < r["end"]], [])


def counted(trace, program):
    """What the program did is told once, by its name."""
    check("devices", program["facts"]["devices"], 2)
    builds = table(trace, "code_object")
    calls = [r for r in table(trace, "opencl") if r["op"] == "clBuildProgram"]
    check("one build", sum(r["calls"] for r in builds if r["op"] == "build"), 1)
    check("its time is the call's", builds[0]["time_ns"] <= calls[0]["time_ns"], True)
    waits = {r["op"]: r["calls"] for r in table(trace, "waiting")}
    check("waits", waits, {"queue": 4, "blocking": 4 * 4})
    for name in ("write", "read", "fill", "map", "unmap"):
        wanted = program["copies"][name]
        found = [r for t in ("copies", "fills", "maps") for r in table(trace, t)
                 if r["op"].split(" (")[0] == name]
        check(name, (sum(r["calls"] for r in found), sum(r["bytes"] for r in found)),
              (wanted["count"], wanted["bytes"]))
        check("bandwidth of " + name, {r["bytes_per_second"] is not None for r in found},
              {name not in ("map", "unmap")})
    copied = program["copies"]["write"]["bytes"] + program["copies"]["read"]["bytes"]
    check("bytes copied", sum(r["bytes"] for r in table(trace, "traffic")), copied)
    check("percent of bytes copied", round(sum(r["percent"] for r in table(trace, "traffic"))), 100)
    check("queues say of what", {k for r in table(trace, "queues") for k in r if "percent" in k},
          {"percent_of_run"})


os.environ["POCL_DEVICES"] = "pthread pthread"
with kymotest.Folder() as scratch:
    here = scratch + "/t.kymo"
    kymo("run", "--no-summary", "--mode", "full", "-o", here, PROGRAM, "--counts",
         scratch + "/counts.json")
    with open(scratch + "/counts.json", encoding="utf-8") as f:
        told = json.load(f)
    if told["facts"]["devices"] != 2:
        print("skipped: the first OpenCL platform is no PoCL that makes two devices")
        sys.exit(77)
    doc, pf = exports(here, scratch)
    check("the checker's rules", pf.report()["problems"], [])
    counted(here, told)  # from the raw files
    query(here, "SELECT 1")
    counted(here + "/store.db", told)  # from the store
    names(here, doc, pf, scratch + "/csv")
    legend(here, sorted(a for a, in query(here, "SELECT label FROM agent")))
    one_row(here)
    totals(here, doc, pf, scratch + "/csv")
print("%d failed" % len(kymotest.wrong))
sys.exit(1 if kymotest.wrong else 0)
