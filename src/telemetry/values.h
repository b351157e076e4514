/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values in files of /proc and /sys. Files are kept open and read from their begin. Whatever is in
 * them (nothing, megabytes, bytes that are no text) leads to an error code, never further.
 */
#ifndef TELEMETRY_VALUES_H
#define TELEMETRY_VALUES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct value_file {
	char path[PATH_MAX];
	int fd;     /* -1: not open */
	bool again; /* it was opened anew as reading failed: it may be another file */
};

void value_file_init(struct value_file *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void value_file_close(struct value_file *f);

/* At most size - 1 bytes, terminated. 0 or an errno; ENODATA: empty. */
int value_file_text(struct value_file *f, char *out, size_t size, size_t *length);

/* The one decimal number of a file. 0 or an errno; EBADMSG: it holds something else. */
int value_file_number(struct value_file *f, int64_t *out);

/* The same of a file that is read once. */
int value_number(const char *path, int64_t *out);
/* Its first line, without what does not print. "" and an errno when it cannot be read. */
int value_line(const char *path, char *out, size_t size);

/* Why a value could not be read, for people; a literal. */
const char *value_error(int error);

#endif
