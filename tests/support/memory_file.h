/* SPDX-License-Identifier: Apache-2.0 */
/* Files in memory that have a path: for tests that open thousands of variants of a file. */
#ifndef TESTS_SUPPORT_MEMORY_FILE_H
#define TESTS_SUPPORT_MEMORY_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct memory_file {
	int fd;
	char path[64];
};

bool memory_file_open(struct memory_file *f);
void memory_file_close(struct memory_file *f);

/* Its content is now these bytes and nothing else. */
bool memory_file_set(struct memory_file *f, const void *data, size_t size);

/* Content of a real file; caller frees. NULL: cannot be read. */
unsigned char *memory_file_load(const char *path, size_t *size);

#endif
