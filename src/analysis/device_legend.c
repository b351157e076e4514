/* SPDX-License-Identifier: Apache-2.0 */
/* A legend of devices; see device_legend.h. */
#include "analysis/device_legend.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/names.h"
#include "analysis/timeline.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "stream/trace.h"

enum { SHORT_ENOUGH = 8 /* such names stay */ };

struct name {
	const char *label; /* borrowed from a trace */
	const char *shown;
	size_t length;
	bool used;
	uint32_t number;
};

struct names {
	struct name *list;
	unsigned count, room;
	struct map places; /* by hash of the label: place + 1 */
};

static struct name *find_name(const struct names *n, const char *label, size_t length)
{
	uint64_t i;

	map_each(&n->places, hash_bytes(label, length), i) {
		struct name *x = &n->list[i - 1];

		if (x->length == length && memcmp(x->label, label, length) == 0)
			return x;
	}
	return NULL;
}

static bool add_name(struct names *n, const struct t_agent *a)
{
	const char *label = a->label;
	size_t length = strlen(label);

	if (length <= SHORT_ENOUGH)
		return true;
	if (find_name(n, label, length))
		return true;
	if (!vec_reserve(&n->list, &n->room, n->count, 1))
		return false;
	n->list[n->count++] = (struct name){label, name_device(a), length, false, 0};
	return map_add(&n->places, hash_bytes(label, length), n->count);
}

/* The device that the text begins with: of two that fit the longer one. */
static struct name *name_of(struct names *n, const char *text)
{
	struct name *x = NULL;

	for (size_t length = strlen(text); length > SHORT_ENOUGH && !x; length--)
		if (!text[length] || text[length] == ' ')
			x = find_name(n, text, length);
	return x;
}

static bool note_used(struct names *n, struct cell *c)
{
	struct name *x = name_of(n, c->s);

	if (x)
		x->used = true;
	return true;
}

static bool shorten(struct names *n, struct cell *c)
{
	struct name *x = name_of(n, c->s);
	struct text text = {0};

	if (!x)
		return true;
	text_addf(&text, "D%u%s", x->number, c->s + x->length);
	if (text.failed) {
		text_release(&text);
		return false;
	}
	free(c->s);
	c->s = text.s;
	return true;
}

/* All cells that name a device, of a table for people. */
static bool each_cell(struct report *r, struct names *n,
		      bool (*what)(struct names *n, struct cell *c))
{
	bool ok = true;

	for (unsigned i = 0; i < r->table_count; i++) {
		struct table *t = r->tables[i];
		uint32_t shown = table_shown(t, r->top);

		for (unsigned k = 0; !t->hidden && k < t->column_count; k++) {
			const struct table_column *c = &t->columns[k];

			if (c->unit != CELL_TEXT ||
			    (strcmp(c->name, "device") != 0 && strcmp(c->name, "subdevice") != 0 &&
			     strcmp(c->name, "queue") != 0))
				continue;
			for (uint32_t at = 0; ok && at < shown; at++) {
				struct cell *cell = &t->cells[(size_t)at * t->column_count + k];

				ok = cell->none || what(n, cell);
			}
		}
	}
	return ok;
}

static int by_number(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strverscmp(x->label, y->label);
}

/* As the lines above the tables number them; then the others that are used. */
static bool number_names(struct names *n, const struct summary *s, unsigned count)
{
	const struct timeline *tl = count == 1 ? s->timeline : NULL;
	uint32_t next = tl ? tl->devices_count : 0;
	bool ok = true;

	for (unsigned i = 0; i < n->count; i++)
		n->list[i].number = UINT32_MAX;
	for (uint32_t k = 0; tl && k < tl->devices_count; k++) {
		const char *label = s->trace->agents[tl->devices[k].agent].label;
		struct name *x = find_name(n, label, strlen(label));

		if (x)
			x->number = k;
	}
	if (n->count)
		qsort(n->list, n->count, sizeof(*n->list), by_number);
	map_release(&n->places);
	for (unsigned i = 0; i < n->count; i++) {
		if (n->list[i].number == UINT32_MAX && n->list[i].used)
			n->list[i].number = next++;
		ok &= map_add(&n->places, hash_bytes(n->list[i].label, n->list[i].length),
			      (uint64_t)i + 1);
	}
	return ok;
}

/* The lines above the tables speak of device `number` by that alone: none of them names it. */
static bool is_only_numbered(const struct report *r, uint32_t number)
{
	bool there = false;

	for (unsigned i = 0; i < r->head.count; i++) {
		const char *line = r->head.lines[i];

		for (const char *p = strstr(line, "evice "); p; p = strstr(p + 1, "evice ")) {
			char *end;
			unsigned long n = strtoul(p + strlen("evice "), &end, 10);

			if (end == p + strlen("evice ") || n != number)
				continue;
			if (p == line + 1 && *end == ':')
				return false;
			there = true;
		}
	}
	return there;
}

/* Short names that tables have as they are, where the lines above have but the number. */
static void tell_numbered(struct text *line, struct names *n, const struct report *r,
			  const struct summary *s)
{
	for (uint32_t k = 0; k < s->timeline->devices_count; k++) {
		const struct t_agent *a = &s->trace->agents[s->timeline->devices[k].agent];
		struct name *x = find_name(n, a->label, strlen(a->label));

		if (!(x && x->used) && is_only_numbered(r, k))
			text_addf(line, "%sD%u is %s", line->length ? "; " : "", k,
				  x ? x->shown : a->label);
	}
}

static void tell_names(struct report *r, struct names *n, const struct summary *s, unsigned count)
{
	struct text line = {0};

	for (unsigned i = 0; i < n->count; i++)
		if (n->list[i].used)
			text_addf(&line, "%sD%u is %s", line.length ? "; " : "", n->list[i].number,
				  n->list[i].shown);
	if (count == 1 && s->timeline)
		tell_numbered(&line, n, r, s);
	if (line.length)
		report_foot(r, "Devices: %s.", line.s);
	text_release(&line);
}

bool device_legend(struct report *r, const struct summary *s, unsigned count)
{
	struct names n = {0};
	bool ok = true;

	for (unsigned i = 0; i < count; i++)
		for (uint32_t k = 1; ok && k < s[i].trace->agents_count;
		     k++) /* parts go by their device's */
			ok = trace_whole_device(s[i].trace, k) != k ||
			     add_name(&n, &s[i].trace->agents[k]);
	if (ok) {
		each_cell(r, &n, note_used);
		ok = number_names(&n, s, count);
		tell_names(r, &n, s, count);
		ok = ok && each_cell(r, &n, shorten);
	}
	free(n.list);
	map_release(&n.places);
	return ok && !r->failed;
}
