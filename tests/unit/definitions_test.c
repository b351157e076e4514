/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drain looks for chunks of definitions while the program fills more of them. What the program does
 * between two steps of one look is done here when the drain touches a page: the page is taken from it, and
 * its fault is the program's turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "drain/producer.h"
#include "support/synth_producer.h"
#include "wire/defs.h"
#include "wire/raw.h"

enum { CHUNK = 8192, CHUNKS = 32, DEFINITIONS_MAX = 64 };

static struct {
	char trace[64];
	struct shm_header *h; /* the program's mapping */
	struct producer *p;
	uint64_t next_seq, next_id;
	uint32_t at;   /* the chunk that it is filling when its turn comes */
	uint8_t *page; /* of that chunk, as the drain has it; NULL: its turn is over */
} it;

/* ---- the program ------------------------------------------------------------------------------ */

static void begin_chunk(uint32_t i)
{
	struct wire_chunk *c = shm_chunk(it.h, i);

	atomic_store(&shm_ctl(it.h)[i].state, SHM_FILLING);
	memset(c, 0, sizeof(*c));
	c->magic = WIRE_CHUNK_MAGIC;
	c->version = WIRE_VERSION;
	c->header_size = sizeof(*c);
	c->type = WIRE_CHUNK_DEFINITIONS;
	c->seq = it.next_seq++;
	atomic_store(&c->committed, sizeof(*c));
}

static void define(uint32_t i)
{
	struct wire_chunk *c = shm_chunk(it.h, i);
	uint32_t used = atomic_load(&c->committed);
	struct wire_def d;

	wire_def_init(&d, DEF_STRING);
	wire_def_u64(&d, it.next_id++);
	wire_def_string(&d, "a name");
	wire_def_write(&d, (uint8_t *)c + used);
	atomic_store(&c->committed, used + (uint32_t)wire_def_size(&d));
}

static void hand_over(uint32_t i)
{
	atomic_store(&shm_ctl(it.h)[i].state, SHM_FULL);
}

/* Fills chunks where the look has been already, and begins one where it comes to yet. */
static void go_on(void)
{
	hand_over(it.at);
	for (uint32_t i = it.at - 15; i < it.at - 5; i += 4) {
		begin_chunk(i);
		define(i);
		define(i);
		hand_over(i);
	}
	begin_chunk(it.at + 5);
	define(it.at + 5);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	uint8_t *a = info->si_addr, *page = it.page;

	if (!page || a < page || a >= page + CHUNK) {
		signal(sig, SIG_DFL);
		return;
	}
	it.page = NULL;
	mprotect(page, CHUNK, PROT_READ | PROT_WRITE);
	go_on();
}

/* ---- the file --------------------------------------------------------------------------------- */

/* The ids of the definitions in a file, in its order; *unordered: so are not their chunks. */
static unsigned ids_in(const char *path, uint64_t *ids, bool *unordered)
{
	size_t size = 0, at = sizeof(struct raw_header);
	uint8_t *data = (uint8_t *)file_read(path, &size);
	uint64_t seq = 0;
	unsigned n = 0;

	assert_non_null(data);
	while (at + sizeof(struct raw_block) <= size) {
		struct wire_reader r;
		struct raw_block b;
		struct wire_def d;

		memcpy(&b, data + at, sizeof(b));
		at += sizeof(b) + b.stored;
		if (b.type != RAW_CHUNK)
			continue;
		assert_int_equal(b.chunk_type, WIRE_CHUNK_DEFINITIONS);
		*unordered |= b.seq < seq || b.seq > seq + 1;
		seq = b.seq;
		assert_true(wire_reader_init(&r, data + at - b.stored, b.raw));
		while (n < DEFINITIONS_MAX && wire_def_read(&r.p, r.end, &d) == 1)
			ids[n++] = wire_def_get(&d, DEF_STRING_ID);
	}
	free(data);
	return n;
}

/* ---- tests ------------------------------------------------------------------------------------ */

static void start(void)
{
	struct synth s = {.chunk_size = CHUNK, .chunks = CHUNKS};
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	kymo_status_t status;
	char raw[80];
	int memfd;

	memset(&it, 0, sizeof(it));
	strcpy(it.trace, "/tmp/kymo-test-XXXXXX");
	assert_non_null(mkdtemp(it.trace));
	snprintf(raw, sizeof(raw), "%s/raw", it.trace);
	assert_int_equal(mkdir(raw, 0777), 0);
	it.h = synth_buffer(&s, &memfd);
	assert_non_null(it.h);
	it.p = producer_new(memfd, getpid(), NULL, &status);
	assert_non_null(it.p);
	assert_true(producer_begin(it.p, it.trace));
	assert_int_equal(sigaction(SIGSEGV, &sa, NULL), 0);
}

/* Every definition is in the file once, and in order. */
static void end(void)
{
	uint64_t ids[DEFINITIONS_MAX];
	struct drain_totals totals = {0};
	char path[PATH_MAX];
	bool unordered = false;
	struct raw_end how;
	unsigned n;

	producer_finish(it.p, 0, &totals, &how, path);
	signal(SIGSEGV, SIG_DFL);
	n = ids_in(path, ids, &unordered);
	for (unsigned i = 0; i < n && i < it.next_id; i++)
		assert_int_equal(ids[i], i);
	assert_int_equal(n, it.next_id);
	assert_false(unordered);
	assert_int_equal(totals.lost_definitions, 0);
	assert_int_equal(totals.damaged_chunks, 0);
	producer_drop(it.p);
	munmap(it.h, it.h->bytes);
	assert_true(file_remove_tree(it.trace));
}

/* The program's turn comes when the drain touches the chunk that it is filling. */
static void pass_meets_program(uint32_t at)
{
	it.at = at;
	it.page = (uint8_t *)shm_chunk(it.p->shm, at);
	assert_int_equal(mprotect(it.page, CHUNK, PROT_NONE), 0);
	producer_pass(it.p);
	assert_null(it.page);
}

static void program_goes_on_during_a_look(void **state)
{
	start();
	begin_chunk(10);
	define(10);
	producer_pass(it.p);
	define(10);
	hand_over(10);
	begin_chunk(20);
	define(20);
	pass_meets_program(20);
	producer_pass(it.p);
	end();
}

/* Twice, the second time when the drain looks whether the chunk that it knows is still being filled. */
static void program_goes_on_again(void **state)
{
	start();
	begin_chunk(20);
	define(20);
	pass_meets_program(20);
	producer_pass(it.p);
	pass_meets_program(25);
	producer_pass(it.p);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(program_goes_on_during_a_look),
		cmocka_unit_test(program_goes_on_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
