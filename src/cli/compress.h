/* SPDX-License-Identifier: Apache-2.0 */
/* Compressing the raw files of a trace, for commands that make one. */
#ifndef CLI_COMPRESS_H
#define CLI_COMPRESS_H

#include <stdbool.h>

/*
 * All in the folder raw/ of a trace that has no place yet: what it writes is not on disk before the caller has seen to
 * it, for all files at once. False: said why; what could not be compressed is as it was.
 */
bool cli_compress_folder(const char *raw);

#endif
