/* SPDX-License-Identifier: Apache-2.0 */
/* See kernels.h. All values are those of metrics/evaluate.h. */
#include "page/kernels.h"

#ifdef KYMO_HAVE_METRICS
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace_store.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "metrics/findings.h"
#include "metrics/roofline.h"
#include "page/plot.h"
#include "page/plot_roofline.h"

enum {
	PEOPLE_KERNELS = 3, /* whose panels documents have */
	DIAGNOSED = 5       /* as kymo diagnose */
};

/* Of one device. */
struct page_roofline {
	const struct kernel_device *device;
	struct kernel_points points;
	struct roofs roofs;
	struct roofline line;
	bool drawn;         /* there is a line */
	char why[ROOF_WHY]; /* else */
};

struct page_kernels {
	struct metric_set set, own; /* `own`: Kymo's alone, which rules know */
	struct metric_specs specs;  /* none */
	struct kernel_data data;
	struct report people, programs, workbook;
	struct page_roofline rooflines[PAGE_ROOFLINES_MOST];
	unsigned count;
};

/* ---- reading ----------------------------------------------------------------------------------------- */

static bool make_roofline(struct page_kernels *k, struct store *s, const struct kernel_device *d)
{
	struct page_roofline *l = &k->rooflines[k->count++];

	l->device = d;
	if (!kernel_points_make(&l->points, &k->set, &k->specs, &k->data, d))
		return false;
	if (!l->points.count)
		snprintf(l->why, sizeof(l->why), "%s", l->points.why.s);
	else if (kernel_roofs_find(s, d, NULL, &l->roofs, l->why))
		l->drawn =
			roofline_make(&l->line, &l->roofs, l->points.at, l->points.count, l->why);
	return true;
}

/* Those whose kernels took most time first. */
static bool make_rooflines(struct page_kernels *k, struct store *s)
{
	bool good = true;

	for (uint32_t i = 0; good && i < k->data.group_count && k->count < PAGE_ROOFLINES_MOST;
	     i++) {
		bool known = false;

		for (unsigned n = 0; n < k->count; n++)
			known |= k->rooflines[n].device == k->data.groups[i].device;
		if (!known)
			good = make_roofline(k, s, k->data.groups[i].device);
	}
	return good;
}

/* What limits the first `most`, into a report or a diagnosis. */
static bool add_findings(const struct page_kernels *k, struct store *s, uint32_t most,
			 struct report *r, struct diagnosis *d)
{
	struct kernel_findings f = {.set = &k->own, .specs = &k->specs, .store = s};
	bool good = kernel_findings_find(&f, &k->data, most);

	if (good && r)
		kernel_findings_report(r, &f);
	if (good && d)
		good = kernel_findings_tell(&f, d);
	kernel_findings_release(&f);
	return good;
}

static bool make_reports(struct page_kernels *k, struct store *s, struct stream_log *log)
{
	struct kernel_report about = {
		.set = &k->set, .specs = &k->specs, .data = &k->data, .store = s, .log = log};

	k->people = (struct report){
		.top = TABLE_TOP, .more = "kymo kernels --all", .people = true, .utf8 = true};
	about.top = PEOPLE_KERNELS;
	if (!kernel_report_make(&k->people, &about) ||
	    !add_findings(k, s, PEOPLE_KERNELS, &k->people, NULL))
		return false;
	about.panels = "0.1,21.1";
	about.top = PAGE_KERNELS_MOST;
	if (!kernel_report_make(&k->programs, &about) ||
	    !add_findings(k, s, PAGE_KERNELS_MOST, &k->programs, NULL) ||
	    !kernel_report_make(&k->workbook, &about) ||
	    !add_findings(k, s, PAGE_KERNELS_MOST, &k->workbook, NULL))
		return false;
	about.panels = NULL;
	return kernel_report_flat(&k->workbook, &about);
}

static bool make(struct page_kernels *k, struct store *s, struct diagnosis *d,
		 const char *metrics_file, struct stream_log *log)
{
	char error[600];

	return metric_set_read(&k->own, NULL, error, sizeof(error)) &&
	       metric_set_read(&k->set, metrics_file, error, sizeof(error)) &&
	       kernel_data_read(&k->data, s, log) && make_reports(k, s, log) &&
	       make_rooflines(k, s) && (!d || add_findings(k, s, DIAGNOSED, NULL, d));
}

bool page_kernels_check(const char *metrics_file, char *error, size_t size)
{
	struct metric_set set = {.denom = NULL};
	bool good = !metrics_file || metric_set_read(&set, metrics_file, error, size);

	metric_set_release(&set);
	return good;
}

bool page_kernels_read(struct page_kernels **out, const struct summary *s, struct diagnosis *d,
		       const char *metrics_file, const struct format_options *o)
{
	struct format_options again = *o;
	struct store *store;
	bool good;

	if (!metrics_file && !kernel_counters_in(s) && !s->tallies->set[TALLY_DEVICE_SAMPLE].count)
		return true;
	again.progress_data = (void *)(uintptr_t) "Building the store";
	if (trace_store_open(s->path, false, &again, &store) != KYMO_OK)
		return true; /* said why */
	*out = calloc(1, sizeof(**out));
	/* Rules are asked of whole runs. */
	good = *out && make(*out, store, o->filter ? NULL : d, metrics_file, o->log);
	store_close(store);
	return good;
}

void page_kernels_release(struct page_kernels *k)
{
	if (!k)
		return;
	for (unsigned i = 0; i < k->count; i++) {
		if (k->rooflines[i].drawn)
			roofline_release(&k->rooflines[i].line);
		kernel_points_release(&k->rooflines[i].points);
	}
	report_release(&k->people);
	report_release(&k->programs);
	report_release(&k->workbook);
	kernel_data_release(&k->data);
	metric_set_release(&k->set);
	metric_set_release(&k->own);
	free(k);
}

/* ---- the head ---------------------------------------------------------------------------------------- */

static void put_real(FILE *out, double v)
{
	if (isfinite(v))
		fprintf(out, "%.15g", v);
	else
		fputs("null", out);
}

/* Tables of metrics; the others are tables of the report. */
static bool has_metrics(const struct metric_table *t)
{
	return t->style <= METRIC_DEVICE;
}

static void put_metric(FILE *out, const struct page_kernels *k, const struct metric *m)
{
	struct text unit = {0};

	kernel_unit(&k->set, m, &unit);
	fprintf(out, "[%u, ", m->id);
	json_string(out, m->name);
	fputs(", ", out);
	json_string(out, unit.s ? unit.s : "");
	fputs(", ", out);
	json_string(out, m->description ? m->description : "");
	fputs("]", out);
	text_release(&unit);
}

static void put_metric_table(FILE *out, const struct page_kernels *k, const struct metric_panel *p,
			     const struct metric_table *t)
{
	char id[METRIC_ID_TEXT];

	metric_id(p, t, NULL, id);
	fprintf(out, "{\"id\": \"%s\", \"title\": ", id);
	json_string(out, t->title);
	fprintf(out, ", \"style\": \"%s\", \"metrics\": [", metric_style_names[t->style]);
	for (uint32_t i = 0; i < t->metrics.count; i++) {
		fputs(i ? ",\n  " : "", out);
		put_metric(out, k, &t->metrics.at[i]);
	}
	fputs("]}", out);
}

static void put_panels(FILE *out, const struct page_kernels *k)
{
	const char *between = "\n";

	fputs("[", out);
	for (uint32_t i = 0; i < k->set.panels.count; i++) {
		const struct metric_panel *p = &k->set.panels.at[i];
		const char *comma = "";

		fprintf(out, "%s{\"id\": %u, \"title\": ", between, p->id);
		json_string(out, p->title);
		fputs(", \"about\": ", out);
		json_string(out, p->description ? p->description : "");
		fputs(", \"tables\": [", out);
		for (uint32_t n = 0; n < p->tables.count; n++) {
			if (!has_metrics(&p->tables.at[n]))
				continue;
			fputs(comma, out);
			put_metric_table(out, k, p, &p->tables.at[n]);
			comma = ",\n ";
		}
		fputs("]}", out);
		between = ",\n";
	}
	fputs("]", out);
}

/* Why values are not there, and what is to be said of others: each once. */
struct reasons {
	struct map of; /* by hash: number + 1 */
	struct text json;
	uint32_t count;
	bool failed;
};

static uint32_t reason_of(struct reasons *r, const char *why)
{
	const uint64_t hash = hash_string(why), known = map_get(&r->of, hash);
	char *quoted = NULL;
	size_t n = 0;
	FILE *out;

	if (known)
		return (uint32_t)known - 1;
	out = open_memstream(&quoted, &n);
	if (out)
		json_string(out, why);
	if (!out || fclose(out) != 0 || !map_set(&r->of, hash, r->count + 1u))
		r->failed = true;
	text_addf(&r->json, "%s%s", r->count ? ",\n" : "", quoted ? quoted : "\"\"");
	free(quoted);
	return r->count++;
}

static void put_value(FILE *out, const struct metric_value *v, struct reasons *r)
{
	const char *why = v->why.length ? v->why.s : "";

	if (isnan(v->value)) {
		fprintf(out, "%u", reason_of(r, why));
		return;
	}
	fputs("[", out);
	for (unsigned i = 0; i < 5; i++) {
		put_real(out, (double[]){v->value, v->least, v->most, v->peak, metric_share(v)}[i]);
		fputs(",", out);
	}
	fprintf(out, "%u,%u", v->rows, v->of);
	if (*why)
		fprintf(out, ",%u", reason_of(r, why));
	fputs("]", out);
}

static void put_table_values(FILE *out, const struct page_kernels *k, const struct metric_table *t,
			     const struct kernel_group *g, struct reasons *r)
{
	fputs("[", out);
	for (uint32_t i = 0; i < t->metrics.count; i++) {
		struct metric_value v;

		r->failed |= !metric_evaluate(&k->set, &k->specs, &t->metrics.at[i], g, &v);
		fputs(i ? "," : "", out);
		put_value(out, &v, r);
		metric_value_release(&v);
	}
	fputs("]", out);
}

static void put_kernel(FILE *out, const struct page_kernels *k, const struct kernel_group *g,
		       struct reasons *r)
{
	const char *comma = "";

	fputs("{\"kernel\": ", out);
	json_string(out, g->name);
	fputs(", \"device\": ", out);
	json_string(out, g->device->label);
	fputs(", \"values\": [", out);
	for (uint32_t i = 0; i < k->set.panels.count; i++) {
		const struct metric_panel *p = &k->set.panels.at[i];

		for (uint32_t n = 0; n < p->tables.count; n++) {
			if (!has_metrics(&p->tables.at[n]))
				continue;
			fputs(comma, out);
			put_table_values(out, k, &p->tables.at[n], g, r);
			comma = ",\n ";
		}
	}
	fputs("]}", out);
}

static void put_kernels(FILE *out, const struct page_kernels *k)
{
	struct reasons r = {.count = 0};

	fputs("[", out);
	for (uint32_t i = 0; i < k->data.group_count && i < PAGE_KERNELS_MOST; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_kernel(out, k, &k->data.groups[i], &r);
	}
	fprintf(out, "],\n\"reasons\": [%s]", r.json.s ? r.json.s : "");
	map_release(&r.of);
	text_release(&r.json);
}

/* ---- rooflines --------------------------------------------------------------------------------------- */

static void put_points(FILE *out, const struct roofline *l)
{
	fputs("[", out);
	for (unsigned i = 0; i < l->points_count; i++) {
		const struct roofline_point *p = &l->points[i];

		fputs(i ? ",[" : "[", out);
		json_string(out, p->kernel);
		fprintf(out, ",\"%s\"", p->level);
		for (unsigned n = 0; n < 4; n++) {
			fputs(",", out);
			put_real(out, (double[]){p->intensity, p->rate, p->share,
						 roofline_attained(l, p)}[n]);
		}
		fputs("]", out);
	}
	fputs("]", out);
}

static void put_roofs(FILE *out, const struct roofline *l)
{
	const char *comma = "";

	fputs("[", out);
	for (unsigned i = 0; i < l->slanted_count + l->flat_count; i++) {
		const struct roof *r =
			i < l->slanted_count ? l->slanted[i] : l->flat[i - l->slanted_count];

		fprintf(out, "%s[", comma);
		json_string(out, r->type);
		fprintf(out, ",\"%s\",", roof_unit(r));
		put_real(out, r->value);
		fputs(",", out);
		put_real(out, r->interval);
		fputs("]", out);
		comma = ",";
	}
	fputs("]", out);
}

static void put_picture(FILE *out, const struct roofline *l, bool dark)
{
	char *svg = NULL;
	const char *why;
	size_t n = 0;
	FILE *to = open_memstream(&svg, &n);
	struct draw *d =
		to ? draw_begin(DRAW_SVG, PLOT_WIDTH, PLOT_HEIGHT, to, "Roofline", &why) : NULL;
	bool ok = d != NULL;

	if (d) {
		roofline_draw(d, l, dark);
		ok = draw_end(d);
	}
	ok = to && fclose(to) == 0 && ok;
	json_string(out, ok ? svg : "");
	free(svg);
}

static void put_roofline(FILE *out, const struct page_roofline *l)
{
	fputs("{\"device\": ", out);
	json_string(out, l->device->label);
	if (!l->drawn) {
		fputs(", \"why\": ", out);
		json_string(out, l->why);
		fputs("}", out);
		return;
	}
	fprintf(out, ", \"left_out\": %u, \"points\": ", l->line.left_out);
	put_points(out, &l->line);
	fputs(", \"roofs\": ", out);
	put_roofs(out, &l->line);
	fputs(", \"light\": ", out);
	put_picture(out, &l->line, false);
	fputs(", \"dark\": ", out);
	put_picture(out, &l->line, true);
	fputs("}", out);
}

void page_kernels_put(FILE *out, const struct page_kernels *k)
{
	if (!k) {
		fputs("null", out);
		return;
	}
	fputs("{\"tables\": ", out);
	page_put_tables(out, &k->programs);
	fputs(",\n\"panels\": ", out);
	put_panels(out, k);
	fputs(",\n\"kernels\": ", out);
	put_kernels(out, k);
	fputs(",\n\"rooflines\": [", out);
	for (unsigned i = 0; i < k->count; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_roofline(out, &k->rooflines[i]);
	}
	fputs("]}", out);
}

/* ---- documents --------------------------------------------------------------------------------------- */

const struct report *page_kernels_people(const struct page_kernels *k)
{
	return k ? &k->people : NULL;
}

const struct report *page_kernels_programs(const struct page_kernels *k)
{
	return k ? &k->workbook : NULL;
}

unsigned page_kernels_rooflines(const struct page_kernels *k)
{
	unsigned n = 0;

	for (unsigned i = 0; k && i < k->count; i++)
		n += k->rooflines[i].drawn;
	return n;
}

void page_kernels_draw(const struct page_kernels *k, unsigned number, struct draw *d)
{
	for (unsigned i = 0; i < k->count; i++)
		if (k->rooflines[i].drawn && number-- == 0)
			roofline_draw(d, &k->rooflines[i].line, false);
}
#else
bool page_kernels_check(const char *metrics_file, char *error, size_t size)
{
	if (metrics_file)
		snprintf(error, size,
			 "this kymo was built without SQLite or libyaml, which metrics need");
	return !metrics_file;
}

bool page_kernels_read(struct page_kernels **out, const struct summary *s, struct diagnosis *d,
		       const char *metrics_file, const struct format_options *o)
{
	return true;
}

void page_kernels_release(struct page_kernels *k)
{
}

void page_kernels_put(FILE *out, const struct page_kernels *k)
{
	fputs("null", out);
}

const struct report *page_kernels_people(const struct page_kernels *k)
{
	return NULL;
}

const struct report *page_kernels_programs(const struct page_kernels *k)
{
	return NULL;
}

unsigned page_kernels_rooflines(const struct page_kernels *k)
{
	return 0;
}

void page_kernels_draw(const struct page_kernels *k, unsigned number, struct draw *d)
{
}
#endif
