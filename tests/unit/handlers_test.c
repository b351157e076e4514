/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers, given records whose answers are known in closed form: of each question one planted case and one clean one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "handlers/handlers.h"

#define MOST 70000u

enum { LOAD, STORE, TILE, FIRST, SECOND, LEAVES, BEGIN, END, SITES };

static const kymo_handler_site_t sites[SITES] = {
	[LOAD] = {1, KYMO_SITE_LOAD, KYMO_SPACE_GLOBAL, 4, FIRST, 1, 1, "k", "load", ""},
	[STORE] = {2, KYMO_SITE_STORE, KYMO_SPACE_GLOBAL, 4, FIRST, 2, 1, "k", "store", ""},
	[TILE] = {3, KYMO_SITE_LOAD, KYMO_SPACE_LOCAL, 4, FIRST, 3, 1, "k", "load", ""},
	[FIRST] = {4, KYMO_SITE_BLOCK, 0, 0, UINT32_MAX, 1, 1, "k", "function", ""},
	[SECOND] = {5, KYMO_SITE_BLOCK, 0, 0, UINT32_MAX, 4, 1, "k", "loop", ""},
	[LEAVES] = {0, KYMO_SITE_END, 0, 0, UINT32_MAX, 0, 0, "", "end", ""},
	[BEGIN] = {6, KYMO_SITE_REGION_BEGIN, 0, 0, FIRST, 5, 1, "k", "tile", ""},
	[END] = {7, KYMO_SITE_REGION_END, 0, 0, FIRST, 6, 1, "k", "tile", ""},
};
static const kymo_handler_buffer_t buffers[] = {{0x100000, 8192, 1, 0, "a"},
						{0x200000, 4096, 2, 1, "b"}};
static const kymo_handler_launch_t launch = {.size = sizeof(launch),
					     .kernel = "k",
					     .group = 64,
					     .sites = sites,
					     .site_count = SITES,
					     .buffers = buffers,
					     .buffer_count = 2,
					     .profile = {32, 128, 4, 32, {32, 16, 8}}};

static kymo_access_t all[MOST];
static size_t count;
static char told[16384]; /* "table: cell cell; cell cell; " */

static void record(uint32_t site, uint32_t group, uint32_t item, uint32_t n, uint64_t address,
		   uint64_t clock)
{
	assert_true(count < MOST);
	all[count++] = (kymo_access_t){site, group, item, n, address, clock};
}

/* ---- what is reported -------------------------------------------------------------------------- */

static void add(const char *text)
{
	assert_true(strlen(told) + strlen(text) < sizeof(told));
	strcat(told, text);
}

static kymo_status_t table(kymo_handler_writer_t *w, const char *name, const char *const *columns,
			   uint32_t n)
{
	add(name);
	add(": ");
	return KYMO_OK;
}

static kymo_status_t row(kymo_handler_writer_t *w, uint32_t place, const kymo_handler_cell_t *c,
			 uint32_t n)
{
	char text[128];

	for (uint32_t i = 0; i < n; i++) {
		if (c[i].kind == KYMO_CELL_TEXT)
			snprintf(text, sizeof(text), "%s", c[i].value.text ? c[i].value.text : "-");
		else if (c[i].kind == KYMO_CELL_REAL)
			snprintf(text, sizeof(text), "%g", c[i].value.real);
		else
			snprintf(text, sizeof(text), "%llu", (unsigned long long)c[i].value.number);
		add(text);
		add(i + 1 < n ? " " : "; ");
	}
	return KYMO_OK;
}

static kymo_status_t left_out(kymo_handler_writer_t *w, const char *what, uint64_t n)
{
	char text[32];

	snprintf(text, sizeof(text), "left out %llu; ", (unsigned long long)n);
	add(n ? text : "");
	return KYMO_OK;
}

/* With the options as a user writes them; a batch of a group at a time, or all at once. */
static const char *report(const char *spec, const kymo_handler_launch_t *l, bool at_once)
{
	kymo_handler_writer_t w = {sizeof(w), table, row, left_out};
	struct handlers_spec s;
	char why[200] = "";
	void *state;

	assert_true(handlers_spec_next(&spec, &s, why, sizeof(why)));
	const kymo_handler_t *h = handlers_find(s.name);
	const kymo_handler_options_t options = {sizeof(options), s.count, s.keys, s.values};

	assert_non_null(h);
	told[0] = '\0';
	assert_int_equal(h->init(&options, l, &state, why, sizeof(why)), KYMO_OK);
	for (size_t from = 0, to = at_once ? count : 0; from < count; from = to) {
		while (to < count && all[to].group == all[from].group)
			to++;
		assert_int_equal(h->on_batch(state, all + from, to - from), KYMO_OK);
	}
	assert_int_equal(h->report(state, &w), KYMO_OK);
	h->finish(state);
	handlers_spec_release(&s);
	return told;
}

static void has(const char *what)
{
	if (!strstr(told, what))
		fail_msg("\"%s\" is not in \"%s\"", what, told);
}

/* ---- heat map ---------------------------------------------------------------------------------- */

/* All of `a` once, its first page once more, one access beside all buffers, and one of local memory. */
static void test_heatmap(void **unused)
{
	count = 0;
	for (uint32_t i = 0; i < 2048; i++)
		record(LOAD, i / 64, i % 64, 0, 0x100000 + 4 * i, 0);
	for (uint32_t i = 0; i < 1024; i++)
		record(STORE, i / 64, i % 64, 0, 0x100000 + 4 * i, 0);
	record(STORE, 0, 0, 1, 0x300000, 0);
	record(TILE, 0, 0, 0, 64, 0);
	report("heatmap:page=4K", &launch, true);
	has("pages: 1048576 4096 a 2048 8192; 1052672 4096 a 1024 4096; 3145728 4096 - 1 4; ");
	has("buffers: a 0 1 1048576 8192 3072 12288; b 1 2 2097152 4096 0 0; "
	    "(none that is known) - - - - 1 4; ");
	has("memories: global 3073 12292; local 1 4; ");
	report("heatmap", &launch, true);
	has("pages: 1048576 1048576 a 3072 12288; 3145728 1048576 - 1 4; ");
}

/* ---- reuse distance ---------------------------------------------------------------------------- */

/* A sweep over n lines, twice: each line comes again after n - 1 others. */
static void test_reuse(void **unused)
{
	enum { LINES = 24000 };

	count = 0;
	for (uint32_t turn = 0; turn < 2; turn++)
		for (uint32_t i = 0; i < LINES; i++)
			record(turn ? STORE : LOAD, 0, 0, i, 128ull * i, 0);
	record(TILE, 0, 0, 0, 0, 0);
	report("reuse", &launch, true);
	has("all: cold - 24000; 16384-32767 16384 24000; ");
	has("places: cold - 24000; 16384-32767 16384 24000; ");
	/* Clean: each line until it is done with. Some lie across two. */
	count = 0;
	for (uint32_t i = 0; i < 4096; i++)
		record(LOAD, 0, 0, i, 4 * i, 0);
	report("reuse", &launch, true);
	has("all: cold - 128; 0 0 3968; ");
	report("reuse:line=64", &launch, true);
	has("all: cold - 256; 0 0 3840; ");
	count = 0;
	record(LOAD, 0, 0, 0, 126, 0);
	record(LOAD, 0, 0, 1, 126, 0);
	report("reuse", &launch, true);
	has("all: cold - 2; 1 1 2; ");
}

/* More touches than the tree has times at first, of few lines; and groups that came in each other. */
static void test_reuse_long(void **unused)
{
	count = 0;
	for (uint32_t i = 0; i < 69999; i++)
		record(LOAD, 0, 0, i, 128ull * (i % 3), 0);
	report("reuse", &launch, true);
	has("all: cold - 3; 2-3 2 69996; ");
	count = 0;
	for (uint32_t i = 0; i < 100; i++)
		record(LOAD, i % 2, 0, i / 2, i % 2 ? 0 : 128, 0);
	report("reuse", &launch, true);
	has("all: cold - 2; 0 0 98; ");
}

/* ---- blocks ------------------------------------------------------------------------------------ */

/* Item i of a group of 10 takes i + 1 ticks a turn of a loop, of which there are 10, after 100 in the function's first part. */
static void run_items(uint32_t group)
{
	for (uint32_t i = 0; i < 10; i++) {
		uint64_t t = 1000 + 1000 * i;

		record(FIRST, group, i, 0, 0, t);
		record(BEGIN, group, i, 0, 0, t + 10);
		t += 100;
		for (uint32_t k = 0; k < 10; k++, t += i + 1)
			record(SECOND, group, i, k, 0, t);
		record(END, group, i, 0, 0, t);
		record(LEAVES, group, i, 0, 0, t);
	}
}

static void test_blocks(void **unused)
{
	kymo_handler_launch_t l = launch;

	l.ticks_per_second = 1e9;
	count = 0;
	run_items(0);
	run_items(1);
	report("blocks:groups=1", &l, true);
	has("blocks: function 20 20 0 100 100 100 100 100 100 100; ");
	has("loop 200 20 0 5.5 1 5.5 10 5 9 10; ");
	has("regions: tile 20 20 0 145 100 145 190 140.5 180.5 190; ");
	has("groups: 0 function 10 100 100 100 100 100 100 100; 0 loop 100 5.5 1 5.5 10 5 9 10; ");
	has("left out 1; ");
}

static void test_blocks_without_clock(void **unused)
{
	kymo_handler_launch_t l = launch;

	l.no_clock = "there is none";
	count = 0;
	run_items(0);
	for (size_t i = 0; i < count; i++)
		all[i].clock = 0;
	report("blocks", &l, true);
	has("blocks: function 10 10 10 - - - - - - -; loop 100 10 100 - - - - - - -; ");
	has("left out 1; ");
}

/* A region that is left open, and one that was not begun. */
static void test_regions(void **unused)
{
	count = 0;
	record(FIRST, 0, 0, 0, 0, 10);
	record(BEGIN, 0, 0, 0, 0, 11);
	record(LEAVES, 0, 0, 0, 0, 20);
	record(FIRST, 0, 1, 0, 0, 10);
	record(END, 0, 1, 0, 0, 12);
	record(LEAVES, 0, 1, 0, 0, 20);
	report("blocks", &launch, true);
	has("regions: tile 1 1 1 - - - - - - -; tile 1 1 1 - - - - - - -; ");
}

/* Times far apart: percentiles are good to a hundredth. */
static void test_percentiles(void **unused)
{
	count = 0;
	for (uint32_t i = 0; i < 100; i++) {
		record(FIRST, i, 0, 0, 0, 1);
		record(LEAVES, i, 0, 0, 0, 1 + 1000000ull * (i + 1));
	}
	report("blocks:groups=0", &launch, false);
	unsigned long long least, most;
	double ns, mean, p50, p90, p99;

	assert_int_equal(sscanf(told, "blocks: function 100 100 0 %lf %llu %lf %llu %lf %lf %lf;",
				&ns, &least, &mean, &most, &p50, &p90, &p99),
			 7);
	assert_int_equal(least, 1000000);
	assert_int_equal(most, 100000000);
	assert_true(p50 > 49.5e6 && p50 < 50.5e6 && p90 > 89.1e6 && p90 < 90.9e6);
	assert_true(p99 > 98e6 && p99 <= 100e6);
}

/* ---- logs -------------------------------------------------------------------------------------- */

static void test_logs(void **unused)
{
	count = 0;
	record(LOAD, 1, 3, 0, 0x100004, 0);
	record(STORE, 0, 2, 5, 0x200008, 0);
	record(TILE, 0, 2, 0, 16, 0);
	report("addresses", &launch, true);
	assert_string_equal(told, "records: 0 2 5 store global b 4 2097160; "
				  "0 2 0 load local - 4 16; 1 3 0 load global a 4 1048580; ");
	report("addresses:limit=1", &launch, true);
	assert_string_equal(told, "records: 0 2 5 store global b 4 2097160; left out 2; ");
	count = 0;
	record(FIRST, 0, 0, 0, 0, 7);
	record(BEGIN, 0, 0, 0, 0, 8);
	record(LEAVES, 0, 0, 0, 0, 0);
	report("block-log", &launch, true);
	assert_string_equal(told, "records: 0 0 0 block function 7; 0 0 0 begin tile 8; "
				  "0 0 0 leaves end -; ");
}

/* ---- as users name them ------------------------------------------------------------------------ */

static void test_names(void **unused)
{
	static const char *const wrong[] = {"a,", "a,,b", ":page=1", "A", "a:=1", "a:Page=1"};
	const char *list = "heatmap:page=4K:x,./lib.so:k=a=b";
	struct handlers_spec s;
	char why[200];

	assert_true(handlers_spec_next(&list, &s, why, sizeof(why)));
	assert_string_equal(s.name, "heatmap");
	assert_int_equal(s.count, 2);
	assert_string_equal(s.values[0], "4K");
	assert_string_equal(s.values[1], "");
	handlers_spec_release(&s);
	assert_true(handlers_spec_next(&list, &s, why, sizeof(why)));
	assert_true(s.path);
	assert_string_equal(s.values[0], "a=b");
	handlers_spec_release(&s);
	assert_true(handlers_spec_next(&list, &s, why, sizeof(why)));
	assert_string_equal(s.name, "");
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		bool good = true;

		for (list = wrong[i]; good && *list; handlers_spec_release(&s))
			good = handlers_spec_next(&list, &s, why, sizeof(why));
		assert_false(good);
	}
}

static void refused(const char *spec, const char *because)
{
	struct handlers_spec s;
	char why[200] = "";
	void *state;

	assert_true(handlers_spec_next(&spec, &s, why, sizeof(why)));
	const kymo_handler_options_t options = {sizeof(options), s.count, s.keys, s.values};

	assert_int_equal(handlers_find(s.name)->init(&options, &launch, &state, why, sizeof(why)),
			 KYMO_ERROR_INVALID_ARGUMENT);
	if (!strstr(why, because))
		fail_msg("\"%s\" does not say \"%s\"", why, because);
	handlers_spec_release(&s);
}

static void test_options(void **unused)
{
	refused("heatmap:page=0", "page=0");
	refused("heatmap:page=4Q", "page=4Q");
	refused("heatmap:page=99999999999999G", "page=");
	refused("heatmap:page=1:page=2", "twice");
	refused("reuse:pages=1", "no option \"pages\"");
	refused("blocks:groups=x", "groups=x");
	refused("memory:warp=33", "32 or 64");
	refused("addresses:limit=0", "limit=0");
}

/* ---- devices in lockstep ----------------------------------------------------------------------- */

static void test_profile(void **unused)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{"warp = 32\n", "line is missing"},
		{"warp = 65\n", "line 1: warp is 1 whole number from 1 to 64, not \"65\""},
		{"# a\nwarp = 3x\n", "line 2: warp is"},
		{"warp = 32\nwarp = 32\n", "line 2: it is there twice: \"warp\""},
		{"\nwidth = 1\n", "line 2: there are warp,"},
		{"warp 32\n", "line 1: a line is KEY = VALUE, not \"warp 32\""},
		{"together = 32 16\n",
		 "line 1: together is 3 whole numbers from 1 to 64, not \"32 16\""},
		{"together = 32 16 8 4\n", "line 1: together is 3 whole numbers"},
		{"bank = 0\n", "line 1: bank is"},
	};
	kymo_lanes_profile_t p, again;
	char why[200], text[LANES_TEXT];

	assert_true(lanes_profile_parse("# a GPU\nwarp=64 # lanes\nline = 64\nbank=4\r\n"
					"banks = 64\ntogether = 64, 32 16\n",
					&p, why, sizeof(why)));
	assert_int_equal(p.warp, 64);
	assert_int_equal(p.line, 64);
	assert_int_equal(p.banks, 64);
	assert_int_equal(p.together[2], 16);
	lanes_profile_text(&p, "=", ";", text);
	assert_true(lanes_profile_parse(text, &again, why, sizeof(why)));
	assert_memory_equal(&p, &again, sizeof(p));
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_false(lanes_profile_parse(wrong[i].text, &p, why, sizeof(why)));
		if (!strstr(why, wrong[i].why))
			fail_msg("\"%s\" does not say \"%s\"", why, wrong[i].why);
	}
}

/* Lines of 64 bytes and 64 banks: a stride of 16 floats takes a line for each lane, one of 32 meets two banks. */
static void memory_of(uint32_t stride, const char *global, const char *local)
{
	kymo_handler_launch_t l = launch;

	l.profile = (kymo_lanes_profile_t){64, 64, 4, 64, {64, 32, 16}};
	count = 0;
	for (uint32_t i = 0; i < 64; i++) {
		record(LOAD, 0, i, 0, 0x100000 + 4ull * stride * i, 0);
		record(TILE, 0, i, 0, 4ull * stride * i, 0);
	}
	report("memory", &l, true);
	has(global);
	has(local);
}

static void test_memory(void **unused)
{
	memory_of(1, "load global 4 64 1 64 100 4 4 - 0 64; ",
		  "load local 4 64 1 64 100 1 1 0 0 64; ");
	memory_of(16, "load global 4 64 1 64 100 4 64 - 0 64; ",
		  "load local 4 64 1 64 100 1 16 15 0 64; ");
	memory_of(33, "load global 4 64 1 64 100 4 64 - 0 64; ",
		  "load local 4 64 1 64 100 1 1 0 0 64; ");
}

/* An address that is no multiple of the size, by lanes of which half take part. */
static void test_misaligned(void **unused)
{
	count = 0;
	for (uint32_t i = 0; i < 64; i += 2)
		record(LOAD, 0, i, 0, 0x100002 + 4ull * i, 0);
	report("memory", &launch, true);
	has("load global 4 32 2 64 50 2 ");
	has(" 32 32; ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heatmap),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_reuse_long),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_blocks_without_clock),
		cmocka_unit_test(test_regions),
		cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_logs),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_misaligned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
