#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A field and a kind of record that are added to a copy of the source come out everywhere.

test_scratch.py SOURCE

What docs/adding-a-record.md asks for, and nothing else: lines of the model, and those of the backend
that fills them. The copy is built, a program recorded, and each output read.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv.pop(1))
COPIED = ("CMakeLists.txt", "cmake", "src", "include", "model", "api", "tools", "examples", "docs", "fortran", "python")
SPIN, WEIGHT, FLOOR = 4242, 31337, 77
sys.path[:0] = [str(SOURCE / "tests" / "base"), str(SOURCE / "tests" / "golden")]
import kymotest  # noqa: E402
import perfetto_check  # noqa: E402

GHOST = """domain ghost "Ghosts"
known
record rec_ghost

ops GHOST_OP
	seen GHOST

fields GHOST
	correlation ref:call -> correlation
	weight      bytes    -> weight
	floor       u64      -> floor:u8
	note        text     -> note

table ghost
	call correlation call
"""

GHOST_C = """/* A kind that a test adds. */
#include <pthread.h>

#include "capture/opencl/ghost.h"
#include "core/capture.h"

static struct cap_op ghost_ops[GHOST_OPS];
CAP_KNOWN_DOMAIN(ghost, packed_describe(RECORD_PACKED, RECORD_DOMAIN_ghost));
static const struct cap_domain_info info = {RECORD_DESCRIPTION(ghost), .ops = ghost_ops};

static void register_once(void)
{
	struct cap_domain *domain;

	cap_domain_register(&info, &domain);
}

void ghost_seen(uint64_t correlation, uint64_t tick)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct cap_frame f;
	struct wire_enc e;

	pthread_once(&once, register_once);
	if (!cap_activity_begin(&f, &e, &ghost_ops[GHOST_OP_SEEN], NULL, tick, tick, GHOST_FIELDS))
		return;
	wire_unsigned(&e, GHOST_CORRELATION, correlation);
	wire_unsigned(&e, GHOST_WEIGHT, %d);
	wire_unsigned(&e, GHOST_FLOOR, %d);
	wire_string(&e, GHOST_NOTE, "boo", 16);
	cap_activity_commit(&f, &e);
}
""" % (WEIGHT, FLOOR)

GHOST_H = """#include <stdint.h>

#include "record/fields.h"
void ghost_seen(uint64_t correlation, uint64_t tick);
"""


def build(folder):
    """The copy with both; returns the folder of its programs."""
    copy = folder / "source"
    copy.mkdir()
    for name in COPIED:
        (shutil.copytree if (SOURCE / name).is_dir() else shutil.copy)(SOURCE / name, copy / name)

    def change(path, old, new):
        text = (copy / path).read_text()
        if text.count(old) != 1:
            raise AssertionError(f"{path}: {old!r}")
        (copy / path).write_text(text.replace(old, new))

    line = "\tsubmit_tick       tick                -> rest.submit_tick       # host tick at which the submitting call began\n"
    change("model/dispatch.rec", line, line + "\tspin              u64                 -> spin\n")
    with open(copy / "model" / "records.list", "a") as f:
        f.write("ghost\n")
    (copy / "model" / "ghost.rec").write_text(GHOST)
    (copy / "src/capture/opencl/ghost.c").write_text(GHOST_C)
    (copy / "src/capture/opencl/ghost.h").write_text(GHOST_H)
    change("src/capture/opencl/CMakeLists.txt", "agent.c answer.c", "agent.c answer.c ghost.c")
    # The two that write kernels: one that can write all, and the quick one of those that are complete.
    writer = copy / "src/capture/opencl/work.c"
    for tick in ("wire_unsigned(e, DISPATCH_SUBMIT_TICK, w->submit);\n}",
                 "wire_unsigned_as(e, DISPATCH_SUBMIT_TICK, w->submit, WIRE_CLASS_U64);\n}"):
        change(writer, tick, tick[:-1] + f"\twire_unsigned(e, DISPATCH_SPIN, {SPIN});\n}}")
    for end in ("\tdispatch_fields(&e, w, t, why);\n\tcap_activity_commit(&f, &e);\n",
                "\t\tdispatch_fields_fit(&e, w, t, &fit, w->dims);\n\tcap_activity_end(&e);\n"):
        change(writer, end, end + "\tghost_seen(w->submission.call, now);\n")
    writer.write_text(writer.read_text().replace('#include "', '#include "capture/opencl/ghost.h"\n#include "', 1))
    # The other backends, a third of all that is compiled, know nothing of either.
    backends = copy / "src/capture/backends.list"
    backends.write_text("".join(line for line in backends.read_text().splitlines(True) if line.startswith("opencl ")))
    # With neither optimisation nor debug information.
    for command in (["cmake", "-S", copy, "-B", folder / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", "-DKYMO_TESTS=OFF",
                     "-DKYMO_BENCH=OFF"],
                    ["ninja", "-C", folder / "build", "kymo", "kymo-inject", "libkymo", "heat"]):
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError((done.stdout + done.stderr)[-4000:])
    return folder / "build" / "bin"


class Scratch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(kymotest.remove, cls.folder)
        programs = build(cls.folder)
        cls.kymo, cls.trace = programs / "kymo", cls.folder / "t.kymo"
        cls.run_kymo("run", "-o", cls.trace, programs / "heat", "--size", "64", "--frames", "2", "--steps", "3")
        cls.kernels = int(cls.run_kymo("query", "--format", "csv", cls.trace, "SELECT count(*) FROM dispatch").split()[1])

    @classmethod
    def run_kymo(cls, *args):
        done = subprocess.run([str(a) for a in (cls.kymo, *args)], capture_output=True, text=True, check=False,
                              cwd=cls.folder, env=dict(os.environ, KYMO_RECORD=""))
        if done.returncode:
            raise AssertionError(done.stderr)
        return done.stdout

    def export(self, form):
        path = self.folder / form
        self.run_kymo("export", "--to", form, "-o", path, self.trace)
        return path

    def test_store(self):
        self.assertGreater(self.kernels, 3)
        rows = self.run_kymo("query", "--format", "csv", self.trace, "SELECT count(*), min(spin), max(spin) FROM dispatch")
        self.assertEqual(rows.split()[1], f"{self.kernels},{SPIN},{SPIN}")
        rows = self.run_kymo("query", "--format", "csv", self.trace,
                             "SELECT count(*), min(g.weight), max(g.floor), count(c.id) FROM ghost g LEFT JOIN call c ON c.id = g.call")
        self.assertEqual(rows.split()[1], f"{self.kernels},{WEIGHT},{FLOOR},{self.kernels}")

    def test_json(self):
        records = json.loads(self.export("json").read_text())["records"]
        self.assertEqual([r["spin"] for r in records if r["kind"] == "dispatch"], [SPIN] * self.kernels)
        ghosts = [r["args"] for r in records if r["domain"] == "ghost"]
        self.assertEqual([(g["weight"], g["floor"], g["note"]) for g in ghosts], [(WEIGHT, FLOOR, "boo")] * self.kernels)

    def test_csv(self):
        folder = self.export("csv")
        with open(folder / "dispatches.csv", newline="") as f:
            self.assertEqual([r["spin"] for r in csv.DictReader(f)], [str(SPIN)] * self.kernels)
        with open(folder / "others.csv", newline="") as f:
            ghosts = [r for r in csv.DictReader(f) if r["domain"] == "ghost"]
        self.assertEqual(len(ghosts), self.kernels)
        for word in (f"weight={WEIGHT}", f"floor={FLOOR}", "boo"):
            self.assertIn(word, ghosts[0]["arguments"])

    def test_text(self):
        text = self.run_kymo("show", self.trace)
        self.assertEqual(text.count(f"spin={SPIN}"), self.kernels)
        self.assertEqual(text.count(f"weight={WEIGHT}"), self.kernels)

    def test_perfetto(self):
        events = perfetto_check.read(str(self.export("perfetto"))).events
        self.assertEqual([e["args"]["spin"] for e in events if "spin" in e["args"]], [SPIN] * self.kernels)
        self.assertEqual([(e["args"]["weight"], e["args"]["floor"], e["args"]["note"]) for e in events if "weight" in e["args"]],
                         [(WEIGHT, FLOOR, "boo")] * self.kernels)

    def test_summary(self):
        self.assertIn(f"Ghosts: {self.kernels}\n", self.run_kymo("summary", self.trace))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
