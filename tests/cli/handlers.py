#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What handlers report of kernels whose accesses and blocks are known by formulas: handlers.py KYMO OCL_ACCESSES OCL_REGIONS FOLDER_OF_LIBRARIES."""
import csv
import io
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import Checks, must  # noqa: E402

KYMO, PROGRAM, REGIONS, LIBRARIES = sys.argv[1:]
ITEMS, TURNS = 256, 5
checks = Checks()


def tables(trace, handler):
    return {t["name"].split(".")[1]: t["rows"] for t in json.loads(must(KYMO, "kernels", "-f", "json", "--handler", handler, trace))["tables"]}


def query(trace, sql):
    return json.loads(must(KYMO, "query", "-f", "json", trace, sql))


def notes(trace):
    return [r["text"] for r in query(trace, "SELECT text FROM note WHERE part = 'instrument'")]


def run(trace, program, *words):
    return must(KYMO, "run", "--force", "--no-summary", "-o", trace, *words, "--", program)


def check_heatmap(trace):
    """Each access is in one row of each table: of memory that all groups have, pages and buffers; in all, memories."""
    got = tables(trace, "heatmap")
    executed = {r["kernel_name"]: r["n"] for r in query(trace, """SELECT kernel_name, sum(executed) AS n FROM kernel_parts
        WHERE what IN ('load', 'store', 'rw', 'atomic') AND kind IN ('global', 'constant') GROUP BY 1""")}
    checks.equal("kernels", sorted(executed), ["counts", "naive", "padded"])
    for kernel, n in executed.items():
        for name in ("pages", "buffers"):
            checks.equal(f"{kernel}: sum of {name}", sum(r["accesses"] for r in got[name] if r["kernel"] == kernel), n)
        buffers = {r["argument"]: (r["number"], r["buffer_bytes"], r["accesses"]) for r in got["buffers"] if r["kernel"] == kernel}
        checks.equal(f"{kernel}: buffers", buffers, {"a": (0, 4096 * 40 * 4, 4096), "b": (1, 4096 * 4, 4096)})
    local = {r["kernel"]: r["accesses"] for r in got["memories"] if r["memory"] == "local"}
    checks.equal("local memory", local, {"padded": 2 * 4096})


def check_reuse(trace):
    """Lines of 32 floats: in order each comes 31 times more at once; column by column a group of 32 x 8 comes back to 32 of them."""
    got = {}
    for r in tables(trace, "reuse")["places"]:
        got.setdefault((r["kernel"], r["line"]), {})[r["distance_lines"]] = r["touches"]
    checks.equal("in order", got["padded", 26], {"cold": 128, "0": 3968})
    lines = got["naive", 10]
    checks.equal("column by column: lines", lines.get("cold"), 4096 // 32)
    checks.equal("column by column: none at once", (lines.get("0"), sum(lines.values())), (None, 4096))


def check_logs(trace):
    rows = tables(trace, "addresses")
    checks.equal("as many as there may be", sum(r["kernel"] == "naive" for r in rows["records"]), 10)
    checks.equal("what was left out", {r["kernel"]: r["count"] for r in rows["left_out"]}["naive"], 2 * 4096 - 10)
    first = [r for r in rows["records"] if r["kernel"] == "naive" and r["argument"] == "a"]
    checks.equal("neighbours", {b["address"] - a["address"] for a, b in zip(first, first[1:])}, {4})
    text = must(KYMO, "kernels", "-f", "csv", "--handler", "addresses", trace)
    checks.equal("as CSV", {"address", "argument", "occurrence"} <= set(next(csv.reader(io.StringIO(text)))), True)


def check_accesses():
    run("a.kymo", PROGRAM, "--instrument-kernels=padded|naive|counts", "--handlers", "heatmap:page=4K,reuse,addresses:limit=10")
    check_heatmap("a.kymo")
    check_reuse("a.kymo")
    check_logs("a.kymo")
    checks.equal("--lanes was not asked for", query("a.kymo", "SELECT count(*) AS n FROM kernel_access"), [{"n": 0}])


def check_many_rows():
    """More rows than a part of a table holds; what is read of a part for each of its rows would take minutes."""
    rows = 50000
    run("m.kymo", PROGRAM, "--instrument-kernels=^many$", "--handlers", f"addresses:limit={rows}")
    counted = query("m.kymo", """SELECT count(*) AS n, count(DISTINCT id) > 2 AS parts, count(function) AS places, sum(json_extract(cells, '$[6]')) AS bytes,
        sum(what = json_extract(cells, '$[3]')) AS known FROM kernel_reports WHERE name = 'records'""")
    checks.equal("rows of the view", counted, [{"n": rows, "parts": 1, "places": rows, "bytes": 4 * rows, "known": rows}])
    records = tables("m.kymo", "addresses")["records"]
    checks.equal("rows of the table", (len(records), sum(r["access_bytes"] for r in records), sum(r["what"] == r["kind"] for r in records)), (rows, 4 * rows, rows))


def check_places():
    """A load and a store in one line: 128 bytes hold 16 of the one's, 32 of the other's."""
    run("p.kymo", REGIONS, "--instrument-kernels=both", "--handlers", "reuse,blocks")
    got = {}
    for r in tables("p.kymo", "reuse")["places"]:
        got.setdefault((r["line"], r["column"], r["what"]), {})[r["distance_lines"]] = r["touches"]
    expected = {(30, 11, "load"): (16, ITEMS), (30, 2, "store"): (8, ITEMS)}
    checks.equal("reuse by place", {k: (v["cold"], sum(v.values())) for k, v in got.items()}, expected)
    rows = query("p.kymo", "SELECT DISTINCT line, col, what FROM kernel_reports WHERE handler = 'reuse' AND name = 'places'")
    checks.equal("places in SQL", {tuple(r.values()) for r in rows}, set(expected))
    parts = csv.DictReader(io.StringIO(must(KYMO, "kernels", "-f", "csv", "--handler", "reuse", "p.kymo")))
    checks.equal("as CSV", {(int(r["line"]), int(r["column"]), r["what"]) for r in parts if r["line"]}, set(expected))
    heads = [line.split() for line in must(KYMO, "kernels", "--handler", "reuse", "p.kymo").splitlines()]
    checks.equal("as text", {tuple(w[2:5]) for w in heads if len(w) > 5 and w[2] == "30"}, {("30", "11", "load"), ("30", "2", "store")})
    checks.equal("kinds of blocks", {(r["line"], r["what"]) for r in tables("p.kymo", "blocks")["blocks"]}, {(28, "function")})
    marks = {(r["name"], r["what"]) for r in tables("r.kymo", "blocks")["regions"]}
    checks.equal("regions", marks, {(name, "begin") for name in ("all turns", "turn", "left")})


def check_regions():
    """Two launches; the loop's step and condition are blocks as well. Blocks run as often as kernel_parts has it."""
    alone = must(REGIONS)
    checks.equal("results", run("r.kymo", REGIONS, "--handlers", "blocks,memory"), alone)
    got = tables("r.kymo", "blocks")
    regions = {(r["launch"], r["name"]): (r["count"], r["items"], r["unfinished"]) for r in got["regions"]}
    expected = {"all turns": (ITEMS, ITEMS, 0), "turn": (TURNS * ITEMS, ITEMS, 0), "left": (ITEMS // 4, ITEMS // 4, ITEMS // 4)}
    checks.equal("regions", regions, {(n, name): v for n in (1, 2) for name, v in expected.items()})
    counted = query("r.kymo", """SELECT launch, p.line, kind, sum(executed) AS n FROM kernel_parts p JOIN (SELECT DISTINCT call_id, launch FROM kernel_reports)
        USING (call_id) WHERE what = 'block' AND executed GROUP BY 1, 2, 3""")
    blocks = {(r["kernel"], r["launch"], r["line"], r["name"]): r["count"] for r in got["blocks"]}
    turns = {(n, line, name): v for (kernel, n, line, name), v in blocks.items() if kernel == "turns"}
    checks.equal("blocks", {k: v for k, v in turns.items() if k[0] == 2}, {(r["launch"], r["line"], r["kind"]): r["n"] for r in counted if r["launch"] == 2})
    for r in got["blocks"]:
        if r["min_ticks"] is not None:
            order = [r[k] for k in ("min_ticks", "p50_ticks", "p90_ticks", "p99_ticks", "max_ticks")]
            checks.equal(f"{r['name']}: percentiles rise", order, sorted(order))
    marks = query("r.kymo", "SELECT kind, sum(executed) AS n FROM kernel_parts WHERE what = 'begin' GROUP BY 1 ORDER BY 1")
    checks.equal("regions by line", [(m["kind"], m["n"]) for m in marks], [("all turns", 512), ("left", 128), ("turn", 2560)])
    without = [(r["kernel"], r["what"]) for r in tables("r.kymo", "memory")["left_out"]]
    checks.equal("copies of a group", without, [("copied", "accesses of async_work_group_copy, which have no records")])
    checks.equal("and a note", [t for t in notes("r.kymo") if "async" in t], [
        "launches of copied are in part without accesses: those of async_work_group_copy have no records"])
    texels = [r for r in tables("r.kymo", "memory")["places"] if r["memory"] == "image"]
    checks.equal("texels", [(r["kernel"], r["accesses"], r["lanes_percent"], r["needed"]) for r in texels], [("texels", ITEMS, 100, 0)])


def check_large(trace):
    """Cells are unsigned: none of their digits is lost."""
    numbers, left = {"most": 2 ** 64 - 1, "half": 2 ** 63, "start_address": 2 ** 63 + 1}, 2 ** 64 - 2
    got = tables(trace, "odd-tables")
    checks.equal("large numbers", [{k: r[k] for k in numbers} for r in got["large"]], [numbers])
    checks.equal("large numbers left out", [(r["what"], r["count"]) for r in got["left_out"]], [("things", left)])
    text = must(KYMO, "kernels", "--handler", "odd-tables", trace).replace(",", "").split()
    rows = must(KYMO, "kernels", "-f", "csv", "--handler", "odd-tables", trace).replace("\n", ",").split(",")
    for n in (*numbers.values(), left):
        checks.equal(f"{n} as text and CSV", (str(n) in text, str(n) in rows), (True, True))


def check_libraries():
    os.environ["KYMO_HANDLER_PATH"] = f"/nowhere:{LIBRARIES}"
    path = os.path.join(LIBRARIES, "libkymo-handler-odd-batch.so")
    again = os.path.join(LIBRARIES, "libkymo-handler-span.so")
    names = ["span", "odd-version", "odd-export", "odd-tables", path, again]
    run("l.kymo", REGIONS, "--instrument-kernels=texels", "--handlers", ",".join(names))
    spans = {r["line"]: (r["accesses"], r["span_bytes"]) for r in tables("l.kymo", "span")["places"] if r["kind"] == "store"}
    checks.equal("the example", spans, {25: (ITEMS, 4 * ITEMS)})
    checks.equal("what was good of it", [r["n"] for r in tables("l.kymo", "odd-tables")["good"]], [7])
    check_large("l.kymo")
    told = notes("l.kymo")
    for what in ("odd-version of", "was built for version 2 of kymo/handler.h, and this Kymo has 1"), ("odd-export of", "it exports no kymo_handler()"), \
            ("odd-tables (not part of Kymo)", "reported 6 tables or rows of texels that are not as kymo/handler.h has them"), \
            (f"handler {again} does not take part: another one is called span, too",), ("handler odd (not part of Kymo)", "left a launch of texels out: on_batch() said: ERROR_UNSUPPORTED: not supported here"), ("handler span is that of", "not part of Kymo"):
        checks.equal(f"told: {what}", any(all(w in t for w in what) for t in told), True)


def check_lanes():
    """Lines of 64 bytes and 64 banks, of which rows of 32 words of a tile use a half each: 16 lanes meet in a bank."""
    with open("d.lanes", "w", encoding="utf-8") as f:
        f.write("# a device\nwarp = 64\nline = 64\nbank = 4\nbanks = 64\ntogether = 64 32 16\n")
    run("d.kymo", PROGRAM, "--instrument-kernels=strided|tiled|padded", "--lanes", "d.lanes")
    rows = query("d.kymo", "SELECT kernel_name, what, kind, warp, needed, used FROM kernel_accesses ORDER BY call_id, line")
    loads = [(r["warp"], r["needed"], r["used"]) for r in rows if r["kernel_name"] == "strided" and r["what"] == "load"]
    checks.equal("strides of 1, 3, 32", loads[:3], [(64, 256, n) for n in (256, 3 * 256, 64 * 64)])
    tiles = {r["kernel_name"]: r["used"] - r["needed"] for r in rows if r["kind"] == "local" and r["what"] == "load"}
    checks.equal("conflicts", tiles, {"tiled": 15 * 64, "padded": 64})
    with open("w.lanes", "w", encoding="utf-8") as f:
        f.write("warp = 32\nline = 0\n")
    must(KYMO, "list", "lanes")
    with open("k.lanes", "w", encoding="utf-8") as f:
        f.write(must(KYMO, "list", "lanes", "32"))
    for lanes, status, text in ("w.lanes", 2, 'w.lanes: line 2: line is 1 whole number'), ("q.lanes", 2, "q.lanes: No such file"), ("k.lanes", 0, ""):
        done = kymotest.run(KYMO, "run", "--no-summary", "--force", "-o", "q.kymo", "--instrument-kernels", "--lanes", lanes, "true")
        checks.equal(f"--lanes {lanes}", (done.returncode, text in done.stderr), (status, True))


def check_wrong():
    for words, text in (("nowhere", "libkymo-handler-nowhere.so is neither"), ("heatmap:pag=1", 'no option "pag"'), ("reuse,reuse", "names reuse twice"),
                        ("", "--handlers is empty"), ("a,", "behind the last comma"), ("./none.so", "No such file")):
        done = kymotest.run(KYMO, "run", "-o", "q.kymo", "--handlers", words, "true")
        checks.equal(f"--handlers '{words}'", (done.returncode, text in done.stderr), (2, True))
    done = kymotest.run(KYMO, "kernels", "--handler", "nothing", "r.kymo")
    checks.equal("nothing of it", (done.returncode, 'has nothing of a handler "nothing"' in done.stderr), (3, True))
    names = {r["handler"] for r in json.loads(must(KYMO, "list", "handlers", "-f", "json"))["tables"][0]["rows"]}
    checks.equal("the list", names, {"memory", "heatmap", "reuse", "blocks", "addresses", "block-log"})


def main():
    done = kymotest.run(KYMO, "rewrite", "--options=", "--extensions=", input="kernel void k() {}")
    if done.returncode:
        kymotest.skip(done.stderr)
    with kymotest.Folder() as folder:
        os.chdir(folder)
        check_accesses()
        check_regions()
        check_many_rows()
        check_places()
        check_libraries()
        check_lanes()
        check_wrong()
        os.chdir("/")
    return checks.status(40)


sys.exit(main())
