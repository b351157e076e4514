/* SPDX-License-Identifier: Apache-2.0 */
/* See section.h. */
#include "page/section.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary.h"
#include "base/vec.h"

enum {
	LEVEL = 6,
	GZIP = 15 + 16,
	SAMPLE = 32 << 10 /* bytes of a section that are tried */
};

kymo_status_t sections_init(struct sections *s, struct page_temporary where)
{
	*s = (struct sections){.where = where, .level = LEVEL};
	s->fd = temporary_file(where.folder);
	if (s->fd < 0)
		return page_temporary_failed(&where);
	if (deflateInit2(&s->z, LEVEL, Z_DEFLATED, GZIP, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return KYMO_ERROR_NO_MEMORY;
	s->open = true;
	return KYMO_OK;
}

void sections_release(struct sections *s)
{
	if (s->open)
		deflateEnd(&s->z);
	if (s->fd > 0)
		close(s->fd);
	free(s->at);
	free(s->packed);
	*s = (struct sections){.fd = -1};
}

struct section_mark sections_mark(const struct sections *s)
{
	struct section_mark m = {.end = s->end, .count = s->count};

	memcpy(m.bytes, s->bytes, sizeof(m.bytes));
	return m;
}

kymo_status_t sections_go_back(struct sections *s, const struct section_mark *to)
{
	s->count = to->count;
	s->end = to->end;
	memcpy(s->bytes, to->bytes, sizeof(s->bytes));
	if (lseek(s->fd, (off_t)s->end, SEEK_SET) < 0 || ftruncate(s->fd, (off_t)s->end) != 0)
		return page_temporary_failed(&s->where);
	return KYMO_OK;
}

uint32_t sections_reserve(struct sections *s)
{
	if (!vec_reserve(&s->at, &s->room, s->count, 1))
		return UINT32_MAX;
	s->at[s->count] = (struct section){0};
	return s->count++;
}

static size_t pack(struct sections *s, const void *data, size_t bytes, int strategy)
{
	deflateReset(&s->z);
	s->z.next_in = NULL;
	s->z.avail_in = 0;
	s->z.next_out = s->packed;
	s->z.avail_out = (uInt)s->packed_room;
	deflateParams(&s->z, s->level, strategy);
	s->z.next_in = (z_const Bytef *)(uintptr_t)data;
	s->z.avail_in = (uInt)bytes;
	return deflate(&s->z, Z_FINISH) == Z_STREAM_END ? s->packed_room - s->z.avail_out : 0;
}

/* Times that follow no pattern have no strings that repeat: looking for some takes long, and makes them longer. */
static int strategy_for(struct sections *s, const uint8_t *data, size_t bytes)
{
	size_t n = bytes < SAMPLE ? bytes : SAMPLE;
	const uint8_t *from = data + (bytes - n) / 2;

	return pack(s, from, n, Z_RLE) < pack(s, from, n, Z_DEFAULT_STRATEGY) ? Z_RLE
									      : Z_DEFAULT_STRATEGY;
}

size_t sections_try(struct sections *s, const void *data, size_t bytes)
{
	size_t bound = deflateBound(&s->z, bytes) + 64;

	if (!vec_reserve(&s->packed, &s->packed_room, 0, bound))
		return 0;
	return pack(s, data, bytes, strategy_for(s, data, bytes));
}

kymo_status_t sections_put(struct sections *s, uint32_t number, enum section_kind kind,
			   const void *data, size_t bytes)
{
	size_t n = sections_try(s, data, bytes);

	if (!n)
		return KYMO_ERROR_NO_MEMORY;
	if (file_write_all(s->fd, s->packed, n) != n)
		return page_temporary_failed(&s->where);
	s->at[number] = (struct section){s->end, (uint32_t)n, (uint32_t)bytes};
	s->end += n;
	s->bytes[kind] += n;
	return KYMO_OK;
}
