#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Frames of inlined functions are those of addr2line, in a program, in a library and where debug information is in a file of
its own; and every format has them: inline.py KYMO INLINE_PROGRAM ADDR2LINE PROFILE_PROTO."""
import gzip
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must  # noqa: E402

KYMO, PROGRAM = map(os.path.abspath, sys.argv[1:3])
ADDR2LINE, PROTO = sys.argv[3:5]
CHAIN = ["inmost", "between", "program_spend", "main"]
LIBRARY = ["shop::counter<unsigned long>::add(unsigned int)", "shop::twice(unsigned long, unsigned int)", "library_spend", "main"]


def query(trace, sql):
    return [tuple(r.values()) for r in json.loads(must(KYMO, "query", "-f", "json", trace, sql))]


def chains(trace):
    """(module, address in it) -> functions with file and line, the innermost first, of each place in a stack that has debug
    information."""
    sites = {r[0]: r[1:] for r in query(trace, """SELECT i.id, m.path, i.address - m.bias AS at, n.text AS name, f.text AS file, i.line, i.caller FROM site i
        JOIN module m ON m.id = i.module JOIN string n ON n.id = i.function JOIN string f ON f.id = i.file""")}
    inner = {s[5] for s in sites.values() if s[5]}
    found = {}
    for number, (module, address, *_) in sites.items():
        if number in inner:
            continue
        chain, at = [], number
        while at:
            chain.append((sites[at][2].split("(")[0], os.path.basename(sites[at][3]), sites[at][4]))
            at = sites[at][5]
        found[module, address] = chain
    return found


def truth(module, addresses):
    """What addr2line says; its file and line go one function further out than they belong, as they are of calls."""
    out = must(ADDR2LINE, "-a", "-i", "-f", "-C", "-e", module, *(hex(a - 1) for a in addresses)).splitlines()
    found, at = {}, None
    for line in out:
        if line.startswith("0x"):
            at = found.setdefault(int(line, 16) + 1, [])
        elif len(at) and at[-1][1] is None:
            file, _, number = line.partition(" ")[0].rpartition(":")
            at[-1] = (at[-1][0], os.path.basename(file), int(number) if number.isdigit() else 0)
        else:
            at.append((line.split("(")[0], None, None))
    return found


def like_addr2line(trace, modules):
    found = chains(trace)
    for name in modules:
        mine = {a: c for (m, a), c in found.items() if os.path.basename(m) == os.path.basename(name)}
        check(f"{name}: places", len(mine) > 3, True)
        check(f"{name}: as addr2line has them", mine, truth(name, sorted(mine)))
        check(f"{name}: two deep", max(len(c) for c in mine.values()), 3)


def stacks(folded):
    with open(folded, encoding="utf-8") as f:
        return {tuple(line.rpartition(" ")[0].split(";")[2:]) for line in f}


def marked(chain):
    return [f"{n} (inlined)" for n in chain[:2]] + chain[2:]


def functions(trace):
    tables = {t["name"]: t for t in json.loads(must(KYMO, "summary", "-f", "json", trace))["tables"]}
    return {r["function"]: r for r in tables["functions"]["rows"]}


def in_formats(trace, before):
    must(KYMO, "export", "--to", "folded", "-o", "a.folded", trace)
    for chain in (CHAIN, LIBRARY):
        ends = tuple(reversed(marked(chain)))
        check(f"folded: {chain[0]}", any(s[-4:] == ends for s in stacks("a.folded")), True)
    must(KYMO, "export", "--to", "speedscope", "-o", "a.json", trace)
    with open("a.json", encoding="utf-8") as f:
        d = json.load(f)
    names = [f["name"] for f in d["shared"]["frames"]]
    got = {tuple(names[i] for i in s) for p in d["profiles"] for s in p["samples"]}
    check("speedscope", got, {tuple(f for f in s if f != "[kernel]") for s in stacks("a.folded")})
    check("its lines", {os.path.basename(f.get("file", "")) for f in d["shared"]["frames"] if "inlined" in f["name"]},
          {"inline_program.c", "inline_library.cc"})
    shown = must(KYMO, "show", trace)
    check("text", re.search(r"inmost inline_program.c:\d+ \(inlined\) < between inline_program.c:\d+ \(inlined\) < program_spend inline_program.c:\d+ < main",
                            shown) is not None, True)
    rows = functions(trace)
    check("summary: of a store", rows, before)
    check("summary", [n in rows for n in marked(CHAIN) + marked(LIBRARY)], [True] * 8)
    inmost, outer = rows["inmost (inlined)"], rows["program_spend"]
    check("total time goes outwards", inmost["total_ns"] <= rows["between (inlined)"]["total_ns"] <= outer["total_ns"], True)
    check("self time stays inside", inmost["self_ns"] > outer["self_ns"], True)
    document = json.loads(must(KYMO, "export", "--to", "json", "-o", "-", trace))["trace"]
    into = [[x["function"] for x in s["inlined_into"]] for s in document["sites"] if s and s.get("function") == "inmost"]
    check("json", bool(into) and all(i == ["between", "program_spend"] for i in into), True)
    pages = must(KYMO, "export", "--to", "chrome", "-o", "-", trace)
    check("chrome", '"between (inlined)","inmost (inlined)"' in pages.replace(", ", ","), True)


def in_pprof(trace):
    if not shutil.which("protoc") or "pprof" not in must(KYMO, "list", "formats"):
        return
    must(KYMO, "export", "--to", "pprof", "-o", "a.pb.gz", trace)
    with gzip.open("a.pb.gz") as f, open("a.pb", "wb") as out:
        out.write(f.read())
    with open("a.pb", "rb") as f:
        text = must("protoc", "-I", os.path.dirname(PROTO), "--decode=kymo_pprof.Profile", os.path.basename(PROTO), stdin=f)
    strings = [json.loads(s) for s in re.findall(r'^string_table: (".*")$', text, re.M)]
    functions = {m[0]: strings[int(m[1])] for m in re.findall(r"^function \{\n  id: (\d+)\n  name: (\d+)", text, re.M)}
    lines = {tuple(functions[f] for f in re.findall(r"function_id: (\d+)", m)) for m in re.findall(r"^location \{\n(.*?)^\}", text, re.M | re.S)}
    check("pprof: lines of a location", [tuple(c[:3]) in lines for c in (CHAIN, LIBRARY)], [True, True])


def in_perfetto(trace):
    must(KYMO, "export", "--to", "perfetto", "-o", "a.pftrace", trace)
    must(KYMO, "export", "--to", "folded", "-o", "c.folded", "a.pftrace")
    check("perfetto", {s for s in stacks("c.folded") if "inmost (inlined)" in s},
          {s for s in stacks("a.folded") if "inmost (inlined)" in s})


def apart():
    """Debug information in a file that the program names."""
    shutil.copy(PROGRAM, "apart")
    must("objcopy", "--only-keep-debug", "apart", "apart.debug")
    must("strip", "-g", "apart")
    must("objcopy", "--add-gnu-debuglink=apart.debug", "apart")
    must(KYMO, "run", "--no-summary", "--sample=500", "-o", "apart.kymo", "--", "./apart", "0.2")
    like_addr2line("apart.kymo", [os.path.abspath("apart")])


def main():
    with kymotest.Folder() as folder:
        os.chdir(folder)
        done = kymotest.run(KYMO, "run", "--no-summary", "--sample=500", "-o", "t.kymo", "--", PROGRAM, "0.6")
        if done.returncode == 2:
            kymotest.skip(done.stderr)
        before = functions("t.kymo")  # no store has been made yet
        library = next(p for p, in query("t.kymo", "SELECT path FROM module") if "inline_library" in p)
        like_addr2line("t.kymo", [PROGRAM, library])
        in_formats("t.kymo", before)
        in_pprof("t.kymo")
        in_perfetto("t.kymo")
        if shutil.which("objcopy"):
            apart()
        os.chdir("/")


main()
sys.exit(1 if kymotest.wrong else 0)
