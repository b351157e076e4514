/* SPDX-License-Identifier: Apache-2.0 */
/* A file that may be compressed, to be mapped: as it is, or unpacked into a temporary one. */
#ifndef STREAM_UNPACK_H
#define STREAM_UNPACK_H

#include "stream/stream.h"

/*
 * The file itself, or what gzip packed in it, in a file without a name; below 0: said why. Where packed data is
 * damaged, what comes before is there, and `wrong` says what is wrong; else it stays.
 */
int unpack_open(const char *path, struct stream_log *log, const char **wrong);

#endif
