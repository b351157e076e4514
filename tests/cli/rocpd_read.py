#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reading ROCpd: what was written comes back, of every version and shape; databases that are damaged, hostile, of other
versions or wrong are refused with the reason, or what is lost is told.

    rocpd_read.py KYMO SYNTH"""
import glob
import json
import os
import re
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import databases  # noqa: E402
import kymotest  # noqa: E402
from kymotest import Run, check, must  # noqa: E402

KYMO, SYNTH = map(os.path.abspath, sys.argv[1:3])
IT = databases.Kymo(KYMO)
shown, refused = IT.shown, IT.refused

ROWS = {
    "regions": "category, name, pid, tid, start, end, stack_id, parent_stack_id, corr_id",
    "samples": "category, name, pid, tid, timestamp, extdata",
    "kernels": "name, pid, tid, agent_type, start, end, grid_x, grid_y, grid_z, workgroup_x, lds_size, scratch_size, "
               "stack_id, corr_id",
    "memory_copies": "name, pid, tid, start, end, size, src_agent_type, dst_agent_type, stack_id",
    "memory_allocations": "type, level, pid, tid, start, end, address, size, agent_type, stack_id",
    "processes": "hostname, ppid, pid, start, end, command",
    "threads": "pid, tid, start, name",
}


def rows(path, view, columns):
    return sorted(databases.source(path, f"SELECT {columns} FROM {view}"), key=repr)


def export(source, out, to="rocpd"):
    return Run([KYMO, "export", "--to", to, "-f", "-o", out, source])


class Place(databases.Place):
    def __init__(self, folder):
        super().__init__(KYMO, folder)
        self.suffix = databases.source(self.db, "SELECT value FROM rocpd_metadata WHERE tag = 'uuid' ORDER BY id")[0][0]

    def make(self):
        self.trace = self("demo.kymo")
        must(SYNTH, "demo", self.trace)
        check("export", export(self.trace, self("demo.db")).status, 0)
        return self("demo.db")

    def statement(self, s):
        return s.format(s=self.suffix)


def same_rows(what, a, b, views=ROWS):
    for view in views:
        check(f"{view}: {what}", rows(b, view, ROWS[view]), rows(a, view, ROWS[view]))


def test_round_trip(at):
    again = at("again.db")
    check("export of what was read", export(at.db, again).status, 0)
    same_rows("read and written", at.db, again)
    check("there are rows of each", [bool(rows(at.db, v, "1")) for v in ("regions", "kernels", "memory_copies",
                                                                        "memory_allocations")], [True] * 4)


ARGUMENTS = """SELECT e.stack_id, r.name, a.position, a.type, a.name, a.value FROM rocpd_arg a JOIN regions r ON r.event_id =
    a.event_id AND r.guid = a.guid JOIN rocpd_event e ON e.id = a.event_id AND e.guid = a.guid WHERE a.value <> 'NULL'"""


def arguments(path, of="r.category GLOB '*_API'"):
    db = sqlite3.connect(path)
    try:
        return sorted(db.execute(f"{ARGUMENTS} AND {of}"))
    finally:
        db.close()


def test_arguments(at):
    """They come back with types, names and values, numbers as numbers; in whatever order rows are."""
    again = at("again.db")
    wanted = arguments(at.db)
    check("there are arguments", len(wanted) > 40, True)
    check("texts are as they are", [r[5] for r in wanted if r[1] == "open" and r[4] == "name"][0], "data.bin")
    run = export(at.db, again)
    check("arguments", arguments(again), wanted)
    waits = len(arguments(at.db, "r.category = 'SYNC_EVENT'"))
    check("those of waits are told", f"arguments of what is no call ({waits})" in run.err and waits > 0, True)
    lines = [line for line in shown(at.db, "--domain", "test")[1] if ":all_kinds(" in line]
    check("numbers are numbers", [w in lines[0] for w in ("u64=18446744073709551615", "i16=-2", "pointer=0x7f1200001234",
                                                         'text="say', "*count=-7")], [True] * 5)
    mixed = at.changed("mixed.db", "CREATE TABLE o AS SELECT * FROM 'rocpd_arg{s}' ORDER BY position, id; "
                       "DELETE FROM 'rocpd_arg{s}'; INSERT INTO 'rocpd_arg{s}' SELECT 3 * rowid, guid, event_id, position, "
                       "type, name, value, extdata FROM o; DROP TABLE o")
    export(mixed, again)
    check("in another order", arguments(again), wanted)
    gaps = at.changed("gaps.db", "DELETE FROM 'rocpd_arg{s}' WHERE id % 7 = 3")
    export(gaps, again)
    check("with gaps", [r[:2] + r[3:] for r in arguments(again)], [r[:2] + r[3:] for r in arguments(gaps)])
    text = at.changed("text.db", "UPDATE 'rocpd_arg{s}' SET value = 'many' WHERE name = 'what' AND id = (SELECT max(id) FROM "
                      "'rocpd_arg{s}' WHERE name = 'what')")
    export(text, again)
    check("one that is no number", arguments(again), arguments(text))
    many = at.changed("many.db", "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO "
                      "'rocpd_arg{s}' (guid, event_id, position, type, name, value) SELECT guid, event_id, 100 + i, 'int', 'n' "
                      "|| i, i FROM n, (SELECT * FROM 'rocpd_arg{s}' WHERE name = 'u64')")
    told = re.search(r"arguments beyond those that an operation has \((\d+)\)", export(many, again).err)
    check("more than an operation has", told and int(told.group(1)),
          100 + len([r for r in wanted if r[1] == "all_kinds"]) - 40)


def test_without_numbers(at):
    """Calls of writers that number none, and those of numbers that stores have no room for."""
    count = len(rows(at.db, "regions WHERE category = 'TEST_API'", "1"))
    path = at.changed("plain.db", "UPDATE rocpd_event{s} SET stack_id = 0, parent_stack_id = 0")
    must(KYMO, "import", "-o", at("plain.kymo"), path)
    sql = "SELECT count(*) AS n, count(DISTINCT c.id) AS ids FROM call c JOIN op o ON o.id = c.op JOIN domain d ON d.id = o.domain WHERE d.name = 'test'"
    check("calls without numbers", kymotest.query(KYMO, at("plain.kymo"), sql), [{"n": count, "ids": count}])


def test_joined(at):
    """Twelve files as slides of AMD's join them: attached, and all their rows in one view; ten at a time, as SQLite has it."""
    views = ("regions", "kernels", "memory_copies", "memory_allocations")
    one = {v: len(rows(at.db, v, "1")) for v in views}
    db, got = sqlite3.connect(":memory:"), dict.fromkeys(views, 0)
    for n in range(12):
        shutil.copy(at.db, at(f"{n}.db"))
    for names in (range(10), range(10, 12)):
        for n in names:
            db.execute("ATTACH ? AS ?", (at(f"{n}.db"), f"db{n}"))
        for v in views:
            db.execute(f"CREATE TEMP VIEW all_{v} AS " + " UNION ALL ".join(f"SELECT * FROM db{n}.{v}" for n in names))
            got[v] += db.execute(f"SELECT count(*) FROM all_{v}").fetchone()[0]
            db.execute(f"DROP VIEW all_{v}")
        for n in names:
            db.execute(f"DETACH db{n}")
    db.close()
    check("rows of twelve", got, {v: 12 * n for v, n in one.items()})
    of_all, of_one = tables(*[at(f"{n}.db") for n in range(12)]), tables(at.db)
    for name in ("test", "kernels"):
        check(f"twelve: {name}", sum(r["time_ns"] for r in of_all[name]), 12 * sum(r["time_ns"] for r in of_one[name]))


def test_few_handles(at):
    """A folder of more files than a process may have open."""
    export(at.trace, at("parts.rpdb"), "rocpd:folder")
    part = sorted(glob.glob(at("parts.rpdb/*.db")))[0]
    with open(part, "rb") as f:
        data = f.read()
    db = sqlite3.connect(part)
    guid, = db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'guid'").fetchone()
    calls, = db.execute("SELECT count(*) FROM regions WHERE category = 'TEST_API'").fetchone()
    db.close()
    os.mkdir(at("many.rpdb"))
    old = [guid.encode(), guid.replace("-", "_").encode()]
    for n in range(300):
        last = f"{n:012x}".encode()
        with open(at(f"many.rpdb/{n}.db"), "wb") as f:
            f.write(data.replace(old[0], old[0][:-12] + last).replace(old[1], old[1][:-12] + last))
    with open(at("many.rpdb/index.yaml"), "w", encoding="utf-8") as f:
        f.write("rocprofiler-sdk:\n")
    script = 'ulimit -n 40; exec "$0" summary -f json "$1"'
    run = Run(["sh", "-c", script, KYMO, at("many.rpdb")])
    check("status", run.status, 0)
    got = {t["name"]: t["rows"] for t in json.loads(run.out)["tables"]}
    check("calls", sum(r["calls"] for r in got["test"]), 300 * calls)


def test_names(at):
    """What an operation costs does not grow with the number of operations: each of its own name, and domain."""
    def seconds(count):
        path = at.changed(f"names{count}.db", f"""
            CREATE TEMP TABLE n AS WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) SELECT i FROM n;
            INSERT INTO 'rocpd_string{{s}}' (id, string) SELECT 1000000 + i, 'name' || i FROM n;
            INSERT INTO 'rocpd_string{{s}}' (id, string) SELECT 3000000 + i, 'CATEGORY' || i || '_API' FROM n;
            INSERT INTO 'rocpd_event{{s}}' (id, category_id, stack_id, parent_stack_id, correlation_id) SELECT 1000000 + i,
            3000000 + i, 1000000 + i, 0, 0 FROM n;
            INSERT INTO 'rocpd_region{{s}}' (nid, pid, tid, start, end, name_id, event_id) SELECT r.nid, r.pid, r.tid, i, i + 1,
            1000000 + i, 1000000 + i FROM n, (SELECT * FROM 'rocpd_region{{s}}' LIMIT 1) r;""")
        run = Run(["sh", "-c", '"$0" info "$1" >/dev/null && times', KYMO, path])
        check(f"{count} names", run.status, 0)
        return sum(float(m) * 60 + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", run.out.splitlines()[-1]))
    few, many = (min(seconds(n) for _ in range(3)) for n in (10000, 100000))
    print(f"10,000 names: {few:.2f} s, 100,000: {many:.2f} s")
    check(f"ten times the names take {many:.2f} s for {few:.2f} s", many < 40 * max(few, 0.02), True)


def test_order(at):
    run = Run([KYMO, "show", at.db])
    starts = [float(line.split()[0]) for line in run.out.splitlines()]
    check("in order", starts, sorted(starts))
    check("either order", shown(at.db, "--order", "recorded")[1], shown(at.db)[1])


def test_selection(at):
    check("kernels of a name", len(shown(at.db, "--kernel", "^step")[1]), len(rows(at.db, "kernels WHERE name = 'step'", "1")))
    check("a process", len(shown(at.db, "--process", "5151", "--domain", "test")[1]),
          len(rows(at.db, "regions WHERE pid = 5151 AND category = 'TEST_API'", "1")))


def tables(*paths, words=()):
    got = json.loads(must(KYMO, "summary", "-f", "json", *words, *paths))["tables"]
    return {t["name"]: t["rows"] for t in got}


def test_summary(at):
    """The summary is that of the trace, and of two databases that of both."""
    of_trace, of_db = tables(at.trace), tables(at.db)
    keys = ("op", "time_ns", "self_ns", "calls", "bytes", "min_ns", "max_ns", "untimed", "errors")
    # Builds have other fields than the model's: they are of a domain of the file's own.
    of_db["code_object"] = of_db.pop("foreign.code_object")
    for name in ("test", "code_object", "kernels", "copies"):
        got, wanted = ([{k: r[k] for k in keys if k in r} for r in t[name]] for t in (of_db, of_trace))
        check(f"table {name}", got, wanted)
        check(f"there is something in {name}", bool(got), True)
    shutil.copy(at.db, at("second.db"))
    both = tables(at.db, at("second.db"))
    for name in ("test", "kernels"):
        check(f"two: {name}", sorted(r["time_ns"] for r in both[name]), sorted(2 * r["time_ns"] for r in of_db[name]))
    run = Run([KYMO, "summary", "--by", "site", at.db])
    check("what needs a trace of Kymo's", run.status != 0 and "rocpd" in run.err, True)
    check("what was lost", "17 records" in must(KYMO, "summary", at.db), True)


def test_fields(at):
    """Of calls whose arguments a summary looks at these are read, in whatever order they are; of others they are left."""
    sql = """UPDATE rocpd_string{s} SET string = 'OPENMP_API' WHERE string = 'TEST_API';
        UPDATE rocpd_info_process{s} SET extdata = '{{}}';
        DELETE FROM rocpd_region{s}; DELETE FROM rocpd_arg{s};
        INSERT INTO rocpd_string{s} (id, string) VALUES (1001, 'parallel'), (1002, 'implicit_task'), (1003, 'dispatch');
        CREATE TEMP TABLE n (i, event, stack, name, tid, at, ns);
        INSERT INTO n VALUES (1, 101, 501, 1001, 4242, 0, 500000), (2, 102, 502, 1002, 4243, 1000, 400000),
            (3, 103, 503, 1003, 4242, 510000, 10), (4, 104, 504, 1001, 4242, 700000, 100000);
        INSERT INTO rocpd_event{s} (id, category_id, stack_id, parent_stack_id, correlation_id)
            SELECT event, (SELECT id FROM rocpd_string{s} WHERE string = 'OPENMP_API'), stack, 0, 0 FROM n;
        INSERT INTO rocpd_region{s} (id, nid, pid, tid, start, end, name_id, event_id)
            SELECT i, (SELECT nid FROM rocpd_info_process{s}), 4242, tid, 5000000000 + at, 5000000000 + at + ns, name, event FROM n;
        INSERT INTO rocpd_arg{s} (id, event_id, position, type, name, value) VALUES (1, 101, 0, 'unsigned', 'threads', '3'),
            (2, 102, 0, 'unsigned', 'threads', '3'), (3, 103, 0, 'int', 'x', '7'), (4, 104, 0, 'unsigned', 'threads', '2'),
            (5, 104, 1, 'ns', 'worked', '90000');"""
    in_order = tables(at.changed("fields.db", sql))["regions"]
    check("regions", [(r["regions"], r["threads"]) for r in in_order], [(2, 3)])
    mixed = at.changed("mixed.db", sql, "UPDATE rocpd_arg{s} SET id = 9000 - 10 * event_id + position")
    check("in another order", tables(mixed)["regions"], in_order)


def test_shapes(at):
    wanted = shown(at.db)[1]
    for to in ("rocpd:3.0.1", "rocpd:3.0.2", "rocpd:3.0.3"):
        export(at.trace, at("v.db"), to)
        check(to, shown(at("v.db"))[1], wanted)
    export(at.trace, at("f.rpdb"), "rocpd:folder")
    check("a folder", shown(at("f.rpdb"))[1], wanted)
    shutil.copy(glob.glob(at("f.rpdb/*.db"))[0], at("f.rpdb/copy.db"))
    status, lines, err = shown(at("f.rpdb"))
    check("a process twice", (status, lines), (0, wanted))
    check("that is told", len(re.findall("again, which is read once", err)), 1)
    # Tables without a suffix, as older tools left them.
    one = glob.glob(at("f.rpdb/node1*.db"))[0]
    shutil.copy(one, at("old.db"))
    db = sqlite3.connect(at("old.db"))
    db.execute("PRAGMA legacy_alter_table = ON")
    for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
        db.execute(f'DROP VIEW "{name}"')
    for name, in db.execute("SELECT name FROM sqlite_master WHERE name GLOB 'rocpd_*'").fetchall():
        db.execute(f'ALTER TABLE "{name}" RENAME TO "{re.sub("_[0-9a-f]{8}_.*", "", name)}"')
    db.commit()
    db.close()
    check("tables without suffix", shown(at("old.db"))[1], shown(one)[1])


def processes(path):
    """(pid, rank, how it ended) of what `kymo info` prints."""
    info = must(KYMO, "info", path).split("Processes\n")[1].split("\n\n")[0]
    return sorted(re.findall(r"^  (\d+) (?:rank (\d+))?.*\n +\d+ records?, ([^,\n]*)", info, re.M))


def test_processes(at):
    """Ranks, how processes ended and what was run come back; of others, that is not known."""
    wanted = processes(at.trace)
    check("there are", wanted, [("4242", "", "exited with status 0"), ("5151", "1", "killed by signal 9")])
    check("they come back", processes(at.db), wanted)
    check("so does what was run", re.search("^Command +(.*)", must(KYMO, "info", at.db), re.M).group(1), "demo --size 64")
    check("of others", processes(at.changed("other.db", "UPDATE [rocpd_info_process{s}] SET extdata = '{{}}'")),
          [("4242", "", "ended normally"), wanted[1]])
    endless = at.changed("endless.db", "UPDATE [rocpd_info_process{s}] SET extdata = '{{\"kymo\":{{\"rank\":2}}}}'")
    check("without an end", processes(endless), [("4242", "2", "its end is missing"), wanted[1]])
    check("ranks beyond 32 bits", [p[1] for p in processes(at.changed(
        "far.db", "UPDATE [rocpd_info_process{s}] SET extdata = '{{\"kymo\":{{\"rank\":99999999999}}}}'"))], ["", "1"])


def test_index(at):
    """What index.yaml names and is not there is told and counted; what it names elsewhere is read."""
    export(at.trace, at("i.rpdb"), "rocpd:folder")
    whole = shown(at("i.rpdb"))
    check("nothing is told", (whole[0], "index.yaml" in whole[2]), (0, False))
    first, second = sorted(glob.glob(at("i.rpdb/*.db")))
    os.mkdir(at("elsewhere"))
    os.rename(second, at("elsewhere/second.db"))
    status, lines, err = shown(at("i.rpdb"))
    check("without one: status and number of lines", (status, len(lines)), (0, len(shown(first)[1])))
    check("that is told", re.findall(r"names (\d+) database that cannot be found \((.*)\): what it recorded is lost", err),
          [("1", os.path.basename(second))])
    check("and counted", "Missing in the trace: " + os.path.basename(second) in must(KYMO, "summary", at("i.rpdb")), True)
    check("in info", [p[2] for p in processes(at("i.rpdb"))], ["its file is missing: what it recorded is lost",
                                                                "exited with status 0"])
    with open(at("i.rpdb/index.yaml"), encoding="utf-8") as f:
        index = f.read()
    for name in ("../elsewhere/second.db", at("elsewhere/second.db")):
        for quote in '"', "'", "":
            with open(at("i.rpdb/index.yaml"), "w", encoding="utf-8") as f:
                f.write(re.sub('"[^"]*5151[^"]*"', quote + name + quote, index))
            status, lines, err = shown(at("i.rpdb"))
            check(f"elsewhere, {quote}{name}", (status, lines, "cannot be found" in err), (0, whole[1], False))
    with open(at("i.rpdb/index.yaml"), "a", encoding="utf-8") as f:
        f.writelines(f"      - gone{i % 1000}.db\n" for i in range(100000))
    check("many missing", re.findall(r"names (\d+) databases that cannot be found \(gone0.db, ...\): what they", shown(at("i.rpdb"))[2]),
          ["1000"])
    os.remove(first)
    with open(at("i.rpdb/index.yaml"), "w", encoding="utf-8") as f:
        f.write(index)
    refused("all of them missing", at("i.rpdb"), "names 2 databases that cannot be found")
    os.remove(at("i.rpdb/index.yaml"))
    os.mkfifo(at("i.rpdb/index.yaml"))
    refused("a pipe, which is not waited for", at("i.rpdb"), "or its index.yaml read")


def test_many_files(at):
    """More than SQLite joins: 30 processes in as many files."""
    os.mkdir(at("many.rpdb"))
    export(at.trace, at("f.rpdb"), "rocpd:folder")
    source = glob.glob(at("f.rpdb/*4242*.db"))[0]
    lines = shown(source)[1]
    old = os.path.basename(source).split("_")[-1][:-3].replace("-", "_")
    with open(source, "rb") as f:
        data = f.read()
    for i in range(30):
        new = old[:-4] + f"{i:04x}"
        with open(at(f"many.rpdb/{i}.db"), "wb") as f:
            f.write(data.replace(old.encode(), new.encode()).replace(old.replace("_", "-").encode(),
                                                                     new.replace("_", "-").encode()))
    status, many, _ = shown(at("many.rpdb"))
    check("30 files", (status, len(many)), (0, 30 * len(lines)))


def test_refused(at):
    refused("version 4", at.changed("4.db", "UPDATE [rocpd_metadata{s}] SET value = '4.0.0' WHERE tag = 'schema_version'"),
            'schema version "4.0.0"')
    refused("tables of version 4", at.changed("4b.db", "CREATE TABLE [rocpd_info_category{s}](id INTEGER PRIMARY KEY)"),
            "schema version 4")
    refused("a missing table", at.changed("m.db", "PRAGMA foreign_keys = OFF", "DROP TABLE [rocpd_event{s}]"),
            "without its table rocpd_event")
    with open(at("empty.db"), "wb"):
        pass
    refused("an empty file", at("empty.db"), "not a trace")
    db = sqlite3.connect(at("other.db"))
    db.execute("CREATE TABLE rocpd_unknown(x)")
    db.commit()
    db.close()
    refused("another database", at("other.db"), "not of ROCpd")
    shutil.copy(at.db, at("w.db"))
    with open(at("w.db-wal"), "wb") as f:
        f.write(b"x")
    refused("a log beside it", at("w.db"), "-wal")
    os.mkdir(at("none.rpdb"))
    refused("an empty folder", at("none.rpdb"), "without a database")
    export(at.trace, at("16.db"))
    with open(at("16.db"), "r+b") as f:
        f.seek(56)
        f.write((2).to_bytes(4, "big"))
    refused("UTF-16", at("16.db"), "UTF-8")
    db = sqlite3.connect(at("wide.db"))
    db.execute("PRAGMA encoding = 'UTF-16'")
    db.execute("CREATE TABLE rocpd_region_x(id INTEGER PRIMARY KEY)")
    db.commit()
    db.close()
    refused("written in UTF-16", at("wide.db"), "UTF-8")


def test_hostile(at):
    path = databases.bears_hostile_objects(
        IT, at, "h.db", "[rocpd_region{s}]", "[rocpd_event{s}]", "regions_of_none",
        "CREATE VIEW rocpd_region_evil AS SELECT load_extension('x') AS id, 1 AS start",
        "DROP VIEW regions", "CREATE VIEW regions AS SELECT * FROM regions_of_none", "CREATE TABLE rocpdish(x)")
    wanted = shown(at.db)[1]
    db = sqlite3.connect(path)
    try:
        db.execute("CREATE VIRTUAL TABLE rocpd_region_v USING fts5(a)")
    except sqlite3.OperationalError:
        pass # this SQLite has none
    db.commit()
    db.close()
    check("virtual tables", shown(path)[:2], (0, wanted))


def test_wrong_values(at):
    lines = len(shown(at.db)[1])
    status, got, err = shown(at.changed("t.db", "UPDATE [rocpd_region{s}] SET start = 'soon' WHERE id = 1"))
    check("a text as time", (status, len(got)), (0, lines))
    check("is told", "1 value of another type" in err, True)
    status, got, err = shown(at.changed("e.db", "PRAGMA foreign_keys = OFF; DELETE FROM [rocpd_event{s}] WHERE id = 2"))
    check("a row without event", (status, len(got)), (0, lines - 1))
    check("is told", "rows without their event (1)" in err, True)
    status, got, err = shown(at.changed("b.db", "UPDATE [rocpd_region{s}] SET [end] = start - 5 WHERE id = 2"))
    check("an end before its start", (status, len(got)), (0, lines))
    check("is told", "ends before their starts (1)" in err, True)
    status, got, _ = shown(at.changed("c.db", "UPDATE [rocpd_event{s}] SET parent_stack_id = (SELECT max(stack_id) FROM "
                                      "[rocpd_event{s}]) + 1 - stack_id", "UPDATE [rocpd_event{s}] SET stack_id = 7 WHERE id < 6"))
    check("parents in a circle, ids twice", (status, len(got)), (0, lines))
    huge = at.changed("n.db", "UPDATE [rocpd_region{s}] SET start = -9223372036854775808, [end] = 9223372036854775807 WHERE id = 1",
                      "UPDATE [rocpd_region{s}] SET tid = 9223372036854775807, name_id = -1 WHERE id = 2",
                      "UPDATE [rocpd_info_process{s}] SET pid = -1", "UPDATE [rocpd_kernel_dispatch{s}] SET kernel_id = 99, agent_id = 1e300")
    for command in ("show", "info"):
        run = Run([KYMO, command, huge])
        check(f"numbers out of range: {command}", run.status in (0, 2, 3, 4), True)
    check("and written", export(huge, at("n2.db")).status in (0, 3, 4), True)


class Leaf:
    """The first page of rows of a table, to be damaged: rows have numbers below 128."""

    def __init__(self, path, table):
        db = sqlite3.connect(path)
        self.size = db.execute("PRAGMA page_size").fetchall()[0][0]
        page = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchall()[0][0]
        db.close()
        self.path = path
        with open(path, "rb") as f:
            self.data = bytearray(f.read())
        while self.data[self.at(page)] == 5:  # it has pages below: their first
            cell = int.from_bytes(self.data[self.at(page) + 12:self.at(page) + 14], "big")
            page = int.from_bytes(self.data[self.at(page) + cell:self.at(page) + cell + 4], "big")
        self.head = self.at(page)

    def at(self, page):
        return (page - 1) * self.size

    def number(self, cell):
        """Where the number of the row is."""
        place = self.head + 8 + 2 * cell
        place = self.head + int.from_bytes(self.data[place:place + 2], "big")
        while self.data[place] & 0x80:
            place += 1
        return place + 1

    def write(self):
        with open(self.path, "wb") as f:
            f.write(self.data)


def test_told_in_two_ways(at):
    """A row number that is there twice: which row it is depends on the way to it, and so may the operation be."""
    path = at.changed("twice.db", """
        INSERT INTO rocpd_string{s}(guid, string) SELECT guid, 'HIP_ONLY_API' FROM rocpd_string{s} LIMIT 1;
        UPDATE rocpd_event{s} SET category_id = (SELECT max(id) FROM rocpd_string{s}) WHERE id = 2;
        INSERT INTO rocpd_event{s}(guid, category_id) SELECT a.guid, a.category_id FROM rocpd_event{s} a, rocpd_event{s}, rocpd_event{s}
            LIMIT 3000; -- so that there are pages
        UPDATE rocpd_region{s} SET event_id = (SELECT max(id) FROM rocpd_event{s}) WHERE id = 1;
        UPDATE rocpd_region{s} SET event_id = 3, start = 2, name_id = (SELECT max(id) FROM rocpd_string{s}) WHERE id = 2;
        UPDATE rocpd_region{s} SET event_id = 4, start = 1 WHERE id = 4;""")
    leaf = Leaf(path, "rocpd_event" + at.suffix)
    leaf.data[leaf.number(1)] = leaf.data[leaf.number(2)]
    leaf.write()
    run = Run([KYMO, "show", path])
    check("shown", (run.status, "operations that pages tell in two ways (1)" in run.err), (0, True))
    for to in ("text", "json", "perfetto"):
        check(f"two ways to {to}", export(path, at(f"twice.{to}"), to).status, 0)


# The trace that the database was made of says that it lost records.
ALL_THERE = "UPDATE [rocpd_info_process{s}] SET extdata = '{{}}'"


def definitions_lost(path):
    """What is said of it: on the way, by summary of it and of a store of it, by info; processes as the latter has them."""
    summary, info = Run([KYMO, "summary", path]), Run([KYMO, "info", path])
    check("store", export(path, path + ".store", "store").status, 0)
    lost = [re.findall(r"(Lost: .*|Lost nothing.*)", text) for text in (summary.out, Run([KYMO, "summary", path + ".store"]).out)]
    places = re.search(r"damaged places +(\d+)", info.out)
    return summary.err, lost, places and int(places.group(1))


def test_damaged_definitions(at):
    """A page of definitions that cannot be read is told as one of records is, on the way and by what is made of it."""
    said, lost, places = definitions_lost(at.changed("whole.db", ALL_THERE))
    check("nothing is said to be lost, nor nothing", ("damaged" in said, lost, places), (False, [[], []], 0))
    for table in ("string", "info_process", "info_thread", "info_agent", "info_queue", "info_kernel_symbol", "region", "kernel_dispatch"):
        for damage, bytes_of in (("zeros", lambda leaf: bytes(leaf.size)), ("ones", lambda leaf: b"\xff" * leaf.size),
                                 ("no rows", lambda leaf: None)):
            path = at.changed("page.db", ALL_THERE)
            leaf = Leaf(path, f"rocpd_{table}{at.suffix}")
            if bytes_of(leaf):
                leaf.data[leaf.head:leaf.head + leaf.size] = bytes_of(leaf)
            else:
                leaf.data[leaf.head + 3:leaf.head + 5] = bytes(2)
            leaf.write()
            said, lost, places = definitions_lost(path)
            check(f"{table}, {damage}: warning", "damaged: 1 page or row could not be read" in said, True)
            check(f"{table}, {damage}: of it, of a store of it", [["1 damaged block" in line for line in lines] for lines in lost],
                  [[True], [True]])
            check(f"{table}, {damage}: info", places, 1)
            os.unlink(path + ".store")


def test_rows_left_out(at):
    path = at.changed("events.db", ALL_THERE, "PRAGMA foreign_keys = OFF; DELETE FROM [rocpd_event{s}] WHERE id IN (2, 3)")
    _, lost, _ = definitions_lost(path)
    check("rows without their event", [[line[:16] for line in lines] for lines in lost], [["Lost: 2 records."]] * 2)
    check("no advice of a recording", [["buffer" in line for line in lines] for lines in lost], [[False]] * 2)
    check("what nobody knows is not told", re.findall("Clock error|Overhead", Run([KYMO, "summary", path]).out), [])
    check("the digest", "a part could not be taken, see below" in Run([KYMO, "summary", path]).out, True)
    trace = at("events.kymo")
    must(KYMO, "import", "-o", trace, path)
    check("imported", "Lost: 2 records" in Run([KYMO, "summary", trace]).out, True)
    check("and written again", kymotest.query(KYMO, trace, "SELECT sum(lost_records) AS n FROM process"), [{"n": 2}])


def test_no_process(at):
    """Records without a row of their process are of one that is not known; a database without any has none."""
    path = at.changed("none.db", ALL_THERE, "PRAGMA foreign_keys = OFF; DELETE FROM [rocpd_info_process{s}]")
    trace = at("none.kymo")
    run = Run([KYMO, "import", "-o", trace, path])
    check("imported", (run.status, "no row of a process can be read" in run.err), (0, True))
    check("all records", shown(trace)[1] != [] and len(shown(trace)[1]), len(shown(path)[1]))
    check("is told", [["1 definition" in line for line in lines] for lines in definitions_lost(path)[1]], [[True], [True]])


def test_cut(at):
    databases.told_when_cut(IT, at, "cut.db", 40)


databases.run_tests(globals(), Place, sys.argv[3:])
sys.exit(bool(kymotest.wrong))
