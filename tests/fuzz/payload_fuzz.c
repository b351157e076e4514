/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as the payload of a marker, walked, as text, as JSON, which others can read, and in the writers of formats;
 * then as values that a program hands over (a type, the length of the key, that of the value, the key, the value), which come
 * back as they were, as far as they are kept.
 */
#include "core/marker/marker.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "formats/format.h"
#include "fuzz/input.h"
#include "record/fields.h"
#include "stream/keyed.h"
#include "stream/payload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 4096, VALUES = 32, TIME = 1000000 };

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* ---- walked, as text, as JSON ------------------------------------------------------------------ */

static bool keep(void *packer, const char *data, size_t n)
{
	text_add_bytes(packer, data, n);
	return true;
}

static void write_out(const struct rec_marker *r,
		      void (*write)(struct output *, const struct rec_marker *), struct text *out)
{
	struct output o = {.fd = -1, .pack = keep, .packer = out};

	write(&o, r);
	output_flush(&o);
	check(output_status(&o) == KYMO_OK && !out->failed);
	free(o.data);
}

/* How many values it has; *zeros: a key has a zero in it, which not all readers of JSON take. */
static unsigned walk(const struct rec_marker *r, bool *zeros)
{
	const uint8_t *end = r->payload + r->payload_bytes;
	struct payload_value v;
	struct payload p;
	unsigned n = 0;

	payload_init(&p, r);
	for (; payload_next(&p, &v); n++) {
		check((const uint8_t *)v.key > r->payload && v.data + v.stored <= end);
		check((const uint8_t *)v.key + v.key_length == v.data);
		*zeros |= memchr(v.key, '\0', v.key_length) != NULL;
	}
	return n;
}

static void check_texts(const struct rec_marker *r)
{
	struct text plain = {0}, object = {0};
	bool zeros = false;
	unsigned values = walk(r, &zeros);
	json_t *read;

	write_out(r, payload_text, &plain);
	write_out(r, payload_json, &object);
	read = json_loadb(object.s, object.length, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
	check(zeros || (json_is_object(read) && json_object_size(read) <= values));
	json_decref(read);
	text_release(&plain);
	text_release(&object);
}

/* ---- in writers -------------------------------------------------------------------------------- */

static struct keyed keyed;
static struct make_activities model;

static void prepare(void)
{
	keyed.t = trace_new();
	check(keyed.t != NULL);
	make_activities(keyed.t, &model);
	for (uint32_t op = MARKER_OP_MARK; op <= MARKER_OP_PROCESS_RANGE; op++)
		make_activity(&model, RECORD_DOMAIN_marker, op);
	keyed_thread(&keyed, 1, keyed_process(&keyed, 1, 4000), 4000);
	keyed_text(&keyed, "name", 4);
	keyed.t->origin = TIME;
	keyed.t->end = 2 * TIME;
	check(keyed_complete(&keyed, TIME, 2 * TIME) && make_complete(keyed.t));
}

static void ignore(struct stream_log *l, int severity, const char *text)
{
}

static void write_with(const struct format *f, struct rec_marker r)
{
	static struct stream_log quiet = {ignore};
	const struct format_options o = {.output = "/dev/null", .force = true, .log = &quiet};
	struct stream_sink *sink;

	check(f->write(&o, &sink) == KYMO_OK);
	stream_sink_complete(sink);
	sink->begin(sink, keyed.t);
	for (uint32_t op = MARKER_OP_MARK; op <= MARKER_OP_PROCESS_RANGE; op++) {
		r.base.op = make_activity(&model, RECORD_DOMAIN_marker, op);
		r.base.start = r.base.end = TIME + 10 * op;
		r.base.end += op == MARKER_OP_MARK ? 0 : 5;
		r.scope = op == MARKER_OP_MARK ? 0 : op;
		sink->marker(sink, &r);
	}
	sink->end(sink, keyed.t);
	f->sink_free(sink);
}

static void write_all(const struct rec_marker *r)
{
	static const char *const names[] = {"text", "json", "chrome", "perfetto", "xspace"};

	if (!keyed.t)
		prepare();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct format *f = format_find(names[i]);

		if (f)
			write_with(f, *r);
	}
}

/* ---- as a program hands them over -------------------------------------------------------------- */

struct given {
	char key[256];
	uint8_t value[256];
};

static kymo_payload_t take_value(struct input *in, struct given *g)
{
	kymo_payload_t p = {.key = g->key, .type = (uint32_t)input_bytes(in, 1) % 8};
	size_t key = input_bytes(in, 1), value = input_bytes(in, 1);
	const uint8_t *s = input_text(in, &key);

	memcpy(g->key, s, key);
	g->key[key] = '\0';
	s = input_text(in, &value);
	memcpy(g->value, s, value);
	if (p.type == KYMO_PAYLOAD_STRING || p.type == KYMO_PAYLOAD_BYTES) {
		p.value.p = g->value;
		p.length = value ? value : p.type == KYMO_PAYLOAD_BYTES ? 0 : 1;
	} else {
		memcpy(&p.value.u, g->value, sizeof(p.value.u));
	}
	return p;
}

static bool is_kept(const kymo_payload_t *given, const struct payload_value *v)
{
	size_t key = strlen(given->key);

	if (v->type != given->type || v->key_length > key ||
	    memcmp(v->key, given->key, v->key_length) != 0)
		return false;
	if (given->type <= KYMO_PAYLOAD_DOUBLE)
		return v->u == given->value.u;
	return v->total == given->length && v->stored <= v->total &&
	       memcmp(v->data, given->value.p, v->stored) == 0;
}

static void hand_over(struct input in)
{
	static struct given memory[VALUES];
	static uint8_t bytes[MARKER_PAYLOAD_MAX];
	kymo_payload_t values[VALUES];
	struct rec_marker r = {.payload = bytes};
	struct payload_value v;
	struct payload p;
	uint32_t n = 0, next = 0;
	bool zeros = false;

	memset(memory, 0, sizeof(memory));
	while (n < VALUES && input_left(&in)) {
		values[n] = take_value(&in, &memory[n]);
		n++;
	}
	r.payload_bytes = (uint32_t)marker_payload_put(bytes, 0, values, n);
	check(r.payload_bytes <= sizeof(bytes));
	payload_init(&p, &r);
	/* Of those that are left out nothing is there; the others are in their order. */
	for (; payload_next(&p, &v); next++) {
		while (next < n && !is_kept(&values[next], &v))
			next++;
		check(next < n);
	}
	check(walk(&r, &zeros) + p.left_out <= n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rec_marker r = {.base = {.process = 1, .thread = 1, .ok = true},
			       .name = 1,
			       .text = "name",
			       .text_length = 4,
			       .starter = 1,
			       .payload_bytes = (uint32_t)(size < MOST ? size : MOST)};
	uint8_t *copy = malloc(r.payload_bytes ? r.payload_bytes : 1); /* with an end of its own */

	check(copy != NULL);
	memcpy(copy, data, r.payload_bytes);
	r.payload = copy;
	check_texts(&r);
	write_all(&r);
	free(copy);
	hand_over((struct input){data, data + size});
	return 0;
}
