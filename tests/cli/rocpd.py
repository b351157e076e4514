#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ROCpd databases: the schema as other readers have it, totals counted in SQL from the file against those of
`kymo query`, what readers of this format need of each row, and what is told to have no place.

    rocpd.py KYMO SYNTH [ANNOTATED OCL_COPIES]"""
import collections
import glob
import json
import os
import re
import shutil
import sqlite3
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import Run, check, must  # noqa: E402

KYMO, SYNTH, *PROGRAMS = map(os.path.abspath, sys.argv[1:])

# Columns behind id (and guid) by table: * stands for NOT NULL, I B T J for the types, > for the table referred to.
OWNED = "nid I*>info_node pid I*>info_process "
SPAN = "start B* end B* "
EVENT = "event_id I>event extdata J*"
TABLES = {
    "metadata": "tag T* value T*",
    "string": "string T*",
    "info_node": "hash B* machine_id T* system_name T hostname T release T version T hardware_name T domain_name T",
    "info_process": "nid I*>info_node ppid I pid I* init B fini B start B end B command T environment J* extdata J*",
    "info_thread": "nid I*>info_node ppid I pid I*>info_process tid I* name T start B end B extdata J*",
    "info_agent": OWNED + "type T absolute_index I logical_index I type_index I uuid I name T model_name T "
                  "vendor_name T product_name T user_name T extdata J*",
    "info_queue": OWNED + "name T extdata J*",
    "info_stream": OWNED + "name T extdata J*",
    "info_pmc": OWNED + "agent_id I>info_agent target_arch T event_code INT instance_id I name T* symbol T* "
                "description T long_description T component T units T value_type T block T expression T is_constant I "
                "is_derived I 3:spm_support I extdata J*",
    "info_code_object": OWNED + "agent_id I>info_agent uri T load_base B load_size B load_delta B storage_type T extdata J*",
    "info_kernel_symbol": OWNED + "code_object_id I*>info_code_object kernel_name T display_name T kernel_object I "
                          "kernarg_segment_size I kernarg_segment_alignment I group_segment_size I "
                          "private_segment_size I sgpr_count I arch_vgpr_count I accum_vgpr_count I extdata J*",
    "track": "nid I*>info_node pid I>info_process tid I>info_thread name_id I>string extdata J*",
    "event": "category_id I>string stack_id I parent_stack_id I correlation_id I call_stack J* line_info J* extdata J*",
    "arg": "event_id I*>event position I* type T* name T* value T extdata J*",
    "pmc_event": "event_id I>event pmc_id I*>info_pmc value REAL 3:sample_id I>sample 3:xcc I 3:shader_engine I "
                 "3:instance I extdata J",
    "region": OWNED + "tid I*>info_thread " + SPAN + "name_id I*>string " + EVENT,
    "sample": "track_id I*>track timestamp B* " + EVENT,
    "kernel_dispatch": OWNED + "tid I>info_thread agent_id I*>info_agent kernel_id I*>info_kernel_symbol "
                       "dispatch_id I* queue_id I*>info_queue stream_id I*>info_stream " + SPAN +
                       "private_segment_size I group_segment_size I workgroup_size_x I* workgroup_size_y I* "
                       "workgroup_size_z I* grid_size_x I* grid_size_y I* grid_size_z I* 2:graph_exec_id I* "
                       "2:graph_node_id I* region_name_id I>string " + EVENT,
    "memory_copy": OWNED + "tid I>info_thread " + SPAN + "name_id I*>string dst_agent_id I>info_agent dst_address I "
                   "src_agent_id I>info_agent src_address I size I* queue_id I>info_queue stream_id I>info_stream "
                   "2:graph_exec_id I* 2:graph_node_id I* region_name_id I>string " + EVENT,
    "memory_allocate": OWNED + "tid I>info_thread agent_id I>info_agent type T level T " + SPAN + "address I size I* "
                       "queue_id I>info_queue stream_id I>info_stream " + EVENT,
    "2:graph_launch": OWNED + "tid I>info_thread agent_id I>info_agent queue_id I>info_queue " + SPAN +
                      "graph_exec_id I* kernel_dispatch_count I " + EVENT,
}
TYPES = {"I": "INTEGER", "B": "BIGINT", "T": "TEXT", "J": "JSONB", "INT": "INT", "REAL": "REAL"}
VIEWS = """code_objects kernel_symbols processes threads regions region_args samples sample_regions regions_and_samples
kernels pmc_info pmc_events events_args stream_args memory_copies memory_allocations scratch_memory counters_collection
top_kernels busy top""".split()
COLUMNS = {
    "regions": "id guid category name nid pid tid start end duration event_id stack_id parent_stack_id corr_id extdata "
               "call_stack line_info",
    "kernels": "id guid tid category region name nid pid agent_abs_index agent_log_index agent_type_index agent_type "
               "code_object_id kernel_id dispatch_id stream_id queue_id queue stream start end duration grid_x grid_y "
               "grid_z workgroup_x workgroup_y workgroup_z lds_size scratch_size vgpr_count accum_vgpr_count sgpr_count "
               "static_lds_size static_scratch_size stack_id parent_stack_id corr_id",
    "top": "name total_calls total_duration average percentage",
    "busy": "agent_id type GpuTime WallTime Busy",
}
# What the description of an agent must have, or readers refuse all of it.
AGENT = """size id type cpu_cores_count simd_count mem_banks_count caches_count io_links_count cpu_core_id_base
simd_id_base max_waves_per_simd lds_size_in_kb gds_size_in_kb num_gws wave_front_size num_xcc cu_count array_count
num_shader_banks simd_arrays_per_engine cu_per_simd_array simd_per_cu max_slots_scratch_cu gfx_target_version vendor_id
device_id location_id domain drm_render_minor num_sdma_engines num_sdma_xgmi_engines num_sdma_queues_per_engine
num_cp_queues max_engine_clk_ccompute max_engine_clk_fcompute sdma_fw_version fw_version capability cu_per_engine
max_waves_per_cu family_id workgroup_max_size grid_max_size local_mem_size hive_id gpu_id workgroup_max_dim grid_max_dim
name vendor_name product_name model_name node_id logical_node_id logical_node_type_id mem_banks caches io_links
gpu_index""".split()


def since(word, version):
    """The word less the version that it came with; None: it came later than `version`."""
    m = re.match(r"(\d):(.*)", word)
    return word if not m else m.group(2) if int(m.group(1)) <= version else None


def wanted_columns(name, spec, version):
    columns = [("id", "INTEGER", 1, None)]
    if name != "metadata":
        columns.append(("guid", "TEXT", 1, None))
    words = spec.split()
    for column, how in zip(words[::2], words[1::2]):
        column = since(column, version)
        kind, _, target = how.partition(">")
        if column:
            columns.append((column, TYPES[kind.rstrip("*")], int(kind.endswith("*")), target or None))
    return columns


def columns_of(db, table, suffix):
    targets = {r[3]: r[2] for r in db.execute(f'PRAGMA foreign_key_list("{table}")')}
    rules = {r[5:7] for r in db.execute(f'PRAGMA foreign_key_list("{table}")')}
    check(f"{table}: what keys do", rules <= {("CASCADE", "NO ACTION")}, True)
    return [(r[1], r[2], r[3], targets[r[1]].removeprefix("rocpd_").removesuffix(suffix) if r[1] in targets else None)
            for r in db.execute(f'PRAGMA table_info("{table}")')]


def check_schema(db, version):
    wanted = {since(t, version): spec for t, spec in TABLES.items() if since(t, version)}
    views = VIEWS + ["graph_launches"] * (version >= 2) + ["spm_counters"] * (version >= 3)
    suffixes = [s for s, in db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'uuid'")]
    guids = [g for g, in db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'guid'")]
    check("a uuid is its guid", [g.replace("-", "_") for g in guids], [s[1:] for s in suffixes])
    check("their shape", all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", g)
                             for g in guids), True)
    check("no two of them", len(set(guids)), len(guids))
    names = {n: t for t, n in db.execute("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")}
    check("what there is", names, {
        **{f"rocpd_{t}{s}": "table" for t in wanted for s in suffixes},
        **{f"rocpd_{t}": "view" for t in wanted}, **{v: "view" for v in views}})
    for name, spec in wanted.items():
        for suffix in suffixes:
            check(f"columns of {name}", columns_of(db, f"rocpd_{name}{suffix}", suffix),
                  wanted_columns(name, spec, version))
        if name != "metadata":
            check(f"guids of {name}", {g for g, in db.execute(f"SELECT DISTINCT guid FROM rocpd_{name}")} <= set(guids),
                  True)
    for view, columns in COLUMNS.items():
        check(f"columns of {view}", [d[0] for d in db.execute(f"SELECT * FROM {view}").description], columns.split())
    for view in views:
        db.execute(f"SELECT * FROM {view}").fetchall()
    tags = dict(db.execute("SELECT tag, value FROM rocpd_metadata"))
    check("version", tags["schema_version"], f"3.0.{version}" if version else "3")
    check("its parts", [tags.get("schema_version_" + p) for p in ("major", "minor", "patch")],
          ["3", "0", str(version)] if version else [None] * 3)
    check("references", db.execute("PRAGMA foreign_key_check").fetchall(), [])
    check("integrity", db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
    sql = " ".join(s or "" for s, in db.execute("SELECT sql FROM sqlite_master"))
    check("sequences", "AUTOINCREMENT" in sql, True)
    check("types of agents", "('CPU', 'GPU', 'NIC')" in sql, version >= 1)
    return suffixes


def one(db, sql):
    return db.execute(sql).fetchone()[0]


def check_rules(db):
    """What readers of this format cannot do without: a row that lacks it is not shown, or stops them."""
    for view, table in (("regions", "region"), ("samples", "sample"), ("kernels", "kernel_dispatch"),
                        ("memory_copies", "memory_copy"), ("memory_allocations", "memory_allocate"),
                        ("kernel_symbols", "info_kernel_symbol"), ("code_objects", "info_code_object"),
                        ("threads", "info_thread"), ("processes", "info_process"), ("events_args", "arg")):
        check(f"rows of {view}", one(db, f"SELECT count(*) FROM {view}"), one(db, f"SELECT count(*) FROM rocpd_{table}"))
    for extdata, in db.execute("SELECT DISTINCT extdata FROM rocpd_event"):
        check("an event's extdata", extdata == "{}" or isinstance(json.loads(extdata)["message"], str), True)
    for table in ("region", "sample", "kernel_dispatch", "memory_copy", "memory_allocate", "pmc_event", "info_process"):
        for extdata, in db.execute(f"SELECT DISTINCT extdata FROM rocpd_{table}"):
            json.loads(extdata)
    for stack, in db.execute("SELECT DISTINCT call_stack FROM rocpd_event"):
        json.loads(stack)
    for extdata, kind, guid in db.execute("SELECT extdata, type, guid FROM rocpd_info_agent"):
        agent = json.loads(extdata)
        check("an agent's description", [k for k in AGENT if k not in agent], [])
        check("its type", agent["type"], {"CPU": 1, "GPU": 2}[kind])
        check("its handle", agent["id"]["handle"] > 0, True)
    check("handles, of all processes", one(db, "SELECT count(*) - count(DISTINCT json_extract(extdata, '$.id.handle')) FROM "
                                               "rocpd_info_agent"), 0)
    check("handles beyond 32 bits, or of processes", one(
        db, "SELECT count(*) FROM rocpd_info_agent WHERE json_extract(extdata, '$.id.handle') NOT BETWEEN (SELECT count(*) "
            "FROM rocpd_info_process) AND 4294967295"), 0)
    check("device work and allocations that end when they start, or before", [one(
        db, f"SELECT count(*) FROM rocpd_{t} WHERE end <= start")
        for t in ("kernel_dispatch", "memory_copy", "memory_allocate")], [0, 0, 0])
    check("categories of regions without a domain before _, which AMD's summary leaves out",
          [c for c, in db.execute("SELECT DISTINCT category FROM regions_and_samples") if not re.match("[A-Z]+[A-Z0-9]*_", c)], [])
    check("processes without command", one(db, "SELECT count(*) FROM rocpd_info_process WHERE command IS NULL OR command "
                                               "= ''"), 0)
    check("sets without a host, queue 0 and stream 0", [r for r in db.execute(
        "SELECT guid, (SELECT count(*) FROM rocpd_info_queue q WHERE q.guid = p.guid AND q.id = 0), (SELECT count(*) FROM "
        "rocpd_info_stream s WHERE s.guid = p.guid AND s.id = 0), (SELECT type FROM rocpd_info_agent a WHERE a.guid = "
        "p.guid AND a.absolute_index = 0) FROM rocpd_info_process p") if r[1:] != (1, 1, "CPU")], [])
    used = [r for t in ("region", "sample", "kernel_dispatch", "memory_copy", "memory_allocate")
            for r in db.execute(f"SELECT event_id, guid FROM rocpd_{t}")]
    check("events of two rows", len(used), len(set(used)))
    check("events", set(db.execute("SELECT id, guid FROM rocpd_event")), set(used))



# (what, of the file, of `kymo query`); times are whole ns. What has no length takes 1 ns in the file.
TOTALS = [
    ("calls", "SELECT name, count(*), sum(duration), count(DISTINCT tid) FROM regions WHERE category GLOB '*_API*' AND "
              "category NOT GLOB 'MARKER_*' GROUP BY 1 ORDER BY 1",
     "SELECT o.name AS name, count(*) AS n, sum(c.duration) AS t, count(DISTINCT h.tid) AS threads FROM call c JOIN op o "
     "ON o.id = c.op JOIN thread h ON h.id = c.thread GROUP BY 1 ORDER BY 1"),
    ("kernels", "SELECT name, count(*), sum(duration), sum(grid_x), sum(workgroup_x) FROM kernels GROUP BY 1 ORDER BY 1",
     "SELECT s.text AS name, count(*) AS n, sum(CASE WHEN d.untimed THEN 1 ELSE d.duration END) AS t, sum(d.global_x) AS g, "
     "sum(d.local_x) AS l FROM dispatch d JOIN kernel k ON k.id = d.kernel JOIN string s ON s.id = k.name GROUP BY 1 "
     "ORDER BY 1"),
    ("copies", "SELECT count(*), sum(size), sum(duration) FROM memory_copies",
     "SELECT count(*) AS n, sum(bytes) AS b, sum(CASE WHEN untimed THEN 1 ELSE duration END) AS t FROM copy"),
    ("allocations", "SELECT type, count(*), sum(size) FROM memory_allocations GROUP BY 1 ORDER BY 1",
     "SELECT CASE o.name WHEN 'free' THEN 'FREE' ELSE 'ALLOC' END AS type, count(*) AS n, sum(a.bytes) AS b FROM "
     "allocation a JOIN op o ON o.id = a.op GROUP BY 1 ORDER BY 1"),
    ("busy", "SELECT sum(GpuTime) FROM busy", "SELECT ifnull((SELECT sum(CASE WHEN untimed THEN 1 ELSE duration END) FROM "
     "dispatch), 0) + ifnull((SELECT sum(CASE WHEN untimed THEN 1 ELSE duration END) FROM copy), 0) AS t"),
    ("markers", "SELECT json_extract(extdata, '$.message'), count(*), sum(duration) FROM regions_and_samples WHERE category "
                "GLOB 'MARKER_*' GROUP BY 1 ORDER BY 1",
     "SELECT s.text AS name, count(*) AS n, sum(m.duration) AS t FROM marker m LEFT JOIN marker_name s ON s.id = m.name GROUP BY "
     "1 ORDER BY 1"),
]


CALLS = """SELECT s.text AS kernel, o.name AS call, count(*) AS n FROM dispatch d JOIN kernel k ON k.id = d.kernel JOIN
    string s ON s.id = k.name JOIN call c ON c.id = d.call JOIN op o ON o.id = c.op GROUP BY 1, 2 ORDER BY 1, 2"""


def check_calls(db, trace):
    """Kernels have the stack_id of the call that submitted them."""
    calls = {(guid, stack): name for guid, stack, name in db.execute(
        "SELECT guid, stack_id, name FROM regions WHERE category GLOB '*_API*' AND category NOT GLOB 'MARKER_*'")}
    got = collections.Counter((name, calls[guid, stack]) for name, guid, stack in db.execute(
        "SELECT name, guid, stack_id FROM kernels") if (guid, stack) in calls)
    check("submitting calls", got, {(r["kernel"], r["call"]): r["n"] for r in kymotest.query(KYMO, trace, CALLS)})


def check_totals(db, trace, least):
    for what, of_file, of_trace in TOTALS:
        got = [list(r) for r in db.execute(of_file)]
        wanted = [[v for v in r.values()] for r in kymotest.query(KYMO, trace, of_trace)]
        check(f"{what} of {os.path.basename(trace)}", got, wanted)
        if what in least:
            check(f"{what} there are", bool(got and got[0][0]), True)


def export(trace, out, *words, to="rocpd"):
    return Run([KYMO, "export", "--to", to, "-f", "-o", out, *words, trace])


def whole(trace, folder, least=("calls",), versions=range(4)):
    for version in versions:
        out = os.path.join(folder, "out.db")
        run = export(trace, out, to="rocpd" if not version else f"rocpd:3.0.{version}")
        check("export", run.status, 0)
        db = sqlite3.connect(out)
        check_schema(db, version)
        check_rules(db)
        check_totals(db, trace, least)
        check_calls(db, trace)
        db.close()
    return run.err


def told(err):
    return sorted(re.findall(r"rocpd(?:: | has no place for: )(.*)", err))


def test_synthetic(folder):
    trace = os.path.join(folder, "demo.kymo")
    must(SYNTH, "demo", trace)
    err = whole(trace, folder, ("calls", "kernels", "copies", "allocations", "busy"))
    check("told", told(err), [
        "1 piece of device work without device times: of 1 ns here, when submitted",
        "calls that never returned (2); no whole records: notes of where records were lost (2), notes of Kymo's (1)"])
    db = sqlite3.connect(os.path.join(folder, "out.db"))
    check("processes", one(db, "SELECT count(DISTINCT guid) FROM rocpd_info_process"), 2)
    check("failed calls", db.execute("SELECT r.extdata FROM rocpd_region r WHERE r.extdata GLOB '*status*'").fetchall(),
          db.execute("SELECT r.extdata FROM rocpd_region r WHERE json_extract(r.extdata, '$.status') <> 0").fetchall())
    check("untimed", db.execute("SELECT DISTINCT json_extract(extdata, '$.untimed') IS NOT NULL, end = start + 1 FROM "
                                "rocpd_kernel_dispatch ORDER BY 1").fetchall(), [(0, 0), (1, 1)])
    check("arguments", db.execute("SELECT type, name, value FROM region_args WHERE name IN ('u64', 'text') ORDER BY name")
          .fetchall()[1], ("uint64_t", "u64", str(2 ** 64 - 1)))
    db.close()


def test_folder(folder):
    trace, out = os.path.join(folder, "demo.kymo"), os.path.join(folder, "demo.rpdb")
    must(SYNTH, "demo", trace)
    check("export", export(trace, out, to="rocpd:folder,3.0.1").status, 0)
    files = sorted(map(os.path.basename, glob.glob(os.path.join(out, "*.db"))))
    with open(os.path.join(out, "index.yaml"), encoding="utf-8") as f:
        index = f.read()
    check("index", sorted(re.findall(r'^      - "(.*)"$', index, re.M)), files)
    check("its head", index.split("files:")[0],
          'rocprofiler-sdk:\n  rocpd:\n    rocpd_package_version: "1.0"\n    path: "."\n    ')
    check("files", len(files), 2)
    regions = 0
    for name in files:
        db = sqlite3.connect(os.path.join(out, name))
        check("sets in one file", len(check_schema(db, 1)), 1)
        check_rules(db)
        regions += one(db, "SELECT count(*) FROM regions WHERE category = 'TEST_API'")
        db.close()
    check("calls", regions, kymotest.query(KYMO, trace, "SELECT count(*) AS n FROM call")[0]["n"])


def test_refused(folder):
    trace, out = os.path.join(folder, "demo.kymo"), os.path.join(folder, "x.db")
    must(SYNTH, "demo", trace)
    for to, why in (("rocpd:4.0.0", 'no variant "4.0.0"'), ("json:3", "no variants"), ("rocpdx", "no format")):
        run = export(trace, out, to=to)
        check(f"status of {to}", run.status, 2)
        check(f"what is said of {to}", why in run.err, True)
        check("nothing is left", os.path.exists(out), False)
    run = Run([KYMO, "export", "--to", "rocpd", "-o", "-", trace])
    check("standard output", run.status != 0 and "--output" in run.err, True)


def test_long_texts(folder):
    """What a row has no room for is left out and told; what has room beside it is there."""
    trace, out, file = (os.path.join(folder, n) for n in ("long.kymo", "x.db", "long.json"))
    lengths = (10, 2000, 20000, 1 << 20)
    with open(file, "w", encoding="ascii") as f:
        json.dump([{"name": chr(97 + i) * n, "ph": "X", "pid": 1, "tid": 1, "ts": i * 10, "dur": 5} for i, n in enumerate(lengths)], f)
    must(KYMO, "import", "-o", trace, file)
    run = export(trace, out)
    check("export of long texts", run.status, 0)
    check("long texts are told", [t for t in told(run.err) if "too long" in t], ["descriptions that are too long (2)"])
    db = sqlite3.connect(out)
    found = [len(json.loads(m)["message"]) for m, in db.execute("SELECT extdata FROM rocpd_event WHERE extdata LIKE '%message%' ORDER BY id")]
    check("texts that have room", found, [10, 2000])
    check("ranges", one(db, "SELECT count(*) FROM regions"), 4)
    db.close()


def test_selection(folder):
    trace, out = os.path.join(folder, "demo.kymo"), os.path.join(folder, "x.db")
    must(SYNTH, "demo", trace)
    check("export", export(trace, out, "--domain", "copy").status, 0)
    db = sqlite3.connect(out)
    check("rows", [one(db, f"SELECT count(*) FROM {v}") for v in ("regions", "kernels", "memory_copies")], [0, 0, 1])
    db.close()


def test_programs(folder):
    annotated, buffers = PROGRAMS
    for program, least in ((annotated, ("markers", "kernels")), (buffers, ("copies", "calls"))):
        trace = os.path.join(folder, os.path.basename(program) + ".kymo")
        must(KYMO, "run", "--no-summary", "--mode", "full", "-o", trace, "--", program)
        whole(trace, folder, least, [0])
        if program == annotated:
            check_names(folder, trace)


NAMES = "SELECT s.text AS name, count(*) AS n FROM marker m JOIN marker_name s ON s.id = m.name GROUP BY 1 ORDER BY 1"


def bounding_range(path):
    """What the summary's first sentence says of ranges."""
    return re.findall(r"in the range (\(no name\)|\w+)", " ".join(must(KYMO, "summary", path).split()))


def check_names(folder, trace):
    """Names of ranges come back; of AMD's writers, whose regions are called after functions, from the message."""
    out, other = os.path.join(folder, "out.db"), os.path.join(folder, "other.db")
    names = kymotest.query(KYMO, trace, NAMES)
    check("there are names", {r["name"] for r in names} >= {"setup", "step"}, True)
    shutil.copy(out, other)
    db = sqlite3.connect(other)
    for table, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'rocpd_string_*'").fetchall():
        db.execute(f"UPDATE {table} SET string = 'roctxRangePushA of ' || string WHERE string IN ('setup', 'build', 'solve', "
                   "'step', 'shift')")
    db.commit()
    db.close()
    for path in out, other:
        check("names that come back", kymotest.query(KYMO, path, NAMES), names)
        check("the range that bounds the run", bounding_range(path), bounding_range(trace))


def test_telemetry(folder):
    """What samples the node is a process, too, and its devices are none that the format has a word for."""
    trace, out = os.path.join(folder, "t.kymo"), os.path.join(folder, "t.db")
    must(KYMO, "run", "--no-summary", "--telemetry", "-o", trace, "--", PROGRAMS[1])
    err = export(trace, out).err
    kinds = kymotest.query(KYMO, trace, "SELECT type FROM agent")
    other = sum(r["type"] not in ("cpu", "gpu") for r in kinds)
    check("told of them", [int(n) for n in re.findall(r"rocpd: (\d+) devices? that \w+ neither CPU nor GPU", err)], [other] * bool(other))
    check("once", err.count("GPU") <= 2, True)
    db = sqlite3.connect(out)
    check("values", one(db, "SELECT count(*) FROM samples WHERE category = 'TELEMETRY_EVENT'"),
          kymotest.query(KYMO, trace, "SELECT count(*) AS n FROM counter_value")[0]["n"])
    check("it came last or first", one(db, "SELECT count(*) FROM rocpd_info_process"), 2)
    check_rules(db)
    db.close()
    info = must(KYMO, "info", out)
    check("what was run", re.search(r"^Command +(.*)", info, re.M).group(1), PROGRAMS[1])
    check("how both ended", sorted(re.findall(r"records, (.*)", info)), ["ended normally", "exited with status 0"])
    check("kinds of devices", sorted(r["type"] for r in kymotest.query(KYMO, out, "SELECT type FROM agent")),
          sorted(r["type"] for r in kinds))


def main():
    for name, test in sorted(globals().items()):
        if name.startswith("test_") and (PROGRAMS or name not in ("test_programs", "test_telemetry")):
            with tempfile.TemporaryDirectory() as folder:
                test(folder)


main()
sys.exit(bool(kymotest.wrong))
