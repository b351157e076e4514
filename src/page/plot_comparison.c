/* SPDX-License-Identifier: Apache-2.0 */
/* What takes more or less time in the run that the page's is compared with. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "page/plot.h"

enum { BARS = 20, MORE = 0xD55E00, LESS = 0x0072B2 };

extern const struct plot plot_comparison;

struct difference {
	const char *what;
	const struct compare_item *item; /* NULL: of the run as a whole */
	const struct compare_test *test; /* of the time of a run */
	double ns;
	uint32_t number;
};

static double size_of(const struct difference *d)
{
	return fabs(d->ns);
}

static int largest_first(const void *x, const void *y)
{
	const struct difference *a = x, *b = y;

	if (size_of(a) != size_of(b))
		return size_of(a) < size_of(b) ? 1 : -1;
	return (a->number > b->number) - (a->number < b->number);
}

static int most_first(const void *x, const void *y)
{
	const struct difference *a = x, *b = y;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return (a->number > b->number) - (a->number < b->number);
}

static void add(struct difference *d, uint32_t *n, const char *what,
		const struct compare_item *item, const struct compare_test *test)
{
	if (test->a != test->b)
		d[*n] = (struct difference){what, item, test, test->b - test->a, *n};
	*n += test->a != test->b;
}

/* Those that differ, most of all first; *n of them, to be freed. NULL: no memory. */
static struct difference *find(const struct compare *c, uint32_t *n)
{
	struct difference *d = calloc((size_t)c->item_count + c->quantity_count + 1, sizeof(*d));

	*n = 0;
	if (!d)
		return NULL;
	for (uint32_t i = 0; i < c->item_count; i++)
		add(d, n, c->items[i].label, &c->items[i], &c->items[i].all);
	for (uint32_t i = 0; i < c->quantity_count; i++)
		if (c->quantities[i].unit == QUANTITY_TIME)
			add(d, n, c->quantities[i].name, NULL, &c->quantities[i].test);
	qsort(d, *n, sizeof(*d), largest_first);
	return d;
}

static bool has_comparison(const struct page *p)
{
	uint32_t n = 0;

	if (p->comparison.with)
		free(find(&p->comparison.compare, &n));
	return n;
}

/* Beyond noise, of the run or of a call; else "". */
static const char *verdict_of(const struct difference *d)
{
	if (d->item && d->item->missing[0])
		return "only in B";
	if (d->item && d->item->missing[1])
		return "only in A";
	if (d->item && d->item->each.verdict == VERDICT_UP)
		return "slower";
	if (d->item && d->item->each.verdict == VERDICT_DOWN)
		return "faster";
	return d->test->verdict == VERDICT_UP     ? "more"
	       : d->test->verdict == VERDICT_DOWN ? "less"
						  : "";
}

static void draw_difference(struct draw *d, const struct plot_box *b, double y, double high,
			    double most, const struct difference *x)
{
	const double middle = (b->left + b->right) / 2, inset = fmin(6, 0.15 * high);
	const double wide = size_of(x) / most * (b->right - b->left) / 2;
	const double left = x->ns < 0 ? middle - wide : middle;
	const char *verdict = verdict_of(x);
	char told[400], time[UNITS_TEXT], label[80];

	snprintf(told, sizeof(told), "%.200s: %.0f ns in A, %.0f ns in B, %+.0f ns%s%s", x->what,
		 x->test->a, x->test->b, x->ns, *verdict ? ", " : "", verdict);
	draw_area(d, left, y + inset, wide, high - 2 * inset, x->ns > 0 ? MORE : LESS,
		  x->ns > 0 ? DRAW_SMOOTH : DRAW_RISING, told);
	snprintf(label, sizeof(label), "%c%s%s%s", x->ns > 0 ? '+' : '-',
		 units_time((uint64_t)llround(size_of(x)), time), *verdict ? ", " : "", verdict);
	draw_text_fitted(d, x->ns > 0 ? middle + wide + 8 : left - 8, y + high / 2 + 6, 17, 220,
			 x->ns > 0 ? DRAW_LEFT : DRAW_RIGHT, DRAW_TEXT, label);
	plot_label(d, b->left - 150, y + high / 2, high, x->what);
}

static bool draw_comparison(const struct page *p, struct draw *d, unsigned picture)
{
	static const struct plot_legend legend[] = {
		{.colour = MORE, .text = "+ more time in B"},
		{.colour = LESS, .texture = DRAW_RISING, .text = "- less time in B"}};
	struct plot_box b = {720, 150, PLOT_WIDTH - 250, 0};
	uint32_t n, shown;
	struct difference *all = find(&p->comparison.compare, &n);
	double high, most;

	if (!all)
		return false;
	if (!n) {
		free(all);
		return true;
	}
	shown = n < BARS ? n : BARS;
	high = fmin(60, 620.0 / shown);
	b.bottom = b.top + high * shown;
	most = size_of(&all[0]);
	qsort(all, shown, sizeof(*all), most_first);
	for (uint32_t i = 0; i < shown; i++)
		draw_difference(d, &b, b.top + i * high, high, most, &all[i]);
	draw_line(d, (double[]){(b.left + b.right) / 2, b.top, (b.left + b.right) / 2, b.bottom}, 2,
		  DRAW_MUTED, 1.5, 0, NULL);
	plot_note(d, "A: %.150s; B: %.150s%s", page_title(p), p->comparison.name,
		  n > shown ? "; the largest of them" : "");
	plot_legend(d, 40, b.bottom + 50, PLOT_WIDTH - 80, legend, 2);
	free(all);
	return true;
}

const struct plot plot_comparison = {"comparison",
				     "Time of a run in B, less that in A",
				     "of what differs in the run that --compare names; without a "
				     "word behind it: within noise, or not judged",
				     has_comparison,
				     draw_comparison,
				     NULL};
