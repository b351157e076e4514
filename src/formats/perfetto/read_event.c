/* SPDX-License-Identifier: Apache-2.0 */
/* What an event says: its name and categories, flows, annotations. Nested values become one text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/perfetto/reader.h"

enum { DEPTH_MAX = 8, TEXT_MAX = 4000 };

struct part pfread_message(const struct pfreader *r, const struct event *e)
{
	return (struct part){r->in.data + e->at, e->length};
}

/* ---- annotations ------------------------------------------------------------------------------ */

static void put_unsigned(struct text *out, uint64_t v)
{
	char digits[20];
	size_t n = sizeof(digits);

	do
		digits[--n] = (char)('0' + v % 10);
	while (v /= 10);
	text_add_bytes(out, digits + n, sizeof(digits) - n);
}

/* One field of a value, of an annotation or of what is nested in one. */
static void put_scalar(struct text *out, const struct proto_field *f)
{
	double d;

	switch (f->number) {
	case 2:
		text_add(out, f->v ? "true" : "false");
		break;
	case 3:
		put_unsigned(out, f->v);
		break;
	case 4:
		text_addf(out, "%lld", (long long)f->v);
		break;
	case 7:
		text_addf(out, "0x%llx", (unsigned long long)f->v);
		break;
	default:
		memcpy(&d, &f->v, sizeof(d));
		text_addf(out, "%.17g", d);
	}
}

static bool is_scalar(const struct proto_field *f)
{
	bool number = f->number == 2 || f->number == 3 || f->number == 4 || f->number == 7;

	return (number && f->type == PROTO_NUMBER) || (f->number == 5 && f->type == PROTO_8_BYTES);
}

static void put_string(const struct pfreader *r, uint32_t generation, struct text *out,
		       const struct proto_field *f)
{
	uint32_t string;

	if (f->number == 6 || f->number == 9) {
		text_add_bytes(out, (const char *)f->s.s, f->s.n < TEXT_MAX ? f->s.n : TEXT_MAX);
		return;
	}
	string = (uint32_t)pfread_interned(r, generation, INTERNED_TEXT, f->v);
	text_add_bytes(out, pfread_string(r, string), r->t->strings[string].length);
}

static bool is_string(const struct proto_field *f)
{
	return ((f->number == 6 || f->number == 9) && f->type == PROTO_PART) ||
	       (f->number == 17 && f->type == PROTO_NUMBER);
}

static void put_key(const struct pfreader *r, uint32_t generation, struct text *out, struct part m)
{
	struct proto_walk w = proto_walk(m);
	struct proto_field f;

	while (proto_next(&w, &f)) {
		if (f.number == 10 && f.type == PROTO_PART) {
			text_add_bytes(out, (const char *)f.s.s, f.s.n < 255 ? f.s.n : 255);
			text_add(out, ": ");
		} else if (f.number == 1 && f.type == PROTO_NUMBER) {
			text_add(out, pfread_string(
					      r, (uint32_t)pfread_interned(
							 r, generation, INTERNED_ANNOTATION, f.v)));
			text_add(out, ": ");
		}
	}
}

/* "[1, 2]", "{a: 1, b: [2]}" of an annotation that has others in it. */
static void put_nested(const struct pfreader *r, uint32_t generation, struct text *out,
		       struct part m, unsigned depth)
{
	struct proto_walk w = proto_walk(m);
	struct proto_field f;
	unsigned n = 0;
	char close = 0;

	while (proto_next(&w, &f) && out->length < TEXT_MAX) {
		bool inner = f.type == PROTO_PART && (f.number == 11 || f.number == 12);

		if (is_scalar(&f))
			put_scalar(out, &f);
		else if (is_string(&f))
			put_string(r, generation, out, &f);
		if (!inner)
			continue;
		if (depth == DEPTH_MAX) {
			text_add(out, "...");
			return;
		}
		text_add(out, n++ ? ", " : f.number == 11 ? "{" : "[");
		close = f.number == 11 ? '}' : ']';
		if (f.number == 11)
			put_key(r, generation, out, f.s);
		put_nested(r, generation, out, f.s, depth + 1);
	}
	if (close)
		text_add_bytes(out, &close, 1);
}

static void set_scalar(struct note *n, const struct proto_field *f)
{
	static const uint8_t types[] = {[2] = NOTE_UNSIGNED,
					[3] = NOTE_UNSIGNED,
					[4] = NOTE_SIGNED,
					[5] = NOTE_REAL,
					[7] = NOTE_POINTER};

	n->type = types[f->number];
	n->u = f->v;
}

static void begin_text(struct notes *all, struct note *n)
{
	n->type = NOTE_TEXT;
	n->at = (uint32_t)all->texts.length;
}

static void end_text(struct notes *all, struct note *n)
{
	n->n = (uint32_t)(all->texts.length - n->at);
	text_add_bytes(&all->texts, "", 1);
}

static void read_note(struct pfreader *r, uint32_t generation, struct notes *all, struct part m)
{
	struct proto_walk w = proto_walk(m);
	struct note *n = &all->list[all->count];
	struct proto_field f;
	bool nested = false;

	*n = (struct note){0};
	while (proto_next(&w, &f)) {
		if (f.number == 1 && f.type == PROTO_NUMBER) {
			n->name =
				(uint32_t)pfread_interned(r, generation, INTERNED_ANNOTATION, f.v);
		} else if (f.number == 10 && f.type == PROTO_PART) {
			n->name = pfread_text(r, f.s);
		} else if (is_scalar(&f)) {
			set_scalar(n, &f);
		} else if (is_string(&f) && all->brief) {
			n->type = NOTE_TEXT;
		} else if (is_string(&f)) {
			begin_text(all, n);
			put_string(r, generation, &all->texts, &f);
			end_text(all, n);
		} else if (f.type == PROTO_PART && (f.number == 11 || f.number == 12)) {
			nested = true;
		}
	}
	r->damaged += w.broken;
	if (nested && all->brief) {
		n->type = NOTE_TEXT;
	} else if (nested) {
		struct text one = {0};

		put_nested(r, generation, &one, m, 0);
		begin_text(all, n);
		text_add_bytes(&all->texts, one.s ? one.s : "", one.length);
		end_text(all, n);
		text_release(&one);
	}
	n->known = NAMES;
	if (n->name) {
		uint64_t known = map_get(&r->known_names, n->name);

		n->known = known ? (uint8_t)(known - 1) : NAMES;
	}
	all->count += n->type != NOTE_NONE;
}

static void add_note(struct pfreader *r, uint32_t generation, struct notes *all, struct part m)
{
	if (all->count == NOTES_MAX)
		all->left_out++;
	else
		read_note(r, generation, all, m);
}

const struct note *pfread_note(const struct notes *n, enum pfread_name name)
{
	for (uint32_t i = 0; n && i < n->count; i++)
		if (n->list[i].known == name)
			return &n->list[i];
	return NULL;
}

const char *pfread_note_text(const struct notes *n, enum pfread_name name)
{
	const struct note *x = pfread_note(n, name);

	return x && x->type == NOTE_TEXT && n->texts.s ? n->texts.s + x->at : "";
}

unsigned pfread_numbers(const struct notes *n, enum pfread_name name, uint64_t out[3])
{
	const struct note *x = pfread_note(n, name);
	const char *s = pfread_note_text(n, name);
	unsigned count = 0;

	out[0] = out[1] = out[2] = 0;
	if (!x)
		return 0;
	if (x->type != NOTE_TEXT) {
		out[0] = x->type == NOTE_REAL ? 0 : x->u;
		return 1;
	}
	while (count < 3 && *(s += strcspn(s, "0123456789"))) {
		char *end;

		out[count++] = strtoull(s, &end, 10);
		s = end;
	}
	return count;
}

uint64_t pfread_number(const struct notes *n, enum pfread_name name)
{
	uint64_t numbers[3];

	pfread_numbers(n, name, numbers);
	return numbers[0];
}

bool pfread_is_argument(const struct note *n)
{
	return n->name && n->type != NOTE_NONE &&
	       (n->known > NAME_UNWOUND || n->known == NAME_ERROR || n->known == NAME_KIND ||
		n->known == NAME_OPERATION);
}

/* ---- the rest --------------------------------------------------------------------------------- */

static void add_category(struct event_in *out, uint32_t string)
{
	if (string && out->category_count < CATEGORIES_MAX)
		out->categories[out->category_count++] = string;
}

static void add_flow(struct event_in *out, uint64_t id, bool terminating)
{
	if (out->flow_count == FLOWS_MAX)
		return;
	out->terminating |= (uint64_t)terminating << out->flow_count;
	out->flows[out->flow_count++] = id;
}

static void add_flows(struct event_in *out, const struct proto_field *f)
{
	bool terminating = f->number == 42 || f->number == 48;
	uint64_t id;

	if (f->type != PROTO_PART) {
		add_flow(out, f->v, terminating);
		return;
	}
	for (size_t i = 0; f->number >= 47 && i + 8 <= f->s.n; i += 8) {
		memcpy(&id, f->s.s + i, 8);
		add_flow(out, id, terminating);
	}
}

static void read_legacy(struct pfreader *r, uint32_t generation, struct event_in *out,
			struct part m)
{
	struct proto_walk w = proto_walk(m);
	struct proto_field f;

	while (proto_next(&w, &f)) {
		if (f.number == 8 && f.type == PROTO_NUMBER)
			add_flow(out, f.v, false);
		else if (f.number == 1 && f.type == PROTO_NUMBER && !out->name)
			out->name = (uint32_t)pfread_interned(r, generation, INTERNED_NAME, f.v);
	}
}

static void read_field(struct pfreader *r, uint32_t generation, struct event_in *out,
		       const struct proto_field *f)
{
	bool number = f->type == PROTO_NUMBER, part = f->type == PROTO_PART;

	switch (f->number) {
	case 3:
		if (number)
			add_category(out, (uint32_t)pfread_interned(r, generation,
								    INTERNED_CATEGORY, f->v));
		break;
	case 22:
		if (part)
			add_category(out, pfread_text(r, f->s));
		break;
	case 10:
		if (number)
			out->name = (uint32_t)pfread_interned(r, generation, INTERNED_NAME, f->v);
		break;
	case 23:
		if (part)
			out->name = pfread_text(r, f->s);
		break;
	case 4:
		if (part && out->notes)
			add_note(r, generation, out->notes, f->s);
		break;
	case 6:
		if (part)
			read_legacy(r, generation, out, f->s);
		break;
	case 36:
	case 42:
	case 47:
	case 48:
		add_flows(out, f);
		break;
	case 52:
		if (number) {
			out->correlation = f->v;
			out->correlated = true;
		}
		break;
	default:
		break;
	}
}

static void read_dimensions(struct notes *n, struct part m, enum pfread_name name, uint32_t string,
			    const uint64_t times[3])
{
	struct proto_walk w = proto_walk(m);
	uint64_t d[3] = {1, 1, 1};
	struct note *x = &n->list[n->count++];
	struct proto_field f;

	while (proto_next(&w, &f))
		if (f.number >= 1 && f.number <= 3 && f.type == PROTO_NUMBER)
			d[f.number - 1] = f.v & UINT32_MAX;
	*x = (struct note){.name = string, .known = (uint8_t)name};
	begin_text(n, x);
	for (unsigned i = 0; i < 3; i++) {
		text_add(&n->texts, i ? ", " : "[");
		put_unsigned(&n->texts, d[i] * times[i]);
	}
	text_add(&n->texts, "]");
	end_text(n, x);
}

/* Groups of a grid; the size of a group comes first, as it is needed for that of the whole. */
static void read_launch(struct pfreader *r, struct notes *n, struct part m)
{
	uint64_t group[3] = {1, 1, 1}, one[3] = {1, 1, 1};
	struct proto_walk w = proto_walk(m);
	struct proto_field f;

	while (n->count < NOTES_MAX && proto_next(&w, &f))
		if (f.number == 2 && f.type == PROTO_PART) {
			read_dimensions(n, f.s, NAME_LOCAL, r->known[NAME_LOCAL], one);
			pfread_numbers(n, NAME_LOCAL, group);
		}
	for (w = proto_walk(m); n->count < NOTES_MAX && proto_next(&w, &f);)
		if (f.number == 1 && f.type == PROTO_PART)
			read_dimensions(n, f.s, NAME_GLOBAL, r->known[NAME_GLOBAL], group);
}

/* The name of the stage where the event has none. */
static uint32_t stage_name(struct pfreader *r, uint32_t generation, uint64_t iid)
{
	uint64_t place = pfread_interned(r, generation, INTERNED_STAGE, iid);
	struct part m = {r->in.data + (place >> 20), (place & 0xfffff) ? (place & 0xfffff) - 1 : 0};
	struct proto_walk w;
	struct proto_field f;

	if (!place)
		return 0;
	for (w = proto_walk(m); proto_next(&w, &f);)
		if (f.number == 2 && f.type == PROTO_PART)
			return pfread_text(r, f.s);
	return 0;
}

static void read_stage(struct pfreader *r, const struct event *e, struct event_in *out)
{
	struct proto_walk w = proto_walk(pfread_message(r, e));
	struct proto_field f;
	uint32_t stage = 0;

	while (proto_next(&w, &f)) {
		if (f.number == 17 && f.type == PROTO_PART)
			out->name = pfread_text(r, f.s);
		else if (f.number == 20 && f.type == PROTO_NUMBER)
			out->name = (uint32_t)pfread_interned(r, e->generation, INTERNED_NAME, f.v);
		else if (f.number == 14 && f.type == PROTO_NUMBER)
			stage = stage_name(r, e->generation, f.v);
		else if (f.number == 21 && f.type == PROTO_PART && out->notes)
			read_launch(r, out->notes, f.s);
	}
	out->name = out->name ? out->name : stage;
}

void pfread_event(struct pfreader *r, const struct event *e, struct notes *notes,
		  struct event_in *out)
{
	struct proto_walk w = proto_walk(pfread_message(r, e));
	const struct note *x;
	struct proto_field f;

	*out = (struct event_in){.notes = notes};
	if (notes) {
		notes->count = notes->left_out = 0;
		notes->texts.length = 0;
	}
	if (e->type == EVENT_STAGE) {
		read_stage(r, e, out);
		return;
	}
	while (proto_next(&w, &f))
		read_field(r, e->generation, out, &f);
	x = pfread_note(notes, NAME_CORRELATION);
	if (!x)
		x = pfread_note(notes, NAME_CORR_ID);
	if (x && x->type != NOTE_TEXT && x->type != NOTE_REAL && x->u) {
		out->correlation = x->u;
		out->correlated = true;
	}
}
