/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pressure: the share of time in which some or all tasks of the node waited for processors, memory
 * or input and output; from the running totals of /proc/pressure, not from its averages.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/source.h"
#include "telemetry/values.h"

enum { RESOURCES = 3, KINDS = 2 };

struct total {
	uint32_t metric;
	uint64_t us, at;
	bool begun;
};

struct psi {
	struct value_file files[RESOURCES];
	struct total totals[RESOURCES][KINDS];
};

static const char *const resources[RESOURCES] = {"cpu", "memory", "io"};
static const char *const kinds[KINDS] = {"some", "full"};

static bool total_in(const char *text, const char *kind, uint64_t *out)
{
	const char *line = text, *value;
	char *end;

	while (line && strncmp(line, kind, 4) != 0) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	value = line ? strstr(line, " total=") : NULL;
	if (!value || value > line + strcspn(line, "\n"))
		return false;
	*out = strtoull(value + 7, &end, 10);
	return end != value + 7;
}

static void *psi_open(struct probe *p)
{
	struct psi *s = calloc(1, sizeof(*s));
	char text[512], name[64], what[160];
	unsigned found = 0;
	uint64_t us;
	size_t n;

	for (unsigned i = 0; s && i < RESOURCES; i++) {
		int error;

		value_file_init(&s->files[i], "%s/proc/pressure/%s", meter_root(p), resources[i]);
		error = value_file_text(&s->files[i], text, sizeof(text), &n);
		if (error) {
			meter_missing(p, "/proc/pressure/%s: %s", resources[i], value_error(error));
			continue;
		}
		for (unsigned k = 0; k < KINDS; k++) {
			if (!total_in(text, kinds[k], &us))
				continue;
			snprintf(name, sizeof(name), "pressure.%s.%s", resources[i], kinds[k]);
			snprintf(what, sizeof(what),
				 "Time in which %s tasks of the node waited for %s",
				 k ? "all" : "some", i == 0 ? "processors" : resources[i]);
			s->totals[i][k].metric = meter_metric(
				p, &(struct metric_info){
					   .name = name, .unit = "%", .description = what});
			found++;
		}
	}
	if (found)
		return s;
	for (unsigned i = 0; s && i < RESOURCES; i++)
		value_file_close(&s->files[i]);
	free(s);
	return NULL;
}

static void put_stall_percent(struct probe *p, struct total *t, uint64_t us, uint64_t at)
{
	if (t->begun && at > t->at && us >= t->us)
		meter_level(p, t->metric, 100 * (double)(us - t->us) * 1e3 / (double)(at - t->at));
	t->begun = true;
	t->us = us;
	t->at = at;
}

static void psi_read(struct probe *p, void *state)
{
	struct psi *s = state;
	char text[512];
	size_t n;

	for (unsigned i = 0; i < RESOURCES; i++) {
		uint64_t at = meter_before(p), us;
		int error = value_file_text(&s->files[i], text, sizeof(text), &n);

		for (unsigned k = 0; k < KINDS; k++) {
			if (!s->totals[i][k].metric)
				continue;
			if (!error && total_in(text, kinds[k], &us))
				put_stall_percent(p, &s->totals[i][k], us, at);
			else
				meter_gap(p, s->totals[i][k].metric,
					  error ? value_error(error) : "it held no total");
		}
	}
}

static void psi_close(void *state)
{
	struct psi *s = state;

	for (unsigned i = 0; i < RESOURCES; i++)
		value_file_close(&s->files[i]);
	free(s);
}

extern const struct source source_psi;
const struct source source_psi = {
	.name = "psi",
	.about = "pressure on processors, memory, input and output: /proc/pressure",
	.interval_ns = 10 * MILLISECOND,
	.open = psi_open,
	.read = psi_read,
	.close = psi_close,
};
