/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for libotf2's buffers: pieces of one unlinked temporary file, mapped. What has not been
 * touched for a while is the page cache's to write out, so that memory stays bounded however long
 * the trace is and however many locations it has. Room in the file is reserved before it is used:
 * a full file system is an error, not a signal.
 */
#ifndef FORMATS_OTF2_CHUNKS_H
#define FORMATS_OTF2_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHUNK_BYTES (256u << 10) /* the least that libotf2 takes */

struct chunk { /* of a buffer, in the list of its chunks */
	struct chunk *next;
	uint8_t *data;
	uint64_t offset;
};

struct chunks {
	int fd;
	uint8_t **slabs;
	uint32_t slab_count, slab_room;
	uint32_t used;      /* chunks of the last slab */
	struct chunk *idle; /* to be handed out again */
	uint32_t idle_count;
	uint32_t fresh; /* chunks handed out since memory was last given back */
	int error;      /* errno of the first failure */
};

bool chunks_init(struct chunks *c, const char *directory);
void chunks_release(struct chunks *c);

/* One more chunk for the list; NULL: there is no room. */
void *chunks_get(struct chunks *c, struct chunk **list);

/* Gives all of the list back. */
void chunks_put(struct chunks *c, struct chunk **list);

#endif
