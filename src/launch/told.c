/* SPDX-License-Identifier: Apache-2.0 */
/* In which order users are told of backends; see launch.h. */
#include <stddef.h>

#include "launch/launch.h"

static unsigned order_in_doctor(const struct kymo_launch *l)
{
	return l->told ? l->told : UINT32_MAX;
}

static unsigned annotation_told(const struct kymo_launch *l)
{
	return l->annotation_told ? l->annotation_told : UINT32_MAX;
}

static void add_sorted(const struct kymo_launch *out[LAUNCH_MOST], unsigned *n,
		       const struct kymo_launch *l, unsigned (*key)(const struct kymo_launch *l))
{
	unsigned at = *n;

	if (*n == LAUNCH_MOST - 1)
		return;
	for (; at && key(out[at - 1]) > key(l); at--)
		out[at] = out[at - 1];
	out[at] = l;
	out[++*n] = NULL;
}

void launch_told_order(const struct kymo_launch *out[LAUNCH_MOST])
{
	unsigned n = 0;

	out[0] = NULL;
	for (const struct kymo_launch *const *l = launch_table; *l; l++)
		add_sorted(out, &n, *l, order_in_doctor);
}

void launch_annotations(const struct kymo_launch *out[LAUNCH_MOST])
{
	unsigned n = 0;

	out[0] = NULL;
	for (const struct kymo_launch *const *l = launch_table; *l; l++)
		if ((*l)->annotation)
			add_sorted(out, &n, *l, annotation_told);
}
