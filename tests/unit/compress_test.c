/* SPDX-License-Identifier: Apache-2.0 */
/* Compression of raw files: what readers find is the same, and what is there stays there. */
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zstd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/file.h"
#include "drain/beside.h"
#include "drain/compress.h"
#include "drain/rawfile.h"
#include "drain/scan.h"

enum { PAYLOAD = 32 << 10, SOME = 100 };

static char trace[64];

static int make_trace(void **state)
{
	char raw[80];

	strcpy(trace, "/tmp/kymo-test-XXXXXX");
	assert_non_null(mkdtemp(trace));
	snprintf(raw, sizeof(raw), "%s/raw", trace);
	return mkdir(raw, 0700);
}

static int remove_trace(void **state)
{
	return file_remove_tree(trace) ? 0 : -1;
}

/* ---- a file whose blocks are numbered -------------------------------------------------------- */

static void begin_file(struct rawfile *f)
{
	struct raw_header h = {.magic = RAW_MAGIC,
			       .version = RAW_VERSION,
			       .header_size = sizeof(h),
			       .pid = 17,
			       .hostname = "host"};

	assert_true(rawfile_create(f, trace, &h));
}

static void fill(uint8_t *payload, uint32_t number)
{
	for (uint32_t i = 0; i < PAYLOAD; i += 4) {
		uint32_t word = i % 64 ? number : i * 2654435761u;

		memcpy(payload + i, &word, sizeof(word));
	}
}

static void add_blocks(struct rawfile *f, uint32_t first, uint32_t count)
{
	static uint8_t payload[PAYLOAD];

	for (uint32_t i = first; i < first + count; i++) {
		fill(payload, i);
		rawfile_add(f, RAW_CHUNK, payload, PAYLOAD);
	}
}

static void end_file(struct rawfile *f)
{
	struct raw_end end = {.tick = 5};

	rawfile_end(f, &end);
	rawfile_close(f);
	assert_int_equal(f->failed, 0);
}

static void make_file(struct rawfile *f, uint32_t blocks)
{
	begin_file(f);
	add_blocks(f, 0, blocks);
	end_file(f);
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* The blocks from 0 to `count`, and the end if there is one. Returns how many are compressed. */
static uint32_t check_file(const char *path, uint32_t count, bool ended)
{
	static uint8_t expected[PAYLOAD], plain[PAYLOAD];
	uint32_t number = 0, packed = 0;
	size_t size, at = sizeof(struct raw_header);
	char *data = file_read(path, &size);
	struct raw_block b;

	assert_non_null(data);
	for (; size - at >= sizeof(b); at += sizeof(b) + b.stored) {
		const uint8_t *payload = (const uint8_t *)data + at + sizeof(b);

		memcpy(&b, data + at, sizeof(b));
		assert_int_equal(b.magic, RAW_BLOCK_MAGIC);
		assert_true(b.stored <= size - at - sizeof(b));
		assert_true(XXH3_64bits(payload, b.stored) == b.checksum);
		if (b.type == RAW_END)
			break;
		fill(expected, number++);
		assert_int_equal(b.raw, PAYLOAD);
		if (b.flags & RAW_ZSTD) {
			packed++;
			assert_int_equal(ZSTD_decompress(plain, PAYLOAD, payload, b.stored),
					 PAYLOAD);
			payload = plain;
		}
		assert_memory_equal(payload, expected, PAYLOAD);
	}
	assert_int_equal(number, count);
	assert_int_equal(size - at, ended ? sizeof(b) + sizeof(struct raw_end) : 0);
	free(data);
	return packed;
}

static unsigned names_in_raw(void)
{
	char raw[80];
	struct dirent *e;
	unsigned n = 0;
	DIR *d;

	snprintf(raw, sizeof(raw), "%s/raw", trace);
	d = opendir(raw);
	assert_non_null(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.' || (e->d_name[1] && e->d_name[1] != '.');
	closedir(d);
	return n;
}

static int open_raw(void)
{
	char raw[80];
	int fd;

	snprintf(raw, sizeof(raw), "%s/raw", trace);
	fd = open(raw, O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	return fd;
}

static const char *name_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

static enum compress_status all_steps(struct compress *c)
{
	enum compress_status status;

	while ((status = compress_step(c)) == COMPRESS_MORE)
		;
	return status;
}

/* ---- finished files -------------------------------------------------------------------------- */

static void readers_find_the_same(void **state)
{
	struct rawfile f;
	struct stat before, after;

	make_file(&f, SOME);
	assert_int_equal(check_file(f.path, SOME, true), 0);
	assert_int_equal(chmod(f.path, 0640), 0);
	assert_int_equal(stat(f.path, &before), 0);
	assert_int_equal(compress_file(f.path, UINT64_MAX), COMPRESS_DONE);
	assert_int_equal(check_file(f.path, SOME, true), SOME);
	assert_int_equal(stat(f.path, &after), 0);
	assert_true(after.st_size < before.st_size / 5);
	assert_int_equal(after.st_mode, before.st_mode);
	assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
	assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
	assert_int_equal(names_in_raw(), 1);
}

static void again_does_nothing(void **state)
{
	struct rawfile f;
	struct stat before, after;

	make_file(&f, SOME);
	assert_int_equal(compress_file(f.path, UINT64_MAX), COMPRESS_DONE);
	assert_int_equal(stat(f.path, &before), 0);
	assert_int_equal(compress_file(f.path, UINT64_MAX), COMPRESS_NOTHING);
	assert_int_equal(stat(f.path, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
}

/* Time is up after the first step: what is done is kept, and the next one does the rest. */
static void what_is_done_is_kept(void **state)
{
	struct compress c;
	struct rawfile f;
	uint32_t packed;
	int raw = open_raw();

	make_file(&f, SOME);
	assert_true(compress_open(&c, raw, name_of(f.path)));
	assert_int_equal(compress_step(&c), COMPRESS_MORE);
	assert_true(compress_copy_rest(&c));
	assert_int_equal(compress_finish(&c, true), COMPRESS_DONE);
	compress_close(&c);
	packed = check_file(f.path, SOME, true);
	assert_in_range(packed, 10, SOME - 10);
	assert_int_equal(compress_file(f.path, UINT64_MAX), COMPRESS_DONE);
	assert_int_equal(check_file(f.path, SOME, true), SOME);
	close(raw);
}

static void damage(const char *path, off_t at)
{
	int fd = open(path, O_RDWR);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void damaged_file_stays(void **state)
{
	const uint64_t block = sizeof(struct raw_block) + PAYLOAD;
	const uint64_t places[] = {sizeof(struct raw_header) + 50 * block,       /* magic */
				   sizeof(struct raw_header) + 50 * block + 999, /* payload */
				   sizeof(struct raw_header) + 50 * block + 40}; /* size */

	for (unsigned i = 0; i < 3; i++) {
		size_t size, size_after;
		char *before, *after;
		struct rawfile f;

		make_file(&f, SOME);
		damage(f.path, (off_t)places[i]);
		before = file_read(f.path, &size);
		assert_int_equal(compress_file(f.path, UINT64_MAX), COMPRESS_DAMAGED);
		after = file_read(f.path, &size_after);
		assert_int_equal(size_after, size);
		assert_memory_equal(after, before, size);
		assert_int_equal(names_in_raw(), 1);
		free(before);
		free(after);
		unlink(f.path);
	}
}

static void cut_file_stays(void **state)
{
	struct rawfile f;
	uint64_t size;

	make_file(&f, SOME);
	size = size_of(f.path) - 200;
	assert_int_equal(truncate(f.path, (off_t)size), 0);
	assert_int_equal(compress_file(f.path, UINT64_MAX), COMPRESS_DAMAGED);
	assert_int_equal(size_of(f.path), size);
}

/* No end, and the time says that somebody may be writing to it: only who knows better touches it. */
static void growing_file_stays(void **state)
{
	const struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
	struct compress c;
	struct rawfile f;
	int raw = open_raw();

	begin_file(&f);
	add_blocks(&f, 0, SOME);
	rawfile_close(&f);
	assert_true(compress_open(&c, raw, name_of(f.path)));
	assert_int_equal(all_steps(&c), COMPRESS_WAITING);
	assert_int_equal(compress_finish(&c, false), COMPRESS_GROWING);
	assert_int_equal(check_file(f.path, SOME, false), 0);
	assert_int_equal(utimensat(AT_FDCWD, f.path, old, 0), 0);
	assert_int_equal(compress_finish(&c, false), COMPRESS_DONE);
	compress_close(&c);
	assert_int_equal(check_file(f.path, SOME, false), SOME);
	close(raw);
}

static void removed_file_does_not_come_back(void **state)
{
	struct compress c;
	struct rawfile f;
	int raw = open_raw();

	make_file(&f, SOME);
	assert_true(compress_open(&c, raw, name_of(f.path)));
	assert_int_equal(all_steps(&c), COMPRESS_WAITING);
	assert_int_equal(unlink(f.path), 0);
	assert_int_equal(compress_finish(&c, true), COMPRESS_GONE);
	compress_close(&c);
	assert_int_equal(names_in_raw(), 0);
	close(raw);
}

/* The name alone, at the last moment. */
static void nothing_takes_the_place_of_nothing(void **state)
{
	struct replacement r;
	int raw = open_raw();

	assert_true(replacement_begin(&r, raw, "gone.kyr"));
	assert_false(replacement_take_place(&r));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(names_in_raw(), 0);
	replacement_end(&r);
	assert_int_equal(names_in_raw(), 0);
	close(raw);
}

static void two_at_one_file(void **state)
{
	struct compress c;
	struct rawfile f;
	int raw = open_raw();

	make_file(&f, SOME);
	assert_true(compress_open(&c, raw, name_of(f.path)));
	assert_int_equal(compress_step(&c), COMPRESS_MORE);
	assert_int_equal(compress_file(f.path, UINT64_MAX), COMPRESS_DONE);
	assert_int_equal(all_steps(&c), COMPRESS_WAITING);
	assert_int_equal(compress_finish(&c, true), COMPRESS_GONE);
	compress_close(&c);
	assert_int_equal(check_file(f.path, SOME, true), SOME);
	assert_int_equal(names_in_raw(), 1);
	close(raw);
}

/* ---- files that grow ------------------------------------------------------------------------- */

static void scan_says_the_same(const struct rawfile *f)
{
	struct scan s = {0};
	int fd = open(f->path, O_RDONLY);

	assert_true(scan_file(fd, &s));
	assert_int_equal(s.bytes, f->bytes);
	assert_int_equal(s.saved, f->saved);
	close(fd);
}

static void writer_goes_on_with_the_compressed_one(void **state)
{
	struct rawfile f;
	struct compress c;
	uint64_t bytes;
	int raw = open_raw();

	begin_file(&f);
	add_blocks(&f, 0, SOME);
	rawfile_flush(&f);
	bytes = f.bytes;
	assert_true(compress_open(&c, raw, name_of(f.path)));
	assert_int_equal(all_steps(&c), COMPRESS_WAITING);
	add_blocks(&f, SOME, 5); /* the last of them is not written yet */
	bytes += 5 * (sizeof(struct raw_block) + PAYLOAD);
	assert_true(rawfile_move(&f, &c));
	assert_int_equal(f.bytes + f.saved, bytes);
	assert_true(f.bytes < bytes / 3);
	assert_int_equal(f.bytes, size_of(f.path));
	compress_close(&c);
	assert_int_equal(names_in_raw(), 1);
	assert_int_equal(check_file(f.path, SOME + 5, false), SOME);
	scan_says_the_same(&f);
	add_blocks(&f, SOME + 5, 10);
	end_file(&f);
	assert_int_equal(check_file(f.path, SOME + 15, true), SOME);
	close(raw);
}

/* Someone has removed it: who writes goes on with what it has, and nothing comes back. */
static void writer_of_a_removed_file_stays(void **state)
{
	struct rawfile f;
	struct compress c;
	int raw = open_raw();

	begin_file(&f);
	add_blocks(&f, 0, SOME);
	rawfile_flush(&f);
	assert_true(compress_open(&c, raw, name_of(f.path)));
	assert_int_equal(all_steps(&c), COMPRESS_WAITING);
	assert_int_equal(unlink(f.path), 0);
	assert_false(rawfile_move(&f, &c));
	assert_int_equal(f.saved, 0);
	compress_close(&c);
	end_file(&f);
	assert_int_equal(names_in_raw(), 0);
	close(raw);
}

/* By the thread: again and again while the file grows, and the rest when it is finished. */
static void thread_compresses_what_grows(void **state)
{
	const uint32_t step = BESIDE_GROWN / PAYLOAD / 2;
	const uint64_t limit = clock_ns(CLOCK_MONOTONIC) + 300 * 1000000000ull;
	struct beside *b = beside_new();
	struct beside_file *g;
	struct rawfile f;
	uint32_t blocks = 0;
	uint64_t saved = 0;

	begin_file(&f);
	g = beside_add(b, f.path);
	assert_non_null(g);
	beside_hurry(b, true);
	for (unsigned moves = 0; moves < 2 && clock_ns(CLOCK_MONOTONIC) < limit;) {
		if (f.bytes < 4 * (uint64_t)BESIDE_GROWN) {
			add_blocks(&f, blocks, step);
			blocks += step;
			rawfile_flush(&f);
		}
		beside_move(g, &f);
		moves += f.saved > saved;
		saved = f.saved;
		usleep(1000);
	}
	assert_true(saved > BESIDE_GROWN / 2);
	scan_says_the_same(&f);
	end_file(&f);
	beside_finished(b, g);
	beside_wait(b, limit);
	assert_true(beside_is_done(b));
	beside_end(b);
	assert_int_equal(check_file(f.path, blocks, true), blocks);
	assert_int_equal(names_in_raw(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(readers_find_the_same, make_trace, remove_trace),
		cmocka_unit_test_setup_teardown(again_does_nothing, make_trace, remove_trace),
		cmocka_unit_test_setup_teardown(what_is_done_is_kept, make_trace, remove_trace),
		cmocka_unit_test_setup_teardown(damaged_file_stays, make_trace, remove_trace),
		cmocka_unit_test_setup_teardown(cut_file_stays, make_trace, remove_trace),
		cmocka_unit_test_setup_teardown(growing_file_stays, make_trace, remove_trace),
		cmocka_unit_test_setup_teardown(removed_file_does_not_come_back, make_trace,
						remove_trace),
		cmocka_unit_test_setup_teardown(nothing_takes_the_place_of_nothing, make_trace,
						remove_trace),
		cmocka_unit_test_setup_teardown(two_at_one_file, make_trace, remove_trace),
		cmocka_unit_test_setup_teardown(writer_goes_on_with_the_compressed_one, make_trace,
						remove_trace),
		cmocka_unit_test_setup_teardown(writer_of_a_removed_file_stays, make_trace,
						remove_trace),
		cmocka_unit_test_setup_teardown(thread_compresses_what_grows, make_trace,
						remove_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
