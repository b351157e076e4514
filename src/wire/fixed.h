/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers whose class (wire.h) the encoder knows before it sees them, because it has looked at all of
 * them at once: a run of such fields is nothing but stores.
 */
#ifndef WIRE_FIXED_H
#define WIRE_FIXED_H

#include "wire/wire.h"

#define WIRE_CLASS_U8  1u
#define WIRE_CLASS_U32 2u
#define WIRE_CLASS_U64 3u

/* As wire_unsigned(), with a constant class that `v` fits into, if not tightly. */
static inline __attribute__((always_inline)) void wire_unsigned_as(struct wire_enc *e, unsigned i,
								   uint64_t v, unsigned c)
{
	kymo_assert(c == WIRE_CLASS_U64 || v >> (c == WIRE_CLASS_U8 ? 8 : 32) == 0);
	memcpy(e->p, &v, 8);
	e->p += (0x8410u >> (c * 4)) & 0xfu;
	wire_class(e, i, c);
}

#endif
