/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A raw file that grows. Blocks are taken when they are whole; a file that took the place of another (because it was
 * compressed, or brought from the node's disk) is gone through again by the headers of its blocks, and what was taken
 * before is known by thread and number.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/clock.h"
#include "base/vec.h"
#include "follow/reading.h"

enum { CHECKED_MOST = 4 << 20 }; /* in a look */

/* ---- bytes ------------------------------------------------------------------------------------- */

/* The `bytes` from offset `at` on, NULL: there are not so many. `ahead`: what follows is wanted as well. */
static const uint8_t *fetch(struct follow *f, const struct follow_process *p, uint64_t at,
			    size_t bytes, bool ahead)
{
	struct follow_reading *r = f->reading;
	size_t wanted = ahead && bytes < READING_WINDOW ? READING_WINDOW : bytes;
	ssize_t n;

	if (r->of == p && at >= r->at && at - r->at <= r->count && r->count - (at - r->at) >= bytes)
		return r->window + (at - r->at);
	if (!vec_reserve(&r->window, &r->room, 0, wanted)) {
		f->failed = true;
		return NULL;
	}
	r->of = p;
	r->at = at;
	r->count = 0;
	while (r->count < wanted) {
		n = pread(p->fd, r->window + r->count, wanted - r->count, (off_t)(at + r->count));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		r->count += (size_t)n;
	}
	return r->count >= bytes ? r->window : NULL;
}

/* ---- which file -------------------------------------------------------------------------------- */

static bool take_header(struct follow *f, struct follow_process *p)
{
	const uint8_t *data = fetch(f, p, 0, sizeof(p->header), true);
	struct raw_header h;

	if (!data)
		return false;
	memcpy(&h, data, sizeof(h));
	if (h.magic != RAW_MAGIC || h.version < RAW_VERSION_MIN || h.version > RAW_VERSION ||
	    h.wire_version != WIRE_VERSION || h.header_size < sizeof(h)) {
		p->damaged += !p->ended;
		p->ended = p->aside = true;
		return false;
	}
	p->header = h;
	p->at = h.header_size;
	if (!p->headed && h.unrecorded)
		p->ended = p->aside = true;
	if (!p->headed && p->rank < 0 && h.rank != SHM_NONE)
		p->rank = h.rank;
	p->headed = true;
	return true;
}

static void close_file(struct follow_process *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* A file that is not kept goes when its process has ended. */
static bool is_over(const struct follow_process *p)
{
	char own[sizeof(p->header.hostname)] = "";

	gethostname(own, sizeof(own) - 1);
	return p->headed && memcmp(own, p->header.hostname, sizeof(own)) == 0 &&
	       kill((pid_t)p->header.pid, 0) != 0 && errno == ESRCH;
}

/* False: there is nothing to read. */
static bool open_file(struct follow *f, struct follow_process *p)
{
	struct stat st, own;
	bool there = stat(p->path, &st) == 0;

	if (!there && errno == ENOENT && is_over(p))
		p->ended = true;
	if (p->fd >= 0 && there && (st.st_ino != p->inode || st.st_dev != p->device))
		close_file(p);
	if (p->fd < 0) {
		/* A pipe is not waited for. */
		p->fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		if (p->fd < 0 || fstat(p->fd, &own) != 0 || !S_ISREG(own.st_mode)) {
			close_file(p);
			return false;
		}
		p->inode = own.st_ino;
		p->device = own.st_dev;
		p->size = 0;
		f->reading->of = NULL;
		if (!take_header(f, p)) {
			close_file(p);
			return false;
		}
	}
	if (fstat(p->fd, &own) != 0)
		return false;
	if ((uint64_t)own.st_size != p->size) {
		p->grown = clock_ns(CLOCK_MONOTONIC);
		f->reading->of = NULL; /* its last bytes may have been others */
	}
	p->size = (uint64_t)own.st_size;
	return true;
}

/* ---- blocks ------------------------------------------------------------------------------------ */

static bool plausible(const struct raw_block *b)
{
	return b->magic == RAW_BLOCK_MAGIC && b->type >= RAW_CHUNK &&
	       b->stored <= READING_PAYLOAD_MOST && b->raw <= READING_PAYLOAD_MOST;
}

/*
 * The payload as it was in memory; NULL: damaged. Where there is much, the checksums of records are left out, which
 * cost as much as looking into them; a record that cannot be is noticed as well.
 */
static const uint8_t *payload(struct follow *f, struct follow_process *p, const struct raw_block *b)
{
	const uint8_t *data = fetch(f, p, p->at + sizeof(*b), b->stored, true);
	size_t bytes = b->stored;

	if (!data)
		return NULL;
	if (((b->chunk_type != WIRE_CHUNK_RECORDS || f->spent < CHECKED_MOST) &&
	     XXH3_64bits(data, b->stored) != b->checksum) ||
	    raw_block_unpack(b, &f->reading->plain, &data, &bytes) || bytes != b->raw) {
		p->damaged++;
		return NULL;
	}
	return data;
}

/* The next block that checks, after damage; the end of the file if there is none. */
static uint64_t after_damage(struct follow *f, struct follow_process *p)
{
	const uint32_t magic = RAW_BLOCK_MAGIC;
	uint64_t at = p->at + 1;

	while (at + sizeof(struct raw_block) <= p->size) {
		size_t n = p->size - at < READING_WINDOW ? p->size - at : READING_WINDOW;
		const uint8_t *data = fetch(f, p, at, n, false);
		const uint8_t *hit = data ? memmem(data, n, &magic, sizeof(magic)) : NULL;
		struct raw_block b;

		if (!data)
			break;
		if (!hit) {
			at += n - sizeof(magic) + 1;
			continue;
		}
		at += (uint64_t)(hit - data);
		data = fetch(f, p, at, sizeof(b), false);
		if (!data)
			break;
		memcpy(&b, data, sizeof(b));
		if (plausible(&b) && b.stored <= p->size - at - sizeof(b) &&
		    (data = fetch(f, p, at + sizeof(b), b.stored, false)) &&
		    XXH3_64bits(data, b.stored) == b.checksum)
			return at;
		at++;
	}
	return p->size;
}

/* ---- what blocks hold -------------------------------------------------------------------------- */

/* Its header is in order, and says no more than there is. */
static bool take_chunk(const uint8_t *data, const struct raw_block *b, struct wire_chunk *h)
{
	if (b->raw < sizeof(*h))
		return false;
	memcpy(h, data, sizeof(*h));
	return h->magic == WIRE_CHUNK_MAGIC && h->version == WIRE_VERSION &&
	       h->header_size >= sizeof(*h) && h->header_size <= h->committed &&
	       h->committed <= b->raw;
}

/* It was looked into already, or shall not be. */
static bool passes(struct follow *f, struct follow_process *p, struct follow_thread *t,
		   const struct raw_block *b)
{
	bool begun = t->seq == b->seq && t->done;

	if (b->seq < t->seq)
		return true;
	if (f->spent > f->budget) { /* what is decompressed is more than what is stored */
		f->stride *= 2;
		f->spent = 0;
	}
	if (begun || ++p->passed >= f->stride)
		return false;
	p->left_out += b->raw;
	t->seq = b->seq + 1;
	t->done = 0;
	return true;
}

static void take_records(struct follow *f, struct follow_process *p, const struct raw_block *b)
{
	struct follow_thread *t = follow_thread_of(f, p, b->thread);
	const uint8_t *data;
	struct wire_chunk h;
	bool begun;

	if (!t || passes(f, p, t, b))
		return;
	data = payload(f, p, b);
	begun = t->seq == b->seq && t->done;
	if (!data || !take_chunk(data, b, &h) || h.seq != b->seq) {
		p->passed = 0; /* no other chunk stands for it */
		t->seq = b->seq + 1;
		t->done = 0;
		return;
	}
	if (!begun)
		follow_begin_chunk(t, &h);
	f->spent += b->raw;
	if (t->done <= h.committed)
		follow_records(f, p, t, data, h.committed, begun ? 1 : p->passed);
	if (!begun)
		p->passed = 0;
	if (b->type == RAW_PARTIAL)
		return;
	t->seq = b->seq + 1;
	t->done = 0;
}

static void take_other_chunk(struct follow *f, struct follow_process *p, const struct raw_block *b)
{
	const uint8_t *data = payload(f, p, b);
	struct wire_chunk h;

	if (!data || !take_chunk(data, b, &h))
		return;
	if (b->chunk_type == WIRE_CHUNK_DEFINITIONS)
		follow_define(f, p, data, h.header_size, h.committed);
	else if (b->chunk_type == WIRE_CHUNK_TALLY)
		follow_tallies(f, p, data, h.committed);
}

static void take_end(struct follow *f, struct follow_process *p, const struct raw_block *b)
{
	const uint8_t *data = payload(f, p, b);

	if (!data)
		return;
	p->end = (struct raw_end){0};
	memcpy(&p->end, data, b->raw < sizeof(p->end) ? b->raw : sizeof(p->end));
	p->ended |= b->type == RAW_END;
}

static void take_block(struct follow *f, struct follow_process *p, const struct raw_block *b)
{
	struct raw_tick_sync sync;
	const uint8_t *data;

	switch (b->type) {
	case RAW_CHUNK:
	case RAW_PARTIAL:
		if (b->chunk_type == WIRE_CHUNK_RECORDS)
			take_records(f, p, b);
		else if (b->chunk_type != WIRE_CHUNK_LIVE)
			take_other_chunk(f, p, b);
		break;
	case RAW_END:
	case RAW_STATE:
		take_end(f, p, b);
		break;
	case RAW_TICK_SYNC:
		data = b->raw == sizeof(sync) ? payload(f, p, b) : NULL;
		if (data) {
			memcpy(&sync, data, sizeof(sync));
			follow_calibrate(p, &sync);
		}
		break;
	default:
		break;
	}
}

void follow_read_file(struct follow *f, struct follow_process *p)
{
	struct raw_block b;

	if (p->ended || !open_file(f, p))
		return;
	while (!p->ended && p->size - p->at >= sizeof(b)) {
		/* Where chunks are left out, what follows a header is not read. */
		const uint8_t *data = fetch(f, p, p->at, sizeof(b), f->stride < 2);

		if (!data)
			return;
		memcpy(&b, data, sizeof(b));
		if (!plausible(&b)) {
			p->damaged++;
			p->at = after_damage(f, p);
			continue;
		}
		if (b.stored > p->size - p->at - sizeof(b))
			break; /* it is just being written */
		take_block(f, p, &b);
		p->at += sizeof(b) + b.stored;
	}
	if (p->ended)
		close_file(p);
}
