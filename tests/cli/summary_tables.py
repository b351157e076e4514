#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the summary's tables say, against the program's own counts and against plain SQL.

    summary_tables.py KYMO OCL_COPIES OCL_ERRORS ANNOTATED [MPIRUN RING]

Every way to choose rows is tried in every format, from the raw files and from the store: the rows add
up to the whole, and what cannot be told is said."""
import csv
import fcntl
import io
import itertools
import json
import os
import pty
import sqlite3
import struct
import subprocess
import sys
import termios
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402

from traced import Checks, load

KYMO = os.path.abspath(sys.argv[1])
WORDS = ("op", "node", "rank", "process", "thread", "device", "queue", "peer", "scope", "direction",
         "size", "trace", "communicator", "site", "stack", "library", "kernel", "grid")
# The rows of a table are known by these; a table is there if all of the words are among them.
KNOWN = {
    "calls": {"op", "node", "rank", "process", "thread", "scope", "trace"},
    "ranges": {"op", "node", "rank", "process", "thread", "scope", "trace"},
    "errors": {"op", "node", "rank", "process", "thread", "scope", "trace"},
    "kernels": {"op", "node", "rank", "process", "device", "queue", "scope", "trace"},
    "copies": {"op", "node", "rank", "process", "device", "queue", "scope", "trace", "direction"},
    "fills": {"op", "node", "rank", "process", "device", "queue", "scope", "trace", "direction"},
    "maps": {"op", "node", "rank", "process", "device", "queue", "scope", "trace", "direction"},
    "copy_sizes": {"op", "node", "rank", "process", "device", "scope", "trace", "direction", "size"},
    "waiting": {"op", "node", "rank", "process", "thread", "device", "queue", "scope", "trace"},
    "messages": {"op", "node", "rank", "process", "thread", "peer", "scope", "trace"},
    "message_sizes": {"op", "node", "rank", "process", "scope", "trace", "size"},
}
for _name, _words in KNOWN.items():
    if _name != "ranges":
        _words |= {"site", "stack"} | (set() if _name == "message_sizes" else {"library"})
KNOWN["kernels"] |= {"kernel", "grid"}
KNOWN["messages"].add("communicator")
KNOWN["message_sizes"].add("communicator")
TRANSFERS = "SELECT count(*) AS n, ifnull(sum(bytes), 0) AS s, 0 AS r FROM copy c JOIN op o ON " \
            "o.id = c.op WHERE o.name "
COUNTS = {
    "calls": "SELECT count(*) AS n, 0 AS s, 0 AS r FROM call",
    "ranges": "SELECT count(*) AS n, 0 AS s, 0 AS r FROM marker WHERE scope <> 0",
    "errors": "SELECT count(*) AS n, 0 AS s, 0 AS r FROM call c JOIN op o ON o.id = c.op WHERE c.status <> o.status_ok",
    "kernels": "SELECT count(*) AS n, 0 AS s, 0 AS r FROM dispatch",
    "copies": TRANSFERS + "NOT IN ('fill', 'map', 'unmap')",
    "fills": TRANSFERS + "= 'fill'",
    "maps": TRANSFERS + "IN ('map', 'unmap')",
    "copy_sizes": TRANSFERS + "NOT IN ('fill', 'map', 'unmap')",
    "waiting": "SELECT count(*) AS n, 0 AS s, 0 AS r FROM sync s JOIN op o ON o.id = s.op WHERE "
               "o.name IN ('queue', 'events', 'blocking', 'device')",
    "messages": "SELECT count(*) AS n, ifnull(sum(sent), 0) AS s, ifnull(sum(received), 0) AS r FROM comm",
    "message_sizes": "SELECT count(*) AS n, ifnull(sum(sent), 0) AS s, ifnull(sum(received), 0) AS r FROM comm",
}
checks = Checks()


def run(*words, status=0):
    done = subprocess.run([KYMO, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, check=False)
    if done.returncode != status:
        sys.exit(f"{words}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr}")
    return done


def query(trace, sql):
    return json.loads(run("query", "--format", "json", trace, sql).stdout)


def tables(trace, *words):
    out = json.loads(run("summary", "-f", "json", *words, trace).stdout)
    return {t["name"]: t["rows"] for t in out["tables"]}, out


def kind_of(name):
    """All tables of calls count as one."""
    return {"opencl": "calls", "mpi": "calls", "traffic": "copies"}.get(name, name)


def sums(found):
    """By kind: number, bytes (or sent), received."""
    out = {}
    for name, rows in found.items():
        kind = kind_of(name)
        if kind not in KNOWN or (name == "traffic" and "copies" in found):
            continue
        total = out.setdefault(kind, [0, 0, 0])
        for row in rows:
            total[0] += row["calls"]
            total[1] += row.get("bytes", 0) or row.get("sent", 0)
            total[2] += row.get("received", 0)
    return out


def whole(trace):
    """What plain SQL over the records says there is."""
    out = {}
    for kind, sql in COUNTS.items():
        row = list(query(trace, sql)[0].values())
        if row[0]:
            out[kind] = row
    return out


def expected_kinds(words, there):
    """A direction makes the copies' table the one of traffic, sizes are told when asked for."""
    chosen = set(words)
    kinds = {k for k in there if chosen <= KNOWN[k]}
    if "size" not in chosen:
        kinds -= {"copy_sizes", "message_sizes"}
    if chosen == {"op"}:
        kinds |= {"message_sizes"} & set(there)
    return kinds


def possible(words):
    return bool(expected_kinds(words, KNOWN)) or set(words) <= {"node", "rank", "process", "device", "op"}


def same_in_all_formats(trace, out, *words):
    rows = list(csv.DictReader(io.StringIO(run("summary", "-f", "csv", *words, trace).stdout)))
    text, md = (run("summary", "-f", f, *words, trace).stdout for f in ("text", "md"))
    for t in out["tables"]:
        mine = [r for r in rows if r["table"] == t["name"]]
        checks.equal(f"{words} rows of {t['name']} in csv", len(mine), len(t["rows"]))
        for a, b in zip(t["rows"], mine):
            different = {k: (v, b[k]) for k, v in a.items()
                         if b[k] != ("" if v is None else v if isinstance(v, str) else b[k])
                         or (isinstance(v, (int, float)) and float(b[k]) != v)}
            checks.equal(f"{words} csv of {t['name']}", different, {})
        checks.equal(f"{words} {t['name']} in text and md",
                     t["title"] in text and t["title"] in md, True)
    for line in out["foot"]:
        checks.equal(f"{words} \"{line}\" in text and md", line in text and line in md, True)


def every_choice(trace, most=2):
    run("query", trace, "SELECT 1")
    there = whole(trace)
    for n in range(1, most + 1):
        for words in itertools.combinations(WORDS, n):
            by = ["--by", ",".join(words)]
            if not possible(words):
                said = run("summary", *by, trace, status=2).stderr
                checks.equal(f"{words} are refused", "nothing is known by all of these" in said, True)
                continue
            if n == 3 and not {"rank", "device"} <= set(words):
                continue
            found, out = tables(trace, *by)
            kinds = expected_kinds(words, there)
            got = sums(found)
            if "direction" in words and "size" in words:
                got.pop("copies", None)
            checks.equal(f"{words} tables", set(got) | set(), kinds)
            for kind in kinds & set(got):
                checks.equal(f"{words} {kind}", got[kind], there[kind])
            if n < 3:
                left = " ".join(out["foot"])
                for kind, name in (("calls", "calls"), ("kernels", "kernels")):
                    for word in set(words) - KNOWN[kind] - {"peer", "communicator", "direction", "size", "kernel", "grid"}:
                        if kind in there:
                            checks.equal(f"{words} says that {name} have no {word}",
                                         f"no {word} is known of them: " in left and name in left, True)
            if n == 1:
                same_in_all_formats(trace, out, *by)


DIGEST = {"digest", "devices", "hosts", "findings", "regions", "builds", "device_use", "overlap"}  # tables of what a store does not hold


def raw_and_store_agree(trace):
    """The same report from the records and from the store's tallies."""
    for by in ("op", "rank", "process,op", "direction", "size", "device"):
        if os.path.exists(os.path.join(trace, "store.db")):
            os.remove(os.path.join(trace, "store.db"))
        raw = tables(trace, "--by", by)[1]
        run("query", trace, "SELECT 1")
        store = tables(os.path.join(trace, "store.db"), "--by", by)[1]
        store = json.loads(json.dumps(store).replace("/store.db", ""))
        digest = [t for t in raw["tables"] if t["name"] in DIGEST]
        checks.equal("only raw files have a digest", digest[0]["name"], "digest")
        raw["tables"] = [t for t in raw["tables"] if t not in digest]
        for row in [r for t in raw["tables"] if t["name"] == "memory" for r in t["rows"]]:
            checks.equal("nor has a store curves", row["curve_bytes"] is None, False)
            row["curve_bytes"] = None
        for what in ("tables", "foot"):
            checks.equal(f"store says the same {what} by {by}", store[what], raw[what])


def record(folder, name, *program):
    trace = os.path.join(folder, name + ".kymo")
    run("run", "--no-summary", "--mode", "full", "-o", trace, "--", *program)
    return trace


# ---- against the program ---------------------------------------------------------------------------

def copies(folder, program):
    counts = os.path.join(folder, "copies.json")
    trace = record(folder, "copies", program, "--counts", counts)
    told = load(counts)
    found = tables(trace)[0]
    by_kind = {}
    for name, c in told["copies"].items():  # "write_rect" is a write
        kind = by_kind.setdefault(name.split("_")[0], [0, 0])
        kind[0] += c["count"]
        kind[1] += c["bytes"]
    got = {}
    for row in found["copies"] + found["fills"] + found["maps"]:
        kind = got.setdefault(row["op"].split(" (")[0], [0, 0])
        kind[0] += row["calls"]
        kind[1] += row["bytes"]
    checks.equal_counts("copies as the program counts them", got, by_kind)
    checks.equal("traffic has all bytes that were copied", sum(r["bytes"] for r in found["traffic"]),
                 sum(c[1] for k, c in by_kind.items() if k not in ("fill", "map", "unmap")))
    ways = {r["direction"]: r for r in found["traffic"]}
    checks.equal("there are reads and writes, no fills and maps", {w.split(" ")[0] for w in ways},
                 {"host", "device"})
    for row in query(trace, "SELECT min(c.bytes) AS low, max(c.bytes) AS high FROM copy c JOIN op o "
                            "ON o.id = c.op WHERE o.name = 'write'"):
        rows = [r for w, r in ways.items() if w.startswith("host") and "unknown" not in w]
        checks.equal("least and most bytes of a write", (min(r["bytes_min"] for r in rows),
                     max(r["bytes_max"] for r in rows)), (row["low"], row["high"]))
    checks.equal("fills and maps", [r["bytes"] > 0 for r in found["fills"] + found["maps"]],
                 [True] * len(found["fills"] + found["maps"]))
    classes(trace, "SELECT bytes FROM copy c JOIN op o ON o.id = c.op WHERE o.name NOT IN "
                   "('fill', 'map', 'unmap')", "copy_sizes")
    return trace


def classes(trace, sql, table):
    """Each class of sizes, by counting the records in Python."""
    rows = tables(trace, "--by", "size")[0].get(table, [])
    values = [r["bytes"] for r in query(trace, sql)]
    for row in rows:
        inside = [v for v in values if row["size_from"] <= v < row["size_below"] or
                  v == row["size_from"] == 0]
        checks.equal(f"{table} {row['size']}", row["calls"], len(inside))
    checks.equal(f"{table} tell all", sum(r["calls"] for r in rows), len(values))
    checks.equal(f"{table} in order", [r["size_from"] for r in rows],
                 sorted(r["size_from"] for r in rows))


def errors(folder, program):
    counts = os.path.join(folder, "errors.json")
    trace = record(folder, "errors", program, "--counts", counts)
    found = tables(trace)[0]
    checks.equal_counts("errors as the program counts them",
                        {(r["op"], int(r["code"])): r["calls"] for r in found["errors"]},
                        {(e["function"], e["code"]): e["count"] for e in load(counts)["errors"]})
    for row in query(trace, "SELECT o.name, c.status, min(c.start) AS first FROM call c "
                            "JOIN op o ON o.id = c.op WHERE c.status <> o.status_ok GROUP BY 1, 2"):
        mine = [r for r in found["errors"] if r["op"] == row["name"] and
                int(r["code"]) == row["status"]]
        checks.equal(f"first {row['name']} {row['status']}", [r["first_ns"] for r in mine],
                     [row["first"]])
        checks.equal(f"name of {row['status']}", [r["status"][:3] for r in mine], ["CL_"])
    quality = found["quality"][0]
    checks.equal("losses are a row", (quality["lost_records"], quality["damaged_blocks"]), (0, 0))
    counted_only(folder, program, found["errors"])
    return trace


def counted_only(folder, program, recorded):
    """Mode summary keeps the number of errors, and says that it has no more."""
    trace = os.path.join(folder, "counted.kymo")
    run("run", "--no-summary", "--include", ".*", "--mode", "summary", "-o", trace, "--", program)
    found, wanted = tables(trace)[0]["errors"], {}
    for row in recorded:
        wanted[row["op"]] = wanted.get(row["op"], 0) + row["calls"]
    checks.equal_counts("errors that were counted", {r["op"]: r["calls"] for r in found}, wanted)
    checks.equal("it says so", "Calls were counted" in run("summary", trace).stdout, True)
    checks.equal("no status", {(r["status"], r["code"], r["first_ns"]) for r in found},
                 {("(not kept)", "", None)})


def damaged(trace):
    """Tallies that refer to what is not there are refused, not followed."""
    for change in ("tally_call SET thread = 9999", "tally_error SET op = 77777",
                   "tally_error SET thread = 4000000000", "tally_call SET process = -1"):
        os.remove(os.path.join(trace, "store.db"))
        run("query", trace, "SELECT 1")
        db = sqlite3.connect(os.path.join(trace, "store.db"))
        db.execute("UPDATE " + change)
        db.commit()
        db.close()
        checks.equal(change, "the tallies are damaged" in run("summary", os.path.join(trace, "store.db"), status=3).stderr, True)


def on_terminal(trace, columns):
    """What a terminal of so many columns gets, without colours."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen([KYMO, "summary", trace], stdin=subprocess.DEVNULL, stdout=slave,
                          stderr=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1", "KYMO_PAGER": "cat"}) as kymo:
        end = threading.Thread(target=lambda: (kymo.wait(), os.write(slave, kymotest.TERMINAL_END)))
        end.start()
        data = kymotest.read_terminal(master)
        end.join()
    os.close(slave)
    os.close(master)
    return data.decode().replace("\r\n", "\n").splitlines()


def narrow(trace):
    """Tables fit; what gives way for that is named."""
    out = tables(trace)[1]
    prose = out["head"] + out["foot"]
    for columns in (80, 120, 400):
        lines = [l for l in on_terminal(trace, columns) if l not in prose and not l.startswith("(")]
        checks.equal(f"there are tables in {columns} columns", len(lines) > 20, True)
        checks.equal(f"lines that do not fit {columns} columns", [l for l in lines if len(l) > columns],
                     [])
    shown = on_terminal(trace, 80)
    checks.equal("what has no room is named", any(l.startswith("(no room for ") for l in shown), True)
    checks.equal("nothing gives way", any("no room" in l for l in on_terminal(trace, 400)), False)


def messages(folder, mpirun, program):
    trace = os.path.join(folder, "ring.kymo")
    done = subprocess.run([*mpirun.split(), "-n", "4", KYMO, "run", "--no-summary", "-o", trace, program],
                          capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        print(f"no messages are looked at: {done.stderr[-300:]}")
        return
    every_choice(trace)
    raw_and_store_agree(trace)
    classes(trace, "SELECT max(sent, received) AS bytes FROM comm", "message_sizes")
    narrow(trace)
    for row in tables(trace, "--by", "rank")[0]["messages"]:
        told = query(trace, "SELECT count(*) AS n, sum(sent) AS s, sum(received) AS r FROM comm c "
                     f"JOIN process p ON p.id = c.process WHERE p.rank = {row['rank']}")[0]
        checks.equal(f"messages of rank {row['rank']}", (row["calls"], row["sent"], row["received"]),
                     tuple(told.values()))
    for row in tables(trace)[0]["imbalance"]:
        if row["kind"] != "messages":
            continue
        times = [r["t"] for r in query(
            trace, "SELECT p.rank, sum(c.duration) AS t FROM comm c JOIN op o ON o.id = c.op JOIN "
            f"process p ON p.id = c.process WHERE o.name = '{row['op']}' GROUP BY p.rank")]
        times += [0] * (4 - len(times))
        checks.equal(f"load of {row['op']}", (row["min_ns"], row["max_ns"]), (min(times), max(times)))
        checks.equal(f"mean of {row['op']}", abs(row["mean_ns"] - sum(times) / 4) <= 1, True)


def main():
    with kymotest.Folder(prefix="kymo-summary-") as folder:
        trace = copies(folder, sys.argv[2])
        every_choice(trace, 3)
        narrow(trace)
        raw_and_store_agree(trace)
        trace = errors(folder, sys.argv[3])
        raw_and_store_agree(trace)
        damaged(trace)
        every_choice(record(folder, "annotated", sys.argv[4]))
        if sys.argv[5:]:
            messages(folder, sys.argv[5], sys.argv[6])
        empty = record(folder, "empty", "true")
        said = run("summary", "--by", "rank", empty).stdout
        checks.equal("an empty trace", "Nothing was recorded" in said, True)
    return checks.status(500)


if __name__ == "__main__":
    sys.exit(main())
