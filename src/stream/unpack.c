/* SPDX-License-Identifier: Apache-2.0 */
/* See unpack.h. */
#include "stream/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/file.h"
#include "stream/spool.h"

#define BLOCK (1u << 18)

static bool unpack(gzFile from, int to, struct stream_log *log, const char **wrong)
{
	uint8_t *block = malloc(BLOCK);
	int n = 0, error;

	while (block && (n = gzread(from, block, BLOCK)) > 0)
		if (file_write_all(to, block, (size_t)n) != (size_t)n) {
			spool_tell(log, errno);
			free(block);
			return false;
		}
	gzerror(from, &error);
	if (n < 0 || error == Z_BUF_ERROR)
		*wrong = error == Z_BUF_ERROR ? "its compressed data ends too early"
					      : "its compressed data is damaged";
	free(block);
	return block != NULL;
}

int unpack_open(const char *path, struct stream_log *log, const char **wrong)
{
	int fd = file_open_regular(path), plain;
	uint8_t magic[2] = {0};
	gzFile packed;

	if (fd < 0) {
		stream_error(log, "%s: %s", path,
			     errno == EINVAL ? "it is no file" : strerror(errno));
		return -1;
	}
	if (pread(fd, magic, 2, 0) != 2 || magic[0] != 0x1f || magic[1] != 0x8b)
		return fd;
	plain = spool_temporary(log);
	packed = gzdopen(fd, "rbe");
	if (!packed)
		close(fd);
	if (plain >= 0 && (!packed || !unpack(packed, plain, log, wrong))) {
		close(plain);
		plain = -1;
	}
	if (packed)
		gzclose_r(packed);
	return plain;
}
