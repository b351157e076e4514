/* SPDX-License-Identifier: Apache-2.0 */
/* Single records as `kymo show` prints them, for who shows some of a trace. */
#ifndef FORMATS_TEXT_LINES_H
#define FORMATS_TEXT_LINES_H

#include "stream/output.h"

/*
 * A sink that writes each record which it is given as a line. The caller says where *out packs it to, and flushes.
 * NULL: no memory.
 */
struct stream_sink *text_lines_new(const struct trace *t, struct stream_log *log,
				   struct output **out);
void text_lines_free(struct stream_sink *s);

#endif
