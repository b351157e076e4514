/* SPDX-License-Identifier: Apache-2.0 */
/* See compress.h. */
#include "drain/compress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "drain/pack.h"

enum {
	STEP = 1 << 20,
	PAYLOAD_MAX = 64 << 20,
	/* Who writes to a file does so every second; other nodes may see that two minutes later. */
	FRESH_S = 120
};

struct bytes {
	uint8_t *data;
	size_t count, room;
};

struct compress_work {
	struct bytes window; /* of `in`, from window_at on */
	uint64_t window_at;
	struct bytes gathered; /* for `out` */
	struct bytes packed;
	struct packer packer;
};

/* ---- reading --------------------------------------------------------------------------------- */

/* The next `bytes` of the file; NULL: there are not so many, or errno. */
static const uint8_t *fetch(struct compress *c, size_t bytes)
{
	struct compress_work *w = c->work;
	size_t wanted = bytes > STEP ? bytes : STEP;
	uint64_t offset = c->at - w->window_at;
	ssize_t n;

	errno = 0;
	if (offset <= w->window.count && w->window.count - offset >= bytes)
		return w->window.data + offset;
	if (!vec_reserve(&w->window.data, &w->window.room, 0, wanted)) {
		errno = ENOMEM;
		return NULL;
	}
	w->window_at = c->at;
	w->window.count = 0;
	while (w->window.count < wanted) {
		n = pread(c->in, w->window.data + w->window.count, wanted - w->window.count,
			  (off_t)(c->at + w->window.count));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return NULL;
		if (n == 0)
			break;
		w->window.count += (size_t)n;
	}
	errno = 0;
	return w->window.count >= bytes ? w->window.data : NULL;
}

/* The next block with its payload. NULL: it is not whole, or errno. */
static const uint8_t *fetch_block(struct compress *c, struct raw_block *b)
{
	const uint8_t *p = fetch(c, sizeof(*b));

	if (!p)
		return NULL;
	errno = 0;
	memcpy(b, p, sizeof(*b));
	if (b->magic != RAW_BLOCK_MAGIC || b->stored > PAYLOAD_MAX || b->raw > PAYLOAD_MAX)
		return NULL;
	p = fetch(c, sizeof(*b) + b->stored);
	if (p && XXH3_64bits(p + sizeof(*b), b->stored) != b->checksum)
		p = NULL;
	return p;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool fail(struct compress *c, int error)
{
	c->failed = error ? error : EIO;
	errno = c->failed;
	return false;
}

bool compress_flush(struct compress *c)
{
	struct bytes *g = &c->work->gathered;
	size_t n = g->count;

	g->count = 0;
	errno = 0;
	if (file_write_all(c->out.fd, g->data, n) != n)
		return fail(c, errno ? errno : ENOSPC);
	c->written += n;
	return true;
}

static bool put(struct compress *c, const void *data, size_t bytes)
{
	struct bytes *g = &c->work->gathered;

	if (g->count && g->count + bytes > STEP && !compress_flush(c))
		return false;
	if (!vec_reserve(&g->data, &g->room, g->count, bytes))
		return fail(c, ENOMEM);
	memcpy(g->data + g->count, data, bytes);
	g->count += bytes;
	return true;
}

/* Takes over so much of the file as it is. */
static bool copy(struct compress *c, uint64_t from, uint64_t to)
{
	uint64_t at = c->at;
	bool ok = true;

	c->work->window.count = 0;
	for (c->at = from; ok && c->at < to;) {
		size_t n = to - c->at < STEP ? (size_t)(to - c->at) : STEP;
		const uint8_t *p = fetch(c, n);

		ok = p ? put(c, p, n) : fail(c, errno);
		c->at += n;
	}
	c->at = at;
	return ok;
}

/* It may be one of a version that knows less. */
static bool put_header(struct compress *c)
{
	struct raw_header h;

	if (pread(c->in, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return fail(c, errno);
	h.version = RAW_VERSION;
	return put(c, &h, sizeof(h));
}

/* The first block that became smaller. */
static bool begin(struct compress *c)
{
	return c->out.fd >= 0 || (replacement_begin(&c->out, c->folder, c->name) && put_header(c) &&
				  copy(c, sizeof(struct raw_header), c->at));
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* What is in `packed` then is said in `b`. False: it does not become less. */
static bool pack(struct compress_work *w, struct raw_block *b, const uint8_t *payload)
{
	if ((b->type != RAW_CHUNK && b->type != RAW_PARTIAL) || (b->flags & RAW_ZSTD) ||
	    b->stored != b->raw ||
	    !vec_reserve(&w->packed.data, &w->packed.room, 0, packer_bound(b->raw)) ||
	    !packer_pack(&w->packer, b, payload, w->packed.data))
		return false;
	b->checksum = XXH3_64bits(w->packed.data, b->stored);
	return true;
}

static bool write_block(struct compress *c, const uint8_t *p)
{
	struct raw_block b;

	memcpy(&b, p, sizeof(b));
	if (!pack(c->work, &b, p + sizeof(b)))
		return c->out.fd < 0 || put(c, p, sizeof(b) + b.stored);
	return begin(c) && put(c, &b, sizeof(b)) && put(c, c->work->packed.data, b.stored);
}

static bool skip_header(struct compress *c)
{
	const uint8_t *p = fetch(c, sizeof(struct raw_header));
	struct raw_header h;

	if (!p)
		return false;
	memcpy(&h, p, sizeof(h));
	if (h.magic != RAW_MAGIC || h.version < RAW_VERSION_MIN || h.version > RAW_VERSION ||
	    h.header_size < sizeof(h) || h.header_size > STEP || !fetch(c, h.header_size))
		return false;
	c->at = h.header_size;
	return true;
}

enum compress_status compress_step(struct compress *c)
{
	uint64_t goal = c->at + STEP;
	struct raw_block b;
	const uint8_t *p;

#ifndef KYMO_HAVE_ZSTD
	return COMPRESS_IMPOSSIBLE;
#endif
	if (c->failed) {
		errno = c->failed;
		return COMPRESS_FAILED;
	}
	while (c->at < goal) {
		p = c->at || skip_header(c) ? fetch_block(c, &b) : NULL;
		if (!p) {
			c->work->window.count = 0; /* it may be just being written */
			return errno ? COMPRESS_FAILED : COMPRESS_WAITING;
		}
		if (!write_block(c, p))
			return COMPRESS_FAILED;
		c->at += sizeof(b) + b.stored;
		c->last = b.type;
	}
	return COMPRESS_MORE;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Then nobody writes to it, whatever else is wrong with it. */
static bool has_end(const struct compress *c, const struct stat *in)
{
	const off_t bytes = sizeof(struct raw_block) + sizeof(struct raw_end);
	struct raw_block b;

	if (c->last == RAW_END || in->st_size < bytes)
		return c->last == RAW_END;
	return pread(c->in, &b, sizeof(b), in->st_size - bytes) == (ssize_t)sizeof(b) &&
	       b.magic == RAW_BLOCK_MAGIC && b.type == RAW_END;
}

/* What leads to the file now is the file that was read. */
static bool is_there(const struct compress *c, const struct stat *in)
{
	struct stat st;

	return fstatat(c->folder, c->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == in->st_dev && st.st_ino == in->st_ino;
}

/* Readers may be others by its mode and group. */
static bool dress(const struct compress *c, const struct stat *in)
{
	mode_t mode = in->st_mode & 0777;

	if (fchown(c->out.fd, (uid_t)-1, in->st_gid) != 0)
		mode &= 0707;
	return fchmod(c->out.fd, mode) == 0;
}

/* And they know a file that says the same by its time (a store does). */
static bool complete(struct compress *c, const struct stat *in)
{
	const struct timespec times[2] = {in->st_atim, in->st_mtim};

	return compress_flush(c) && (c->unsynced || fdatasync(c->out.fd) == 0) &&
	       futimens(c->out.fd, times) == 0;
}

/*
 * Who replaces a file locks it meanwhile: of two, the second one sees that it has been replaced. File
 * systems without such locks take that chance.
 */
static bool take_place(struct compress *c, const struct stat *in, bool wait)
{
	bool locked = flock(c->in, LOCK_EX | (wait ? 0 : LOCK_NB)) == 0, ok;
	int saved;

	if (!locked && (errno == EWOULDBLOCK || errno == EINTR)) {
		errno = errno == EINTR ? EINTR : ENOENT;
		return false;
	}
	ok = dress(c, in);
	if (ok && !is_there(c, in)) {
		errno = ENOENT;
		ok = false;
	}
	ok = ok && replacement_take_place(&c->out);
	saved = errno;
	if (locked)
		flock(c->in, LOCK_UN);
	errno = saved;
	return ok;
}

bool compress_take_place(struct compress *c, int fd)
{
	struct stat in, st;

	if (c->failed || c->out.fd < 0 || fstat(c->in, &in) != 0 || fstat(fd, &st) != 0 ||
	    in.st_dev != st.st_dev || in.st_ino != st.st_ino) {
		errno = c->failed ? c->failed : ENOENT;
		return false;
	}
	return take_place(c, &in, false);
}

enum compress_status compress_finish(struct compress *c, bool finished)
{
	struct stat st;

	if (c->failed || fstat(c->in, &st) != 0) {
		errno = c->failed ? c->failed : errno;
		return COMPRESS_FAILED;
	}
	if (!finished && !has_end(c, &st) &&
	    clock_ns(CLOCK_REALTIME) / 1000000000u < (uint64_t)st.st_mtim.tv_sec + FRESH_S)
		return COMPRESS_GROWING;
	if (c->at != (uint64_t)st.st_size)
		return COMPRESS_DAMAGED;
	if (c->out.fd < 0)
		return COMPRESS_NOTHING;
	if (!complete(c, &st))
		return COMPRESS_FAILED;
	if (take_place(c, &st, !finished))
		return COMPRESS_DONE;
	return errno == ENOENT ? COMPRESS_GONE : COMPRESS_FAILED;
}

bool compress_copy_rest(struct compress *c)
{
	struct stat st;

	if (fstat(c->in, &st) != 0 || (c->out.fd >= 0 && !copy(c, c->at, (uint64_t)st.st_size)))
		return false;
	c->at = (uint64_t)st.st_size;
	return true;
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* What lies in a trace is somebody else's: no links, and nothing that is waited for. */
static int open_regular(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		errno = EINVAL;
		fd = -1;
	}
	return fd;
}

bool compress_open(struct compress *c, int folder, const char *name)
{
	*c = (struct compress){.out = {.fd = -1}, .folder = folder};
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->work = calloc(1, sizeof(*c->work));
	c->in = c->work ? open_regular(folder, name) : -1;
	if (c->in >= 0)
		return true;
	free(c->work);
	c->work = NULL;
	return false;
}

void compress_close(struct compress *c)
{
	if (!c->work)
		return;
	replacement_end(&c->out);
	close(c->in);
	c->in = -1;
	free(c->work->window.data);
	free(c->work->gathered.data);
	free(c->work->packed.data);
	packer_release(&c->work->packer);
	free(c->work);
	c->work = NULL;
}

static enum compress_status compress_in(int folder, const char *name, uint64_t deadline)
{
	enum compress_status status = COMPRESS_MORE;
	struct compress c;

	if (!compress_open(&c, folder, name))
		return errno == ENOENT ? COMPRESS_GONE : COMPRESS_FAILED;
	while (status == COMPRESS_MORE && clock_ns(CLOCK_MONOTONIC) < deadline)
		status = compress_step(&c);
	if (status == COMPRESS_MORE)
		status = compress_copy_rest(&c) ? COMPRESS_WAITING : COMPRESS_FAILED;
	if (status == COMPRESS_WAITING)
		status = compress_finish(&c, true);
	compress_close(&c);
	return status;
}

enum compress_status compress_file(const char *path, uint64_t deadline)
{
	const char *slash = strrchr(path, '/');
	enum compress_status status;
	char folder[PATH_MAX];
	int fd;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		 slash ? path : ".");
	fd = file_open_own(AT_FDCWD, folder);
	if (fd < 0)
		return COMPRESS_FAILED;
	status = compress_in(fd, slash ? slash + 1 : path, deadline);
	close(fd);
	return status;
}

uint64_t compress_plain_size(const char *path, uint64_t size)
{
	uint64_t at = sizeof(struct raw_header), end = size;
	int fd = file_open_regular(path);
	struct raw_block b;

	while (at < end && pread(fd, &b, sizeof(b), (off_t)at) == (ssize_t)sizeof(b) &&
	       b.magic == RAW_BLOCK_MAGIC) {
		at += sizeof(b) + b.stored;
		if (b.flags & RAW_ZSTD)
			size += (uint64_t)b.raw - b.stored;
	}
	if (fd >= 0)
		close(fd);
	return size;
}
