/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that grows with the number of records of a file: what readers note of each, where the file has
 * no order. All of it in a process together takes bulk_memory() bytes of the heap at most; what would be more
 * lies in temporary files that have no name (temporary.h says where), mapped, whose pages the kernel may write out and take back.
 * Disk is reserved before it is used, so that a full one is an error here and no signal later.
 *
 * Arrays are those of vec.h and maps those of map.h, but for who makes room in them and who releases them:
 *
 *	if (!bulk_reserve(&r->items, &r->room, r->count, 1) ||
 *	    !bulk_map_set(&r->places, id, r->count + 1))
 *		return false;                    // no memory, or no room: bulk_error()
 *	...
 *	bulk_free(r->items);
 *	bulk_map_release(&r->places);
 *
 * Growing locks, so that several threads may each have arrays of their own.
 */
#ifndef BASE_BULK_H
#define BASE_BULK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* Of the heap, unless the user says otherwise; and for sorting besides. */
#define BULK_MEMORY      (UINT64_C(256) << 20)
#define BULK_SORT_MEMORY (UINT64_C(16) << 20)

/* From now on so many bytes of the heap at most. */
void bulk_memory(uint64_t bytes);

/* Makes room for `more` elements after the first `count`; `room` is a uint32_t or a size_t. False: there is none. */
#define bulk_reserve(items, room, count, more)                                                     \
	_Generic(*(room), uint32_t                                                                 \
		 : bulk_reserve_u32, size_t                                                        \
		 : bulk_reserve_size)((items), (room), (count), (more), sizeof(**(items)))

/* So many elements, all zero. NULL: there is no room. */
void *bulk_array(size_t count, size_t size);

/* What one of these has returned or set; NULL: nothing. */
void bulk_free(void *items);

/* map_set() and map_add() (base/map.h) of a map whose entries are such memory, from the first on. */
bool bulk_map_set(struct map *m, uint64_t key, uint64_t value);
bool bulk_map_add(struct map *m, uint64_t key, uint64_t value);
void bulk_map_release(struct map *m);

/*
 * Sorts the elements of the array that `items` points to (bulk_array() or bulk_reserve(); it may become another one, with
 * room for `count`): runs in memory, which are merged by a heap. Of equal ones no order is promised: compare where they
 * came. False: there is no room; they are all there, in some order.
 */
bool bulk_sort(void *items, size_t count, size_t size,
	       int (*compare)(const void *, const void *, void *), void *data);

/* Pages of the files that are in memory are the kernel's again; to be called now and then. */
void bulk_rest(void);

/* Why there was no room: errno of the temporary file, whose folder `*directory` is; 0: there was no memory. Forgets it. */
int bulk_error(const char **directory);

/* Heap in use, and bytes in files. */
uint64_t bulk_held(void);
uint64_t bulk_filed(void);

/* ---- what the macro calls; `items` points to the pointer ---- */

bool bulk_grow(void *items, size_t *room, size_t need, size_t size, size_t room_max);
bool bulk_grow_u32(void *items, uint32_t *room, size_t need, size_t size);

static inline bool bulk_reserve_size(void *items, size_t *room, size_t count, size_t more,
				     size_t size)
{
	if (__builtin_expect(count <= *room && *room - count >= more, 1))
		return true;
	return more <= SIZE_MAX - count && bulk_grow(items, room, count + more, size, SIZE_MAX);
}

static inline bool bulk_reserve_u32(void *items, uint32_t *room, size_t count, size_t more,
				    size_t size)
{
	if (__builtin_expect(count <= *room && *room - count >= more, 1))
		return true;
	return more <= SIZE_MAX - count && bulk_grow_u32(items, room, count + more, size);
}

#endif
