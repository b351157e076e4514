/* SPDX-License-Identifier: Apache-2.0 */
/* The drain against producers that behave, die, lie and scribble. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <libgen.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "drain/drain.h"
#include "drain/place.h"
#include "unit/drain_support.h"
#include "wire/bell.h"
#include "wire/live.h"

static struct synth producer(const struct test_drain *d, struct synth_account *a)
{
	memset(a, 0, sizeof(*a));
	return (struct synth){.socket = d->socket,
			      .threads = 4,
			      .records = 50000,
			      .chunk_size = 8192,
			      .chunks = 32,
			      .state = SHM_FINALIZED,
			      .account = a};
}

static int reap(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Lets the producer run until it has committed so many records. */
static void await_records(const struct synth_account *a, uint64_t count)
{
	uint64_t deadline = clock_ns(CLOCK_MONOTONIC) + 30000000000ull, sum;

	do {
		sum = 0;
		for (unsigned i = 0; i < SYNTH_THREADS; i++)
			sum += atomic_load(&a->committed[i]);
		assert_true(clock_ns(CLOCK_MONOTONIC) < deadline);
		sched_yield();
	} while (sum < count);
}

static void assert_good(const struct contents *c)
{
	if (c->error[0])
		fail_msg("raw file: %s", c->error);
}

static void everything_arrives(void **state)
{
	struct synth_account *a = *state;
	struct test_drain d;
	struct contents c;
	struct synth s;
	pid_t pid;

	test_drain_start(&d, (struct test_drain_options){0});
	s = producer(&d, a);
	pid = synth_start(&s);
	test_drain_program(&d, pid);
	test_drain_exited(&d, pid, reap(pid));
	test_drain_done(&d);
	assert_true(contents_read(&c, &d, pid, 0));
	assert_good(&c);
	assert_int_equal(c.all, s.threads * s.records);
	assert_int_equal(c.pid, pid);
	assert_true(c.syncs >= 2);
	assert_true(c.has_end);
	assert_int_equal(c.end.how, 0);
	assert_int_equal(d.totals.processes, 1);
	assert_int_equal(d.totals.lost_records, 0);
	assert_int_equal(d.totals.damaged_chunks, 0);
	test_drain_remove(&d);
}

static void killed_at_random(void **state)
{
	struct synth_account *a = *state;
	struct test_drain d;
	struct contents c;
	struct synth s;

	srand(20240607);
	for (int round = 0; round < 20; round++) {
		pid_t pid;
		int status;

		test_drain_start(&d, (struct test_drain_options){0});
		s = producer(&d, a);
		s.records = 0;
		pid = synth_start(&s);
		test_drain_program(&d, pid);
		await_records(a, 1 + (uint64_t)rand() % 200000);
		kill(pid, SIGKILL);
		status = reap(pid);
		test_drain_exited(&d, pid, status);
		test_drain_done(&d);
		assert_true(contents_read(&c, &d, pid, 0));
		assert_good(&c);
		for (unsigned t = 0; t < s.threads; t++) {
			uint64_t committed = atomic_load(&a->committed[t]);

			/* Death between commit and account makes one more. */
			if (c.records[t] != committed && c.records[t] != committed + 1)
				fail_msg("round %d, thread %u: %lu records committed, %lu in the "
					 "file",
					 round, t, committed, c.records[t]);
		}
		assert_true(c.has_end);
		assert_int_equal(c.end.how == 2 || c.end.status == -1, 1);
		test_drain_remove(&d);
	}
}

/* While the zombie is there the drain tells the signal. */
static void tells_how_it_ended(void **state)
{
	struct synth_account *a = *state;
	struct test_drain d;
	struct contents c;
	siginfo_t info;
	struct synth s;
	pid_t pid;

	test_drain_start(&d, (struct test_drain_options){0});
	s = producer(&d, a);
	s.linger = true;
	s.open_calls = 3;
	s.threads = 2;
	s.state = SHM_RUNNING;
	pid = synth_start(&s);
	test_drain_program(&d, pid);
	await_records(a, s.threads * s.records);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	test_drain_exited(&d, pid, SIGKILL);
	test_drain_done(&d);
	reap(pid);
	assert_true(contents_read(&c, &d, pid, 0));
	assert_good(&c);
	assert_int_equal(c.end.how, 2);
	assert_int_equal(c.end.status, SIGKILL);
	assert_int_equal(c.opens, 6);
	assert_int_equal(c.first_open.call.id, 1000);
	assert_int_equal(c.first_open.depth, 0);
	assert_int_equal(c.last_open.thread, 2);
	assert_int_equal(c.last_open.call.id, 1002);
	assert_int_equal(c.last_open.depth, 2);
	test_drain_remove(&d);
}

/* In a child of a test: what it shares with the drain, without which it ends. */
static struct shm_header *connected(const struct synth *s)
{
	int memfd, status;
	struct shm_header *h = synth_connect(s, &memfd, &status);

	if (!h)
		_exit(90);
	return h;
}

static void exec_begins_a_new_file(void **state)
{
	struct synth_account *a = *state;
	struct test_drain d;
	struct contents c;
	struct synth s;
	pid_t pid;

	test_drain_start(&d, (struct test_drain_options){0});
	s = producer(&d, a);
	s.records = 1000;
	s.state = SHM_EXEC;
	pid = fork();
	if (pid == 0) {
		synth_own_faults();
		for (int image = 0; image < 2; image++) {
			synth_write(&s, connected(&s));
			s.state = SHM_FINALIZED;
		}
		_exit(0);
	}
	test_drain_program(&d, pid);
	test_drain_exited(&d, pid, reap(pid));
	test_drain_done(&d);
	assert_true(contents_read(&c, &d, pid, 0));
	assert_good(&c);
	assert_int_equal(c.all, 4000);
	assert_int_equal(c.end.how, 3);
	assert_true(contents_read(&c, &d, pid, 1));
	assert_good(&c);
	assert_int_equal(c.all, 4000);
	assert_int_equal(c.end.how, 0);
	test_drain_remove(&d);
}

/* ---- producers that are not in order --------------------------------------------------------- */

/* These run in processes of their own; their exit status tells what went wrong. */
static void refused(int status, int what)
{
	if (status == 0)
		_exit(what);
}

static void wrong_hellos(const struct synth *s)
{
	int memfd, fd, pipes[2];
	struct shm_header *h = synth_buffer(s, &memfd);
	struct shm_hello hello = {SHM_MAGIC, SHM_VERSION, (uint32_t)getpid(), h->bytes, 0, 0}, bad;

	fd = synth_dial(s->socket); /* says nothing */
	close(fd);
	fd = synth_dial(s->socket);
	refused(synth_hello(fd, &hello, sizeof(hello), -1), 101);
	close(fd);
	fd = synth_dial(s->socket);
	refused(synth_hello(fd, &hello, 3, memfd), 102);
	close(fd);
	bad = hello;
	bad.magic++;
	fd = synth_dial(s->socket);
	refused(synth_hello(fd, &bad, sizeof(bad), memfd), 103);
	close(fd);
	bad = hello;
	bad.version++;
	fd = synth_dial(s->socket);
	refused(synth_hello(fd, &bad, sizeof(bad), memfd), 104);
	close(fd);
	if (pipe(pipes) != 0)
		_exit(100);
	fd = synth_dial(s->socket);
	refused(synth_hello(fd, &hello, sizeof(hello), pipes[0]), 105);
	close(fd);
	close(pipes[0]);
	close(pipes[1]);
	munmap(h, h->bytes);
	close(memfd);
}

/* Each word of the header wrong in turn. */
static void wrong_geometries(const struct synth *s)
{
	static const uint64_t values[] = {0, 1, 7, 0x7fffffff, 0xffffffff, UINT64_MAX, 1ull << 40};
	static const size_t offsets[] = {offsetof(struct shm_header, bytes),
					 offsetof(struct shm_header, ctl_offset),
					 offsetof(struct shm_header, threads_offset),
					 offsetof(struct shm_header, chunks_offset),
					 offsetof(struct shm_header, chunk_size),
					 offsetof(struct shm_header, chunk_max)};

	for (size_t o = 0; o < sizeof(offsets) / sizeof(offsets[0]); o++) {
		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			int memfd, fd;
			struct shm_header *h = synth_buffer(s, &memfd);
			struct shm_hello hello = {SHM_MAGIC, SHM_VERSION, 1, h->bytes, 0, 0};
			size_t mapped = h->bytes;

			memcpy((uint8_t *)h + offsets[o], &values[v],
			       offsets[o] >= offsetof(struct shm_header, chunk_size) ? 4 : 8);
			fd = synth_dial(s->socket);
			/* chunk_max 1 and 7 are smaller buffers, all else is out of order */
			if (o != 5 || values[v] == 0 || values[v] > 7)
				refused(synth_hello(fd, &hello, sizeof(hello), memfd),
					110 + (int)(o * 10 + v));
			close(fd);
			close(memfd);
			munmap(h, mapped);
		}
	}
}

/* ---- memory that is handed over before it is used ---- */

static bool until(const _Atomic uint32_t *word, uint32_t value)
{
	for (int i = 0; i < 60000 && atomic_load(word) != value; i++)
		usleep(1000);
	return atomic_load(word) == value;
}

static void say_early(const struct synth *s, int memfd, const struct shm_header *h, uint64_t image)
{
	struct shm_hello hello = {SHM_MAGIC, SHM_VERSION, (uint32_t)getpid(), h->bytes, image, 1};
	int fd = synth_dial(s->socket);

	if (fd < 0 || !synth_say(fd, &hello, sizeof(hello), memfd))
		_exit(91);
	close(fd);
	close(memfd);
}

/* As a process that calls exec() twice before the drain has looked. */
static void three_images(const struct synth *s, pid_t drain)
{
	struct shm_header *h[3];
	int memfd;

	kill(drain, SIGSTOP);
	for (unsigned i = 0; i < 3; i++) {
		h[i] = synth_buffer(s, &memfd);
		if (!h[i])
			_exit(90);
		atomic_store(&h[i]->begun, SHM_NOT_BEGUN);
		say_early(s, memfd, h[i], i + 1);
	}
	kill(drain, SIGCONT);
	if (!until(&h[2]->drain_pid, (uint32_t)drain))
		_exit(92);
	if (!until(&h[0]->begun, SHM_TOO_LATE) || !until(&h[1]->begun, SHM_TOO_LATE))
		_exit(93);
	if (atomic_load(&h[2]->begun) != SHM_NOT_BEGUN)
		_exit(94);
	atomic_store(&h[2]->begun, SHM_BEGUN);
	atomic_store(&h[2]->lost_records, 3);
	_exit(0);
}

static void last_image_counts(void **state)
{
	struct test_drain d;
	struct contents c;
	struct synth s;
	pid_t pid;

	test_drain_start(&d, (struct test_drain_options){0});
	s = producer(&d, *state);
	pid = fork();
	if (pid == 0)
		three_images(&s, d.pid);
	test_drain_program(&d, pid);
	test_drain_exited(&d, pid, reap(pid));
	test_drain_done(&d);
	assert_true(contents_read(&c, &d, pid, 0));
	assert_int_equal(c.end.status, 0);
	assert_int_equal(c.end.lost_records, 3);
	assert_false(contents_read(&c, &d, pid, 1));
	test_drain_remove(&d);
}

/* All that it had taken says so as soon as it is gone, without a look at the time. */
static void death_is_told(void **state)
{
	struct shm_header *h[3];
	struct test_drain d;
	struct synth s;
	int memfd, status;
	void *head;
	size_t size;

	if (syscall(SYS_get_robust_list, 0, &head, &size) != 0)
		skip();
	test_drain_start(&d, (struct test_drain_options){0});
	s = producer(&d, *state);
	for (unsigned i = 0; i < 3; i++) {
		h[i] = synth_connect(&s, &memfd, &status);
		assert_non_null(h[i]);
		close(memfd);
		assert_int_equal(atomic_load(&h[i]->drain_life) & FUTEX_TID_MASK, d.pid);
		assert_int_equal(atomic_load(&h[i]->drain_life) & FUTEX_OWNER_DIED, 0);
	}
	kill(d.pid, SIGKILL);
	reap(d.pid);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(atomic_load(&h[i]->drain_life) & FUTEX_OWNER_DIED);
		munmap(h[i], h[i]->bytes);
	}
	test_drain_remove(&d);
}

/* Writes noise over everything shared, control words preferred, for a while. */
static void scribble(const struct synth *s, unsigned seed)
{
	int memfd, status;
	struct shm_header *h = synth_connect(s, &memfd, &status);
	size_t bytes, control;
	struct shm_chunk_ctl *ctl;
	uint64_t until;
	uint8_t *p = (uint8_t *)h;

	if (!h)
		_exit(90);
	ctl = shm_ctl(h);
	bytes = h->bytes;
	control = h->threads_offset;
	srand(seed);
	until = clock_ns(CLOCK_MONOTONIC) + 300000000;
	while (clock_ns(CLOCK_MONOTONIC) < until) {
		size_t at = (size_t)rand() % (rand() % 4 ? control : bytes);

		p[at & ~(size_t)3] = (uint8_t)(rand() % 4 ? rand() % 3 : rand());
		atomic_store(&ctl[(unsigned)rand() % s->chunks].state, SHM_FULL);
	}
	_exit(0);
}

/* Takes the memory away under the drain's eyes. */
static void shrink(const struct synth *s)
{
	int memfd, status;
	struct shm_header *h = synth_connect(s, &memfd, &status);

	if (!h)
		_exit(90);
	synth_write(s, h);
	if (ftruncate(memfd, 4096) != 0)
		_exit(91);
	/* The header is still there: ring until the drain has looked. */
	for (int i = 0; i < 2000; i++) {
		shm_ring(h);
		sched_yield();
	}
	_exit(0);
}

enum { BAD_PRODUCERS = 10 };

static void be_bad(const struct synth *s, unsigned i)
{
	if (i == 0)
		wrong_hellos(s);
	else if (i == 1)
		wrong_geometries(s);
	else if (i < 8)
		scribble(s, i);
	else
		shrink(s);
}

static void bad_producers_harm_nobody(void **state)
{
	struct synth_account *a = *state, *other = synth_account_new();
	struct test_drain d;
	struct contents c;
	struct synth s, t;
	pid_t good, bad[BAD_PRODUCERS];
	int status;

	test_drain_start(&d, (struct test_drain_options){0});
	s = producer(&d, a);
	s.records = 0;
	good = synth_start(&s);
	test_drain_program(&d, good);
	await_records(a, 1);
	t = producer(&d, other);
	t.records = 100;
	for (unsigned i = 0; i < BAD_PRODUCERS; i++) {
		bad[i] = fork();
		if (bad[i] == 0) {
			synth_own_faults();
			be_bad(&t, i);
			_exit(0);
		}
	}
	for (unsigned i = 0; i < BAD_PRODUCERS; i++) {
		status = reap(bad[i]);
		if (status != 0 && !(WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL))
			fail_msg("bad producer %u: status %x", i, status);
	}
	await_records(a, 400000);
	kill(good, SIGKILL);
	test_drain_exited(&d, good, reap(good));
	test_drain_done(&d);
	assert_true(contents_read(&c, &d, good, 0));
	assert_good(&c);
	for (unsigned i = 0; i < s.threads; i++)
		assert_true(c.records[i] >= atomic_load(&a->committed[i]));
	assert_true(d.totals.refused > 10);
	munmap(other, sizeof(*other));
	test_drain_remove(&d);
}

/* Losses that no program could have had were written by one that writes where it should not. */
static void counts_that_cannot_be(void **state)
{
	static const uint64_t said[] = {17, 12490963527147716408ull, UINT64_MAX};
	struct synth_account *a = *state;

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct test_drain d;
		struct contents c;
		struct synth s;
		pid_t pid;

		test_drain_start(&d, (struct test_drain_options){0});
		s = producer(&d, a);
		pid = fork();
		if (pid == 0) {
			struct shm_header *h = connected(&s);

			atomic_store(&h->lost_records, said[i]);
			atomic_store(&h->overwritten_records, said[i]);
			atomic_store(&h->state, SHM_FINALIZED);
			_exit(0);
		}
		test_drain_program(&d, pid);
		test_drain_exited(&d, pid, reap(pid));
		test_drain_done(&d);
		assert_true(contents_read(&c, &d, pid, 0));
		assert_int_equal(c.end.lost_records, i ? 0 : 17);
		assert_int_equal(c.end.overwritten_records, i ? 0 : 17);
		assert_int_equal(c.end.damaged_chunks, i ? 1 : 0);
		assert_int_equal(d.totals.lost_records, i ? 0 : 17);
		test_drain_remove(&d);
	}
}

/* A chunk of a flight recorder's past that a thread has taken to write over it, and was killed before it had said so. */
static void take_from_past(struct shm_header *h)
{
	uint32_t i = shm_pop(h, shm_ctl(h), h->chunk_max, SHM_LIST_RECORDS);
	struct wire_chunk *c = shm_chunk(h, i);
	struct wire_head head = {.words = sizeof(head) / 4};

	*c = (struct wire_chunk){.magic = WIRE_CHUNK_MAGIC,
				 .version = WIRE_VERSION,
				 .header_size = sizeof(*c),
				 .type = WIRE_CHUNK_RECORDS,
				 .thread = 1};
	for (unsigned k = 0; k < 3; k++)
		memcpy((uint8_t *)(c + 1) + k * sizeof(head), &head, sizeof(head));
	atomic_store(&c->committed, sizeof(*c) + 3 * sizeof(head));
	atomic_store(&shm_ctl(h)[i].state, SHM_TAKEN);
}

static void killed_while_overwriting(void **state)
{
	struct synth_account *a = *state;
	struct test_drain d;
	struct contents c;
	struct synth s;
	pid_t pid;

	test_drain_start(&d, (struct test_drain_options){0});
	s = producer(&d, a);
	pid = fork();
	if (pid == 0) {
		struct shm_header *h = connected(&s);

		h->overwrite = 1;
		take_from_past(h);
		raise(SIGKILL);
	}
	test_drain_program(&d, pid);
	test_drain_exited(&d, pid, reap(pid));
	test_drain_done(&d);
	assert_true(contents_read(&c, &d, pid, 0));
	assert_good(&c);
	assert_int_equal(c.all, 0);
	assert_int_equal(c.end.overwritten_records, 3);
	assert_int_equal(c.end.damaged_chunks, 0);
	test_drain_remove(&d);
}

/* Chunks whose headers lie are counted and left out; good ones beside them are kept. */
static void lying_chunks_are_counted(void **state)
{
	struct synth_account *a = *state;
	struct test_drain d;
	struct contents c;
	struct synth s;
	pid_t pid;

	test_drain_start(&d, (struct test_drain_options){0});
	s = producer(&d, a);
	s.threads = 1;
	s.records = 10;
	pid = fork();
	if (pid == 0) {
		struct shm_header *h = connected(&s);

		synth_own_faults();
		for (uint32_t i = 0; i < 6; i++) {
			struct wire_chunk *w = shm_chunk(h, 20 + i);

			*w = (struct wire_chunk){.magic = WIRE_CHUNK_MAGIC,
						 .version = WIRE_VERSION,
						 .header_size = sizeof(*w),
						 .type = WIRE_CHUNK_RECORDS,
						 .thread = 9,
						 .committed = sizeof(*w)};
			w->magic += i == 0;
			w->version += i == 1;
			w->header_size -= i == 2;
			w->type = i == 3 ? 77 : w->type;
			if (i >= 4)
				w->committed = i == 4 ? s.chunk_size + 1 : UINT32_MAX;
			atomic_store(&shm_ctl(h)[20 + i].state, SHM_FULL);
		}
		synth_write(&s, h);
		_exit(0);
	}
	test_drain_program(&d, pid);
	test_drain_exited(&d, pid, reap(pid));
	test_drain_done(&d);
	assert_true(contents_read(&c, &d, pid, 0));
	assert_good(&c);
	assert_int_equal(c.all, 10);
	assert_int_equal(c.end.damaged_chunks, 6);
	assert_int_equal(d.totals.damaged_chunks, 6);
	test_drain_remove(&d);
}

/* The job's table has all that the process has counted; work under way is nowhere but in its file. */
static void flights_keep_the_file(void **state)
{
	struct synth_account *a = *state;

	for (uint32_t flying = 0; flying < 2; flying++) {
		struct test_drain d;
		struct contents c;
		struct synth s;
		pid_t pid;

		test_drain_start(&d, (struct test_drain_options){0});
		s = producer(&d, a);
		pid = fork();
		if (pid == 0) {
			struct shm_header *h = connected(&s);
			struct wire_chunk *w = shm_chunk(h, 20);
			struct wire_line *l;

			*w = (struct wire_chunk){.magic = WIRE_CHUNK_MAGIC,
						 .version = WIRE_VERSION,
						 .header_size = sizeof(*w),
						 .type = WIRE_CHUNK_LIVE,
						 .committed = WIRE_LIVE_HEADER + 2 * sizeof(*l)};
			l = (struct wire_line *)((uint8_t *)w + WIRE_LIVE_HEADER);
			memset(l, 0, 2 * sizeof(*l));
			l[0].kind = WIRE_LINE_COUNT;
			l[0].state = 1;
			l[1].kind = WIRE_LINE_FLIGHT;
			l[1].state = flying; /* 0: it has come down */
			atomic_store(&shm_ctl(h)[20].state, SHM_FILLING);
			atomic_store(&h->given, SHM_GIVEN);
			atomic_store(&h->state, SHM_FINALIZED);
			_exit(0);
		}
		test_drain_program(&d, pid);
		test_drain_exited(&d, pid, reap(pid));
		test_drain_done(&d);
		assert_int_equal(contents_read(&c, &d, pid, 0), flying);
		test_drain_remove(&d);
	}
}

/* Death right after obtaining a used chunk must not show its old records again. */
static void obtained_chunk_shows_nothing(void **state)
{
	struct synth_account *a = *state;
	struct test_drain d;
	struct contents c;
	struct synth s;
	pid_t pid;

	test_drain_start(&d, (struct test_drain_options){0});
	s = producer(&d, a);
	s.threads = 1;
	s.records = 10;
	pid = fork();
	if (pid == 0) {
		struct shm_header *h = connected(&s);
		uint32_t i;

		synth_own_faults();
		synth_write(&s, h);
		while (atomic_load(&h->freed) == 0)
			shm_ring(h);
		i = shm_pop(h, shm_ctl(h), s.chunks, SHM_LIST_RECORDS);
		atomic_store(&shm_ctl(h)[i].state, SHM_FILLING);
		_exit(0);
	}
	test_drain_program(&d, pid);
	test_drain_exited(&d, pid, reap(pid));
	test_drain_done(&d);
	assert_true(contents_read(&c, &d, pid, 0));
	assert_good(&c);
	assert_int_equal(c.all, 10);
	assert_int_equal(c.chunks, 1);
	test_drain_remove(&d);
}

/* ---- whose turn it is ------------------------------------------------------------------------ */

/* Nobody is told. */
static void hand_over(struct shm_header *h, uint32_t i)
{
	struct wire_chunk *w = shm_chunk(h, i);

	*w = (struct wire_chunk){.magic = WIRE_CHUNK_MAGIC,
				 .version = WIRE_VERSION,
				 .header_size = sizeof(*w),
				 .type = WIRE_CHUNK_RECORDS,
				 .thread = 1,
				 .committed = sizeof(*w),
				 .lost = 1};
	atomic_store(&shm_ctl(h)[i].state, SHM_FULL);
	atomic_fetch_add(&h->full, 1);
}

static bool is_taken(const struct shm_header *h)
{
	return atomic_load(&h->freed) == 1;
}

/* One chunk is not worth waking the drain; but it is taken soon, whoever keeps the drain busy. */
static void quiet_beside_a_loud_one(void **state)
{
	uint64_t deadline = clock_ns(CLOCK_MONOTONIC) + 120000000000ull;
	struct shm_header *loud, *quiet;
	struct test_drain d;
	int memfd, status;
	struct synth s;

	test_drain_start(&d, (struct test_drain_options){0});
	s = producer(&d, *state);
	loud = synth_connect(&s, &memfd, &status);
	assert_non_null(loud);
	close(memfd);
	quiet = synth_connect(&s, &memfd, &status);
	assert_non_null(quiet);
	close(memfd);
	hand_over(quiet, 20);
	while (!is_taken(quiet) && clock_ns(CLOCK_MONOTONIC) < deadline)
		shm_ring(loud);
	assert_true(is_taken(quiet));
	kill(d.pid, SIGKILL);
	reap(d.pid);
	munmap(loud, loud->bytes);
	munmap(quiet, quiet->bytes);
	test_drain_remove(&d);
}

/* ---- full file systems, dead launchers, orphans ----------------------------------------------- */

static void full_file_ends_at_a_block(void **state)
{
	struct synth_account *a = *state;
	struct test_drain d;
	struct contents c;
	uint64_t written = 0;
	struct synth s;
	char *manifest, path[PATH_MAX];
	pid_t pid;

	test_drain_start(&d, (struct test_drain_options){.file_limit = 300000});
	s = producer(&d, a);
	s.records = 0;
	pid = synth_start(&s);
	test_drain_program(&d, pid);
	test_drain_exited(&d, pid, reap(pid)); /* it stops by itself: drain_failed */
	test_drain_done(&d);
	assert_int_equal(atomic_load(&a->drain_failed), 1);
	assert_int_equal(d.totals.failed, EFBIG);
	assert_true(contents_read(&c, &d, pid, 0));
	assert_good(&c);
	assert_true(c.bytes <= 300000 && c.bytes > 250000);
	for (unsigned i = 0; i < s.threads; i++)
		written += atomic_load(&a->committed[i]);
	/* Every record is in the file or counted. */
	assert_int_equal(c.all + d.totals.lost_records, written);
	snprintf(path, sizeof(path), "%s/manifest.json", d.trace);
	manifest = file_read(path, NULL);
	assert_non_null(manifest);
	assert_non_null(strstr(manifest, "cut short"));
	free(manifest);
	test_drain_remove(&d);
}

static void launcher_dies(void **state)
{
	struct synth_account *a = *state;
	struct test_drain d;
	struct contents c;
	struct synth s;
	pid_t pid;

	test_drain_start(&d, (struct test_drain_options){0});
	s = producer(&d, a);
	pid = synth_start(&s);
	test_drain_program(&d, pid);
	await_records(a, 1000);
	close(d.control);
	d.control = -1;
	reap(pid);
	test_drain_done(&d);
	assert_true(contents_read(&c, &d, pid, 0));
	assert_good(&c);
	assert_int_equal(c.all, s.threads * s.records);
	test_drain_remove(&d);
}

static void orphan_lives_as_long_as_its_producers(void **state)
{
	struct synth_account *a = *state;
	struct test_drain d;
	struct contents c;
	struct synth s;
	pid_t pid;

	test_drain_start(&d, (struct test_drain_options){.orphan = true});
	s = producer(&d, a);
	pid = synth_start(&s);
	reap(pid);
	test_drain_done(&d);
	assert_true(contents_read(&c, &d, pid, 0));
	assert_good(&c);
	assert_int_equal(c.all, s.threads * s.records);
	assert_int_not_equal(access(d.socket, F_OK), 0);
	test_drain_remove(&d);
}

/* The program has ended, its child goes on. */
static void drain_waits_for_children(void **state)
{
	struct synth_account *a = *state;
	struct drain_message m;
	struct test_drain d;
	struct contents c;
	struct synth s;
	pid_t pid, program = fork();

	if (program == 0) {
		pause();
		_exit(0);
	}
	test_drain_start(&d, (struct test_drain_options){0});
	s = producer(&d, a);
	s.records = 0;
	pid = synth_start(&s);
	test_drain_program(&d, program);
	await_records(a, 1);
	kill(program, SIGTERM);
	test_drain_exited(&d, program, reap(program));
	assert_int_equal(recv(d.control, &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(m.type, DRAIN_BUSY);
	assert_int_equal(m.totals.alive, 1);
	await_records(a, 100000);
	kill(pid, SIGKILL);
	reap(pid);
	test_drain_done(&d);
	assert_true(contents_read(&c, &d, pid, 0));
	assert_good(&c);
	assert_true(c.all >= 100000);
	test_drain_remove(&d);
}

static void compressed_holds_the_same(void **state)
{
	struct synth_account *a = *state;
	struct test_drain d;
	struct contents c;
	struct synth s;
	pid_t pid;

	test_drain_start(&d, (struct test_drain_options){.compress = true});
	s = producer(&d, a);
	pid = synth_start(&s);
	test_drain_program(&d, pid);
	test_drain_exited(&d, pid, reap(pid));
	test_drain_done(&d);
	assert_true(contents_read(&c, &d, pid, 0));
	assert_good(&c);
	assert_int_equal(c.all, s.threads * s.records);
	assert_true(c.compressed > c.chunks / 2);
	assert_true(c.bytes < d.totals.bytes / 2);
	assert_true(c.bytes <= d.totals.stored); /* perhaps it was told before all was done */
	test_drain_remove(&d);
}

static void drain_uses_all_cpus(void **state)
{
	struct synth_account *a = *state;
	cpu_set_t before, one, drains;
	struct test_drain d;
	struct synth s;
	pid_t pid;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &before)) {
			CPU_SET(i, &one);
			break;
		}
	}
	sched_setaffinity(0, sizeof(one), &one);
	test_drain_start(&d, (struct test_drain_options){0});
	s = producer(&d, a);
	s.linger = true;
	pid = synth_start(&s);
	test_drain_program(&d, pid);
	await_records(a, 1);
	assert_int_equal(sched_getaffinity(d.pid, sizeof(drains), &drains), 0);
	sched_setaffinity(0, sizeof(before), &before);
	assert_int_equal(CPU_COUNT(&drains) >= CPU_COUNT(&before), 1);
	kill(pid, SIGKILL);
	test_drain_exited(&d, pid, reap(pid));
	test_drain_done(&d);
	test_drain_remove(&d);
}

static int setup(void **state)
{
	*state = synth_account_new();
	return 0;
}

/* Who sweeps takes what nobody holds, and the launcher may be gone before its drain records. */
static void drain_holds_its_place(void **state)
{
	char socket[PLACE_SOCKET], *folder;
	int pair[2], status;
	pid_t launcher, drain;

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	launcher = fork();
	if (launcher == 0) {
		struct drain_config c = {.trace = "/tmp", .listener = -1, .control = pair[1]};

		if (!place_make(socket, "/tmp") || send(pair[1], socket, sizeof(socket), 0) < 0)
			_exit(1);
		drain = fork();
		if (drain != 0)
			_exit(0);
		c.socket_path = socket;
		drain_detach(&c);
		drain = getpid();
		send(pair[1], &drain, sizeof(drain), 0);
		pause();
	}
	close(pair[1]);
	assert_int_equal(recv(pair[0], socket, sizeof(socket), 0), sizeof(socket));
	assert_int_equal(waitpid(launcher, &status, 0), launcher);
	assert_int_equal(status, 0);
	assert_int_equal(recv(pair[0], &drain, sizeof(drain), 0), sizeof(drain));
	folder = dirname(socket);
	place_sweep(NULL);
	assert_int_equal(access(folder, F_OK), 0);
	kill(drain, SIGKILL);
	assert_int_equal(waitpid(drain, &status, 0), drain);
	place_sweep(NULL);
	assert_int_equal(access(folder, F_OK), -1);
	close(pair[0]);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_arrives),
		cmocka_unit_test(killed_at_random),
		cmocka_unit_test(tells_how_it_ended),
		cmocka_unit_test(exec_begins_a_new_file),
		cmocka_unit_test(bad_producers_harm_nobody),
		cmocka_unit_test(lying_chunks_are_counted),
		cmocka_unit_test(counts_that_cannot_be),
		cmocka_unit_test(killed_while_overwriting),
		cmocka_unit_test(flights_keep_the_file),
		cmocka_unit_test(obtained_chunk_shows_nothing),
		cmocka_unit_test(last_image_counts),
		cmocka_unit_test(death_is_told),
		cmocka_unit_test(quiet_beside_a_loud_one),
		cmocka_unit_test(full_file_ends_at_a_block),
		cmocka_unit_test(launcher_dies),
		cmocka_unit_test(orphan_lives_as_long_as_its_producers),
		cmocka_unit_test(drain_waits_for_children),
		cmocka_unit_test(compressed_holds_the_same),
		cmocka_unit_test(drain_uses_all_cpus),
		cmocka_unit_test(drain_holds_its_place),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
