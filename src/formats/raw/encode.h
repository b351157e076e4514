/* SPDX-License-Identifier: Apache-2.0 */
/* Typed records onto the wire: the way back from raw_decode(). Generated from the record model. */
#ifndef FORMATS_RAW_ENCODE_H
#define FORMATS_RAW_ENCODE_H

#include "formats/raw/chunk.h"
#include "record/fields.h"

/*
 * Writes the fields of `r`, which is a record (rec_dispatch ...) of that kind and of op number `op` of its domain in this version's
 * record model, as that model lists them. `x` has the values that readers do not keep as they lie on the
 * wire. References are ids; `wire_ops` has the numbers of ops on the wire by their index. Fields that a
 * publisher's times take (KYMO_OP_TIMED) follow and are the caller's.
 */
void raw_encode(struct wire_enc *e, enum raw_kind kind, uint32_t op, const void *r,
		const struct record_rest *x, const uint16_t *wire_ops);

#endif
