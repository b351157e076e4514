#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counters of a kernel are beside it in timelines: kernel_counters.py KYMO KYMO_SYNTH PERFETTO_CHECK

A ROCpd database gets values of two counters for every kernel, and one for which no kernel is known."""
import importlib.util
import json
import os
import sqlite3
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import kymotest  # noqa: E402
from kymotest import check, must  # noqa: E402

KYMO, SYNTH, CHECKER = map(os.path.abspath, sys.argv[1:4])
spec = importlib.util.spec_from_file_location("perfetto_check", CHECKER)
perfetto = importlib.util.module_from_spec(spec)
spec.loader.exec_module(perfetto)
WAVES, CYCLES = "SQ_WAVES", "<GRBM> \"COUNT\""
KERNELS = ("same", "same", "other", "last")


def count(path):
    """Values of each kernel, in the order of their starts: the row's number times 10, times 100 and a half."""
    db = sqlite3.connect(path)
    tables = [n for n, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]

    def table(name):
        return next(t for t in tables if t.startswith("rocpd_" + name + "_"))
    pids = db.execute(f"SELECT nid, pid, agent_id FROM \"{table('kernel_dispatch')}\"").fetchone()
    for number, name in ((1, WAVES), (2, CYCLES)):
        db.execute(f"INSERT INTO \"{table('info_pmc')}\"(id, nid, pid, agent_id, target_arch, name, symbol, units) VALUES(?,?,?,?,?,?,?,?)",
                   (number, *pids, "GPU", name, name, "waves"))
    rows = db.execute(f"SELECT event_id FROM \"{table('kernel_dispatch')}\" ORDER BY start").fetchall()
    for i, (event,) in enumerate(rows, 1):
        for pmc, value in ((1, 10 * i), (2, 100 * i + 0.5)):
            db.execute(f"INSERT INTO \"{table('pmc_event')}\"(event_id, pmc_id, value) VALUES(?,?,?)", (event, pmc, value))
    db.commit()
    db.close()
    return len(rows)


def of_chrome(*options):
    events = json.loads(must(KYMO, "export", "--to", "chrome", "-o", "-", *options, "t.db"))["traceEvents"]
    return [(e["name"], e["args"].get(WAVES), e["args"].get(CYCLES))
            for e in sorted((e for e in events if e.get("cat") == "kernel"), key=lambda e: e["ts"])]


def real(bits):
    """The checker leaves them as they are in the file."""
    return None if bits is None else struct.unpack("<d", bits.to_bytes(8, "little"))[0]


def of_perfetto(*options):
    must(KYMO, "export", "-f", "-o", "t.pftrace", *options, "t.db")
    events = [e for e in perfetto.read("t.pftrace").events if "dispatch" in e["categories"] and e["type"] == perfetto.BEGIN]
    return [(e["name"], real(e["args"].get(WAVES)), real(e["args"].get(CYCLES))) for e in sorted(events, key=lambda e: e["time"])]


with kymotest.Folder() as folder:
    os.chdir(folder)
    work = "".join(f"kernel {name} 64 {2000 * i} 1000\n" for i, name in enumerate(KERNELS, 1))
    subprocess.run([SYNTH, "timed", "t.kymo"], check=True, text=True, input="range r 100 15000 5\n" + f"in 5\n{work}end 20000\n")
    must(KYMO, "export", "--to", "rocpd", "-o", "t.db", "t.kymo")
    check("kernels", count("t.db"), len(KERNELS))
    wanted = [(name, 10 * i, 100 * i + 0.5) for i, name in enumerate(KERNELS, 1)]
    for of in (of_chrome, of_perfetto):
        check(of.__name__, of(), wanted)
        check(f"{of.__name__}, by device", of("--rows", "device"), wanted)
        check(f"{of.__name__}, without counters", of("-d", "dispatch"), [(name, None, None) for name in KERNELS])
    os.chdir("/")
sys.exit(1 if kymotest.wrong else 0)
