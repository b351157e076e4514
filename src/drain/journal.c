/* SPDX-License-Identifier: Apache-2.0 */
/* See journal.h. */
#include "drain/journal.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/clock.h"

/* Addresses, which become memory as entries come: a process takes some 600 bytes. */
static const uint64_t rooms[] = {256u << 20, 16u << 20, 1u << 20};

/* Where addresses are rationed (ulimit -v) most are for what programs share. */
static bool may_have(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
	       bytes <= limit.rlim_cur / 16;
}

struct journal *journal_new(void)
{
	const size_t count = sizeof(rooms) / sizeof(rooms[0]);

	for (size_t i = 0; i < count; i++) {
		struct journal *j;

		if (i + 1 < count && !may_have(rooms[i]))
			continue;
		j = mmap(NULL, sizeof(*j) + rooms[i], PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (j == MAP_FAILED)
			continue;
		j->room = rooms[i];
		j->began = clock_ns(CLOCK_MONOTONIC);
		j->held[0] = j->held[1] = -1;
		return j;
	}
	return NULL;
}

void journal_free(struct journal *j)
{
	if (j)
		munmap(j, sizeof(*j) + j->room);
}

static uint64_t whole(uint64_t bytes)
{
	return (sizeof(struct journal_entry) + bytes + 7) & ~7ull;
}

void *journal_add(struct journal *j, enum journal_type type, const void *data, size_t bytes,
		  const char *text)
{
	size_t length = text ? strlen(text) + 1 : 0;
	struct journal_entry *e;
	uint64_t used;

	if (!j || atomic_load(&j->full))
		return NULL;
	used = atomic_load(&j->used);
	if (whole(bytes + length) > j->room - used) {
		atomic_store(&j->full, 1);
		return NULL;
	}
	e = (struct journal_entry *)(j->entries + used);
	*e = (struct journal_entry){(uint32_t)(bytes + length), type};
	if (bytes)
		memcpy(e + 1, data, bytes);
	if (length)
		memcpy((uint8_t *)(e + 1) + bytes, text, length);
	atomic_store(&j->used, used + whole(bytes + length));
	return e + 1;
}

/* A drain that ran wild may have written anywhere: nothing behind what makes no sense is believed.
 */
struct journal_entry *journal_next(struct journal *j, const struct journal_entry *at)
{
	uint64_t used = atomic_load(&j->used), offset = 0;
	struct journal_entry *e;

	if (used > j->room)
		used = j->room;
	if (at)
		offset = (uint64_t)((const uint8_t *)at - j->entries) + whole(at->bytes);
	if (offset > used || used - offset < sizeof(*e))
		return NULL;
	e = (struct journal_entry *)(j->entries + offset);
	if (e->type < JOURNAL_ADOPTED || e->type > JOURNAL_PHASE || whole(e->bytes) > used - offset)
		return NULL;
	return e;
}

void *journal_data(struct journal_entry *e, size_t bytes)
{
	return e->bytes >= bytes ? e + 1 : NULL;
}

const char *journal_text(struct journal_entry *e, size_t bytes)
{
	const char *text = (const char *)(e + 1) + bytes;

	return e->bytes > bytes && memchr(text, '\0', e->bytes - bytes) ? text : "";
}
