#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles of XLA that Kymo writes: what a reader of the published format finds in them, against SQL over the trace.

    xspace_written.py KYMO SYNTH"""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys

from xspace_traces import (BASE, KYMO, SUMS, complete, exported, kernel, launched, made, main, query, run, two_of_everything)
import xspace
from kymotest import SANITIZED, expect

SYNTH = os.path.abspath(sys.argv[2])
TREE = "/host:__ScopeRangeCallStack__"


def planes(space, prefix):
    return [p for p in space.planes if p.name.startswith(prefix)]


def events(planes_, having=None, line=""):
    return [e for p in planes_ for x in p.lines if x.name.startswith(line) for e in x.events if having is None or having in e.stats]


def tree_of(space):
    """Every edge is {child: parent}, its parent an int64: as a uint64 a reader takes it for 0."""
    found = planes(space, TREE)
    expect(len(found) == 1 and not found[0].lines and not found[0].stat_names, "the plane of the tree", found)
    expect(all(kind == "int64" for _, _, kind in found[0].edges), found[0].edges)
    tree = {child: parent for child, parent, _ in found[0].edges}
    expect(len(tree) == len(found[0].edges), "a scope has two parents", found[0].edges)
    for child in tree:
        seen = set()
        while child in tree:
            expect(child not in seen, "a circle at", child)
            seen.add(child)
            child = tree[child]
    return tree


def scope_of(event):
    expect(event.types.get("scope_range_id", "int64") == "int64" and event.stats.get("scope_range_id") != 0, event)
    return event.stats.get("scope_range_id")


def check_form(space):
    """What every file must be: lines unique in 32 bits, events in order and not crossing, names once."""
    for p in space.planes:
        ids = [x.id & 0xffffffff for x in p.lines]
        expect(len(ids) == len(set(ids)) and all(0 < i < 0xdeadbeef for i in ids), p.name, ids)
        for x in p.lines:
            expect(xspace.crossings(x) == 0, p.name, x.name, "has events that cross")
            expect(x.timestamp_ns > 0 and all(e.offset_ps >= 0 and e.duration_ps >= 0 for e in x.events), x.name)


def totals(found, offset):
    return len(found), sum(e.start - offset for e in found), sum(e.duration for e in found)


def test_numbers_are_those_of_the_trace():
    trace = two_of_everything()
    space, said = exported(trace, "two.xplane.pb")
    check_form(space)
    expect("no place" not in said, said)
    offset = query(trace, "SELECT min(start_realtime - start) FROM process")[0][0]
    expect(offset == BASE + 1000000, offset)
    host, devices = planes(space, "/host:CPU"), planes(space, "/device:GPU:")
    expect([(p.name, p.stats["process_id"]) for p in host] == [("/host:CPU", 500), (host[1].name, 900)], host)
    expect([(p.name, p.id, p.stats["gpu_device_name"], p.stats["core_count"], p.stats["memory_size"]) for p in devices] ==
           [("/device:GPU:0", 0, "Made-up GPU", 10, 1 << 34), ("/device:GPU:1", 1, "Made-up GPU", 11, 1 << 34)], devices)
    sql = "SELECT count(*), sum(start), sum(duration) FROM "
    for what, found, rows in (("calls", events(host, "correlation_id"), sql + "call"),
                              ("kernels", events(devices, "kernel_details"), sql + "dispatch"),
                              ("copies", events(devices, "memcpy_details"), sql + "copy WHERE op = (SELECT id FROM op WHERE name = 'write')"),
                              ("fills", events(devices, "Memset_details"), sql + "copy WHERE op = (SELECT id FROM op WHERE name = 'fill')"),
                              ("ranges", events(host, "category"), sql + "marker"),
                              ("waits", events(host, "sync"), sql + "sync")):
        expect(totals(found, offset) == query(trace, rows)[0], what, totals(found, offset), query(trace, rows))
        expect(found, "none of", what)
    expect(sum(int(e.stats["memcpy_details"].split("size:")[1].split()[0]) for e in events(devices, "memcpy_details")) ==
           query(trace, "SELECT sum(bytes) FROM copy WHERE bytes > 64")[0][0], "bytes")
    expect(events(devices, "memcpy_details")[0].stats["memcpy_details"] == "kind_src:pinned kind_dst:device size:4596 dest:0 async:1",
           events(devices, "memcpy_details")[0])
    expect(events(devices, "Memset_details")[0].stats["Memset_details"] == "kind:device num_bytes:64 async:1", "memset")
    expect({e.stats["kernel_details"] for e in events(devices, "kernel_details")} ==
           {"regs:40 static_shared:0 dynamic_shared:512 grid:4,2,1 block:32,1,1"}, "kernel_details")
    allocated, freed = events(host, "memalloc_details"), events(host, "MemFree_details")
    expect(sorted(e.stats["memalloc_details"] for e in allocated) == [f"kind:device num_bytes:{1024 + t}" for t in (500, 501, 900, 901)] and
           sorted(e.stats["allocation"] for e in allocated) == sorted(e.stats["allocation"] for e in freed), allocated)
    names = {x.name for p in devices for x in p.lines}
    expect(names == {"Stream #7(Kernel,MemcpyH2D,Memset)", "Stream #8(Kernel,MemcpyH2D,Memset)"}, names)
    expect(sorted(x.id for p in host for x in p.lines) == [500, 501, 900, 901], "ids of threads")


def test_work_is_tied_to_its_call():
    """Both processes have the correlations 1 to 14: in the file no two calls have one number."""
    space, _ = exported(two_of_everything(), "two.xplane.pb")
    calls = {}
    for p in planes(space, "/host:CPU"):
        for e in events([p], "correlation_id"):
            expect(e.stats["correlation_id"] not in calls, e.stats["correlation_id"], "twice")
            calls[e.stats["correlation_id"]] = (e, p.stats["process_id"])
    work = events(planes(space, "/device:"), "correlation_id")
    expect(len(work) == 12, work)
    for e in work:
        call, pid = calls[e.stats["correlation_id"]]
        expect(e.stats["process_id"] == pid and call.start < e.start, e, call)
        expect(e.name.startswith("kernel of") is (call.name == "cudaLaunchKernel") and (str(pid) in e.name or "Mem" in e.name), e)
        flow, begun = e.stats["flow"], call.stats["flow"]
        expect((flow & 3, begun & 3, flow >> 2 == begun >> 2, flow >> 58) == (1, 2, True, 9), "flow", flow, begun)
    expect(all("flow" not in e.stats for e, _ in calls.values() if e.name == "cudaStreamSynchronize"), "a wait has a flow")


def test_scopes():
    """Ids on calls, kernels, copies, fills, allocations; the same range run twice is two scopes; two threads, two processes."""
    trace = two_of_everything()
    space, _ = exported(trace, "two.xplane.pb")
    tree, host = tree_of(space), planes(space, "/host:CPU")
    ranges = {scope_of(e): e for e in events(host, "category")}
    expect(len(ranges) == 12 and None not in ranges, "ranges that share a scope", ranges)
    inner = [s for s, e in ranges.items() if e.name == "inner"]
    expect(sorted(tree) == sorted(inner) and len(inner) == 4, "edges are those of nested ranges", tree, inner)
    for s in inner:
        up = ranges[tree[s]]
        expect(up.name == "outer" and up.start < ranges[s].start and up.start + up.duration > ranges[s].start + ranges[s].duration, up)
    kinds = {"call": [e for e in events(host, "correlation_id") if e.name != "cudaStreamSynchronize"],
             "kernel": events(planes(space, "/device:"), "kernel_details"), "copy": events(planes(space, "/device:"), "memcpy_details"),
             "fill": events(planes(space, "/device:"), "Memset_details"),
             "allocation": events(host, "memalloc_details") + events(host, "MemFree_details")}
    for what, found in kinds.items():
        expect(found and sorted({scope_of(e) for e in found}) == sorted(inner), what, "are not in the scopes", [scope_of(e) for e in found])
    alone = [e for e in events(host, "category") if e.name == "outer" and e.duration == 10000]
    expect(len(alone) == 4 and all(scope_of(e) not in tree for e in alone), "a scope without work has its id, and no edge")
    waits = [e for e in events(host, "correlation_id") if e.name == "cudaStreamSynchronize"]
    expect(all(scope_of(e) is None for e in waits), "0 is no scope: it is not written")


def test_scope_ids_of_one_process_stay():
    trace = made("one", [complete("user_annotation", "a", 1, 1, 10, 90), complete("user_annotation", "b", 1, 1, 20, 30), *launched(1, 1, 25, 4)])
    space, _ = exported(trace, "one.xplane.pb")
    expect(tree_of(space) == dict(query(trace, "SELECT scope, parent FROM marker WHERE parent IS NOT NULL")), tree_of(space))
    expect(scope_of(events(planes(space, "/device:"))[0]) == query(trace, "SELECT scope FROM marker WHERE parent IS NOT NULL")[0][0], "id")


def test_no_tree():
    """Scopes that lie in none give no edge; a trace without ranges has the plane all the same, which is empty."""
    for name, more in (("flat", [complete("user_annotation", "a", 1, 1, 10, 90)]), ("none", [])):
        space, _ = exported(made(name, launched(1, 1, 25, 4) + more), name + ".xplane.pb")
        expect(tree_of(space) == {}, name, tree_of(space))
        expect((scope_of(events(planes(space, "/device:"))[0]) is not None) is (name == "flat"), name)


def test_dropped_parent():
    """Of a range whose surrounding one is left out the edge is there: the other end is a number alone."""
    trace = two_of_everything()
    space, _ = exported(trace, "part.xplane.pb", "--during", "inner#1")
    ranges = {scope_of(e): e.name for e in events(planes(space, "/host:CPU"), "category")}
    tree = tree_of(space)
    for s, name in ranges.items():
        expect((s in tree) is (name == "inner"), name, s, tree)
    expect("inner" in ranges.values(), ranges)


def derived(space, plane_name):
    """XLA Modules as readers of the format derive them (section 6 of the facts): of the line with the most events; neighbours are one
    where name and step are the same, and the outermost scopes are or one has none."""
    tree, rows = tree_of(space), []
    line = max(next(p for p in space.planes if p.name == plane_name).lines, key=lambda x: len(x.events))
    for e in line.events:
        if "kernel_details" not in e.stats or "hlo_module" not in e.stats:
            continue
        root = scope_of(e)
        while root in tree:
            root = tree[root]
        name = f'{e.stats["hlo_module"]}({e.stats.get("program_id")})'
        last = rows[-1] if rows else None
        if last and last["name"] == name and last["step"] == e.stats.get("group_id") and (root is None or None in (last["root"],) or root == last["root"]):
            last["end"] = e.start + e.duration
        else:
            rows.append({"name": name, "root": root, "step": e.stats.get("group_id"), "start": e.start, "end": e.start + e.duration})
    return rows


def xla_events(pid, tid, at, n, c):
    """n executions of one module, one behind the other in a loop, each of two operations with a kernel."""
    out = [complete("user_annotation", "train loop", pid, tid, at - 5, 40 * n)]
    for i in range(n):
        t = at + 20 * i
        out += [complete("user_annotation", "XlaModule:#prefix=jit(f)/main,hlo_module=jit_f,program_id=3#", pid, tid, t, 15),
                complete("user_annotation", "Thunk:#name=x,hlo_op=fusion.1#", pid, tid, t + 1, 4),
                *launched(pid, tid, t + 2, c + 2 * i, "fusion_1", later=100),
                complete("user_annotation", "TSL:Thunk:#hlo_op=dot.2#", pid, tid, t + 6, 4),
                *launched(pid, tid, t + 7, c + 2 * i + 1, "dot_2", later=100)]
    return out


def test_names_of_xla():
    """Module, operation and program of kernels come from the ranges around their calls; executions come apart although nothing lies
    between them and a loop lies around all."""
    trace = made("xla", xla_events(1, 1, 1000, 3, 10))
    space, _ = exported(trace, "xla.xplane.pb")
    found = events(planes(space, "/device:"), "kernel_details")
    expect([(e.name, e.stats["hlo_module"], e.stats["hlo_op"], e.stats["program_id"]) for e in found] ==
           [("fusion_1", "jit_f", "fusion.1", 3), ("dot_2", "jit_f", "dot.2", 3)] * 3, found)
    expect({e.types["program_id"] for e in found} == {"int64"} and {e.types["hlo_module"] for e in found} == {"ref"}, "types")
    expect(found[1].stats["nvtx_range"] == "TSL:Thunk:#hlo_op=dot.2#", found[1])
    rows = derived(space, "/device:GPU:0")
    expect([(r["name"], r["end"] - r["start"]) for r in rows] == [("jit_f(3)", 7001)] * 3, "executions do not come apart", rows)
    tree = tree_of(space)
    modules = [scope_of(e) for e in events(planes(space, "/host:CPU")) if e.name.startswith("XlaModule")]
    expect(len(tree) == 6 and set(tree.values()) == set(modules), "operations lie in executions, these in none", tree)
    expect(all("hlo_module" not in e.stats for e in events(planes(space, "/host:CPU"))), "a host event has what kernels have")


def test_modules_in_modules_and_steps():
    inner = [complete("user_annotation", "XlaModule:#hlo_module=inner,program_id=9#", 1, 1, 1002, 20)]
    trace = made("nest", [complete("user_annotation", "train#step_num=17#", 1, 1, 990, 100),
                          complete("user_annotation", "XlaModule:#hlo_module=outer#", 1, 1, 1000, 50), *inner, *launched(1, 1, 1005, 4)])
    space, _ = exported(trace, "nest.xplane.pb")
    e = events(planes(space, "/device:"))[0]
    expect((e.stats["hlo_module"], e.stats["program_id"], e.stats["group_id"]) == ("inner", 9, 17), e)
    names = {scope_of(x): x.name for x in events(planes(space, "/host:CPU"), "category")}
    expect([(names[a][:22], names[b][:22]) for a, b in tree_of(space).items()] == [("XlaModule:#hlo_module=", "XlaModule:#hlo_module=")], names)
    name = "XlaModule:#prefix=f(a,hlo_op=none)[b,program_id=4],text='c,hlo_module=d',hlo_module=jit(f, g),program_id=3#"
    space, _ = exported(made("brackets", [complete("user_annotation", name, 1, 1, 1000, 50), *launched(1, 1, 1005, 4)]), "brackets.xplane.pb")
    e = events(planes(space, "/device:"))[0]
    expect((e.stats["hlo_module"], e.stats["program_id"], e.stats.get("hlo_op")) == ("jit(f, g)", 3, None), "commas in brackets and quotes", e)
    for odd in ("#", "##", "x#", "x#hlo_op#", "x#=#", "x#hlo_op=#", "x#program_id=-1#", "x#program_id=99999999999999999999#", "a#hlo_op=b"):
        space, _ = exported(made("odd", [complete("user_annotation", odd, 1, 1, 1000, 50), *launched(1, 1, 1005, 4)]), "odd.xplane.pb")
        e = events(planes(space, "/device:"))[0]
        expect("hlo_op" not in e.stats and "program_id" not in e.stats, odd, e)


def test_what_overlaps_has_lines_of_its_own():
    apart = [kernel(f"k{i}", 0, 7, 1000 + 10 * i, 25, 0) for i in range(5)]
    crossed = [complete("user_annotation", "a", 1, 1, 1000, 50), complete("user_annotation", "b", 1, 1, 1020, 50)]
    space, _ = exported(made("over", apart + crossed), "over.xplane.pb")
    check_form(space)
    lines = planes(space, "/device:")[0].lines
    expect([len(x.events) for x in lines] == [2, 2, 1], lines)
    expect([x.name for x in lines] == ["Stream #7(Kernel)", "Stream #7(Kernel) (2)", "Stream #7(Kernel) (3)"], lines)
    expect(sorted(len(x.events) for x in planes(space, "/host:CPU")[0].lines) == [1, 1], "ranges that cross")
    trace = "back.kymo"
    run("import", "over.xplane.pb", "-o", trace)
    expect(query(trace, "SELECT (SELECT count(*) FROM queue), (SELECT count(*) FROM thread WHERE tid = 1), (SELECT count(*) FROM dispatch)") ==
           [(1, 1, 5)], "further lines are read as what they are of")


def test_numbers_of_streams():
    """Of a device whose queues have pointers for handles no number is taken from them: two would be one."""
    trace = made("streams", [kernel("k", 0, s, 1000 + i, 0.5, 0) for i, s in enumerate((1, 0, 7 << 32))] + [kernel("k", 1, 9, 1000, 0.5, 0)])
    space, _ = exported(trace, "streams.xplane.pb")
    names = [sorted(x.name for x in p.lines) for p in planes(space, "/device:")]
    expect(names == [[f"Stream #{i}(Kernel)" for i in range(3)], ["Stream #9(Kernel)"]], names)


def held(device, threads, registers, shared):
    """Blocks of a multiprocessor, as the programming guide has it: warps of a quarter each get registers by 256, blocks memory by 128."""
    warps = -(-threads // 32)
    quarter = device["regsPerMultiprocessor"] // 4 // (-(-registers * 32 // 256) * 256)
    memory = -(-(shared + 1024) // 128) * 128
    return min(32, device["maxThreadsPerMultiprocessor"] // 32 // warps, 4 * quarter // warps, device["sharedMemPerMultiprocessor"] // memory)


A100 = {"id": 0, "name": "A", "computeMajor": 8, "computeMinor": 0, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048, "warpSize": 32,
        "regsPerMultiprocessor": 65536, "sharedMemPerMultiprocessor": 167936, "numSms": 108, "totalGlobalMem": 1 << 36}


def test_occupancy():
    """As CUDA's calculator has it: 40 registers, 256 threads: 75 % of an A100; and where a number is not known nothing is said."""
    sizes = [(256, 40, 0), (256, 32, 0), (1024, 64, 0), (1024, 65, 0), (64, 16, 0), (96, 255, 1000), (128, 24, 40000), (33, 40, 512)]
    kernels = [kernel(f"k{i}", 0, 7, 1000 + 9 * i, 5, 0, block=[t, 1, 1], **{"registers per thread": n, "shared memory": m})
               for i, (t, n, m) in enumerate(sizes)]
    space, _ = exported(made("occupancy", kernels, deviceProperties=[A100]), "occupancy.xplane.pb")
    found = events(planes(space, "/device:"), "kernel_details")
    for e, (threads, registers, shared) in zip(found, sizes):
        percent = 100 * held(A100, threads, registers, shared) * threads / 2048
        best = max((held(A100, t, registers, shared) * t, t) for t in range(32, 1025, 32))[1]
        if not percent:  # it could not run
            expect("theoretical_occupancy_pct" not in e.stats and "occ_pct" not in e.stats["kernel_details"], e)
            continue
        expect((e.stats["theoretical_occupancy_pct"], e.types["theoretical_occupancy_pct"]) == (percent, "double"), e, percent)
        expect(e.stats["kernel_details"] == f"regs:{registers} static_shared:0 dynamic_shared:{shared} grid:4,2,1 block:{threads},1,1 occ_pct:{percent:g}", e)
        expect((e.stats["occupancy_suggested_block_size"], e.stats["occupancy_min_grid_size"]) == (best, held(A100, best, registers, shared) * 108), e, best)
    expect([e.stats.get("theoretical_occupancy_pct") for e in found[:4]] == [75, 100, 50, None], found)
    device = planes(space, "/device:")[0].stats
    expect((device["compute_cap_major"], device["compute_cap_minor"]) == (8, 0), device)
    for missing in ("computeMajor", "maxThreadsPerBlock", "regsPerMultiprocessor", "sharedMemPerMultiprocessor", "warpSize"):
        less = {k: v for k, v in A100.items() if k != missing}
        space, _ = exported(made("less", kernels, deviceProperties=[less]), "less.xplane.pb")
        expect(not events(planes(space, "/device:"), "theoretical_occupancy_pct"), "without", missing)
    for name, odd in (("warpSize", 0), ("warpSize", 1 << 63), ("regsPerMultiprocessor", (1 << 64) - 1), ("maxThreadsPerBlock", (1 << 64) - 1),
                      ("computeMajor", (1 << 64) - 1), ("numSms", (1 << 64) - 1), ("sharedMemPerMultiprocessor", (1 << 64) - 1)):
        space, _ = exported(made("odd", kernels, deviceProperties=[{**A100, name: odd}]), "odd.xplane.pb")
        expect(not events(planes(space, "/device:"), "theoretical_occupancy_pct"), name, odd)


def on_host(name, host, events_):
    """A trace of these events, of a host of that name."""
    folder = made(name, events_)
    run("export", "--to", "xspace", "-f", "-o", name + ".xplane.pb", folder)
    os.makedirs("hosts", exist_ok=True)
    with open(name + ".xplane.pb", "rb") as f, open(f"hosts/{host}.xplane.pb", "wb") as out:
        out.write(f.read())


def test_folder():
    """TensorBoard's folder: FOLDER/plugins/profile/RUN/HOST.xplane.pb, in each file what is of that host, devices from 0 on, and all of it once."""
    for i, host in enumerate(("first", "second")):
        on_host(host, host, xla_events(5, 6, 1000 + 300 * i, 2, 10) + [kernel(f"of {host}", 1, 8, 2000, 3 + i, 0)])
    run("import", "hosts", "-o", "both.kymo")
    for options in (["--to", "xspace", "-o", "logs/"], ["--to", "xspace:folder", "-f", "-o", "logs"]):
        run("export", *options, "both.kymo")
    runs = os.listdir("logs/plugins/profile")
    expect(runs == ["2023_11_14_22_13_20"], "the name of the run is when it began", runs)
    folder = "logs/plugins/profile/" + runs[0]
    expect(sorted(os.listdir(folder)) == ["first.xplane.pb", "second.xplane.pb"], os.listdir(folder))
    sums = []
    for host in ("first", "second"):
        space = xspace.read(f"{folder}/{host}.xplane.pb")
        check_form(space)
        expect([p.name for p in space.planes] == ["/host:CPU", "/device:GPU:0", "/device:GPU:1", TREE, "Task Environment"], host, space.planes)
        expect(space.hostnames == [host] and space.planes[0].stats["hostname"] == host, host, space.hostnames)
        expect([e.name for e in events(planes(space, "/device:GPU:1"))] == ["of " + host], host)
        found = events(planes(space, "/device:"), "kernel_details")
        expect({e.stats["device_id"] for e in found} == {0, 1}, found)
        scopes = {scope_of(e) for e in events(planes(space, "/host:CPU"), "domain") if scope_of(e)}
        tree = tree_of(space)
        expect(len(tree) == 4 and set(tree) | set(tree.values()) <= scopes, "scopes of another host", tree, scopes)
        sums += [e.duration for e in found]
    expect((len(sums), sum(sums)) == query("both.kymo", "SELECT count(*), sum(duration) FROM dispatch")[0] and len(sums) == 10, sums)
    run("import", "logs", "-o", "again.kymo")
    skip = ("mp", "sc", "ids", "c")  # numbers of scopes and calls, which are the file's
    sums = [{k: v for k, v in json.loads(run("query", "--format", "json", t, SUMS).stdout)[0].items() if k not in skip} for t in ("both.kymo", "again.kymo")]
    expect(sums[0] == sums[1], [(k, v, sums[1][k]) for k, v in sums[0].items() if v != sums[1][k]])


def test_folder_beside_other_runs():
    """Runs stay beside each other; what is there goes only with -f; names of hosts are no paths, and no two become one file."""
    run("export", "--to", "xspace", "-o", "logs/", made("a", launched(1, 1, 25, 4)))
    told = run("export", "--to", "xspace", "-o", "logs/", "a.kymo", status=None)
    expect(told.returncode != 0 and "--force" in told.stderr, told.stderr)
    run("export", "--to", "xspace", "-f", "-o", "logs/", made("b", launched(1, 1, 5000025, 4)))
    expect(sorted(os.listdir("logs/plugins/profile")) == ["2023_11_14_22_13_20", "2023_11_14_22_13_25"], os.listdir("logs/plugins/profile"))
    told = run("import", "logs", "-o", "x.kymo", status=None)
    expect(told.returncode != 0 and "there are 2 runs in it" in told.stderr, told.stderr)
    hosts = ["../x", ".", "a/b", "a_b", "a b", "", "\x1b", "h" * 400, "\udcff", "ö", "localhost"]
    os.mkdir("odd")
    for i, host in enumerate(hosts):
        plane = xspace.Plane("/host:CPU", 0, {"hostname": host, "process_id": 100 + i})
        plane.line(1, "main", BASE, [plane.event("call", 0, 1000000, correlation_id=1 + i)])
        xspace.write(f"odd/{i:02}.xplane.pb", [plane])
    run("import", "odd", "-o", "odd.kymo")
    run("export", "--to", "xspace", "-o", "out/", "odd.kymo")
    files = sorted(os.path.relpath(os.path.join(at, f), "out") for at, _, names in os.walk("out") for f in names)
    expect(len(files) == len(hosts) == len(set(files)) and {os.path.dirname(f) for f in files} == {"plugins/profile/2023_11_14_22_13_20"}, files)
    names = [re.sub(r"(-[0-9]+)?[.]xplane[.]pb$", "", f.split("/")[-1]) for f in files]
    expect(sorted(names) == sorted(["_._x", "_", "_", "a_b", "a_b", "a_b", "05", "h" * 180, "___", "__", "localhost"]), names)
    found = [xspace.read("out/" + f) for f in files]
    expect(sorted(p.stats["process_id"] for s in found for p in planes(s, "/host:CPU")) == list(range(100, 100 + len(hosts))), found)


def test_many_texts():
    """More different texts than the table takes: the later ones stand in the events, and none is wrong or lost."""
    n = 70000
    copies = [complete("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0, 7, 1000 + i, 0.5, device=0, stream=7, bytes=1000 + i) for i in range(n)]
    trace = made("texts", copies)
    space, _ = exported(trace, "texts.xplane.pb")
    found = events(planes(space, "/device:"), "memcpy_details")
    expect({e.types["memcpy_details"] for e in found} == {"ref", "str"}, "the limit was not reached")
    expect(sum(int(e.stats["memcpy_details"].split("size:")[1].split()[0]) for e in found) == sum(range(1000, 1000 + n)), "bytes")
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    p = subprocess.run([sys.executable, "-c", code, KYMO, "export", "--to", "xspace", "-f", "-o", "a.xplane.pb", trace], capture_output=True, check=True)
    expect(SANITIZED or int(p.stdout) < 200000, "memory in KB", p.stdout)


def test_no_room():
    """Temporary files that cannot be made, or grow: told, and nothing is left where the output should be."""
    trace = made("room", [e for i in range(3000) for e in launched(1, 1, 1000 + 9 * i, i + 1)])

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
    for what, environment, before in (("no temporary file can be made", {**os.environ, "TMPDIR": "/nowhere"}, None),
                                      ("temporary file: File too large; free space or set TMPDIR", None, limit)):
        p = subprocess.run([KYMO, "export", "--to", "xspace", "-o", "room.xplane.pb", trace], capture_output=True, text=True, check=False,
                           env=environment, preexec_fn=before)
        expect(p.returncode != 0 and what in p.stderr, what, p.returncode, p.stderr)
        expect(not [f for f in os.listdir(".") if f.startswith("room.xplane")], os.listdir("."))


def test_hostile_names():
    bad = 'n\x1b[31m"\n\u202e<b>=1+1#' + "x" * 3000
    trace = made("bad", [complete("user_annotation", bad, 1, 1, 1000, 50, **{bad: bad, "correlation_id": 5, "scope_range_id": "no"}),
                         *launched(1, 1, 1005, 4, bad), {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": bad}}])
    space, _ = exported(trace, "bad.xplane.pb")
    e = next(e for e in events(planes(space, "/host:CPU"), "category"))
    expect(e.name.startswith('n\x1b[31m"\n\u202e<b>') and e.stats["arg:correlation_id"] == 5 and e.stats["arg:scope_range_id"] == "no", e)
    expect(isinstance(scope_of(e), int), "an argument took the place of the scope")


def test_output():
    trace = made("one", launched(1, 1, 25, 4))
    told = run("export", "--to", "xspace", "-o", "a.xplane.pb.gz", trace, status=None)
    expect(told.returncode != 0 and "want it plain" in told.stderr and not os.path.exists("a.xplane.pb.gz"), told.stderr)
    run("export", "--to", "xspace", trace)
    space = xspace.read("one.xplane.pb")
    expect([p.name for p in space.planes] == ["/host:CPU", "/device:GPU:0", TREE, "Task Environment"], "planes")
    environment = space.planes[-1].stats
    expect(environment["profile_start_time"] == BASE + 25000 and environment["profile_stop_time"] == BASE + 32001, environment)
    whole = subprocess.run([KYMO, "export", "--to", "xspace", "-o", "-", trace], capture_output=True, check=True).stdout
    with open("one.xplane.pb", "rb") as f:
        expect(f.read() == whole, "standard output is another file")
    full = subprocess.run([KYMO, "export", "--to", "xspace", "-f", "-o", "/dev/full", trace], capture_output=True, check=False)
    expect(full.returncode != 0, "a full disk")
    listed = run("list", "formats").stdout
    expect("xspace" in listed and "no place" in listed, listed)


def test_unplaced():
    """What has no place is counted: kernels without device times cannot come from Chrome's form, messages and counters can."""
    trace = made("count", [{"ph": "C", "name": "heap", "pid": 1, "tid": 1, "ts": 1001 + i, "args": {"value": 12.5 + i}} for i in range(3)] +
                 [{"ph": "b", "name": "load", "cat": "net", "id": "0x1", "pid": 1, "tid": 1, "ts": 1003},
                  {"ph": "e", "name": "load", "cat": "net", "id": "0x1", "pid": 1, "tid": 1, "ts": 1013},
                  {"ph": "i", "name": "now", "cat": "c", "pid": 1, "tid": 1, "ts": 1009}])
    space, _ = exported(trace, "count.xplane.pb")
    counters = events(space.planes, line="_counters_")
    expect([(e.name, e.stats) for e in counters] == [("heap", {"heap": 12.5 + i}) for i in range(3)], counters)
    ranges = events(space.planes, line="Process ranges")
    expect([(e.name, e.duration, e.stats["domain"]) for e in ranges] == [("load", 10000, "net")], ranges)
    expect([e.name for e in events(space.planes, "mark")] == ["now"], "marks")


def test_what_a_recording_has():
    """A made-up recording: a kernel without device times, lost records, a launcher's process, devices of two kinds."""
    subprocess.run([SYNTH, "demo", "demo.kymo"], check=True, capture_output=True)
    space, said = exported("demo.kymo", "demo.xplane.pb")
    check_form(space)
    expect("no place for: kernels without device times (1)" in said, said)
    expect(len(events(planes(space, "/device:"), "kernel_details")) ==
           query("demo.kymo", "SELECT count(*) FROM dispatch WHERE start IS NOT NULL AND NOT untimed")[0][0], "kernels with times")
    expect(sorted(space.warnings) == ["process 4242, thread 4243: 17 records were lost", "process 4242, thread 4243: an unknown number of records were lost"],
           space.warnings)
    expect([(p.name, p.id, p.stats["device_type_string"]) for p in planes(space, "/device:")] ==
           [("/device:GPU:0", 0, "gpu"), ("/device:CUSTOM:Test CPU", 1, "cpu")], "numbers of devices")
    expect(space.hostnames == ["node1"], space.hostnames)
    open_calls = events(planes(space, "/host:CPU"), "left_open")
    expect(len(open_calls) == query("demo.kymo", "SELECT count(*) FROM open_call")[0][0], open_calls)


def test_two_traces():
    """What was known of one trace's scopes is not in the file of the next."""
    nested = made("nested", xla_events(1, 1, 1000, 2, 10))
    plain = made("plain", launched(1, 1, 25, 4))
    run("export", "--to", "xspace", nested, plain)
    expect(len(tree_of(xspace.read("nested.xplane.pb"))) == 4 and tree_of(xspace.read("plain.xplane.pb")) == {}, "trees")


def test_round_trip():
    """What goes out comes back as it was; ids of two processes are others afterwards, and tie the same together."""
    one = made("single", xla_events(1, 1, 1000, 3, 10) + [
        complete("cuda_runtime", "cudaMemcpyAsync", 1, 2, 1500, 1, correlation=77),
        complete("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 0, 7, 1530.5, 3, device=0, stream=7, correlation=77, bytes=123),
        complete("gpu_memset", "Memset (Device)", 1, 9, 1540, 1, device=1, stream=9, bytes=64),
        {"ph": "C", "name": "heap", "pid": 1, "tid": 1, "ts": 1501, "args": {"value": 12.5}},
        {"ph": "i", "name": "now", "cat": "c", "pid": 1, "tid": 1, "ts": 1509}], deviceProperties=DEVICES_OF_TWO)
    exported(one, "a.xplane.pb")
    said = run("import", "a.xplane.pb", "-o", "again.kymo").stderr
    expect("not taken" not in said, said)
    expect(query(one, SUMS) == query("again.kymo", SUMS), query(one, SUMS), "became", query("again.kymo", SUMS))
    exported("again.kymo", "b.xplane.pb")
    files = [sorted(str({k: v for k, v in vars(e).items() if k != "metadata_id"}) for e in events(xspace.read(f).planes)) for f in ("a.xplane.pb", "b.xplane.pb")]
    expect(files[0] == files[1], "the second time another file is written:", set(files[0]) ^ set(files[1]))
    two = two_of_everything()
    exported(two, "two.xplane.pb")
    run("import", "two.xplane.pb", "-o", "back.kymo")
    same = """SELECT p.pid, t.tid, k.start, k.duration, a.handle, q.handle AS stream, c.start AS called, ct.tid AS by_, m.start AS scope, up.start AS above
        FROM dispatch k JOIN process p ON p.id = k.process JOIN queue q ON q.id = k.queue JOIN agent a ON a.id = k.agent
        JOIN call c ON c.id = k.call JOIN thread ct ON ct.id = c.thread JOIN thread t ON t.id = k.thread JOIN call_extra x ON x.id = c.id
        JOIN marker m ON m.scope = x.scope AND m.process = k.process JOIN marker up ON up.scope = m.parent AND up.process = k.process ORDER BY 1, 2, 3"""
    expect(len(query(two, same)) == 4 and query(two, same) == query("back.kymo", same), query(two, same), "became", query("back.kymo", same))
    skip = ("mp", "sc")  # the ids of scopes, which are the file's
    sums = [{k: v for k, v in json.loads(run("query", "--format", "json", t, SUMS).stdout)[0].items() if k not in skip} for t in (two, "back.kymo")]
    expect(sums[0] == sums[1] and len(sums[0]) > 20, [(k, v, sums[1][k]) for k, v in sums[0].items() if v != sums[1][k]])


DEVICES_OF_TWO = [{"id": i, "name": "Made-up GPU", "numSms": 4} for i in range(2)]


def test_protoc():
    """A parser that is not Kymo's finds a whole message of the schema."""
    protoc = shutil.which("protoc")
    if not protoc:
        return
    proto = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "formats", "xspace")
    exported(two_of_everything(), "two.xplane.pb")
    with open("two.xplane.pb", "rb") as f:
        data = f.read()
    text = subprocess.run([protoc, "-I", proto, "--decode=xs.Space", "xspace.proto"], input=data, capture_output=True, check=True).stdout.decode()
    expect(text.count("planes {") == 6 and "\n  1: " not in text and text.count("memcpy_details") == 2, text[:500])
    raw = subprocess.run([protoc, "--decode_raw"], input=data, capture_output=True, check=True).stdout
    expect(raw.count(b"\n") > 100, "decode_raw")


sys.exit(main(globals()))
