/* SPDX-License-Identifier: Apache-2.0 */
/* The summary's table of samples of kernels: lines of code, the hottest first, and why they wait. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/summary_parts.h"
#include "base/text.h"
#include "base/units.h"

#define LINES_SHOWN   25u
#define REASONS_SHOWN 3u
#define ALL_REASONS   6u

/* Samples of a line that waited for one reason; then also of a line, whose reasons follow each other. */
struct met {
	const char *function, *file, *reason; /* borrowed from the traces */
	uint32_t line;
	uint64_t samples, idle;
	uint32_t first, count; /* of a line: its reasons */
};

struct device_samples {
	struct met *rows, *lines, *reasons;
	uint32_t row_count, line_count, reason_count;
	uint64_t samples, idle, lost, full;
};

static int compare_place(const struct met *x, const struct met *y)
{
	int order = strcmp(x->function, y->function);

	order = order ? order : strcmp(x->file, y->file);
	return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int by_place(const void *a, const void *b)
{
	const struct met *x = a, *y = b;
	int order = compare_place(x, y);

	return order ? order : strcmp(x->reason, y->reason);
}

static int by_reason(const void *a, const void *b)
{
	return strcmp(((const struct met *)a)->reason, ((const struct met *)b)->reason);
}

static int by_samples(const void *a, const void *b)
{
	const struct met *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return by_place(a, b);
}

static void add_row(struct device_samples *d, const struct summary *s, const struct tally *row)
{
	const struct t_code *code = &s->trace->codes[row->key[KEY_DEVICE_SAMPLE_CODE]];

	d->lost += row->errors;
	d->full += row->frees;
	if (!row->bytes)
		return;
	d->samples += row->bytes;
	d->idle += row->untimed;
	d->rows[d->row_count++] =
		(struct met){.function = code->function,
			     .file = code->file,
			     .line = code->line,
			     .reason = s->trace->strings[row->key[KEY_DEVICE_SAMPLE_REASON]].text,
			     .samples = row->bytes,
			     .idle = row->untimed};
}

static bool collect_samples(struct device_samples *d, const struct summary *s, unsigned count)
{
	size_t room = 1;

	for (unsigned i = 0; i < count; i++)
		room += s[i].tallies->set[TALLY_DEVICE_SAMPLE].count;
	d->rows = calloc(room, sizeof(*d->rows));
	d->lines = calloc(room, sizeof(*d->lines));
	d->reasons = calloc(room, sizeof(*d->reasons));
	if (!d->rows || !d->lines || !d->reasons)
		return false;
	for (unsigned i = 0; i < count; i++) {
		const struct tally_set *set = &s[i].tallies->set[TALLY_DEVICE_SAMPLE];

		for (uint32_t k = 0; k < set->count; k++)
			if (set->rows[k]->key[KEY_DEVICE_SAMPLE_CODE] < s[i].trace->codes_count &&
			    set->rows[k]->key[KEY_DEVICE_SAMPLE_REASON] < s[i].trace->strings_count)
				add_row(d, &s[i], set->rows[k]);
	}
	return true;
}

/* Adds up neighbours that `same` holds for; returns how many are left. */
static uint32_t merge_neighbours(struct met *list, uint32_t count,
				 int (*same)(const void *, const void *))
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (n && same(&list[n - 1], &list[i]) == 0) {
			list[n - 1].samples += list[i].samples;
			list[n - 1].idle += list[i].idle;
		} else {
			list[n++] = list[i];
		}
	}
	return n;
}

static void make_lines(struct device_samples *d)
{
	qsort(d->rows, d->row_count, sizeof(*d->rows), by_place);
	d->row_count = merge_neighbours(d->rows, d->row_count, by_place);
	for (uint32_t i = 0; i < d->row_count; i++) {
		struct met *line = d->line_count ? &d->lines[d->line_count - 1] : NULL;

		if (!line || compare_place(line, &d->rows[i]) != 0) {
			line = &d->lines[d->line_count++];
			*line = d->rows[i];
			line->first = i;
		} else {
			line->samples += d->rows[i].samples;
			line->idle += d->rows[i].idle;
		}
		line->count++;
	}
	for (uint32_t i = 0; i < d->line_count; i++)
		qsort(&d->rows[d->lines[i].first], d->lines[i].count, sizeof(*d->rows), by_samples);
	qsort(d->lines, d->line_count, sizeof(*d->lines), by_samples);
}

static void make_reasons(struct device_samples *d)
{
	memcpy(d->reasons, d->rows, d->row_count * sizeof(*d->rows));
	qsort(d->reasons, d->row_count, sizeof(*d->reasons), by_reason);
	d->reason_count = merge_neighbours(d->reasons, d->row_count, by_reason);
	qsort(d->reasons, d->reason_count, sizeof(*d->reasons), by_samples);
}

/* "long_scoreboard 61 %, wait 20 %" */
static void reasons_text(struct text *out, const struct met *list, uint32_t count, uint32_t most,
			 uint64_t of)
{
	for (uint32_t i = 0; i < count && i < most; i++)
		text_addf(out, "%s%s %.0f %%", i ? ", " : "", list[i].reason,
			  100.0 * (double)list[i].samples / (double)of);
}

static void line_row(struct table *t, const struct device_samples *d, const struct met *line)
{
	struct cell *c = table_row(t);
	struct text place = {0}, reasons = {0};

	if (!c)
		return;
	if (line->line)
		text_addf(&place, "%s:%" PRIu32, line->file, line->line);
	reasons_text(&reasons, &d->rows[line->first], line->count, REASONS_SHOWN, line->samples);
	cell_text(t, c++, line->function);
	if (place.s)
		cell_text(t, c, place.s);
	c++;
	cell_number(c++, line->samples);
	cell_real(c++, 100.0 * (double)line->samples / (double)d->samples);
	cell_real(c++, 100.0 * (double)line->idle / (double)line->samples);
	cell_text(t, c, reasons.s ? reasons.s : "");
	text_release(&place);
	text_release(&reasons);
}

static void add_notes(struct table *t, const struct device_samples *d)
{
	struct text all = {0};
	uint64_t placed = 0;

	for (uint32_t i = 0; i < d->line_count; i++)
		placed += d->lines[i].line ? d->lines[i].samples : 0;
	if (d->line_count > LINES_SHOWN)
		table_note(t, "%s more lines; kymo query, view device_samples",
			   UNITS_COUNT(d->line_count - LINES_SHOWN));
	if (d->samples) {
		reasons_text(&all, d->reasons, d->reason_count, ALL_REASONS, d->samples);
		table_note(t, "all samples: %s", all.s ? all.s : "");
	}
	if (placed < d->samples)
		table_note(t, "%s sample%s no line: kernels built with -lineinfo have",
			   UNITS_COUNT(d->samples - placed),
			   d->samples - placed == 1 ? " has" : "s have");
	if (d->lost)
		table_note(t, "%s samples were lost by the device", UNITS_COUNT(d->lost));
	if (d->full)
		table_note(t,
			   "the device's buffer was full %s times, what followed is lost: sample "
			   "less often",
			   UNITS_COUNT(d->full));
	text_release(&all);
}

static void add_columns(struct table *t)
{
	table_column(t, "function", "function", CELL_TEXT);
	table_column(t, "line", "line", CELL_TEXT);
	table_column(t, "samples", "samples", CELL_COUNT);
	table_column(t, "percent", "%", CELL_PERCENT);
	table_column(t, "idle_percent", "idle %", CELL_PERCENT);
	table_column(t, "reasons", "why warps wait", CELL_TEXT);
}

bool summary_device_samples(struct report *r, const struct summary *s, unsigned count, unsigned by)
{
	struct device_samples d = {0};
	bool ok = collect_samples(&d, s, count);
	struct table *t = NULL;

	if (ok && (d.samples || d.lost || d.full))
		t = report_table(r, "device_lines", "Lines of kernels (samples of the device)");
	if (t) {
		make_lines(&d);
		make_reasons(&d);
		add_columns(t);
		for (uint32_t i = 0; i < d.line_count && i < LINES_SHOWN; i++)
			line_row(t, &d, &d.lines[i]);
		add_notes(t, &d);
	}
	free(d.rows);
	free(d.lines);
	free(d.reasons);
	return ok;
}
