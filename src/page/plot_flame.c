/* SPDX-License-Identifier: Apache-2.0 */
/* Flame graphs: a bar for each frame, as wide as what is in it and below it, over those that it called. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/units.h"
#include "page/plot.h"

enum { ROW = 24, TOP = 136, LEFT = 40, WIDE = PLOT_WIDTH - 2 * LEFT, LEVELS = 30, LETTER = 14 };

static const double LEAST = 0.5; /* of a pixel: narrower ones are not drawn */

extern const struct plot plot_flame_samples, plot_flame_off_cpu, plot_flame_device,
	plot_flame_stacks, plot_flame_heap;

struct picture {
	struct draw *d;
	const struct flames *f;
	const struct flame *of;
	enum flame_kind kind;
	uint64_t *total, *count; /* with what is below */
	uint32_t *order,
		*first;  /* nodes by parent, the largest first; where those of a node begin */
	uint32_t deeper; /* frames below the last row */
	uint64_t narrow; /* of the first value, in frames that are too narrow */
};

static const struct picture *sorted; /* by_parent() */

static int by_parent(const void *x, const void *y)
{
	const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	const uint32_t up_a = sorted->of->nodes[a].parent, up_b = sorted->of->nodes[b].parent;
	const uint64_t *total = sorted->total;

	if (up_a != up_b)
		return up_a < up_b ? -1 : 1;
	if (total[a] != total[b])
		return total[a] < total[b] ? 1 : -1;
	return (a > b) - (a < b);
}

static bool lay(struct picture *p)
{
	const uint32_t n = p->of->count;

	p->total = flame_totals(p->of, 0);
	p->count = flame_totals(p->of, 1);
	p->order = calloc(n, sizeof(*p->order));
	p->first = calloc(n + 1u, sizeof(*p->first));
	if (!p->total || !p->count || !p->order || !p->first)
		return false;
	for (uint32_t i = 1; i < n; i++)
		p->order[i - 1] = i;
	sorted = p;
	qsort(p->order, n - 1, sizeof(*p->order), by_parent);
	for (uint32_t i = 0, k = 0; i <= n; i++) {
		while (k < n - 1 && p->of->nodes[p->order[k]].parent < i)
			k++;
		p->first[i] = k;
	}
	return true;
}

static char unit(const struct picture *p)
{
	return *flames_unit(p->f, p->kind);
}

static void value_text(const struct picture *p, uint64_t v, char *out, size_t size)
{
	char text[32];

	if (unit(p) == 'b')
		snprintf(out, size, "%" PRIu64 " bytes (%s)", v, units_bytes((double)v, text));
	else if (unit(p) == 'n')
		snprintf(out, size, "%" PRIu64 " ns (%s)", v, units_time(v, text));
	else
		snprintf(out, size, "%" PRIu64, v);
}

static uint32_t text_colour(uint32_t colour)
{
	double light =
		0.2126 * (colour >> 16) + 0.7152 * (colour >> 8 & 255) + 0.0722 * (colour & 255);

	return light > 110 ? DRAW_TEXT : DRAW_WHITE;
}

static void draw_frame(struct picture *p, uint32_t node, double x, double y, double w)
{
	const struct flame_node *n = &p->of->nodes[node];
	char others[60], value[80], told[700];
	const char *name = n->name == FLAME_NONE ? others : p->f->names.at[n->name];
	uint32_t colour =
		n->name == FLAME_NONE ? DRAW_RULE : plot_series[hash_string(name) % PLOT_SERIES];

	if (!node)
		colour = DRAW_EMPTY;
	if (node)
		snprintf(others, sizeof(others), "others: %" PRIu32 " small stack%s", n->others,
			 plural(n->others));
	else
		snprintf(others, sizeof(others), "all");
	value_text(p, p->total[node], value, sizeof(value));
	snprintf(told, sizeof(told), "%s: %s, %.2f %%, %" PRIu64 " %s", name, value,
		 100 * (double)p->total[node] / (double)p->total[0], p->count[node],
		 flame_about[p->kind].values[1]);
	draw_rect(p->d, x, y, fmax(LEAST, w - 0.7), ROW - 2, colour, told);
	if (w > 30)
		draw_text_fitted(p->d, x + 4, y + ROW - 8, LETTER, w - 8, DRAW_LEFT,
				 text_colour(colour), name);
}

static void draw_tree(struct picture *p, uint32_t node, double x, double w, unsigned level)
{
	draw_frame(p, node, x, TOP + (double)level * ROW, w);
	for (uint32_t i = p->first[node]; i < p->first[node + 1]; i++) {
		const uint32_t child = p->order[i];
		const double wide = (double)p->total[child] / (double)p->total[0] * WIDE;

		if (level + 1 >= LEVELS)
			p->deeper++;
		else if (wide < LEAST)
			p->narrow += p->total[child];
		else
			draw_tree(p, child, x, wide, level + 1);
		x += wide;
	}
}

static void note(struct picture *p)
{
	char deeper[80] = "", narrow[120] = "", folded[80] = "";
	struct text left_out = {0};

	flames_left_out(p->f, p->kind, &left_out);
	if (p->deeper)
		snprintf(deeper, sizeof(deeper), "; %" PRIu32 " frames are deeper", p->deeper);
	if (p->narrow)
		snprintf(narrow, sizeof(narrow), "; %.2g %% are in frames too narrow to be drawn",
			 100 * (double)p->narrow / (double)p->total[0]);
	if (p->of->folded)
		snprintf(folded, sizeof(folded), "; %" PRIu32 " small stacks are in others",
			 p->of->folded);
	plot_note(p->d, "width: %s%s%s%s%s%s%s",
		  flame_about[p->kind].values[unit(p) == 'c' ? 1 : 0],
		  p->f->apart ? "" : " of all processes and threads together", folded, narrow,
		  deeper, left_out.length ? "; not in it: " : "", left_out.s ? left_out.s : "");
	text_release(&left_out);
}

static bool draw_flame(const struct page *page, struct draw *d, enum flame_kind kind)
{
	struct picture p = {.d = d, .f = &page->flames, .of = &page->flames.of[kind], .kind = kind};
	bool ok = lay(&p);

	if (ok && p.total[0]) {
		draw_tree(&p, 0, LEFT, WIDE, 0);
		note(&p);
	}
	free(p.total);
	free(p.count);
	free(p.order);
	free(p.first);
	return ok;
}

#define FLAME_PLOT(symbol, kind, name, title, about)                                               \
	static bool has_##symbol(const struct page *p)                                             \
	{                                                                                          \
		return flames_has(&p->flames, kind);                                               \
	}                                                                                          \
	static bool draw_##symbol(const struct page *p, struct draw *d, unsigned picture)          \
	{                                                                                          \
		return draw_flame(p, d, kind);                                                     \
	}                                                                                          \
	const struct plot plot_flame_##symbol = {name,         title,         about,               \
						 has_##symbol, draw_##symbol, NULL}

FLAME_PLOT(samples, FLAME_SAMPLES, "flame_samples", FLAME_SAMPLES_TITLE, FLAME_SAMPLES_ABOUT);
FLAME_PLOT(off_cpu, FLAME_OFF_CPU, "flame_off_cpu", FLAME_OFF_CPU_TITLE, FLAME_OFF_CPU_ABOUT);
FLAME_PLOT(device, FLAME_DEVICE, "flame_device", FLAME_DEVICE_TITLE, FLAME_DEVICE_ABOUT);
FLAME_PLOT(stacks, FLAME_STACKS, "flame_device_stacks", FLAME_STACKS_TITLE, FLAME_STACKS_ABOUT);
FLAME_PLOT(heap, FLAME_HEAP, "flame_heap", FLAME_HEAP_TITLE, FLAME_HEAP_ABOUT);

bool plot_is_flame(const struct plot *plot)
{
	return plot == &plot_flame_samples || plot == &plot_flame_off_cpu ||
	       plot == &plot_flame_device || plot == &plot_flame_stacks || plot == &plot_flame_heap;
}
