/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the encoder that is too big to be copied into every wrapper. */
#include "wire/wire.h"

#define SHORT_COUNT 64u

/* Code of the narrowest width that holds all elements: 1, 2, 3 for 1, 2, 4 bytes; 0: 8. */
static unsigned narrow(const uint8_t *data, size_t n)
{
	uint64_t all = 0, v;

	for (size_t k = 0; k < n; k++) {
		memcpy(&v, data + 8 * k, 8);
		all |= v;
	}
	return all >> 32 ? 0u : all >> 16 ? 3u : all >> 8 ? 2u : 1u;
}

static void put_narrow(struct wire_enc *e, const uint8_t *data, size_t n, unsigned code)
{
	unsigned width = 1u << (code - 1);

	for (size_t k = 0; k < n; k++) {
		memcpy(e->p, data + 8 * k, 8); /* WIRE_SLACK covers the excess */
		e->p += width;
	}
}

static void put_short(struct wire_enc *e, unsigned i, const void *data, size_t n, unsigned size)
{
	unsigned code = size == 8 && n ? narrow(data, n) : 0;

	*e->p++ = (uint8_t)(n | code << 6);
	wire_class(e, i, 1);
	if (code) {
		put_narrow(e, data, n, code);
		return;
	}
	memcpy(e->p, data, n * size);
	e->p += n * size;
}

void wire_array(struct wire_enc *e, unsigned i, const void *data, size_t count, unsigned size,
		size_t cap)
{
	size_t room, n = count;
	uint16_t stored;
	uint32_t total;

	if (!data)
		return;
	room = e->limit > e->p ? (size_t)(e->limit - e->p) / size : 0;
	n = n > cap ? cap : n;
	n = n > room ? room : n;
	if (n == count && n < SHORT_COUNT) {
		put_short(e, i, data, n, size);
		return;
	}
	stored = (uint16_t)n;
	memcpy(e->p, &stored, 2);
	e->p += 2;
	if (n < count) {
		total = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
		memcpy(e->p, &total, 4);
		e->p += 4;
	}
	wire_class(e, i, n < count ? 3 : 2);
	memcpy(e->p, data, n * size);
	e->p += n * size;
}
