/* SPDX-License-Identifier: Apache-2.0 */
/* See kernels_roofline.h. */
#ifdef KYMO_HAVE_METRICS
#include "cli/kernels_roofline.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "formats/store/store.h"

/* Metrics of panel 4 in metrics/04-roofline.yaml. */
#define RATE "4.1.1" /* GFLOP/s */

static const struct level {
	const char *metric, *roof;
} levels[] = {{"4.1.6", "l1"}, {"4.1.7", "l2"}, {"4.1.8", "memory"}};

enum { LEVELS = sizeof(levels) / sizeof(levels[0]) };

struct points {
	struct roofline_point *at;
	unsigned count;
	char *why; /* the first kernel has no rate */
	bool failed;
};

/* NaN: it has none. */
static double value_of(const struct kernels_roofline *k, const struct kernel_group *g,
		       const char *id, struct points *p)
{
	const struct metric_table *table;
	const struct metric_panel *panel;
	const struct metric *m = metric_find(k->set, id, strlen(id), &panel, &table);
	struct metric_value v = {.value = NAN};

	p->failed |= m && !metric_evaluate(k->set, k->specs, m, g, &v);
	if (isnan(v.value) && !p->why && v.why.length)
		p->why = strdup(v.why.s);
	if (m)
		metric_value_release(&v);
	return m ? v.value : NAN;
}

static void add_kernel(const struct kernels_roofline *k, const struct kernel_group *g, double all,
		       struct points *p)
{
	const double rate = value_of(k, g, RATE, p) * 1e9;

	for (unsigned i = 0; i < LEVELS && !isnan(rate); i++) {
		const double intensity = value_of(k, g, levels[i].metric, p);

		if (!isnan(intensity))
			p->at[p->count++] =
				(struct roofline_point){g->name, levels[i].roof, intensity, rate,
							all > 0 ? g->total / all : NAN};
	}
}

static bool make_points(const struct kernels_roofline *k, const struct kernel_device *d,
			struct points *p)
{
	double all = 0;

	p->at = calloc((size_t)k->data->group_count * LEVELS + 1, sizeof(*p->at));
	for (uint32_t i = 0; i < k->data->group_count; i++)
		all += k->data->groups[i].device == d ? k->data->groups[i].total : 0;
	for (uint32_t i = 0; p->at && i < k->data->group_count; i++)
		if (k->data->groups[i].device == d)
			add_kernel(k, &k->data->groups[i], all, p);
	if (p->failed || !p->at)
		cli_error("no roofline: there is no memory");
	else if (!p->count)
		cli_error("no roofline: kernels of %s have no operations and bytes: %s; `kymo run "
			  "--metrics 4` records them where the device counts them",
			  d->label, p->why ? p->why : "nothing was counted");
	return p->at && !p->failed && p->count;
}

/* ---- its roofs ------------------------------------------------------------------------------------- */

/* The columns stay as long as the statement. */
static bool find_roofs(const struct kernels_roofline *k, const struct kernel_device *d,
		       sqlite3_stmt *s, struct roofs *out)
{
	struct roofs_wanted wanted = {.name = (const char *)sqlite3_column_text(s, 0),
				      .uuid = (const char *)sqlite3_column_text(s, 1),
				      .host = (const char *)sqlite3_column_text(s, 2)};
	struct roofs_list list = {0};
	char why[ROOF_WHY];
	bool found;

	if (k->roofs && !roofs_read_file(k->roofs, &list, why)) {
		cli_error("%s: %s; kymo calibrate --format json writes such files", k->roofs, why);
		return false;
	}
	found = k->roofs ? roofs_among(&list, &wanted, out, why)
			 : roofs_of_device(&wanted, out, why);
	wanted.any_host = true; /* who names a file knows of which machine it is */
	if (!found && k->roofs)
		found = roofs_among(&list, &wanted, out, why);
	if (!found)
		cli_error("no roofline: %s: %s", d->label, why);
	roofs_list_release(&list);
	return found;
}

static bool read_roofs(const struct kernels_roofline *k, const struct kernel_device *d,
		       struct roofs *out)
{
	sqlite3_stmt *s = NULL;
	bool found = false;

	if (sqlite3_prepare_v2(
		    store_database(k->store),
		    "SELECT a.name, a.uuid, p.hostname FROM agent a LEFT JOIN process p ON "
		    "p.id = a.process WHERE a.id = ?",
		    -1, &s, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(s, 1, d->agent);
		if (sqlite3_step(s) == SQLITE_ROW)
			found = find_roofs(k, d, s, out);
		else
			cli_error("no roofline: the trace does not tell what %s is", d->label);
	} else
		cli_error("no roofline: %s", sqlite3_errmsg(store_database(k->store)));
	sqlite3_finalize(s);
	return found;
}

int kernels_roofline(const struct kernels_roofline *k)
{
	const struct kernel_device *d = k->data->group_count ? k->data->groups[0].device : NULL;
	struct roofline_plot plot = k->plot;
	struct points p = {0};
	struct roofs roofs;
	int result = CLI_FAILURE;

	if (!d)
		cli_error("there are no kernels in the trace, or in what was selected of it");
	else if (make_points(k, d, &p) && read_roofs(k, d, &roofs)) {
		if (k->data->device_count > 1)
			cli_note("%u devices: the roofline is that of %s; --device chooses",
				 k->data->device_count, d->label);
		plot.points = p.at;
		plot.count = p.count;
		result = roofline_plot(&roofs, &plot);
	}
	free(p.at);
	free(p.why);
	return result;
}
#endif
