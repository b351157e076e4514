/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays; see vec.h. */
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

/* Bytes of the first allocation, for elements smaller than a quarter of it. */
#define FIRST 256u

/* The next size after `room` that is at least `need`; 0: more than `room_max`. */
static size_t next_room(size_t room, size_t need, size_t size, size_t room_max)
{
	size_t first = size < FIRST / 4 ? FIRST / size : 4;
	size_t next = room > room_max / 2 ? room_max : 2 * room;

	if (need > room_max)
		return 0;
	next = next < first ? first : next;
	next = next > room_max ? room_max : next;
	return next < need ? need : next;
}

bool vec_grow(void *items, size_t *room, size_t count, size_t more, size_t size, size_t room_max,
	      bool zero)
{
	size_t need, next, bytes;
	char *data;

	if (__builtin_add_overflow(count, more, &need))
		return false;
	next = next_room(*room, need, size, room_max);
	if (!next || __builtin_mul_overflow(next, size, &bytes))
		return false;
	memcpy(&data, items, sizeof(data));
	kymo_assert(data || *room == 0); /* who takes the memory away sets `room`, too */
	data = realloc(data, bytes);
	if (!data)
		return false;
	if (zero)
		memset(data + *room * size, 0, (next - *room) * size);
	memcpy(items, &data, sizeof(data));
	*room = next;
	return true;
}

bool vec_grow_u32(void *items, uint32_t *room, size_t count, size_t more, size_t size, bool zero)
{
	size_t wide = *room;

	if (!vec_grow(items, &wide, count, more, size, UINT32_MAX, zero))
		return false;
	*room = (uint32_t)wide;
	return true;
}
