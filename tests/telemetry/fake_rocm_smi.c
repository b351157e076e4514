/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake for librocm_smi64.so: one device, with a counter of energy, without memory's load
 * (all ones). FAKE_RSMI=average: no counter and no power of the moment.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { OK = 0, NOT_SUPPORTED = 2 };

static int average(void)
{
	const char *s = getenv("FAKE_RSMI");

	return s && strcmp(s, "average") == 0;
}

API int rsmi_init(uint64_t flags)
{
	return OK;
}

API int rsmi_shut_down(void)
{
	return OK;
}

API int rsmi_num_monitor_devices(uint32_t *n)
{
	*n = 1;
	return OK;
}

API int rsmi_dev_name_get(uint32_t d, char *out, size_t size)
{
	snprintf(out, size, "Fake Instinct");
	return OK;
}

API int rsmi_dev_pci_id_get(uint32_t d, uint64_t *out)
{
	*out = 1ull << 32 | 0xc3 << 8 | 2 << 3 | 1; /* 0001:c3:02.1 */
	return OK;
}

API int rsmi_dev_power_get(uint32_t d, uint64_t *uw, int *type)
{
	*uw = 500000000;
	*type = 1;
	return average() ? NOT_SUPPORTED : OK;
}

API int rsmi_dev_power_ave_get(uint32_t d, uint32_t sensor, uint64_t *uw)
{
	*uw = 200000000;
	return OK;
}

API int rsmi_dev_energy_count_get(uint32_t d, uint64_t *count, float *resolution,
				  uint64_t *timestamp)
{
	static uint64_t n;

	*count = 65536 * ++n; /* 65536 x 15.259 uJ: a joule more each time */
	*resolution = 15.2587890625f;
	*timestamp = n;
	return average() ? NOT_SUPPORTED : OK;
}

API int rsmi_dev_temp_metric_get(uint32_t d, uint32_t sensor, int metric, int64_t *out)
{
	*out = 40000 + 5000 * (int64_t)sensor;
	return sensor < 3 ? OK : NOT_SUPPORTED;
}

API int rsmi_dev_busy_percent_get(uint32_t d, uint32_t *percent)
{
	*percent = 88;
	return OK;
}

API int rsmi_dev_memory_busy_percent_get(uint32_t d, uint32_t *percent)
{
	*percent = 0xffff;
	return OK;
}

API int rsmi_dev_memory_usage_get(uint32_t d, int type, uint64_t *bytes)
{
	*bytes = 3ull << 30;
	return OK;
}
