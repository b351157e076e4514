/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What annotations opened and will close: from the program's own identification of it (a handle, an
 * id, an address, a thread) to a number of Kymo's. Equal keys stack up, the latest is found first.
 */
#ifndef CORE_ANNOTATION_MAP_H
#define CORE_ANNOTATION_MAP_H

#include <stdbool.h>
#include <stdint.h>

#define ANNOTATION_OPEN_MAX 65536u /* entries of all maps; what is more is not kept */

struct annotation_key {
	uint64_t word[4]; /* word[0] also tells one kind of keys from another */
};

/* False: there are too many, or no memory. */
bool annotation_open(const struct annotation_key *key, uint64_t value);
/* Removes the latest of `key`. False: there is none. */
bool annotation_close(const struct annotation_key *key, uint64_t *value);

/* Memory that the program's own allocator says it gave out or got back. */
void annotation_allocated(const void *address, uint64_t bytes);
void annotation_freed(const void *address);

/*
 * A wait of the calling thread for `object`: a range that is no scope, for waits overlap ranges in
 * any way. At most 16 at once for a thread.
 */
struct kymo_marker;
void annotation_wait_start(const void *object, const struct kymo_marker *m);
void annotation_wait_stop(const void *object);

#endif
