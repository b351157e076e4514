/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a trace directory from a stream: what another tool has recorded becomes a trace on which every
 * command works. Records of a thread may come in any order; calls are best in the order of their ends, as
 * a recording has them. Memory: the definitions, and a chunk (RAW_WRITE_CHUNK bytes) for each thread,
 * of no more than RAW_WRITE_OPEN at a time.
 */
#ifndef FORMATS_RAW_WRITE_H
#define FORMATS_RAW_WRITE_H

#include "formats/format.h"

enum { RAW_WRITE_CHUNK = 64 << 10, RAW_WRITE_OPEN = 2048 };

/* What the manifest says of where the records came from. Borrowed until the writer is freed. */
struct raw_origin {
	const char *file;   /* what was read */
	const char *format; /* name of its format */
	bool passing;       /* the trace lasts as long as a command: it is shown as the file */
};

/*
 * Makes `directory`, which must not be there, and a writer into it. Free it with raw_writer_free().
 * KYMO_ERROR_SYSTEM: it could not be made, and the log says why.
 */
kymo_status_t raw_writer_new(const char *directory, const struct raw_origin *origin,
			     struct stream_log *log, struct stream_sink **sink);
void raw_writer_free(struct stream_sink *sink);

#endif
