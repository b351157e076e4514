/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of the files that the writer of raw traces makes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/file.h"
#include "base/vec.h"
#include "formats/raw/writer.h"

bool raw_out_failed(struct raw_writer *w, const char *what, int error)
{
	if (!w->failed)
		stream_error(w->log, "%s: %s", what, strerror(error));
	w->failed = true;
	return false;
}

/* A file is opened for each block: there may be more processes than a process may have files open. */
bool raw_out_block(struct raw_writer *w, struct raw_out *p, struct raw_block *b,
		   const void *payload, uint32_t bytes)
{
	int fd = open(p->path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	bool whole;

	if (fd < 0)
		return raw_out_failed(w, p->path, errno);
	b->magic = RAW_BLOCK_MAGIC;
	b->raw = b->stored = bytes;
	b->checksum = XXH3_64bits(payload, bytes);
	whole = file_write_all(fd, b, sizeof(*b)) == sizeof(*b) &&
		file_write_all(fd, payload, bytes) == bytes;
	if (!whole)
		raw_out_failed(w, p->path, errno);
	if (close(fd) != 0)
		whole = raw_out_failed(w, p->path, errno);
	return whole;
}

/* ---- definitions ----------------------------------------------------------------------------- */

bool raw_out_flush(struct raw_writer *w, struct raw_out *p)
{
	const struct wire_chunk h = {.magic = WIRE_CHUNK_MAGIC,
				     .version = WIRE_VERSION,
				     .header_size = sizeof(h),
				     .type = WIRE_CHUNK_DEFINITIONS,
				     .seq = p->seq,
				     .committed = p->used};
	struct raw_block b = {.type = RAW_CHUNK,
			      .chunk_type = WIRE_CHUNK_DEFINITIONS,
			      .seq = p->seq,
			      .last_tick = UINT64_MAX};

	if (p->used <= sizeof(h))
		return true;
	p->seq++;
	memcpy(p->definitions, &h, sizeof(h));
	if (!raw_out_block(w, p, &b, p->definitions, p->used))
		return false;
	p->used = sizeof(h);
	return true;
}

bool raw_out_define(struct raw_writer *w, struct raw_out *p, const struct wire_def *d)
{
	size_t n = wire_def_size(d);

	if (w->failed)
		return false;
	if (p->used < sizeof(struct wire_chunk))
		p->used = sizeof(struct wire_chunk);
	if (p->used + n > RAW_WRITE_CHUNK && !raw_out_flush(w, p))
		return false;
	if (!vec_reserve(&p->definitions, &p->room, p->used, (uint32_t)n))
		return raw_out_failed(w, w->directory, ENOMEM);
	wire_def_write(d, p->definitions + p->used);
	p->used += (uint32_t)n;
	return true;
}
