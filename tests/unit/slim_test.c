/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files without the definitions that nothing refers to: they are read as before, in all that is
 * shown of records, and a file with anything in it that is not in order is left as it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "drain/rawfile.h"
#include "formats/raw/read.h"
#include "support/synth.h"

static char work[64];
static unsigned messages;

static void on_message(struct stream_log *l, int severity, const char *text)
{
	messages++;
}

static struct stream_log log_of_test = {on_message};

static const char *path_of(const char *trace, const char *file)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s%s%s", work, trace, *file ? "/raw/" : "", file);
	return path;
}

static off_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static uint64_t make_slim(const char *path)
{
	return rawfile_slim(path, UINT64_MAX);
}

/* ---- what is shown --------------------------------------------------------------------------- */

struct shown {
	struct stream_sink sink; /* first */
	const struct trace *t;
	struct text text;
};

static void show(struct stream_sink *sink, const struct rec *r, bool arguments)
{
	struct shown *s = (struct shown *)(void *)sink;
	const struct t_op *op = &s->t->ops[r->op];
	const char *status = rec_status_name(op, r->status);
	const struct t_field *field;
	struct wire_value value;
	struct rec_fields f;
	char room[512];

	text_addf(&s->text, "%" PRId64 " %" PRId64 " %u %s:%s %s", r->start, r->end, r->thread,
		  s->t->domains[op->domain].name, op->name, status ? status : "?");
	rec_fields_init(&f, s->t, r);
	while (arguments && rec_fields_next(&f, &field, &value)) {
		rec_value_text(s->t, field, &value, room, sizeof(room));
		text_addf(&s->text, " %s=%s", field->name, room);
	}
	text_add(&s->text, "\n");
}

static kymo_status_t on_call(struct stream_sink *s, const struct rec *r)
{
	show(s, r, true);
	return KYMO_OK;
}

#define SHOW(name)                                                                                 \
	static kymo_status_t on_##name(struct stream_sink *s, const struct rec_##name *r)          \
	{                                                                                          \
		show(s, &r->base, false);                                                          \
		return KYMO_OK;                                                                    \
	}

SHOW(dispatch)
SHOW(copy)
SHOW(allocation)
SHOW(sync)

/* All that is shown of a trace; *ops: operations that are defined. The caller frees it. */
static char *show_trace(const char *trace, unsigned *ops)
{
	struct shown s = {.sink = {.call = on_call,
				   .dispatch = on_dispatch,
				   .copy = on_copy,
				   .allocation = on_allocation,
				   .sync = on_sync}};
	struct format_options o = {.log = &log_of_test};
	struct raw_trace *rt;

	messages = 0;
	if (raw_trace_open(path_of(trace, ""), &log_of_test, &rt) != KYMO_OK)
		return strdup("");
	s.t = raw_trace_definitions(rt);
	assert_int_equal(raw_trace_read(rt, NULL, true, &s.sink, &o), KYMO_OK);
	for (uint32_t i = 0; i < s.t->open_calls_count; i++)
		text_addf(&s.text, "open %s\n", s.t->ops[s.t->open_calls[i].op].name);
	for (uint32_t i = 1; i < s.t->processes_count; i++)
		text_addf(&s.text, "process %u ended %u lost %" PRIu64 " %" PRIu64 "\n",
			  s.t->processes[i].pid, s.t->processes[i].how_ended,
			  s.t->processes[i].lost_records, s.t->processes[i].lost_definitions);
	*ops = s.t->ops_count;
	raw_trace_close(rt);
	assert_false(s.text.failed);
	return s.text.s;
}

static const char *const demo_files[] = {"node1-4242-0.kyr", "node1-5151-0.kyr"};

static void demo_is_shown_as_before(void **state)
{
	unsigned before, after;
	char *plain, *slim;

	synth_demo(path_of("demo", ""), false);
	plain = show_trace("demo", &before);
	assert_int_equal(messages, 0);
	for (int i = 0; i < 2; i++) {
		const char *path = path_of("demo", demo_files[i]);
		off_t size = size_of(path);
		uint64_t left = make_slim(path);

		assert_true(left > 0 && (off_t)left < size / 2);
		assert_int_equal(left, size_of(path));
		assert_int_equal(make_slim(path), 0); /* there is no more to be done */
	}
	slim = show_trace("demo", &after);
	assert_int_equal(messages, 0);
	assert_string_equal(plain, slim);
	assert_true(after < before);
	free(plain);
	free(slim);
}

/*
 * Each process keeps the names that it needs: of what both call, all are shown. One call is open, one is
 * only counted.
 */
static void write_failing(uint32_t pid, int32_t status)
{
	const struct synth_value arguments[] = {V_U(7)};
	const struct synth_options o = {
		.directory = path_of("statuses", ""), .pid = pid, .rank = RANK_NONE};
	struct synth *s = synth_open(&o);
	uint16_t base = synth_domain(s, &synth_test_domain);
	uint32_t t = synth_thread(s, pid, "main");
	const struct wire_tally counted = {.op = (uint32_t)base + TEST_COPY, .count = 1};

	synth_enter(s, t, (uint16_t)(base + TEST_QUERY), 100, 0);
	synth_leave(s, t, 200, status, status == 0, arguments);
	synth_enter(s, t, (uint16_t)(base + TEST_WAIT), 300, 0);
	synth_tallies(s, t, &counted, 1);
	synth_close(s, 2, 9, 1000);
}

static void names_of_statuses_are_joined(void **state)
{
	static const struct {
		int32_t status;
		const char *name;
	} all[] = {{0, " TEST_OK"}, {-30, " TEST_BAD_VALUE"}, {-1, " TEST_NO_DEVICE"}};
	unsigned ops;
	char *text;

	for (unsigned i = 0; i < 3; i++) {
		char file[64];

		write_failing(100 + i, all[i].status);
		snprintf(file, sizeof(file), "node1-%u-0.kyr", 100 + i);
		assert_true(make_slim(path_of("statuses", file)) > 0);
	}
	text = show_trace("statuses", &ops);
	for (unsigned i = 0; i < 3; i++)
		assert_non_null(strstr(text, all[i].name));
	assert_non_null(strstr(text, "open wait"));
	assert_int_equal(ops, 1 + 3); /* of three processes the same ones */
	free(text);
}

/* Whatever is wrong with a file stays to be seen: it is not made to look whole. */
static void damage_stays(void **state)
{
	unsigned slimmed = 0;
	uint8_t *all;
	size_t n;

	synth_demo(path_of("damage", ""), false);
	all = (uint8_t *)file_read(path_of("damage", demo_files[0]), &n);
	assert_non_null(all);
	for (size_t i = 0; i < n; i += 1 + n / 499) {
		char *before, *after;
		unsigned ops, said;

		all[i] ^= 0x40;
		assert_true(file_replace(path_of("damage", demo_files[0]), (const char *)all, n));
		before = show_trace("damage", &ops);
		said = messages;
		slimmed += make_slim(path_of("damage", demo_files[0])) > 0;
		after = show_trace("damage", &ops);
		assert_string_equal(before, after);
		assert_int_equal(messages, said);
		free(before);
		free(after);
		all[i] ^= 0x40;
		assert_true(file_replace(path_of("damage", demo_files[0]), (const char *)all, i));
		assert_int_equal(make_slim(path_of("damage", demo_files[0])), 0);
	}
	assert_true(slimmed < 50); /* where nobody could see it: times of the writer's headers */
	assert_true(file_replace(path_of("damage", demo_files[0]), (const char *)all, n));
	assert_true(make_slim(path_of("damage", demo_files[0])) > 0);
	free(all);
}

/* Takes out the first block of definitions; returns how many bytes are left. */
static size_t without_definitions(uint8_t *all, size_t n)
{
	size_t at = sizeof(struct raw_header), whole;
	unsigned seen = 0;
	struct raw_block b;

	for (; at < n; at += whole) {
		memcpy(&b, all + at, sizeof(b));
		whole = sizeof(b) + b.stored;
		seen += b.type == RAW_CHUNK && b.chunk_type == WIRE_CHUNK_DEFINITIONS;
		if (seen < 1)
			continue;
		memmove(all + at, all + at + whole, n - at - whole);
		return n - whole;
	}
	return n;
}

static void missing_definitions_stay_missing(void **state)
{
	size_t n, left;
	uint8_t *all;

	synth_demo(path_of("missing", ""), false);
	all = (uint8_t *)file_read(path_of("missing", demo_files[0]), &n);
	assert_non_null(all);
	left = without_definitions(all, n);
	assert_true(left < n);
	assert_true(file_replace(path_of("missing", demo_files[0]), (const char *)all, left));
	assert_int_equal(make_slim(path_of("missing", demo_files[0])), 0);
	free(all);
}

/* An hour of a process that did nothing: the clocks step once, and one reading is off. */
static void write_hour(const char *trace, unsigned step, unsigned off)
{
	const struct synth_options o = {
		.directory = path_of(trace, ""), .pid = 7, .rank = RANK_NONE, .no_clock = true};
	struct synth *s = synth_open(&o);
	uint32_t t = synth_thread(s, 7, "main");
	uint16_t base = synth_domain(s, &synth_test_domain);
	const struct synth_value arguments[] = {V_U(7)};
	uint64_t second = 1000000000;

	for (unsigned i = 0; i < 3600; i++) {
		uint64_t ns = i * second + (i == off ? 200 : 0) + (i >= step ? 5 * second : 0);

		synth_tick_point(s, SYNTH_TICK0 + i * 2 * second, SYNTH_NS0 + ns);
	}
	for (unsigned i = 1; i < 3600; i += 100) {
		synth_enter(s, t, (uint16_t)(base + TEST_QUERY), i * second, 0);
		synth_leave(s, t, i * second + 100, 0, true, arguments);
	}
	synth_close(s, 0, 0, 3600 * second);
}

static void points_between_others_go(void **state)
{
	static const struct {
		unsigned step, off;
	} hours[] = {{9999, 9999}, {1800, 9999}, {9999, 700}};

	for (unsigned i = 0; i < 3; i++) {
		char name[16], *before, *after;
		unsigned ops;

		snprintf(name, sizeof(name), "hour-%u", i);
		write_hour(name, hours[i].step, hours[i].off);
		before = show_trace(name, &ops);
		assert_true(make_slim(path_of(name, "node1-7-0.kyr")) < 4096);
		after = show_trace(name, &ops);
		assert_string_equal(before, after);
		free(before);
		free(after);
	}
}

static int make_work(void **state)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(work, sizeof(work), "%.40s/slim-test-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(work) ? 0 : -1;
}

static int remove_work(void **state)
{
	return file_remove_tree(work) ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demo_is_shown_as_before),
		cmocka_unit_test(names_of_statuses_are_joined),
		cmocka_unit_test(damage_stays),
		cmocka_unit_test(missing_definitions_stay_missing),
		cmocka_unit_test(points_between_others_go),
	};

	return cmocka_run_group_tests_name("slim", tests, make_work, remove_work);
}
