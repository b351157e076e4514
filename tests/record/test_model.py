# SPDX-License-Identifier: Apache-2.0
"""The record model: a field and a kind that are added are found in everything generated; mistakes are refused."""

import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)
GENERATOR = os.path.join(ROOT, "tools", "gen", "gen_records.py")

GHOST = """domain ghost "Ghosts"
builtin GHOST
record rec_ghost

ops GHOST_OP
	seen GHOST

fields GHOST
	correlation ref:call  -> correlation
	agent       ref:agent -> agent
	plan        ref:program -> plan
	weight      double    -> weight
	note        text      -> note
	floor       u64       -> floor:u8

table ghost
	call correlation call
"""


class Model(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.model = os.path.join(self.folder, "model")
        self.out = os.path.join(self.folder, "out")
        shutil.copytree(os.path.join(ROOT, "model"), self.model)

    def write(self, name, text, mode="a"):
        with open(os.path.join(self.model, name), mode, encoding="utf-8") as f:
            f.write(text)

    def change(self, name, old, new):
        path = os.path.join(self.model, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        self.assertEqual(text.count(old), 1, old)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(old, new))

    def generate(self, *more):
        return subprocess.run([sys.executable, "-B", GENERATOR, "--model", self.model, "--out", self.out, *more],
                              capture_output=True, text=True, check=False)

    def made(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as f:
            return f.read()

    def assert_in_order(self, text, *parts):
        at = 0
        for part in parts:
            at = text.find(part, at)
            self.assertGreaterEqual(at, 0, f"{part} (in this order)")

    def test_a_field_is_everywhere(self):
        self.change("dispatch.rec", "\tsubmit_tick       tick ",
                    "\tspin              u64                 -> spin   # turns\n\tsubmit_tick       tick ")
        self.assertEqual(self.generate().stderr, "")
        self.assert_in_order(self.made("fields.h"), "DISPATCH_UNTIMED,", "DISPATCH_SPIN, /* turns */",
                             "DISPATCH_SUBMIT_TICK,", "DISPATCH_FIELDS", "LAUNCH_CORRELATION")
        self.assert_in_order(self.made("schema.c"), ".fields = {", "0, KYMO_KIND_UNSIGNED, 0, 8, 0}, /* spin */",
                             "/* submit_tick */", ".text =", '"spin\\0"')
        self.assert_in_order(self.made("types.h"), "struct rec_dispatch {", "uint64_t spin; /* turns */", "};")
        self.assert_in_order(self.made("decode.c"), "dispatch_slots[]", '{"spin", KYMO_KIND_UNSIGNED}', "copy_slots[]",
                             "decode_dispatch", "out->spin = v.u;", "decode_copy")
        self.assert_in_order(self.made("store_tables.sql"), "CREATE TABLE dispatch(", "collected INTEGER, spin INTEGER);")
        self.assert_in_order(self.made("store_functions.inc"), "row_dispatch", "c[26] = (int64_t)r->spin; /* spin */")
        self.assertIn('{"dispatch", 27, false, 0}', self.made("store_rows.inc"))
        self.assert_in_order(self.made("show_json.inc"), "show_dispatch", "if (r->spin)",
                             'json_key_unsigned(o, "spin", r->spin);', "show_copy")
        self.assert_in_order(self.made("show_json.inc"), "shown_by_own_code", '"dispatch"', '"device_sample"')
        self.assertNotIn('"counter"', self.made("show_json.inc"))
        self.assert_in_order(self.made("show_csv.inc"), "show_dispatch", "csv_unsigned(o, r->offset[0]);",
                             "csv_unsigned(o, r->spin);", "show_copy")
        self.assertRegex(self.made("csv_headers.h"), 'CSV_DEFAULT_DISPATCH ",dims,offset_x,.*,spin,cluster_x,')
        self.assert_in_order(self.made("show_text.inc"), "show_dispatch", "if (r->spin)",
                             'text_key_unsigned(o, "spin", r->spin);', "show_copy")
        self.assert_in_order(self.made("show_perfetto.inc"), "show_dispatch", "if (r->spin)",
                             'packet_add_uint(o, "spin", r->spin);', "show_copy")

    def test_a_kind_is_everywhere(self):
        self.write("ghost.rec", GHOST, "w")
        self.write("records.list", "ghost\n")
        self.assertEqual(self.generate().stderr, "")
        fields = self.made("fields.h")
        self.assertIn("\tRECORD_DOMAIN_ghost,", fields)
        self.assertIn("/* ghost */", self.made("schema.c"))
        self.assert_in_order(fields, "GHOST_OP_SEEN,", "GHOST_OPS", "GHOST_AGENT,", "GHOST_FIELDS",
                             "X(ghost, ghost, GHOST_OPS, GHOST)")
        self.assert_in_order(self.made("types.h"), "struct rec_ghost {", "struct rec base;", "uint32_t agent;",
                             "uint32_t plan;", "double weight;", "uint32_t note_length;", "const char *note;", "uint8_t floor;",
                             "X(GHOST, ghost, rec_ghost)", 'X("ghost", GHOST)')
        self.assert_in_order(self.made("decode.c"), "case RAW_KIND_GHOST:", "return ghost_slots;", "decode_ghost",
                             "out->agent = map_get(&p->agents, v.u);",
                             "out->plan = map_get(&p->programs, v.u);", "out->weight = v.f;",
                             "out->floor = (uint8_t)v.u;", "decode_ghost(c, w, ro, op, fields, &out->ghost);")
        self.assertIn("CREATE TABLE ghost(id INTEGER PRIMARY KEY, call INTEGER, agent INTEGER, plan INTEGER, "
                      "weight REAL, floor INTEGER);", self.made("store_tables.sql"))
        self.assertIn('{"ghost", 6, false, 16}', self.made("store_rows.inc"))
        rows = self.made("store_functions.inc")
        self.assert_in_order(rows, "put_ghost", "row_ghost(w, c, id, r);")
        self.assertNotIn("X(ghost, rec_ghost, 0)", self.made("types.h"))  # nothing is added up of it

    def test_references_are_named(self):
        """Where a format's own code has a kind and not this field: by name, in JSON as index of its list."""
        self.change("allocation.rec", "\tparent       u64                  ->",
                    "\tfrom         ref:queue            -> from\n\tparent       u64                  ->")
        self.assertEqual(self.generate().stderr, "")
        self.assert_in_order(self.made("types.h"), "#define RECORD_REFERENCES(X)", 'X(QUEUE, "queue", queues)',
                             'X(DEVICE_CONTEXT, "device_context", contexts)', "REFERENCE_CALL,", "REFERENCE_QUEUE,")
        name = "reference_name(t, REFERENCE_QUEUE, r->from, room, sizeof(room))"
        self.assertIn(f"csv_text(o, {name});", self.made("show_csv.inc"))
        self.assertIn(f'text_key_text(o, "from", {name});', self.made("show_text.inc"))
        self.assertIn('json_key_unsigned(o, "from", r->from);', self.made("show_json.inc"))

    def test_a_tally_is_everywhere(self):
        self.write("ghost.rec", GHOST, "w")
        self.write("records.list", "ghost\n")
        self.write("tallies.rec", "\ntally GHOST tally_ghost\n\tkeys process:process agent:agent floor\n\twire agent floor\n"
                                  "\tcolumns calls=count weight=sum min\n")
        self.assertEqual(self.generate().stderr, "")
        keys = self.made("tallies.h")
        self.assert_in_order(keys, "TALLY_LOSS,", "TALLY_GHOST,", "TALLY_KINDS", "TALLY_KEYS  7", "TALLY_SCOPE 6",
                             "KEY_PROCESS = 0,", "KEY_GHOST_AGENT = 1,", "KEY_GHOST_FLOOR = 2,")
        self.assert_in_order(self.made("fields.h"), "enum wire_tally_key", "WIRE_KEY_GHOST_AGENT = 0,",
                             "WIRE_KEY_GHOST_FLOOR = 1,")
        columns = self.made("tally_columns.inc")
        self.assert_in_order(columns, "tally_error_columns[]", '{"status", SQL_I32,', '{"thread", SQL_U32,')
        self.assert_in_order(columns, "tally_ghost_columns[]", '{"floor", SQL_U32, offsetof(struct tally, key) + 2',
                             '{"calls", SQL_U64, offsetof(struct tally, count)}', '{"weight", SQL_DOUBLE, offsetof(struct tally, sum)}',
                             '{"min", SQL_EXTREME, offsetof(struct tally, min)}',
                             '[TALLY_GHOST] = SQL_TABLE("tally_ghost"', "[TALLY_GHOST] = {OF_PROCESS, OF_AGENT, OF_NUMBER}")
        self.assertIn("CREATE TABLE tally_ghost(id INTEGER PRIMARY KEY, process INTEGER, agent INTEGER, floor INTEGER, "
                      "calls INTEGER, weight REAL, min INTEGER);", self.made("store_tables.sql"))
        self.assert_in_order(self.made("store_functions.inc"), "put_ghost", "w->tally.sink.ghost(", "row_ghost(")
        self.assert_in_order(self.made("types.h"), "#define RECORD_TALLIED(X)", "X(ghost, rec_ghost, 0)")

    def refused(self, message):
        done = self.generate()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(message, done.stderr)

    def test_mistakes_are_refused(self):
        mistakes = (("u64                 -> dims:u32", "u65                 -> dims:u32", ": dims: type u65"),
                    ("\tlaunch LAUNCH\n", "\tlaunch LUNCH\n", "dispatch.launch: no fields LUNCH"),
                    ("enum:untimed_reason -> rest.untimed ", "enum:untimed_season -> rest.untimed ",
                     "DISPATCH untimed: no enum untimed_season"),
                    ("\tlike global_x ", "\tlike agent ", "LAUNCH: a field twice"),
                    ("correlation       ref:call            -> rest.correlation       # the call",
                     "correlation       ref:spirit          -> rest.correlation       # the call",
                     "correlation: ref:spirit: REFERENCES does not say where to find it"),
                    ("fields LAUNCH most 24", "fields LAUNCH most 23", "LAUNCH: more than 23 fields"),
                    ("elsewhere start agent queue", "elsewhere begin agent queue",
                     "dispatch: elsewhere: no field begin"),
                    ("record rec_dispatch", "reckord rec_dispatch", "dispatch.rec:7: unknown word reckord"))
        for old, new, message in mistakes:
            with self.subTest(message):
                self.change("dispatch.rec", old, new)
                self.refused(message)
                self.change("dispatch.rec", new, old)

    def test_fields_that_say_when(self):
        """What readers look at to place a record is what the model says, of aliases and new kinds, too."""
        self.change("sample.rec", "elsewhere time ", "alias doze\nelsewhere time tid ")
        self.assertEqual(self.generate().returncode, 0)
        text = self.made("schema.c")
        for name in "sample", "doze":
            for field in "time", "tid":
                self.assertIn(f'{{"{name}", "{field}"}},', text)

    def test_page_is_of_this_model(self):
        page = os.path.join(self.folder, "records.md")
        self.generate("--docs", page)
        self.assertTrue(filecmp.cmp(page, os.path.join(ROOT, "docs", "records.md"), shallow=False),
                        "docs/records.md: run tools/gen/gen_records.py --model model --docs docs/records.md")


if __name__ == "__main__":
    unittest.main()
