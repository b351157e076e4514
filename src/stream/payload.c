/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads of markers; see payload.h. */
#include "stream/payload.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEAD 8u

void payload_init(struct payload *p, const struct rec_marker *r)
{
	*p = (struct payload){0};
	if (!r->payload_bytes)
		return;
	p->left_out = r->payload[0];
	p->p = r->payload + 1;
	p->end = r->payload + r->payload_bytes;
}

bool payload_next(struct payload *p, struct payload_value *out)
{
	uint16_t stored;
	size_t room = (size_t)(p->end - p->p);

	if (room < HEAD)
		return false;
	*out = (struct payload_value){.type = p->p[0], .key_length = p->p[1]};
	memcpy(&stored, p->p + 2, 2);
	memcpy(&out->total, p->p + 4, 4);
	if (room < HEAD + out->key_length + stored)
		return false;
	out->key = (const char *)p->p + HEAD;
	out->data = p->p + HEAD + out->key_length;
	out->stored = stored;
	if (out->type <= KYMO_PAYLOAD_DOUBLE && stored == 8)
		memcpy(&out->u, out->data, 8);
	p->p += HEAD + out->key_length + stored;
	return true;
}

void payload_put(struct text *out, const char *key, size_t key_length, uint8_t type,
		 const void *data, size_t stored, size_t total)
{
	uint8_t head[HEAD] = {type, (uint8_t)(key_length < 255 ? key_length : 255)};
	uint16_t kept = (uint16_t)stored;
	uint32_t all = (uint32_t)(total < UINT32_MAX ? total : UINT32_MAX);

	memcpy(head + 2, &kept, sizeof(kept));
	memcpy(head + 4, &all, sizeof(all));
	text_add_bytes(out, (const char *)head, sizeof(head));
	text_add_bytes(out, key, head[1]);
	text_add_bytes(out, data, stored);
}

static void put_double(struct output *o, double d, bool json)
{
	char text[32];

	if (json && !isfinite(d)) {
		output_text(o, "null"); /* JSON knows no infinity */
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		double back;

		snprintf(text, sizeof(text), "%.*g", digits, d);
		if (sscanf(text, "%lf", &back) == 1 && back == d)
			break;
	}
	output_text(o, text);
}

static void put_bytes(struct output *o, const struct payload_value *v)
{
	static const char digits[] = "0123456789abcdef";

	for (uint32_t i = 0; i < v->stored; i++) {
		output_char(o, digits[v->data[i] >> 4]);
		output_char(o, digits[v->data[i] & 15]);
	}
}

static void put_value(struct output *o, const struct payload_value *v, bool json)
{
	switch (v->type) {
	case KYMO_PAYLOAD_INT64:
		output_signed(o, v->i);
		break;
	case KYMO_PAYLOAD_UINT64:
		output_unsigned(o, v->u);
		break;
	case KYMO_PAYLOAD_DOUBLE:
		put_double(o, v->d, json);
		break;
	case KYMO_PAYLOAD_STRING:
		output_json_bytes(o, (const char *)v->data, v->stored);
		break;
	default:
		output_char(o, '"');
		put_bytes(o, v);
		output_char(o, '"');
		break;
	}
	if (v->stored < v->total && !json)
		output_text(o, "...");
}

static void put_key(struct output *o, const struct payload_value *v, bool json)
{
	if (json) {
		output_json_bytes(o, v->key, v->key_length);
		output_char(o, ':');
	} else {
		output_plain(o, v->key, v->key_length);
		output_char(o, '=');
	}
}

static void put_all(struct output *o, const struct rec_marker *r, bool json)
{
	struct payload_value v;
	struct payload p;
	bool first = true;

	payload_init(&p, r);
	while (payload_next(&p, &v)) {
		if (!first)
			output_text(o, json ? "," : ", ");
		first = false;
		put_key(o, &v, json);
		put_value(o, &v, json);
	}
	if (p.left_out && !json) {
		output_text(o, first ? "" : ", ");
		output_unsigned(o, p.left_out);
		output_text(o, p.left_out == 1 ? " value left out" : " values left out");
	}
}

void payload_text(struct output *o, const struct rec_marker *r)
{
	put_all(o, r, false);
}

void payload_json(struct output *o, const struct rec_marker *r)
{
	output_char(o, '{');
	put_all(o, r, true);
	output_char(o, '}');
}
