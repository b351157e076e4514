/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of an event, packed as payloads of markers are (stream/payload.h): of marks and ranges they
 * are that; of calls they become the fields of the operation that have their names.
 */
#ifndef FORMATS_CHROME_VALUES_H
#define FORMATS_CHROME_VALUES_H

#include "formats/chrome/reader.h"

enum { VALUES_MAX = 1024, VALUE_MAX = 256 /* bytes kept of all, and of one */ };

/* Adds the members of `args` to `out`, which is empty; nothing where there are none. */
void values_pack(struct text *out, struct text *scratch, struct span args);

/* The fields of `op` from the packed values. `lost`: counts what does not fit its field, or has none. */
const struct wire_record *values_fields(struct make_fields *m, const struct t_op *op,
					const uint8_t *values, uint32_t n, uint64_t *lost);

/* A number of that name; 0: there is none. */
uint64_t values_unsigned(const uint8_t *values, uint32_t n, const char *name);

#endif
