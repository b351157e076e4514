/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The raw reader: every record of the demo trace comes back, in either order, packed or not; every
 * prefix and every flipped byte of a file is survived, and what the damage does not touch is shown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/raw/internal.h"
#include "formats/raw/read.h"
#include "formats/raw/spans.h"
#include "support/memory_file.h"
#include "support/synth.h"

static char work[64];

/* ---- a sink that remembers ------------------------------------------------------------------ */

struct seen {
	uint32_t kind, thread, op, unused; /* no padding: compared as memory */
	uint64_t id;
	int64_t start, end, key;
};

struct collector {
	struct stream_sink sink; /* first */
	struct seen *items;
	size_t count, losses;
	uint64_t lost;
	int64_t until; /* when the first process was seen last */
};

static void keep(struct stream_sink *s, enum raw_kind kind, const union raw_any *any)
{
	struct collector *c = (struct collector *)(void *)s;
	const struct rec *r = &any->rec;

	if ((c->count & (c->count - 1)) == 0)
		c->items = realloc(c->items, (c->count ? c->count * 2 : 1) * sizeof(*c->items));
	c->items[c->count++] = (struct seen){kind,  r->thread, r->op,  0,
					     r->id, r->start,  r->end, raw_key(kind, any)};
}

#define KEEP(name, type, kind)                                                                     \
	static kymo_status_t on_##name(struct stream_sink *s, const type *r)                       \
	{                                                                                          \
		keep(s, kind, (const union raw_any *)(const void *)r);                             \
		return KYMO_OK;                                                                    \
	}

KEEP(call, struct rec, RAW_KIND_CALL)
KEEP(other, struct rec, RAW_KIND_OTHER)

#define KEEP_LARGE(name, type, kind, member)                                                       \
	static kymo_status_t on_##name(struct stream_sink *s, const type *r)                       \
	{                                                                                          \
		union raw_any any = {.member = *r};                                                \
                                                                                                   \
		keep(s, kind, &any);                                                               \
		return KYMO_OK;                                                                    \
	}

KEEP_LARGE(dispatch, struct rec_dispatch, RAW_KIND_DISPATCH, dispatch)
KEEP_LARGE(copy, struct rec_copy, RAW_KIND_COPY, copy)
KEEP_LARGE(allocation, struct rec_allocation, RAW_KIND_ALLOCATION, allocation)
KEEP_LARGE(sync, struct rec_sync, RAW_KIND_SYNC, sync)
KEEP_LARGE(comm, struct rec_comm, RAW_KIND_COMM, comm)

static kymo_status_t on_loss(struct stream_sink *s, const struct rec_loss *r)
{
	struct collector *c = (struct collector *)(void *)s;

	c->losses++;
	c->lost += r->count;
	return KYMO_OK;
}

static kymo_status_t on_end(struct stream_sink *s, const struct trace *t)
{
	struct collector *c = (struct collector *)(void *)s;

	c->until = t->processes_count > 1 ? t->processes[1].seen : 0;
	return KYMO_OK;
}

static void collector_init(struct collector *c)
{
	*c = (struct collector){.sink = {.call = on_call,
					 .dispatch = on_dispatch,
					 .copy = on_copy,
					 .allocation = on_allocation,
					 .sync = on_sync,
					 .comm = on_comm,
					 .other = on_other,
					 .loss = on_loss,
					 .end = on_end}};
}

static unsigned messages;

static void on_message(struct stream_log *l, int severity, const char *text)
{
	messages++;
}

static struct stream_log quiet = {on_message};

static kymo_status_t collect(const char *path, const struct stream_filter *filter, bool ordered,
			     struct collector *c)
{
	struct format_options o = {.log = &quiet};
	struct raw_trace *rt;
	kymo_status_t status;

	collector_init(c);
	messages = 0;
	status = raw_trace_open(path, &quiet, &rt);
	if (status != KYMO_OK)
		return status;
	status = raw_trace_read(rt, filter, ordered, &c->sink, &o);
	raw_trace_close(rt);
	return status;
}

static int compare_seen(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct seen));
}

/* The same records, whatever their order. */
static void assert_same(struct collector *a, struct collector *b)
{
	assert_int_equal(a->count, b->count);
	qsort(a->items, a->count, sizeof(*a->items), compare_seen);
	qsort(b->items, b->count, sizeof(*b->items), compare_seen);
	for (size_t i = 0; i < a->count; i++)
		assert_memory_equal(&a->items[i], &b->items[i], sizeof(*a->items));
}

static void assert_sorted(const struct collector *c)
{
	for (size_t i = 1; i < c->count; i++) {
		const struct seen *a = &c->items[i - 1], *b = &c->items[i];

		if (a->key > b->key)
			fail_msg("record %zu starts at %lld, after %zu at %lld", i - 1,
				 (long long)a->key, i, (long long)b->key);
		if (a->key != b->key || a->thread != b->thread || a->kind != b->kind)
			continue;
		assert_true(a->kind != RAW_KIND_CALL || a->end >= b->end);
		if (a->id && b->id && (a->kind != RAW_KIND_CALL || a->end == b->end))
			assert_true(a->id < b->id);
	}
}

/* ---- whole traces -------------------------------------------------------------------------- */

static const char *path_of(const char *name)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/%s", work, name);
	return path;
}

static void demo_comes_back(void **state)
{
	struct collector plain, packed, ordered;

	synth_demo(path_of("demo"), false);
	synth_demo(path_of("packed"), true);
	assert_int_equal(collect(path_of("demo"), NULL, false, &plain), KYMO_OK);
	assert_int_equal(plain.count, 30);
	assert_int_equal(plain.losses, 2);
	assert_int_equal(plain.lost, 17);
	assert_int_equal(messages, 0);
	assert_int_equal(collect(path_of("packed"), NULL, false, &packed), KYMO_OK);
	assert_same(&plain, &packed);
	assert_int_equal(collect(path_of("demo"), NULL, true, &ordered), KYMO_OK);
	assert_sorted(&ordered);
	assert_int_equal(ordered.losses, 2);
	assert_same(&plain, &ordered);
	free(plain.items);
	free(packed.items);
	free(ordered.items);
}

static void definitions_come_back(void **state)
{
	struct raw_trace *rt;
	const struct trace *t;

	synth_demo(path_of("definitions"), false);
	assert_int_equal(raw_trace_open(path_of("definitions"), &quiet, &rt), KYMO_OK);
	t = raw_trace_definitions(rt);
	assert_int_equal(t->processes_count, 3);
	assert_int_equal(t->processes[1].pid, 4242);
	assert_string_equal(t->processes[1].argv, "demo --size 64");
	assert_int_equal(t->processes[1].how_ended, 0);
	assert_int_equal(t->processes[2].how_ended, 2);
	assert_int_equal(t->processes[2].exit_status, 9);
	assert_int_equal(t->processes[2].rank, 1);
	assert_int_equal(t->threads_count, 4);
	assert_string_equal(t->threads[2].name, "worker");
	assert_int_equal(t->agents_count, 3);
	assert_int_equal(t->queues[2].agent, 1);
	assert_int_equal(t->queues[2].number, 1);
	assert_int_equal(t->queues[3].number, 0);
	assert_int_equal(t->kernels[2].program, 1);
	assert_string_equal(t->blobs[t->programs[1].source].data, "kernel void step() { }\n");
	assert_int_equal(t->open_calls_count, 3);
	assert_string_equal(t->ops[t->open_calls[1].op].name, "query");
	assert_true(t->clocks[1].error_ns == 100);
	assert_int_equal(t->origin, SYNTH_NS0);
	/* Both processes describe the same operations: they are merged. */
	assert_int_equal(t->ops_count, 1 + 1 + 7 + 2 + 6 + 1 + TEST_OPS);
	raw_trace_close(rt);
}

static void define_part(struct synth *s, uint32_t id, uint32_t parent)
{
	struct wire_def d;

	wire_def_init(&d, DEF_AGENT);
	wire_def_u64(&d, id);
	wire_def_string(&d, "gpu");
	wire_def_string(&d, "Part");
	for (unsigned i = DEF_AGENT_VENDOR; i <= DEF_AGENT_DOMAIN; i++)
		wire_def_string(&d, "");
	wire_def_u64(&d, 0);
	wire_def_u64(&d, parent);
	synth_define(s, &d);
}

/* Nobody who goes from parts to what they are parts of goes round. */
static void devices_are_no_parts_of_each_other(void **state)
{
	static const uint32_t parents[] = {0, 2, 1, 3, 1};
	const char *path = path_of("parts");
	struct synth_options o = {.directory = path, .pid = 9, .rank = RANK_NONE};
	struct synth *s = synth_open(&o);
	const struct trace *t;
	struct raw_trace *rt;

	for (uint32_t id = 1; id < 5; id++)
		define_part(s, id, parents[id]);
	synth_close(s, 0, 0, 1000);
	assert_int_equal(raw_trace_open(path, &quiet, &rt), KYMO_OK);
	t = raw_trace_definitions(rt);
	assert_int_equal(t->agents_count, 5);
	for (uint32_t i = 1; i < 5; i++)
		assert_int_equal(t->agents[i].parent, parents[i] < i ? parents[i] : 0);
	raw_trace_close(rt);
}

static void foreign_files_are_refused(void **state)
{
	struct memory_file f;
	struct collector c;

	assert_true(memory_file_open(&f));
	assert_true(memory_file_set(&f, "", 0));
	assert_int_equal(collect(f.path, NULL, false, &c), KYMO_ERROR_CORRUPT);
	assert_true(memory_file_set(&f, work, sizeof(work)));
	assert_int_equal(collect(f.path, NULL, false, &c), KYMO_ERROR_CORRUPT);
	assert_int_equal(collect("/nonexistent", NULL, false, &c), KYMO_ERROR_NOT_FOUND);
	assert_int_equal(collect("/", NULL, false, &c), KYMO_ERROR_NOT_FOUND);
	memory_file_close(&f);
}

/* ---- damage -------------------------------------------------------------------------------- */

/* Where blocks and records of a file lie. */
struct layout {
	unsigned char *data;
	size_t size;
	uint64_t begin[256], end[256];
	size_t records[256];
	size_t record_end[256]; /* offset in the file, uncompressed ones only */
	uint32_t blocks;
	size_t total;
};

static void lay_out(struct layout *l, const char *path)
{
	struct raw_trace *rt;
	struct filter_binding all;
	struct spans spans;
	struct raw_buffer buffer = {0};
	struct raw_chunk chunk;
	struct wire_record w;

	memset(l, 0, sizeof(*l));
	l->data = memory_file_load(path, &l->size);
	assert_int_equal(raw_trace_open(path, &quiet, &rt), KYMO_OK);
	l->blocks = rt->processes[0].file.block_count;
	for (uint32_t i = 0; i < l->blocks; i++) {
		struct raw_block b;

		raw_file_block(&rt->processes[0].file, i, &b);
		l->begin[i] = rt->processes[0].file.blocks[i];
		l->end[i] = l->begin[i] + sizeof(b) + b.stored;
	}
	assert_int_equal(filter_bind(NULL, raw_trace_definitions(rt), &all), KYMO_OK);
	assert_int_equal(spans_find(&spans, rt, &all), KYMO_OK);
	for (uint32_t i = 0; i < spans.count; i++) {
		assert_true(spans_open(&spans, i, &buffer, &chunk));
		while (raw_chunk_next(&chunk, &w)) {
			l->records[chunk.number]++;
			l->record_end[l->total++] =
				(size_t)(chunk.reader.p - chunk.source->file.data);
		}
	}
	spans_release(&spans);
	raw_buffer_release(&buffer);
	raw_trace_close(rt);
}

static const char *one_file(const char *name, bool compress)
{
	static char path[256];

	synth_demo(path_of(name), compress);
	snprintf(path, sizeof(path), "%s/%s/raw/node1-4242-0.kyr", work, name);
	return path;
}

/* Somebody replaces the trace between its opening and its reading: that is damage, and no signal. */
static void a_file_cut_meanwhile_is_damage(void **state)
{
	const char *path = one_file("cut-meanwhile", false);
	struct format_options o = {.log = &quiet};
	struct collector c;
	struct raw_trace *rt;

	collector_init(&c);
	messages = 0;
	assert_int_equal(raw_trace_open(path, &quiet, &rt), KYMO_OK);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(raw_trace_read(rt, NULL, false, &c.sink, &o), KYMO_OK);
	assert_int_equal(c.count, 0);
	assert_true(messages > 0);
	assert_true(raw_trace_definitions(rt)->processes[1].damaged_blocks > 0);
	raw_trace_close(rt);
	free(c.items);
}

/* Whole records in the first `n` bytes; of compressed files those of whole blocks. */
static size_t records_within(const struct layout *l, size_t n, bool compress)
{
	size_t count = 0;

	for (uint32_t i = 0; compress && i < l->blocks && l->end[i] <= n; i++)
		count += l->records[i];
	while (!compress && count < l->total && l->record_end[count] <= n)
		count++;
	return count;
}

/* As the drain writes blocks: it does not look when a chunk ends. */
static void forget_ends(struct layout *l)
{
	const uint64_t unknown = UINT64_MAX;

	for (uint32_t i = 0; i < l->blocks; i++)
		memcpy(l->data + l->begin[i] + offsetof(struct raw_block, last_tick), &unknown,
		       sizeof(unknown));
}

static void every_prefix_is_read(bool compress)
{
	struct layout l;
	struct memory_file f;
	size_t before = 0;

	lay_out(&l, one_file(compress ? "prefix-z" : "prefix", compress));
	forget_ends(&l);
	assert_true(memory_file_open(&f));
	for (size_t n = sizeof(struct raw_header); n <= l.size; n++) {
		struct collector c;
		size_t whole = records_within(&l, n, compress);

		assert_true(memory_file_set(&f, l.data, n));
		assert_int_equal(collect(f.path, NULL, n & 1, &c), KYMO_OK);
		for (size_t i = 0; i < c.count; i++)
			assert_true(c.items[i].end <= c.until);
		if (c.count < whole || c.count < before || (!compress && c.count != whole))
			fail_msg("%zu of %zu bytes: %zu records, %zu expected, %zu before", n,
				 l.size, c.count, whole, before);
		before = c.count;
		free(c.items);
	}
	assert_int_equal(before, l.total);
	memory_file_close(&f);
	free(l.data);
}

static void every_prefix(void **state)
{
	every_prefix_is_read(false);
}

static void every_prefix_packed(void **state)
{
	every_prefix_is_read(true);
}

static uint32_t block_at(const struct layout *l, size_t offset)
{
	uint32_t i = 0;

	while (i + 1 < l->blocks && l->end[i] <= offset)
		i++;
	return i;
}

static void every_flip(void **state)
{
	struct layout l;
	struct memory_file f;

	lay_out(&l, one_file("flip", false));
	assert_true(memory_file_open(&f));
	for (size_t n = sizeof(struct raw_header); n < l.size; n++) {
		uint32_t block = block_at(&l, n);
		bool payload = n >= l.begin[block] + sizeof(struct raw_block);
		struct collector c;

		l.data[n] ^= n & 2 ? 0xff : 0x01;
		assert_true(memory_file_set(&f, l.data, l.size));
		assert_int_equal(collect(f.path, NULL, n & 1, &c), KYMO_OK);
		if (c.count + l.records[block] < l.total)
			fail_msg("byte %zu, block %u: %zu of %zu records", n, block, c.count,
				 l.total);
		if (payload && messages == 0)
			fail_msg("byte %zu of block %u: damage unnoticed", n, block);
		l.data[n] ^= n & 2 ? 0xff : 0x01;
		free(c.items);
	}
	memory_file_close(&f);
	free(l.data);
}

/* A stretch of zeros hides block headers: reading goes on behind it. */
static void holes_are_jumped(void **state)
{
	struct layout l;
	struct memory_file f;
	struct collector c;
	uint32_t first;

	lay_out(&l, one_file("hole", false));
	for (first = 0; !l.records[first]; first++)
		;
	memset(l.data + l.begin[first], 0, l.end[first] - l.begin[first]);
	assert_true(memory_file_open(&f));
	assert_true(memory_file_set(&f, l.data, l.size));
	assert_int_equal(collect(f.path, NULL, false, &c), KYMO_OK);
	assert_int_equal(c.count, l.total - l.records[first]);
	assert_true(messages > 0);
	free(c.items);
	memory_file_close(&f);
	free(l.data);
}

/* ---- order --------------------------------------------------------------------------------- */

static uint64_t seed;

static uint32_t roll(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % below;
}

/* Threads that enter, leave and report device work at random; small chunks. */
static size_t random_trace(const char *path, uint32_t threads, uint32_t steps, bool compress)
{
	struct synth *s = synth_open(&(struct synth_options){.directory = path,
							     .pid = 7,
							     .rank = RANK_NONE,
							     .compress = compress,
							     .chunk_size = 4096});
	uint16_t base = synth_domain(s, &synth_test_domain);
	const struct synth_value query[] = {V_U(3)};
	/* One more: the dispatches of synthetic traces tell of shared memory. */
	struct synth_value work_done[DISPATCH_FIELDS + 1] = {V_U(1), V_U(1), V_U(1), V_U(1)};
	uint32_t depth[SYNTH_THREADS + 1] = {0};
	uint64_t now = 100;
	size_t records = 0;

	synth_clock(s, 1, "clock");
	synth_clock_sync(s, 1, 0, 10, 5);
	synth_agent(s, 1, "gpu", "GPU", 1);
	synth_queue(s, 1, 1, 0, 0, "");
	synth_kernel(s, 1, "k", 0);
	for (uint32_t i = 0; i < threads; i++)
		synth_thread(s, 100 + i, "");
	for (uint32_t k = 0; k < steps; k++) {
		uint32_t t = 1 + roll(threads), what = roll(20);

		now += roll(3); /* often the same time */
		if (what < 9 && depth[t] < 40) {
			synth_enter(s, t, (uint16_t)(base + TEST_QUERY), now, 0);
			depth[t]++;
		} else if (what < 18 && depth[t]) {
			synth_leave(s, t, now, 0, true, query);
			depth[t]--;
			records++;
		} else if (what == 19) {
			work_done[DISPATCH_START].u = now / (1 + roll(4)) + 1;
			work_done[DISPATCH_DURATION].u = roll(50);
			synth_activity(s, t, synth_activity_base(s, SYNTH_DISPATCH), now, now,
				       work_done);
			records++;
		}
	}
	synth_close(s, 0, 0, now);
	return records;
}

static void order_is_by_start(void **state)
{
	for (uint32_t round = 0; round < 12; round++) {
		struct collector any, sorted;
		char name[32];
		size_t records;

		seed = 0x9e3779b97f4a7c15ull + round;
		snprintf(name, sizeof(name), "order-%u", round);
		records = random_trace(path_of(name), 1 + round, 20000, round & 1);
		assert_int_equal(collect(path_of(name), NULL, false, &any), KYMO_OK);
		assert_int_equal(any.count, records);
		assert_int_equal(collect(path_of(name), NULL, true, &sorted), KYMO_OK);
		assert_sorted(&sorted);
		assert_same(&any, &sorted);
		free(any.items);
		free(sorted.items);
	}
}

/* ---- what is looked into ------------------------------------------------------------------- */

struct limited {
	struct stream_sink sink; /* first */
	uint64_t limit, count;
};

static kymo_status_t count_some(struct stream_sink *s, const struct rec *r)
{
	struct limited *l = (struct limited *)(void *)s;

	return ++l->count > l->limit ? KYMO_ERROR_LIMIT : KYMO_OK;
}

/* Chunks that were looked into until `limit` records were handed on. */
static uint64_t opened_for(const char *path, int64_t from, int64_t to, bool ordered, uint64_t limit,
			   uint64_t *count)
{
	struct stream_filter_spec spec = {.has_from = true, .has_to = true, .from = from, .to = to};
	struct limited l = {.sink = {.call = count_some, .other = count_some}, .limit = limit};
	struct format_options o = {.log = &quiet};
	struct stream_filter *filter;
	struct raw_trace *rt;
	uint64_t opened;

	assert_int_equal(stream_filter_new(&spec, &quiet, &filter), KYMO_OK);
	assert_int_equal(raw_trace_open(path, &quiet, &rt), KYMO_OK);
	raw_trace_read(rt, filter, ordered, &l.sink, &o);
	opened = rt->opened;
	*count = l.count;
	raw_trace_close(rt);
	stream_filter_free(filter);
	return opened;
}

/* 4 threads, a call a microsecond each: more than 100 chunks. */
static void few_chunks_for_few_records(void **state)
{
	const char *path = path_of("bulk");
	uint64_t all, window, ordered, first, count;
	struct collector c;

	synth_bulk(path, 4, 100000, false);
	all = opened_for(path, 0, INT32_MAX, false, UINT64_MAX, &count);
	assert_int_equal(count, 400000);
	assert_true(all > 100);
	assert_int_equal(opened_for(path, 0, INT32_MAX, true, UINT64_MAX, &count), all);
	assert_int_equal(count, 400000);

	/* 0.1 ms in the middle: of each thread the chunk that has it, and one on either side at
	 * most. */
	window = opened_for(path, 50000000, 50100000, false, UINT64_MAX, &count);
	assert_in_range(count, 4 * 100, 4 * 102);
	assert_in_range(window, 4, 4 * 3);
	ordered = opened_for(path, 50000000, 50100000, true, UINT64_MAX, &first);
	assert_int_equal(first, count);
	assert_in_range(ordered, 4, 4 * 3);

	/* The first ones. */
	first = opened_for(path, 0, INT32_MAX, true, 10, &count);
	assert_int_equal(count, 11);
	assert_in_range(first, 1, 4 * 2);
	assert_int_equal(collect(path, NULL, true, &c), KYMO_OK);
	assert_sorted(&c);
	free(c.items);
}

/* A call that is open all the time comes first, and costs no more than its chunk being looked into
 * twice. */
static void long_calls_come_first(void **state)
{
	struct synth *s = synth_open(&(struct synth_options){
		.directory = path_of("long"), .pid = 77, .rank = RANK_NONE, .chunk_size = 4096});
	uint16_t base = synth_domain(s, &synth_test_domain);
	const struct synth_value query[4] = {V_U(5), V_U(6), V_U(7), V_U(8)};
	struct collector c;

	synth_thread(s, 77, "");
	synth_enter(s, 1, (uint16_t)(base + TEST_QUERY), 5, 0);
	for (uint64_t i = 0; i < 20000; i++) {
		synth_enter(s, 1, (uint16_t)(base + TEST_QUERY), 100 + i * 100, 0);
		synth_leave(s, 1, 150 + i * 100, 0, true, query);
	}
	synth_leave(s, 1, 3000000, 0, true, query);
	synth_close(s, 0, 0, 3000001);
	assert_int_equal(collect(path_of("long"), NULL, true, &c), KYMO_OK);
	assert_int_equal(c.count, 20001);
	assert_sorted(&c);
	assert_int_equal(c.items[0].end - c.items[0].start, 3000000 - 5);
	free(c.items);
}

/*
 * What is recorded at its end, by a larger id, and began at the tick of the first call within it comes before
 * that call: in one chunk, and where `between` calls lie between the two.
 */
static void around_comes_first(const char *path, uint64_t between)
{
	struct synth *s = synth_open(&(struct synth_options){
		.directory = path, .pid = 78, .rank = RANK_NONE, .chunk_size = 4096});
	uint16_t base = synth_domain(s, &synth_test_domain);
	const struct synth_value query[4] = {V_U(5), V_U(6), V_U(7), V_U(8)}, none[8] = {{0}};
	uint64_t end = 200 + between * 100;
	struct collector c;

	synth_thread(s, 78, "");
	for (uint64_t i = 0; i <= between; i++) {
		synth_enter(s, 1, (uint16_t)(base + TEST_QUERY), 100 + i * 100, 0);
		synth_leave(s, 1, 150 + i * 100, 0, true, query);
	}
	synth_activity(s, 1, synth_activity_base(s, SYNTH_SYNC), 100, end, none);
	synth_close(s, 0, 0, end + 1);
	assert_int_equal(collect(path, NULL, true, &c), KYMO_OK);
	assert_int_equal(c.count, between + 2);
	assert_int_equal(c.items[0].kind, RAW_KIND_SYNC);
	assert_int_equal(c.items[1].kind, RAW_KIND_CALL);
	assert_int_equal(c.items[1].start, c.items[0].start);
	free(c.items);
}

static void what_is_around_comes_first(void **state)
{
	around_comes_first(path_of("around-0"), 0);
	around_comes_first(path_of("around-1000"), 1000);
}

/* A transfer that its call does not wait for begins with it and ends later: writers know the call by then. */
static void calls_come_before_what_they_start(void **state)
{
	static const kymo_op_desc_t op = {"read", NULL, 0, KYMO_OP_ACTIVITY, NULL, 0};
	static const kymo_domain_desc_t domain = {sizeof(domain), "comm", "Messages", 1, 1, &op};
	struct synth *s = synth_open(&(struct synth_options){
		.directory = path_of("starts"), .pid = 79, .rank = RANK_NONE, .chunk_size = 4096});
	uint16_t base = synth_domain(s, &synth_test_domain), comm = synth_domain(s, &domain);
	const struct synth_value query[4] = {V_U(5), V_U(6), V_U(7), V_U(8)};
	struct collector c;

	synth_thread(s, 79, "");
	synth_enter(s, 1, (uint16_t)(base + TEST_QUERY), 100, 0);
	synth_leave(s, 1, 150, 0, true, query);
	synth_activity(s, 1, comm, 100, 900, NULL);
	synth_close(s, 0, 0, 901);
	assert_int_equal(collect(path_of("starts"), NULL, true, &c), KYMO_OK);
	assert_int_equal(c.count, 2);
	assert_int_equal(c.items[0].kind, RAW_KIND_CALL);
	assert_int_equal(c.items[1].kind, RAW_KIND_COMM);
	assert_int_equal(c.items[1].start, c.items[0].start);
	assert_true(c.items[1].end > c.items[0].end);
	free(c.items);
}

/* What the header of a block promises of its records holds, whatever is in it. */
static void bounds_hold(void **state)
{
	const char *names[] = {"demo", "bulk", "long", "order-0", "order-5"};

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		struct raw_buffer buffer = {0};
		struct filter_binding all;
		struct raw_trace *rt;
		struct spans spans;
		size_t bounded = 0;

		assert_int_equal(raw_trace_open(path_of(names[n]), &quiet, &rt), KYMO_OK);
		assert_int_equal(filter_bind(NULL, raw_trace_definitions(rt), &all), KYMO_OK);
		assert_int_equal(spans_find(&spans, rt, &all), KYMO_OK);
		for (uint32_t i = 0; i < spans.count; i++) {
			struct raw_chunk chunk;
			struct wire_record w;

			assert_true(spans_open(&spans, i, &buffer, &chunk));
			bounded += spans.at[i].first != INT64_MIN;
			while (raw_chunk_next(&chunk, &w))
				assert_true(raw_start(&chunk, &w, raw_chunk_op(&chunk, w.op)) >=
					    spans.at[i].first);
		}
		assert_true(bounded > 0 || n >= 3); /* those have device work everywhere */
		spans_release(&spans);
		raw_buffer_release(&buffer);
		raw_trace_close(rt);
	}
}

/* Numbers alone are the same numbers. */
static void brief_calls_are_the_same(void **state)
{
	struct format_options o = {.log = &quiet};
	struct collector whole, brief;
	struct raw_trace *rt;

	assert_int_equal(collect(path_of("demo"), NULL, false, &whole), KYMO_OK);
	collector_init(&brief);
	brief.sink.brief = true;
	assert_int_equal(raw_trace_open(path_of("demo"), &quiet, &rt), KYMO_OK);
	assert_int_equal(raw_trace_read(rt, NULL, false, &brief.sink, &o), KYMO_OK);
	raw_trace_close(rt);
	assert_int_equal(brief.losses, whole.losses);
	assert_int_equal(brief.lost, whole.lost);
	assert_same(&whole, &brief);
	free(whole.items);
	free(brief.items);
}

static bool submits(const struct trace *t, const struct t_op *op)
{
	return op->flags & KYMO_OP_SUBMITS;
}

/* A look before the pass that counts sees what it asks for alone, and leaves nothing behind. */
static void look_sees_what_it_wants(void **state)
{
	struct format_options o = {.log = &quiet};
	struct collector whole, look, after;
	struct raw_trace *rt;
	size_t wanted = 0;

	assert_int_equal(collect(path_of("demo"), NULL, false, &whole), KYMO_OK);
	collector_init(&look);
	collector_init(&after);
	look.sink.brief = true;
	assert_int_equal(raw_trace_open(path_of("demo"), &quiet, &rt), KYMO_OK);
	for (size_t i = 0; i < whole.count; i++)
		wanted += submits(NULL, &raw_trace_definitions(rt)->ops[whole.items[i].op]);
	assert_in_range(wanted, 1, whole.count - 1);
	assert_int_equal(raw_trace_look(rt, submits, &look.sink), KYMO_OK);
	assert_int_equal(look.count, wanted);
	for (size_t i = 0; i < look.count; i++)
		assert_true(submits(NULL, &raw_trace_definitions(rt)->ops[look.items[i].op]));
	assert_int_equal(raw_trace_read(rt, NULL, false, &after.sink, &o), KYMO_OK);
	assert_same(&whole, &after);
	raw_trace_close(rt);
	free(whole.items);
	free(look.items);
	free(after.items);
}

/* ---- filters ------------------------------------------------------------------------------- */

static size_t count_with(const struct stream_filter_spec *spec, bool ordered)
{
	struct stream_filter *filter;
	struct collector c;

	assert_int_equal(stream_filter_new(spec, &quiet, &filter), KYMO_OK);
	assert_int_equal(collect(path_of("demo"), filter, ordered, &c), KYMO_OK);
	stream_filter_free(filter);
	free(c.items);
	return c.count;
}

static void filters_select(void **state)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		assert_int_equal(count_with(&(struct stream_filter_spec){0}, ordered), 30);
		assert_int_equal(
			count_with(&(struct stream_filter_spec){.domains = "copy,sync"}, ordered),
			2);
		assert_int_equal(
			count_with(&(struct stream_filter_spec){.ops = "^test:open"}, ordered), 3);
		assert_int_equal(count_with(&(struct stream_filter_spec){.ops = "test:",
									 .exclude = "query|open"},
					    ordered),
				 9);
		assert_int_equal(
			count_with(&(struct stream_filter_spec){.kernels = "^step$"}, ordered), 3);
		assert_int_equal(
			count_with(&(struct stream_filter_spec){.processes = "5151"}, ordered), 8);
		assert_int_equal(
			count_with(&(struct stream_filter_spec){.threads = "4243"}, ordered),
			6 + 0);
		assert_int_equal(
			count_with(&(struct stream_filter_spec){.has_from = true, .from = 400000},
				   ordered),
			3);
		assert_int_equal(
			count_with(&(struct stream_filter_spec){.has_to = true, .to = 1500},
				   ordered),
			9);
		assert_int_equal(
			count_with(&(struct stream_filter_spec){.min_duration = 90000}, ordered),
			10);
	}
}

static void bad_filters_are_refused(void **state)
{
	struct stream_filter *filter;

	assert_int_equal(
		stream_filter_new(&(struct stream_filter_spec){.ops = "("}, &quiet, &filter),
		KYMO_ERROR_INVALID_ARGUMENT);
	assert_int_equal(
		stream_filter_new(&(struct stream_filter_spec){.ranks = "12,x"}, &quiet, &filter),
		KYMO_ERROR_INVALID_ARGUMENT);
}

static int make_work(void **state)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(work, sizeof(work), "%.40s/raw-test-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(work) ? 0 : -1;
}

static int remove_work(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", work);
	return system(command);
}

/* ---- ranks that are not there ---------------------------------------------------------------- */

static struct t_process *add_rank(struct raw_trace *rt, uint32_t rank, uint32_t ranks)
{
	struct t_process *p = raw_add_unread(rt, "x.kyr", FILE_READ);

	p->rank = rank;
	p->ranks = ranks;
	p->job = "one";
	return p;
}

/* Processes 1 and 2 are ranks `a` and `b` of `ranks`; so many are found missing. */
static uint32_t missing(uint32_t a, uint32_t b, uint32_t ranks, bool listed,
			const struct t_process *like)
{
	struct raw_trace rt = {.trace = trace_new(), .log = &quiet, .listed = listed};
	struct t_process *p;
	uint32_t found;

	assert_non_null(rt.trace);
	add_rank(&rt, a, ranks);
	p = add_rank(&rt, b, ranks);
	p->some_ranks = like->some_ranks;
	p->recording = like->recording;
	p->merged_ranks = like->merged_ranks;
	trace_number_worlds(rt.trace);
	assert_int_equal(rt.trace->worlds, 1);
	raw_find_missing_ranks(&rt);
	found = rt.trace->processes_count - 3;
	for (uint32_t i = 3; i < rt.trace->processes_count; i++) {
		p = &rt.trace->processes[i];
		assert_int_equal(p->file_state, FILE_MISSING);
		assert_true(p->rank < ranks && p->rank != a && p->rank != b);
	}
	trace_free(rt.trace);
	return found;
}

static void missing_ranks_are_found(void **state)
{
	const struct t_process plain = {0};

	assert_int_equal(missing(0, 1, 2, false, &plain), 0);
	assert_int_equal(missing(1, 3, 5, false, &plain), 3);
	assert_int_equal(missing(1, 1, 2, false, &plain), 1); /* restarted */
	assert_int_equal(missing(0, 0, 1, false, &plain), 0);
	assert_int_equal(missing(1, 3, 5, true, &plain), 0); /* a manifest lists what there was */
	assert_int_equal(missing(0, 1, UINT32_MAX, false, &plain), 0);
	assert_int_equal(missing(1, 3, 5, false, &(struct t_process){.some_ranks = true}), 0);
	assert_int_equal(missing(1, 3, 5, false, &(struct t_process){.recording = true}), 0);
	assert_int_equal(missing(1, 3, 5, false, &(struct t_process){.merged_ranks = 3}), 0);
}

/* A rank whose file is not there is none of another world. */
static void missing_files_make_no_world(void **state)
{
	struct raw_trace rt = {.trace = trace_new(), .log = &quiet};

	assert_non_null(rt.trace);
	add_rank(&rt, 1, 2);
	raw_add_unread(&rt, "y.kyr", FILE_MISSING)->rank = 0;
	trace_number_worlds(rt.trace);
	assert_int_equal(rt.trace->worlds, 1);
	trace_free(rt.trace);
}

/* What it cost is no more than a process has time for, and a number. */
static void costs_can_be(void **state)
{
	static const struct {
		double cost, variance, left;
		uint64_t damage;
	} cases[] = {{1e6, 1e9, 1e6, 0}, {1e6, (double)NAN, 0, 1},
		     {1e6, -1, 0, 1},    {1e6, (double)INFINITY, 0, 1},
		     {1e300, 1, 0, 1},   {(double)NAN, 1, 0, 1}};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct raw_trace rt = {.trace = trace_new(), .log = &quiet};
		struct raw_process p = {.rt = &rt, .process = 1, .file.path = "x.kyr"};
		struct t_process *tp;

		assert_non_null(rt.trace);
		tp = raw_add_unread(&rt, "x.kyr", FILE_READ);
		tp->end = 1000000000;
		tp->calls_cost_ns = cases[i].cost;
		tp->calls_cost_variance = cases[i].variance;
		raw_check_cost(&p);
		assert_true(tp->calls_cost_ns == cases[i].left);
		assert_true(tp->calls_cost_variance == (cases[i].left > 0 ? cases[i].variance : 0));
		assert_int_equal(p.file.damaged, cases[i].damage);
		trace_free(rt.trace);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_ranks_are_found),
		cmocka_unit_test(costs_can_be),
		cmocka_unit_test(missing_files_make_no_world),
		cmocka_unit_test(demo_comes_back),
		cmocka_unit_test(definitions_come_back),
		cmocka_unit_test(devices_are_no_parts_of_each_other),
		cmocka_unit_test(foreign_files_are_refused),
		cmocka_unit_test(every_prefix),
		cmocka_unit_test(a_file_cut_meanwhile_is_damage),
		cmocka_unit_test(every_prefix_packed),
		cmocka_unit_test(every_flip),
		cmocka_unit_test(holes_are_jumped),
		cmocka_unit_test(order_is_by_start),
		cmocka_unit_test(few_chunks_for_few_records),
		cmocka_unit_test(long_calls_come_first),
		cmocka_unit_test(what_is_around_comes_first),
		cmocka_unit_test(calls_come_before_what_they_start),
		cmocka_unit_test(bounds_hold),
		cmocka_unit_test(brief_calls_are_the_same),
		cmocka_unit_test(look_sees_what_it_wants),
		cmocka_unit_test(filters_select),
		cmocka_unit_test(bad_filters_are_refused),
	};

	return cmocka_run_group_tests_name("raw", tests, make_work, remove_work);
}
