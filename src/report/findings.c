/* SPDX-License-Identifier: Apache-2.0 */
/* Printing findings; see findings.h. */
#include "report/findings.h"

#include <inttypes.h>
#include <string.h>

#include "base/plain.h"
#include "base/units.h"

#define WIDTH 80u

static const char *text_of(const struct text *t)
{
	return t->s ? t->s : "";
}

/* ---- people ------------------------------------------------------------------------------------ */

/* Words of `text` in lines of WIDTH columns that begin with `indent` blanks, the first after `head`. */
static void print_wrapped(FILE *out, unsigned indent, const char *head, const char *text)
{
	const unsigned start = indent + plain_width(head);
	unsigned column = start;
	bool blank = false; /* one stands before the next word, unless that begins a line */

	plain_printf(out, "%*s%s", (int)indent, "", head);
	while (*text) {
		size_t n = strcspn(text, " \n");
		char word[512];
		unsigned width;

		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		width = plain_width(word);
		if (column + blank + width > WIDTH && column > start) {
			plain_printf(out, "\n%*s", (int)start, "");
			column = start;
			blank = false;
		}
		plain_printf(out, "%s%s", blank ? " " : "", word);
		column += blank + width;
		text += n;
		blank = *text == ' ';
		if (*text == '\n') {
			column = start;
			if (text[1])
				plain_printf(out, "\n%*s", (int)start, "");
		}
		text += *text != 0;
	}
	plain_printf(out, "\n");
}

static void print_part(FILE *out, const char *head, const struct text *part)
{
	if (part->length)
		print_wrapped(out, 4, head, part->s);
}

/* Runs that are recorded are mostly shorter than those that matter: what repeats is told as a share of the work, too. */
static void print_gain(const struct diagnosis *d, const struct finding *f, FILE *out)
{
	uint64_t basis = diagnosis_basis(d, f->rule);
	char time[UNITS_TEXT];

	plain_printf(out, "    could win %s, %.1f %% of the run (%s)\n", units_time(f->gain, time),
		     100 * diagnosis_share(d, f->gain), f->rule->id);
	if (basis < timeline_length(d->tl) && d->work >= basis)
		plain_printf(out, "    %.1f %% of the %s of device work\n",
			     100 * (double)f->gain / (double)d->work, units_time(d->work, time));
}

static void print_finding(const struct diagnosis *d, const struct finding *f, uint32_t number,
			  FILE *out)
{
	char time[UNITS_TEXT], head[80];

	snprintf(head, sizeof(head), "%2u. ", number);
	print_wrapped(out, 0, head, text_of(&f->title));
	if (f->spent)
		plain_printf(out, "    wins nothing of the run, but costs %s of a processor (%s)\n",
			     units_time(f->spent, time), f->rule->id);
	else if (f->gain)
		print_gain(d, f, out);
	else
		plain_printf(out, "    no time of the run is known to be lost (%s)\n", f->rule->id);
	print_part(out, "where: ", &f->where);
	print_part(out, "       ", &f->evidence);
	if (f->show.length) /* to be pasted: in one line */
		plain_printf(out, "    show:  %s\n", f->show.s);
	print_part(out, "try:   ", &f->advice);
}

static void print_abstained(const struct diagnosis *d, FILE *out)
{
	if (!d->abstained.length)
		return;
	plain_printf(out, "\nNot known:\n");
	print_wrapped(out, 2, "", d->abstained.s);
}

/* A file of the trace cannot be read, is damaged, or has lost its end. */
static bool is_cut(const struct trace *t)
{
	for (uint32_t i = 1; i < t->processes_count; i++)
		if (t->processes[i].file_state || t->processes[i].damaged_blocks ||
		    (t->processes[i].how_ended == UINT32_MAX && !t->processes[i].recording &&
		     !t->processes[i].merged_ranks && !t->processes[i].telemetry))
			return true;
	return false;
}

/* Why there is no finding: that is praise only where all could be judged. */
static const char *reason_for_none(const struct diagnosis *d)
{
	if (!d->tl->work_count && !d->tl->calls_count && !d->tl->messages_count)
		return is_cut(d->trace) ? "Nothing to judge: what was recorded is lost."
					: "Nothing to judge: no call, device work or message was "
					  "recorded.";
	if (timeline_gaps(d->tl))
		return "Not judged: what could be won is told of whole recordings alone.";
	if (d->only)
		return "No finding of the rules that were chosen: they see no more to win than "
		       "their "
		       "thresholds (`kymo list rules`).";
	return "No finding: no rule sees more to win than its threshold (`kymo list rules`).";
}

/* How many of its rule stand before it. */
static uint32_t number_in_rule(const struct diagnosis *d, uint32_t finding)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < finding; i++)
		n += d->findings[i].rule == d->findings[finding].rule;
	return n;
}

/* Of a rule that has more than `each` of the first `shown`, at the first that is left out, how many are; else 0. */
static uint32_t left_out_from(const struct diagnosis *d, uint32_t finding, uint32_t shown,
			      uint32_t each)
{
	uint32_t n = 0;

	if (!each || number_in_rule(d, finding) != each)
		return 0;
	for (uint32_t i = finding; i < shown; i++)
		n += d->findings[i].rule == d->findings[finding].rule;
	return n;
}

static bool is_shown(const struct diagnosis *d, uint32_t finding, uint32_t each)
{
	return !each || number_in_rule(d, finding) < each;
}

static void print_text(const struct diagnosis *d, uint32_t top, uint32_t each, FILE *out)
{
	uint32_t shown = top && top < d->count ? top : d->count;

	if (!d->count)
		plain_printf(out, "%s\n", reason_for_none(d));
	for (uint32_t i = 0; i < shown; i++) {
		if (!is_shown(d, i, each))
			continue;
		if (i)
			plain_printf(out, "\n");
		print_finding(d, &d->findings[i], i + 1, out);
	}
	for (uint32_t i = 0; i < shown; i++) {
		uint32_t n = left_out_from(d, i, shown, each);

		if (n)
			plain_printf(out, "\n... %u more of %s (kymo diagnose --all)\n", n,
				     d->findings[i].rule->id);
	}
	if (shown < d->count)
		plain_printf(out, "\n... %u more (--top N, --all)\n", d->count - shown);
	print_abstained(d, out);
}

/* Each line of a part of a finding as an item of a list. */
static void print_items(FILE *out, const char *head, const char *text)
{
	struct text line = {0};

	while (text && *text) {
		size_t n = strcspn(text, "\n");

		line.length = 0;
		plain_add_markdown(&line, text, n);
		fprintf(out, "  - %s%s\n", head, line.s ? line.s : "");
		text += n + (text[n] != 0);
	}
	text_release(&line);
}

static void print_markdown(const struct diagnosis *d, uint32_t top, uint32_t each, FILE *out)
{
	uint32_t shown = top && top < d->count ? top : d->count;
	char time[UNITS_TEXT];

	for (uint32_t i = 0; i < shown; i++) {
		const struct finding *f = &d->findings[i];
		struct text title = {0};

		if (!is_shown(d, i, each))
			continue;
		plain_add_markdown(&title, text_of(&f->title), f->title.length);
		fprintf(out, "%u. **%s** (%s, %.1f %%): %s\n", i + 1, f->rule->id,
			units_time(f->gain, time), 100 * diagnosis_share(d, f->gain),
			text_of(&title));
		text_release(&title);
		print_items(out, "where: ", f->where.s);
		print_items(out, "", f->evidence.s);
		print_items(out, "try: ", f->advice.s);
	}
	for (uint32_t i = 0; i < shown; i++) {
		uint32_t n = left_out_from(d, i, shown, each);

		if (n)
			fprintf(out, "\n%u more of %s: `kymo diagnose --all` has them.\n", n,
				d->findings[i].rule->id);
	}
	if (!d->count)
		fprintf(out, "%s\n", reason_for_none(d));
	print_items(out, "not known: ", d->abstained.s);
}

/* ---- programs ---------------------------------------------------------------------------------- */

static uint64_t since(const struct diagnosis *d, int64_t time)
{
	return time > d->trace->origin ? (uint64_t)(time - d->trace->origin) : 0;
}

static void json_member(FILE *out, const char *name, const struct text *value)
{
	fprintf(out, ", \"%s\": ", name);
	json_string(out, text_of(value));
}

static void json_lines(FILE *out, const char *text)
{
	const char *comma = "";

	fprintf(out, "[");
	while (text && *text) {
		size_t n = strcspn(text, "\n");
		char line[1024];

		snprintf(line, sizeof(line), "%.*s", (int)n, text);
		fprintf(out, "%s", comma);
		json_string(out, line);
		comma = ", ";
		text += n + (text[n] != 0);
	}
	fprintf(out, "]");
}

struct places {
	finding_places *put;
	const void *data;
};

static void json_at(const struct diagnosis *d, const struct finding *f, const struct places *places,
		    FILE *out)
{
	const bool always = f->end <= f->start;

	if (always && !f->agent && !f->thread && !f->process) {
		fprintf(out, ", \"at\": null");
		return;
	}
	fprintf(out, ", \"at\": {\"start\": %" PRIu64 ", \"end\": %" PRIu64 ", \"tracks\": [",
		since(d, always ? d->tl->start : f->start), since(d, always ? d->tl->end : f->end));
	places->put(places->data, f, out);
	fprintf(out, "]}");
}

static void print_json_findings(const struct diagnosis *d, const struct places *places, FILE *out)
{
	for (uint32_t i = 0; i < d->count; i++) {
		const struct finding *f = &d->findings[i];

		fprintf(out, "%s\n  {\"rule\": ", i ? "," : "");
		json_string(out, f->rule->id);
		fprintf(out, ", \"gain_ns\": %" PRIu64 ", \"share\": %.6f, \"count\": %" PRIu64,
			f->gain, diagnosis_share(d, f->gain), f->count);
		if (f->spent)
			fprintf(out, ", \"spent_ns\": %" PRIu64, f->spent);
		if (f->end > f->start)
			fprintf(out, ", \"start_ns\": %" PRIu64 ", \"end_ns\": %" PRIu64,
				since(d, f->start), since(d, f->end));
		json_member(out, "title", &f->title);
		json_member(out, "where", &f->where);
		fprintf(out, ", \"evidence\": ");
		json_lines(out, f->evidence.s);
		json_member(out, "show", &f->show);
		json_member(out, "try", &f->advice);
		if (places)
			json_at(d, f, places, out);
		fprintf(out, "}");
	}
}

void findings_json(const struct diagnosis *d, finding_places *put, const void *data, FILE *out)
{
	const struct places places = {put, data};

	fprintf(out, "[");
	print_json_findings(d, &places, out);
	fprintf(out, "]");
}

static void print_json(const struct diagnosis *d, FILE *out)
{
	fprintf(out, "{\"trace\": ");
	json_string(out, d->path);
	fprintf(out, ", \"run_ns\": %" PRIu64 ", \"work_ns\": %" PRIu64 ", \"findings\": [",
		timeline_length(d->tl), d->work);
	print_json_findings(d, NULL, out);
	fprintf(out, "],\n \"not_known\": ");
	json_lines(out, d->abstained.s);
	fprintf(out, "}\n");
}

static void print_separated(const struct diagnosis *d, enum report_format format, FILE *out)
{
	static const char *const names[] = {"rule",     "gain_ns", "share", "count",
					    "start_ns", "end_ns",  "title", "where",
					    "evidence", "show",    "try"};
	const char tab = format == REPORT_TSV ? '\t' : ',';

	for (unsigned k = 0; k < sizeof(names) / sizeof(*names); k++) {
		if (k)
			separated_next(format, out);
		separated_field(format, out, names[k]);
	}
	separated_end(format, out);
	for (uint32_t i = 0; i < d->count; i++) {
		const struct finding *f = &d->findings[i];
		const struct text *texts[] = {&f->title, &f->where, &f->evidence, &f->show,
					      &f->advice};

		fprintf(out, "%s%c%" PRIu64 "%c%.6f%c%" PRIu64 "%c%" PRIu64 "%c%" PRIu64,
			f->rule->id, tab, f->gain, tab, diagnosis_share(d, f->gain), tab, f->count,
			tab, since(d, f->start), tab, since(d, f->end));
		for (unsigned k = 0; k < sizeof(texts) / sizeof(*texts); k++) {
			separated_next(format, out);
			separated_field(format, out, text_of(texts[k]));
		}
		separated_end(format, out);
	}
}

static void fill_row(struct table *t, const struct diagnosis *d, const struct finding *f)
{
	const struct text *texts[] = {&f->title, &f->where, &f->evidence, &f->show, &f->advice};
	struct cell *cells = table_row(t);

	if (!cells)
		return;
	cell_text(t, &cells[0], f->rule->id);
	cell_number(&cells[1], f->gain);
	cell_real(&cells[2], 100 * diagnosis_share(d, f->gain));
	for (unsigned k = 0; k < sizeof(texts) / sizeof(*texts); k++)
		cell_text(t, &cells[3 + k], text_of(texts[k]));
}

/* A line of the page for each of `lines`, which end with a break; `before` the first. NULL: none. */
static void foot_lines(struct report *r, const char *before, const char *lines)
{
	for (; lines && *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n') {
		report_foot(r, "%s%.*s", before, (int)strcspn(lines, "\n"), lines);
		before = "";
	}
}

static void print_html(const struct diagnosis *d, uint32_t top, FILE *out)
{
	struct report r = {.people = true};
	struct table *t = report_table(&r, "findings", d->count ? "Findings" : reason_for_none(d));

	if (t) {
		table_column(t, "rule", "rule", CELL_TEXT);
		table_column(t, "gain_ns", "could win", CELL_TIME);
		table_column(t, "share", "% of the run", CELL_PERCENT);
		table_column(t, "title", "what", CELL_TEXT);
		table_column(t, "where", "where", CELL_TEXT);
		table_column_lines(t, "evidence", "evidence");
		table_column_lines(t, "show", "show");
		table_column_lines(t, "try", "try");
	}
	for (uint32_t i = 0; t && i < d->count && (!top || i < top); i++)
		fill_row(t, d, &d->findings[i]);
	if (t && top && top < d->count)
		t->more = d->count - top;
	r.more = "--top N, --all";
	foot_lines(&r, "Not known: ", d->abstained.s);
	report_print(&r, REPORT_HTML, out);
	report_release(&r);
}

bool findings_print(const struct diagnosis *d, enum report_format format, uint32_t top,
		    uint32_t each, FILE *out)
{
	if (format == REPORT_JSON)
		print_json(d, out);
	else if (format == REPORT_CSV || format == REPORT_TSV)
		print_separated(d, format, out);
	else if (format == REPORT_HTML)
		print_html(d, top, out);
	else if (format == REPORT_MARKDOWN)
		print_markdown(d, top, each, out);
	else
		print_text(d, top, each, out);
	return fflush(out) == 0 && !ferror(out);
}
