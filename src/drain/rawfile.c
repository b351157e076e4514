/* SPDX-License-Identifier: Apache-2.0 */
/* Writing raw files; see rawfile.h. */
#include "drain/rawfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "drain/compress.h"
#include "drain/scan.h"
#include "wire/defs.h"
#include "wire/wire.h"

enum {
	GATHER = 1 << 20,  /* copied, at most */
	AT_ONCE = 2 << 20, /* written at once, at most: larger writes cost no less */
	SPARE = 32 << 10,  /* for definitions and the end when no more records are taken */
	SPARE_MIN = 1 << 10,
	END_ROOM =
		12 << 10, /* of that, for the end, and for the manifest once the file is closed */
	STEP_MIN = 64 << 10,
	STEP_MAX = 1 << 20 /* room is set aside in such steps */
};

/* ---- room ------------------------------------------------------------------------------------ */

static bool no_room(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

static int reserve_to(struct rawfile *f, uint64_t end)
{
	int rc;

	do {
		rc = fallocate(f->fd, FALLOC_FL_KEEP_SIZE, (off_t)f->reserved,
			       (off_t)(end - f->reserved));
	} while (rc != 0 && errno == EINTR);
	if (rc == 0)
		f->reserved = end;
	return rc;
}

/*
 * The file may grow up to `end`. False: it may not, errno tells. A file system that cannot set room
 * aside is found out when a write is refused.
 */
static bool have_room(struct rawfile *f, uint64_t end)
{
	uint64_t step = f->bytes / 4, more;

	if (end > f->limit) {
		errno = EFBIG;
		return false;
	}
	if (f->reserved == 0 || end <= f->reserved)
		return true;
	step = step < STEP_MIN ? STEP_MIN : step > STEP_MAX ? STEP_MAX : step;
	more = end + step < f->limit ? end + step : f->limit;
	if (reserve_to(f, more) == 0 || (no_room(errno) && reserve_to(f, end) == 0))
		return true;
	if (no_room(errno))
		return false;
	f->reserved = 0;
	return true;
}

static void begin_room(struct rawfile *f)
{
	struct rlimit limit;

	f->limit = UINT64_MAX;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		f->limit = limit.rlim_cur;
	f->reserved = f->bytes;
	for (f->spare = SPARE; f->spare >= SPARE_MIN; f->spare /= 2)
		if (have_room(f, f->bytes + f->spare))
			return;
	f->spare = 0;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static char token[16];

void rawfile_set_token(const char *t)
{
	snprintf(token, sizeof(token), "%s", t);
}

const char *rawfile_token(void)
{
	if (!token[0])
		file_token(token); /* of nobody who is looked for */
	return token;
}

/* A file of no bytes takes the name; it is open until the name is the other's: a drain that follows finds it. */
static bool take_and_rename(const char *from, const char *to)
{
	int fd = file_create_own(to, O_WRONLY), saved;
	bool ok;

	if (fd < 0)
		return false;
	ok = rename(from, to) == 0;
	saved = errno;
	if (!ok)
		unlink(to);
	close(fd);
	errno = saved;
	return ok;
}

/* Within its folder, to a name that is free. False: errno, EEXIST where it is not. */
static bool rename_to_free(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return true;
	/* Some file systems do not know that. */
	return errno != EEXIST && take_and_rename(from, to);
}

/* Host names may hold anything; file names may not. */
static void clean_name(const char *host, char *out, size_t size)
{
	size_t i;

	for (i = 0; host[i] && i + 1 < size && i < 48; i++)
		out[i] = (host[i] == '/' || (unsigned char)host[i] <= ' ') ? '_' : host[i];
	out[i] = '\0';
}

/* False: errno tells; EEXIST where no name is free. */
static bool give_name(struct rawfile *f, const char *own, const char *trace, const char *host,
		      const char *what)
{
	for (unsigned n = 0; n < 100000; n++) {
		if (snprintf(f->path, sizeof(f->path), "%s/raw/%s-%s-%u.kyr", trace, host, what,
			     n) >= (int)sizeof(f->path)) {
			errno = ENAMETOOLONG;
			return false;
		}
		if (rename_to_free(own, f->path))
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

static bool write_header(struct rawfile *f, const struct raw_header *h)
{
	f->bytes = file_write_all(f->fd, h, sizeof(*h));
	if (f->bytes < sizeof(*h) && !errno)
		errno = ENOSPC;
	return f->bytes == sizeof(*h);
}

/* Who reads the trace never sees a file without its header, whenever this process is killed. */
bool rawfile_create_as(struct rawfile *f, const char *trace, const char *what,
		       const struct raw_header *h)
{
	char host[64], own[PATH_MAX];

	memset(f, 0, sizeof(*f));
	clean_name((const char *)h->hostname, host, sizeof(host));
	if (snprintf(own, sizeof(own), "%s/raw/.%s-%s.kyr.%s.tmp", trace, host, what,
		     rawfile_token()) >= (int)sizeof(own)) {
		errno = ENAMETOOLONG;
		return false;
	}
	unlink(own); /* of a drain that was killed at it */
	f->fd = file_create_own(own, O_WRONLY | O_APPEND);
	if (f->fd < 0)
		return false;
	errno = 0;
	if (write_header(f, h) && give_name(f, own, trace, host, what)) {
		begin_room(f);
		return true;
	}
	f->failed = errno;
	close(f->fd);
	unlink(own);
	errno = f->failed;
	return false;
}

bool rawfile_create(struct rawfile *f, const char *trace, const struct raw_header *h)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", h->pid);
	return rawfile_create_as(f, trace, pid, h);
}

static bool continue_at(struct rawfile *f, struct scan *s)
{
	struct stat st;

	if (!scan_file(f->fd, s) || fstat(f->fd, &st) != 0)
		return false;
	f->bytes = s->bytes;
	f->saved = s->saved;
	return (uint64_t)st.st_size == f->bytes || ftruncate(f->fd, (off_t)f->bytes) == 0;
}

bool rawfile_continue(struct rawfile *f, const char *path, struct scan *s)
{
	memset(f, 0, sizeof(*f));
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->fd = open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (f->fd >= 0 && continue_at(f, s)) {
		begin_room(f);
		return true;
	}
	f->failed = errno ? errno : EIO;
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	errno = f->failed;
	return false;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

bool rawfile_fits(const struct rawfile *f, size_t bytes)
{
	return f->pending.used + sizeof(struct raw_block) + bytes <= GATHER &&
	       f->pending.bytes + sizeof(struct raw_block) + bytes <= AT_ONCE;
}

uint8_t *rawfile_reserve(struct rawfile *f, size_t bytes)
{
	if (f->pending.bytes && !rawfile_fits(f, bytes))
		rawfile_flush(f);
	return batch_reserve(&f->pending, bytes);
}

void rawfile_commit(struct rawfile *f, struct raw_block *b)
{
	batch_commit(&f->pending, b);
}

bool rawfile_lend(struct rawfile *f, struct raw_block *b, const void *head, size_t head_bytes,
		  const void *lent)
{
	if (f->pending.bytes && !rawfile_fits(f, b->raw))
		rawfile_flush(f);
	return batch_lend(&f->pending, b, head, head_bytes, lent);
}

uint8_t *rawfile_reserve_needed(struct rawfile *f, size_t bytes)
{
	return batch_reserve(&f->needed, bytes);
}

void rawfile_commit_needed(struct rawfile *f, struct raw_block *b)
{
	batch_commit(&f->needed, b);
}

static void add_block(struct batch *batch, uint16_t type, const void *payload, uint32_t bytes,
		      uint64_t tick)
{
	struct raw_block b = {
		.type = type, .raw = bytes, .first_tick = tick, .last_tick = UINT64_MAX};
	uint8_t *p = batch_reserve(batch, bytes);

	if (!p)
		return;
	if (bytes)
		memcpy(p, payload, bytes);
	batch_commit(batch, &b);
}

void rawfile_add(struct rawfile *f, uint16_t type, const void *payload, uint32_t bytes)
{
	if (f->pending.bytes && !rawfile_fits(f, bytes))
		rawfile_flush(f);
	add_block(&f->pending, type, payload, bytes, 0);
}

void rawfile_add_needed(struct rawfile *f, uint16_t type, const void *payload, uint32_t bytes)
{
	add_block(&f->needed, type, payload, bytes, 0);
}

void rawfile_add_at(struct rawfile *f, uint16_t type, const void *payload, uint32_t bytes,
		    uint64_t tick)
{
	add_block(&f->needed, type, payload, bytes, tick);
}

/* ---- writing --------------------------------------------------------------------------------- */

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

/* `written` bytes of the batch reached the file: keeps whole blocks, counts the others. */
static void cut_batch(struct rawfile *f, const struct batch *batch, size_t written)
{
	struct batch_walk w = {0};
	struct raw_block b;
	size_t kept = 0;

	while (batch_next(batch, &w, &b)) {
		if (w.end <= written)
			kept = w.end;
		else
			count_lost(f, &b, batch_payload(batch, &w));
	}
	f->bytes += kept;
	if (written == kept)
		return;
	if (ftruncate(f->fd, (off_t)f->bytes) != 0)
		f->bytes += written - kept; /* readers step over the torn block */
	else if (f->reserved > f->bytes)
		f->reserved = f->bytes; /* what lay behind went with it */
}

/* Whole blocks of the batch that have room, in bytes; less than all: errno tells why. */
static size_t fitting_bytes(struct rawfile *f, const struct batch *batch, uint64_t keep)
{
	size_t allowed = 0, whole = 0;
	struct batch_walk w = {0};
	struct raw_block b;
	int error;

	if (have_room(f, f->bytes + batch->bytes + keep))
		return batch->bytes;
	error = errno;
	for (size_t step = batch->bytes / 2; step >= 512; step /= 2)
		if (have_room(f, f->bytes + allowed + step + keep))
			allowed += step;
	while (batch_next(batch, &w, &b) && w.end <= allowed)
		whole = w.end;
	errno = error;
	return whole;
}

static void write_batch(struct rawfile *f, struct batch *batch, uint64_t keep, bool refused)
{
	size_t room, written = 0;
	int error = 0;

	if (batch->bytes == 0)
		return;
	room = refused ? 0 : fitting_bytes(f, batch, keep);
	if (room < batch->bytes)
		error = errno;
	if (room)
		written = batch_write(batch, f->fd, room);
	if (written < room)
		error = errno;
	if (written < batch->bytes && !f->failed)
		f->failed = error ? error : ENOSPC;
	if (written == batch->bytes)
		f->bytes += written;
	else
		cut_batch(f, batch, written);
	batch_clear(batch);
}

/*
 * When records are refused, what is needed goes into the room that was kept for it, but for what the end
 * takes. Where less than that could be kept, as by a drain that follows one which found the file system full,
 * all of it is for the end: names of records that are lost would fill it.
 */
bool rawfile_flush(struct rawfile *f)
{
	write_batch(f, &f->needed, f->spare < END_ROOM ? f->spare : END_ROOM,
		    f->failed != 0 && f->reserved == 0);
	write_batch(f, &f->pending, f->spare, f->failed != 0);
	return f->failed == 0;
}

void rawfile_end(struct rawfile *f, const struct raw_end *end)
{
	rawfile_flush(f);
	add_block(&f->needed, RAW_END, end, sizeof(*end), end->tick);
	write_batch(f, &f->needed, 0, false);
}

void rawfile_close(struct rawfile *f)
{
	rawfile_flush(f);
	if (f->reserved > f->bytes && ftruncate(f->fd, (off_t)f->bytes) != 0 && f->failed == 0)
		f->failed = errno;
	if (close(f->fd) != 0 && f->failed == 0)
		f->failed = errno;
	f->fd = -1;
	batch_release(&f->pending);
	batch_release(&f->needed);
}

/* ---- in a compressed file --------------------------------------------------------------------- */

bool rawfile_move(struct rawfile *f, struct compress *c)
{
	struct rawfile to;

	if (!rawfile_flush(f) || !compress_copy_rest(c) || !compress_flush(c) || c->at != f->bytes)
		return false;
	to = *f;
	to.bytes = c->written;
	to.saved += f->bytes - c->written;
	to.fd = fcntl(c->out.fd, F_DUPFD_CLOEXEC, 0);
	if (to.fd < 0)
		return false;
	begin_room(&to);
	if (to.spare < f->spare || !compress_take_place(c, f->fd)) {
		close(to.fd);
		return false;
	}
	close(f->fd);
	*f = to;
	return true;
}
