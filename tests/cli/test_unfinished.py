#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Work that never finishes is told, however the program ends: test_unfinished.py KYMO PROGRAM PART.

PART `endings`: a signal of every kind, _exit, exit; `modes`: also where calls are not recorded;
`live`: a hang looked at while it lasts, then killed; `formats`: every output has it; `filters`: and
chooses it as all else; `polls`: calls
that the mode leaves out are counted. Two devices and two queues each time. `flood` (of OCL_FLOOD, the
others are of OCL_HANG): tens of thousands are under way at a time."""
import csv
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

import traced

TWO = {"POCL_DEVICES": "pthread pthread"}
PATIENCE = 120
ENDINGS = {"kill": 128 + 9, "segv": 128 + 11, "abort": 128 + 6, "quit": 0, "leave": 0}
WANTED = [("fill", None, 4096), ("kernel", "endless", 0), ("kernel", "gated", 0)]
UNFINISHED = "SELECT operation, name, size, agent_id, queue_id, tid, age, region_name FROM unfinished"
POLLS = 777


def run(kymo, trace, program, options=()):
    return traced.Run([kymo, "run", "--no-summary", *options, "-o", trace, "--", *program], None, TWO)


def ended(kymo, trace, program):
    """PoCL aborts where it compiles a kernel while the program leaves: that run says nothing of Kymo."""
    for _ in range(5):
        done = run(kymo, trace, program, ["--force"])
        if "Failed to create kernel compiler pass" not in done.err:
            break
    return done


def status_of(done):
    return 128 - done.status if done.status < 0 else done.status


def told(checks, kymo, trace, what, calls=True):
    rows = traced.query(kymo, trace, UNFINISHED)
    checks.equal(f"{what}: unfinished",
                 sorted((r["operation"], r["name"], r["size"]) for r in rows), WANTED)
    devices = {r["name"]: r["agent_id"] for r in rows}
    checks.equal(f"{what}: on two devices", devices.get("endless") != devices.get("gated"), True)
    checks.equal(f"{what}: in two queues", len({r["queue_id"] for r in rows}), 2)
    checks.equal(f"{what}: by one thread, not the first", len({r["tid"] for r in rows}), 1)
    checks.equal(f"{what}: before the end", all(r["age"] > 0 for r in rows), True)
    if calls:
        checks.equal(f"{what}: by calls", {r["region_name"] for r in rows},
                     {"clEnqueueNDRangeKernel", "clEnqueueFillBuffer"})
    done = traced.query(kymo, trace, "SELECT sum(calls) AS n FROM tally_dispatch t JOIN kernel k ON "
                        "k.id = t.kernel JOIN string s ON s.id = k.name WHERE s.text = 'quick'")
    checks.equal(f"{what}: kernels that finished", done[0]["n"], 5)


def threads(checks, kymo, trace, what):
    """Whatever the end, records are counted by thread as they are there, and Kymo's threads are told apart."""
    rows = {r["tid"]: (r["records"], r["own"]) for r in traced.query(kymo, trace, "SELECT * FROM threads")}
    shown = {int(tid): (int(n), int(bool(own))) for tid, n, own in re.findall(
        r"^  (\d+) of \d+  .*? (\d+) records[^(\n]*(\(no thread of the program\))?$",
        traced.Run([kymo, "info", trace]).out, re.M)}
    checks.equal(f"{what}: records by thread", rows, shown)
    checks.equal(f"{what}: the program's two threads", sorted(n > 0 for n, own in rows.values() if not own),
                 [True, True])


def endings(checks, kymo, program, folder):
    for ending, status in ENDINGS.items():
        trace = os.path.join(folder, f"{ending}.kymo")
        done = ended(kymo, trace, [program, ending])
        checks.equal(f"{ending}: status", status_of(done), status)
        if status_of(done) != status:
            print(done.err)
        checks.equal(f"{ending}: printed", done.out, "ready\n")
        told(checks, kymo, trace, ending)
        threads(checks, kymo, trace, ending)
        # The first of five kernels is given in slowly, as it is compiled; the others are not.
        clocks = traced.query(kymo, trace, "SELECT error_ns FROM clock WHERE syncs > 0")
        checks.equal(f"{ending}: device clock", [c["error_ns"] < 1e6 for c in clocks], [True])


def modes(checks, kymo, program, folder):
    for what, options in {"summary": ["--mode", "summary"], "minimal": ["--mode", "minimal"],
                          "excluded": ["--exclude", "^clEnqueue"]}.items():
        trace = os.path.join(folder, f"{what}.kymo")
        run(kymo, trace, [program, "kill"], options)
        told(checks, kymo, trace, what, calls=what == "minimal")
    trace = os.path.join(folder, "paused.kymo")
    run(kymo, trace, [program, "kill"], ["--start-paused"])
    checks.equal("paused: nothing", traced.query(kymo, trace, UNFINISHED), [])


def live(checks, kymo, program, folder):
    trace = os.path.join(folder, "live.kymo")
    launcher = subprocess.Popen([kymo, "run", "--no-summary", "-o", trace, program, "wait"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                env=dict(os.environ, **TWO))
    checks.equal("printed", launcher.stdout.readline(), "ready\n")
    for look in (1, 2):
        flush = traced.Run([kymo, "ctl", "flush", trace], timeout=PATIENCE)
        checks.equal(f"flush {look}", (flush.status, flush.err), (0, flush.err))
        told(checks, kymo, trace, f"flush {look}")
        text = traced.Run([kymo, "summary", trace]).out
        checks.equal(f"flush {look}: the summary has it", "Submitted, never seen to finish" in text
                     and "endless" in text, True)
    pid = traced.query(kymo, trace, "SELECT pid FROM process")[0]["pid"]
    os.kill(pid, signal.SIGKILL)
    checks.equal("status", launcher.wait(PATIENCE), -signal.SIGKILL)
    told(checks, kymo, trace, "killed")


def formats(checks, kymo, program, folder):
    trace = os.path.join(folder, "t.kymo")
    run(kymo, trace, [program, "kill"])
    for command in ("summary", "info", "show"):
        text = traced.Run([kymo, command, trace]).out
        for name in ("endless", "gated", "fill"):
            lines = [l for l in text.splitlines() if name in l]
            checks.equal(f"{command}: {name}", bool(lines), True)
        checks.equal(f"{command}: says so", "ever seen to finish" in text, True)
    table = json.loads(traced.Run([kymo, "summary", "--format", "json", trace]).out)
    rows = [t for t in table["tables"] if t["name"] == "unfinished"]
    checks.equal("summary as JSON", sorted(r["name"] for r in rows[0]["rows"]) if rows else None,
                 ["endless", "fill", "gated"])
    out = os.path.join(folder, "t.json")
    traced.Run([kymo, "export", "--to", "json", "-o", out, trace])
    checks.equal("JSON", sorted((r["op"], r.get("name"), r["bytes"])
                                for r in traced.load(out)["end"]["unfinished"]), WANTED)
    out = os.path.join(folder, "csv")
    traced.Run([kymo, "export", "--to", "csv", "-o", out, trace])
    with open(os.path.join(out, "unfinished.csv"), encoding="utf-8") as f:
        checks.equal("CSV", sorted((r["operation"], r["name"] or None, int(r["bytes"]))
                                   for r in csv.DictReader(f)), WANTED)
    out = os.path.join(folder, "t.pftrace")
    traced.Run([kymo, "export", "--to", "perfetto", "-o", out, trace])
    with open(out, "rb") as f:
        data = f.read()
    checks.equal("Perfetto", data.count(b"never seen to finish") > 0 and b"endless" in data, True)
    read_again(checks, kymo, trace, folder)


def read_again(checks, kymo, trace, folder):
    """What never finished is no work that did after it went through a format that can be read."""
    formats = traced.Run([kymo, "list", "formats"]).out
    for name in ("perfetto", "ctf"):
        if not re.search(rf"^{name} ", formats, re.M):
            continue  # it needs a library
        out = os.path.join(folder, "again." + name)
        back = out + ".kymo"
        traced.Run([kymo, "export", "--to", name, "-o", out, trace])
        checks.equal(f"{name}: import", traced.Run([kymo, "import", "-o", back, out]).status, 0)
        told(checks, kymo, back, f"{name}, read again")
    out = os.path.join(folder, "bare.pftrace")
    traced.Run([kymo, "export", "--to", "perfetto", "--no-args", "-o", out, trace])
    traced.Run([kymo, "import", "-o", out + ".kymo", out])
    rows = traced.query(kymo, out + ".kymo", UNFINISHED)
    checks.equal("without arguments: unfinished", sorted((r["operation"], r["name"]) for r in rows),
                 [(operation, name) for operation, name, _ in WANTED])


def names_in(kymo, trace, folder, *options):
    """Of what never finished, in every output: those that are chosen, and the same in each."""
    found = {}
    run = traced.Run([kymo, "show", *options, trace])
    found["show"] = sorted(w for l in run.out.splitlines() if "never seen to finish" in l
                           for w in ("endless", "gated", "fill") if re.search(rf"\b{w}\b", l))
    out = os.path.join(folder, "chosen.json")
    traced.Run([kymo, "export", "-f", *options, "--to", "json", "-o", out, trace])
    document = traced.load(out)
    found["json"] = sorted(r.get("name") or r["op"] for r in document["end"]["unfinished"])
    out = os.path.join(folder, "chosen")
    traced.Run([kymo, "export", "-f", *options, "--to", "csv", "-o", out, trace])
    with open(os.path.join(out, "unfinished.csv"), encoding="utf-8") as f:
        found["csv"] = sorted(r["name"] or r["operation"] for r in csv.DictReader(f))
    out = os.path.join(folder, "chosen.pftrace")
    traced.Run([kymo, "export", "-f", *options, "--to", "perfetto", "-o", out, trace])
    with open(out, "rb") as f:
        found["perfetto"] = f.read().count(b"never seen to finish") > 0
    return found


def filters(checks, kymo, program, folder):
    """What never finished is chosen, counted and placed in time as everything else is."""
    trace = os.path.join(folder, "t.kymo")
    run(kymo, trace, [program, "kill"])
    rows = traced.query(kymo, trace, UNFINISHED)
    every = traced.query(kymo, trace, "SELECT pid, tid FROM threads WHERE own = 0 ORDER BY id")
    other = [r["tid"] for r in every if r["tid"] != rows[0]["tid"]]
    wanted = {(): ["endless", "fill", "gated"],
              ("-k", "^gated$"): ["gated"],
              ("-k", "quick"): [],
              ("-d", "copy"): ["fill"],
              ("-d", "dispatch"): ["endless", "gated"],
              ("-x", "dispatch:"): ["fill"],
              ("-t", str(rows[0]["tid"])): ["endless", "fill", "gated"],
              ("-t", str(other[0])): [],
              ("--before", "1ns"): [],
              ("--after", "end"): ["endless", "fill", "gated"],
              ("--min-duration", "100000"): []}
    for options, names in wanted.items():
        found = names_in(kymo, trace, folder, *options)
        for form in ("show", "json", "csv"):
            checks.equal(f"{options}: {form}", found[form], names)
        checks.equal(f"{options}: perfetto", found["perfetto"], bool(names))
    lines = traced.Run([kymo, "show", trace]).out.splitlines()
    times = [float(l.split()[0]) for l in lines]
    checks.equal("show is in order of time", times, sorted(times))
    checks.equal("there is more than that", len(lines) > 20, True)
    for n in (1, len(lines) - 1, len(lines), len(lines) + 1):
        some = traced.Run([kymo, "show", "-n", str(n), trace]).out.splitlines()
        checks.equal(f"-n {n}", some, lines[:n])
    recorded = traced.Run([kymo, "show", "--order", "recorded", trace]).out.splitlines()
    checks.equal("as recorded: at the end, in order", [l for l in lines if "never seen to finish" in l],
                 recorded[-3:])
    limited = traced.Run([kymo, "show", "-e", "-n", "5", "-d", "opencl", trace]).out
    checks.equal("-e -n 5: calls that are entered return", [len(re.findall(f" {arrow} opencl:", limited)) for arrow in "><"], [5, 5])
    for command in (["show"], ["export", "--to", "text", "-o", "-"]):
        for option, value in (("--before", "0"), ("--after", "100000"), ("-p", str(every[0]["pid"] + 1))):
            run_ = traced.Run([kymo, *command, option, value, trace])
            checks.equal(f"{command[0]}: there is nothing {option} {value}", (run_.status, run_.out), (2, ""))
            checks.equal(f"{command[0]}: says so", "no records that match" in run_.err, True)


def polls(checks, kymo, program, folder):
    trace = os.path.join(folder, "t.kymo")
    run(kymo, trace, [program, "kill", str(POLLS)])
    sql = "SELECT sum(calls) AS n, count(DISTINCT tid) AS threads FROM not_recorded WHERE name = "
    row = traced.query(kymo, trace, sql + "'clGetEventInfo'")[0]
    checks.equal("default", (row["n"], row["threads"]), (POLLS, 1))
    row = traced.query(kymo, trace, sql + "'clSetKernelArg'")[0]
    checks.equal("by two threads", (row["n"], row["threads"]), (3, 2))
    text = traced.Run([kymo, "summary", trace]).out
    foot = re.search("^Not recorded in this mode: .*", text, re.M)
    checks.equal(f"foot: {foot}", foot and bool(re.fullmatch(rf"[^:]*: clGetEventInfo {POLLS} calls(, \w+ \d+ calls?)* \(--mode full records them\)\.", foot[0])), True)
    rows = json.loads(traced.Run([kymo, "summary", "--format", "json", trace]).out)["tables"]
    rows = [t["rows"] for t in rows if t["name"] == "not_recorded"]
    checks.equal("JSON", {r["op"]: r["calls"] for r in rows[0]}.get("clGetEventInfo") if rows else 0,
                 POLLS)
    checks.equal("JSON: of two threads", {r["op"]: r["calls"] for r in rows[0]}.get("clSetKernelArg") if rows else 0, 3)
    for what, options, wanted in (("minimal", ["--mode", "minimal"], POLLS),
                                  ("left out of what is counted", ["--mode", "summary"], POLLS),
                                  ("excluded", ["--exclude", "clGetEventInfo"], None),
                                  ("full", ["--mode", "full"], None)):
        trace = os.path.join(folder, f"{what}.kymo")
        run(kymo, trace, [program, "quit", str(POLLS)], options)
        row = traced.query(kymo, trace, sql + "'clGetEventInfo'")[0]
        checks.equal(what, row["n"], wanted)
    trace = os.path.join(folder, "summary.kymo")
    run(kymo, trace, [program, "kill", str(POLLS)], ["--mode", "summary", "--include", "^cl"])
    row = traced.query(kymo, trace, "SELECT sum(calls) AS n FROM tally_call t JOIN op o ON o.id = t.op "
                       "WHERE o.name = 'clGetEventInfo'")[0]
    checks.equal("summary", row["n"], POLLS)


def flooded(kymo, trace):
    """By process: what is listed of each queue, and how many are only counted."""
    listed = traced.query(kymo, trace, "SELECT p.pid, p.unlisted, u.operation, u.size, count(u.id) AS n "
                          "FROM process p LEFT JOIN unfinished u ON u.pid = p.pid WHERE p.id > 0 "
                          "GROUP BY 1, 2, 3, 4 ORDER BY 1, 3")
    by_pid = {}
    for r in listed:
        by_pid.setdefault((r["pid"], r["unlisted"]), {})[(r["operation"], r["size"])] = r["n"]
    return [(unlisted, rows) for (_, unlisted), rows in sorted(by_pid.items())]


def no_note(checks, kymo, trace, what):
    checks.equal(f"{what}: no note", traced.query(kymo, trace, "SELECT * FROM note"), [])


def table_of(kymo, trace, name):
    tables = json.loads(traced.Run([kymo, "summary", "--format", "json", trace]).out)["tables"]
    return next((t["rows"] for t in tables if t["name"] == name), [])


def added_up(checks, kymo, trace, what):
    """The summary's rows are the sums of the commands of a queue, the oldest first."""
    sql = ("SELECT count(*) AS n, sum(size) AS bytes, min(submit) AS submit, max(age) AS age FROM unfinished "
           "GROUP BY pid, queue_id ORDER BY min(submit)")
    wanted = [(r["n"], r["bytes"], r["submit"], r["age"]) for r in traced.query(kymo, trace, sql)]
    rows = [(r["commands"], r.get("bytes") or 0, r["submit_ns"], r["age_ns"])
            for r in table_of(kymo, trace, "unfinished")]
    checks.equal(f"{what}: added up", rows, wanted)


def others(checks, kymo, program, folder):
    """Five of the calls that are left out are named, the others are added up."""
    trace = os.path.join(folder, "others.kymo")
    run(kymo, trace, [program, "2", "2", "end"], ["--mode", "minimal"])
    rows = table_of(kymo, trace, "not_recorded")
    checks.equal("others: calls of two processes", {r["op"]: r["calls"] for r in rows}.get("clGetPlatformIDs"), 2)
    checks.equal("others: the most first", [r["calls"] for r in rows], sorted((r["calls"] for r in rows), reverse=True))
    rest = [r["calls"] for r in rows[5:]]
    checks.equal("others: some", len(rest) > 1, True)
    text = traced.Run([kymo, "summary", trace]).out
    checks.equal("others: foot", re.findall(r", (\d+) others (\d+) calls \(", text), [(str(len(rest)), str(sum(rest)))])


def listed(checks, kymo, program, folder):
    for commands, processes in ((40000, 2), (100000, 1)):
        what = f"{commands} by {processes}"
        trace = os.path.join(folder, f"{commands}.kymo")
        done = run(kymo, trace, [program, str(commands), str(processes), "kill"])
        checks.equal(f"{what}: status", status_of(done), 128 + 9)
        half = commands // 2
        checks.equal(f"{what}: each is listed", flooded(kymo, trace),
                     [(0, {("kernel", 0): half, ("fill", 4): half})] * processes)
        added_up(checks, kymo, trace, what)
        no_note(checks, kymo, trace, what)


def healthy(checks, kymo, program, folder):
    trace = os.path.join(folder, "healthy.kymo")
    done = run(kymo, trace, [program, "100000", "2", "end"])
    checks.equal("healthy: status", status_of(done), 0)
    checks.equal("healthy: nothing is unfinished", flooded(kymo, trace), [(0, {(None, None): 0})] * 2)
    no_note(checks, kymo, trace, "healthy")
    text = traced.Run([kymo, "summary", trace]).out
    checks.equal("healthy: nothing of it in the summary", re.findall(r".*finish.*|.*missing.*", text), [])


def counted(checks, kymo, program, folder):
    """A small buffer (by a limit of file sizes: 20 MiB with its fixed parts) holds some thousands."""
    commands = 40000
    small = ["sh", "-c", 'ulimit -f 40960; exec "$@"', "sh", program]
    trace = os.path.join(folder, "small.kymo")
    run(kymo, trace, [*small, str(commands), "2", "kill"])
    rows = flooded(kymo, trace)
    checks.equal("small: processes", len(rows), 2)
    for unlisted, by_queue in rows:
        checks.equal("small: some are not listed", 0 < unlisted < commands, True)
        checks.equal("small: all are told", unlisted + sum(by_queue.values()), commands)
        checks.equal("small: of two queues", sorted(by_queue), [("fill", 4), ("kernel", 0)])
    no_note(checks, kymo, trace, "small")
    unlisted = sum(n for n, _ in rows)
    tables = json.loads(traced.Run([kymo, "summary", "--format", "json", trace]).out)["tables"]
    table = [t["rows"] for t in tables if t["name"] == "unfinished"][0]
    checks.equal("small: the summary's sum", sum(r["commands"] for r in table), 2 * commands)
    checks.equal("small: the summary's row", [r["commands"] for r in table if "only the number" in r["name"]],
                 [unlisted])
    text = traced.Run([kymo, "info", trace]).out
    checks.equal("small: info", f"  {unlisted} more, of which only the number is known\n" in text, True)
    text = traced.Run([kymo, "show", trace]).out
    checks.equal("small: show", sum(int(n) for n in re.findall(
        r"^\*\*\* (\d+) more commands of process \d+ were never seen to finish$", text, re.M)), unlisted)
    out = os.path.join(folder, "small.json")
    traced.Run([kymo, "export", "--to", "json", "-o", out, trace])
    checks.equal("small: JSON", sum(p["unlisted"] for p in traced.load(out)["end"]["processes"] if p), unlisted)
    out = os.path.join(folder, "small.csv")
    traced.Run([kymo, "export", "--to", "csv", "-o", out, trace])
    with open(os.path.join(out, "processes.csv"), encoding="utf-8") as f:
        checks.equal("small: CSV", sum(int(r["unlisted"]) for r in csv.DictReader(f)), unlisted)

    trace = os.path.join(folder, "rounds.kymo")
    run(kymo, trace, [*small, str(commands), "1", "rounds"])
    rows = flooded(kymo, trace)
    checks.equal("rounds: what finished is not counted", [n + sum(q.values()) for n, q in rows], [3])
    no_note(checks, kymo, trace, "rounds")

    trace = os.path.join(folder, "end.kymo")
    done = run(kymo, trace, [*small, str(commands), "2", "end"])
    checks.equal("small, all finish: status", status_of(done), 0)
    checks.equal("small, all finish: nothing", flooded(kymo, trace), [(0, {(None, None): 0})] * 2)
    no_note(checks, kymo, trace, "small, all finish")


def flood(checks, kymo, program, folder):
    listed(checks, kymo, program, folder)
    healthy(checks, kymo, program, folder)
    counted(checks, kymo, program, folder)
    others(checks, kymo, program, folder)


PARTS = {"endings": (endings, 40), "modes": (modes, 15), "live": (live, 15), "formats": (formats, 15),
         "filters": (filters, 50), "polls": (polls, 8), "flood": (flood, 25)}


def main():
    kymo, program, part = sys.argv[1:]
    checks = traced.Checks()
    run_part, least = PARTS[part]
    with kymotest.Folder() as folder:
        run_part(checks, kymo, program, folder)
    return checks.status(least)


sys.exit(main())
