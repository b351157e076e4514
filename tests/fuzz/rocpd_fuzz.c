/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as a ROCpd database, read in both orders into the text writer. */
#include <stdint.h>
#include <stdlib.h>

#include "formats/format.h"
#include "support/memory_file.h"

extern const struct format format_rocpd, format_text;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(struct stream_log *l, int severity, const char *text)
{
}

static struct stream_log quiet = {ignore};

static void read_as_text(const char *path, bool ordered)
{
	struct format_options o = {.output = "/dev/null", .force = true, .log = &quiet};
	struct stream_sink *sink;

	if (format_text.write(&o, &sink) != KYMO_OK)
		abort();
	format_rocpd.read(path, NULL, ordered, sink, &o);
	format_text.sink_free(sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory_file file;

	if (!file.path[0] && !memory_file_open(&file))
		abort();
	if (memory_file_set(&file, data, size)) {
		format_rocpd.probe(file.path);
		read_as_text(file.path, true);
		read_as_text(file.path, false);
	}
	return 0;
}
