#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What warps make of the accesses of kernels: accesses.py KYMO OCL_ACCESSES OCL_LINES. Lines, bank conflicts and lanes are known by formulas."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import Checks, must  # noqa: E402

KYMO, PROGRAM, LINES = sys.argv[1:]
ITEMS, WARPS, TURNS = 4096, 128, 600
WHOLE = TURNS // 32 + 1  # turns in which a warp begins at a line
checks = Checks()


def record(trace, *words):
    return must(KYMO, "run", "--force", "--no-summary", "-o", trace, *words, "--", PROGRAM)


def accesses(trace):
    """Of each launch, in order: by what and where, accesses, warps, lanes, lines or rounds that were needed and used."""
    rows = json.loads(must(KYMO, "query", "--format", "json", trace, """SELECT call_id, kernel_name, what, kind, warp, accesses, warps, lanes,
        needed, used, misaligned FROM kernel_accesses ORDER BY call_id"""))
    launches = {}
    for r in rows:
        launch = launches.setdefault(r["call_id"], (r["kernel_name"], {}))[1]
        key = r["what"], r["kind"]
        checks.equal(f"{r['kernel_name']}: one {key}", key in launch, False)
        checks.equal(f"{r['kernel_name']}: misaligned", r["misaligned"], 0)
        launch[key] = tuple(r[k] for k in ("accesses", "warps", "lanes", "needed", "used"))
    return list(launches.values())


def notes(trace, what):
    rows = json.loads(must(KYMO, "query", "-f", "json", trace, "SELECT text FROM note WHERE part = 'instrument'"))
    return {r["text"].split()[2] for r in rows if what in r["text"]}


def whole(used=1, per=1, warps=WARPS):
    """All lanes of all warps; `used` of `per` lines a warp."""
    return ITEMS, warps, ITEMS, per * warps, used * warps


def expected(warps, lanes):
    """Of a width: a line holds 32 floats, and banks serve 32 lanes at a time."""
    per, load, store = lanes // 32, ("load", "global"), ("store", "global")
    strided = [("strided", {load: whole(min(s, 32) * per, per, warps), store: whole(per, per, warps)}) for s in (1, 3, 32, 40)]
    tile = {load: whole(per, per, warps), store: whole(per, per, warps), ("store", "local"): whole(per, per, warps)}
    many = warps * (WHOLE + 2 * (TURNS - WHOLE)) if lanes == 32 else None
    return strided, tile, many


def check_32(trace):
    strided, tile, many = expected(WARPS, 32)
    got = accesses(trace)
    names = ["strided"] * 5 + ["naive", "tiled", "padded", "some", "many", "counts"]
    checks.equal("launches", [name for name, _ in got], names)
    if [name for name, _ in got] != names:
        return
    for i, want in enumerate(strided):
        checks.equal(f"stride {i}", got[i], want)
    checks.equal("the runtime's groups", got[4][1], {("load", "global"): whole(2), ("store", "global"): whole()})
    checks.equal("naive", got[5][1], {("load", "global"): whole(), ("store", "global"): whole(32)})
    checks.equal("tiled", got[6][1], {**tile, ("load", "local"): whole(32)})
    checks.equal("padded", got[7][1], {**tile, ("load", "local"): whole()})
    some = ITEMS // 4, WARPS, ITEMS, WARPS, WARPS
    checks.equal("some", got[8][1], {("load", "global"): some, ("store", "global"): some})
    turns = ITEMS * TURNS, WARPS * TURNS, ITEMS * TURNS, WARPS * TURNS, many
    checks.equal("counts", got[10][1], {("load", "global"): whole(), ("atomic", "global"): whole()})
    checks.equal("many", got[9][1], {("load", "global"): turns, ("store", "global"): whole()})


def check_64(trace):
    strided, tile, _ = expected(WARPS // 2, 64)
    got = accesses(trace)
    for i, want in enumerate(strided):
        checks.equal(f"64, stride {i}", got[i], want)
    # Two rows of a tile: each half is served by itself.
    checks.equal("64, tiled", got[6][1][("load", "local")], (ITEMS, WARPS // 2, ITEMS, WARPS, WARPS * 32))
    checks.equal("64, padded", got[7][1][("store", "local")], tile[("store", "local")])


def check_table(trace):
    report = json.loads(must(KYMO, "kernels", "-f", "json", trace))
    table = next(t for t in report["tables"] if t["name"] == "0.3" or "lines_used" in (t["rows"] or [{}])[0])
    lines = {(r["kernel"], r["source"]): r for r in table["rows"]}
    got = lines["tiled", "tile[i][j];"]
    checks.equal("conflicts of a line", (got["conflicts"], got["lanes_percent"]), (31 * WARPS, 100))
    got = lines["naive", "b[x * 64 + y] ="]
    checks.equal("lines of a line", (got["lines_needed"], got["lines_used"]), (WARPS, 32 * WARPS))
    got = lines["some", "a[i];"]
    checks.equal("lanes of a line", got["lanes_percent"], 25)
    check_findings(report, {k: r["line"] for k, r in lines.items()})


def check_findings(report, at):
    """Lines are named with their cause; of those of the padded tile nothing is said."""
    found = {(r["kernel"], r["finding"]) for t in report["tables"] if t["name"] == "findings" for r in t["rows"] if r["rule"].endswith("-line")}
    checks.equal("findings", {f for f in found if f[0] in ("tiled", "padded", "naive", "some")}, {
        ("tiled", f"bank conflicts of the load at line {at['tiled', 'tile[i][j];']}: {31 * WARPS} rounds of local memory too many in {WARPS} "
         "accesses of warps, 31.0 for each"),
        ("naive", f"uncoalesced store at line {at['naive', 'b[x * 64 + y] =']}: takes {32 * WARPS} lines of 128 bytes, where its bytes fill "
         f"{WARPS}: 32.0 times as many"),
        *(("some", f"divergence at line {n}: {ITEMS // 4} of {ITEMS} work items of the warps take part in the {what} (25.0 %)")
          for n, what in ((at["some", "a[i];"], "load"), (at["some", "a[i];"] - 1, "store")))})


def check_cost(trace, plain):
    """What launches take because they are instrumented is the recording's; findings say so."""
    calls, cost = {}, {}
    for t in (trace, plain):
        calls[t] = json.loads(must(KYMO, "query", "--format", "json", t, "SELECT SUM(duration) AS ns FROM regions WHERE name = 'clEnqueueNDRangeKernel'"))[0]["ns"]
        tables = json.loads(must(KYMO, "summary", "--format", "json", "--tables", "quality", t))["tables"]
        cost[t] = next(b for b in tables if b["name"] == "quality")["rows"][0]["overhead_low_ns"]
    checks.equal(f"overhead has the twins: {cost}, {calls}", cost[trace] > calls[trace] / 2, True)
    checks.equal(f"overhead without twins: {cost}, {calls}", cost[plain] < cost[trace] / 2, True)
    findings = json.loads(must(KYMO, "diagnose", "-f", "json", trace))["findings"]
    checks.equal("findings say so", [f["title"][:14] for f in findings if f["rule"] == "recording"], ["recording took"])
    checks.equal("each of them", [f["title"] for f in findings if f["gain_ns"] and not any("its doing" in e for e in f["evidence"])], [])


def main():
    done = kymotest.run(KYMO, "rewrite", "--options=", "--extensions=", input="kernel void k() {}")
    if done.returncode:
        kymotest.skip(done.stderr)
    with kymotest.Folder() as folder:
        os.chdir(folder)
        alone = must(PROGRAM)
        checks.equal("results", record("w.kymo", "--instrument-kernels", "--lanes", "32"), alone)
        check_32("w.kymo")
        check_table("w.kymo")
        record("p.kymo")
        check_cost("w.kymo", "p.kymo")
        for what in ("are without accesses", "mapped memory"):
            checks.equal(f"{what}: mapped by the program", notes("w.kymo", what), {"held"})
        must(KYMO, "run", "--force", "--no-summary", "-o", "l.kymo", "--instrument-kernels=says|copy", "--lanes", "32", "--", LINES)
        checks.equal("what cannot be repeated", notes("l.kymo", "are without accesses"), {"says"})
        checks.equal("what can", [name for name, _ in accesses("l.kymo")], ["copy"])
        checks.equal("results, 64", record("x.kymo", "--instrument-kernels=strided|tiled|padded|naive", "--lanes", "64"), alone)
        check_64("x.kymo")
        record("n.kymo", "--instrument-kernels=naive")
        checks.equal("not asked for", accesses("n.kymo"), [])
        must(KYMO, "run", "--no-summary", "-o", "q.kymo", "--lanes", "32", "--", LINES)
        seen = json.loads(must(KYMO, "query", "--format", "json", "q.kymo", "SELECT DISTINCT kernel_name AS name FROM kernel_accesses"))
        checks.equal("of all kernels", {"copy", "saxpy", "naive"} <= {r["name"] for r in seen}, True)
        os.chdir("/")
    return checks.status(25)


sys.exit(main())
