/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls of files and sockets (domain "posix") did, by what their descriptors are: no tally knows arguments, so they are
 * looked at while records stream by. Memory is proportional to files.
 */
#ifndef ANALYSIS_FILE_USE_H
#define ANALYSIS_FILE_USE_H

#include "base/map.h"
#include "stream/stream.h"

/* `file` is the trace's; "" where it is not known. Failed calls are among the calls, and moved nothing. */
struct file_use_row {
	const char *file;
	bool folder;    /* opened as one (O_DIRECTORY): nothing can be read from it, or written */
	uint64_t opens; /* of sockets: connections made or accepted */
	uint64_t reads, read_bytes, writes, written_bytes, others, errors;
	uint64_t ns, longest_ns;
	uint32_t longest_op;
};

struct file_use {
	const struct trace *trace;
	uint8_t *op_is; /* by op */
	struct file_use_row *rows;
	uint32_t rows_count, rows_room;
	struct map places; /* by index of the string: number of the row, from 1 */
	bool failed;       /* no memory */
};

/* Its calls are looked at. */
bool file_use_op(const struct trace *t, const struct t_op *op);

struct file_use *file_use_new(const struct trace *t);
void file_use_free(struct file_use *u);
void file_use_call_wanted(struct file_use *u, const struct rec *r);

static inline void file_use_call(struct file_use *u, const struct rec *r)
{
	if (u->op_is[r->op])
		file_use_call_wanted(u, r);
}

/* It is a socket's, not a file's. */
bool file_use_is_socket(const struct file_use_row *row);

#endif
