/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compression of finished raw files, after the program has ended: it costs the program nothing then.
 * The new file replaces the old one in one step, so there is a whole file at any time.
 */
#include "drain/rawfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef KYMO_HAVE_ZSTD
#include <zstd.h>
#endif

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/file.h"

#ifdef KYMO_HAVE_ZSTD

enum { LEVEL = 1, SMALL_FILE = 64 << 10, PAYLOAD_MAX = 64 << 20 };

struct compressor {
	ZSTD_CCtx *zstd;
	int fd;
	uint8_t *out;
	size_t room;
	uint64_t written;
};

/* Copies or compresses one block; the payload is inside the mapped file. */
static bool write_block(struct compressor *c, struct raw_block b, const uint8_t *payload)
{
	size_t bound = ZSTD_compressBound(b.stored), n = 0;

	if (bound > c->room) {
		free(c->out);
		c->out = malloc(bound);
		c->room = c->out ? bound : 0;
		if (!c->out)
			return false;
	}
	if (!(b.flags & RAW_ZSTD))
		n = ZSTD_compressCCtx(c->zstd, c->out, bound, payload, b.stored, LEVEL);
	if (n && !ZSTD_isError(n) && n < b.stored) {
		b.flags |= RAW_ZSTD;
		b.stored = (uint32_t)n;
		b.checksum = XXH3_64bits(c->out, n);
		payload = c->out;
	}
	c->written += sizeof(b) + b.stored;
	return file_write_all(c->fd, &b, sizeof(b)) == sizeof(b) &&
	       file_write_all(c->fd, payload, b.stored) == b.stored;
}

/* False: something is odd or time is up; the old file stays. */
static bool write_blocks(struct compressor *c, const uint8_t *data, size_t size, uint64_t deadline)
{
	struct raw_header h;
	struct raw_block b;
	size_t at;

	memcpy(&h, data, sizeof(h));
	if (h.magic != RAW_MAGIC || h.header_size < sizeof(h) || h.header_size > size)
		return false;
	if (file_write_all(c->fd, data, h.header_size) != h.header_size)
		return false;
	c->written = h.header_size;
	for (at = h.header_size; at < size; at += sizeof(b) + b.stored) {
		if (size - at < sizeof(b) || clock_ns(CLOCK_MONOTONIC) > deadline)
			return false;
		memcpy(&b, data + at, sizeof(b));
		if (b.magic != RAW_BLOCK_MAGIC || b.stored > PAYLOAD_MAX ||
		    b.stored > size - at - sizeof(b) || !write_block(c, b, data + at + sizeof(b)))
			return false;
	}
	return true;
}

static uint64_t compress_to(const char *path, const char *tmp, const uint8_t *data, size_t size,
			    uint64_t deadline)
{
	struct compressor c = {.zstd = ZSTD_createCCtx()};
	bool ok;

	unlink(tmp); /* of a drain that was killed at it */
	c.fd = file_create_own(tmp, O_WRONLY);
	ok = c.zstd && c.fd >= 0 && write_blocks(&c, data, size, deadline);
	if (c.fd >= 0 && close(c.fd) != 0)
		ok = false;
	ZSTD_freeCCtx(c.zstd);
	free(c.out);
	if (ok && rename(tmp, path) == 0)
		return c.written;
	unlink(tmp);
	return 0;
}

uint64_t rawfile_compress(const char *path, uint64_t deadline)
{
	char tmp[PATH_MAX];
	uint64_t result = 0;
	struct stat st;
	void *data;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) != 0 || st.st_size < SMALL_FILE) {
		close(fd);
		return 0;
	}
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return 0;
	madvise(data, (size_t)st.st_size, MADV_SEQUENTIAL);
	snprintf(tmp, sizeof(tmp), "%.*s.%s.tmp", PATH_MAX - 32, path, rawfile_token());
	result = compress_to(path, tmp, data, (size_t)st.st_size, deadline);
	munmap(data, (size_t)st.st_size);
	return result;
}

#else

uint64_t rawfile_compress(const char *path, uint64_t deadline)
{
	return 0;
}

#endif
