/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the shared buffer that are kept up to date (wire/live.h): work that is under way, calls
 * that are only counted. They lie in chunks that are never handed over while the process runs; a flush
 * copies them, and so does the drain when the process is gone, however it went.
 */
#include "core/process/process.h"
#include "base/locks.h"
#include "core/ring/ring.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LINES       (1u << CAP_LINE_BITS)
#define TABLE_BYTES (65536u * sizeof(void *))

struct cap_lines *cap_lines;

static struct place {
	struct place *next;
	uint32_t number;
} * spare; /* places given back, under `lines` */

/* Lines of the first chunk: place 0 is none, and one counts the work that has no line. */
#define BEYOND  1u
#define FIRST   2u
#define COUNTED 0x80000000u /* a place: counted by the process of that generation */

/* As many lines as fit into a chunk. */
static uint32_t lines_of(const struct core_pool *pool)
{
	uint32_t n = (pool->chunk_size - (uint32_t)WIRE_LIVE_HEADER) /
		     (uint32_t)sizeof(struct wire_line);

	return n < LINES ? n : LINES;
}

/* Chunks that stay. The buffer grows by what they are more than half of it, as long as it may. */
static bool chunk_add(struct core_pool *pool, uint32_t number)
{
	struct wire_chunk *c;
	uint32_t i;

	if (number >= CAP_LINE_CHUNKS || number > pool->chunk_max / 8)
		return false;
	i = core_pool_get(pool, SHM_LIST_RECORDS, 0);
	if (i == SHM_NONE && number == 0) /* in which what has no line is told */
		i = core_pool_get(pool, SHM_LIST_DEFINITIONS, 0);
	if (i == SHM_NONE)
		return false;
	c = core_chunk(pool, i);
	memset(c, 0, pool->chunk_size);
	c->magic = WIRE_CHUNK_MAGIC;
	c->version = WIRE_VERSION;
	c->header_size = WIRE_LIVE_HEADER;
	c->type = WIRE_CHUNK_LIVE;
	c->seq = number;
	c->base_tick = tick_now();
	atomic_store_explicit(
		&c->committed,
		(uint32_t)(WIRE_LIVE_HEADER + lines_of(pool) * sizeof(struct wire_line)),
		memory_order_release);
	atomic_store(&cap_lines->chunks[number],
		     (struct wire_line *)((uint8_t *)c + WIRE_LIVE_HEADER));
	return true;
}

/* Caller holds `lines`. */
static uint32_t place_new(void) REQUIRES(core_live->lines)
{
	struct core_pool *pool = core_shared_pool();
	uint32_t each, number, n;

	kymo_assert_held(&core_live->lines);
	if (!pool)
		return 0;
	each = lines_of(pool);
	n = core_live->line_count ? core_live->line_count : FIRST;
	number = n / each;
	if (number < CAP_LINE_CHUNKS && !atomic_load(&cap_lines->chunks[number]) &&
	    !chunk_add(pool, number))
		return 0;
	if (number >= CAP_LINE_CHUNKS)
		return 0;
	core_live->line_count = n + 1;
	return number << CAP_LINE_BITS | n % each;
}

/* One that was given back, or a new one; 0: there is none. Caller holds `lines`. */
static uint32_t flight_place(void) REQUIRES(core_live->lines)
{
	struct place *p = spare;
	uint32_t place;

	kymo_assert_held(&core_live->lines);
	if (p)
		spare = p->next;
	place = p ? p->number : place_new();
	free(p);
	if (place)
		cap_flight_line(place)->kind = WIRE_LINE_FLIGHT;
	return place;
}

uint32_t cap_flight_new(void)
{
	int saved = errno;
	uint32_t place;

	if (!core_usable())
		return 0;
	pthread_mutex_lock(&core_live->lines);
	place = flight_place();
	pthread_mutex_unlock(&core_live->lines);
	errno = saved;
	return place;
}

void cap_flight_free(uint32_t *place)
{
	struct place *p;

	cap_flight_end(place);
	p = *place ? malloc(sizeof(*p)) : NULL;
	if (!p)
		return;
	pthread_mutex_lock(&core_live->lines);
	if (cap_flight_line(*place)) { /* its chunk may have gone meanwhile */
		*p = (struct place){spare, *place};
		spare = p;
		p = NULL;
	}
	pthread_mutex_unlock(&core_live->lines);
	free(p);
	*place = 0;
}

/* Puts the number where it outlives the process. Caller holds `lines`. */
static void tell_beyond(void) REQUIRES(core_live->lines)
{
	struct core_pool *pool = core_shared_pool();
	struct wire_line *l;

	kymo_assert_held(&core_live->lines);
	if (!pool || (!atomic_load(&cap_lines->chunks[0]) && !chunk_add(pool, 0)))
		return;
	l = cap_flight_line(BEYOND);
	l->kind = WIRE_LINE_BEYOND;
	l->count.calls = core_live->lines_none;
	atomic_store_explicit(&l->state, 1, memory_order_release);
}

/* There may be a line by now. */
void cap_flight_count(uint32_t *place)
{
	int saved = errno;

	if (!core_usable())
		return;
	pthread_mutex_lock(&core_live->lines);
	*place = flight_place();
	if (!*place) {
		*place = COUNTED | core_generation;
		core_live->lines_none++;
		tell_beyond();
	}
	pthread_mutex_unlock(&core_live->lines);
	errno = saved;
}

/* It may have been counted by the parent, or have its line there. */
void cap_flight_uncount(uint32_t *place)
{
	int saved = errno;

	if (!core_usable())
		return;
	pthread_mutex_lock(&core_live->lines);
	if (*place == (COUNTED | core_generation)) {
		core_live->lines_none--;
		tell_beyond();
	}
	pthread_mutex_unlock(&core_live->lines);
	*place = 0;
	errno = saved;
}

struct wire_line *core_line_new(enum wire_line_kind kind)
{
	struct wire_line *l;
	uint32_t place;

	pthread_mutex_lock(&core_live->lines);
	place = place_new();
	pthread_mutex_unlock(&core_live->lines);
	l = cap_flight_line(place);
	if (l)
		l->kind = (uint16_t)kind;
	return l;
}

/* A line may be changing meanwhile: then the numbers are of about now. */
void core_lines_costs(struct wire_cost_sum *out)
{
	struct core_pool *pool = core_shared_pool();

	*out = (struct wire_cost_sum){0};
	for (uint32_t c = 0; pool && c < CAP_LINE_CHUNKS; c++) {
		const struct wire_line *lines = atomic_load(&cap_lines->chunks[c]);

		for (uint32_t i = 0; lines && i < lines_of(pool); i++)
			if (lines[i].kind == WIRE_LINE_COST && atomic_load(&lines[i].state))
				wire_cost_add(&lines[i].cost, out);
	}
}

void core_lines_share(struct core_buffer *b)
{
	atomic_store(&cap_lines->buffer, 1ull << b->index);
}

bool core_line_in(const struct core_pool *pool, const struct wire_line *line)
{
	uintptr_t at = (uintptr_t)line, from = (uintptr_t)pool->chunks;

	return at >= from && at < (uintptr_t)pool->shm + pool->mapped;
}

/* Places of what is under way lead nowhere: they are given back by who has them, see cap_flight_end(). */
static void forget_places(void) REQUIRES(core_live->lines)
{
	struct place **at = &spare, *p;

	kymo_assert_held(&core_live->lines);
	while ((p = *at)) {
		if (cap_flight_line(p->number)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		free(p);
	}
}

/* The array reads as new: the thread finds that it has no line of an op and gets another. */
static void forget_left_out(struct cap_thread *t, void *data)
{
	struct wire_line **table = t->left_out;

	if (table)
		madvise(table, TABLE_BYTES, MADV_DONTNEED);
}

void core_lines_unshare(struct core_pool *pool, struct core_buffer *other)
{
	uint32_t each = lines_of(pool);

	pthread_mutex_lock(&core_live->lines);
	for (uint32_t i = 0; i < pool->chunk_max; i++)
		pool->use[i] = CORE_CHUNK_UNUSED;
	for (uint32_t c = 0; c < CAP_LINE_CHUNKS; c++) {
		const struct wire_line *l = atomic_load(&cap_lines->chunks[c]);

		if (!l || !core_line_in(pool, l))
			continue;
		pool->use[(size_t)((const uint8_t *)l - pool->chunks) / pool->chunk_size] =
			CORE_CHUNK_MINE;
		atomic_store(&cap_lines->chunks[c], NULL);
	}
	forget_places();
	/* A place that is still known somewhere must not be in the chunk of a new one. */
	core_live->line_count = (core_live->line_count + each - 1) / each * each;
	atomic_store(&cap_lines->buffer, other ? 1ull << other->index : 0);
	pthread_mutex_unlock(&core_live->lines);
	/* A thread that ends unmaps its array under the same lock: what comes there next is another's. */
	pthread_mutex_lock(&core_live->tallies);
	core_threads_each(forget_left_out, NULL);
	pthread_mutex_unlock(&core_live->tallies);
}

void core_lines_init(void)
{
	cap_lines = &core_live->lines_of;
}

/* Places of the parent are in its memory. */
void core_lines_fork_child(void)
{
	spare = NULL;
}

/* ---- tables by op ------------------------------------------------------------------------------ */

void *core_op_table_new(void)
{
	void *p = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void core_op_table_free(void *table)
{
	if (table)
		munmap(table, TABLE_BYTES);
}

/* ---- calls that are left out ------------------------------------------------------------------ */

/* The thread's first such call of the op; NULL: the thread's state cannot be had. */
static struct wire_line *count_line(struct cap_thread *t, const struct cap_op *op)
{
	struct wire_line *l;

	if (!t->left_out)
		t->left_out = core_op_table_new();
	if (!t->left_out)
		return NULL;
	l = t->left_out[op->wire];
	if (l)
		return l;
	l = core_line_new(WIRE_LINE_COUNT);
	if (!l)
		return NULL;
	l->op = op->wire;
	l->count.thread = t->index;
	atomic_store_explicit(&l->state, 1, memory_order_release);
	return t->left_out[op->wire] = l;
}

void cap_left_out_slow(const struct cap_op *op)
{
	struct cap_thread *t = cap_thread_current;
	int saved = errno;
	struct wire_line *l;

	if (!t || t->magic != CAP_THREAD_MAGIC)
		t = cap_thread_attach();
	if (!t || t->guard)
		return;
	t->guard++;
	l = count_line(t, op);
	t->guard--;
	if (l)
		l->count.calls++;
	errno = saved;
}

void core_left_out_release(struct cap_thread *t)
{
	core_op_table_free(t->left_out);
	t->left_out = NULL;
}
