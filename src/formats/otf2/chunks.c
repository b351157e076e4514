/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for libotf2's buffers; see chunks.h. */
#include "formats/otf2/chunks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/temporary.h"
#include "base/vec.h"

#define SLAB_CHUNKS 32u
#define SLAB_BYTES  (SLAB_CHUNKS * (size_t)CHUNK_BYTES)
#define IDLE_MAX    32u
#define FRESH_MAX   192u /* chunks: 48 MiB */

bool chunks_init(struct chunks *c, const char *directory)
{
	memset(c, 0, sizeof(*c));
	c->used = SLAB_CHUNKS;
	c->fd = temporary_file(directory);
	return c->fd >= 0;
}

void chunks_release(struct chunks *c)
{
	while (c->idle) {
		struct chunk *chunk = c->idle;

		c->idle = chunk->next;
		free(chunk);
	}
	for (uint32_t i = 0; i < c->slab_count; i++)
		munmap(c->slabs[i], SLAB_BYTES);
	free(c->slabs);
	if (c->fd >= 0)
		close(c->fd);
	memset(c, 0, sizeof(*c));
	c->fd = -1;
}

static bool add_slab(struct chunks *c)
{
	off_t at = (off_t)(c->slab_count * SLAB_BYTES);
	void *slab;

	if (!vec_reserve(&c->slabs, &c->slab_room, c->slab_count, 1)) {
		c->error = ENOMEM;
		return false;
	}
	c->error = posix_fallocate(c->fd, at, (off_t)SLAB_BYTES);
	if (c->error)
		return false;
	slab = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, at);
	if (slab == MAP_FAILED) {
		c->error = errno;
		return false;
	}
	c->slabs[c->slab_count++] = slab;
	c->used = 0;
	return true;
}

/* What was written stays in the file; it only leaves this process's memory. */
static void give_memory_back(struct chunks *c)
{
	for (uint32_t i = 0; i < c->slab_count; i++)
		madvise(c->slabs[i], SLAB_BYTES, MADV_DONTNEED);
	c->fresh = 0;
}

void *chunks_get(struct chunks *c, struct chunk **list)
{
	struct chunk *chunk = c->idle;

	if (chunk) {
		c->idle = chunk->next;
		c->idle_count--;
		chunk->next = *list;
		*list = chunk;
		return chunk->data;
	}
	chunk = malloc(sizeof(*chunk));
	if (!chunk || (c->used == SLAB_CHUNKS && !add_slab(c))) {
		free(chunk);
		return NULL;
	}
	if (++c->fresh >= FRESH_MAX)
		give_memory_back(c);
	chunk->offset =
		(c->slab_count - 1) * (uint64_t)SLAB_BYTES + c->used * (uint64_t)CHUNK_BYTES;
	chunk->data = c->slabs[c->slab_count - 1] + c->used * (size_t)CHUNK_BYTES;
	chunk->next = *list;
	c->used++;
	*list = chunk;
	return chunk->data;
}

void chunks_put(struct chunks *c, struct chunk **list)
{
	while (*list) {
		struct chunk *chunk = *list;

		*list = chunk->next;
		if (c->idle_count < IDLE_MAX) {
			chunk->next = c->idle;
			c->idle = chunk;
			c->idle_count++;
			continue;
		}
		madvise(chunk->data, CHUNK_BYTES, MADV_DONTNEED);
		fallocate(c->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)chunk->offset,
			  CHUNK_BYTES);
		free(chunk);
	}
}
