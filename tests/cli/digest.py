#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a summary begins with.

numbers: those of devices and hosts are computed again from SQL over the trace.
sentence: what bounds runs that one thing bounds beyond doubt.
lines: as many and as wide as a person reads.

Usage: digest.py PART KYMO OCL_TWO DIGEST_PROGRAM HEAT
"""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import expect  # noqa: E402

PART = sys.argv[1]
KYMO, TWO, PROGRAM, HEAT = map(os.path.abspath, sys.argv[2:6])
CAUSES = ("startup", "host", "runtime", "build", "allocate", "launch", "wait", "device", "mpi", "held", "latency", "end", "absent", "unknown")


def run(*words, **environment):
    p = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250, check=False,
                       env={**os.environ, **environment})
    expect(p.returncode == 0, words, p.returncode, p.stdout[-500:], p.stderr)
    return p.stdout


def record(trace, *program, **environment):
    run(KYMO, "run", "--no-summary", "-o", trace, *program, **environment)
    return trace


def tables(trace, *words):
    return {t["name"]: t["rows"] for t in json.loads(run(KYMO, "summary", "-f", "json", *words, trace))["tables"]}


def query(trace, sql):
    return json.loads(run(KYMO, "query", "--format", "json", trace, sql))


def union(intervals):
    total, end = 0, None
    for a, b in sorted(intervals):
        if end is None or a > end:
            total, end = total + (b - a), b
        elif b > end:
            total, end = total + (b - end), b
    return total


def common(a, b):
    return union(a) + union(b) - union(a + b)


# ---- numbers -----------------------------------------------------------------------------------------

def device_numbers_of_kernels(trace, row):
    """What of a device's kernels communicates, by their names."""
    kernels = query(trace, f"SELECT name, start, end FROM kernels WHERE agent_name = '{row['device']}' AND start > 0")
    sends, others = ([(k["start"], k["end"]) for k in kernels if k["name"].startswith("ncclDevKernel") == sent] for sent in (True, False))
    expect(row["communication_ns"] == union(sends), "communication", row, union(sends))
    under_way = tables(trace).get("overlap")
    expect(bool(under_way) == bool(sends), under_way)
    for process in under_way or ():
        expect(process["under_way_ns"] == union(sends) and process["kernels_ns"] == union(others), "under way", process)
        expect(process.get("outside_ns") is None and "outside of MPI" not in kymotest.must(KYMO, "summary", "--tables", "overlap", trace), "no MPI", process)
    expect(row["communication_overlap_ns"] == common(sends, others), "communication beside kernels", row, common(sends, others))
    return row


def device_numbers(trace, row):
    where = f"agent_name = '{row['device']}'"
    kernels = [(r["start"], r["start"] + r["duration"]) for r in
               query(trace, f"SELECT start, duration FROM kernels WHERE {where} AND start > 0")]
    copies = query(trace, "SELECT c.start, c.duration FROM copy c WHERE c.start > 0 AND c.queue IN "
                          "(SELECT id FROM queue WHERE agent IN "
                          f"(SELECT q.agent FROM queue q JOIN kernels k ON k.queue_id = q.id WHERE {where}))")
    transfers = [(r["start"], r["start"] + r["duration"]) for r in copies]
    everything = kernels + [(r["start"], r["start"] + r["duration"]) for r in copies]
    expect(len(kernels) > 0 and len(everything) > len(kernels), "nothing is compared", row)
    expect(row["kernels_ns"] == union(kernels), "kernels", row, union(kernels))
    expect(row["transfers_ns"] == union(transfers), "transfers", row, union(transfers))
    expect(row["overlap_ns"] == common(kernels, transfers), "overlap", row, common(kernels, transfers))
    expect(row["idle_ns"] == row["run_ns"] - union(everything), "idle", row, union(everything))
    expect(row["transfers_alone_ns"] == union(everything) - union(kernels), "alone", row)
    expect(sum(row[f"idle_{c}_ns"] for c in CAUSES) == row["idle_ns"], "the causes do not add up", row)
    first = query(trace, f"SELECT min(r.start) AS n FROM kernels k JOIN regions r ON r.id = k.call_id WHERE {where}")
    expect(row["idle_startup_ns"] <= first[0]["n"], "start-up", row, first)
    last = max(b for _, b in everything)
    expect(abs(row["idle_end_ns"] - (row["run_ns"] - last)) <= 1, "end", row, last)
    return sorted(kernels)


def host_numbers(trace, rows):
    """Of the busiest thread; calls of these programs do not nest."""
    for row in rows:
        sums = query(trace, "SELECT sum(c.duration) AS n FROM call c JOIN thread t ON t.id = c.thread WHERE "
                            f"t.tid = {row['thread']}")
        inside = sum(v for k, v in row.items() if k.endswith("_ns") and k != "own_code_ns")
        expect(sums[0]["n"] and abs(inside - sums[0]["n"]) <= 0.02 * sums[0]["n"] + 200000, "time in calls", row, sums)
        builds = query(trace, "SELECT sum(c.duration) AS n FROM call c JOIN op o ON o.id = c.op JOIN thread t ON t.id = c.thread "
                              f"WHERE o.name = 'clBuildProgram' AND t.tid = {row['thread']}")
        expect((builds[0]["n"] or 0) == row["building_ns"], "building", row, builds)


def window_numbers(trace, whole):
    """Parts of the run by time have the parts of its times; of other parts nothing is told."""
    parts = [tables(trace, "--after", f"{i * 20}%", "--before", f"{i * 20 + 20}%").get("devices", [{}])[0] for i in range(5)]
    for what in ("kernels_ns", "transfers_ns", "transfers_alone_ns"):
        expect(abs(sum(p.get(what, 0) for p in parts) - whole[what]) <= 10, what, parts, whole)
    for p in parts:
        if p:
            expect(abs(p["run_ns"] - whole["run_ns"] / 5) <= 2, "window", p, whole)
            expect(p["kernels_ns"] + p["transfers_alone_ns"] + p["idle_ns"] == p["run_ns"], "window", p)
            expect(sum(p[f"idle_{c}_ns"] for c in CAUSES) == p["idle_ns"], "causes in a window", p)
    expect(sum(bool(p) for p in parts) >= 1 and "devices" not in tables(trace, "-k", "advance"), "a part by kernel", parts)


UNITS = {"ns": 1, "us": 1000, "ms": 1000000, "s": 1000000000}


def spoken(text):
    return sum(float(n) * UNITS[unit] for n, unit in re.findall(r"([\d.]+) (ns|us|ms|s)\b", text))


def idle_in_words(trace, rows):
    """What a device idles for, as people read it, is all of its idle time but a twentieth of the run."""
    lines = re.findall(r"^  idle [\d.]+ % \(([^)]*)\)(.*(?:\n    .*)*)", run(KYMO, "summary", trace).split("\nDevices over the run")[0], re.M)
    expect(len(lines) == len(rows), "a line for each device", lines)
    for (whole, parts), row in zip(lines, rows):
        expect(abs(spoken(whole) - row["idle_ns"]) <= 0.001 * row["idle_ns"], "idle", whole, row)
        expect(-0.002 * row["run_ns"] <= row["idle_ns"] - spoken(parts) <= 0.052 * row["run_ns"], "parts", parts, row)


STATES = {"own code": "own_code", "launching": "launching", "waiting for devices": "waiting", "in MPI": "mpi", "allocating": "allocating",
          "building": "building", "waiting for threads": "threads", "sleeping": "sleeping", "polling": "polling", "files and sockets": "io",
          "other waits": "blocked", "preempted": "preempted", "other calls": "other_calls"}


def host_in_words(trace, row):
    """The four states that the thread was in for longest, each once, with their shares."""
    times = {words: row[f"{name}_ns"] for words, name in STATES.items()}
    life = sum(times.values())
    wanted = [(words, 100 * ns / life) for words, ns in sorted(times.items(), key=lambda t: -t[1])[:4] if ns >= life / 1000]
    line = re.search(r"^Main thread: (.*(?:\n    .*)*)", run(KYMO, "summary", trace), re.M)
    told = re.findall(r"([a-zA-Z][a-zA-Z ]*) ([\d.]+) %", " ".join(line[1].split()))[:len(wanted)] if line else []
    expect([w for w, _ in told] == [w for w, _ in wanted], "states of the host", line and line[0], wanted)
    expect(all(abs(float(x) - y) <= 0.051 for (_, x), (_, y) in zip(told, wanted)), "shares of the host", told, wanted)


def test_numbers(folder):
    two = record(folder + "/two.kymo", TWO, "--counts", folder + "/counts.json", POCL_DEVICES="pthread pthread")
    found = tables(two)
    with open(folder + "/counts.json", encoding="utf-8") as f:
        devices = json.load(f)["facts"]["devices"]
    expect(len(found["devices"]) == devices, "devices", found["devices"])
    for row in found["devices"]:
        device_numbers(two, row)
    host_numbers(two, found["hosts"])
    idle_in_words(two, found["devices"])
    host_in_words(two, found["hosts"][0])
    heat = record(folder + "/heat.kymo", HEAT, "--size", "256", "--frames", "20")
    found = tables(heat)
    kernels = device_numbers(heat, found["devices"][0])
    host_numbers(heat, found["hosts"])
    # The main thread is there since the process began, not since its first call.
    first = query(heat, "SELECT min(start) AS ns FROM call")[0]["ns"]
    life = sum(v for k, v in found["hosts"][0].items() if k.endswith("_ns"))
    expect(first > 0 and life > found["devices"][0]["run_ns"] - first / 2, "life of the main thread", found["hosts"], first)
    wall = tables(heat, "--tables", "threads,processes")
    expect(wall["threads"][0]["wall_ns"] > wall["processes"][0]["wall_ns"] - first / 2, wall)
    window_numbers(heat, found["devices"][0])
    text = run(KYMO, "summary", heat)
    shares = re.search(r"kernels ([\d.]+) % \(", text)
    expect(shares and abs(float(shares.group(1)) - 100 * union(kernels) / found["devices"][0]["run_ns"]) <= 0.06,
           "share of kernels", text[:1500])


# ---- sentence ------------------------------------------------------------------------------------------

def test_sentence(folder):
    sentences = {"start-up": "Start-up bounds the run", "host": "The host bounds the run", "kernels": "The device bounds the run",
                 "communication": "Communication bounds the run",
                 "transfers": "Transfers bound the run", "builds": "Builds bound the run",
                 "wind-down": "The time after the last device work bounds the run"}
    for what, sentence in sentences.items():
        for n in range(4):  # what others do on the machine may bound a run, but not each
            trace = record(f"{folder}/{what}{n}.kymo", PROGRAM, what)
            row = tables(trace)["digest"][0]
            if row["bound"] == what and row["bound_percent"] >= 40:
                break
        expect(row["bound"] == what and row["bound_percent"] >= 40, what, row)
        expect(row["sentence"].startswith(sentence), what, row)
        text = run(KYMO, "summary", trace)
        expect(sentence in text.replace("\n", " "), what, text[:1500])
        device = device_numbers_of_kernels(trace, tables(trace)["devices"][0])
        expect(("kernels that communicate" in text) == (what == "communication") == (device["communication_ns"] > 0), what, text[:1500])


# ---- findings: the command `kymo diagnose` ----------------------------------------------------------------

def status(*words):
    return subprocess.run([KYMO, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)


def test_findings(folder):
    # Where the device works next to nothing, both at once would win as little: the digest says what bounds the run.
    trace = record(folder + "/host.kymo", PROGRAM, "host")
    expect("host-late" not in run(KYMO, "diagnose", trace), run(KYMO, "diagnose", trace))
    trace = record(folder + "/late.kymo", PROGRAM, "late")
    found = json.loads(run(KYMO, "diagnose", "-f", "json", trace))
    digest = tables(trace)
    expect(found["run_ns"] == digest["devices"][0]["run_ns"], found["run_ns"], digest["devices"])
    findings = found["findings"]
    expect("host-late" in [f["rule"] for f in findings], findings)
    expect([f["gain_ns"] for f in findings] == sorted((f["gain_ns"] for f in findings), reverse=True), "order", findings)
    expect([(f["rule"], f["gain_ns"]) for f in findings] == [(f["rule"], f["gain_ns"]) for f in digest["findings"]], findings, digest)
    # A device is named once, in its line, and has a number in what could be won.
    late = next(f for f in findings if f["rule"] == "host-late")
    expect(late["title"].startswith(digest["devices"][0]["device"] + " idle for "), late)
    expect(re.search(r"^(To win| {6}) .* Device 0 idle for ", run(KYMO, "summary", trace), re.M), run(KYMO, "summary", trace))
    text, csv = run(KYMO, "diagnose", trace), run(KYMO, "diagnose", "-f", "csv", trace)
    for f in findings:
        expect(abs(f["share"] - f["gain_ns"] / found["run_ns"]) < 1e-5 and f["gain_ns"] <= found["run_ns"], f)
        expect(f["rule"] in text and f"{f['rule']},{f['gain_ns']}," in csv, f, text, csv)
        if f["gain_ns"]:
            expect(f"{100 * f['share']:.1f} % of the run ({f['rule']})" in text, f, text)
        if f["show"]:
            expect(len(run(KYMO, *f["show"].split()[1:]).splitlines()) > 0, f["show"])
    # What repeats is told as a share of the device's work, too, unless that is short.
    late, work, device = next(f for f in findings if f["rule"] == "host-late"), found["work_ns"], digest["devices"][0]
    expect(device["kernels_ns"] < work <= found["run_ns"] - device["idle_startup_ns"] - device["idle_end_ns"], work, device)
    expect((f"({late['rule']})\n    {100 * late['gain_ns'] / work:.1f} % of the " in text) == (work >= 500e6), late, work, text)
    expect(all(len(line.rstrip()) <= 80 or "/" in line for line in text.splitlines()), text)
    # Status 1 where a finding is as large as asked.
    share = 100 * next(f["share"] for f in findings if f["rule"] == "host-late")
    for words, code in ((f"host-late>{share - 0.1:.2f}", 1), (f"host-late>{share + 0.1:.2f}", 0), ("any", 1), ("leak,host-late", 1),
                        ("small-grid", 0), ("no-such-rule", 2), ("any>x", 2), ("any>-1", 2)):
        got = status("diagnose", "--fail-on", words, trace)
        expect(got.returncode == code, words, got.returncode, got.stderr)
    # Parts: by time as all commands count it, of other choices none.
    part = json.loads(run(KYMO, "diagnose", "-f", "json", "--after", "50%", trace))
    expect(abs(part["run_ns"] - found["run_ns"] / 2) <= 2, part["run_ns"], found["run_ns"])
    expect(all(f.get("start_ns", found["run_ns"]) >= found["run_ns"] / 2 - 2 for f in part["findings"]), part)
    for words in (("-k", "spin"), ("-t", "main"), ("--device", "0"), ("--min-duration", "1ms")):
        got = status("diagnose", *words, trace)
        expect(got.returncode == 2 and "whole runs" in got.stderr, words, got)
    # What can be read of a damaged trace is told, and that some cannot.
    broken = shutil.copytree(trace, f"{folder}/broken.kymo")
    with open(f"{broken}/raw/none.kyr", "wb") as f:
        f.write(b"\0" * 64)
    got = status("diagnose", "-f", "json", broken)
    told = [f["rule"] for f in json.loads(got.stdout)["findings"]]
    expect(got.returncode == 3 and "none.kyr" in got.stderr and "host-late" in told, got)
    # Where nothing is left, or a part alone was recorded, "no finding" would be praise.
    for name in os.listdir(f"{broken}/raw"):
        os.truncate(f"{broken}/raw/{name}", min(os.path.getsize(f"{broken}/raw/{name}"), 600))
    expect("what was recorded is lost" in status("diagnose", broken).stdout, status("diagnose", broken))
    part = f"{folder}/part.kymo"
    run(KYMO, "run", "--no-summary", "-k", "nothing", "-o", part, PROGRAM, "host")
    for words in ((), ("-f", "md")):
        got = status("diagnose", *words, part)
        expect(got.returncode == 0 and "Not judged: " in got.stdout and "No finding" not in got.stdout, got)
    rules = run(KYMO, "list", "rules")
    expect(all(f["rule"] + ": " in rules for f in findings) and rules.count("  gain: ") > 20, rules)


# ---- lines -----------------------------------------------------------------------------------------------

def digest_of(text):
    return re.split(r"\n\n(?=[A-Z][^\n]*\n(?:call|what|range|kernel|device|rank) )", text)[0].splitlines()


def devices_that_communicate(text, devices):
    """Of many devices least and most, in one line."""
    shares = [100 * d["communication_ns"] / d["run_ns"] for d in devices]
    got = re.search(r"^Kernels that communicate: ([\d.]+) to ([\d.]+) %, up to ([\d.]+) % beside others$", text, re.M)
    expect(len(shares) == 3 and shares[0] == 0 < shares[1] < shares[2], shares)
    expect(got and float(got[1]) == 0 == float(got[3]) and abs(float(got[2]) - max(shares)) <= 0.06, got, shares)


def heaviest(text, word, rows):
    """The lines of kernels or calls are the first rows of their table."""
    lines = re.search(rf"^{word} .*\n(?:  .*\n)*", text, re.M)[0].splitlines()
    expect(len(lines) > 1, word, text)
    for line, row in zip(lines, rows):
        got = re.fullmatch(rf"(?:{word})? +(?:([\d.]+) %)? +([\d.]+) (ns|us|ms|s) +([\d,]+) x  (.*)", line)
        expect(got and got[5] == row["op"] and int(got[4].replace(",", "")) == row["calls"], line, row)
        ns = float(got[2]) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[got[3]]
        expect(abs(ns / row["time_ns"] - 1) < 0.001, line, row)
        expect(not got[1] or abs(float(got[1]) - row["percent"]) <= 0.051, line, row)


def test_lines(folder):
    for name, program, environment in (("two", (TWO, "--counts", folder + "/counts.json"), {"POCL_DEVICES": "pthread pthread"}),
                                       ("four", (TWO, "--counts", folder + "/counts.json"), {"POCL_DEVICES": "pthread pthread pthread pthread"}),
                                       ("much", (PROGRAM, "much"), {"POCL_DEVICES": "pthread pthread"}),
                                       ("most", (PROGRAM, "much"), {"POCL_DEVICES": "pthread pthread pthread"}),
                                       ("heat", (HEAT, "--size", "256", "--frames", "20"), {})):
        trace = record(f"{folder}/{name}.kymo", *program, **environment)
        for text in (run(KYMO, "summary", trace), run(KYMO, "summary", "--names", "full", trace)):
            lines = digest_of(text)
            expect(10 <= len(lines) <= 24, name, len(lines), *lines)
            # The first line is the command, as long as it is.
            expect(all(len(line) <= 80 for line in lines[1:]), name, *[line for line in lines[1:] if len(line) > 80])
            for word in ("Device 0: ", "kernels ", "idle ", "Main thread: ", "Kernels ", "Calls ", "Lost nothing"):
                expect(sum(word in line for line in lines) >= 1, name, "no", word, *lines)
        if name == "heat":
            for word, table in (("Kernels", "kernels"), ("Calls", "opencl")):
                heaviest(text, word, tables(trace, "--tables", table)[table])
        if name == "most":
            devices_that_communicate(text, tables(trace)["devices"])
        # Tables alone come without it; by its name it comes alone.
        alone = run(KYMO, "summary", "--tables", "kernels", trace)
        expect("\nKernels: " in alone and "Main thread: " not in alone and "Device 0: " not in alone, alone)
        expect(len(digest_of(alone)) == 2, alone)
        digest = run(KYMO, "summary", "--tables", "digest", trace)
        expect(digest.splitlines()[:len(digest_of(digest))] == digest_of(run(KYMO, "summary", trace)), digest)
        expect("\nKernels: " not in digest and "\nbound " not in digest and digest.count("Lost nothing") == 1, digest)
        found = json.loads(run(KYMO, "summary", "-f", "json", "--tables", "devices,digest", trace))
        expect([t["name"] for t in found["tables"]] == ["digest", "devices"], found["tables"])
        text = run(KYMO, "summary", "--tables", "devices", trace)
        expect("\nDevices\n" in text and re.search(r"^kernels +\d", text, re.M) and "Main thread: " not in text, text)


with kymotest.Folder() as scratch:
    globals()["test_" + PART](scratch)
