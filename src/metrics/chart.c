/* SPDX-License-Identifier: Apache-2.0 */
/* The memory chart as lines of text: boxes of kernel, caches and memory, with what goes between them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "metrics/report.h"

/* Ids of the metrics of such a table (metrics/03-memory-chart.yaml). */
enum {
	GLOBAL_LOADS = 1,
	GLOBAL_STORES,
	L1_HITS,
	L2_READS,
	L2_WRITES,
	L2_HITS,
	MEMORY_READS,
	MEMORY_WRITES,
	SHARED_LOADS,
	SHARED_STORES,
	SHARED_CONFLICTS,
	LOCAL_SECTORS,
	IDS
};

enum { NUMBER = 15 /* of which a few are used */ };

/* "1.234G": four digits and what they are multiplied by. */
static void number_text(double v, char out[NUMBER + 1])
{
	static const char units[] = " kMGTPE";
	unsigned u = 0;

	if (isnan(v)) {
		snprintf(out, NUMBER + 1, "%s", "N/A");
		return;
	}
	for (; fabs(v) >= 9999.5 && u + 2 < sizeof(units); u++)
		v /= 1000;
	snprintf(out, NUMBER + 1, "%.4g%.*s", v, u ? 1 : 0, &units[u]);
}

bool chart_draw(const struct metric_table *t, const struct metric_value *values, struct text *out)
{
	static const char edge[] =
		"+--------+                     +---------------+                "
		"     +---------------+                     +----------+\n";
	char n[IDS][NUMBER + 1];
	bool some = false;

	for (unsigned i = 1; i < IDS; i++)
		number_text(NAN, n[i]);
	for (uint32_t i = 0; i < t->metrics.count; i++) {
		if (t->metrics.at[i].id >= IDS || !t->metrics.at[i].id)
			continue;
		some |= !isnan(values[i].value);
		number_text(values[i].value, n[t->metrics.at[i].id]);
	}
	if (!some)
		return false;
	text_add(out, edge);
	text_addf(
		out,
		"|        | -- loads  %7s > |      L1       | < reads  %7s -- |      L2       | < "
		"reads  %7s -- |  memory  |\n",
		n[GLOBAL_LOADS], n[L2_READS], n[MEMORY_READS]);
	text_addf(out,
		  "| kernel | -- stores %7s > | hits %6s %% | -- writes %7s > | hits %6s %% | -- "
		  "writes %7s > |          |\n",
		  n[GLOBAL_STORES], n[L1_HITS], n[L2_WRITES], n[L2_HITS], n[MEMORY_WRITES]);
	text_addf(out,
		  "|        | -- local  %7s > +---------------+                     "
		  "+---------------+ "
		  "                    +----------+\n",
		  n[LOCAL_SECTORS]);
	text_addf(out, "|        |                     +---------------+\n");
	text_addf(out, "|        | -- loads  %7s > |    shared     | conflicts %s\n",
		  n[SHARED_LOADS], n[SHARED_CONFLICTS]);
	text_addf(out, "|        | -- stores %7s > |    memory     |\n", n[SHARED_STORES]);
	text_add(out, "+--------+                     +---------------+\n");
	return !out->failed;
}
