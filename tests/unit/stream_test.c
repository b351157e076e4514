/* SPDX-License-Identifier: Apache-2.0 */
/* Values as text, clock mapping, output helpers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream/output.h"
#include "stream/recorded.h"
#include "stream/reference.h"
#include "stream/symbol.h"
#include "stream/ticks.h"
#include "stream/trace.h"
#include "wire/raw.h"

/* ---- values -------------------------------------------------------------------------------- */

static kymo_enum_value_t mode_values[] = {{"A", 1}, {"B", 2}, {"B_AGAIN", 2}, {"HIGH", 0x11f0}};
static const struct t_enum_set modes = {"mode", mode_values, 4};
static kymo_enum_value_t flag_values[] = {{"R", 1}, {"W", 2}, {"RW", 3}, {"X", 4}};
static const struct t_enum_set flags = {"flags", flag_values, 4};

static const char *text_of(const struct t_field *f, const struct wire_value *v)
{
	static char text[256];

	assert_true(rec_value_text(NULL, f, v, text, sizeof(text)) < sizeof(text));
	return text;
}

static const char *number_text(uint8_t kind, uint8_t size, const struct t_enum_set *set, uint64_t u)
{
	const struct t_field f = {.kind = kind, .size = size, .set = set};
	const struct wire_value v = {.present = true, .kind = kind, .u = u};

	return text_of(&f, &v);
}

static void numbers_as_text(void **state)
{
	assert_string_equal(number_text(KYMO_KIND_UNSIGNED, 8, NULL, UINT64_MAX),
			    "18446744073709551615");
	assert_string_equal(number_text(KYMO_KIND_SIGNED, 8, NULL, (uint64_t)INT64_MIN),
			    "-9223372036854775808");
	assert_string_equal(number_text(KYMO_KIND_HANDLE, 8, NULL, 0xabc), "0xabc");
	assert_string_equal(number_text(KYMO_KIND_POINTER, 8, NULL, 0), "NULL");
	assert_string_equal(number_text(KYMO_KIND_BOOL, 1, NULL, 1), "true");
	assert_string_equal(number_text(KYMO_KIND_REF, 8, NULL, 7), "#7"); /* of an unknown kind */
	assert_string_equal(number_text(KYMO_KIND_ENUM, 4, &modes, 2), "B");
	assert_string_equal(number_text(KYMO_KIND_ENUM, 4, &modes, 0x11f0), "HIGH");
	assert_string_equal(number_text(KYMO_KIND_ENUM, 4, &modes, 9), "9");
	assert_string_equal(number_text(KYMO_KIND_ENUM, 4, &modes, 0xffff), "0xffff");
	assert_string_equal(number_text(KYMO_KIND_ENUM, 4, NULL, (uint64_t)-3), "-3");
	assert_string_equal(number_text(KYMO_KIND_FLAGS, 8, &flags, 3), "RW");
	assert_string_equal(number_text(KYMO_KIND_FLAGS, 8, &flags, 5), "R|X");
	assert_string_equal(number_text(KYMO_KIND_FLAGS, 8, &flags, 0x14), "X|0x10");
	assert_string_equal(number_text(KYMO_KIND_FLAGS, 8, &flags, 0), "0");
}

static void floats_as_text(void **state)
{
	const struct t_field narrow = {.kind = KYMO_KIND_FLOAT, .size = 4};
	const struct t_field wide = {.kind = KYMO_KIND_FLOAT, .size = 8};
	struct wire_value v = {.present = true, .kind = KYMO_KIND_FLOAT};
	const float f = 0.1f;
	const double d = 1.0 / 3;

	memcpy(&v.u, &f, 4);
	assert_string_equal(text_of(&narrow, &v), "0.1");
	memcpy(&v.u, &d, 8);
	assert_string_equal(text_of(&wide, &v), "0.33333333333333331");
}

static void strings_as_text(void **state)
{
	const struct t_field f = {.kind = KYMO_KIND_STRING, .size = 1};
	struct wire_value v = {.present = true,
			       .kind = KYMO_KIND_STRING,
			       .data = (const uint8_t *)"a\"b\\\n\x02z",
			       .count = 7,
			       .total = 7};
	char small[5];

	assert_string_equal(text_of(&f, &v), "\"a\\\"b\\\\\\n\\x02z\"");
	assert_int_equal(rec_value_text(NULL, &f, &v, small, sizeof(small)), 15);
	assert_string_equal(small, "\"a\\\"");
	assert_int_equal(rec_value_text(NULL, &f, &v, NULL, 0), 15);
	v.total = 9;
	assert_string_equal(text_of(&f, &v), "\"a\\\"b\\\\\\n\\x02z\"...");
	v.present = false;
	assert_string_equal(text_of(&f, &v), "NULL");
}

/* What a record refers to: texts in quotes, also those that are empty; what was cut says so. */
static void references_as_text(void **state)
{
	struct t_field f = {.kind = KYMO_KIND_REF, .size = 8, .reference = REFERENCE_STRING};
	struct wire_value v = {.present = true, .kind = KYMO_KIND_REF};
	struct trace *t = trace_new();
	char text[64], room[REFERENCE_TEXT];

	assert_non_null(t);
	*trace_add(t, strings) = (struct t_string){"", 0, 0};
	*trace_add(t, strings) = (struct t_string){"ab", 2, 2};
	*trace_add(t, strings) = (struct t_string){"ab", 2, 9};
	*trace_add(t, blobs) = (struct t_blob){.what = "", .data = "", .stored = 0, .total = 0};
	*trace_add(t, blobs) = (struct t_blob){.what = "", .data = "xyz", .stored = 3, .total = 4};
	*trace_add(t, kernels) = (struct t_kernel){.domain = "", .name = ""};
	static const struct {
		uint8_t what;
		uint64_t index;
		const char *text;
	} wanted[] = {{REFERENCE_STRING, 0, "none"},     {REFERENCE_STRING, 1, "\"\""},
		      {REFERENCE_STRING, 2, "\"ab\""},   {REFERENCE_STRING, 3, "\"ab\"..."},
		      {REFERENCE_STRING, 4, "#4"},       {REFERENCE_BLOB, 1, "\"\""},
		      {REFERENCE_BLOB, 2, "\"xyz\"..."}, {REFERENCE_KERNEL, 1, "#1"}};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		f.reference = wanted[i].what;
		v.u = wanted[i].index;
		rec_value_text(t, &f, &v, text, sizeof(text));
		assert_string_equal(text, wanted[i].text);
	}
	assert_string_equal(reference_name(t, REFERENCE_STRING, 3, room, sizeof(room)), "ab...");
	trace_free(t);
}

static void arrays_as_text(void **state)
{
	const struct t_field f = {
		.kind = KYMO_KIND_ARRAY, .element = KYMO_KIND_ENUM, .size = 4, .set = &modes};
	const uint32_t data[] = {1, 2, 5};
	struct wire_value v = {.present = true,
			       .kind = KYMO_KIND_ARRAY,
			       .width = 4,
			       .data = (const uint8_t *)data,
			       .count = 3,
			       .total = 3};

	assert_string_equal(text_of(&f, &v), "[A, B, 5]");
	v.total = 10;
	assert_string_equal(text_of(&f, &v), "[A, B, 5, ... 10 in all]");
	v.count = v.total = 0;
	assert_string_equal(text_of(&f, &v), "[]");
}

/* ---- clocks -------------------------------------------------------------------------------- */

/* Ticks at 2.5 GHz, then 2.6: piecewise linear, ascending, exact at the points. */
static void ticks_follow_points(void **state)
{
	struct raw_tick_sync p[] = {
		{5000000000 - 10, 5000000000 + 10, 3000000000, 0},
		{0 + 1000, 0 + 1040, 1000000000, 0},
		{2500001020 - 5, 2500001020 + 5, 2000000000, 0},
		{2500001090 - 900, 2500001090 + 900, 2000000030, 0}, /* wide and close: not used */
	};
	struct tick_map m;
	int64_t last = INT64_MIN;

	assert_int_equal(tick_map_build(&m, &(struct tick_origin){0}, p, 4), KYMO_OK);
	assert_int_equal(m.count, 2);
	assert_int_equal(tick_map_ns(&m, 1020), 1000000000);
	assert_in_range(tick_map_ns(&m, 2500001020), 1999999999, 2000000000);
	assert_in_range(tick_map_ns(&m, 5000000000), 2999999999, 3000000000);
	assert_true(m.error_ns > 7.9 && m.error_ns < 8.1);
	for (uint64_t tick = 0; tick < 6000000000; tick += 999983) {
		assert_true(tick_map_ns(&m, tick) >= last);
		last = tick_map_ns(&m, tick);
	}
	tick_map_release(&m);
}

static double error_after_step(uint64_t per_second, int64_t step)
{
	struct raw_tick_sync p[] = {
		{1000000, 1000010, 1000005, 0},
		{3000000, 3000010, 3000105, 0},
		{501000000, 501000010, (uint64_t)(501000005 + step), 0},
		{999000000, 999000010, (uint64_t)(999000005 + step), 0},
	};
	struct tick_map m;
	double error;

	assert_int_equal(tick_map_build(&m, &(struct tick_origin){.per_second = per_second}, p, 4),
			 KYMO_OK);
	error = m.error_ns;
	tick_map_release(&m);
	return error;
}

/* A step of one clock is part of the error, whichever way it went. */
static void ticks_step(void **state)
{
	assert_true(error_after_step(1000000000, 0) < 100);
	assert_true(error_after_step(1000000000, 3000000) < 100); /* a rate 1 % off would look so */
	assert_in_range(error_after_step(1000000000, 33000000), 32900000, 33100000);
	assert_in_range(error_after_step(1000000000, -33000000), 32900000, 33100000);
	assert_true(error_after_step(0, 33000000) <
		    100); /* an older trace: the rate is not in it */
}

static void ticks_without_points(void **state)
{
	struct tick_map m;

	tick_map_build(&m, &(struct tick_origin){.tick = 100, .ns = 50, .per_second = 2000000000},
		       NULL, 0);
	assert_int_equal(tick_map_ns(&m, 300), 150);
	assert_int_equal(tick_map_ns(&m, 98), 49);
	tick_map_release(&m);
	tick_map_build(&m, &(struct tick_origin){.identity = true}, NULL, 0);
	assert_int_equal(tick_map_ns(&m, 123456789), 123456789);
	assert_true(m.error_ns == 0);
	tick_map_release(&m);
}

/* A node's clock that gains on the job's, then loses: straight between the points, level outside. */
static void check_job_time(struct tick_map *m, uint64_t ticks_per_ns)
{
	static const struct {
		int64_t node, offset;
	} want[] = {{500, 100},   {1000, 100}, {2000, 1100}, {2500, 1600}, {3000, 2100},
		    {3250, 1600}, {3900, 300}, {4000, 100},  {9000, 100}};

	for (unsigned i = 0; i < sizeof(want) / sizeof(*want); i++) {
		int64_t node = want[i].node * 1000000;
		int64_t ns = tick_map_ns(m, (uint64_t)node * ticks_per_ns);

		assert_in_range(ns - node, want[i].offset - 2, want[i].offset + 2);
	}
}

static void job_time_is_piecewise(void **state)
{
	struct job_point points[] = {
		{4000000000, 100, 5}, {1000000000, 100, 10}, {3000000000, 2100, 7}};
	struct raw_tick_sync p[] = {{100, 100, 50, 0},
				    {5000000000, 5000000000, 2500000000, 0},
				    {20000000000, 20000000000, 10000000000, 0}};
	struct tick_map m;

	tick_map_build(&m, &(struct tick_origin){.identity = true}, NULL, 0);
	tick_map_align(&m, points, 3);
	assert_true(m.error_ns == 10);
	check_job_time(&m, 1);
	tick_map_release(&m);
	assert_int_equal(tick_map_build(&m, &(struct tick_origin){0}, p, 3), KYMO_OK);
	tick_map_align(&m, points, 3);
	check_job_time(&m, 2);
	tick_map_release(&m);
}

/* Wide brackets that agree narrow one another down. */
static void device_clock_of_constant_offset(void **state)
{
	struct device_sync s[] = {{1000, 2000, 300}, {5000, 5900, 4200}, {9000, 9600, 8000}};
	struct device_map m;

	/* Offsets: [700,1700], [800,1700], [1000,1600]: [1000,1600]. */
	assert_int_equal(device_map_build(&m, s, 3), KYMO_OK);
	assert_int_equal(m.count, 1);
	assert_int_equal(device_map_ns(&m, 10000), 11300);
	assert_true(m.error_ns == 300);
	device_map_release(&m);
}

static void device_clock_that_drifts(void **state)
{
	struct device_sync s[20];
	struct device_map m;

	for (int i = 0; i < 20; i++) {
		int64_t device = (int64_t)i * 1000000000;
		int64_t node = device + 500 + (int64_t)i * 10000; /* 10 us a second */

		s[i] = (struct device_sync){node - 50, node + 50, device};
	}
	assert_int_equal(device_map_build(&m, s, 20), KYMO_OK);
	assert_int_equal(m.count, 20);
	assert_int_equal(device_map_ns(&m, 5500000000), 5500000000 + 500 + 55000);
	assert_in_range(device_map_ns(&m, 25000000000), 25000000000 + 500 + 249990,
			25000000000 + 500 + 250010);
	assert_true(m.error_ns >= 50 && m.error_ns < 60);
	device_map_release(&m);
	assert_int_equal(device_map_build(&m, NULL, 0), KYMO_OK);
	assert_true(m.error_ns < 0);
	assert_int_equal(device_map_ns(&m, 42), 42);
	device_map_release(&m);
}

/* A run of a tenth of a second on a cheap oscillator: half a microsecond a millisecond. */
static void device_clock_of_a_short_run(void **state)
{
	struct device_sync s[11];
	struct device_map m;

	for (int i = 0; i < 11; i++) {
		int64_t device = 7000000 + (int64_t)i * 10000000,
			node = device + 100 + (int64_t)i * 5000;

		s[i] = (struct device_sync){node - 100, node + 100, device};
	}
	assert_int_equal(device_map_build(&m, s, 11), KYMO_OK);
	for (int64_t ns = 0; ns <= 100000000; ns += 1000000)
		assert_in_range(device_map_ns(&m, 7000000 + ns),
				7000000 + ns + 100 + ns / 2000 - 101,
				7000000 + ns + 100 + ns / 2000 + 101);
	assert_true(m.error_ns >= 100 && m.error_ns < 150);
	device_map_release(&m);
}

/* Farther apart than a number says: not of one window, whatever a file claims. */
static void device_clock_of_all_time(void **state)
{
	const int64_t first = INT64_MIN + 100, second = 7000900100, third = INT64_MAX - 100;
	struct device_sync s[] = {{first - 100, first + 100, first},
				  {second - 100, second + 100, second},
				  {third - 5000, third - 4900, third}};
	struct device_map m;

	assert_int_equal(device_map_build(&m, s, 3), KYMO_OK);
	assert_int_equal(m.count, 3);
	assert_true(m.points[0].value == first && m.points[1].value == second);
	device_map_release(&m);
}

/* Brackets at odds within a moment: the map is what it may be, and the error says how far off. */
static void device_clock_at_odds(void **state)
{
	struct device_sync s[] = {{1000, 1100, 0},
				  {1900, 2000, 100},
				  {1200, 1300, 200},
				  {900000000, 900000100, 900000000}};
	struct device_map m;
	int64_t last = INT64_MIN;

	assert_int_equal(device_map_build(&m, s, 4), KYMO_OK);
	for (int64_t ns = -1000; ns < 1000000000; ns += 100000) {
		assert_true(device_map_ns(&m, ns) >= last);
		last = device_map_ns(&m, ns);
	}
	for (int i = 0; i < 4; i++) {
		int64_t at = device_map_ns(&m, s[i].value);

		assert_true((double)at >= (double)s[i].before - m.error_ns);
		assert_true((double)at <= (double)s[i].after + m.error_ns);
	}
	device_map_release(&m);
}

/* ---- output -------------------------------------------------------------------------------- */

static const char *written(void (*write_it)(struct output *o))
{
	static char text[1024];
	char path[64];
	int fd = memfd_create("out", 0);
	struct output o;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(output_open(&o, path, true, NULL), KYMO_OK);
	write_it(&o);
	assert_int_equal(output_close(&o, NULL), KYMO_OK);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(fd);
	return text;
}

static void write_durations(struct output *o)
{
	static const int64_t ns[] = {0, 9999, 10000, 1234567, 12345678, 10000000000, -1500000};

	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
		output_duration(o, ns[i], 0);
		output_char(o, '|');
	}
	output_seconds(o, 1000000001, 13);
	output_seconds(o, -5, 0);
}

static void durations(void **state)
{
	assert_string_equal(written(write_durations),
			    "0 ns|9999 ns|10.000 us|1234.567 us|12.345 ms|10.000 s|-1500.000 us|"
			    "  1.000000001-0.000000005");
}

static void write_strings(struct output *o)
{
	output_json(o, "a\"\\\n\x01\x7f");
	output_json_bytes(o, "caf\xc3\xa9 \xc3\x28 \xed\xa0\x80 \xf0\x9f\x98\x80", 17);
	output_char(o, ' ');
	output_csv(o, "plain", 5);
	output_csv(o, "a,b", 3);
	output_csv(o, "say \"x\"\r\n", 9);
	output_csv(o, "", 0);
}

static void strings(void **state)
{
	assert_string_equal(written(write_strings),
			    "\"a\\\"\\\\\\n\\u0001\\u007f\""
			    "\"caf\xc3\xa9 \xef\xbf\xbd( \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd "
			    "\xf0\x9f\x98\x80\" plain\"a,b\"\"say \"\"x\"\"\\r\\n\"");
}

static void outputs_are_not_overwritten(void **state)
{
	char path[] = "/tmp/kymo-output-XXXXXX";
	int fd = mkstemp(path);
	struct output o;

	assert_int_equal(output_open(&o, path, false, NULL), KYMO_ERROR_SYSTEM);
	assert_int_equal(output_open(&o, path, true, NULL), KYMO_OK);
	output_close(&o, NULL);
	close(fd);
	unlink(path);
	assert_int_equal(output_open(&o, "/dev/full", true, NULL), KYMO_OK);
	output_text(&o, "x");
	assert_int_equal(output_close(&o, NULL), KYMO_ERROR_SYSTEM);
}

/* ---- symbols ------------------------------------------------------------------------------- */

static int own_bias(struct dl_phdr_info *info, size_t size, void *data)
{
	*(uint64_t *)data = info->dlpi_addr; /* the program comes first */
	return 1;
}

__attribute__((noinline)) static uint64_t a_site_of_mine(void)
{
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static unsigned warned;

static void on_message(struct stream_log *l, int severity, const char *text)
{
	warned++;
}

static struct trace *trace_with_site(uint64_t address, uint64_t bias, const char *path)
{
	struct trace *t = trace_new();

	*trace_add(t, modules) =
		(struct t_module){.start = bias, .end = UINT64_MAX, .bias = bias, .path = path};
	*trace_add(t, sites) = (struct t_site){.address = address, .module = 1};
	*trace_add(t, sites) = (struct t_site){.address = 0x1234};
	return t;
}

static void sites_are_resolved(void **state)
{
	struct stream_log log = {on_message};
	char exe[512] = "", text[600];
	uint64_t bias = 0, address = a_site_of_mine();
	struct symbols *s;
	struct trace *t;

	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	dl_iterate_phdr(own_bias, &bias);
	t = trace_with_site(address, bias, exe);
	s = symbols_new(t, &log);
	assert_non_null(symbols_site(s, 1)->function);
	assert_string_equal(symbols_site(s, 1)->function, "sites_are_resolved");
	if (symbols_site(s, 1)->file) {
		assert_non_null(strstr(symbols_site(s, 1)->file, "stream_test.c"));
		assert_in_range(symbols_site(s, 1)->line, 200, 1000);
		assert_non_null(strstr(symbols_text(s, 1, text, sizeof(text)), "stream_test.c:"));
	}
	assert_string_equal(symbols_text(s, 2, text, sizeof(text)), "0x1234");
	symbols_free(s);
	trace_free(t);
	assert_int_equal(warned, 0);
}

static void copies_have_one_device(void **state)
{
	struct t_queue queues[3] = {{0}, {.agent = 3}, {0}};
	const struct trace t = {.queues = queues, .queues_count = 3, .agents_count = 4};
	struct rec_copy r = {.queue = 1, .source_agent = 1, .destination_agent = 2};

	assert_int_equal(copy_agent(&t, &r), 3);
	r.queue = 2; /* of no device */
	assert_int_equal(copy_agent(&t, &r), 2);
	r.destination_agent = 0; /* the host */
	assert_int_equal(copy_agent(&t, &r), 1);
	r.source_agent = 4; /* is none */
	assert_int_equal(copy_agent(&t, &r), 0);
}

static void missing_modules_are_said(void **state)
{
	struct stream_log log = {on_message};
	struct trace *t = trace_with_site(0x401010, 0x400000, "/nonexistent/libgone.so");
	struct symbols *s = symbols_new(t, &log);
	char text[600];

	warned = 0;
	assert_string_equal(symbols_text(s, 1, text, sizeof(text)), "libgone.so+0x1010");
	assert_int_equal(warned, 1);
	symbols_free(s);
	trace_free(t);
}

static uint32_t add_process(struct trace *t, const char *host)
{
	struct t_process *p = trace_add(t, processes);

	*p = t->processes[0];
	p->hostname = host;
	return t->processes_count - 1;
}

/* `uuid` 0: it has none. */
static uint32_t add_agent(struct trace *t, uint32_t process, const char *name, uint8_t uuid)
{
	struct t_agent *a = trace_add(t, agents);

	*a = t->agents[0];
	a->process = process;
	a->name = name;
	a->has_uuid = uuid != 0;
	a->uuid[0] = uuid;
	return t->agents_count - 1;
}

static void devices_of_one_name(void **state)
{
	struct trace *t = trace_new();
	uint32_t one = add_process(t, "n1"), two = add_process(t, "n1"), far = add_process(t, "n2");
	uint32_t all = add_process(t, ""), i;
	const char *const labels[] = {"",          "gpu #0 on n1", "gpu #1 on n1",
				      "cpu",       "gpu #1 on n1", "gpu #0 on n1",
				      "gpu on n2", "gpu",          "old #0",
				      "old #1",    "old #0",       "cpu"};

	add_agent(t, one, "gpu", 1);
	add_agent(t, one, "gpu", 2);
	add_agent(t, one, "cpu", 0);
	add_agent(t, two, "gpu", 2); /* as CUDA_VISIBLE_DEVICES turns them round */
	add_agent(t, two, "gpu", 1);
	add_agent(t, far, "gpu", 1);
	add_agent(t, all, "gpu", 0); /* of ranks that were counted together */
	add_agent(t, one, "old", 0);
	add_agent(t, one, "old", 0);
	add_agent(t, two, "old", 0);
	add_agent(t, two, "cpu", 0);
	trace_number_agents(t);
	for (i = 0; i < t->agents_count; i++)
		assert_string_equal(t->agents[i].label, labels[i]);
	assert_int_equal(i, sizeof(labels) / sizeof(*labels));
	trace_free(t);
}

/* What a device is comes first, and it has one name in all processes, whichever called it something. */
static void devices_given_names(void **state)
{
	static const char *const labels[] = {"",
					     "gpu #0 (left)",
					     "gpu #1",
					     "gpu #0 (left)",
					     "gpu #0 (left) part 0 (front)",
					     "gpu #0 (left)"};
	static const char *const hardware[] = {"",       "gpu #0",        "gpu #1",
					       "gpu #0", "gpu #0 part 0", "gpu #0"};
	struct trace *t = trace_new();
	uint32_t one = add_process(t, "n1"), two = add_process(t, "n1");
	uint32_t three = add_process(t, "n1");

	add_agent(t, one, "gpu", 1);
	add_agent(t, one, "gpu", 2);
	t->agents[add_agent(t, two, "gpu", 1)].given = "left";
	add_agent(t, one, "gpu", 0);
	t->agents[4].parent = 1;
	t->agents[4].given = "front";
	add_agent(t, three, "gpu", 1);
	trace_number_agents(t);
	for (unsigned i = 0; i < 6; i++) {
		assert_string_equal(t->agents[i].label, labels[i]);
		assert_string_equal(t->agents[i].hardware, hardware[i]);
	}
	trace_free(t);
}

static void queues_of_one_name(void **state)
{
	struct trace *t = trace_new();
	uint32_t agent = add_agent(t, add_process(t, "n1"), "gpu", 0);
	const char *const names[] = {"copy", "copy", ""};

	for (unsigned i = 0; i < 3; i++) {
		struct t_queue *q = trace_add(t, queues);

		*q = t->queues[0];
		q->agent = agent;
		q->name = names[i];
	}
	trace_number_queues(t);
	assert_string_equal(t->queues[1].label, "queue 0 (copy)");
	assert_string_equal(t->queues[2].label, "queue 1 (copy)");
	assert_string_equal(t->queues[3].label, "queue 2");
	trace_free(t);
}

/* A process of another node than rank 0's: its own offset is not that of the times. */
static void wall_clock_is_that_of_the_times(void **state)
{
	struct t_process processes[] = {
		{0}, {.pid = 1}, {.realtime_offset = 500, .job_offset = 20}};
	struct trace t = {.processes = processes, .processes_count = 3};

	assert_int_equal(trace_to_realtime(&t), 480);
	t.processes_count = 2;
	assert_int_equal(trace_to_realtime(&t), 0);
}

static void expect_digits(uint64_t v)
{
	char data[64], wanted[32];
	struct output o = {.fd = -1, .data = data, .size = sizeof(data)};

	snprintf(wanted, sizeof(wanted), "%llu", (unsigned long long)v);
	output_unsigned(&o, v);
	assert_int_equal(o.used, strlen(wanted));
	assert_memory_equal(data, wanted, o.used);
}

static void numbers_of_all_lengths(void **state)
{
	char data[64];
	struct output o = {.fd = -1, .data = data, .size = sizeof(data)};

	for (uint64_t power = 1;; power *= 10) {
		expect_digits(power - 1);
		expect_digits(power);
		expect_digits(power + 1);
		if (power > UINT64_MAX / 10)
			break;
	}
	for (unsigned bit = 0; bit < 64; bit++) {
		expect_digits(UINT64_C(1) << bit);
		expect_digits((UINT64_C(1) << bit) - 1);
	}
	expect_digits(UINT64_MAX);
	output_signed(&o, INT64_MIN);
	assert_int_equal(o.used, 20);
	assert_memory_equal(data, "-9223372036854775808", 20);
}

/* ---- what the system tells of processes ------------------------------------------------------- */

/* Of a process in which one program replaced another, of its child of the same number elsewhere, and of one that was gone late. */
static void time_without_processor(void **state)
{
	struct t_process p[] = {
		{0},
		{.pid = 7, .hostname = "a", .start = 100, .end = 200, .how_ended = RAW_END_EXEC},
		{.pid = 7, .hostname = "a", .start = 200, .end = 500, .delay_ns = 100},
		{.pid = 7, .hostname = "b", .start = 300, .end = 500, .delay_ns = 50},
		{.pid = 8, .hostname = "a", .start = 300, .end = 400, .delay_ns = 250},
		{.pid = 9, .hostname = "a", .start = 300, .end = 300, .delay_ns = 250}};
	struct trace t = {.processes = p, .processes_count = 6};

	(void)state;
	assert_int_equal(recorded_delay_ns(&t, &p[1]), 0);
	assert_int_equal(recorded_delay_ns(&t, &p[2]), 100);
	assert_float_equal(recorded_delay(&t, &p[2]), 0.25, 1e-9);
	assert_float_equal(recorded_delay(&t, &p[3]), 0.25, 1e-9);
	assert_int_equal(recorded_delay_ns(&t, &p[4]), 100);
	assert_float_equal(recorded_delay(&t, &p[4]), 1, 0);
	assert_int_equal(recorded_delay_ns(&t, &p[5]), 0);
	assert_float_equal(recorded_delay(&t, &p[5]), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_without_processor),
		cmocka_unit_test(devices_of_one_name),
		cmocka_unit_test(devices_given_names),
		cmocka_unit_test(queues_of_one_name),
		cmocka_unit_test(numbers_as_text),
		cmocka_unit_test(numbers_of_all_lengths),
		cmocka_unit_test(floats_as_text),
		cmocka_unit_test(strings_as_text),
		cmocka_unit_test(references_as_text),
		cmocka_unit_test(arrays_as_text),
		cmocka_unit_test(ticks_follow_points),
		cmocka_unit_test(ticks_step),
		cmocka_unit_test(ticks_without_points),
		cmocka_unit_test(job_time_is_piecewise),
		cmocka_unit_test(device_clock_of_constant_offset),
		cmocka_unit_test(device_clock_that_drifts),
		cmocka_unit_test(device_clock_of_a_short_run),
		cmocka_unit_test(device_clock_at_odds),
		cmocka_unit_test(device_clock_of_all_time),
		cmocka_unit_test(durations),
		cmocka_unit_test(strings),
		cmocka_unit_test(outputs_are_not_overwritten),
#ifdef KYMO_HAVE_DW
		cmocka_unit_test(sites_are_resolved),
		cmocka_unit_test(copies_have_one_device),
		cmocka_unit_test(missing_modules_are_said),
		cmocka_unit_test(wall_clock_is_that_of_the_times),
#endif
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
