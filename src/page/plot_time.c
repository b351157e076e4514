/* SPDX-License-Identifier: Apache-2.0 */
/* Plots of amounts over time: bytes copied, memory in use. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "page/plot.h"
#include "stream/names.h"

enum {
	BINS = 240,
	COLUMNS = 1320, /* of memory: pixels */
	MOST = 8        /* kinds of copies, curves */
};

extern const struct plot plot_bandwidth, plot_memory;

/* With room for a legend of so many rows. */
static struct plot_box box_above(uint32_t rows)
{
	return (struct plot_box){200, 170, 200 + COLUMNS, 770 - 30.0 * rows};
}

/* ---- bytes copied ------------------------------------------------------------------------------ */

struct kind {
	uint32_t op;
	uint64_t bytes;
	double rate[BINS]; /* bytes of each bin */
};

struct kinds {
	struct kind *list;
	uint32_t count;
};

static bool is_sized_copy(const struct tl_work *w)
{
	return w->kind == WORK_COPY && w->bytes;
}

static bool has_copies(const struct page *p)
{
	const struct timeline *tl = p->read.timeline;

	for (uint32_t i = 0; i < tl->work_count; i++)
		if (is_sized_copy(&tl->work[i]))
			return true;
	return false;
}

/* Spreads its bytes over its time. */
static void spread(struct kind *k, const struct timeline *tl, const struct tl_work *w)
{
	const double bin = (double)timeline_length(tl) / BINS;
	double a = (double)(w->start - tl->start), e = fmax((double)(w->end - tl->start), a + 1);
	double rate = (double)w->bytes / (e - a);
	unsigned first = a > 0 ? (unsigned)fmin(BINS - 1, a / bin) : 0;

	k->bytes += w->bytes;
	for (unsigned i = first; i < BINS && i * bin < e; i++)
		k->rate[i] += rate * fmax(0, fmin(e, (i + 1) * bin) - fmax(a, i * bin));
}

static int most_bytes(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static bool find_kinds(struct kinds *k, const struct timeline *tl)
{
	uint32_t *of_op = calloc(tl->trace->ops_count + 1u, sizeof(*of_op));

	for (uint32_t i = 0; of_op && i < tl->work_count; i++) {
		uint32_t op = tl->work[i].op;

		if (is_sized_copy(&tl->work[i]) && op < tl->trace->ops_count && !of_op[op])
			of_op[op] = ++k->count;
	}
	k->list = of_op ? calloc(k->count + 1u, sizeof(*k->list)) : NULL;
	for (uint32_t i = 0; k->list && i < tl->work_count; i++) {
		const struct tl_work *w = &tl->work[i];

		if (!is_sized_copy(w) || w->op >= tl->trace->ops_count)
			continue;
		k->list[of_op[w->op] - 1].op = w->op;
		spread(&k->list[of_op[w->op] - 1], tl, w);
	}
	free(of_op);
	if (k->list)
		qsort(k->list, k->count, sizeof(*k->list), most_bytes);
	return k->list;
}

/* Those behind the largest become one. */
static void fold_kinds(struct kinds *k)
{
	for (uint32_t i = MOST; i < k->count; i++) {
		k->list[MOST - 1].bytes += k->list[i].bytes;
		k->list[MOST - 1].op = UINT32_MAX;
		for (unsigned b = 0; b < BINS; b++)
			k->list[MOST - 1].rate[b] += k->list[i].rate[b];
	}
	k->count = k->count < MOST ? k->count : MOST;
}

static void draw_kinds(const struct kinds *k, const struct page *p, struct draw *d,
		       const struct plot_box *box, double most)
{
	const double seconds = (double)timeline_length(p->read.timeline) / BINS / 1e9;
	const double wide = (box->right - box->left) / BINS, high = box->bottom - box->top;

	for (unsigned b = 0; b < BINS; b++) {
		double y = box->bottom;

		for (uint32_t i = 0; i < k->count; i++) {
			double rate = k->list[i].rate[b] / seconds, h = rate / most * high;
			char told[80], text[UNITS_TEXT];

			snprintf(told, sizeof(told), "%.0f bytes, %s", k->list[i].rate[b],
				 units_rate(rate, text));
			y -= h;
			draw_area(d, box->left + b * wide, y, wide, h, plot_series[i], i, told);
		}
	}
}

static void legend_of_kinds(const struct kinds *k, const struct page *p, struct draw *d, double y)
{
	struct plot_legend legend[MOST];
	char text[MOST][160], bytes[UNITS_TEXT];

	for (uint32_t i = 0; i < k->count; i++) {
		const char *name = k->list[i].op == UINT32_MAX
					   ? "others"
					   : p->read.trace->ops[k->list[i].op].name;

		snprintf(text[i], sizeof(text[i]), "%.100s, %s", name,
			 units_bytes((double)k->list[i].bytes, bytes));
		legend[i] = (struct plot_legend){
			.colour = plot_series[i], .texture = i, .text = text[i]};
	}
	plot_legend(d, 40, y, PLOT_WIDTH - 80, legend, k->count);
}

static bool draw_bandwidth(const struct page *p, struct draw *d, unsigned picture)
{
	const double seconds = (double)timeline_length(p->read.timeline) / BINS / 1e9;
	struct kinds k = {0};
	struct plot_box box;
	double most = 0;

	if (!find_kinds(&k, p->read.timeline))
		return false;
	fold_kinds(&k);
	box = box_above((k.count + 1) / 2);
	for (unsigned b = 0; b < BINS; b++) {
		double sum = 0;

		for (uint32_t i = 0; i < k.count; i++)
			sum += k.list[i].rate[b] / seconds;
		most = fmax(most, sum);
	}
	plot_axis_y(d, &box, most, PLOT_RATE, "bytes a second");
	draw_kinds(&k, p, d, &box, most);
	plot_axis_time(d, &box, p);
	legend_of_kinds(&k, p, d, box.bottom + 98);
	free(k.list);
	return true;
}

const struct plot plot_bandwidth = {
	"bandwidth",
	"Bytes copied over time",
	"bytes a second by what copied them, spread over each copy's time",
	has_copies,
	draw_bandwidth,
	NULL};

/* ---- memory in use ----------------------------------------------------------------------------- */

struct change {
	uint32_t process, agent, number;
	uint8_t kind;
	int64_t time, bytes;
};

struct curve {
	const struct change *at;
	uint32_t count;
	int64_t peak;
};

static bool has_memory(const struct page *p)
{
	const struct timeline *tl = p->read.timeline;

	for (uint32_t i = 0; i < tl->allocations_count; i++)
		if (!tl->allocations[i].part && tl->allocations[i].bytes)
			return true;
	return false;
}

static bool same_place(const struct change *x, const struct change *y)
{
	return x->process == y->process && x->agent == y->agent && x->kind == y->kind;
}

static int by_place(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->agent != y->agent)
		return x->agent < y->agent ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static int largest_first(const void *a, const void *b)
{
	const struct curve *x = a, *y = b;

	if (x->peak != y->peak)
		return x->peak > y->peak ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static struct change *find_changes(const struct timeline *tl, uint32_t *count)
{
	struct change *list = calloc(tl->allocations_count + 1u, sizeof(*list));

	*count = 0;
	for (uint32_t i = 0; list && i < tl->allocations_count; i++) {
		const struct tl_allocation *a = &tl->allocations[i];

		if (!a->part)
			list[(*count)++] = (struct change){
				a->process, a->agent,
				i,          a->kind,
				a->time,    a->freed ? -(int64_t)a->bytes : (int64_t)a->bytes};
	}
	if (list)
		qsort(list, *count, sizeof(*list), by_place);
	return list;
}

static struct curve *find_curves(const struct change *at, uint32_t changes, uint32_t *count)
{
	struct curve *list = calloc(changes + 1u, sizeof(*list));
	int64_t level = 0;

	*count = 0;
	for (uint32_t i = 0; list && i < changes; i++) {
		struct curve *c;

		if (!i || !same_place(&at[i - 1], &at[i])) {
			level = 0;
			list[(*count)++].at = &at[i];
		}
		c = &list[*count - 1];
		c->count++;
		level += at[i].bytes;
		c->peak = level > c->peak ? level : c->peak;
	}
	if (list)
		qsort(list, *count, sizeof(*list), largest_first);
	return list;
}

/* A column of pixels: the most in it, and what is left at its end. Nothing before the first change. */
static bool draw_curve(struct draw *d, const struct curve *c, const struct page *p,
		       const struct plot_box *box, double most, unsigned series, const char *told)
{
	const struct timeline *tl = p->read.timeline;
	const double length = (double)timeline_length(tl), high = box->bottom - box->top;
	double *xy = calloc(4 * (COLUMNS + 1), sizeof(*xy));
	int64_t level = 0;
	size_t n = 0;
	uint32_t i = 0;

	for (unsigned x = 0; xy && x < COLUMNS; x++) {
		const double end = x + 1 == COLUMNS ? INFINITY : length / COLUMNS * (x + 1);
		int64_t top = level > 0 ? level : 0;

		for (; i < c->count && (double)(c->at[i].time - tl->start) < end; i++) {
			level += c->at[i].bytes;
			top = level > top ? level : top;
		}
		if (!i)
			continue;
		if (!n) {
			xy[0] = box->left + x;
			xy[1] = box->bottom;
			n = 1;
		}
		for (unsigned k = 0; k < 2; k++) {
			double v = (double)(k ? level > 0 ? level : 0 : top);

			xy[2 * n] = box->left + x + 0.5 * k;
			xy[2 * n + 1] = box->bottom - v / most * high;
			n++;
		}
	}
	if (xy)
		draw_line(d, xy, n, plot_series[series], 2.5, plot_dash(series), told);
	free(xy);
	return xy;
}

static void curve_name(char *out, size_t size, const struct page *p, const struct curve *c)
{
	const struct trace *t = p->read.trace;
	const struct t_process *process = &t->processes[c->at->process];
	const char *label = c->at->agent ? t->agents[c->at->agent].label : "";
	char rank[32] = "", bytes[UNITS_TEXT];

	if (process->rank != UINT32_MAX)
		snprintf(rank, sizeof(rank), "rank %" PRIu32 ": ", process->rank);
	else if (t->processes_count > 2)
		snprintf(rank, sizeof(rank), "process %" PRIu32 ": ", process->pid);
	snprintf(out, size, "%s%s memory%s%.80s, at most %s", rank, name_memory_kind(c->at->kind),
		 *label ? " of " : "", label, units_bytes((double)c->peak, bytes));
}

static bool draw_memory(const struct page *p, struct draw *d, unsigned picture)
{
	uint32_t changes, count = 0, shown;
	struct change *at = find_changes(p->read.timeline, &changes);
	struct curve *curves = at ? find_curves(at, changes, &count) : NULL;
	struct plot_legend legend[MOST];
	char text[MOST][240];
	struct plot_box box;
	double most;
	bool ok = curves;

	shown = count < MOST ? count : MOST;
	box = box_above(shown);
	most = ok && curves[0].peak > 0 ? (double)curves[0].peak : 1;
	if (count > shown)
		plot_note(d, "the %" PRIu32 " largest of %" PRIu32 "; kymo summary has all", shown,
			  count);
	if (ok)
		plot_axis_y(d, &box, most, PLOT_BYTES, "bytes in use");
	for (uint32_t i = 0; ok && i < shown; i++) {
		curve_name(text[i], sizeof(text[i]), p, &curves[i]);
		legend[i] = (struct plot_legend){.colour = plot_series[i],
						 .text = text[i],
						 .line = true,
						 .dash = plot_dash(i)};
		ok = draw_curve(d, &curves[i], p, &box, most, i, text[i]);
	}
	plot_axis_time(d, &box, p);
	if (ok)
		plot_legend(d, 40, box.bottom + 98, PLOT_WIDTH - 80, legend, shown);
	free(curves);
	free(at);
	return ok;
}

const struct plot plot_memory = {
	"memory",   "Memory in use", "what was allocated and not yet freed",
	has_memory, draw_memory,     NULL};
