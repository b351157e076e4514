/* SPDX-License-Identifier: Apache-2.0 */
/* See large.h. In front of each array is what it lies in. */
#include "stream/large.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/temporary.h"

enum { HEAD = 64, FIRST = 16 /* elements */ };

struct place {
	size_t bytes; /* with this */
	int fd;       /* of its file; below 0: it lies in memory */
	bool mapped;
};
_Static_assert(sizeof(struct place) <= HEAD, "head");

static _Thread_local const char *folder;

const char *large_place(const char *other)
{
	const char *before = folder;

	folder = other;
	return before;
}

static struct place *place_of(void *items)
{
	return (struct place *)(void *)((char *)items - HEAD);
}

static void *items_of(struct place *p)
{
	return (char *)p + HEAD;
}

/* The file has room for all of it before it is written to: a full disk is told here, not by a signal later. */
static struct place *map_file(size_t bytes)
{
	int fd = folder ? temporary_file(folder) : -1;
	void *at = MAP_FAILED;

	if (fd >= 0 && fallocate(fd, 0, 0, (off_t)bytes) == 0)
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	*(struct place *)at = (struct place){bytes, fd, true};
	return at;
}

static struct place *map_memory(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	*(struct place *)at = (struct place){bytes, -1, true};
	return at;
}

static struct place *make(size_t bytes)
{
	struct place *p;

	if (bytes >= LARGE_BYTES) {
		p = map_file(bytes);
		return p ? p : map_memory(bytes);
	}
	p = calloc(1, bytes);
	if (p)
		*p = (struct place){bytes, -1, false};
	return p;
}

void *large_new(size_t bytes)
{
	struct place *p = bytes > SIZE_MAX - HEAD ? NULL : make(bytes + HEAD);

	return p ? items_of(p) : NULL;
}

/* NULL: it has to be made anew elsewhere. */
static struct place *stretch(struct place *p, size_t bytes)
{
	void *at;

	if (!p->mapped || (p->fd >= 0 && fallocate(p->fd, 0, 0, (off_t)bytes) != 0))
		return NULL;
	at = mremap(p, p->bytes, bytes, MREMAP_MAYMOVE);
	if (at == MAP_FAILED)
		return NULL;
	p = at;
	p->bytes = bytes;
	return p;
}

/* NULL: no memory, and the old ones are as they were. */
static void *resized(void *items, size_t bytes)
{
	struct place *old = items ? place_of(items) : NULL;
	struct place *p = old ? stretch(old, bytes + HEAD) : NULL;
	void *made = p ? items_of(p) : large_new(bytes);

	if (!p && made && old) {
		memcpy(made, items, old->bytes - HEAD);
		large_free(items);
	}
	return made;
}

bool large_grow(void *items, uint32_t *room, size_t size)
{
	uint32_t more = !*room ? FIRST : *room > UINT32_MAX / 2 ? UINT32_MAX : 2 * *room;
	void *data;

	memcpy(&data, items, sizeof(data));
	if (more == *room || more > (SIZE_MAX - HEAD) / size)
		return false;
	data = resized(data, more * size);
	if (!data)
		return false;
	memcpy(items, &data, sizeof(data));
	*room = more;
	return true;
}

void large_free(void *items)
{
	struct place *p = items ? place_of(items) : NULL;
	int fd = p ? p->fd : -1;

	if (p && p->mapped)
		munmap(p, p->bytes);
	else
		free(p);
	if (fd >= 0)
		close(fd);
}
