/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a file of metrics. Each is refused with a reason that names a line, or its metrics are computed
 * of two made-up kernels: they are finite numbers, or there is a reason why not.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/evaluate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static struct kernel_device device = {.label = (char *)(uintptr_t) "device",
				      .properties =
					      (char *)(uintptr_t) "{\"a\":2,\"b\":\"9.0\",\"c\":0}",
				      .class = DEVICE_NVIDIA};

static double numbers[][2] = {{1, 2}, {NAN, 4}, {0, 0}, {1e308, -1e308}};

static struct kernel_counter counters[] = {
	{(char *)(uintptr_t) "a", (char *)(uintptr_t) "p", numbers[0]},
	{(char *)(uintptr_t) "b", (char *)(uintptr_t) "p", numbers[1]},
	{(char *)(uintptr_t) "c", (char *)(uintptr_t) "p", numbers[2]},
	{(char *)(uintptr_t) "d", (char *)(uintptr_t) "p", numbers[3]}};

static void evaluate(const struct metric_set *set, const struct metric *m)
{
	struct kernel_group g = {.name = (char *)(uintptr_t) "k",
				 .device = &device,
				 .count = 2,
				 .counters = counters,
				 .counter_count = sizeof(counters) / sizeof(*counters)};
	const struct kernel_data all = {.groups = &g, .group_count = 1};
	struct metric_value v;

	g.all = &all;
	for (unsigned i = 0; i < KERNEL_COLUMNS; i++)
		g.columns[i] = numbers[i % 4];
	for (unsigned class = 0; class < DEVICE_CLASSES; class ++) {
		device.class = class;
		must(metric_evaluate(set, NULL, m, &g, &v));
		must(isnan(v.value) ? v.why.length > 0 : isfinite(v.value));
		must(v.rows <= v.of && v.of == 2);
		must(isnan(v.least) || (isfinite(v.least) && v.least <= v.most));
		metric_value_release(&v);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct metric_set set = {.denom = NULL};
	char error[200] = "";

	if (!metric_set_add(&set, "file", (const char *)data, size, error, sizeof(error)))
		must(strncmp(error, "file:", 5) == 0 && error[5] >= '1' && error[5] <= '9');
	for (uint32_t p = 0; p < set.panels.count; p++)
		for (uint32_t t = 0; t < set.panels.at[p].tables.count; t++)
			for (uint32_t m = 0; m < set.panels.at[p].tables.at[t].metrics.count; m++)
				evaluate(&set, &set.panels.at[p].tables.at[t].metrics.at[m]);
	metric_set_release(&set);
	return 0;
}
