/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_copy TRACE COPY: reads a trace and writes it anew with the writer that imports use. Both must say the
 * same.
 */
#include <stdio.h>
#include <string.h>

#include "formats/format.h"
#include "formats/raw/write.h"

static void on_message(struct stream_log *l, int severity, const char *text)
{
	fprintf(stderr, "%d %s\n", severity, text);
}

int main(int argc, char **argv)
{
	struct stream_log log = {on_message};
	const struct format_options o = {.log = &log};
	const struct raw_origin origin = {.file = argc > 1 ? argv[1] : "", .format = "raw"};
	struct stream_sink *sink;
	kymo_status_t status;

	if (argc != 3) {
		fprintf(stderr, "usage: raw_copy TRACE COPY\n");
		return 2;
	}
	if (raw_writer_new(argv[2], &origin, &log, &sink) != KYMO_OK)
		return 1;
	status = format_find("raw")->read(argv[1], NULL, false, sink, &o);
	raw_writer_free(sink);
	return status == KYMO_OK ? 0 : 1;
}
