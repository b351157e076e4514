/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of calls as words, and what becomes of them in records: by kind, for all backends. */
#ifndef WIRE_VALUE_H
#define WIRE_VALUE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <kymo/schema.h>

#include "wire/wire.h"

/* The integer of 1, 2, 4 or 8 bytes that lies there, as a word. */
static inline uint64_t wire_load(const void *at, unsigned size, bool negative)
{
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	switch (size) {
	case 1:
		memcpy(&u8, at, 1);
		return negative ? (uint64_t)(int8_t)u8 : u8;
	case 2:
		memcpy(&u16, at, 2);
		return negative ? (uint64_t)(int16_t)u16 : u16;
	case 4:
		memcpy(&u32, at, 4);
		return negative ? (uint64_t)(int32_t)u32 : u32;
	default:
		memcpy(&u64, at, 8);
		return u64;
	}
}

/* Field `i` of a kind that has one word. A string is an address; at most `text` bytes; 0: none. */
static inline void wire_value(struct wire_enc *e, unsigned i, unsigned kind, unsigned size,
			      uint64_t v, unsigned text)
{
	switch (kind) {
	case KYMO_KIND_POINTER:
	case KYMO_KIND_HANDLE:
		wire_pointer(e, i, (const void *)(uintptr_t)v);
		break;
	case KYMO_KIND_STRING:
		if (text)
			wire_string(e, i, (const char *)(uintptr_t)v, text);
		break;
	case KYMO_KIND_SIGNED:
		wire_signed(e, i, (int64_t)v, size);
		break;
	default:
		wire_unsigned(e, i, v);
	}
}

#endif
