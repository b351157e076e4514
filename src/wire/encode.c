/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the encoder that is too big, or needed too seldom, to be copied into every wrapper. */
#include "wire/wire.h"

#define SHORT_COUNT 64u

/* ---- optional items ---- */

static uint8_t *put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, 4);
	return p + 4;
}

static uint8_t *put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, 8);
	return p + 8;
}

/* The ids of a record that is not simply the next of its thread. */
static uint8_t *put_ids(uint8_t *p, uint64_t expected, uint64_t id, uint64_t parent)
{
	int64_t d = (int64_t)(id - expected), up = parent ? (int64_t)(id - parent) : 0;

	if (d > INT32_MIN && d <= INT32_MAX && up > INT32_MIN && up <= INT32_MAX) {
		p = put32(p, (uint32_t)(int32_t)d);
		return put32(p, (uint32_t)(int32_t)up);
	}
	p = put32(p, (uint32_t)INT32_MIN); /* escape: both in full */
	p = put32(p, 0);
	p = put64(p, id);
	return put64(p, parent);
}

static uint32_t state_of(const struct wire_ring *r, const struct wire_event *v)
{
	return (v->scope != r->scope ? WIRE_STATE_SCOPE : 0u) |
	       (v->external != r->external ? WIRE_STATE_EXTERNAL : 0u) |
	       (v->stack ? WIRE_STATE_STACK : 0u) | (v->unwound ? WIRE_STATE_UNWOUND : 0u) |
	       (v->no_fields ? WIRE_STATE_NO_FIELDS : 0u);
}

static uint8_t *put_state(uint8_t *p, struct wire_ring *r, const struct wire_event *v,
			  uint32_t state)
{
	p = put32(p, state);
	if (state & WIRE_STATE_SCOPE)
		p = put64(p, (uint64_t)v->scope);
	if (state & WIRE_STATE_EXTERNAL)
		p = put64(p, v->external);
	if (state & WIRE_STATE_STACK)
		p = put32(p, v->stack);
	r->scope = v->scope;
	r->external = v->external;
	return p;
}

struct wire_stop wire_put_optional(uint8_t *p, struct wire_ring *r, const struct wire_event *v)
{
	uint64_t gap = v->end - r->last_tick, duration = v->end - v->start;
	uint32_t flags = 0, state = state_of(r, v);

	if (v->site >= 0xffff) {
		flags |= WIRE_SITE32;
		p = put32(p, v->site);
	}
	if ((gap | duration) >> 32) {
		flags |= WIRE_LONG;
		p = put64(put64(p, gap), duration);
	}
	if (v->id != r->next_id || v->parent) {
		flags |= WIRE_ID;
		p = put_ids(p, r->next_id, v->id, v->parent);
	}
	if (v->id >= r->next_id)
		r->next_id = v->id + 1;
	if (state) {
		flags |= WIRE_STATE;
		p = put_state(p, r, v, state);
	}
	if (v->has_status) {
		flags |= WIRE_STATUS;
		p = put32(p, (uint32_t)v->status);
	}
	return (struct wire_stop){p, flags};
}

/* ---- arrays ---- */

/* Code of the narrowest width that holds all elements: 1, 2, 3 for 1, 2, 4 bytes; 0: 8. */
static unsigned narrowest_width(const uint8_t *data, size_t n)
{
	uint64_t all = 0, v;

	for (size_t k = 0; k < n; k++) {
		memcpy(&v, data + 8 * k, 8);
		all |= v;
	}
	return all >> 32 ? 0u : all >> 16 ? 3u : all >> 8 ? 2u : 1u;
}

static uint8_t *put_narrow(uint8_t *p, const uint8_t *data, size_t n, unsigned code)
{
	unsigned width = 1u << (code - 1);

	for (size_t k = 0; k < n; k++) {
		memcpy(p, data + 8 * k, 8); /* WIRE_SLACK covers the excess */
		p += width;
	}
	return p;
}

/* Most arguments are a handle or a few numbers: a call of memcpy would cost more than they do. */
static uint8_t *put_bytes(uint8_t *p, const uint8_t *data, size_t n)
{
	uint64_t first, last;
	uint32_t low, high;

	if (n >= 8 && n <= 16) {
		memcpy(&first, data, 8);
		memcpy(&last, data + n - 8, 8);
		memcpy(p, &first, 8);
		memcpy(p + n - 8, &last, 8);
	} else if (n >= 4 && n < 8) {
		memcpy(&low, data, 4);
		memcpy(&high, data + n - 4, 4);
		memcpy(p, &low, 4);
		memcpy(p + n - 4, &high, 4);
	} else {
		memcpy(p, data, n);
	}
	return p + n;
}

static uint8_t *put_short(uint8_t *p, const void *data, size_t n, unsigned size)
{
	unsigned code = size == 8 && n ? narrowest_width(data, n) : 0;

	*p++ = (uint8_t)(n | code << 6);
	if (code)
		return put_narrow(p, data, n, code);
	return put_bytes(p, data, n * size);
}

struct wire_stop wire_put_array(uint8_t *p, uint8_t *limit, const void *data, size_t count,
				unsigned size, size_t cap)
{
	size_t room = limit > p ? (size_t)(limit - p) / size : 0, n = count;
	uint16_t stored;

	n = n > cap ? cap : n;
	n = n > room ? room : n;
	if (n == count && n < SHORT_COUNT)
		return (struct wire_stop){put_short(p, data, n, size), 1};
	stored = (uint16_t)n;
	memcpy(p, &stored, 2);
	p += 2;
	if (n < count)
		p = put32(p, count > UINT32_MAX ? UINT32_MAX : (uint32_t)count);
	memcpy(p, data, n * size);
	return (struct wire_stop){p + n * size, n < count ? 3 : 2};
}
