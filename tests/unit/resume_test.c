/* SPDX-License-Identifier: Apache-2.0 */
/* What a drain that takes over from one that was killed reads: the journal, and the file that was
 * begun. */
#include <fcntl.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "drain/drain.h"
#include "drain/journal.h"
#include "drain/life.h"
#include "drain/producer.h"
#include "drain/rawfile.h"
#include "drain/scan.h"
#include "support/synth_producer.h"

/* ---- the journal ----------------------------------------------------------------------------- */

static void entries_come_back(void **state)
{
	struct journal *j = journal_new();
	struct journal_refused r = {17, 24};
	struct journal_entry *e = NULL;
	uint32_t number = 5;

	assert_non_null(j);
	assert_null(journal_next(j, NULL));
	journal_add(j, JOURNAL_BEGUN, &number, sizeof(number), "/a/path");
	journal_add(j, JOURNAL_ERROR, NULL, 0, "wrong");
	journal_add(j, JOURNAL_REFUSED, &r, sizeof(r), NULL);
	journal_add(j, JOURNAL_PROGRAM_GONE, NULL, 0, NULL);

	e = journal_next(j, e);
	assert_int_equal(e->type, JOURNAL_BEGUN);
	assert_int_equal(*(uint32_t *)journal_data(e, sizeof(number)), 5);
	assert_string_equal(journal_text(e, sizeof(number)), "/a/path");
	e = journal_next(j, e);
	assert_int_equal(e->type, JOURNAL_ERROR);
	assert_string_equal(journal_text(e, 0), "wrong");
	e = journal_next(j, e);
	assert_memory_equal(journal_data(e, sizeof(r)), &r, sizeof(r));
	assert_string_equal(journal_text(e, sizeof(r)), "");
	assert_null(journal_data(e, sizeof(struct journal_finished)));
	e = journal_next(j, e);
	assert_int_equal(e->type, JOURNAL_PROGRAM_GONE);
	assert_null(journal_next(j, e));
	journal_free(j);
}

/* An entry is there when it is whole; what makes no sense ends the journal. */
static void a_torn_end_is_cut(void **state)
{
	struct journal *j = journal_new();
	struct journal_entry *e;
	uint32_t number = 5;
	uint64_t used;

	journal_add(j, JOURNAL_GONE, &number, sizeof(number), NULL);
	used = atomic_load(&j->used);
	journal_add(j, JOURNAL_BEGUN, &number, sizeof(number), "/a/path/that/is/long");
	e = journal_next(j, NULL);
	assert_non_null(journal_next(j, e));
	for (uint64_t cut = used; cut < used + 24; cut += 8) {
		atomic_store(&j->used, cut);
		assert_null(journal_next(j, e));
	}
	atomic_store(&j->used, UINT64_MAX);
	((struct journal_entry *)(j->entries + used))->bytes = UINT32_MAX;
	assert_null(journal_next(j, e));
	((struct journal_entry *)(j->entries + used))->bytes = 8;
	((struct journal_entry *)(j->entries + used))->type = 77;
	assert_null(journal_next(j, e));
	journal_free(j);
}

static void a_full_journal_says_so(void **state)
{
	struct journal *j = journal_new();
	uint32_t number = 1;

	j->room = 64;
	assert_non_null(journal_add(j, JOURNAL_GONE, &number, sizeof(number), NULL));
	assert_null(journal_add(j, JOURNAL_ERROR, NULL, 0,
				"a text that is longer than what is left of 64 bytes"));
	assert_int_equal(atomic_load(&j->full), 1);
	/* A later one that fits would be believed without it. */
	assert_null(journal_add(j, JOURNAL_GONE, &number, sizeof(number), NULL));
	assert_null(journal_next(j, journal_next(j, NULL)));
	journal_free(j);
}

/* ---- the file -------------------------------------------------------------------------------- */

enum { HEADER = sizeof(struct wire_chunk) };

static char folder[] = "/tmp/kymo-resume-XXXXXX";

static int make_folder(void **state)
{
	char raw[64];

	if (!mkdtemp(folder))
		return -1;
	snprintf(raw, sizeof(raw), "%s/raw", folder);
	return mkdir(raw, 0700);
}

static int remove_folder(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static void add_chunk(struct rawfile *f, enum raw_block_type type, uint32_t chunk_type,
		      uint32_t thread, uint64_t seq, uint32_t bytes)
{
	struct raw_block b = {.type = (uint16_t)type,
			      .thread = thread,
			      .chunk_type = chunk_type,
			      .seq = seq,
			      .raw = HEADER + bytes};

	memset(rawfile_reserve(f, b.raw), 0, b.raw);
	rawfile_commit(f, &b);
}

/* Thread 1: chunks 0 to 2; of 3 a part. Definitions 7: 100 and 50 bytes of it. */
static void make_file(struct rawfile *f)
{
	struct raw_header h = {.magic = RAW_MAGIC,
			       .version = RAW_VERSION,
			       .header_size = sizeof(h),
			       .pid = 1,
			       .hostname = "host"};
	struct raw_end told = {.how = 5, .lost_records = 3}, later = {.how = 5, .lost_records = 4};

	assert_true(rawfile_create(f, folder, &h));
	for (uint64_t seq = 0; seq < 3; seq++)
		add_chunk(f, RAW_CHUNK, WIRE_CHUNK_RECORDS, 1, seq, 400);
	add_chunk(f, RAW_PARTIAL, WIRE_CHUNK_RECORDS, 1, 3, 100);
	rawfile_flush(f);
	rawfile_add(f, RAW_STATE, &told, sizeof(told));
	rawfile_add(f, RAW_STATE, &later, sizeof(later));
	add_chunk(f, RAW_CHUNK, WIRE_CHUNK_DEFINITIONS, 0, 7, 100);
	add_chunk(f, RAW_CHUNK, WIRE_CHUNK_DEFINITIONS, 0, 7, 50);
	assert_true(rawfile_flush(f));
}

static struct scan_chunk of(uint32_t type, uint32_t thread, uint64_t seq, uint32_t chunk)
{
	return (struct scan_chunk){
		.type = type, .thread = thread, .seq = seq, .chunk = chunk, .header_size = HEADER};
}

static const struct scan_chunk *chunk(const struct scan *s, uint32_t number)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->chunks[i].chunk == number)
			return &s->chunks[i];
	fail_msg("chunk %u is gone", number);
	return NULL;
}

static void what_is_written_is_found(void **state)
{
	struct scan_chunk chunks[] = {
		of(WIRE_CHUNK_RECORDS, 1, 3, 0),     of(WIRE_CHUNK_RECORDS, 1, 2, 1),
		of(WIRE_CHUNK_RECORDS, 2, 2, 2),     of(WIRE_CHUNK_DEFINITIONS, 0, 7, 3),
		of(WIRE_CHUNK_DEFINITIONS, 0, 8, 4), of(WIRE_CHUNK_TALLY, 1, 2, 5),
		of(WIRE_CHUNK_RECORDS, 1, 2, 6)};
	struct scan s = {.chunks = chunks, .count = 7};
	struct rawfile f, again;

	make_file(&f);
	assert_true(rawfile_continue(&again, f.path, &s));
	assert_int_equal(again.bytes, f.bytes);
	assert_false(chunk(&s, 0)->found); /* a part is not all */
	assert_true(chunk(&s, 1)->found);
	assert_true(chunk(&s, 6)->found); /* a broken program shows it twice */
	assert_false(chunk(&s, 2)->found);
	assert_false(chunk(&s, 5)->found);
	assert_int_equal(chunk(&s, 3)->copied, 150);
	assert_int_equal(chunk(&s, 4)->copied, 0);
	assert_int_equal(s.told.lost_records, 4);
	assert_false(s.open_told);
	rawfile_close(&again);
	rawfile_close(&f);
}

/* As a drain that is killed leaves it. */
static void let_go(struct rawfile *f)
{
	close(f->fd);
	batch_release(&f->pending);
	free(f->needed.data);
}

/* Wherever the drain was killed while it wrote: the file goes on behind what is whole. */
static void a_torn_tail_is_cut(void **state)
{
	enum { BLOCK = sizeof(struct raw_block) + HEADER + 400 };
	struct rawfile f, again;
	struct raw_end end = {0};
	uint64_t last;
	struct stat st;

	for (uint64_t torn = 1; torn < BLOCK; torn += torn < 80 ? 1 : 40) {
		struct scan_chunk c = of(WIRE_CHUNK_RECORDS, 1, 3, 0);
		struct scan s = {.chunks = &c, .count = 1};

		make_file(&f);
		last = f.bytes;
		add_chunk(&f, RAW_CHUNK, WIRE_CHUNK_RECORDS, 1, 3, 400);
		assert_true(rawfile_flush(&f));
		let_go(&f);
		assert_int_equal(truncate(f.path, (off_t)(last + torn)), 0);
		assert_true(rawfile_continue(&again, f.path, &s));
		assert_false(c.found);
		assert_int_equal(again.bytes, last);
		add_chunk(&again, RAW_CHUNK, WIRE_CHUNK_RECORDS, 1, 3, 400);
		assert_true(rawfile_flush(&again));
		let_go(&again);
		assert_true(rawfile_continue(&again, f.path, &s));
		assert_true(c.found);
		assert_int_equal(again.bytes, last + BLOCK);
		rawfile_close(&again);
		unlink(f.path);
	}

	/* An end is written anew. */
	make_file(&f);
	last = f.bytes;
	rawfile_end(&f, &end);
	rawfile_close(&f);
	assert_true(rawfile_continue(&again, f.path, &(struct scan){0}));
	assert_int_equal(again.bytes, last);
	add_chunk(&again, RAW_CHUNK, WIRE_CHUNK_RECORDS, 1, 4, 8);
	rawfile_end(&again, &end);
	rawfile_close(&again);
	assert_int_equal(stat(f.path, &st), 0);
	assert_int_equal(st.st_size,
			 last + 2 * sizeof(struct raw_block) + HEADER + 8 + sizeof(end));
}

static void no_file_takes_nothing(void **state)
{
	struct raw_end end = {0};
	struct rawfile f;
	char path[80];

	snprintf(path, sizeof(path), "%s/raw/none.kyr", folder);
	assert_false(rawfile_continue(&f, path, &(struct scan){0}));
	assert_int_not_equal(f.failed, 0);
	add_chunk(&f, RAW_CHUNK, WIRE_CHUNK_RECORDS, 1, 0, 8);
	rawfile_end(&f, &end);
	rawfile_close(&f);
	assert_int_equal(f.bytes, 0);
	assert_int_not_equal(access(path, F_OK), 0);
}

/* ---- a producer ------------------------------------------------------------------------------ */

static struct {
	struct journal *journal;
	struct shm_header *shm;
	uint8_t *saved;
	struct producer *dead;
} left;

static void fill(uint32_t i, uint32_t state, uint32_t type, uint32_t thread, uint64_t seq,
		 uint32_t bytes)
{
	struct wire_chunk *c = shm_chunk(left.shm, i);

	memset(c, 0, left.shm->chunk_size);
	*c = (struct wire_chunk){.magic = WIRE_CHUNK_MAGIC,
				 .version = WIRE_VERSION,
				 .header_size = HEADER,
				 .type = type,
				 .thread = thread,
				 .seq = seq};
	atomic_store(&c->committed, HEADER + bytes);
	atomic_store(&shm_ctl(left.shm)[i].state, state);
}

/* A process is recorded, and its drain has begun a file. */
static void begin(void)
{
	struct synth s = {.threads = 1, .chunk_size = 4096, .chunks = 16};
	kymo_status_t status;
	int memfd;

	left.journal = journal_new();
	left.shm = synth_buffer(&s, &memfd);
	left.saved = malloc(left.shm->bytes);
	assert_non_null(left.saved);
	life_begin(offsetof(struct shm_header, drain_life));
	atomic_store(&left.shm->chunk_count, 16);
	atomic_store(&left.shm->begun, SHM_BEGUN);
	left.dead = producer_new(memfd, getpid(), left.journal, &status);
	assert_non_null(left.dead);
	producer_adopt(left.dead, 1);
	assert_true(producer_begin(left.dead, folder));
}

/* As it does when it is killed before it gives back what it has written or counted. */
static void pass_and_die(void)
{
	memcpy(left.saved, left.shm, left.shm->bytes);
	producer_pass(left.dead);
	memcpy(left.shm, left.saved, left.shm->bytes);
}

static struct producer *go_on(void)
{
	struct producer *p = producer_restore(left.journal, left.dead->kept);

	assert_non_null(p);
	p->begun = true;
	memcpy(p->file.path, left.dead->file.path, sizeof(p->file.path));
	assert_true(producer_continue(p));
	return p;
}

static void end(struct producer *p, struct drain_totals *totals, char *path)
{
	struct raw_end ignored;

	memset(totals, 0, sizeof(*totals));
	atomic_store(&left.shm->state, SHM_FINALIZED);
	producer_finish(p, 0, totals, &ignored, path);
	p->pidfd = p->memfd = -1; /* the same as the dead one's */
	producer_drop(p);
	let_go(&left.dead->file);
	producer_drop(left.dead);
	free(left.saved);
	munmap(left.shm, left.shm->bytes);
	journal_free(left.journal);
}

/* Whole chunks of that kind in the file, and the bytes behind their headers. */
static unsigned count(const char *path, uint32_t type, uint32_t thread, uint64_t seq,
		      uint64_t *bytes)
{
	FILE *f = fopen(path, "r");
	struct raw_block b;
	unsigned n = 0;

	assert_non_null(f);
	*bytes = 0;
	assert_int_equal(fseek(f, sizeof(struct raw_header), SEEK_SET), 0);
	while (fread(&b, sizeof(b), 1, f) == 1) {
		assert_int_equal(b.magic, RAW_BLOCK_MAGIC);
		assert_int_equal(fseek(f, b.stored, SEEK_CUR), 0);
		if (b.type != RAW_CHUNK || b.chunk_type != type || b.thread != thread ||
		    b.seq != seq)
			continue;
		n++;
		*bytes += b.raw - HEADER;
	}
	fclose(f);
	return n;
}

/* Blocks of a type, whatever they hold. */
static unsigned count_blocks(const char *path, uint16_t type)
{
	FILE *f = fopen(path, "r");
	struct raw_block b;
	unsigned n = 0;

	assert_non_null(f);
	assert_int_equal(fseek(f, sizeof(struct raw_header), SEEK_SET), 0);
	for (; fread(&b, sizeof(b), 1, f) == 1; n += b.type == type)
		assert_int_equal(fseek(f, b.stored, SEEK_CUR), 0);
	fclose(f);
	return n;
}

static uint32_t state_of(uint32_t i)
{
	return atomic_load(&shm_ctl(left.shm)[i].state);
}

static void each_chunk_is_written_once(void **state)
{
	struct drain_totals totals;
	char path[PATH_MAX];
	struct producer *p;
	uint64_t bytes;

	begin();
	fill(0, SHM_FULL, WIRE_CHUNK_RECORDS, 1, 0, 100);
	fill(1, SHM_FULL, WIRE_CHUNK_RECORDS, 1, 1, 100);
	fill(2, SHM_FILLING, WIRE_CHUNK_RECORDS, 2, 0, 100);
	fill(3, SHM_FILLING, WIRE_CHUNK_DEFINITIONS, 0, 0, 200);
	pass_and_die();
	atomic_store(&shm_chunk(left.shm, 3)->committed, HEADER + 360);
	fill(4, SHM_FULL | SHM_READING, WIRE_CHUNK_RECORDS, 1, 2, 100);
	fill(5, SHM_FULL, WIRE_CHUNK_RECORDS, 1, 9, 100);
	memset(shm_chunk(left.shm, 5), 0, HEADER); /* it was just being given back */
	atomic_store(&left.shm->drain_life, FUTEX_OWNER_DIED);
	p = go_on();
	assert_int_equal(state_of(0), SHM_FREE);
	assert_int_equal(state_of(1), SHM_FREE);
	assert_int_equal(state_of(2), SHM_FILLING);
	assert_int_equal(state_of(4), SHM_FULL);
	assert_int_equal(state_of(5), SHM_FREE);
	assert_int_equal(atomic_load(&left.shm->drain_life) & FUTEX_TID_MASK, gettid());
	end(p, &totals, path);
	for (uint64_t seq = 0; seq < 3; seq++)
		assert_int_equal(count(path, WIRE_CHUNK_RECORDS, 1, seq, &bytes), 1);
	assert_int_equal(count(path, WIRE_CHUNK_RECORDS, 2, 0, &bytes), 1);
	assert_int_equal(count(path, WIRE_CHUNK_DEFINITIONS, 0, 0, &bytes), 2);
	assert_int_equal(bytes, 360);
	assert_int_equal(totals.damaged_chunks, 0);
}

/* Killed at once: the clocks of the beginning are in the file already. */
static void what_it_began_with_is_written(void **state)
{
	struct drain_totals totals;
	char path[PATH_MAX];
	struct producer *p;

	begin();
	assert_int_equal(count_blocks(left.dead->file.path, RAW_TICK_SYNC), 1);
	p = go_on();
	end(p, &totals, path);
}

/* Killed between the last chunks and the end: what is being filled is in the file already. */
static void the_last_chunks_are_written_once(void **state)
{
	struct drain_totals totals;
	struct raw_end ended;
	char path[PATH_MAX];
	struct producer *p;
	uint64_t bytes;

	begin();
	fill(0, SHM_FILLING, WIRE_CHUNK_RECORDS, 1, 0, 100);
	memset(&totals, 0, sizeof(totals));
	memcpy(left.saved, left.shm, left.shm->bytes);
	producer_finish(left.dead, -1, &totals, &ended, path);
	memcpy(left.shm, left.saved, left.shm->bytes);
	left.dead->file.fd = open(path, O_RDONLY);
	p = go_on();
	end(p, &totals, path);
	assert_int_equal(count(path, WIRE_CHUNK_RECORDS, 1, 0, &bytes), 1);
	assert_int_equal(totals.processes, 0);
}

static void each_loss_is_counted_once(void **state)
{
	struct drain_totals totals;
	char path[PATH_MAX];
	struct producer *p;

	begin();
	fill(0, SHM_FULL, WIRE_CHUNK_RECORDS, 1, 0, 100);
	shm_chunk(left.shm, 0)->magic = 77;
	left.dead->file.lost_records = 5; /* refused before */
	left.dead->file.lost_definitions = 3;
	left.dead->busy_ns = left.dead->kept->counts.busy_ns = UINT64_C(5000000000);
	pass_and_die();
	assert_int_equal(left.dead->damaged_chunks, 1);
	left.dead->kept->counts.damaged_chunks = 0; /* it had not come to that either */
	p = go_on();
	assert_true(p->busy_ns >= UINT64_C(5000000000));
	end(p, &totals, path);
	assert_int_equal(totals.damaged_chunks, 1);
	assert_int_equal(totals.lost_records, 5);
	assert_int_equal(totals.unwritten_records, 5);
	assert_int_equal(totals.lost_definitions, 3);
}

/* When no other drain will be started the process is told, and does not wait for one. */
static void nobody_waits_for_none(void **state)
{
	struct manifest manifest = {.status = -1};
	struct drain_config c = {.trace = folder,
				 .socket_path = "/none",
				 .listener = -1,
				 .control = -1,
				 .manifest = &manifest,
				 .held = {-1, -1}};

	begin();
	assert_int_equal(atomic_load(&left.shm->drain_kept), 1);
	assert_int_equal(atomic_load(&left.shm->drain_failed), 0);
	drain_run(&c, left.journal, DRAIN_GIVE_UP);
	assert_int_not_equal(atomic_load(&left.shm->drain_failed), 0);
	left.dead->memfd = left.dead->pidfd = -1;
	let_go(&left.dead->file);
	producer_drop(left.dead);
	free(left.saved);
	munmap(left.shm, left.shm->bytes);
	journal_free(left.journal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_back),
		cmocka_unit_test(a_torn_end_is_cut),
		cmocka_unit_test(a_full_journal_says_so),
		cmocka_unit_test(what_is_written_is_found),
		cmocka_unit_test(a_torn_tail_is_cut),
		cmocka_unit_test(no_file_takes_nothing),
		cmocka_unit_test(each_chunk_is_written_once),
		cmocka_unit_test(what_it_began_with_is_written),
		cmocka_unit_test(the_last_chunks_are_written_once),
		cmocka_unit_test(each_loss_is_counted_once),
		cmocka_unit_test(nobody_waits_for_none),
	};

	tick_init();
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
