/* SPDX-License-Identifier: Apache-2.0 */
/* Writing and reading definitions; see defs.h for the layout. */
#include "base/assert.h"
#include "wire/defs.h"

#include <string.h>

enum { TAG_U64 = 0, TAG_BYTES = 1 };

static size_t padded_size(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

void wire_def_u64(struct wire_def *d, uint64_t value)
{
	kymo_assert(d->count < WIRE_DEF_VALUES);
	d->v[d->count++] = (struct wire_def_value){.u = value};
}

void wire_def_bytes(struct wire_def *d, const void *data, size_t length)
{
	kymo_assert(d->count < WIRE_DEF_VALUES && length < 1u << 28);
	d->v[d->count++] = (struct wire_def_value){.is_bytes = true, .s = data, .length = length};
}

void wire_def_string(struct wire_def *d, const char *s)
{
	wire_def_bytes(d, s ? s : "", s ? strlen(s) : 0);
}

size_t wire_def_size(const struct wire_def *d)
{
	size_t n = 8;

	for (unsigned i = 0; i < d->count; i++)
		n += 4 + (d->v[i].is_bytes ? padded_size(d->v[i].length) : 8);
	return n;
}

static uint8_t *put_padded(uint8_t *p, const void *data, size_t n)
{
	memcpy(p, data, n);
	return p + n;
}

void wire_def_write(const struct wire_def *d, void *out)
{
	uint32_t bytes = (uint32_t)wire_def_size(d);
	uint8_t *p = put_padded(out, &d->kind, 2);

	p = put_padded(p, &d->count, 2);
	p = put_padded(p, &bytes, 4);
	for (unsigned i = 0; i < d->count; i++) {
		const struct wire_def_value *v = &d->v[i];
		uint32_t tag =
			v->is_bytes ? TAG_BYTES | (uint32_t)v->length << 4 : TAG_U64 | 8u << 4;

		p = put_padded(p, &tag, 4);
		if (!v->is_bytes) {
			p = put_padded(p, &v->u, 8);
			continue;
		}
		if (v->length)
			p = put_padded(p, v->s, v->length);
		memset(p, 0, padded_size(v->length) - v->length);
		p += padded_size(v->length) - v->length;
	}
}

static bool read_value(const uint8_t **p, const uint8_t *end, struct wire_def_value *v)
{
	uint32_t tag;
	size_t length;

	if (end - *p < 4)
		return false;
	memcpy(&tag, *p, 4);
	*p += 4;
	length = tag >> 4;
	if ((size_t)(end - *p) < padded_size(length))
		return false;
	*v = (struct wire_def_value){.is_bytes = (tag & 0xf) == TAG_BYTES};
	if (v->is_bytes) {
		v->s = (const char *)*p;
		v->length = length;
	} else {
		memcpy(&v->u, *p, length < 8 ? length : 8);
	}
	*p += padded_size(length);
	return true;
}

int wire_def_read(const uint8_t **p, const uint8_t *end, struct wire_def *out)
{
	uint32_t bytes;
	uint16_t count;
	const uint8_t *q = *p, *stop;

	if (q == end)
		return 0;
	if (end - q < 8)
		return -1;
	memcpy(&out->kind, q, 2);
	memcpy(&count, q + 2, 2);
	memcpy(&bytes, q + 4, 4);
	if (bytes < 8 || (size_t)(end - q) < bytes)
		return -1;
	stop = q + bytes;
	q += 8;
	out->count = 0;
	for (unsigned i = 0; i < count && i < WIRE_DEF_VALUES; i++) {
		if (!read_value(&q, stop, &out->v[i]))
			return -1;
		out->count++;
	}
	*p = stop;
	return 1;
}

uint64_t wire_def_get(const struct wire_def *d, unsigned i)
{
	return i < d->count && !d->v[i].is_bytes ? d->v[i].u : 0;
}

const char *wire_def_text(const struct wire_def *d, unsigned i, size_t *length)
{
	bool there = i < d->count && d->v[i].is_bytes;

	*length = there ? d->v[i].length : 0;
	return there ? d->v[i].s : "";
}
