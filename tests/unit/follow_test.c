/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings followed while they grow: each block counts once, whenever it is seen; what is damaged, left out or
 * replaced by a compressed file changes no other number; memory that holds anything at all harms nobody.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "follow/process.h"
#include "support/synth.h"

enum { THREADS = 3, CALLS = 40000, RANDOM_MEMORIES = 300 };

static char work[] = "/tmp/kymo-follow-XXXXXX";
static char source[PATH_MAX], target[PATH_MAX], whole[PATH_MAX], growing[PATH_MAX];
static uint8_t *data;
static size_t bytes;

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...)
{
	char command[4 * PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	assert_int_equal(system(command), 0);
}

static int make_work(void **state)
{
	assert_non_null(mkdtemp(work));
	snprintf(whole, sizeof(whole), "%s/whole.kymo", work);
	snprintf(growing, sizeof(growing), "%s/growing.kymo", work);
	synth_bulk(whole, THREADS, CALLS, false);
	snprintf(source, sizeof(source), "%.3000s/raw/node1-6000-0.kyr", whole);
	data = (uint8_t *)file_read(source, &bytes);
	assert_non_null(data);
	return 0;
}

static int remove_work(void **state)
{
	free(data);
	run("rm -rf %s", work);
	return 0;
}

static void put(size_t from, size_t to)
{
	int fd = open(target, O_WRONLY | O_APPEND | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data + from, to - from), (ssize_t)(to - from));
	close(fd);
}

/* An empty recording that grows by put(). */
static void begin(struct follow *f)
{
	run("rm -rf %s && mkdir -p %s/raw", growing, growing);
	snprintf(target, sizeof(target), "%.3000s/raw/node1-6000-0.kyr", growing);
	assert_true(follow_init(f));
	assert_true(follow_add(f, growing));
	f->most = 1ull << 30; /* looks follow at once */
}

static const struct follow_row *row_of(const struct follow_rows *rows, const char *name)
{
	for (uint32_t i = 0; i < rows->count; i++)
		if (strcmp(rows->at[i].name, name) == 0)
			return &rows->at[i];
	return NULL;
}

/* ns that the calls of bulk with that number modulo 8 took: of one thread. */
static double waited_by_one(void)
{
	double sum = 0;

	for (unsigned k = 0; k < CALLS; k++)
		sum += k % 8 == 7 ? 300 + k % 7 * 50 : 0;
	return sum;
}

static void expect_all(const struct follow *f)
{
	const struct follow_row *wait = row_of(&f->calls, synth_test_domain.ops[TEST_WAIT].name),
				*launch =
					row_of(&f->calls, synth_test_domain.ops[TEST_LAUNCH].name);

	assert_int_equal(f->process_count, 1);
	assert_true(f->processes[0]->ended);
	assert_true(f->calls_now == (double)THREADS * CALLS);
	assert_non_null(wait);
	assert_non_null(launch);
	assert_true(wait->now.count == THREADS * CALLS / 8.0);
	assert_true(launch->now.count == THREADS * CALLS / 8.0 * 7);
	assert_true(fabs(wait->now.ns / (THREADS * waited_by_one()) - 1) < 0.001);
	if (synth_test_domain.ops[TEST_WAIT].flags & KYMO_OP_WAITS)
		assert_true(fabs(f->processes[0]->waited - wait->now.ns) < 1);
	assert_true(f->damaged == 0);
	assert_false(f->failed);
}

/* ---- files that grow --------------------------------------------------------------------------- */

static void pieces_of(size_t piece)
{
	struct follow f;
	double read = -1;

	begin(&f);
	for (size_t at = 0; at < bytes; at += piece) {
		put(at, at + piece < bytes ? at + piece : bytes);
		follow_look(&f);
		assert_true(f.read >= read); /* never again from the beginning */
		read = f.read;
	}
	expect_all(&f);
	/* The sum of what all chunks of records hold: each was looked into once. */
	assert_true(f.read < (double)bytes);
	assert_true(f.written_now == (double)bytes);
	read = f.read;
	follow_look(&f);
	assert_true(f.read == read);
	assert_true(f.calls_then == f.calls_now);
	follow_release(&f);
}

static void in_pieces(void **state)
{
	pieces_of(bytes);
	pieces_of(100003);
	pieces_of(7919);
}

/* A block is taken when it is whole, not before. */
static void no_block_before_its_end(void **state)
{
	struct follow f;
	size_t last = bytes;
	double calls;

	begin(&f);
	put(0, bytes / 2);
	follow_look(&f);
	calls = f.calls_now;
	assert_true(calls > 0 && calls < (double)THREADS * CALLS);
	follow_look(&f);
	assert_true(f.calls_now == calls);
	put(bytes / 2, last);
	follow_look(&f);
	expect_all(&f);
	follow_release(&f);
}

/* A compressed file takes the place of the one that grows: nothing counts twice. */
static void replaced(void **state)
{
	struct follow f;
	char packed[PATH_MAX];

	snprintf(packed, sizeof(packed), "%s/packed.kymo", work);
	run("cp -r %s %s && %s compress %s", whole, packed, KYMO_PROGRAM, packed);
	begin(&f);
	put(0, bytes / 3);
	follow_look(&f);
	assert_true(f.calls_now > 0 && f.calls_now < (double)THREADS * CALLS);
	run("cp %s/raw/*.kyr %s.new && mv %s.new %s", packed, target, target, target);
	follow_look(&f);
	expect_all(&f);
	follow_release(&f);
}

/* ---- damage ------------------------------------------------------------------------------------ */

/* Offset of the payload of the nth block of records. */
static size_t payload_of(unsigned n)
{
	struct raw_block b;
	struct raw_header h;

	memcpy(&h, data, sizeof(h));
	for (size_t at = h.header_size; at + sizeof(b) <= bytes; at += sizeof(b) + b.stored) {
		memcpy(&b, data + at, sizeof(b));
		if (b.type == RAW_CHUNK && b.chunk_type == WIRE_CHUNK_RECORDS && n-- == 0)
			return at + sizeof(b);
	}
	fail();
	return 0;
}

/* Calls in the chunk of that payload, by looking at a file that ends behind it and at one that ends before. */
static double calls_until(size_t end)
{
	struct follow f;
	double calls;

	begin(&f);
	put(0, end);
	follow_look(&f);
	calls = f.calls_now;
	follow_release(&f);
	return calls;
}

static void damaged(size_t at, unsigned n)
{
	size_t begin_of = payload_of(n) - sizeof(struct raw_block), next = payload_of(n + 1);
	double missing = calls_until(next - sizeof(struct raw_block)) - calls_until(begin_of);
	struct follow f;

	assert_true(missing > 0);
	begin(&f);
	data[at] ^= 0x10;
	put(0, bytes);
	data[at] ^= 0x10;
	follow_look(&f);
	assert_int_equal(f.damaged, 1);
	assert_true(f.calls_now == (double)THREADS * CALLS - missing);
	assert_true(f.processes[0]->ended);
	follow_release(&f);
}

static void damage_costs_a_block(void **state)
{
	damaged(payload_of(5) + 400, 5);                           /* a record */
	damaged(payload_of(7) - sizeof(struct raw_block), 7);      /* the magic of a block */
	damaged(payload_of(9) - sizeof(struct raw_block) + 43, 9); /* its size: far too large */
}

/* ---- too much ---------------------------------------------------------------------------------- */

static void left_out(void **state)
{
	struct follow f, all;

	begin(&all);
	put(0, bytes);
	follow_look(&all);
	assert_true(follow_init(&f));
	assert_true(follow_add(&f, growing));
	f.most = bytes / 6;
	follow_look(&f);
	assert_false(follow_complete(&f));
	assert_true(follow_complete(&all));
	assert_true(f.processes[0]->ended);
	assert_true(f.read > 0.1 * all.read && f.read < 0.3 * all.read);
	/* An estimate: chunks of bulk are of one size but for the last ones of threads. */
	assert_true(fabs(f.calls_now / (THREADS * CALLS) - 1) < 0.15);
	follow_release(&f);
	follow_release(&all);
}

/* ---- memory ------------------------------------------------------------------------------------ */

static uint64_t random_state = 88172645463325252ull;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static const struct shm_header good = {
	.magic = SHM_MAGIC,
	.version = SHM_VERSION,
	.header_size = sizeof(struct shm_header),
	.ctl_offset = 4096,
	.threads_offset = 8192,
	.chunks_offset = 8192 + SHM_THREADS * sizeof(struct shm_thread),
	.chunk_size = 4096,
	.chunk_max = 8,
	.chunk_count = 8,
};

/* Chunks with headers in order and anything behind them. */
static int make_memory(void)
{
	struct shm_header h = good;
	int fd = memfd_create("follow", MFD_CLOEXEC);
	struct shm_chunk_ctl ctl[8] = {0};

	h.bytes = h.chunks_offset + 8 * 4096;
	assert_int_equal(ftruncate(fd, (off_t)h.bytes), 0);
	for (unsigned i = 0; i < 8; i++) {
		struct wire_chunk c = {.magic = WIRE_CHUNK_MAGIC,
				       .version = WIRE_VERSION,
				       .header_size = sizeof(c),
				       .type = 1 + (uint32_t)(next_random() % 4),
				       .thread = (uint32_t)(next_random() % 3),
				       .seq = next_random() % 2};
		uint64_t noise[512];

		c.committed = (uint32_t)(sizeof(c) + next_random() % (4096 - sizeof(c) + 1));
		ctl[i].state = SHM_FILLING + (uint32_t)(next_random() % 2);
		for (size_t k = 0; k < 512; k++)
			noise[k] = next_random() & (k % 3 ? 0xff00ff : ~0ull);
		memcpy(noise, &c, sizeof(c));
		assert_int_equal(
			pwrite(fd, noise, sizeof(noise), (off_t)(h.chunks_offset + i * 4096)),
			sizeof(noise));
	}
	for (size_t k = 0; k < 3 && next_random() % 2; k++)
		((uint8_t *)&h)[next_random() % 80] ^= (uint8_t)next_random();
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	assert_int_equal(pwrite(fd, ctl, sizeof(ctl), 4096), sizeof(ctl));
	return fd;
}

static void any_memory(void **state)
{
	for (unsigned i = 0; i < RANDOM_MEMORIES; i++) {
		struct follow f;
		double calls;

		begin(&f);
		put(0, bytes / 50);
		follow_look(&f);
		calls = f.calls_now;
		f.processes[0]->ended = false;
		follow_take_memory(f.processes[0], make_memory());
		follow_look(&f);
		follow_look(&f);
		assert_true(f.calls_now >= calls);
		follow_release(&f);
	}
}

/* Memory that becomes shorter is not there. */
static void memory_goes(void **state)
{
	struct follow f;
	int fd = make_memory();

	begin(&f);
	put(0, bytes / 2);
	follow_look(&f);
	follow_take_memory(f.processes[0], fd);
	assert_int_equal(ftruncate(fd, 100), 0);
	follow_look(&f);
	assert_true(f.calls_now > 0);
	follow_release(&f);
}

/* ---- busy -------------------------------------------------------------------------------------- */

static void spans_are_joined(void **state)
{
	struct busy_union b = {0};

	assert_true(busy_union_total(&b) == 0);
	busy_union_add(&b, 100, 200);
	busy_union_add(&b, 150, 250);
	busy_union_add(&b, 400, 300); /* ends before it begins */
	assert_true(busy_union_total(&b) == 150);
	busy_union_add(&b, 50, 120);
	busy_union_add(&b, 250, 260);
	busy_union_add(&b, 1000, 1001);
	assert_true(busy_union_total(&b) == 211);
	busy_union_add(&b, 0, 2000);
	assert_true(busy_union_total(&b) == 2000);
	busy_union_release(&b);
}

/* More than are kept, in batches of which each goes back over the one before. */
static void spans_without_end(void **state)
{
	struct busy_union b = {0};
	uint64_t n = 0;

	for (unsigned batch = 0; batch < 20; batch++) {
		for (int queue = 0; queue < 2; queue++)
			for (uint64_t i = 0; i < 10000; i++, n += queue == 0)
				busy_union_add(&b, (batch * 10000 + i) * 10 + (uint64_t)queue * 3,
					       (batch * 10000 + i) * 10 + (uint64_t)queue * 3 + 4);
		assert_true(busy_union_total(&b) == (double)n * 7);
		assert_true(b.count <= BUSY_KEPT);
	}
	busy_union_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_pieces),         cmocka_unit_test(no_block_before_its_end),
		cmocka_unit_test(replaced),          cmocka_unit_test(damage_costs_a_block),
		cmocka_unit_test(left_out),          cmocka_unit_test(any_memory),
		cmocka_unit_test(memory_goes),       cmocka_unit_test(spans_are_joined),
		cmocka_unit_test(spans_without_end),
	};

	return cmocka_run_group_tests_name("follow", tests, make_work, remove_work);
}
