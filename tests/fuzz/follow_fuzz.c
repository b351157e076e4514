/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a raw file that grows while `kymo top` follows it, in three looks, and is replaced by another
 * one at the end. Checksums of blocks are made right first, because otherwise nothing would get past them. A look
 * at what has not changed changes nothing.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "follow/process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char work[] = "/tmp/kymo-fuzz-follow-XXXXXX";
static char file[PATH_MAX], other[PATH_MAX];

static void clean(void)
{
	char raw[PATH_MAX];

	unlink(file);
	unlink(other);
	snprintf(raw, sizeof(raw), "%s/raw", work);
	rmdir(raw);
	rmdir(work);
}

static void prepare(void)
{
	char raw[PATH_MAX];

	if (!mkdtemp(work))
		abort();
	snprintf(raw, sizeof(raw), "%s/raw", work);
	snprintf(file, sizeof(file), "%s/raw/node1-4242-0.kyr", work);
	snprintf(other, sizeof(other), "%s/raw/.new", work);
	if (mkdir(raw, 0700) != 0)
		abort();
	atexit(clean);
}

static void mend_checksums(uint8_t *data, size_t size)
{
	size_t at = sizeof(struct raw_header);
	struct raw_block b;

	while (at + sizeof(b) <= size) {
		memcpy(&b, data + at, sizeof(b));
		if (b.magic != RAW_BLOCK_MAGIC || b.stored > size - at - sizeof(b)) {
			at++;
			continue;
		}
		b.checksum = XXH3_64bits(data + at + sizeof(b), b.stored);
		memcpy(data + at, &b, sizeof(b));
		at += sizeof(b) + b.stored;
	}
}

static void put(const char *path, const uint8_t *data, size_t size, int flags)
{
	int fd = open(path, O_WRONLY | O_CREAT | flags, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void look(struct follow *f)
{
	double calls;
	uint64_t damaged;
	uint32_t kernels;

	follow_look(f);
	calls = f->calls_now;
	damaged = f->damaged;
	kernels = f->kernels.count;
	follow_look(f);
	if (f->calls_now != calls || f->damaged != damaged || f->kernels.count != kernels)
		abort();
	follow_lost(f);
}

static void follow(const uint8_t *data, size_t size)
{
	size_t first = size / 3, second = size - size / 5;
	struct follow f;

	if (!follow_init(&f) || !follow_add(&f, work))
		abort();
	f.most = 1ull << 30; /* looks follow at once, and leave nothing out */
	put(file, data, first, O_TRUNC);
	look(&f);
	put(file, data + first, second - first, O_APPEND);
	look(&f);
	put(file, data + second, size - second, O_APPEND);
	look(&f);
	put(other, data, size, O_TRUNC);
	if (rename(other, file) != 0)
		abort();
	look(&f);
	follow_let_go(&f);
	follow_release(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	if (!copy)
		return 0;
	if (!file[0])
		prepare();
	memcpy(copy, data, size);
	mend_checksums(copy, size);
	follow(copy, size);
	free(copy);
	return 0;
}
