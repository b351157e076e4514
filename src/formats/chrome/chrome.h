/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the format that its description (format.c) names. */
#ifndef FORMATS_CHROME_CHROME_H
#define FORMATS_CHROME_CHROME_H

#include "formats/format.h"

bool chrome_probe(const char *path);
kymo_status_t chrome_read(const char *path, const struct stream_filter *filter, bool ordered,
			  struct stream_sink *sink, const struct format_options *o);
kymo_status_t chrome_write(const struct format_options *o, struct stream_sink **sink);
void chrome_sink_free(struct stream_sink *sink);

#endif
