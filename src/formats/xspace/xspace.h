/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the format that its description (format.c) names, and what both directions know of it. */
#ifndef FORMATS_XSPACE_XSPACE_H
#define FORMATS_XSPACE_XSPACE_H

#include "formats/format.h"

#define XSPACE_SUFFIX      ".xplane.pb"
#define XSPACE_SCOPE_TREE  "/host:__ScopeRangeCallStack__"
#define XSPACE_ENVIRONMENT "Task Environment"
#define XSPACE_HOST        "/host:CPU"
#define XSPACE_GPU         "/device:GPU:"
#define XSPACE_CUSTOM      "/device:CUSTOM:"

/* Lines from this id on are made by readers of the format, of what the others say. */
#define XSPACE_DERIVED 0xdeadbeef

/* From here to there: further lines of one whose events overlap. */
#define XSPACE_LANES 0x60000000

/* Names of lines that are no threads. */
#define XSPACE_LINE_RANGES   "Process ranges"
#define XSPACE_LINE_MESSAGES "Messages"
#define XSPACE_LINE_COUNTERS "_counters_"

bool xspace_probe(const char *path);
kymo_status_t xspace_read(const char *path, const struct stream_filter *filter, bool ordered,
			  struct stream_sink *sink, const struct format_options *o);
kymo_status_t xspace_write(const struct format_options *o, struct stream_sink **sink);
void xspace_sink_free(struct stream_sink *sink);

#endif
