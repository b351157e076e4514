/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that goes to files; see bulk.h. */
#include "base/bulk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/temporary.h"

/* Least bytes of a file, and those that it grows by at least. */
#define FILE_STEP ((size_t)1 << 20)
/* Elements of a run that is sorted at once: comparing indexes of what they are of looks at no more. */
#define RUN_ITEMS ((size_t)1 << 18)
/* So many are merged between two rests. */
#define REST_AFTER ((size_t)1 << 20)

/* Before the elements. */
struct block {
	alignas(max_align_t) size_t bytes; /* with this */
	struct block *next, *before;       /* of those in files */
	int fd;                            /* -1: it lies in the heap */
};

static struct {
	pthread_mutex_t lock;
	uint64_t most, held, filed;
	struct block *files;
	char failed_in[4096];
	int error;
} bulk = {.lock = PTHREAD_MUTEX_INITIALIZER, .most = BULK_MEMORY};

void bulk_memory(uint64_t bytes)
{
	bulk.most = bytes;
}

uint64_t bulk_held(void)
{
	return bulk.held;
}

uint64_t bulk_filed(void)
{
	return bulk.filed;
}

int bulk_error(const char **directory)
{
	int error = bulk.error;

	*directory = bulk.failed_in;
	bulk.error = 0;
	return error;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void link_block(struct block *b)
{
	b->next = bulk.files;
	b->before = NULL;
	if (b->next)
		b->next->before = b;
	bulk.files = b;
	bulk.filed += b->bytes;
}

static void unlink_block(struct block *b)
{
	*(b->before ? &b->before->next : &bulk.files) = b->next;
	if (b->next)
		b->next->before = b->before;
	bulk.filed -= b->bytes;
}

static bool fail(int error)
{
	bulk.error = error;
	snprintf(bulk.failed_in, sizeof(bulk.failed_in), "%s", temporary_directory());
	return false;
}

/* Room on the disk up to there. */
static bool extend(int fd, size_t from, size_t to)
{
	int error;

	do
		error = posix_fallocate(fd, (off_t)from, (off_t)(to - from));
	while (error == EINTR);
	return !error || fail(error);
}

static struct block *new_file(size_t bytes)
{
	int fd = temporary_file(temporary_directory());
	struct block *b = MAP_FAILED;

	if (fd < 0) {
		fail(errno);
		return NULL;
	}
	if (extend(fd, 0, bytes))
		b = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (b == MAP_FAILED) {
		close(fd);
		return NULL;
	}
	b->bytes = bytes;
	b->fd = fd;
	link_block(b);
	return b;
}

static struct block *larger_file(struct block *b, size_t bytes)
{
	struct block *moved;

	if (!extend(b->fd, b->bytes, bytes))
		return NULL;
	unlink_block(b);
	moved = mremap(b, b->bytes, bytes, MREMAP_MAYMOVE);
	if (moved != MAP_FAILED) {
		b = moved;
		b->bytes = bytes;
	}
	link_block(b);
	return moved == MAP_FAILED ? NULL : b;
}

static void rest(void)
{
	for (struct block *b = bulk.files; b; b = b->next)
		madvise(b, b->bytes, MADV_DONTNEED);
}

void bulk_rest(void)
{
	pthread_mutex_lock(&bulk.lock);
	rest();
	pthread_mutex_unlock(&bulk.lock);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool fits(size_t bytes, size_t had)
{
	return bytes <= bulk.most && bulk.held - had <= bulk.most - bytes;
}

static void free_block(struct block *b)
{
	if (b->fd < 0) {
		bulk.held -= b->bytes;
		free(b);
		return;
	}
	unlink_block(b);
	close(b->fd);
	munmap(b, b->bytes);
}

/* `zero`: all of it; it was none before. */
static struct block *in_heap(struct block *b, size_t bytes, bool zero)
{
	size_t had = b ? b->bytes : 0;

	b = zero ? calloc(1, bytes) : realloc(b, bytes);
	if (!b)
		return NULL;
	bulk.held += bytes - had;
	b->bytes = bytes;
	b->fd = -1;
	return b;
}

/* What was in the heap goes to a file. */
static struct block *to_file(struct block *b, size_t bytes)
{
	struct block *f = new_file(bytes);

	if (f && b) {
		memcpy(f + 1, b + 1, b->bytes - sizeof(*b));
		free_block(b);
	}
	return f;
}

/* `need` bytes at least, `want` in the heap. */
static struct block *grow(struct block *b, size_t need, size_t want, bool zero)
{
	size_t had = b ? b->bytes : 0;

	if (b && b->fd >= 0) {
		size_t more = had / 4 < FILE_STEP ? FILE_STEP : had / 4;

		rest();
		return larger_file(b, need > had + more ? need : had + more);
	}
	if (fits(want, had))
		return in_heap(b, want, zero);
	if (fits(need, had))
		return in_heap(b, need, zero);
	return to_file(b, need < FILE_STEP ? FILE_STEP : need + need / 4);
}

static struct block *block_of(void *items)
{
	return items ? (struct block *)items - 1 : NULL;
}

bool bulk_grow(void *items, size_t *room, size_t need, size_t size, size_t room_max)
{
	size_t most = (SIZE_MAX / 4 - sizeof(struct block)) / size, want = need;
	struct block *b;
	char *data;

	if (need > room_max || need > most)
		return false;
	if (want < 2 * *room)
		want = 2 * *room;
	if (want < 256 / size)
		want = 256 / size;
	if (want > room_max)
		want = room_max;
	memcpy(&data, items, sizeof(data));
	pthread_mutex_lock(&bulk.lock);
	b = grow(block_of(data), need * size + sizeof(*b), want * size + sizeof(*b), false);
	pthread_mutex_unlock(&bulk.lock);
	if (!b)
		return false;
	data = (char *)(b + 1);
	memcpy(items, &data, sizeof(data));
	*room = (b->bytes - sizeof(*b)) / size;
	*room = *room < room_max ? *room : room_max;
	return true;
}

bool bulk_grow_u32(void *items, uint32_t *room, size_t need, size_t size)
{
	size_t wide = *room;

	if (!bulk_grow(items, &wide, need, size, UINT32_MAX))
		return false;
	*room = (uint32_t)wide;
	return true;
}

static void *new_array(size_t count, size_t size, bool zero)
{
	size_t bytes;
	struct block *b;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4)
		return NULL;
	pthread_mutex_lock(&bulk.lock);
	b = grow(NULL, bytes + sizeof(*b), bytes + sizeof(*b), zero);
	pthread_mutex_unlock(&bulk.lock);
	return b ? b + 1 : NULL;
}

void *bulk_array(size_t count, size_t size)
{
	return new_array(count, size, true);
}

void bulk_free(void *items)
{
	if (!items)
		return;
	pthread_mutex_lock(&bulk.lock);
	free_block(block_of(items));
	pthread_mutex_unlock(&bulk.lock);
}

/* ---- maps ------------------------------------------------------------------------------------ */

static bool reserve(struct map *m)
{
	size_t size = m->entries ? (size_t)m->mask + 1 : 4, place = 0;
	const struct map_entry *e;
	struct map bigger = {0};

	if (m->entries && ((size_t)m->count + 1) * 2 <= size)
		return true;
	if (size > UINT32_MAX / 4)
		return false;
	map_init(&bigger, bulk_array(size * 2, sizeof(*bigger.entries)), (uint32_t)size * 2);
	if (!bigger.entries)
		return false;
	while ((e = map_entry(m, &place)))
		map_add(&bigger, e->key, e->value); /* there is room */
	bulk_map_release(m);
	*m = bigger;
	return true;
}

bool bulk_map_set(struct map *m, uint64_t key, uint64_t value)
{
	return reserve(m) && map_set(m, key, value);
}

bool bulk_map_add(struct map *m, uint64_t key, uint64_t value)
{
	return reserve(m) && map_add(m, key, value);
}

void bulk_map_release(struct map *m)
{
	bulk_free(m->entries);
	*m = (struct map){0};
}

/* ---- sorting --------------------------------------------------------------------------------- */

struct run {
	const char *next, *end;
};

struct merge {
	struct run *runs;
	uint32_t count, *heap; /* runs by their next element */
	size_t size;
	int (*compare)(const void *, const void *, void *);
	void *data;
};

static bool comes_before(const struct merge *m, uint32_t a, uint32_t b)
{
	int order = m->compare(m->runs[a].next, m->runs[b].next, m->data);

	return order ? order < 0 : a < b;
}

static void sift_down(struct merge *m, uint32_t at)
{
	for (uint32_t child; (child = 2 * at + 1) < m->count;) {
		uint32_t top = m->heap[at];

		if (child + 1 < m->count && comes_before(m, m->heap[child + 1], m->heap[child]))
			child++;
		if (!comes_before(m, m->heap[child], top))
			return;
		m->heap[at] = m->heap[child];
		m->heap[child] = top;
		at = child;
	}
}

static void merge_into(struct merge *m, char *out)
{
	for (uint32_t i = m->count; i-- > 0;)
		sift_down(m, i);
	for (size_t n = 1; m->count; n++) {
		struct run *r = &m->runs[m->heap[0]];

		memcpy(out, r->next, m->size);
		out += m->size;
		r->next += m->size;
		if (r->next == r->end)
			m->heap[0] = m->heap[--m->count];
		sift_down(m, 0);
		if (n % REST_AFTER == 0)
			bulk_rest();
	}
}

static bool is_sorted(const char *items, size_t count, const struct merge *m)
{
	for (size_t i = 1; i < count; i++)
		if (m->compare(items + (i - 1) * m->size, items + i * m->size, m->data) > 0)
			return false;
	return true;
}

/* Sorts each run and returns how many there are; 0: there is no memory to merge them. */
static uint32_t make_runs(struct merge *m, char *items, size_t count, size_t run)
{
	size_t runs = (count + run - 1) / run;

	m->runs = calloc(runs, sizeof(*m->runs));
	m->heap = calloc(runs, sizeof(*m->heap));
	if (!m->runs || !m->heap || runs > UINT32_MAX / 4)
		return 0;
	for (size_t i = 0; i < runs; i++) {
		size_t n = i + 1 < runs ? run : count - i * run;
		char *at = items + i * run * m->size;

		qsort_r(at, n, m->size, m->compare, m->data);
		m->runs[i] = (struct run){at, at + n * m->size};
		m->heap[i] = (uint32_t)i;
		if ((i + 1) % (REST_AFTER / RUN_ITEMS) == 0)
			bulk_rest();
	}
	return (uint32_t)runs;
}

bool bulk_sort(void *items, size_t count, size_t size,
	       int (*compare)(const void *, const void *, void *), void *data)
{
	struct merge m = {.size = size, .compare = compare, .data = data};
	size_t run = BULK_SORT_MEMORY / size < RUN_ITEMS ? BULK_SORT_MEMORY / size : RUN_ITEMS;
	char *from, *sorted = NULL;

	kymo_assert(run);
	memcpy(&from, items, sizeof(from));
	if (is_sorted(from, count, &m))
		return true;
	if (count <= run) {
		qsort_r(from, count, size, compare, data);
		return true;
	}
	m.count = make_runs(&m, from, count, run);
	if (m.count)
		sorted = new_array(count, size, false);
	if (sorted) {
		merge_into(&m, sorted);
		bulk_free(from);
		memcpy(items, &sorted, sizeof(sorted));
	}
	free(m.runs);
	free(m.heap);
	return sorted != NULL;
}
