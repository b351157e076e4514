/* SPDX-License-Identifier: Apache-2.0 */
/* Names as they were written in C++. */
#ifndef STREAM_DEMANGLE_H
#define STREAM_DEMANGLE_H

/* The name that a compiler made a symbol from, to be freed; NULL: it is not such a symbol. */
char *demangle(const char *symbol);

#endif
