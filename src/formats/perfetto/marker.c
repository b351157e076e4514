/* SPDX-License-Identifier: Apache-2.0 */
/* What a marker says besides its name: where it belongs, and its values. */
#include <stdio.h>
#include <string.h>

#include "formats/perfetto/writer.h"
#include "stream/payload.h"

/* Text of the trace as such, terminated for as long as the event needs it. */
static const char *text_of(struct packet *p, const char *s, size_t n)
{
	char *copy = packet_room(p, n + 1);

	if (!copy)
		return NULL;
	memcpy(copy, s, n);
	copy[n] = '\0';
	return copy;
}

void marker_put_name(struct perfetto *p, const struct rec_marker *r)
{
	const char *name = r->name ? r->text : text_of(&p->packet, r->text, r->text_length);

	packet_name(&p->packet, name && *name ? name : r->scope ? "(scope)" : "(mark)");
	packet_category(&p->packet, "marker");
	if (r->domain)
		packet_category(&p->packet, p->trace->strings[r->domain].text);
	if (r->category)
		packet_category(&p->packet, p->trace->strings[r->category].text);
}

static void set_value(struct packet *p, Pf__DebugAnnotation *a, const struct payload_value *v)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t hex[2 * KYMO_PAYLOAD_MAX];

	switch (v->type) {
	case KYMO_PAYLOAD_INT64:
		packet_set_int(a, v->i);
		break;
	case KYMO_PAYLOAD_UINT64:
		packet_set_uint(a, v->u);
		break;
	case KYMO_PAYLOAD_DOUBLE:
		packet_set_double(a, v->d);
		break;
	case KYMO_PAYLOAD_STRING:
		packet_set_text(p, a, v->data, v->stored, v->stored < v->total);
		break;
	default:
		for (uint32_t i = 0; i < v->stored && i < KYMO_PAYLOAD_MAX; i++) {
			hex[2 * i] = (uint8_t)digits[v->data[i] >> 4];
			hex[2 * i + 1] = (uint8_t)digits[v->data[i] & 15];
		}
		packet_set_text(p, a, hex,
				2 * (v->stored < KYMO_PAYLOAD_MAX ? v->stored : KYMO_PAYLOAD_MAX),
				v->stored < v->total);
		break;
	}
}

void annotate_marker(struct perfetto *p, const struct rec_marker *r)
{
	struct packet *k = &p->packet;
	struct payload_value v;
	struct payload walk;
	char color[16], *text;

	if (k->bare)
		return;
	payload_init(&walk, r);
	while (payload_next(&walk, &v)) {
		const char *key = text_of(k, v.key, v.key_length);
		Pf__DebugAnnotation *a = key ? packet_annotation(k, *key ? key : "value") : NULL;

		if (a)
			set_value(k, a, &v);
	}
	if (walk.left_out)
		packet_add_uint(k, "values left out", walk.left_out);
	if (r->color) {
		snprintf(color, sizeof(color), "#%08x", r->color);
		packet_add_text(k, "color", color);
	}
	if (r->scope)
		packet_add_int(k, "scope", r->scope);
	if (r->base.scope) {
		uint32_t path = around_path(&p->around, r->base.process, r->base.scope);

		packet_add_int(k, "parent scope", r->base.scope);
		if (path)
			packet_add_text(k, "scopes", around_text(&p->around, path));
	}
	if (r->left_open)
		packet_add_text(k, "end", "its thread or process ended first");
	text = r->starter ? packet_room(k, 32) : NULL;
	if (text) {
		snprintf(text, 32, "%u", p->trace->threads[r->starter].tid);
		packet_add_text(k, "started by thread", text);
	}
}
