/* SPDX-License-Identifier: Apache-2.0 */
/* See kernels_roofline.h. */
#ifdef KYMO_HAVE_METRICS
#include "cli/kernels_roofline.h"

#include "cli/cli.h"
#include "metrics/roofline.h"

/* False: told. */
static bool read_roofs(const struct kernels_roofline *k, const struct kernel_device *d,
		       struct roofs *out)
{
	struct roofs_list list = {0};
	char why[ROOF_WHY];
	bool found;

	if (k->roofs && !roofs_read_file(k->roofs, &list, why)) {
		cli_error("%s: %s; kymo calibrate --format json writes such files", k->roofs, why);
		return false;
	}
	found = kernel_roofs_find(k->store, d, k->roofs ? &list : NULL, out, why);
	if (!found)
		cli_error("no roofline: %s", why);
	roofs_list_release(&list);
	return found;
}

static bool make_points(const struct kernels_roofline *k, const struct kernel_device *d,
			struct kernel_points *p)
{
	if (!kernel_points_make(p, k->set, k->specs, k->data, d))
		cli_error("no roofline: there is no memory");
	else if (p->count)
		return true;
	else
		cli_error("no roofline: %s", p->why.s);
	return false;
}

int kernels_roofline(const struct kernels_roofline *k)
{
	const struct kernel_device *d = k->data->group_count ? k->data->groups[0].device : NULL;
	struct roofline_plot plot = k->plot;
	struct kernel_points p = {0};
	struct roofs roofs;
	int result = CLI_FAILURE;

	if (!d)
		cli_error("there are no kernels in the trace, or in what was selected of it");
	else if (make_points(k, d, &p) && read_roofs(k, d, &roofs)) {
		if (k->data->device_count > 1)
			cli_note("%u devices: the roofline is that of %s; --device chooses",
				 k->data->device_count, d->label);
		if (p.none.length)
			cli_note(
				"not in the roofline, as they did no floating-point operations: %s",
				p.none.s);
		plot.points = p.at;
		plot.count = p.count;
		result = roofline_plot(&roofs, &plot);
	}
	kernel_points_release(&p);
	return result;
}
#endif
