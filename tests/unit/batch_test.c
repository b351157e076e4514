/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that are written from memory which is somebody else's: where it changes or goes away, the block's
 * checksum says so, and the others are as they were. And when the drain sleeps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/file.h"
#include "drain/batch.h"
#include "drain/producer_inside.h"
#include "drain/waiter.h"
#include "support/synth_producer.h"
#include "wire/bell.h"

enum { PAGE = 4096, HEAD = 40, LENT = 3 * PAGE + 100, COPIED = 60 };

static int new_file(void)
{
	int fd = memfd_create("batch", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void fill(uint8_t *to, size_t bytes, uint8_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)(seed + i * 7 + (i >> 8));
}

/* Block `n`: every third has nothing lent. */
static bool is_lent(unsigned n)
{
	return n % 3 != 2;
}

static uint32_t bytes_of(unsigned n)
{
	return is_lent(n) ? HEAD + LENT - n % 5 : COPIED;
}

static void expect(uint8_t *out, unsigned n)
{
	fill(out, is_lent(n) ? HEAD : COPIED, (uint8_t)n);
	if (is_lent(n))
		fill(out + HEAD, bytes_of(n) - HEAD, (uint8_t)(n + 100));
}

/* Lends from `memory`, LENT bytes a block. */
static void make(struct batch *b, uint8_t *memory, unsigned count)
{
	for (unsigned n = 0; n < count; n++) {
		struct raw_block block = {.type = RAW_CHUNK, .seq = n, .raw = bytes_of(n)};
		uint8_t head[COPIED], *from = memory + (size_t)n * LENT;

		if (!is_lent(n)) {
			fill(batch_reserve(b, block.raw), block.raw, (uint8_t)n);
			batch_commit(b, &block);
			continue;
		}
		fill(head, HEAD, (uint8_t)n);
		fill(from, LENT, (uint8_t)(n + 100));
		assert_true(batch_lend(b, &block, head, HEAD, from));
	}
}

static uint8_t *lendable(unsigned count)
{
	uint8_t *m = malloc((size_t)count * LENT);

	assert_non_null(m);
	return m;
}

/* What is in the file: how many blocks have a checksum that is not that of their payload. */
static unsigned damaged_blocks(int fd, unsigned count, size_t bytes)
{
	uint8_t *data = malloc(bytes), *want = malloc(HEAD + LENT);
	unsigned damaged = 0;
	size_t at = 0;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, bytes);
	assert_int_equal(pread(fd, data, bytes, 0), bytes);
	for (unsigned n = 0; n < count; n++) {
		struct raw_block b;

		memcpy(&b, data + at, sizeof(b));
		at += sizeof(b);
		assert_int_equal(b.magic, RAW_BLOCK_MAGIC);
		assert_int_equal(b.seq, n);
		assert_int_equal(b.stored, bytes_of(n));
		expect(want, n);
		if (XXH3_64bits(data + at, b.stored) != b.checksum)
			damaged++;
		else
			assert_memory_equal(data + at, want, b.stored);
		at += b.stored;
	}
	assert_int_equal(at, bytes);
	free(data);
	free(want);
	return damaged;
}

/* More of them than one system call takes. */
static void lent_blocks_are_written_in_order(void **state)
{
	enum { COUNT = 1500 };
	uint8_t *memory = lendable(COUNT);
	struct batch b = {0};
	int fd = new_file();

	make(&b, memory, COUNT);
	assert_true(b.used < b.bytes / 50); /* what is lent is not copied */
	assert_int_equal(batch_write(&b, fd, b.bytes), b.bytes);
	assert_int_equal(damaged_blocks(fd, COUNT, b.bytes), 0);
	batch_release(&b);
	close(fd);
	free(memory);
}

static void as_much_is_written_as_is_wanted(void **state)
{
	enum { COUNT = 4 };
	uint8_t *memory = lendable(COUNT), *all, *part;
	struct batch b = {0};
	int fd = new_file();

	make(&b, memory, COUNT);
	all = malloc(b.bytes);
	part = malloc(b.bytes);
	assert_int_equal(batch_write(&b, fd, b.bytes), b.bytes);
	assert_int_equal(pread(fd, all, b.bytes, 0), b.bytes);
	for (size_t n = 0; n <= b.bytes; n += n < 300 ? 1 : 997) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		assert_int_equal(batch_write(&b, fd, n), n);
		assert_int_equal(pread(fd, part, b.bytes, 0), n);
		assert_memory_equal(part, all, n);
	}
	batch_release(&b);
	close(fd);
	free(memory);
	free(all);
	free(part);
}

static void blocks_are_walked(void **state)
{
	enum { COUNT = 10 };
	uint8_t *memory = lendable(COUNT), *want = malloc(HEAD + LENT);
	struct batch_walk w = {0};
	struct batch b = {0};
	struct raw_block block;
	size_t end = 0;
	unsigned n = 0;

	make(&b, memory, COUNT);
	for (; batch_next(&b, &w, &block); n++) {
		assert_int_equal(block.seq, n);
		end += sizeof(block) + bytes_of(n);
		assert_int_equal(w.end, end);
		expect(want, n);
		assert_memory_equal(batch_payload(&b, &w), want, block.stored);
	}
	assert_int_equal(n, COUNT);
	assert_int_equal(end, b.bytes);
	batch_clear(&b);
	w = (struct batch_walk){0};
	assert_false(batch_next(&b, &w, &block));
	batch_release(&b);
	free(memory);
	free(want);
}

/* By who has lent it, between the checksum and the file. */
static void changed_memory_is_one_damaged_block(void **state)
{
	enum { COUNT = 9 };
	uint8_t *memory = lendable(COUNT);
	struct batch b = {0};
	int fd = new_file();

	make(&b, memory, COUNT);
	memory[4 * LENT + PAGE]++;
	assert_int_equal(batch_write(&b, fd, b.bytes), b.bytes);
	assert_int_equal(damaged_blocks(fd, COUNT, b.bytes), 1);
	batch_release(&b);
	close(fd);
	free(memory);
}

/* The kernel then says EFAULT, in the middle of what it was to write. */
static void memory_taken_away_is_damage(void **state)
{
	enum { COUNT = 9, MEMORY = COUNT * LENT };
	struct producer p = {.bytes = (MEMORY + PAGE - 1) & ~(size_t)(PAGE - 1)};
	int fd = new_file(), lender = new_file();
	struct batch b = {0};

	assert_int_equal(ftruncate(lender, (off_t)p.bytes), 0);
	p.shm = mmap(NULL, p.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, lender, 0);
	assert_ptr_not_equal(p.shm, MAP_FAILED);
	make(&b, (uint8_t *)p.shm, COUNT);
	producer_guard_memory();
	producer_guard(&p);
	assert_int_equal(ftruncate(lender, PAGE), 0);
	assert_int_equal(batch_write(&b, fd, b.bytes), b.bytes);
	assert_int_equal(damaged_blocks(fd, COUNT, b.bytes), 6); /* all that were lent */
	batch_release(&b);
	munmap(p.shm, p.bytes);
	close(fd);
	close(lender);
}

/* ---- what is lent ----------------------------------------------------------------------------- */

static uint64_t put_chunk(struct shm_header *h, uint32_t i, uint32_t type, uint32_t state)
{
	struct wire_chunk *w = shm_chunk(h, i);

	*w = (struct wire_chunk){.magic = WIRE_CHUNK_MAGIC,
				 .version = WIRE_VERSION,
				 .header_size = sizeof(*w),
				 .type = type,
				 .thread = 1,
				 .seq = i,
				 .lost = 1};
	fill((uint8_t *)(w + 1), h->chunk_size - sizeof(*w), (uint8_t)i);
	atomic_store(&w->committed, h->chunk_size);
	atomic_store(&shm_ctl(h)[i].state, state);
	return sizeof(struct raw_block) + h->chunk_size;
}

/*
 * Chunks of records that were handed over, and no others: those that a thread may be writing to, or whose
 * lines change, are copied, so that what is written is what was checked.
 */
static void full_chunks_of_records_are_lent(void **state)
{
	static const struct {
		uint32_t type, chunk_state;
		bool lent;
	} cases[] = {{WIRE_CHUNK_RECORDS, SHM_FULL, true},
		     {WIRE_CHUNK_RECORDS, SHM_FILLING, false},
		     {WIRE_CHUNK_TALLY, SHM_FULL, false},
		     {WIRE_CHUNK_LIVE, SHM_FULL, false},
		     {WIRE_CHUNK_LIVE, SHM_FILLING, false}};
	struct synth s = {.chunk_size = 8192, .chunks = 32};
	char trace[] = "/tmp/kymo-test-XXXXXX", raw[80];

	assert_non_null(mkdtemp(trace));
	snprintf(raw, sizeof(raw), "%s/raw", trace);
	assert_int_equal(mkdir(raw, 0777), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		kymo_status_t status;
		int memfd;
		struct shm_header *h = synth_buffer(&s, &memfd);
		struct producer *p = producer_new(memfd, getpid(), NULL, &status);
		uint64_t before, bytes;

		assert_non_null(p);
		assert_true(producer_begin(p, trace));
		producer_pass(p);
		before = p->file.bytes;
		bytes = put_chunk(h, 20, cases[i].type, cases[i].chunk_state);
		atomic_fetch_add(&h->flush, 1);
		producer_pass(p);
		assert_true(p->file.bytes >= before + bytes);
		assert_int_equal(p->file.pending.lent_room != 0, cases[i].lent);
		assert_int_equal(p->file.pending.room < s.chunk_size, cases[i].lent);
		rawfile_close(&p->file);
		producer_drop(p);
		munmap(h, h->bytes);
	}
	assert_true(file_remove_tree(trace));
}

/* ---- sleeping -------------------------------------------------------------------------------- */

enum { SHORT_MS = 50, LONG_MS = 120000 };

static uint64_t slept_ms(struct waiter *w, const struct producer *p, int ms)
{
	uint64_t before = clock_ns(CLOCK_MONOTONIC);

	waiter_wait(w, p, ms);
	return (clock_ns(CLOCK_MONOTONIC) - before) / 1000000u;
}

/* Chunks that are handed over meanwhile do not keep the drain awake; the bell does. */
static void sleeps_until_the_bell(void **state)
{
	struct shm_header *h =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct producer p = {.shm = h, .bytes = PAGE, .heard = 7, .next_pass = UINT64_MAX};
	static struct waiter w; /* its thread stays */

	assert_ptr_not_equal(h, MAP_FAILED);
	atomic_store(&h->bell, 7);
	waiter_init(&w, epoll_create1(EPOLL_CLOEXEC));
	if (!w.vector)
		skip(); /* it looks every two milliseconds */
	atomic_fetch_add(&h->full, 31);
	assert_false(producer_calls(&p, 1));
	assert_true(slept_ms(&w, &p, SHORT_MS) >= SHORT_MS);
	shm_ring(h);
	assert_true(producer_calls(&p, 1));
	assert_true(slept_ms(&w, &p, LONG_MS) < LONG_MS);
	munmap(h, PAGE);
}

static void waited_long_enough(void **state)
{
	struct shm_header h = {0};
	struct producer p = {.shm = &h, .bytes = sizeof(h), .next_pass = 1000};

	assert_false(producer_calls(&p, 999));
	assert_true(producer_calls(&p, 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lent_blocks_are_written_in_order),
		cmocka_unit_test(as_much_is_written_as_is_wanted),
		cmocka_unit_test(blocks_are_walked),
		cmocka_unit_test(changed_memory_is_one_damaged_block),
		cmocka_unit_test(memory_taken_away_is_damage),
		cmocka_unit_test(full_chunks_of_records_are_lent),
		cmocka_unit_test(sleeps_until_the_bell),
		cmocka_unit_test(waited_long_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
