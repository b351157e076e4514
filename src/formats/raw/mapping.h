/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file mapped for reading that may be cut meanwhile, by a recording that is replaced or a disk
 * that is tidied: reading beyond its new end gives zeros, and not the end of this process.
 */
#ifndef FORMATS_RAW_MAPPING_H
#define FORMATS_RAW_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct raw_mapping;

/* False: errno tells. An empty file has no data. */
bool raw_map(const char *path, struct raw_mapping **out, const uint8_t **data, size_t *size);
void raw_unmap(struct raw_mapping *m);

/* Something was read that was no longer there. */
bool raw_mapping_cut(const struct raw_mapping *m);

#endif
