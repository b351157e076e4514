/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of a call as the store keeps them: the fields of the wire record, self-contained.
 *
 *   classes     two bits a field, ceil(fields / 4) bytes, little endian
 *   base u16    bits 32..47 of the pointer base, only if a pointer of class 2 follows;
 *               0xffff is followed by bits 32..63 as u32
 *   fields      as on the wire, without padding
 *
 * NULL where arguments were not recorded, and for operations that have none.
 */
#ifndef FORMATS_STORE_ARGS_H
#define FORMATS_STORE_ARGS_H

#include "stream/stream.h"

/* Numbers of one byte may become ids of eight. */
#define ARGS_MAX (WIRE_RECORD_MAX + 20u + 7u * KYMO_FIELDS_MAX)

/*
 * Writes the fields of `r` to `out`, which has ARGS_MAX bytes; returns the length, 0 for NULL.
 * References become ids of the store's tables.
 */
uint32_t args_pack(const struct trace *t, const struct rec *r, uint8_t *out);

/* Fills the part of `w` that field access needs; it borrows `data`. False: not such data. */
bool args_unpack(const struct t_op *op, const void *data, size_t length, struct wire_record *w);

#endif
