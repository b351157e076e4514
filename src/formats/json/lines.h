/* SPDX-License-Identifier: Apache-2.0 */
/* Single records as JSON lines have them, for who shows some of a trace: without its definitions. */
#ifndef FORMATS_JSON_LINES_H
#define FORMATS_JSON_LINES_H

#include "stream/output.h"

/*
 * A sink that writes each record which it is given as a line. The caller says where *out packs it to, and flushes.
 * NULL: no memory.
 */
struct stream_sink *json_lines_new(const struct trace *t, struct output **out);
void json_lines_free(struct stream_sink *s);

#endif
