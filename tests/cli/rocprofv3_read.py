#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rocprofv3's CSV files and JSON read: what Kymo makes of outputs of several versions, against a count of their rows; traces that
go out and come back; damaged and hostile files.

    rocprofv3_read.py KYMO KYMO_SYNTH PROBE_DEVICE"""
import gzip
import json
import os
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import Run, check, expect, must  # noqa: E402
import rocprofv3_made as made  # noqa: E402

KYMO, SYNTH, PROBE = (os.path.abspath(p) for p in sys.argv[1:4])

# Times count from the first one: what is read is moved.
ROWS = {
    "calls": "SELECT p.pid, h.tid, o.name, m.name AS domain, c.id & 0xffffffffff AS id, c.start - {0} AS s, c.duration, c.status FROM call c "
             "JOIN thread h ON h.id = c.thread JOIN process p ON p.id = h.process JOIN op o ON o.id = c.op JOIN domain m ON m.id = o.domain",
    "kernels": "SELECT pid, name, agent_name, start - {0} AS s, duration, call_id & 0xffffffffff AS id, grid_x, grid_y, grid_z, workgroup_x, "
               "workgroup_y, registers, ifnull(static_shared, 0) + ifnull(dynamic_shared, 0) AS shared, local_memory FROM kernels "
               "WHERE start IS NOT NULL",
    "copies": "SELECT p.pid, c.start - {0} AS s, c.duration, c.call & 0xffffffffff AS id, c.bytes FROM copy c JOIN process p ON p.id = c.process "
              "JOIN op o ON o.id = c.op WHERE c.start IS NOT NULL AND o.name NOT IN ('fill', 'fault')",
    "memory": "SELECT p.pid, o.name, a.bytes, a.address, a.call & 0xffffffffff AS id, a.time - {0} AS s FROM allocation a "
              "JOIN thread h ON h.id = a.thread JOIN process p ON p.id = h.process JOIN op o ON o.id = a.op",
    "markers": "SELECT pid, name, kind, start - {0} AS s, duration FROM markers WHERE kind NOT IN ('pause', 'resume')",
    "counters": "SELECT pid, name, kernel_name, value, call_id & 0xffffffffff AS id FROM counters WHERE kernel_name IS NOT NULL",
}


def query(trace, sql):
    return [tuple(row.values()) for row in json.loads(must(KYMO, "query", "--format", "json", trace, f"SELECT * FROM ({sql})"))]


def imported(path, *words):
    """The trace of it, and what was told."""
    name = path.rstrip("/").replace("/", "_") + ".kymo"
    run = Run([KYMO, "import", path, "-o", name, *words])
    expect(run.status == 0, path, run.err)
    return name, run.err


def count(trace, *kinds):
    return {k: query(trace, f"SELECT count(*) FROM {k}")[0][0] for k in kinds}


def test_document():
    made.document("a_results.json", made.process(4242), made.process(4243, 2_000_000))
    trace, told = imported("a_results.json")
    check("counts", count(trace, "process", "dispatch", "copy", "allocation", "marker", "counter_value", "call"),
          {"process": 2, "dispatch": 8, "copy": 6, "allocation": 4, "marker": 6, "counter_value": 16, "call": 2 * (9 + 1 + 1 + 1)})
    expect("scratch memory (2)" in told and "samples of kernels' instructions (4)" in told, told)
    domains = dict(query(trace, "SELECT m.name, count(*) FROM call c JOIN op o ON o.id = c.op JOIN domain m ON m.id = o.domain GROUP BY 1"))
    check("domains", domains, {"hip": 18, "hsa": 2, "roctx": 2, "nccl": 2})
    kernels = query(trace, "SELECT name, registers, static_shared, local_memory, grid_x, grid_y, ifnull(grid_z, 1) AS z, workgroup_x, workgroup_y, "
                           "duration, call_id & 0xffffffffff AS id FROM kernels WHERE pid = 4242 ORDER BY start")
    wanted = [(made.KERNELS[1 + i % 2][1], made.KERNELS[1 + i % 2][2], 512 * (1 + i % 2), 16 * (1 + i % 2), 1024, 128,
               1 + i % 2, 64, 2, 50 + 10 * i, 10 + i) for i in range(4)]
    check("kernels", kernels, wanted)
    check("devices", query(trace, "SELECT count(DISTINCT agent), count(DISTINCT queue) FROM dispatch"), [(4, 4)])
    check("copies", query(trace, "SELECT o.name, c.bytes, c.source_agent > 0 AS a, c.destination_agent > 0 AS b FROM copy c JOIN op o ON o.id = c.op "
                                 "JOIN process p ON p.id = c.process WHERE p.pid = 4243 ORDER BY c.start"),
          [("write", 4096, 0, 1), ("read", 1024, 1, 0), ("copy", 64, 1, 1)])
    check("one lifetime", query(trace, "SELECT count(DISTINCT allocation) FROM allocation"), [(2,)])
    check("markers", query(trace, "SELECT name, kind, duration FROM markers WHERE pid = 4242 ORDER BY 1"),
          [("here", "mark", 0), ("over all", "process_range", 2910), ('step "1"', "range", 1160)])
    check("failed", query(trace, "SELECT o.name, c.status FROM call c JOIN op o ON o.id = c.op WHERE c.status <> 0"), [("hipMemcpy", 1)] * 2)
    check("values", query(trace, "SELECT name, sum(value) FROM counters GROUP BY 1 ORDER BY 1"),
          [("GRBM_COUNT", 12.0), ("SQ_WAVES", 210.0)])
    check("hosts", query(trace, "SELECT pid, hostname FROM process ORDER BY 1"), [(4242, "node0"), (4243, "node1")])
    expect("size=4096" in must(KYMO, "show", trace), "arguments")
    packed = gzip.compress(open("a_results.json", "rb").read())
    with open("b_results.json.gz", "wb") as f:
        f.write(packed)
    again, _ = imported("b_results.json.gz")
    check("packed", count(again, "dispatch", "call"), count(trace, "dispatch", "call"))


def test_counters_in_document():
    """Kernels that counters alone name are there, and once."""
    p = made.process(7)
    p["buffer_records"]["kernel_dispatch"] = []
    trace, _ = imported(made.document("c.json", p))
    check("of counters", count(trace, "dispatch", "counter_value"), {"dispatch": 4, "counter_value": 8})
    check("durations", query(trace, "SELECT sum(duration) FROM dispatch"), [(50 + 60 + 70 + 80,)])


def test_old_files():
    made.old("old/hosta", 100)
    made.old("old/hostb", 100)
    made.counters_alone("old/pass_1", 300)
    made.table("old/other.csv", "a b c", [1, 2, 3])
    trace, told = imported("old")
    check("counts", count(trace, "process", "dispatch", "copy", "marker", "counter_value", "call"),
          {"process": 3, "dispatch": 4, "copy": 2, "marker": 4, "counter_value": 6, "call": 8})
    expect("CSV files of another kind (1)" in told and "rows without a time (2)" in told, told)
    check("hosts", query(trace, "SELECT pid, hostname FROM process ORDER BY 2, 1"), [(300, ""), (100, "hosta"), (100, "hostb")])
    check("what agent_info tells of a device", query(trace, "SELECT DISTINCT properties FROM agent WHERE name = 'AMD Instinct MI250X'"),
          [('{"compute_units":110,"wave_front_size":64,"clock_mhz":1700,"simd_per_cu":4,"max_waves_per_simd":8,"num_xcc":1}',)])
    check("kernel", query(trace, "SELECT k.name, k.duration, grid_x, workgroup_x, static_shared, local_memory, a.name AS agent FROM kernels k "
                                 "JOIN dispatch d ON d.id = k.id JOIN agent a ON a.id = d.agent JOIN process p ON p.id = d.process "
                                 "WHERE p.hostname = 'hosta'"), [(made.LONG, 40, 256, 64, 128, 24, "AMD Instinct MI250X")])
    check("tied", query(trace, "SELECT count(*) FROM dispatch d JOIN call c ON c.id = d.call JOIN op o ON o.id = c.op "
                               "JOIN thread h ON h.id = c.thread WHERE h.process = d.process AND o.name = 'hipLaunchKernel'"), [(2,)])
    check("markers", query(trace, "SELECT DISTINCT name, kind FROM markers ORDER BY 1"),
          [("a mark", "mark"), ("a range", "range")])
    check("values", query(trace, "SELECT name, sum(value) FROM counters GROUP BY 1 ORDER BY 1"),
          [("GRBM_COUNT", 3e7), ("SQ_WAVES", 16.0)])
    one, _ = imported("old/hosta/100_kernel_trace.csv")
    check("one process", count(one, "process", "dispatch", "call"), {"process": 1, "dispatch": 1, "call": 4})


def rows(trace):
    first = query(trace, "SELECT min(x) FROM (SELECT min(start) AS x FROM call UNION ALL SELECT min(start) FROM dispatch UNION ALL "
                         "SELECT min(start) FROM marker)")[0][0]
    return {k: sorted(query(trace, sql.format(first)), key=str) for k, sql in ROWS.items()}


# What each variant has no place for, of the rows above.
def without(kind, variant, row):
    if variant == "csv" and kind == "copies":
        return row[:-1]  # bytes
    if variant == "csv" and kind == "calls":
        return row[:-1]  # status
    if variant == "csv" and kind == "markers":
        return row[:2] + row[3:]  # a range of a thread or of a process
    return row


def there_and_back(trace, variant):
    out = "back_results.json" if variant == "json" else "back"
    if os.path.isdir(out):
        kymotest.remove(out)
    must(KYMO, "export", "-f", "--to", variant, "--layout", "rocprofv3", "-o", out, trace)
    name = f"{variant}.kymo"
    must(KYMO, "import", out, "-o", name)
    wanted, got = rows(trace), rows(name)
    for kind in ROWS:
        a, b = (sorted((without(kind, variant, r) for r in x[kind]), key=str) for x in (wanted, got))
        check(f"{trace} {variant} {kind}", b, a)
    kymotest.remove(name)
    return {k: len(v) for k, v in wanted.items()}


def test_there_and_back():
    made.document("made_results.json", made.process(4242), made.process(4243, 2_000_000))
    trace, _ = imported("made_results.json")
    for variant in ("json", "csv"):
        n = there_and_back(trace, variant)
        expect(min(n.values()) > 0, n)
    built = os.path.dirname(PROBE)
    must(KYMO, "run", "--no-summary", "-o", "hip.kymo", PROBE, "hip", env=kymotest.environment(
        LD_LIBRARY_PATH=os.path.join(os.path.dirname(KYMO), "..", "lib"), PROBE_RUNTIME=os.path.join(built, "device", "libamdhip64.so.7")))
    for variant in ("json", "csv"):
        n = there_and_back("hip.kymo", variant)
        expect(n["calls"] > 0 and n["memory"] > 0, n)
    told = Run([KYMO, "export", "-f", "--to", "rocprofv3:json", "-o", "hip_results.json", "hip.kymo"]).err
    untimed = query("hip.kymo", "SELECT count(*) FROM dispatch WHERE start IS NULL")[0][0]
    expect(f"kernels without device times ({untimed})" in told and untimed > 0, told, untimed)


def refused(path, *words):
    kymotest.remove("x.kymo", missing_ok=True)
    run = Run([KYMO, "import", path, "-o", "x.kymo"])
    expect(run.status != 0 and run.status < 100 and any(w in run.err for w in words), path, run.status, run.err[:300])


def survives(path, lost=True):
    """It is read, or refused: told is what is missing."""
    kymotest.remove("x.kymo", missing_ok=True)
    run = Run([KYMO, "import", path, "-o", "x.kymo"])
    expect(0 <= run.status < 100 and (not lost or run.err.count("warning") or run.status), path, run.status, run.err[:300])


def test_damage():
    text = open(made.document("a.json", made.process(5)), encoding="utf-8").read()
    for n in range(30, len(text), len(text) // 20):
        with open("cut.json", "w", encoding="utf-8") as f:
            f.write(text[:n])
        survives("cut.json")
    with open("cut.json.gz", "wb") as f:
        f.write(gzip.compress(text.encode())[:-400])
    survives("cut.json.gz")
    half = text.index('"hip_api"')
    with open("half.json", "w", encoding="utf-8") as f:
        f.write(text[:half])
    trace, told = imported("half.json")
    expect("ends too early" in told and count(trace, "dispatch")["dispatch"] == 4, told)
    made.document("wrong.json", {**made.process(5), "buffer_records": {"kernel_dispatch": [1, "x", None, [], {}, {"start_timestamp": "no"}],
                                                                       "hip_api": {"a": 1}, "memory_copy": "none", "later_kind": [{}]}})
    survives("wrong.json")
    for text in ('{"rocprofiler-sdk-tool": ' + "[" * 200000, '{"rocprofiler-sdk-tool": [{"buffer_records": {"hip_api": [' + '{"a":' * 200000,
                 '{"rocprofiler-sdk-tool": []}', '{"rocprofiler-sdk-tool": 7}', '{"rocprofiler-sdk-tool"'):
        with open("odd.json", "w", encoding="utf-8") as f:
            f.write(text)
        refused("odd.json", "no event", "cannot", "not a trace", "No such", "unknown")


def limited():
    if not kymotest.SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))


def test_hostile_files():
    os.makedirs("h")
    head = '"Kind","Agent_Id","Queue_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
    good = '"KERNEL_DISPATCH","Agent 1",1,"k",1,1000,2000\n'
    with open("h/1_kernel_trace.csv", "w", encoding="utf-8") as f:
        f.write(head + good + '"KERNEL_DISPATCH","Agent 1"\n' + "x," * 1000000 + "\n" + '"' + "y" * 3000000 + '"\n' +
                '"K","Agent 99999999999999999999",-1,"k",1,99999999999999999999,2000\n' + '"K","A",1,"\xff",1,5000,100\n' + good.replace("1000,2000", "3000,4000"))
    trace, told = imported("h")
    check("rows", count(trace, "dispatch"), {"dispatch": 3})
    expect("rows that could not be read (3)" in told and "ends before their starts (1)" in told and "rows without a time (1)" in told, told)
    with open("h/1_kernel_trace.csv", "w", encoding="utf-8") as f:
        f.write(",".join(f"c{i}" for i in range(1000000)) + "\n")
    refused("h", "cannot", "not a trace", "no trace", "unknown")
    with open("h/1_kernel_trace.csv", "w", encoding="utf-8") as f:
        f.write(head)
    refused("h", "no event")


def test_large():
    """A value of 1 GiB is passed over, in memory that it does not fill."""
    with gzip.open("l.json.gz", "wb", compresslevel=1) as f:
        f.write(b'{"rocprofiler-sdk-tool": [{"metadata": {"pid": 3}, "junk": "')
        for _ in range(1024):
            f.write(b"z" * (1 << 20))
        f.write(b'", ' + json.dumps(made.process(3))[1:].encode() + b"]}")
    done = kymotest.run(KYMO, "import", "l.json.gz", "-o", "l.kymo", preexec_fn=limited)
    expect(done.returncode == 0, done.stderr)
    check("large", count("l.kymo", "dispatch"), {"dispatch": 4})


def test_many_names():
    p = made.process(9, counters=False)
    for i, r in enumerate(p["buffer_records"]["kernel_dispatch"][:1] * 50000):
        p["buffer_records"]["kernel_dispatch"].append({**r, "dispatch_info": {**r["dispatch_info"], "kernel_id": i + 3}})
        p["kernel_symbols"].append({"kernel_id": i + 3, "formatted_kernel_name": f"k{i}", "kernel_name": ""})
    p["kernel_symbols"].append({"kernel_id": 3, "formatted_kernel_name": "twice"})
    trace, told = imported(made.document("m.json", p))
    check("many", query(trace, "SELECT count(*), count(DISTINCT kernel) FROM dispatch"), [(50004, 50002)])
    expect("names of a number that has one (1)" in told, told)


def main():
    bad = 0
    for name, fn in list(globals().items()):
        if not name.startswith("test_"):
            continue
        with kymotest.Folder() as folder:
            os.chdir(folder)
            try:
                fn()
                bad += len(kymotest.wrong)
                print("FAIL" if kymotest.wrong else "ok  ", name, flush=True)
                kymotest.wrong.clear()
            except kymotest.Failure as e:
                bad += 1
                print("FAIL", name + ":", str(e)[:3000], flush=True)
            os.chdir("/")
    return 1 if bad else 0


sys.exit(main())
