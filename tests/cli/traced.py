# SPDX-License-Identifier: Apache-2.0
"""Running programs under kymo and reading their traces: what the tests of whole programs share.
All questions to a store are here."""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import Run, query  # noqa: E402

SKIPPED, Checks = kymotest.SKIPPED, kymotest.Checks

CALLS = """SELECT o.name, count(*) AS n FROM call c JOIN op o ON o.id = c.op
    JOIN thread t ON t.id = c.thread JOIN process p ON p.id = t.process
    WHERE p.pid = {pid} GROUP BY o.name"""
ERRORS = """SELECT o.name, c.status, count(*) AS n FROM call c JOIN op o ON o.id = c.op
    JOIN thread t ON t.id = c.thread JOIN process p ON p.id = t.process
    WHERE p.pid = {pid} AND c.status <> o.status_ok GROUP BY o.name, c.status"""
# The thread is that of the call which a kernel is correlated to: a wrong correlation shows here.
KERNELS = """SELECT s.text AS name, q.handle AS queue, a.handle AS device, t.tid, d.global_x, o.name AS call,
    count(*) AS n, min(d.duration) AS shortest, sum(d.untimed <> 0) AS untimed, sum(d.early) AS early,
    sum(d.queued > d.submitted OR d.submitted > d.start) AS disordered,
    count(DISTINCT d.call) AS calls
    FROM dispatch d JOIN process p ON p.id = d.process LEFT JOIN kernel k ON k.id = d.kernel
    LEFT JOIN string s ON s.id = k.name LEFT JOIN queue q ON q.id = d.queue
    LEFT JOIN agent a ON a.id = d.agent LEFT JOIN call c ON c.id = d.call
    LEFT JOIN op o ON o.id = c.op LEFT JOIN thread t ON t.id = c.thread
    WHERE p.pid = {pid} GROUP BY 1, 2, 3, 4, 5, 6"""
COPIES = """SELECT m.name AS kind, o.name AS call, count(*) AS n, sum(x.bytes) AS bytes
    FROM copy x JOIN process p ON p.id = x.process JOIN op m ON m.id = x.op
    LEFT JOIN call c ON c.id = x.call LEFT JOIN op o ON o.id = c.op
    WHERE p.pid = {pid} GROUP BY 1, 2"""
LOSSES = """SELECT (SELECT ifnull(sum(count), 0) FROM loss) AS in_band,
    sum(lost_records) AS records, sum(lost_definitions) AS definitions,
    sum(untraced_calls) AS untraced, sum(untimed) AS untimed, sum(damaged_blocks) AS damaged
    FROM process"""


def record(kymo, trace, program, cwd, env=None):
    """Runs a program under kymo in full mode; only what the program itself prints comes back."""
    return Run([kymo, "run", "--no-summary", "--mode", "full", "-o", trace, "--", *program], cwd, env)


def load(name):
    with open(name) as f:
        return json.load(f)


def unsigned(handle):
    """A handle as the programs print it: SQLite's integers are signed."""
    return f"{(handle or 0) % 2**64:#x}"


def nothing_lost(checks, kymo, trace, untimed=0, untraced=0):
    """`untimed` commands never ran; `untraced` functions are none of OpenCL's."""
    wanted = {"untimed": untimed, "untraced": untraced}
    for what, count in query(kymo, trace, LOSSES)[0].items():
        checks.equal(f"lost ({what})", count or 0, wanted.get(what, 0))


def calls(kymo, trace, pid):
    return {row["name"]: row["n"] for row in query(kymo, trace, CALLS.format(pid=pid))}


def compare_with_layer(checks, kymo, trace, counts, untraced):
    """A trace against what the counting layer saw in the same run."""
    pid = counts["pid"]
    wanted = collections.Counter(counts["calls"])
    wanted.update(counts["own_calls"])
    checks.equal_counts("calls of", calls(kymo, trace, pid), wanted)
    checks.equal("kernels that the layer lost", counts["lost_kernels"], 0)
    kernels = collections.Counter()
    for row in query(kymo, trace, KERNELS.format(pid=pid)):
        kernels[row["name"]] += row["n"]
        checks.equal(f"untimed kernels {row['name']}", row["untimed"], 0)
    checks.equal_counts("kernels", kernels, counts["kernels"])
    bytes_of = {row["call"]: row["bytes"] for row in query(kymo, trace, COPIES.format(pid=pid))}
    checks.equal("bytes read", bytes_of.get("clEnqueueReadBuffer", 0), counts["read_bytes"])
    checks.equal("bytes written", bytes_of.get("clEnqueueWriteBuffer", 0), counts["write_bytes"])
    nothing_lost(checks, kymo, trace, untraced=untraced)


def compare_with_program(checks, kymo, trace, counts):
    """A trace against what a program of tests/programs says it did."""
    pid = counts["pid"]
    checks.equal_counts("calls of", calls(kymo, trace, pid), counts["calls"])
    errors = {(row["name"], row["status"]): row["n"]
              for row in query(kymo, trace, ERRORS.format(pid=pid))}
    checks.equal_counts("errors", errors,
                        {(e["function"], e["code"]): e["count"] for e in counts["errors"]})
    compare_kernels(checks, query(kymo, trace, KERNELS.format(pid=pid)), counts["kernels"])
    compare_copies(checks, query(kymo, trace, COPIES.format(pid=pid)), counts["copies"])
    untimed = counts["facts"].get("never_ran", 0) + counts["facts"].get("inside", 0)
    nothing_lost(checks, kymo, trace, untimed=untimed)


def compare_kernels(checks, rows, wanted):
    keys = "name", "queue", "device", "tid", "global"
    got = collections.Counter()
    for row in rows:
        native = row["call"] == "clEnqueueNativeKernel"
        buffer = row["call"] == "clEnqueueCommandBufferKHR"  # only the whole has times
        inside = buffer and row["name"] != "(command buffer)"
        got["native" if native else row["name"], unsigned(row["queue"]), unsigned(row["device"]),
            row["tid"], 1 if native else row["global_x"]] += row["n"]
        name = f"kernels {row['name']} of {row['call']}"
        checks.equal(f"{name}: different calls", row["calls"], row["n"])
        checks.equal(f"{name}: out of order in time", row["disordered"] or 0, 0)
        checks.equal(f"{name}: before their call", row["early"], 0)
        checks.equal(f"{name}: without times", row["untimed"], row["n"] if inside else 0)
        checks.equal(f"{name}: of negative duration", (row["shortest"] or 0) < 0, False)
    checks.equal_counts("kernels", got, {tuple(k[key] for key in keys): k["count"] for k in wanted})


def compare_copies(checks, rows, wanted):
    """Kymo's kinds are fewer: read, write, copy, fill, map, unmap, migrate."""
    counts, sizes = collections.Counter(), collections.Counter()
    for kind, total in wanted.items():
        short = kind.replace("svm_", "").split("_")[0]
        counts[short] += total["count"]
        sizes[short] += total["bytes"]
    got_counts, got_sizes = collections.Counter(), collections.Counter()
    for row in rows:
        got_counts[row["kind"]] += row["n"]
        got_sizes[row["kind"]] += row["bytes"]
    checks.equal_counts("number of copies", got_counts, counts)
    checks.equal_counts("bytes of copies", got_sizes, sizes)
