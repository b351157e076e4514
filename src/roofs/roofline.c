/* SPDX-License-Identifier: Apache-2.0 */
/* See roofline.h: what is shown, and between which ends. */
#include "roofs/roofline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X_LEAST 0.01
#define X_MOST  1000.0
enum { DECADES_MOST = 7 };

static void insert(const struct roof **list, unsigned *count, const struct roof *r)
{
	unsigned at = *count;

	if (*count == ROOFLINE_LINES)
		return;
	for (; at > 0 && list[at - 1]->value < r->value; at--)
		list[at] = list[at - 1];
	list[at] = r;
	++*count;
}

static void take_roofs(struct roofline *l)
{
	for (unsigned i = 0; i < l->roofs->count; i++) {
		const struct roof *r = &l->roofs->roofs[i];

		if (isnan(r->value) || roofs_best(l->roofs, r->type) != r)
			continue;
		if (r->kind == ROOF_BANDWIDTH)
			insert(l->slanted, &l->slanted_count, r);
		else if (r->kind == ROOF_COMPUTE)
			insert(l->flat, &l->flat_count, r);
	}
}

static bool can_show(const struct roofline_point *p)
{
	return isfinite(p->intensity) && isfinite(p->rate) && p->intensity > 0 && p->rate > 0;
}

static bool take_points(struct roofline *l, const struct roofline_point *points, unsigned count)
{
	l->own = calloc(count + 1u, sizeof(*l->own));
	l->number = calloc(count + 1u, sizeof(*l->number));
	l->points = l->own;
	for (unsigned i = 0; l->own && l->number && i < count; i++) {
		bool more = !l->points_count ||
			    strcmp(l->own[l->points_count - 1].kernel, points[i].kernel) != 0;

		if (!can_show(&points[i]) || (more && l->kernels == ROOFLINE_KERNELS)) {
			l->left_out++;
			continue;
		}
		l->kernels += more;
		l->number[l->points_count] = (uint8_t)(l->kernels - 1);
		l->own[l->points_count++] = points[i];
	}
	return l->own && l->number;
}

static double power_below(double v)
{
	return pow(10, floor(log10(v) + 1e-9));
}

static double power_above(double v)
{
	return pow(10, ceil(log10(v) - 1e-9));
}

/* Room above the highest roof for its name; the lowest roof is seen from its left end, unless that is too far down. */
static void find_ends(struct roofline *l)
{
	double least = l->slanted[l->slanted_count - 1]->value * X_LEAST;
	double most = l->flat[0]->value * 1.5;

	l->x0 = X_LEAST;
	l->x1 = X_MOST;
	least = fmax(least, most / pow(10, DECADES_MOST));
	for (unsigned i = 0; i < l->points_count; i++) {
		const struct roofline_point *p = &l->points[i];

		l->x0 = fmin(l->x0, power_below(p->intensity));
		l->x1 = fmax(l->x1, power_above(p->intensity));
		least = fmin(least, p->rate);
		most = fmax(most, p->rate);
	}
	l->y0 = power_below(least);
	l->y1 = power_above(most);
}

bool roofline_make(struct roofline *l, const struct roofs *roofs,
		   const struct roofline_point *points, unsigned count, char why[ROOF_WHY])
{
	*l = (struct roofline){.roofs = roofs};
	take_roofs(l);
	if (!l->slanted_count || !l->flat_count) {
		snprintf(why, ROOF_WHY, "of %.80s no roof of %s was measured", roofs->device.name,
			 l->slanted_count ? "arithmetic" : "memory");
		return false;
	}
	if (!take_points(l, points, count)) {
		snprintf(why, ROOF_WHY, "no memory");
		roofline_release(l);
		return false;
	}
	find_ends(l);
	return true;
}

void roofline_release(struct roofline *l)
{
	free(l->own);
	free(l->number);
	*l = (struct roofline){0};
}

double roofline_ridge(const struct roofline *l, const struct roof *slanted)
{
	return fmin(l->x1, l->flat[0]->value / slanted->value);
}

double roofline_attained(const struct roofline *l, const struct roofline_point *p)
{
	double bandwidth = roofs_value(l->roofs, p->level);

	return p->rate / fmin(bandwidth * p->intensity, isnan(bandwidth) ? NAN : l->flat[0]->value);
}

void roofline_notes(const struct roofline *l, struct text *out)
{
	unsigned above = 0;

	for (unsigned i = 0; i < l->points_count; i++)
		above += roofline_attained(l, &l->points[i]) > 1.005;
	if (roofs_were_disturbed(l->roofs))
		text_addf(out,
			  "the machine was busy when roofs were measured (load %.2f, %u units): it "
			  "attains more",
			  l->roofs->load, l->roofs->device.units);
	if (above)
		text_addf(out,
			  "%s%u of %u points above 100 %%: that roof is too low, or more bytes "
			  "came from a nearer level; kymo calibrate --again",
			  out->length ? "; " : "", above, l->points_count);
}
