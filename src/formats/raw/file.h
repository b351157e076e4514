/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One raw file, mapped: its header, the index of its blocks, and their payloads. Damage is found
 * here: a block header that makes no sense is skipped to the next one that does, a payload whose
 * checksum is wrong is refused, a last block that is cut is given as far as it goes.
 */
#ifndef FORMATS_RAW_FILE_H
#define FORMATS_RAW_FILE_H

#include "formats/raw/mapping.h"
#include "stream/stream.h"
#include "wire/raw.h"

struct raw_file {
	const char *path; /* borrowed */
	struct raw_mapping *mapping;
	const uint8_t *data;
	size_t size;
	uint64_t plain_size; /* if nothing of it were compressed */
	struct raw_header header;
	uint64_t *blocks; /* offsets of block headers, ascending */
	uint32_t block_count, block_room;
	uint64_t damaged; /* blocks, or stretches of the file, that could not be read */
	struct stream_log *log;
};

/* Where a payload is decompressed to, or a cut one repaired; reused from block to block. */
struct raw_buffer {
	uint8_t *data;
	size_t size;
};

/* Opens and indexes; explains failure in `log`. */
kymo_status_t raw_file_open(struct raw_file *f, const char *path, struct stream_log *log);
void raw_file_close(struct raw_file *f);

/* Copies the header of block `i` (below block_count). */
void raw_file_block(const struct raw_file *f, uint32_t i, struct raw_block *out);

/*
 * The payload of block `i`, checked: in the mapping, or in `buffer`. False: damaged or no memory;
 * said in the log and counted when `count` (so that a second visit does not count again).
 */
bool raw_file_payload(struct raw_file *f, uint32_t i, struct raw_buffer *buffer, bool count,
		      const uint8_t **data, size_t *bytes);

/*
 * Lets go of the memory that the blocks from `first` up to `end`, which is not among them, are mapped to: they are read
 * again from the file when something looks at them.
 */
void raw_file_forget(struct raw_file *f, uint32_t first, uint32_t end);

/*
 * Of a block whose payload, *bytes at *data, was checked: what was compressed into `buffer`, the rest is left where it
 * is. What is wrong, or NULL; fewer bytes than b->raw may come out of what is damaged.
 */
const char *raw_block_unpack(const struct raw_block *b, struct raw_buffer *buffer,
			     const uint8_t **data, size_t *bytes);

void raw_buffer_release(struct raw_buffer *b);

#endif
