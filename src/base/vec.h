/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing arrays. An array is what it is in C: a pointer, a count and the number of elements there
 * is room for, members of whatever owns it, all zero when empty, released by free().
 *
 *	struct list {
 *		struct item *items;
 *		uint32_t count, room;
 *	};
 *
 *	if (!vec_reserve(&l->items, &l->room, l->count, 1))
 *		return false; // no memory; nothing has changed
 *	l->items[l->count++] = item;
 *
 * `room` is a uint32_t or a size_t. Memory doubles, so that n appended elements cost O(n). Nothing
 * here locks.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes room for `more` elements after the first `count`. False: no memory. */
#define vec_reserve(items, room, count, more)                                                      \
	_Generic(*(room), uint32_t                                                                 \
		 : vec_reserve_u32, size_t                                                         \
		 : vec_reserve_size)((items), (room), (count), (more), sizeof(**(items)))

/* The same; elements that there was no room for before are zero: for tables that an id indexes. */
#define vec_reserve_zero(items, room, count, more)                                                 \
	_Generic(*(room), uint32_t                                                                 \
		 : vec_zero_u32, size_t                                                            \
		 : vec_zero_size)((items), (room), (count), (more), sizeof(**(items)))

/* ---- what the macros call; `items` points to the pointer ---- */

bool vec_grow(void *items, size_t *room, size_t count, size_t more, size_t size, size_t room_max,
	      bool zero);

static inline bool vec_reserve_size(void *items, size_t *room, size_t count, size_t more,
				    size_t size)
{
	if (__builtin_expect(count <= *room && *room - count >= more, 1))
		return true;
	return vec_grow(items, room, count, more, size, SIZE_MAX, false);
}

static inline bool vec_zero_size(void *items, size_t *room, size_t count, size_t more, size_t size)
{
	if (__builtin_expect(count <= *room && *room - count >= more, 1))
		return true;
	return vec_grow(items, room, count, more, size, SIZE_MAX, true);
}

bool vec_grow_u32(void *items, uint32_t *room, size_t count, size_t more, size_t size, bool zero);

static inline bool vec_reserve_u32(void *items, uint32_t *room, size_t count, size_t more,
				   size_t size)
{
	if (__builtin_expect(count <= *room && *room - count >= more, 1))
		return true;
	return vec_grow_u32(items, room, count, more, size, false);
}

static inline bool vec_zero_u32(void *items, uint32_t *room, size_t count, size_t more, size_t size)
{
	if (__builtin_expect(count <= *room && *room - count >= more, 1))
		return true;
	return vec_grow_u32(items, room, count, more, size, true);
}

#endif
