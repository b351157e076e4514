/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a database that a format reads, in both orders, into the text writer. */
#ifndef TESTS_FUZZ_DATABASE_FUZZ_H
#define TESTS_FUZZ_DATABASE_FUZZ_H

#include <stdint.h>
#include <stdlib.h>

#include "formats/format.h"
#include "support/memory_file.h"

extern const struct format format_text;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void database_fuzz_ignore(struct stream_log *l, int severity, const char *text)
{
}

static void database_fuzz_read(const struct format *f, const char *path, bool ordered)
{
	static struct stream_log quiet = {database_fuzz_ignore};
	struct format_options o = {.output = "/dev/null", .force = true, .log = &quiet};
	struct stream_sink *sink;

	if (format_text.write(&o, &sink) != KYMO_OK)
		abort();
	f->read(path, NULL, ordered, sink, &o);
	format_text.sink_free(sink);
}

static inline int database_fuzz(const struct format *f, const uint8_t *data, size_t size)
{
	static struct memory_file file;

	if (!file.path[0] && !memory_file_open(&file))
		abort();
	if (!memory_file_set(&file, data, size))
		return 0;
	f->probe(file.path);
	database_fuzz_read(f, file.path, true);
	if (f->reads_ordered)
		database_fuzz_read(f, file.path, false);
	return 0;
}

#endif
