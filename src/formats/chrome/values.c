/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of events; see values.h. */
#include "formats/chrome/values.h"

#include <stdio.h>

#include "stream/payload.h"

static void put_value(struct text *out, struct span key, uint8_t type, const void *data,
		      size_t stored, size_t total)
{
	payload_put(out, key.s, key.n, type, data, stored, total);
}

static void pack_one(struct text *out, struct text *scratch, struct span key, struct span value)
{
	struct span text = value;
	uint64_t u;
	int64_t i;
	double d;

	if (!span_is_string(value) && span_signed(value, &i))
		put_value(out, key, KYMO_PAYLOAD_INT64, &i, sizeof(i), sizeof(i));
	else if (!span_is_string(value) && span_unsigned(value, &u))
		put_value(out, key, KYMO_PAYLOAD_UINT64, &u, sizeof(u), sizeof(u));
	else if (span_real(value, &d))
		put_value(out, key, KYMO_PAYLOAD_DOUBLE, &d, sizeof(d), sizeof(d));
	else if (!span_is_string(value) || span_string(value, scratch, &text))
		put_value(out, key, KYMO_PAYLOAD_STRING, text.s,
			  text.n < VALUE_MAX ? text.n : VALUE_MAX, text.n);
}

static size_t size_of(struct span key, struct span value)
{
	return 8 + (key.n < 255 ? key.n : 255) + (value.n < VALUE_MAX ? value.n + 8 : VALUE_MAX);
}

/* The first byte counts what there was no room for. */
void values_pack(struct text *out, struct text *scratch, struct span args)
{
	unsigned left_out = 0;
	struct span_walk w;
	struct span key, value;

	out->length = 0;
	if (!span_object(args, &w))
		return;
	text_add_bytes(out, "", 1);
	while (span_member(&w, &key, &value)) {
		if (reader_is_own_arg(key))
			continue;
		if (out->length + size_of(key, value) <= VALUES_MAX)
			pack_one(out, scratch, key, value);
		else
			left_out++;
	}
	if (out->length == 1 && !left_out)
		out->length = 0;
	else if (out->s)
		out->s[0] = (char)(left_out < 255 ? left_out : 255);
}

/* ---- fields of calls ------------------------------------------------------------------------- */

static bool value_named(const uint8_t *values, uint32_t n, const char *name,
			struct payload_value *v)
{
	const struct rec_marker r = {.payload = values, .payload_bytes = n};
	struct payload p;

	payload_init(&p, &r);
	while (payload_next(&p, v))
		if (v->key_length == strlen(name) && memcmp(v->key, name, v->key_length) == 0)
			return true;
	return false;
}

static bool put_number(struct make_fields *m, const struct payload_value *v)
{
	struct span text = {(const char *)v->data, v->stored};
	int64_t i;
	uint64_t u;

	if (v->type == KYMO_PAYLOAD_INT64 || v->type == KYMO_PAYLOAD_UINT64)
		make_number(m, v->u);
	else if (v->type == KYMO_PAYLOAD_STRING && span_signed(text, &i))
		make_number(m, (uint64_t)i);
	else if (v->type == KYMO_PAYLOAD_STRING && span_unsigned(text, &u))
		make_number(m, u);
	else
		return false;
	return true;
}

static void put_text(struct make_fields *m, const struct payload_value *v)
{
	char number[40];

	if (v->type == KYMO_PAYLOAD_STRING) {
		make_text(m, (const char *)v->data, v->stored);
		return;
	}
	if (v->type == KYMO_PAYLOAD_DOUBLE)
		snprintf(number, sizeof(number), "%.17g", v->d);
	else if (v->type == KYMO_PAYLOAD_UINT64)
		snprintf(number, sizeof(number), "%llu", (unsigned long long)v->u);
	else
		snprintf(number, sizeof(number), "%lld", (long long)v->i);
	make_text(m, number, strlen(number));
}

uint64_t values_unsigned(const uint8_t *values, uint32_t n, const char *name)
{
	struct payload_value v;
	uint64_t u;

	if (!value_named(values, n, name, &v))
		return 0;
	if (v.type == KYMO_PAYLOAD_STRING)
		return span_unsigned((struct span){(const char *)v.data, v.stored}, &u) ? u : 0;
	return v.type == KYMO_PAYLOAD_INT64 && v.i < 0 ? 0 : v.u;
}

static uint32_t count_values(const uint8_t *values, uint32_t n)
{
	const struct rec_marker r = {.payload = values, .payload_bytes = n};
	struct payload_value v;
	struct payload p;
	uint32_t count = 0;

	payload_init(&p, &r);
	while (payload_next(&p, &v))
		count++;
	return count + p.left_out;
}

const struct wire_record *values_fields(struct make_fields *m, const struct t_op *op,
					const uint8_t *values, uint32_t n, uint64_t *lost)
{
	uint32_t all = count_values(values, n), put = 0;
	struct payload_value v;

	make_fields_begin(m, op);
	for (uint32_t i = 0; i < op->field_count; i++) {
		if (!value_named(values, n, op->fields[i].name, &v))
			make_absent(m);
		else if (op->fields[i].kind == KYMO_KIND_STRING) {
			put_text(m, &v);
			put++;
		} else if (put_number(m, &v))
			put++;
		else
			make_absent(m);
	}
	*lost += all > put ? all - put : 0;
	return make_fields_end(m);
}
