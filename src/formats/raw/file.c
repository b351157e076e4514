/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping, indexing and checking of a raw file; see file.h. */
#include "formats/raw/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/map.h"
#include "base/vec.h"
#include "wire/columns.h"

#include <xxhash.h>
#ifdef KYMO_HAVE_ZSTD
#include <zstd.h>
#endif

#define PAYLOAD_MAX (64u << 20) /* more than any writer makes: a larger claim is damage */

/* ---- open ---------------------------------------------------------------------------------- */

static kymo_status_t check_header(struct raw_file *f)
{
	const struct raw_header *h = &f->header;

	if (f->size < sizeof(*h)) {
		stream_error(f->log,
			     "%s: not a Kymo raw file, or cut: %zu bytes are less than its header",
			     f->path, f->size);
		return KYMO_ERROR_CORRUPT;
	}
	memcpy(&f->header, f->data, sizeof(f->header));
	if (h->magic != RAW_MAGIC && memcmp(f->data, "SQLite format 3", 16) == 0) {
		stream_error(f->log,
			     "%s: a store, which kymo query, summary and kernels read: give the "
			     "trace that it was made of",
			     f->path);
		return KYMO_ERROR_CORRUPT;
	}
	if (h->magic != RAW_MAGIC) {
		stream_error(f->log, "%s: not a Kymo raw file (it does not begin with its magic)",
			     f->path);
		return KYMO_ERROR_CORRUPT;
	}
	if (h->version < RAW_VERSION_MIN || h->version > RAW_VERSION ||
	    h->wire_version != WIRE_VERSION) {
		stream_error(
			f->log,
			"%s: raw version %u, wire version %u; this Kymo reads %u to %u and %u: "
			"use the Kymo that recorded it",
			f->path, h->version, h->wire_version, RAW_VERSION_MIN, RAW_VERSION,
			WIRE_VERSION);
		return KYMO_ERROR_INCOMPATIBLE;
	}
	if (h->header_size < sizeof(*h) || h->header_size > f->size) {
		stream_error(f->log, "%s: damaged in its header (offset 12)", f->path);
		return KYMO_ERROR_CORRUPT;
	}
	return KYMO_OK;
}

/* ---- index --------------------------------------------------------------------------------- */

static bool plausible(const struct raw_file *f, uint64_t offset, struct raw_block *b)
{
	if (f->size - offset < sizeof(*b))
		return false;
	memcpy(b, f->data + offset, sizeof(*b));
	return b->magic == RAW_BLOCK_MAGIC && b->type >= RAW_CHUNK && b->stored <= PAYLOAD_MAX &&
	       b->raw <= PAYLOAD_MAX;
}

static bool fits(const struct raw_file *f, uint64_t offset, const struct raw_block *b)
{
	return b->stored <= f->size - offset - sizeof(*b);
}

static bool intact(const struct raw_file *f, uint64_t offset, const struct raw_block *b)
{
	return fits(f, offset, b) &&
	       XXH3_64bits(f->data + offset + sizeof(*b), b->stored) == b->checksum;
}

/* Offset of the next block from `offset` on whose checksum holds; the file's size if none. */
static uint64_t resync(const struct raw_file *f, uint64_t offset)
{
	const uint32_t magic = RAW_BLOCK_MAGIC;
	struct raw_block b;

	while (offset < f->size) {
		const uint8_t *hit =
			memmem(f->data + offset, f->size - offset, &magic, sizeof(magic));

		if (!hit)
			break;
		offset = (uint64_t)(hit - f->data);
		if (plausible(f, offset, &b) && intact(f, offset, &b))
			return offset;
		offset++;
	}
	return f->size;
}

/* ---- chunks that are there as they were at a flush ---- */

static bool is_chunk(const struct raw_block *b)
{
	return b->type == RAW_CHUNK || b->type == RAW_PARTIAL;
}

/* Of blocks of one chunk the last is kept. Those of a thread are in order of their sequence. */
static kymo_status_t drop_superseded(struct raw_file *f)
{
	struct map later = {0}; /* thread and type: number of its next chunk, plus one */
	uint32_t kept = f->block_count;
	bool ok = true;

	for (uint32_t i = f->block_count; i-- > 0 && ok;) {
		struct raw_block b;
		uint64_t key;
		uint32_t number;

		memcpy(&b, f->data + f->blocks[i], sizeof(b));
		key = (uint64_t)b.thread << 32 | b.chunk_type;
		number = (uint32_t)b.seq + 1;
		if (b.type == RAW_PARTIAL && map_get(&later, key) == number)
			continue;
		if (is_chunk(&b) && number)
			ok = map_set(&later, key, number);
		f->blocks[--kept] = f->blocks[i];
	}
	map_release(&later);
	f->block_count -= kept;
	memmove(f->blocks, f->blocks + kept, f->block_count * sizeof(*f->blocks));
	return ok ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static bool add_block(struct raw_file *f, uint64_t offset)
{
	if (!vec_reserve(&f->blocks, &f->block_room, f->block_count, 1))
		return false;
	f->blocks[f->block_count++] = offset;
	return true;
}

/* What cannot be a block is skipped. Returns where reading goes on. */
static uint64_t skip_damage(struct raw_file *f, uint64_t offset, bool *cut)
{
	struct raw_block b;
	uint64_t next = resync(f, offset + 1);

	*cut = false;
	if (next == f->size && plausible(f, offset, &b)) {
		*cut = true; /* the last block, as far as it goes */
		return next;
	}
	f->damaged++;
	if (next == f->size)
		stream_warn(f->log, "%s: damaged from offset %" PRIu64 " to its end (%zu bytes)",
			    f->path, offset, f->size - (size_t)offset);
	else
		stream_warn(f->log, "%s: damaged at offset %" PRIu64 ": %" PRIu64 " bytes skipped",
			    f->path, offset, next - offset);
	return next;
}

/* A header is believed if another follows where it says, or the file ends there, or it checks. */
static bool good_header(const struct raw_file *f, uint64_t offset, struct raw_block *b)
{
	struct raw_block after;
	uint64_t next;

	if (!plausible(f, offset, b) || !fits(f, offset, b))
		return false;
	next = offset + sizeof(*b) + b->stored;
	return next == f->size || plausible(f, next, &after) || intact(f, offset, b);
}

static kymo_status_t index_blocks(struct raw_file *f)
{
	uint64_t offset = f->header.header_size;
	bool partial = false;
	struct raw_block b;

	f->plain_size = f->size;
	while (offset < f->size) {
		bool cut = false;
		uint64_t at = offset;
		bool good = good_header(f, offset, &b);

		if (good)
			offset += sizeof(b) + b.stored;
		else
			offset = skip_damage(f, offset, &cut);
		if ((good || cut) && !add_block(f, at))
			return KYMO_ERROR_NO_MEMORY;
		if (good && (b.flags & RAW_ZSTD))
			f->plain_size += (uint64_t)b.raw - b.stored;
		partial |= (good || cut) && b.type == RAW_PARTIAL;
	}
	return partial ? drop_superseded(f) : KYMO_OK;
}

kymo_status_t raw_file_open(struct raw_file *f, const char *path, struct stream_log *log)
{
	kymo_status_t status;

	memset(f, 0, sizeof(*f));
	f->path = path;
	f->log = log;
	if (!raw_map(path, &f->mapping, &f->data, &f->size)) {
		stream_error(log, "%s: cannot be read: %s", path,
			     errno == EINVAL ? "no regular file" : strerror(errno));
		return KYMO_ERROR_SYSTEM;
	}
	status = check_header(f);
	if (status == KYMO_OK)
		status = index_blocks(f);
	if (status == KYMO_ERROR_NO_MEMORY)
		stream_error(log, "%s: not enough memory for its index", path);
	if (status != KYMO_OK)
		raw_file_close(f);
	return status;
}

void raw_file_close(struct raw_file *f)
{
	raw_unmap(f->mapping);
	free(f->blocks);
	f->mapping = NULL;
	f->data = NULL;
	f->blocks = NULL;
	f->block_count = 0;
}

/* ---- payloads ------------------------------------------------------------------------------ */

void raw_file_block(const struct raw_file *f, uint32_t i, struct raw_block *out)
{
	memcpy(out, f->data + f->blocks[i], sizeof(*out));
	if (out->type == RAW_PARTIAL)
		out->type = RAW_CHUNK; /* all that there is of it */
}

void raw_file_forget(struct raw_file *f, uint32_t first, uint32_t end)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t from = (f->blocks[first] + page - 1) / page * page,
	       to = f->blocks[end] / page * page;

	if (to > from)
		madvise((void *)(uintptr_t)(f->data + from), to - from, MADV_DONTNEED);
}

void raw_buffer_release(struct raw_buffer *b)
{
	free(b->data);
	*b = (struct raw_buffer){0};
}

/* Decompresses what there is of a frame; returns the bytes that came out. */
static size_t inflate_frame(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size)
{
#ifdef KYMO_HAVE_ZSTD
	static _Thread_local ZSTD_DCtx *context;
	ZSTD_inBuffer source = {in, in_size, 0};
	ZSTD_outBuffer target = {out, out_size, 0};

	if (!context)
		context = ZSTD_createDCtx();
	if (!context)
		return 0;
	ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
	while (source.pos < source.size && target.pos < target.size) {
		size_t before = source.pos + target.pos;
		size_t left = ZSTD_decompressStream(context, &target, &source);

		if (ZSTD_isError(left) || left == 0 || source.pos + target.pos == before)
			break;
	}
	return target.pos;
#else
	return 0;
#endif
}

static bool refuse(struct raw_file *f, uint32_t i, bool count, const char *why)
{
	struct raw_block b;

	if (!count)
		return false;
	raw_file_block(f, i, &b);
	f->damaged++;
	stream_warn(f->log, "%s: block at offset %" PRIu64 " skipped (%u bytes, thread %u): %s",
		    f->path, f->blocks[i], b.stored, b.thread,
		    raw_mapping_cut(f->mapping) ? "the file was cut while it was read" : why);
	return false;
}

/* A cut chunk says itself how much was committed: say less, so that the whole records are read. */
static bool repair(struct raw_buffer *buffer, const uint8_t **data, size_t *bytes)
{
	struct wire_chunk h;

	if (*bytes < sizeof(h))
		return false;
	if (*data != buffer->data) {
		if (!vec_reserve(&buffer->data, &buffer->size, 0, *bytes))
			return false;
		memcpy(buffer->data, *data, *bytes);
		*data = buffer->data;
	}
	memcpy(&h, buffer->data, sizeof(h));
	if (h.committed > *bytes)
		h.committed = (uint32_t)*bytes;
	memcpy(buffer->data, &h, sizeof(h));
	return true;
}

/* A frame whose chunk is arranged; *bytes come out: all, or none. False: no memory. */
static bool inflate_columns(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size,
			    size_t *bytes)
{
	static _Thread_local struct {
		struct wire_columns columns;
		uint8_t *data;
		size_t room;
	} work;
	size_t n = wire_columns_bound(out_size);

	if (!vec_reserve(&work.data, &work.room, 0, n))
		return false;
	n = inflate_frame(in, in_size, work.data, n);
	*bytes = wire_columns_unpack(&work.columns, work.data, n, out, out_size) ? out_size : 0;
	return true;
}

const char *raw_block_unpack(const struct raw_block *b, struct raw_buffer *buffer,
			     const uint8_t **data, size_t *bytes)
{
	if (!(b->flags & RAW_ZSTD))
		return NULL;
#ifndef KYMO_HAVE_ZSTD
	return "compressed with zstd, and this Kymo was built without it";
#endif
	if (!vec_reserve(&buffer->data, &buffer->size, 0, b->raw ? b->raw : 1))
		return "not enough memory";
	if (!(b->flags & RAW_COLUMNS))
		*bytes = inflate_frame(*data, *bytes, buffer->data, b->raw);
	else if (!inflate_columns(*data, *bytes, buffer->data, b->raw, bytes))
		return "not enough memory";
	*data = buffer->data;
	return NULL;
}

static bool unpack(struct raw_file *f, uint32_t i, const struct raw_block *b,
		   struct raw_buffer *buffer, bool count, const uint8_t **data, size_t *bytes)
{
	const char *why = raw_block_unpack(b, buffer, data, bytes);

	return !why || refuse(f, i, count, why);
}

static bool cut_payload(struct raw_file *f, uint32_t i, const struct raw_block *b,
			struct raw_buffer *buffer, bool count, const uint8_t **data, size_t *bytes)
{
	*bytes = f->size - (size_t)(*data - f->data);
	if (count) {
		f->damaged++;
		stream_warn(f->log,
			    "%s: the last block (offset %" PRIu64
			    ") is cut: %zu of %u bytes are there; the recording was cut off or "
			    "still runs",
			    f->path, f->blocks[i], *bytes, b->stored);
	}
	if (!unpack(f, i, b, buffer, false, data, bytes))
		return false;
	return b->type == RAW_CHUNK && repair(buffer, data, bytes);
}

bool raw_file_payload(struct raw_file *f, uint32_t i, struct raw_buffer *buffer, bool count,
		      const uint8_t **data, size_t *bytes)
{
	struct raw_block b;

	raw_file_block(f, i, &b);
	*data = f->data + f->blocks[i] + sizeof(b);
	*bytes = b.stored;
	if (!fits(f, f->blocks[i], &b))
		return cut_payload(f, i, &b, buffer, count, data, bytes);
	if (!intact(f, f->blocks[i], &b))
		return refuse(f, i, count, "its checksum is wrong");
	if (!unpack(f, i, &b, buffer, count, data, bytes))
		return false;
	if ((b.flags & RAW_ZSTD) && *bytes != b.raw)
		return refuse(f, i, count, "its compressed data are damaged");
	return true;
}
