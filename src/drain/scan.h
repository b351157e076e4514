/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a raw file already: read by a drain that goes on with a file that another one has
 * begun, so that nothing is written twice and nothing is left out.
 */
#ifndef DRAIN_SCAN_H
#define DRAIN_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/raw.h"

/* A chunk in memory that may be in the file. */
struct scan_chunk {
	uint32_t thread, type; /* enum wire_chunk_type */
	uint64_t seq;
	uint32_t chunk; /* its number */
	uint32_t header_size;
	uint64_t copied; /* of definitions: bytes behind the header that are in the file */
	bool found;      /* a whole one is there */
};

struct scan {
	struct scan_chunk *chunks;
	unsigned count;
	uint64_t saved;      /* bytes, by compression */
	uint64_t bytes;      /* the file up to its end, or to what is not whole */
	struct raw_end told; /* what the last RAW_STATE said */
	bool open_told;      /* there is a RAW_OPEN_CALLS */
};

/* Orders `chunks` and reads the file. False: it is none, or cannot be read; errno. */
bool scan_file(int fd, struct scan *s);

#endif
