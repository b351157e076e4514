/* SPDX-License-Identifier: Apache-2.0 */
/* Names as they were written in C++. */
#ifndef STREAM_DEMANGLE_H
#define STREAM_DEMANGLE_H

#include <stdbool.h>

#include "base/text.h"

/* The name that a compiler made a symbol from, to be freed; NULL: it is not such a symbol. */
char *demangle(const char *symbol);

/* From now on there is none such: names stay as the linker has them. Before traces are read. */
void demangle_never(void);
bool demangle_is_off(void);

/*
 * Adds the name of a function or kernel as C++ wrote it, without its result and parameters, and with "..." for template
 * arguments of template arguments. False: it has none of that, and is added as it is.
 */
bool name_shorten(struct text *out, const char *name);

#endif
