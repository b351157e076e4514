/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What handlers report, as records: each table, or a part of it that fits into a blob, is JSON with its columns, places
 * and rows, of which the first cell is the number of the row's place, from 1. Blobs are definitions: none of them is dropped where rings are full.
 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "core/counter/handler.h"
#include "core/counter/lines.h"

#define PART_BYTES      (512u << 10) /* of a blob, of which there may be KYMO_BLOB_CAP */
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789_"
#define NAME_MOST       48u

struct writer {
	kymo_handler_writer_t public; /* the first */
	const struct cap_launch *launch;
	const char *handler;
	const kymo_handler_launch_t *what;
	struct text head, rows, places; /* of the table that was begun, and of the part */
	struct map numbers;             /* of places of the part, by id, from 1 */
	uint32_t columns;               /* 0: none was begun */
	bool failed;
	uint32_t refused; /* tables and rows that are not as they can be */
};

static struct writer *writer_of(kymo_handler_writer_t *w)
{
	return (struct writer *)w;
}

/* As places of the trace have it, but of blocks their kind. */
static const char *what_of(const kymo_handler_site_t *s)
{
	return s->kind == KYMO_SITE_REGION_BEGIN ? "begin"
	       : s->kind == KYMO_SITE_REGION_END ? "end"
						 : s->what;
}

/* Ids of definitions are a process's own, so what a place is stands in the part itself. 0: it is none. */
static uint64_t place_number(struct writer *w, uint32_t place)
{
	uint64_t n = place ? map_get(&w->numbers, place) : 0;
	const kymo_handler_site_t *s = NULL;

	for (uint32_t i = 0; place && !n && !s && i < w->what->site_count; i++)
		if (w->what->sites[i].place == place)
			s = &w->what->sites[i];
	if (!s)
		return n;
	if (!map_set(&w->numbers, place, w->numbers.count + 1u))
		return 0;
	text_add(&w->places, w->places.length ? ",[" : "[");
	text_add_json(&w->places, s->function);
	text_addf(&w->places, ",%u,%u,", s->line, s->column);
	text_add_json(&w->places, s->file);
	text_add(&w->places, ",");
	text_add_json(&w->places, what_of(s));
	text_add(&w->places, "]");
	return w->numbers.count;
}

/* What has come of the table becomes a record. */
static void write_part(struct writer *w)
{
	struct text all = {0};

	if (!w->columns)
		return;
	text_addf(&all, "%s,\"places\":[%s],\"rows\":[%s]}", w->head.s,
		  w->places.s ? w->places.s : "", w->rows.s ? w->rows.s : "");
	if (all.failed || w->head.failed || w->rows.failed || w->places.failed)
		w->failed = true;
	else
		cap_lines_write_report(w->launch, cap_define_blob("report", all.s, all.length));
	text_release(&all);
	text_release(&w->rows);
	text_release(&w->places);
	map_release(&w->numbers);
}

static void end_table(struct writer *w)
{
	write_part(w);
	text_release(&w->head);
	w->columns = 0;
}

static bool name_good(const char *name)
{
	return name && *name && strlen(name) <= NAME_MOST && !name[strspn(name, NAME_CHARACTERS)];
}

/* A name of its own: not of those in front of it, nor of what every table begins with. */
static bool column_good(const char *const *columns, uint32_t at)
{
	static const char *const first[] = {"pid", "device", "kernel", "launch"};
	bool good = name_good(columns[at]);

	for (size_t i = 0; good && i < sizeof(first) / sizeof(*first); i++)
		good = strcmp(columns[at], first[i]) != 0;
	for (uint32_t i = 0; good && i < at; i++)
		good = strcmp(columns[at], columns[i]) != 0;
	return good;
}

static kymo_status_t refuse(struct writer *w)
{
	w->refused++;
	return KYMO_ERROR_INVALID_ARGUMENT;
}

static kymo_status_t table(kymo_handler_writer_t *to, const char *name, const char *const *columns,
			   uint32_t count)
{
	struct writer *w = writer_of(to);
	struct json j = {.out = &w->head, .compact = true};
	bool good = name_good(name) && columns && count && count <= KYMO_HANDLER_COLUMNS;

	end_table(w);
	for (uint32_t i = 0; good && i < count; i++)
		good = column_good(columns, i);
	if (!good)
		return refuse(w);
	json_open(&j, '{');
	json_name(&j, "handler");
	json_add_string(&j, w->handler);
	json_name(&j, "table");
	json_add_string(&j, name);
	json_name(&j, "columns");
	json_open(&j, '[');
	for (uint32_t i = 0; i < count; i++)
		json_add_string(&j, columns[i]);
	json_close(&j);
	w->columns = count;
	return KYMO_OK;
}

static size_t kept(const char *text)
{
	size_t n = strnlen(text, KYMO_HANDLER_TEXT + 1u);

	if (n <= KYMO_HANDLER_TEXT)
		return n;
	n = KYMO_HANDLER_TEXT;
	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--; /* characters are whole */
	return n;
}

static bool add_cell(struct text *out, const kymo_handler_cell_t *c)
{
	switch (c->kind) {
	case KYMO_CELL_UNSIGNED:
		text_addf(out, ",%llu", (unsigned long long)c->value.number);
		return true;
	case KYMO_CELL_REAL:
		if (isfinite(c->value.real))
			text_addf(out, ",%.17g", c->value.real);
		else
			text_add(out, ",null");
		return true;
	case KYMO_CELL_TEXT:
		text_add(out, c->value.text ? "," : ",null");
		if (c->value.text)
			text_add_json_bytes(out, c->value.text, kept(c->value.text));
		return true;
	default:
		return false;
	}
}

static kymo_status_t row(kymo_handler_writer_t *to, uint32_t place,
			 const kymo_handler_cell_t *cells, uint32_t count)
{
	struct writer *w = writer_of(to);
	size_t before;

	if (!w->columns || count != w->columns || !cells)
		return refuse(w);
	if (w->rows.length + w->places.length > PART_BYTES)
		write_part(w);
	before = w->rows.length;
	text_addf(&w->rows, "%s[%llu", before ? "," : "",
		  (unsigned long long)place_number(w, place));
	for (uint32_t i = 0; i < count; i++)
		if (!add_cell(&w->rows, &cells[i])) {
			w->rows.length = before;
			w->rows.s[before] = '\0';
			return refuse(w);
		}
	text_add(&w->rows, "]");
	w->failed |= w->rows.failed;
	return w->rows.failed ? KYMO_ERROR_NO_MEMORY : KYMO_OK;
}

static kymo_status_t left_out(kymo_handler_writer_t *to, const char *what, uint64_t count)
{
	static const char *const columns[] = {"what", "count"};
	const kymo_handler_cell_t cells[] = {{KYMO_CELL_TEXT, {.text = what}},
					     {KYMO_CELL_UNSIGNED, {.number = count}}};
	kymo_status_t status = count ? table(to, "left_out", columns, 2) : KYMO_OK;

	if (count && status == KYMO_OK)
		status = row(to, 0, cells, 2);
	end_table(writer_of(to)); /* rows that come are of no table */
	return status;
}

kymo_status_t counter_handler_report(const struct counter_handler *handler, void *state,
				     const struct cap_launch *launch,
				     const kymo_handler_launch_t *what)
{
	struct writer w = {.public = {sizeof(w.public), table, row, left_out},
			   .launch = launch,
			   .what = what,
			   .handler = handler->name};
	kymo_status_t status;

	if (!handler->h->report)
		return KYMO_OK;
	cap_guard_enter();
	status = handler->h->report(state, &w.public);
	cap_guard_leave();
	if (status == KYMO_OK && what->not_recorded)
		left_out(&w.public, what->not_recorded, 1);
	end_table(&w);
	if (w.failed)
		cap_note(2, "instrument",
			 "handler %s: there was no memory for all that it reported of %s",
			 w.handler, what->kernel);
	if (w.refused)
		cap_note(2, "instrument",
			 "handler %s%s reported %u tables or rows of %s that are not as "
			 "kymo/handler.h has them; they are left out",
			 w.handler, handler->own ? "" : " (not part of Kymo)", w.refused,
			 what->kernel);
	return status;
}
