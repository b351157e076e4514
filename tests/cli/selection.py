#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One selection, the same numbers everywhere: what summary, show, export and query select is what SQL finds in the
store of the whole trace. Two devices of one name, two threads, two processes; with MPI, two ranks.

    selection.py KYMO SELECT_PROGRAM [MPI DRUM]"""
import csv
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, expect, must, run  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])
LAUNCHER = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.hydra"}
STEPS = 8
# Executions numbered in each thread, and everything below them.
STEP = "SELECT *, row_number() OVER (PARTITION BY process, tid ORDER BY start) AS number FROM scopes WHERE name = 'step'"
BELOW = ("WITH RECURSIVE picked AS ({top}), below(process, scope) AS (SELECT process, scope FROM picked UNION "
         "SELECT s.process, s.scope FROM scopes s JOIN below b ON s.process = b.process AND s.parent = b.scope) ")
TABLES = {"regions": "r", "kernels": "k", "memory_copies": "m", "memory_allocations": "a", "syncs": "s", "markers": "g"}


def sql(trace, text):
    return [tuple(r.values()) for r in kymotest.query(KYMO, trace, text)]


def everything(condition):
    """By table, of a condition on one row `x` that has pid, tid, start, end, duration."""
    return {t: condition.replace("x.", a + ".") for t, a in TABLES.items()}


def of_calls(calls, marker=None):
    """`calls`: on `r`, a row of regions. What belongs to a call follows it."""
    follow = "{0}.call_id IN (SELECT r.id FROM regions r WHERE " + calls + ")"
    return {"regions": calls, "kernels": follow.format("k"), "memory_copies": follow.format("m"),
            "memory_allocations": follow.format("a"), "syncs": follow.format("s"), "markers": marker or "0"}


def of_scopes(top):
    calls = "(SELECT p.id FROM process p WHERE p.pid = r.pid) || '/' || r.scope IN (SELECT process || '/' || scope FROM below)"
    return BELOW.format(top=top), of_calls(calls, "g.process || '/' || g.scope IN (SELECT process || '/' || scope FROM below)")


def devices(number):
    label = f"LIKE '% #{number}'"
    return {"regions": "0", "kernels": f"k.agent_name {label}",
            "memory_copies": f"(SELECT a.label FROM queue q JOIN agent a ON a.id = q.agent WHERE q.id = m.queue_id) {label}",
            "memory_allocations": f"a.agent_name {label}", "syncs": f"s.agent_name {label}", "markers": "0"}


def named(table, condition):
    return {t: condition if t == table else "0" for t in TABLES}


def truth(trace, prefix, where):
    """(table, name) to (rows, ns) of the whole trace's store."""
    names = {"regions": "r.name", "kernels": "k.name", "memory_copies": "m.operation", "syncs": "s.name",
             "markers": "g.kind || ':' || g.name", "memory_allocations": "a.type"}
    found = {}
    for table, alias in TABLES.items():
        category = "AND r.category NOT IN ('code_object')" if table == "regions" else ""
        rows = sql(trace, f"{prefix} SELECT {names[table]}, count(*), sum({alias}.duration) FROM {table} {alias} "
                          f"WHERE ({where[table]}) {category} GROUP BY 1")
        found.update({(table, name): (n, ns) for name, n, ns in rows})
    return found


def add(into, key, n, ns):
    had = into.get(key, (0, 0))
    into[key] = (had[0] + n, had[1] + ns)


def summed(trace, options):
    """The same of a summary."""
    tables = {t["name"]: t["rows"] for t in json.loads(must(KYMO, "summary", "-f", "json", *options, trace))["tables"]}
    found = {}
    for table in ("opencl", "mpi"):
        for row in tables.get(table, ()):
            add(found, ("regions", row["op"]), row["calls"], row["time_ns"])
    for row in tables.get("kernels", ()):
        add(found, ("kernels", row["op"]), row["calls"], row["time_ns"])
    for table in ("copies", "fills", "maps"):
        for row in tables.get(table, ()):
            add(found, ("memory_copies", row["op"].split(" (")[0]), row["calls"], row["time_ns"])
    for row in tables.get("waiting", ()):
        add(found, ("syncs", row["op"]), row["calls"], row["time_ns"])
    for row in tables.get("ranges", ()):
        add(found, ("markers", "range:" + row["op"]), row["calls"], row["time_ns"])
    for row in tables.get("marks", ()):
        add(found, ("markers", "mark:" + row["op"]), row["calls"], 0)
    for row in tables.get("allocations", ()):
        if row["allocations"]:
            add(found, ("memory_allocations", "ALLOC"), row["allocations"], 0)
        if row["frees"]:
            add(found, ("memory_allocations", "FREE"), row["frees"], 0)
    return found


def rows_of(folder, options, trace):
    """Records in the exports to csv, by kind."""
    must(KYMO, "export", "-f", "--to", "csv", "-o", folder, *options, trace)
    found = {}
    for name, table in (("calls", "regions"), ("dispatches", "kernels"), ("copies", "memory_copies")):
        path = os.path.join(folder, name + ".csv")
        with open(path, encoding="utf-8", newline="") as f:
            found[table] = sum(1 for _ in csv.DictReader(f))
    return found


def compare(trace, folder, options, prefix, where, least=1):
    what = " ".join(options)
    wanted = truth(trace, prefix, where)
    check(f"{what}: something is selected", sum(n for n, _ in wanted.values()) >= least, True)
    # A summary has no times of what has none.
    check(f"{what}: summary", {k: v for k, v in summed(trace, options).items() if v[0]}, wanted)
    counts = {t: sum(n for (table, _), (n, _) in wanted.items() if table == t) for t in TABLES}
    for table, n in counts.items():
        got = json.loads(must(KYMO, "query", "-f", "json", *options, trace, f"SELECT count(*) AS n FROM {table}"))
        check(f"{what}: query, {table}", got[0]["n"], n)
    got = rows_of(os.path.join(folder, "csv"), options, trace)
    check(f"{what}: csv", got, {t: counts[t] for t in got})
    lines = must(KYMO, "show", *options, trace).splitlines()
    recorded = must(KYMO, "show", "--order", "recorded", *options, trace).splitlines()
    check(f"{what}: show in either order", sorted(lines), sorted(recorded))
    got = {"regions": sum(" opencl:" in l or " mpi:" in l for l in lines), "kernels": sum(" dispatch:" in l for l in lines),
           "memory_copies": sum(" copy:" in l for l in lines), "markers": sum(" marker:" in l for l in lines)}
    check(f"{what}: show", got, {t: counts[t] for t in got})


def window(after=None, before=None):
    parts = ["x.end >= %d" % after] if after is not None else []
    parts += ["x.start < %d" % before] if before is not None else []
    return everything(" AND ".join(parts))


def opencl_selections(trace):
    """options, SQL to begin with, conditions by table"""
    words = os.path.join(os.path.dirname(trace), "words")
    for name, text in (("", "# those of a step\n\n  scale  \nshift#2\nnothing.*\n"), ("2", ":clFinish$\r\n:clReleaseMem\n")):
        with open(words + name, "w", encoding="utf-8") as f:
            f.write(text)
    duration = int(sql(trace, "SELECT value FROM metadata WHERE tag = 'duration'")[0][0])
    pids = [p for p, in sql(trace, "SELECT DISTINCT pid FROM regions ORDER BY 1")]
    tids = [t for t, in sql(trace, "SELECT DISTINCT tid FROM markers WHERE name = 'step' ORDER BY 1")]
    middle = sql(trace, "SELECT start FROM kernels ORDER BY start LIMIT 1 OFFSET 20")[0][0]
    ready = sql(trace, "SELECT min(start) FROM markers WHERE name = 'ready'")[0][0]
    ended = sql(trace, f"SELECT max(end) FROM ({STEP}) WHERE number = 3")[0][0]
    begun = sql(trace, f"SELECT min(start) FROM ({STEP}) WHERE number = 2")[0][0]
    address, number, owner = sql(trace, "SELECT address, allocation, pid FROM memory_allocations ORDER BY start LIMIT 1")[0]
    yield ["-p", str(pids[0])], "", everything(f"x.pid = {pids[0]}")
    yield ["-t", str(tids[1])], "", of_calls(f"r.tid = {tids[1]}", f"g.tid = {tids[1]}")
    yield ["--device", "0"], "", devices(0)
    yield ["--device", "#1$", "-d", "dispatch,copy"], "", {**devices(1), "memory_allocations": "0", "syncs": "0"}
    yield ["-k", "^sca"], "", named("kernels", "k.name = 'scale'")
    yield ["--exclude-kernel", "^sca"], "", {**everything("1"), "kernels": "k.name <> 'scale'"}
    nth = ("(SELECT count(*) FROM kernels o JOIN regions q ON q.id = o.call_id WHERE o.pid = k.pid AND o.name = k.name AND "
              "q.start <= (SELECT r.start FROM regions r WHERE r.id = k.call_id))")
    yield ["-k", "s#2-4,7"], "", named("kernels", f"{nth} IN (2, 3, 4, 7)")
    yield ["-k", "scale#1,3", "-p", str(pids[0])], "", named("kernels", f"k.name = 'scale' AND k.pid = {pids[0]} AND {nth} IN (1, 3)")
    yield (["--exclude-kernel", "shift#1-5", "-d", "dispatch"], "",
           named("kernels", f"k.name <> 'shift' OR {nth} > 5"))
    yield ["-k", "@" + words], "", named("kernels", f"k.name = 'scale' OR (k.name = 'shift' AND {nth} = 2)")
    yield ["-i", "@" + words + "2"], "", named("regions", "r.name IN ('clFinish', 'clReleaseMemObject')")
    yield ["-i", "Enqueue.*Buffer"], "", named("regions", "r.name LIKE 'clEnqueue%Buffer'")
    yield ["--after", f"{middle}ns"], "", window(after=middle)
    yield ["--after", "@ready", "--before", f"{middle}ns"], "", window(ready, middle)
    yield ["--before", "@step#3:end", "--after", "@step#2"], "", window(begun, ended)
    # Something crosses each of the two.
    first, last = (sql(trace, f"SELECT start + duration / 2 FROM kernels WHERE duration > 1 ORDER BY start LIMIT 1 OFFSET {n}")[0][0]
                   for n in (5, 20))
    check("a kernel crosses", sql(trace, f"SELECT count(*) FROM kernels WHERE start < {first} AND end > {first}")[0][0] > 0, True)
    for options, condition in (([f"--after={first}ns", f"--before={last}ns"], f"x.start >= {first} AND x.end <= {last} AND x.start < {last}"),
                               ([f"--after={first}ns"], f"x.start >= {first}"),
                               ([f"--before={last}ns"], f"x.end <= {last} AND x.start < {last}")):
        yield ["--inside", *options], "", everything(condition)
    share = int(duration * 0.8)
    yield ["--after", "80%"], "", window(after=share)
    yield ["--min-duration", "100us"], "", everything("x.duration >= 100000")
    yield (["--range", "step#2-4,7"], *of_scopes(f"SELECT * FROM ({STEP}) WHERE number IN (2, 3, 4, 7)"))
    yield (["--range", "work/step/inner"], *of_scopes("SELECT * FROM scopes WHERE name = 'inner'"))
    yield (["--range", "^(inner|nothing)$"], *of_scopes("SELECT * FROM scopes WHERE name = 'inner'"))
    yield (["--range", "inner#1", "-k", "shift", "-p", str(pids[1])],
           BELOW.format(top="SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY process, tid ORDER BY start) AS n "
                            "FROM scopes WHERE name = 'inner') WHERE n = 1"),
           named("kernels", f"k.pid = {pids[1]} AND {of_scopes('')[1]['kernels']}"))
    yield (["--during", "step#5"], f"WITH step AS (SELECT * FROM ({STEP}) WHERE number = 5)",
           everything("EXISTS (SELECT 1 FROM step WHERE step.pid = x.pid AND step.start <= x.end AND step.end >= x.start)"))
    yield ["--site", "move_data"], "", of_calls("r.function = 'move_data'")
    line, = sql(trace, "SELECT min(line) FROM regions WHERE function = 'move_data'")[0]
    yield ["--site", f"select_program.c:{line}"], "", of_calls(f"r.function = 'move_data' AND r.line = {line}")
    # What is done with a buffer: its allocation, calls that name it, what these submit. Handles are used again.
    uses = (f"r.pid = {owner} AND ('{address:#x}' IN (kymo_arg(r.id, 'buffer'), kymo_arg(r.id, 'memobj')) OR r.id IN "
            f"(SELECT call_id FROM memory_allocations WHERE pid = {owner} AND allocation = {number}))")
    yield (["--memory", f"#{number}", "-p", str(owner), "-x", "SetKernelArg|CreateBuffer"], "",
           {**of_calls(f"({uses}) AND r.name <> 'clCreateBuffer'"), "memory_allocations": f"a.pid = {owner} AND a.allocation = {number}"})


def refusals(trace):
    for options, said in ((["--range", "stop"], "its ranges are: .*step"), (["--range", "step#99"], "has 8, numbered from 1"),
                          (["--range", "step#0"], "the first one is 1"), (["--range", "step#4-2"], "NAME#100-110"),
                          (["-k", "scole"], "its kernels are: \"scale\""), (["--device", "7"], "its devices"),
                          (["--rank", "0"], "known to be a rank"), (["--rank", "x"], "expected numbers"),
                          (["--after", "soon"], "is no time"), (["--after", "@nowhere"], "ranges and marks are"),
                          (["--after", "5s", "--before", "4s"], "not later"), (["--after", "99%", "--before", "1%"], "not later"),
                          (["--after", "@done", "--before", "@ready"], "not later"), (["--after", "1h"], "nothing is --after"),
                          (["--inside"], "goes with --after"),
                          (["--before", "2001-01-01T00:00:00"], "nothing is --before"), (["-p", "0"], "its processes are"),
                          (["-t", "0"], "its threads are"), (["--site", "nobody"], "functions that call something"),
                          (["--memory", "buffer"], "expected an address"), (["--memory", "#999999"], "memory_allocations"),
                          (["-k", "((a{1,200}){1,200}){1,200}"], "repeats too much"), (["-i", "(a*)*\\1"], "refers back"),
                          (["-k", "scale#99"], "no process has executed .* but 16 times"), (["-k", "scale#0"], "the first one is 1"),
                          (["-k", "@nowhere"], "the file \"nowhere\" cannot be read: No such"),
                          (["--exclude-kernel", "("], "not a regular expression"),
                          (["-k", "("], "not a regular expression"), (["--queue", "9"], "its queues are"), (["-i", "clNo"], "operations"),
                          (["-d", "opencl,nope"], "no domain \"nope\"; its domains are.*opencl"),
                          (["--after", "10:00:1e300"], "is no time"), (["--before", "10:00:61"], "is no time"),
                          (["--after", "2026-13-01T00:00:00"], "is no time"), (["--after", "2026-00-01T00:00:00"], "is no time"),
                          (["--after", "2026-02-29T00:00:00"], "is no time"), (["--after", "2026-04-31T00:00:00Z"], "is no time"),
                          (["--after", "2026-04-00T00:00:00"], "is no time"),
                          (["--before", "2024-02-29T00:00:00"], "nothing is --before")):
        for command in (["summary"], ["show"], ["export", "-o", "never"], ["query"]):
            done = kymotest.run(KYMO, *command, *options, trace, *(["SELECT 1"] if command == ["query"] else []), cwd=os.path.dirname(trace))
            check(f"{command[0]} {options}: status, output", (done.returncode, done.stdout), (2, ""))
            check(f"{command[0]} {options}: says {said}", bool(re.search(said, done.stderr)), True)
    check("nothing was written", os.path.exists(os.path.join(os.path.dirname(trace), "never")), False)


def several(first, second):
    """What is in one of several traces is no mistake; what is in none is."""
    pid = sql(first, "SELECT pid FROM regions LIMIT 1")[0][0]
    calls = sum(n for (t, _), (n, _) in truth(first, "", everything(f"x.pid = {pid}")).items() if t == "regions")
    done = kymotest.run(KYMO, "summary", "-f", "json", "-p", pid, first, second)
    rows = [t["rows"] for t in json.loads(done.stdout)["tables"] if t["name"] == "opencl"]
    check("in one of two", (done.returncode, sum(r["calls"] for r in rows[0])), (0, calls))
    for domains, status in (("opencl,nope", 2), ("opencl,dispatch", 0)):
        done = kymotest.run(KYMO, "summary", "-d", domains, first, second)
        check(f"domains {domains} of two", (done.returncode, "all traces: no records that match --domain" in done.stderr),
              (status, status == 2))
    for command in (["summary"], ["show"]):
        done = kymotest.run(KYMO, *command, "-k", "scole", first, second)
        check(f"{command}: in none of two", (done.returncode, "all traces: no records that match --kernel scole" in done.stderr), (2, True))


def source(folder, trace, run, command, env):
    """What is recorded of ranges alone is what is selected of them, on both ranks: calls, device work, messages."""
    part = os.path.join(folder, "part.kymo")
    for options in (["--range", "step#10-12"], ["--range", "step/exchange#5"], ["--range", "step#3", "--rank", "1"]):
        must(KYMO, *run, *options, "-o", part, "--", *command, env=env, cwd=folder)
        for table in (*TABLES, "messages"):
            text = f"SELECT count(*) AS n FROM {table}"
            got, wanted = (json.loads(must(KYMO, "query", "-f", "json", *more, t, text)) for more, t in (([], part), (options, trace)))
            check(f"{options} at the source: {table}", got, wanted)


def mpi(folder):
    launcher, program = LAUNCHER[sys.argv[3]], os.path.abspath(sys.argv[4])
    trace = os.path.join(folder, "ranks.kymo")
    env = kymotest.environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    more = ["--oversubscribe"] if "openmpi" in launcher else []
    done = kymotest.run(KYMO, "run", "--no-summary", "-b", "opencl,mpi", "-o", trace, "--", launcher, "-n", "2", *more, program, env=env, cwd=folder)
    if done.returncode:
        kymotest.skip(f"no two ranks here: {done.stderr[-300:]}")
    for rank in (0, 1):
        pid = sql(trace, f"SELECT pid FROM process WHERE rank = {rank}")[0][0]
        compare(trace, folder, ["--rank", str(rank)], "", everything(f"x.pid = {pid}"))
    pid = sql(trace, "SELECT pid FROM process WHERE rank = 1")[0][0]
    compare(trace, folder, ["--rank", "1-5", "-d", "mpi"], "", named("regions", f"r.pid = {pid} AND r.category = 'mpi'"))
    wanted = sql(trace, f"SELECT count(*), sum(sent) FROM messages WHERE pid = {pid}")[0]
    got = json.loads(must(KYMO, "query", "-f", "json", "--rank", "1", trace, "SELECT count(*) AS n, sum(sent) AS s FROM messages"))
    check("messages of a rank", tuple(got[0].values()), wanted)
    source(folder, trace, ["run", "--no-summary", "-f", "-b", "opencl,mpi"], [launcher, "-n", "2", *more, program], env)
    done = kymotest.run(KYMO, "run", "-f", "-o", trace + "7", "--rank", "7", "--", launcher, "-n", "2", *more, program, env=env, cwd=folder)
    check("a rank that is not there", bool(re.search("No rank was recorded|no process had one of the ranks", done.stderr)), True)
    done = kymotest.run(KYMO, "summary", "--rank", "2", trace)
    check("no such rank", (done.returncode, bool(re.search("its ranks are: \"0\", \"1\"", done.stderr))), (2, True))


def record(folder, name, *command):
    trace = os.path.join(folder, name)
    env = kymotest.environment(POCL_DEVICES="pthread pthread")
    done = kymotest.run(KYMO, "run", "--no-summary", "--mode", "full", "-o", trace, "--", *command, env=env)
    if done.returncode == 77:
        kymotest.skip("no OpenCL platform here")
    kymotest.expect(done.returncode == 0, done.stderr)
    return trace


def told(trace):
    """The head says all that was asked for, as options that give the same again."""
    options = ("--domain", "opencl,dispatch", "--exclude", "clF", "--exclude-kernel", "no such", "--include", "cl|kernel", "--kernel", ".", "--device", "0",
               "--range", "step#1", "--after", "0", "--before", "1h", "--min-duration", "5us", "--inside")
    done = run(KYMO, "summary", *options, trace)
    expect(done.returncode == 0, done.stderr)
    check("head of a selection", [line for line in done.stdout.splitlines() if "selected" in line],
          ["Only what is selected: --domain opencl,dispatch --exclude clF --exclude-kernel 'no such' --include 'cl|kernel' --kernel . --device 0 "
           "--range 'step#1' --after 0 --before 1h --min-duration 5000ns --inside"])


def main():
    with kymotest.Folder() as folder:
        if len(sys.argv) > 3:
            mpi(folder)
            return
        trace = record(folder, "two.kymo", "sh", "-c", f"{PROGRAM} {STEPS} & {PROGRAM} {STEPS}; wait")
        labels = [l for l, in sql(trace, "SELECT DISTINCT label FROM agent ORDER BY 1")]
        check("two devices of one name", [l[-3:] for l in labels], [" #0", " #1"])
        for options, prefix, where in opencl_selections(trace):
            compare(trace, folder, list(options), prefix, where)
        refusals(trace)
        told(trace)
        several(trace, record(folder, "one.kymo", PROGRAM, STEPS))


main()
sys.exit(1 if kymotest.wrong else 0)
