/* SPDX-License-Identifier: Apache-2.0 */
/* See roofline.h. */
#include "metrics/roofline.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/store/store.h"

/* Metrics of panel 4 in metrics/04-roofline.yaml. */
#define RATE "4.1.1" /* GFLOP/s */

static const struct level {
	const char *metric, *roof;
} levels[] = {{"4.1.6", "l1"}, {"4.1.7", "l2"}, {"4.1.8", "memory"}};

enum { LEVELS = sizeof(levels) / sizeof(levels[0]) };

struct making {
	const struct metric_set *set;
	const struct metric_specs *specs;
	struct kernel_points *out;
	struct text why; /* the first kernel has no rate */
	bool failed;
};

/* NaN: it has none. */
static double value_of(struct making *k, const struct kernel_group *g, const char *id)
{
	const struct metric_table *table;
	const struct metric_panel *panel;
	const struct metric *m = metric_find(k->set, id, strlen(id), &panel, &table);
	struct metric_value v = {.value = NAN};

	k->failed |= m && !metric_evaluate(k->set, k->specs, m, g, &v);
	if (isnan(v.value) && !k->why.length && v.why.length)
		text_add(&k->why, v.why.s);
	if (m)
		metric_value_release(&v);
	return m ? v.value : NAN;
}

static void add_kernel(struct making *k, const struct kernel_group *g, double all)
{
	const double rate = value_of(k, g, RATE) * 1e9;

	if (rate == 0)
		text_addf(&k->out->none, "%s%s", k->out->none.length ? ", " : "", g->name);
	if (rate == 0)
		return;
	for (unsigned i = 0; i < LEVELS && !isnan(rate); i++) {
		const double intensity = value_of(k, g, levels[i].metric);

		if (!isnan(intensity))
			k->out->at[k->out->count++] =
				(struct roofline_point){g->name, levels[i].roof, intensity, rate,
							all > 0 ? g->total / all : NAN};
	}
}

bool kernel_points_make(struct kernel_points *out, const struct metric_set *set,
			const struct metric_specs *specs, const struct kernel_data *data,
			const struct kernel_device *d)
{
	struct making k = {.set = set, .specs = specs, .out = out};
	double all = 0;

	*out = (struct kernel_points){
		.at = calloc((size_t)data->group_count * LEVELS + 1, sizeof(*out->at))};
	for (uint32_t i = 0; i < data->group_count; i++)
		all += data->groups[i].device == d ? data->groups[i].total : 0;
	for (uint32_t i = 0; out->at && i < data->group_count; i++)
		if (data->groups[i].device == d)
			add_kernel(&k, &data->groups[i], all);
	if (!out->count && out->none.length)
		text_addf(&out->why, "kernels of %s did no floating-point operations: %s", d->label,
			  out->none.s);
	else if (!out->count)
		text_addf(&out->why,
			  "kernels of %s have no operations and bytes: %s; `kymo run --metrics 4` "
			  "records them where the device counts them",
			  d->label, k.why.length ? k.why.s : "nothing was counted");
	text_release(&k.why);
	return out->at && !k.failed && !out->why.failed && !out->none.failed;
}

void kernel_points_release(struct kernel_points *p)
{
	free(p->at);
	text_release(&p->why);
	text_release(&p->none);
	*p = (struct kernel_points){.count = 0};
}

/* ---- roofs ------------------------------------------------------------------------------------------- */

/* The columns stay as long as the statement. */
static bool find_roofs(const struct roofs_list *list, sqlite3_stmt *s, struct roofs *out,
		       char why[ROOF_WHY])
{
	struct roofs_wanted wanted = {.name = (const char *)sqlite3_column_text(s, 0),
				      .uuid = (const char *)sqlite3_column_text(s, 1),
				      .host = (const char *)sqlite3_column_text(s, 2)};

	if (!list)
		return roofs_of_device(&wanted, out, why);
	if (roofs_among(list, &wanted, out, why))
		return true;
	wanted.any_host = true; /* who names a file knows of which machine it is */
	return roofs_among(list, &wanted, out, why);
}

bool kernel_roofs_find(struct store *store, const struct kernel_device *d,
		       const struct roofs_list *list, struct roofs *out, char why[ROOF_WHY])
{
	sqlite3 *db = store_database(store);
	sqlite3_stmt *s = NULL;
	bool found = false;

	if (sqlite3_prepare_v2(
		    db,
		    "SELECT a.name, a.uuid, p.hostname FROM agent a LEFT JOIN process p ON "
		    "p.id = a.process WHERE a.id = ?",
		    -1, &s, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(s, 1, d->agent);
		if (sqlite3_step(s) == SQLITE_ROW)
			found = find_roofs(list, s, out, why);
		else
			snprintf(why, ROOF_WHY, "the trace does not tell what device it is");
	} else
		snprintf(why, ROOF_WHY, "%s", sqlite3_errmsg(db));
	sqlite3_finalize(s);
	return found;
}
