/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a page, as JSON: docs/page.md. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/units.h"
#include "page/page.h"
#include "report/findings.h"
#include "stream/names.h"
#include "stream/trace.h"

enum { HOSTS_TOLD = 8 };

static void member(FILE *out, const char *name)
{
	fprintf(out, ",\n\"%s\": ", name);
}

static void number(FILE *out, double v)
{
	if (isfinite(v))
		fprintf(out, "%.17g", v);
	else
		fputs("null", out);
}

/* ---- the trace --------------------------------------------------------------------------------- */

/* The first of them, and how many there are. */
static void put_hosts(FILE *out, const struct trace *t)
{
	struct map seen = {0};
	uint32_t count = 0;

	fputs(", \"recorded_on\": [", out);
	for (uint32_t i = 1; i < t->processes_count; i++) {
		uint64_t name = hash_string(t->processes[i].hostname);

		if (map_get(&seen, name) || !map_set(&seen, name, 1))
			continue;
		if (count++ >= HOSTS_TOLD)
			continue;
		fputs(count > 1 ? ", " : "", out);
		json_string(out, t->processes[i].hostname);
	}
	map_release(&seen);
	fprintf(out, "], \"hosts\": %u", count);
}

static void put_trace(FILE *out, const struct page *p)
{
	const struct trace *t = p->data.t;
	uint32_t processes = 0, ranks = 0;

	for (uint32_t i = 1; i < t->processes_count; i++) {
		processes += !t->processes[i].telemetry;
		ranks += t->processes[i].rank != UINT32_MAX;
	}
	fputs("{\"name\": ", out);
	json_string(out, page_title(p));
	fputs(", \"command\": ", out);
	json_string(out, t->command ? t->command : "");
	fputs(", \"host\": ", out);
	json_string(out, t->hostname ? t->hostname : "");
	fprintf(out, ", \"started\": %" PRId64 ", \"version\": ", t->started);
	json_string(out, t->version ? t->version : "");
	fputs(", \"imported\": ", out);
	if (t->imported)
		json_string(out, t->imported_format);
	else
		fputs("null", out);
	fprintf(out, ", \"processes\": %u, \"ranks\": %u, \"records\": %" PRIu64, processes, ranks,
		p->data.records);
	fputs(", \"selection\": ", out);
	if (p->summary->selection)
		json_string(out, p->summary->selection);
	else
		fputs("null", out);
	put_hosts(out, t);
	fprintf(out, ", \"drawn\": %u}", p->clusters.draws ? p->clusters.drawn : processes);
}

static void put_quality(FILE *out, const struct page *p)
{
	struct summary_told told;

	summary_tell_quality(p->summary, &told);
	member(out, "loss");
	fprintf(out, "{\"records\": %" PRIu64 ", \"text\": ", told.lost);
	json_string(out, told.loss.s ? told.loss.s : "");
	fputs("}", out);
	member(out, "overhead");
	fputs("{\"share\": ", out);
	number(out, told.overhead_share);
	fputs(", \"text\": ", out);
	json_string(out, told.overhead.s ? told.overhead.s : "");
	fputs("}", out);
	member(out, "clock");
	fputs("{\"error_ns\": ", out);
	number(out, told.clock_error_ns);
	fputs(", \"text\": ", out);
	json_string(out, told.clock.s ? told.clock.s : "");
	fputs("}", out);
	summary_told_release(&told);
}

/* ---- what is kept ------------------------------------------------------------------------------ */

static void put_line(FILE *out, const char **comma, const char *line)
{
	fputs(*comma, out);
	json_string(out, line);
	*comma = ", ";
}

/* Which processes are there, and why these. */
static void put_clusters(FILE *out, const char **comma, const struct page *p)
{
	const struct clusters *c = &p->clusters;
	uint32_t unlike = c->drawn - c->clusters;
	char line[800], n[2][32], more[100] = "";

	if (unlike)
		snprintf(more, sizeof(more), ", and %u that %s unlike theirs%s", unlike,
			 unlike == 1 ? "is" : "are", c->left_out ? ", the farthest of more" : "");
	snprintf(
		line, sizeof(line),
		"of %s processes %u are drawn: they fall into %u cluster%s (%u of a process alone) "
		"by the shares of their time that calls, ranges, kernels and copies take; of each "
		"the one "
		"nearest to its middle is there%s; below it the others are unfolded, as what they "
		"do over time; counts and plots are of those that are drawn, digest, findings, "
		"tables, flame graphs and messages between ranks of all; the table \"Processes by "
		"what "
		"they spend time on\" says which is like which, and kymo report --rank draws "
		"others; %s records are of those that are not drawn",
		units_count(c->count, n[0]), c->drawn, c->clusters, plural(c->clusters), c->alone,
		more, units_count(p->data.apart, n[1]));
	put_line(out, comma, line);
}

static void put_kept(FILE *out, const struct page *p)
{
	const struct unplaced *u = &p->data.left;
	const char *comma = "";
	char line[400], n[32];

	fputs("[", out);
	if (p->plan.shift) {
		snprintf(line, sizeof(line),
			 "times are multiples of %" PRIu64
			 " ns, so that the page is small enough; the trace has them exactly",
			 (uint64_t)1 << p->plan.shift);
		put_line(out, &comma, line);
	} else {
		put_line(out, &comma, "times are exact, to the nanosecond");
	}
	put_line(out, &comma,
		 p->plan.links
			 ? "a record has its times, what it is, whether it failed; device work "
			   "also its bytes and the call that submitted it; arguments, call "
			   "sites and sizes of kernels are in the trace (kymo show)"
			 : "a record has its times, what it is, and whether it failed: bytes and "
			   "what submitted it are left out, so that the page is small enough; "
			   "they are in the trace (kymo show)");
	if (p->encoded.shorter) {
		snprintf(
			line, sizeof(line),
			"of each row the %" PRIu64
			" longest records are there; %s shorter ones are in the levels alone (kymo "
			"show has them)",
			p->plan.most, units_count(p->encoded.shorter, n));
		put_line(out, &comma, line);
	}
	if (p->clusters.draws)
		put_clusters(out, &comma, p);
	for (unsigned i = 0; i < u->used; i++) {
		snprintf(line, sizeof(line), "not drawn: %s (%s)", u->kinds[i].what,
			 units_count(u->kinds[i].count, n));
		put_line(out, &comma, line);
	}
	fputs("]", out);
}

/* ---- tables ------------------------------------------------------------------------------------ */

static const char *unit_name(enum cell_unit unit)
{
	static const char *const names[] = {
		[CELL_TEXT] = "text",     [CELL_COUNT] = "count",
		[CELL_TIME] = "ns",       [CELL_TIMESTAMP] = "timestamp",
		[CELL_BYTES] = "bytes",   [CELL_BYTES_MEAN] = "bytes",
		[CELL_RATE] = "bytes/s",  [CELL_PERCENT] = "percent",
		[CELL_NUMBER] = "number", [CELL_ID] = "id"};

	return names[unit];
}

static void put_cell(FILE *out, const struct cell *c, enum cell_unit unit)
{
	char buffer[32];
	const char *raw = cell_raw(c, unit, buffer);

	if (!c->none && unit == CELL_TEXT)
		json_string(out, c->s);
	else
		fputs(*raw ? raw : "null", out);
}

/* As a line of the column is called where people read it. */
static void put_title(FILE *out, const struct table_column *k)
{
	char title[80];

	snprintf(title, sizeof(title), "%s", *k->heading ? k->heading : k->name);
	for (unsigned c = 0; c < IDLE_CAUSES; c++)
		if (strcmp(k->name, idle_column((enum idle_cause)c)) == 0)
			snprintf(title, sizeof(title), "idle: %s", idle_name((enum idle_cause)c));
	json_string(out, title);
}

static void put_table(FILE *out, const struct table *t)
{
	uint32_t rows = t->row_count < PAGE_TABLE_ROWS ? t->row_count : PAGE_TABLE_ROWS;

	fputs("{\"name\": ", out);
	json_string(out, t->name);
	fputs(", \"title\": ", out);
	json_string(out, t->title);
	fprintf(out, ", \"hidden\": %s, \"all_rows\": %u, \"columns\": [",
		t->hidden ? "true" : "false", t->row_count);
	for (unsigned c = 0; c < t->column_count; c++) {
		const struct table_column *k = &t->columns[c];

		fprintf(out, "%s{\"name\": ", c ? ", " : "");
		json_string(out, k->name);
		fputs(", \"title\": ", out);
		put_title(out, k);
		fprintf(out, ", \"unit\": \"%s\", \"kind\": \"%s\"}",
			unit_name((enum cell_unit)k->unit),
			k->unit == CELL_TEXT ? "text" : "number");
	}
	fputs("],\n \"rows\": [", out);
	for (uint32_t r = 0; r < rows; r++) {
		fputs(r ? ",\n  [" : "\n  [", out);
		for (unsigned c = 0; c < t->column_count; c++) {
			fputs(c ? ", " : "", out);
			put_cell(out, &t->cells[(size_t)r * t->column_count + c],
				 (enum cell_unit)t->columns[c].unit);
		}
		fputs("]", out);
	}
	fputs("]}", out);
}

void page_put_tables(FILE *out, const struct report *r)
{
	fputs("[", out);
	for (unsigned i = 0; i < r->table_count; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_table(out, r->tables[i]);
	}
	fputs("]", out);
}

static void put_digest(FILE *out, const struct report *r)
{
	struct text all = {0};

	for (unsigned i = 0; i < r->head.count; i++) {
		text_add(&all, r->head.lines[i]);
		text_add(&all, "\n");
	}
	json_string(out, all.s ? all.s : "");
	text_release(&all);
}

/* ---- tracks, rows, curves ---------------------------------------------------------------------- */

static void put_ops(FILE *out, const struct page_data *d)
{
	fputs("[", out);
	for (uint32_t i = 0; i < d->op_count; i++) {
		const struct page_op *o = &d->ops[i];

		fprintf(out, "%s{\"name\": %u, \"domain\": ", i ? ",\n" : "\n", o->name);
		json_string(out, o->domain);
		fprintf(out, ", \"kind\": \"%s\", \"count\": %" PRIu64 ", \"busy\": %" PRIu64 "}",
			o->kind, o->count, o->busy);
	}
	fputs("]", out);
}

static void put_numbers(FILE *out, const uint32_t *at, uint32_t count, const char **comma)
{
	for (uint32_t i = 0; i < count; i++) {
		fprintf(out, "%s%u", *comma, at[i]);
		*comma = ",";
	}
}

static void put_tracks(FILE *out, const struct page_data *d)
{
	static const char *const kinds[] = {"rank",   "process", "thread",
					    "device", "queue",   "group"};

	fputs("[", out);
	for (uint32_t i = 0; i < d->track_count; i++) {
		const struct page_track *k = &d->tracks[i];
		const char *comma = "";

		fprintf(out, "%s{\"id\": %u, \"parent\": %d, \"kind\": \"%s\", \"label\": ",
			i ? ",\n" : "\n", i, k->parent == UINT32_MAX ? -1 : (int)k->parent,
			kinds[k->kind]);
		json_string(out, k->label);
		fprintf(out, ", \"sort\": %u, \"process\": %u, \"number\": %u, \"rows\": [",
			k->sort, k->process, k->number);
		put_numbers(out, k->rows, k->row_count, &comma);
		put_numbers(out, k->lanes, k->lane_count, &comma);
		fputs("], \"curves\": [", out);
		comma = "";
		for (uint32_t c = 0; c < d->curve_count; c++)
			if (d->curves[c].track == i)
				put_numbers(out, &c, 1, &comma);
		fputs("]}", out);
	}
	fputs("]", out);
}

static void put_levels_of(FILE *out, const struct page_parts *parts, uint32_t *next)
{
	fputs("\"levels\": [", out);
	for (uint32_t i = 0; i < parts->level_count; i++)
		fprintf(out, "%s%u", i ? "," : "", (*next)++);
	fputs("]", out);
}

static void put_rows(FILE *out, const struct page *p)
{
	const struct page_data *d = &p->data;
	uint32_t next = 0;

	fputs("[", out);
	for (uint32_t i = 0; i < d->row_count; i++) {
		const struct page_row *r = &d->rows[i];
		const struct page_track *k = &d->tracks[r->track];
		const struct page_parts *parts = &p->encoded.rows[i];
		uint32_t depth = 0;

		while (depth < k->row_count && k->rows[depth] != i)
			depth++;
		for (uint32_t n = 0; depth == k->row_count + n && n < k->lane_count; n++)
			depth += k->lanes[n] != i;
		fprintf(out,
			"%s{\"track\": %u, \"depth\": %u, \"records\": %" PRIu64
			", \"busy\": %" PRIu64 ", ",
			i ? ",\n" : "\n", r->track, depth, r->slices->count, r->busy);
		put_levels_of(out, parts, &next);
		fputs(", \"blocks\": [", out);
		for (uint32_t b = 0; b < parts->place_count; b++) {
			const struct page_place *x = &parts->places[b];

			fprintf(out, "%s[%" PRId64 ",%" PRId64 ",%u,%" PRIu64 ",%u,%" PRIu64 "]",
				b ? "," : "", x->start, x->end, x->count, x->busy, x->section,
				x->first);
		}
		fputs("]}", out);
	}
	fputs("]", out);
}

static void put_row_levels(FILE *out, const struct page *p)
{
	const char *comma = "\n";

	fputs("[", out);
	for (uint32_t i = 0; i < p->data.row_count; i++) {
		for (uint32_t k = 0; k < p->encoded.rows[i].level_count; k++) {
			const struct page_level *v = &p->encoded.rows[i].levels[k];

			fprintf(out,
				"%s{\"row\":%u,\"bin\":%" PRIu64
				",\"bins\":%u,\"section\":%u,\"offset\":%u}",
				comma, i, (uint64_t)1 << v->shift, v->bins, v->section, v->offset);
			comma = ",\n";
		}
	}
	fputs("]", out);
}

static void put_curve(FILE *out, const struct page *p, uint32_t i)
{
	static const char *const kinds[] = {"memory", "telemetry", "counter"};
	const struct page_curve *c = &p->data.curves[i];
	const struct page_parts *parts = &p->encoded.curves[i];

	fprintf(out, "{\"track\": %u, \"name\": ", c->track);
	json_string(out, c->name ? c->name : "");
	fputs(", \"unit\": ", out);
	json_string(out, c->unit ? c->unit : "");
	if (c->kind != CURVE_MEMORY) {
		fputs(", \"counter\": ", out);
		json_string(out, p->data.t->counters[c->counter].name);
		fputs(", \"of\": ", out);
		json_string(out, c->name ? c->name + c->base : "");
		fprintf(out, ", \"level\": %s, \"readings\": %" PRIu64 ", \"sum\": ",
			c->level ? "true" : "false", c->readings);
		number(out, c->sum);
	}
	fprintf(out, ", \"kind\": \"%s\", \"step\": %s, \"min\": ", kinds[c->kind],
		c->step ? "true" : "false");
	number(out, c->min);
	fputs(", \"max\": ", out);
	number(out, c->max);
	fprintf(out, ", \"points\": %" PRIu64 ", \"blocks\": [", c->points->count);
	for (uint32_t b = 0; b < parts->place_count; b++)
		fprintf(out, "%s[%" PRId64 ",%" PRId64 ",%u,%u]", b ? "," : "",
			parts->places[b].start, parts->places[b].end, parts->places[b].count,
			parts->places[b].section);
	fputs("], \"levels\": [", out);
	for (uint32_t k = 0; k < parts->level_count; k++)
		fprintf(out, "%s{\"bin\":%" PRIu64 ",\"bins\":%u,\"section\":%u,\"offset\":%u}",
			k ? "," : "", (uint64_t)1 << parts->levels[k].shift, parts->levels[k].bins,
			parts->levels[k].section, parts->levels[k].offset);
	fputs("]}", out);
}

static void put_curves(FILE *out, const struct page *p)
{
	fputs("[", out);
	for (uint32_t i = 0; i < p->data.curve_count; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_curve(out, p, i);
	}
	fputs("]", out);
}

static void put_directory(FILE *out, const struct page *p)
{
	const struct sections *s = &p->encoded.sections;
	const struct page_parts *m = &p->encoded.messages;

	member(out, "messages");
	fputs("[", out);
	for (uint32_t i = 0; i < m->place_count; i++)
		fprintf(out, "%s[%u,%u,%" PRId64 ",%" PRId64 "]", i ? "," : "",
			m->places[i].section, m->places[i].count, m->places[i].start,
			m->places[i].end);
	fputs("]", out);
	member(out, "block_ops");
	fprintf(out, "%d", p->encoded.search == UINT32_MAX ? -1 : (int)p->encoded.search);
	member(out, "sections");
	fputs("[", out);
	for (uint32_t i = 0; i < s->count; i++)
		fprintf(out, "%s[%" PRIu64 ",%u,%u]", i ? "," : "", s->at[i].offset,
			s->at[i].length, s->at[i].raw);
	fputs("]", out);
}

/* Where a finding is seen, as far as its rule tells and it is drawn. */
static void put_places(const void *data, const struct finding *f, FILE *out)
{
	const struct page_data *d = data;
	const char *comma = "";

	if (f->agent && d->of_agent[trace_whole_device(d->t, f->agent)])
		put_numbers(out, (uint32_t[]){d->of_agent[trace_whole_device(d->t, f->agent)] - 1},
			    1, &comma);
	if (f->thread && d->of_thread[f->thread])
		put_numbers(out, (uint32_t[]){d->of_thread[f->thread] - 1}, 1, &comma);
	else if (f->process && d->of_process[f->process])
		put_numbers(out, (uint32_t[]){d->of_process[f->process] - 1}, 1, &comma);
}

static void put_findings(FILE *out, const struct page *p)
{
	if (p->diagnosis)
		findings_json(p->diagnosis, put_places, &p->data, out);
	else
		fputs("[]", out);
}

/* Columns of the table of devices, and what people read for them. */
static void put_idle_causes(FILE *out)
{
	fputs("[", out);
	for (unsigned c = 0; c < IDLE_CAUSES; c++)
		fprintf(out, "%s[\"%s\", \"%s\"]", c ? ", " : "", idle_column((enum idle_cause)c),
			idle_name((enum idle_cause)c));
	fputs("]", out);
}

static void put_names(FILE *out, const struct page_data *d)
{
	fputs("[", out);
	for (uint32_t i = 0; i < d->name_count; i++) {
		fputs(i ? ",\n" : "\n", out);
		json_string(out, d->names[i]);
	}
	fputs("]", out);
}

/* What the timeline draws. */
static void put_drawn(FILE *out, const struct page *p)
{
	member(out, "names");
	put_names(out, &p->data);
	member(out, "briefs");
	page_put_briefs(out, &p->data);
	member(out, "ops");
	put_ops(out, &p->data);
	member(out, "tracks");
	put_tracks(out, &p->data);
	member(out, "rows");
	put_rows(out, p);
	member(out, "levels");
	put_row_levels(out, p);
	member(out, "curves");
	put_curves(out, p);
	put_directory(out, p);
}

static void put_head(FILE *out, const struct page *p)
{
	fputs("{\"page\": 1", out);
	member(out, "trace");
	put_trace(out, p);
	member(out, "length");
	fprintf(out, "%" PRIu64, p->data.length);
	member(out, "quantum");
	fprintf(out, "%" PRIu64, (uint64_t)1 << p->plan.shift);
	put_quality(out, p);
	member(out, "kept");
	put_kept(out, p);
	member(out, "digest");
	put_digest(out, &p->people);
	member(out, "findings");
	put_findings(out, p);
	member(out, "path");
	page_put_path(out, p);
	member(out, "idle_causes");
	put_idle_causes(out);
	member(out, "tables");
	page_put_tables(out, &p->programs);
	member(out, "flames");
	flames_put(out, &p->flames);
	member(out, "matrix");
	matrix_put(out, &p->matrix, p->read.trace);
	member(out, "members");
	members_put(out, &p->members, p->data.of_process);
	member(out, "comparison");
	comparison_put(out, &p->comparison, &p->data, page_title(p));
	member(out, "kernels");
	page_kernels_put(out, p->kernels);
	put_drawn(out, p);
	fputs("}\n", out);
}

static void put_glance(FILE *out, const struct page *p, const struct page_glance *g)
{
	fputs("{\"page\": 1", out);
	member(out, "glance");
	fprintf(out, "{\"start\": %" PRId64 ", \"end\": %" PRId64 ", \"late\": %s, \"read\": [",
		g->start, g->end, g->late ? "true" : "false");
	for (uint32_t i = 0; i < g->count; i++)
		fprintf(out, "%s[%" PRId64 ",%" PRId64 "]", i ? "," : "", g->at[i].start,
			g->at[i].end);
	fputs("]}", out);
	member(out, "trace");
	put_trace(out, p);
	member(out, "length");
	fprintf(out, "%" PRIu64, p->data.length);
	member(out, "quantum");
	fputs("1", out);
	put_drawn(out, p);
	fputs("}\n", out);
}

char *page_head(const struct page *p, const struct page_glance *glance, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	if (!out)
		return NULL;
	if (glance)
		put_glance(out, p, glance);
	else
		put_head(out, p);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
