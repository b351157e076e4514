/* SPDX-License-Identifier: Apache-2.0 */
/* See section.h. */
#include "page/section.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"
#include "stream/spool.h"

enum { LEVEL = 6, GZIP = 15 + 16 };

kymo_status_t sections_init(struct sections *s, const char *directory)
{
	*s = (struct sections){.fd = spool_file(directory)};
	if (s->fd < 0)
		return KYMO_ERROR_SYSTEM;
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

kymo_status_t sections_clear(struct sections *s)
{
	s->count = 0;
	s->end = 0;
	for (unsigned i = 0; i < SECTION_KINDS; i++)
		s->bytes[i] = 0;
	return lseek(s->fd, 0, SEEK_SET) < 0 || ftruncate(s->fd, 0) != 0 ? KYMO_ERROR_SYSTEM
									 : KYMO_OK;
}

uint32_t sections_reserve(struct sections *s)
{
	if (!vec_reserve(&s->at, &s->room, s->count, 1))
		return UINT32_MAX;
	s->at[s->count] = (struct section){0};
	return s->count++;
}

size_t sections_try(struct sections *s, const void *data, size_t bytes)
{
	size_t bound = deflateBound(&s->z, bytes);

	if (!vec_reserve(&s->packed, &s->packed_room, 0, bound))
		return 0;
	deflateReset(&s->z);
	s->z.next_in = (z_const Bytef *)(uintptr_t)data;
	s->z.avail_in = (uInt)bytes;
	s->z.next_out = s->packed;
	s->z.avail_out = (uInt)s->packed_room;
	return deflate(&s->z, Z_FINISH) == Z_STREAM_END ? s->packed_room - s->z.avail_out : 0;
}

kymo_status_t sections_put(struct sections *s, uint32_t number, enum section_kind kind,
			   const void *data, size_t bytes)
{
	size_t n = sections_try(s, data, bytes);

	if (!n)
		return KYMO_ERROR_NO_MEMORY;
	if (file_write_all(s->fd, s->packed, n) != n)
		return KYMO_ERROR_SYSTEM;
	s->at[number] = (struct section){s->end, (uint32_t)n, (uint32_t)bytes};
	s->end += n;
	s->bytes[kind] += n;
	return KYMO_OK;
}
