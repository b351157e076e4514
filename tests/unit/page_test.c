/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: rows in bounded memory (page/rows.h), levels of rows (page/level.h) against every ns, blocks (page/block.h), messages between ranks (page/matrix.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/labels.h"
#include "page/block.h"
#include "page/data.h"
#include "page/level.h"
#include "page/matrix.h"
#include "page/rows.h"
#include "stream/profile.h"
#include "stream/trace.h"

enum { ROWS = 300, EACH = 500, MOST = 100000 };

/* Many rows at once in little memory: each comes back whole and in order, and its blocks say what is in them. */
static void test_rows(void **state)
{
	static struct page_slice back[PAGE_BLOCK_MOST];
	struct page_store s;
	struct page_chain *chains[ROWS];

	assert_int_equal(page_store_init(&s, (struct page_temporary){"/tmp", NULL}, MOST), KYMO_OK);
	for (unsigned i = 0; i < ROWS; i++)
		assert_non_null(chains[i] = page_chain_new(&s, sizeof(struct page_slice)));
	for (int64_t k = 0; k < EACH; k++) {
		for (unsigned i = 0; i < ROWS; i++) {
			struct page_slice x = {.start = k * 10, .end = k * 10 + i % 9, .op = i};

			assert_int_equal(page_chain_add(&s, chains[i], &x, x.start, x.end),
					 KYMO_OK);
			assert_true(s.pending <= MOST + sizeof(x));
		}
	}
	assert_int_equal(page_store_flush(&s), KYMO_OK);
	for (unsigned i = 0; i < ROWS; i++) {
		const struct page_chain *c = chains[i];
		int64_t next = 0;

		assert_int_equal(c->count, EACH);
		for (uint32_t b = 0; b < c->block_count; b++) {
			assert_int_equal(page_chain_read(&s, c, b, back), KYMO_OK);
			assert_int_equal(c->blocks[b].start, next * 10);
			assert_int_equal(c->blocks[b].busy, c->blocks[b].count * (i % 9));
			for (uint32_t k = 0; k < c->blocks[b].count; k++, next++) {
				assert_int_equal(back[k].start, next * 10);
				assert_int_equal(back[k].op, i);
			}
			assert_int_equal(c->blocks[b].end, (next - 1) * 10 + i % 9);
		}
		assert_int_equal(next, EACH);
	}
	page_store_release(&s);
}

enum { LENGTH = 200000, OPS = 5 };

/* What each ns is of, by op + 1; where slices begin. */
static struct {
	uint8_t of[LENGTH + 1];
	uint32_t begin[LENGTH + 1];
} truth;

static void check_level(const struct level *v)
{
	uint64_t length = (uint64_t)1 << v->shift;

	for (uint32_t i = 0; i < v->bins; i++) {
		uint64_t use[OPS] = {0}, sum = 0, begin = 0;

		for (uint64_t t = i * length; t < (i + 1) * length && t <= LENGTH; t++) {
			begin += truth.begin[t];
			if (truth.of[t]) {
				use[truth.of[t] - 1]++;
				sum++;
			}
		}
		assert_int_equal(v->count[i], begin);
		if (sum) {
			assert_int_equal(v->share[i], (sum * 255 + length - 1) / length);
			for (unsigned k = 0; k < OPS; k++)
				assert_true(use[v->op[i]] >= use[k]);
		} else {
			assert_true(v->share[i] <= 1); /* 1: of one without length */
		}
	}
}

static void test_levels(void **state)
{
	struct levels l;
	int64_t at = 0;

	memset(&truth, 0, sizeof(truth));
	srand(3);
	assert_true(levels_init(&l, LENGTH, 40000, OPS));
	while (at < LENGTH - 3000) {
		int64_t start = at + rand() % (rand() % 20 ? 5 : 2000);
		int64_t end = start + rand() % (rand() % 50 ? 6 : 900);
		uint32_t op = (uint32_t)rand() % OPS;

		levels_add(&l, start, end, op);
		truth.begin[start]++;
		memset(truth.of + start, (int)op + 1, (size_t)(end - start));
		at = end;
	}
	assert_true(levels_finish(&l));
	assert_true(l.count >= 3);
	for (unsigned i = 0; i < l.count; i++)
		check_level(&l.at[i]);
	levels_release(&l);
}

/* Threads of all numbers stand above devices, those that only samples know behind the others. */
static void test_sort(void **state)
{
	static struct t_process processes[2];
	static struct t_agent agents[2] = {{.label = ""}, {.label = "GPU", .process = 1}};
	static struct t_thread threads[] = {{0},
					    {.process = 1, .index = 1, .main = true, .name = ""},
					    {.process = 1, .index = UINT32_MAX, .name = ""},
					    {.process = 1, .index = (1u << 24) + 1, .name = ""},
					    {.process = 1, .index = 2, .name = ""}};
	static struct trace t = {.processes = processes,
				 .processes_count = 2,
				 .threads = threads,
				 .threads_count = 5,
				 .agents = agents,
				 .agents_count = 2};
	static struct page_data d = {.t = &t};
	uint32_t track[5], device;

	processes[1] = (struct t_process){
		.hostname = "", .exe = "", .argv = "", .rank = UINT32_MAX, .name = "p"};
	assert_true(page_tracks_init(&d));
	device = page_track_of_device(&d, 1, 1);
	for (uint32_t i = 1; i < 5; i++)
		track[i] = page_track_of_thread(&d, 1, i);
	assert_true(d.tracks[track[1]].sort < d.tracks[track[4]].sort);
	assert_true(d.tracks[track[4]].sort < d.tracks[track[3]].sort);
	assert_true(d.tracks[track[3]].sort < d.tracks[track[2]].sort);
	assert_true(d.tracks[track[2]].sort < d.tracks[device].sort);
	page_tracks_release(&d);
}

/* Threads of Kymo are told from those of the program wherever threads are named. */
static void test_own(void **state)
{
	static struct t_process processes[2] = {
		{.hostname = "", .exe = "", .argv = "", .rank = UINT32_MAX},
		{.hostname = "", .exe = "", .argv = "", .rank = UINT32_MAX, .pid = 7, .name = "p"}};
	static struct t_thread threads[] = {
		{.name = ""},
		{.process = 1, .index = 1, .tid = 8, .name = "theirs"},
		{.process = 1, .index = 2, .tid = 9, .name = "ours", .own = true}};
	static struct trace t = {.processes = processes,
				 .processes_count = 2,
				 .threads = threads,
				 .threads_count = 3};
	static const struct summary s = {.trace = &t};
	static struct page_data d = {.t = &t};
	static const char *const tracks[] = {"theirs", "ours (of Kymo)"};
	static const char *const labels[] = {"7/8 theirs", "7/9 ours (of Kymo)"};
	static const char *const frames[] = {"theirs 8", "ours 9 (of Kymo)"};

	assert_true(page_tracks_init(&d));
	for (uint32_t i = 1; i < 3; i++) {
		struct tally row = {.key[KEY_PROCESS] = 1, .key[KEY_THREAD] = i};
		struct text label = {0}, frame = {0};
		uint32_t track = page_track_of_thread(&d, 1, i);

		assert_string_equal(d.tracks[track].label, tracks[i - 1]);
		label_add(&label, &s, TALLY_CALL, &row, BY_THREAD);
		assert_string_equal(label.s, labels[i - 1]);
		profile_add_thread(&frame, &t, i);
		assert_string_equal(frame.s, frames[i - 1]);
		text_release(&label);
		text_release(&frame);
	}
	page_tracks_release(&d);
}

enum { RANKS = 601 };

/* Of so many ranks each has sent one message to each: rank i to rank j 1000 i + j bytes. */
static struct matrix matrix_of_all(uint32_t ranks)
{
	static struct t_process processes[RANKS + 1];
	static struct t_communicator communicators[1];
	static struct trace t = {.processes = processes, .communicators = communicators};
	struct timeline tl = {.trace = &t};
	struct matrix m;

	t.processes_count = ranks + 1;
	for (uint32_t i = 0; i < ranks; i++)
		processes[i + 1].rank = ranks - 1 - i; /* in no order */
	tl.messages = calloc((size_t)ranks * ranks, sizeof(*tl.messages));
	assert_non_null(tl.messages);
	for (uint32_t i = 0; i < ranks; i++)
		for (uint32_t j = 0; j < ranks; j++)
			tl.messages[tl.messages_count++] =
				(struct tl_message){.process = ranks - i,
						    .peer = (int32_t)j,
						    .kind = COMM_OP_SEND,
						    .bytes = (uint64_t)i * 1000 + j};
	assert_true(matrix_find(&m, &tl, MATRIX_PAIRS_MOST));
	free(tl.messages);
	return m;
}

/* Of more pairs than a page has neighbours are one, and no message is missing; of as many as it has each is one. */
static void test_matrix(void **state)
{
	enum { SQUARE = 512 };
	struct matrix m = matrix_of_all(SQUARE);

	assert_int_equal(SQUARE * SQUARE, MATRIX_PAIRS_MOST);
	assert_int_equal(m.each, 1);
	assert_int_equal(m.pair_count, MATRIX_PAIRS_MOST);
	matrix_release(&m);
	m = matrix_of_all(RANKS);
	assert_int_equal(m.each, 2);
	assert_int_equal(m.count, RANKS);
	assert_int_equal(m.pair_count, (RANKS + 1) / 2 * ((RANKS + 1) / 2));
	for (uint32_t k = 0; k < m.pair_count; k++) {
		uint32_t from = k / ((RANKS + 1) / 2), to = k % ((RANKS + 1) / 2);
		uint64_t messages = 0, bytes = 0;

		for (uint32_t i = 2 * from; i < 2 * from + 2 && i < RANKS; i++)
			for (uint32_t j = 2 * to; j < 2 * to + 2 && j < RANKS; j++) {
				messages++;
				bytes += (uint64_t)i * 1000 + j;
			}
		assert_int_equal(m.pairs[k].from, from);
		assert_int_equal(m.pairs[k].to, to);
		assert_int_equal(m.pairs[k].messages, messages);
		assert_int_equal(m.pairs[k].bytes, bytes);
	}
	matrix_release(&m);
}

/* A reader of one column of a block, which does nothing but what docs/page.md says. */
static void read_column(const uint8_t *data, unsigned kind, uint64_t *out)
{
	uint32_t count = (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16;
	const uint8_t *planes = data + 5 + 3u * data[4];
	uint64_t ops[64], last[OPS] = {0}, before = 0;

	if (kind != BLOCK_OP)
		read_column(data, BLOCK_OP, ops);
	for (unsigned c = 0; c < data[4]; c++) {
		const uint8_t *head = data + 5 + 3 * c;

		for (uint32_t i = 0; head[0] == kind && i < count; i++) {
			uint64_t v = 0;

			for (unsigned k = 0; k < head[1]; k++)
				v |= (uint64_t)planes[k * count + i] << (8 * k);
			if (head[2]) {
				uint64_t *from = head[2] == 1 ? &before : &last[ops[i]];

				v = (v >> 1 ^ (0 - (v & 1))) + *from;
				*from = v;
			}
			out[i] = v;
		}
		planes += (size_t)head[1] * count;
	}
}

static void test_block(void **state)
{
	static const uint64_t far[] = {0, 1, UINT64_MAX, (uint64_t)1 << 63, 255, 256, 77};
	struct text out = {0};
	struct block b;
	uint64_t back[64];

	assert_true(block_init(&b, 1u << BLOCK_GAP | 1u << BLOCK_DURATION | 1u << BLOCK_OP, OPS));
	b.count = 64;
	for (uint32_t i = 0; i < 64; i++) {
		b.values[BLOCK_GAP][i] = far[i % 7] + i / 7;
		b.values[BLOCK_DURATION][i] =
			1000000 * (i % OPS) + i % 3; /* by op they are alike */
		b.values[BLOCK_OP][i] = i % OPS;
	}
	block_write(&b, &out);
	assert_false(out.failed);
	for (unsigned kind = BLOCK_GAP; kind <= BLOCK_OP; kind++) {
		read_column((const uint8_t *)out.s, kind, back);
		assert_memory_equal(back, b.values[kind], sizeof(back));
	}
	block_release(&b);
	text_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),   cmocka_unit_test(test_levels),
		cmocka_unit_test(test_sort),   cmocka_unit_test(test_own),
		cmocka_unit_test(test_matrix), cmocka_unit_test(test_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
