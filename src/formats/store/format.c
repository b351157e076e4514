/* SPDX-License-Identifier: Apache-2.0 */
/* The store as a format: `kymo export --to store` writes one anywhere. */
#include <stdio.h>
#include <unistd.h>

#include "formats/store/store.h"
#include "stream/output.h"

static kymo_status_t store_write(const struct format_options *o, struct stream_sink **sink)
{
	if (!o->output) {
		stream_error(o->log, "a store is a file: say where with --output");
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	if (output_replace(o->output, o->force, o->log) != KYMO_OK)
		return KYMO_ERROR_SYSTEM;
	return store_writer_new(o->output, NULL, o->log, sink);
}

const struct format format_store = {
	.name = "store",
	.kinds = FORMAT_KEEPS_EVERYTHING,
	.summary = "SQLite database of a trace, for `kymo query` and other SQL tools",
	.suffix = ".db",
	.write = store_write,
	.sink_free = store_writer_free,
};
