/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing arrays, as those of base/vec.h, that may become larger than there is memory: a large one lies in a file
 * without a name, of which the system keeps in memory what it has room for. Where there is no folder for it, or no room
 * there, it lies in memory as any other. Nothing here locks.
 */
#ifndef STREAM_LARGE_H
#define STREAM_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LARGE_BYTES = 32 << 20 /* from which on an array lies in a file */ };

/*
 * Where those lie that this thread makes from now on: a folder for temporary files, borrowed until there is another. NULL,
 * as at first: in memory. Returns the one before.
 */
const char *large_place(const char *folder);

/* So many bytes, all zero. NULL: no memory. To be released by large_free(). */
void *large_new(size_t bytes);

/* Makes room for one more behind `count`; *items is NULL, or of these functions. False: no memory, and nothing has changed. */
#define large_reserve(items, room, count)                                                          \
	(__builtin_expect((count) < *(room), 1) || large_grow((items), (room), sizeof(**(items))))

/* What the macro calls; `items` points to the pointer. */
bool large_grow(void *items, uint32_t *room, size_t size);

void large_free(void *items);

#endif
