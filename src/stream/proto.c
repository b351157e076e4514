/* SPDX-License-Identifier: Apache-2.0 */
/* See proto.h. */
#include "stream/proto.h"

static bool varint(struct proto_walk *w, uint64_t *out)
{
	*out = 0;
	for (unsigned shift = 0; w->p < w->end && shift < 64; shift += 7) {
		uint8_t byte = *w->p++;

		*out |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return true;
	}
	return false;
}

static bool bytes(struct proto_walk *w, size_t n, uint64_t *out)
{
	*out = 0;
	if ((size_t)(w->end - w->p) < n)
		return false;
	memcpy(out, w->p, n);
	w->p += n;
	return true;
}

static bool part(struct proto_walk *w, struct part *out)
{
	uint64_t n;

	if (!varint(w, &n) || n > (uint64_t)(w->end - w->p))
		return false;
	*out = (struct part){w->p, (size_t)n};
	w->p += n;
	return true;
}

static bool value(struct proto_walk *w, struct proto_field *f)
{
	switch (f->type) {
	case PROTO_NUMBER:
		return varint(w, &f->v);
	case PROTO_8_BYTES:
		return bytes(w, 8, &f->v);
	case PROTO_PART:
		return part(w, &f->s);
	case PROTO_4_BYTES:
		return bytes(w, 4, &f->v);
	default:
		return false;
	}
}

bool proto_number(struct proto_walk *w, uint64_t *out)
{
	w->broken = !varint(w, out);
	if (w->broken)
		w->p = w->end;
	return !w->broken;
}

bool proto_next(struct proto_walk *w, struct proto_field *f)
{
	uint64_t tag;

	if (w->p >= w->end)
		return false;
	*f = (struct proto_field){0};
	w->broken = !varint(w, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX;
	if (!w->broken) {
		f->number = (uint32_t)(tag >> 3);
		f->type = tag & 7;
		w->broken = !value(w, f);
	}
	if (w->broken)
		w->p = w->end;
	return !w->broken;
}
