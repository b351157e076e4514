/* SPDX-License-Identifier: Apache-2.0 */
/* See memory_file.h. */
#include "support/memory_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

bool memory_file_open(struct memory_file *f)
{
	f->fd = memfd_create("test", MFD_CLOEXEC);
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
	return f->fd >= 0;
}

void memory_file_close(struct memory_file *f)
{
	close(f->fd);
}

bool memory_file_set(struct memory_file *f, const void *data, size_t size)
{
	return ftruncate(f->fd, 0) == 0 &&
	       (size == 0 || pwrite(f->fd, data, size, 0) == (ssize_t)size);
}

unsigned char *memory_file_load(const char *path, size_t *size)
{
	FILE *f = fopen(path, "re");
	unsigned char *data;
	long n;

	if (!f)
		return NULL;
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	data = malloc((size_t)n + 1);
	*size = data ? fread(data, 1, (size_t)n, f) : 0;
	fclose(f);
	return data;
}
