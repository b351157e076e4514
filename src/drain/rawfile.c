/* SPDX-License-Identifier: Apache-2.0 */
/* Writing raw files; see rawfile.h. */
#include "drain/rawfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/file.h"
#include "wire/defs.h"
#include "wire/wire.h"

enum { GATHER = 1 << 20 };

/* Host names may hold anything; file names may not. */
static void clean_name(const char *host, char *out, size_t size)
{
	size_t i;

	for (i = 0; host[i] && i + 1 < size && i < 48; i++)
		out[i] = (host[i] == '/' || (unsigned char)host[i] <= ' ') ? '_' : host[i];
	out[i] = '\0';
}

bool rawfile_create_as(struct rawfile *f, const char *trace, const char *what,
		       const struct raw_header *h)
{
	char host[64];

	memset(f, 0, sizeof(*f));
	clean_name((const char *)h->hostname, host, sizeof(host));
	for (unsigned n = 0; n < 100000; n++) {
		if (snprintf(f->path, sizeof(f->path), "%s/raw/%s-%s-%u.kyr", trace, host, what,
			     n) >= (int)sizeof(f->path)) {
			errno = ENAMETOOLONG;
			return false;
		}
		f->fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
		if (f->fd >= 0 || errno != EEXIST)
			break;
	}
	if (f->fd < 0)
		return false;
	f->bytes = file_write_all(f->fd, h, sizeof(*h));
	if (f->bytes == sizeof(*h))
		return true;
	f->failed = errno ? errno : ENOSPC;
	close(f->fd);
	unlink(f->path);
	errno = f->failed;
	return false;
}

bool rawfile_create(struct rawfile *f, const char *trace, const struct raw_header *h)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", h->pid);
	return rawfile_create_as(f, trace, pid, h);
}

uint8_t *rawfile_reserve(struct rawfile *f, size_t bytes)
{
	size_t need = sizeof(struct raw_block) + bytes;
	uint8_t *p;

	if (f->pending_bytes && f->pending_bytes + need > GATHER)
		rawfile_flush(f);
	if (f->pending_bytes + need > f->pending_room) {
		size_t room = f->pending_bytes + need < 65536 ? 65536 : GATHER;

		if (room < f->pending_bytes + need)
			room = f->pending_bytes + need;
		p = realloc(f->pending, room);
		if (!p)
			return NULL;
		f->pending = p;
		f->pending_room = room;
	}
	return f->pending + f->pending_bytes + sizeof(struct raw_block);
}

void rawfile_commit(struct rawfile *f, struct raw_block *b)
{
	uint8_t *at = f->pending + f->pending_bytes;

	b->magic = RAW_BLOCK_MAGIC;
	b->flags = 0;
	b->stored = b->raw;
	b->checksum = XXH3_64bits(at + sizeof(*b), b->raw);
	memcpy(at, b, sizeof(*b));
	f->pending_bytes += sizeof(*b) + b->raw;
}

void rawfile_add(struct rawfile *f, uint16_t type, const void *payload, uint32_t bytes)
{
	struct raw_block b = {.type = type, .raw = bytes, .last_tick = UINT64_MAX};
	uint8_t *p = rawfile_reserve(f, bytes);

	if (!p)
		return;
	memcpy(p, payload, bytes);
	rawfile_commit(f, &b);
}

/* Counts what a chunk that cannot be written holds. */
static void count_lost(struct rawfile *f, const struct raw_block *b, const uint8_t *payload)
{
	struct wire_reader r;
	struct wire_record rec;
	struct wire_def def;

	if (b->type != RAW_CHUNK || !wire_reader_init(&r, payload, b->raw))
		return;
	if (b->chunk_type == WIRE_CHUNK_DEFINITIONS) {
		while (wire_def_read(&r.p, r.end, &def) == 1)
			f->lost_definitions++;
		return;
	}
	while (wire_next(&r, &rec) == 1)
		f->lost_records++;
}

/* `written` bytes of the pending ones reached the file: keeps whole blocks, counts the others. */
static void cut(struct rawfile *f, size_t written)
{
	size_t at = 0, kept = 0;

	while (at < f->pending_bytes) {
		struct raw_block b;

		memcpy(&b, f->pending + at, sizeof(b));
		at += sizeof(b) + b.stored;
		if (at <= written)
			kept = at;
		else
			count_lost(f, &b, f->pending + at - b.stored);
	}
	f->bytes += kept;
	if (written > kept && ftruncate(f->fd, (off_t)f->bytes) != 0)
		f->failed = f->failed ? f->failed : errno; /* readers stop at the torn block */
}

bool rawfile_flush(struct rawfile *f)
{
	size_t written = 0;

	if (f->pending_bytes == 0)
		return f->failed == 0;
	if (f->failed == 0) {
		written = file_write_all(f->fd, f->pending, f->pending_bytes);
		if (written < f->pending_bytes)
			f->failed = errno ? errno : ENOSPC;
	}
	if (written == f->pending_bytes)
		f->bytes += written;
	else
		cut(f, written);
	f->pending_bytes = 0;
	return f->failed == 0;
}

void rawfile_close(struct rawfile *f)
{
	rawfile_flush(f);
	if (close(f->fd) != 0 && f->failed == 0)
		f->failed = errno;
	f->fd = -1;
	free(f->pending);
	f->pending = NULL;
	f->pending_room = 0;
}
