/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake for libamd_smi.so, version 26: two sockets with a device of one name each, and a processor that is no GPU. The
 * second device has no counter of energy, and its load is all ones. FAKE_AMDSMI: "old" (version 24, whose power
 * has another layout), "ancient" (a version that is not known), "denied", "none" (no device), "dies" (the first device, after
 * a few readings).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { OK = 0, NOT_SUPPORTED = 2, NO_PERMISSION = 10, NOT_FOUND = 31 };

static int is(const char *what)
{
	const char *s = getenv("FAKE_AMDSMI");

	return s && strcmp(s, what) == 0;
}

static int number(void *processor)
{
	return (int)((uintptr_t)processor - 1);
}

API int amdsmi_init(uint64_t flags)
{
	return flags != 2 ? 1 : is("denied") ? NO_PERMISSION : OK;
}

API int amdsmi_get_lib_version(void *out)
{
	uint32_t v[4] = {26, 2, 0, 0};

	if (is("old"))
		v[0] = 24, v[1] = 7;
	if (is("ancient"))
		v[0] = 23, v[1] = 1;
	memcpy(out, v, sizeof(v));
	return OK;
}

API int amdsmi_get_socket_handles(uint32_t *count, void **sockets)
{
	*count = is("none") ? 0 : 2;
	for (uintptr_t i = 0; i < *count; i++)
		sockets[i] = (void *)(i + 1);
	return OK;
}

/* Of each socket a GPU and something else, 101 and 102. */
API int amdsmi_get_processor_handles(void *socket, uint32_t *count, void **processors)
{
	*count = 2;
	processors[0] = socket;
	processors[1] = (void *)((uintptr_t)socket + 100);
	return OK;
}

API int amdsmi_get_processor_type(void *processor, int *type)
{
	*type = (uintptr_t)processor > 100 ? 2 : 1;
	return OK;
}

API int amdsmi_get_gpu_device_bdf(void *processor, uint64_t *bdf)
{
	*bdf = 1ull << 16 | (uint64_t)(0xc3 + number(processor)) << 8 | 2 << 3 |
	       1; /* 0001:c3:02.1 */
	return OK;
}

API int amdsmi_get_gpu_asic_info(void *processor, void *info)
{
	strcpy(info, "Fake MI");
	return OK;
}

API int amdsmi_get_gpu_activity(void *processor, uint32_t *a)
{
	a[0] = number(processor) ? 0xffff : 60;
	a[1] = 30;
	a[2] = UINT32_MAX;
	return OK;
}

API int amdsmi_get_power_info(void *processor, uint32_t *info)
{
	static int reads;
	uint32_t *power = is("old") ? info : info + 2;

	if (is("dies") && number(processor) == 0 && ++reads > 3)
		return NOT_FOUND;
	memset(info, 0xff, 16);
	power[0] = number(processor) ? UINT32_MAX : 600; /* of the moment */
	power[1] = number(processor) ? 400 : UINT32_MAX; /* on average */
	return OK;
}

API int amdsmi_get_energy_count(void *processor, uint64_t *count, float *resolution,
				uint64_t *timestamp)
{
	static uint64_t n;

	*count = 65536 * ++n; /* 65536 x 15.259 uJ: a joule more each time */
	*resolution = 15.2587890625f;
	*timestamp = n;
	return number(processor) ? NOT_SUPPORTED : OK;
}

API int amdsmi_get_temp_metric(void *processor, int type, int metric, int64_t *out)
{
	*out = 50 + 10 * type + number(processor);
	return type < 3 && metric == 0 ? OK : NOT_SUPPORTED;
}

API int amdsmi_get_gpu_memory_usage(void *processor, int type, uint64_t *bytes)
{
	*bytes = type == 0 ? (uint64_t)(5 + number(processor)) << 30 : 1 << 20;
	return type == 0 || type == 2 ? OK : NOT_SUPPORTED;
}
