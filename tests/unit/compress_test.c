/* SPDX-License-Identifier: Apache-2.0 */
/* Compression of raw files: what readers find is the same, and what is there stays there. */
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

/* ---- file systems that have neither files without names nor RENAME_EXCHANGE -------------------- */

static bool plain_fs;

int __real_openat(int folder, const char *path, int flags, ...);
int __real_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags);

int __wrap_openat(int folder, const char *path, int flags, ...)
{
	if (!plain_fs || (flags & O_TMPFILE) != O_TMPFILE)
		return __real_openat(folder, path, flags, 0600); /* all that is made here */
	errno = EOPNOTSUPP;
	return -1;
}

int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
	if (!plain_fs || !flags)
		return __real_renameat2(a, from, b, to, flags);
	errno = EPERM;
	return -1;
}

static int make_trace(void **state)
{
	char raw[80];

	plain_fs = false;
	strcpy(trace, "/tmp/kymo-test-XXXXXX");
	assert_non_null(mkdtemp(trace));
	snprintf(raw, sizeof(raw), "%s/raw", trace);
	return mkdir(raw, 0700);
}

static int make_plain_trace(void **state)
{
	int rc = make_trace(state);

	plain_fs = true;
	return rc;
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
	if (geteuid() == 0)
		assert_int_equal(chown(f.path, (uid_t)-1, 65534), 0);
	assert_int_equal(chmod(f.path, 0640), 0);
	assert_int_equal(stat(f.path, &before), 0);
	assert_int_equal(compress_file(f.path, UINT64_MAX), COMPRESS_DONE);
	assert_int_equal(check_file(f.path, SOME, true), SOME);
	assert_int_equal(stat(f.path, &after), 0);
	assert_true(after.st_size < before.st_size / 5);
	assert_int_equal(after.st_mode, before.st_mode);
	assert_int_equal(after.st_gid, before.st_gid);
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
	/* The end is gone, and some of the block before it. */
	size = size_of(f.path) - sizeof(struct raw_block) - sizeof(struct raw_end) - 8;
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

/* Where files need names, each has its own. */
static void two_do_not_share_a_name(void **state)
{
	struct compress one, other;
	struct rawfile f;
	int raw = open_raw(), status;
	pid_t pid;

	make_file(&f, SOME);
	assert_true(compress_open(&one, raw, name_of(f.path)));
	assert_int_equal(compress_step(&one), COMPRESS_MORE);
	assert_int_equal(names_in_raw(), 2);
	pid = fork();
	if (pid == 0) { /* who is killed at it */
		rawfile_set_token("");
		_exit(!compress_open(&other, raw, name_of(f.path)) ||
		      compress_step(&other) != COMPRESS_MORE);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(names_in_raw(), 3);
	replacement_sweep(raw, ".kyr");
	assert_int_equal(names_in_raw(), 2);
	assert_int_equal(all_steps(&one), COMPRESS_WAITING);
	assert_int_equal(compress_finish(&one, true), COMPRESS_DONE);
	compress_close(&one);
	assert_int_equal(names_in_raw(), 1);
	assert_int_equal(check_file(f.path, SOME, true), SOME);
	close(raw);
}

/* Of two that come to the end at the same time the second one waits, or leaves it. */
static void one_at_a_time_replaces(void **state)
{
	struct compress c;
	struct rawfile f;
	int raw = open_raw(), other;

	make_file(&f, SOME);
	assert_true(compress_open(&c, raw, name_of(f.path)));
	assert_int_equal(all_steps(&c), COMPRESS_WAITING);
	other = open(f.path, O_RDONLY);
	assert_int_equal(flock(other, LOCK_EX), 0);
	assert_int_equal(compress_finish(&c, true), COMPRESS_GONE);
	assert_int_equal(check_file(f.path, SOME, true), 0);
	close(other);
	assert_int_equal(compress_finish(&c, false), COMPRESS_DONE);
	assert_int_equal(check_file(f.path, SOME, true), SOME);
	compress_close(&c);
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

/* A disk that is full for a moment: what was half written then is not used later. */
static void failed_write_is_not_gone_on_with(void **state)
{
	struct rlimit before, small;
	struct compress c;
	struct rawfile f;
	int raw = open_raw();

	begin_file(&f);
	add_blocks(&f, 0, SOME);
	rawfile_flush(&f);
	assert_true(compress_open(&c, raw, name_of(f.path)));
	assert_int_equal(all_steps(&c), COMPRESS_WAITING);
	assert_true(compress_flush(&c));
	add_blocks(&f, SOME, 5);
	rawfile_flush(&f);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	small = (struct rlimit){c.written + 1000, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_false(rawfile_move(&f, &c));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	end_file(&f);
	assert_int_equal(all_steps(&c), COMPRESS_FAILED);
	assert_int_equal(compress_finish(&c, true), COMPRESS_FAILED);
	compress_close(&c);
	assert_int_equal(check_file(f.path, SOME + 5, true), 0);
	close(raw);
}

/* What has the name now is not what was compressed, or not what is written to. */
static void writer_does_not_take_another_file(void **state)
{
	struct rawfile f, g;
	struct compress c;
	int raw = open_raw();

	begin_file(&f);
	add_blocks(&f, 0, SOME);
	rawfile_flush(&f);
	begin_file(&g);
	add_blocks(&g, 0, SOME);
	rawfile_flush(&g);
	assert_true(compress_open(&c, raw, name_of(g.path)));
	assert_int_equal(all_steps(&c), COMPRESS_WAITING);
	assert_false(rawfile_move(&f, &c));
	compress_close(&c);
	assert_true(compress_open(&c, raw, name_of(f.path)));
	assert_int_equal(all_steps(&c), COMPRESS_WAITING);
	assert_int_equal(rename(g.path, f.path), 0);
	assert_false(rawfile_move(&f, &c));
	compress_close(&c);
	assert_int_equal(check_file(f.path, SOME, false), 0);
	rawfile_close(&f);
	rawfile_close(&g);
	close(raw);
}

static uint64_t bytes_read(void)
{
	char text[256] = "";
	FILE *f = fopen("/proc/self/io", "r");
	unsigned long long n = 0;

	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_int_equal(sscanf(text, "rchar: %llu", &n), 1);
	return n;
}

/* A large block that is being written when the thread comes to it, which takes its time. */
static void thread_waits_for_what_is_being_written(void **state)
{
	const uint64_t limit = clock_ns(CLOCK_MONOTONIC) + 300 * 1000000000ull;
	const uint32_t blocks = 3 * BESIDE_GROWN / 2 / PAYLOAD, large = 4 << 20, part = 2 << 20;
	struct raw_block block = {
		.magic = RAW_BLOCK_MAGIC, .type = RAW_CHUNK, .stored = large, .raw = large};
	uint8_t *payload = calloc(1, large);
	struct beside *b = beside_new();
	struct beside_file *g;
	struct rawfile f;
	uint64_t before = bytes_read();

	begin_file(&f);
	add_blocks(&f, 0, blocks);
	rawfile_flush(&f);
	block.checksum = XXH3_64bits(payload, large);
	assert_int_equal(write(f.fd, &block, sizeof(block)), sizeof(block));
	assert_int_equal(write(f.fd, payload, part), part);
	g = beside_add(b, f.path);
	assert_non_null(g);
	beside_hurry(b, limit);
	/* It looks at it again and again. */
	while (bytes_read() < before + f.bytes + 3 * part && clock_ns(CLOCK_MONOTONIC) < limit)
		usleep(1000);
	assert_int_equal(write(f.fd, payload + part, large - part), large - part);
	f.bytes += sizeof(block) + large;
	while (!f.saved && clock_ns(CLOCK_MONOTONIC) < limit) {
		beside_move(g, &f);
		usleep(1000);
	}
	assert_true(f.saved > BESIDE_GROWN / 2);
	end_file(&f);
	beside_finished(b, g);
	beside_end(b);
	free(payload);
}

/* ---- by whom ---------------------------------------------------------------------------------- */

static void take_all_time(void)
{
	for (volatile unsigned n = 0;; n = n + 1)
		;
}

static bool has_idle_thread(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	bool idle = false;

	while (d && (e = readdir(d)))
		idle |= e->d_name[0] != '.' && sched_getscheduler(atoi(e->d_name)) == SCHED_IDLE;
	if (d)
		closedir(d);
	return idle;
}

/* In a process of a user who may not make an idle thread an ordinary one again. */
static int hurry_as_user(void)
{
	const uint64_t limit = clock_ns(CLOCK_MONOTONIC) + 60 * 1000000000ull;
	struct beside *b = beside_new();
	struct beside_file *g;
	struct rawfile f;
	bool done;

	if (setgid(65534) != 0 || setuid(65534) != 0)
		return 2;
	make_file(&f, BESIDE_GROWN / PAYLOAD);
	g = beside_add(b, f.path);
	while (!has_idle_thread() && clock_ns(CLOCK_MONOTONIC) < limit)
		usleep(1000);
	beside_finished(b, g);
	beside_wait(b, limit);
	done = beside_is_done(b);
	if (done)
		beside_end(b);
	return !done;
}

/* On a processor that others want, where an idle thread takes minutes for what takes a second. */
static void who_waits_gets_a_processor(void **state)
{
	cpu_set_t one, all;
	pid_t others[4], user;
	char raw[80];
	int status = -1;

	if (geteuid() != 0)
		skip();
	snprintf(raw, sizeof(raw), "%s/raw", trace);
	assert_int_equal(chown(trace, 65534, 65534), 0);
	assert_int_equal(chown(raw, 65534, 65534), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (unsigned i = 0; i < 4; i++) {
		others[i] = fork();
		if (others[i] == 0)
			take_all_time();
	}
	user = fork();
	if (user == 0)
		_exit(hurry_as_user());
	waitpid(user, &status, 0);
	for (unsigned i = 0; i < 4; i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], NULL, 0);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_int_equal(status, 0);
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
	beside_hurry(b, limit);
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
	add_blocks(&f, blocks, SOME);
	blocks += SOME;
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_trace, remove_trace)
#define PLAIN_TEST(name)                                                                           \
	{                                                                                          \
		"plain " #name, name, make_plain_trace, remove_trace, NULL                         \
	}
	const struct CMUnitTest tests[] = {
		TEST(readers_find_the_same),
		TEST(again_does_nothing),
		TEST(what_is_done_is_kept),
		TEST(damaged_file_stays),
		TEST(cut_file_stays),
		TEST(growing_file_stays),
		TEST(removed_file_does_not_come_back),
		TEST(nothing_takes_the_place_of_nothing),
		TEST(two_at_one_file),
		TEST(one_at_a_time_replaces),
		TEST(writer_goes_on_with_the_compressed_one),
		TEST(writer_of_a_removed_file_stays),
		TEST(failed_write_is_not_gone_on_with),
		TEST(writer_does_not_take_another_file),
		TEST(thread_compresses_what_grows),
		TEST(thread_waits_for_what_is_being_written),
		TEST(who_waits_gets_a_processor),
		PLAIN_TEST(readers_find_the_same),
		PLAIN_TEST(removed_file_does_not_come_back),
		PLAIN_TEST(nothing_takes_the_place_of_nothing),
		PLAIN_TEST(two_at_one_file),
		PLAIN_TEST(two_do_not_share_a_name),
		PLAIN_TEST(writer_goes_on_with_the_compressed_one),
		PLAIN_TEST(writer_of_a_removed_file_stays),
		PLAIN_TEST(thread_compresses_what_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
