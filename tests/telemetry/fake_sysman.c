/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake for libze_loader.so.1 with Sysman: one device; its engines work half of the time, its
 * memory's clock is not known (less than 0).
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define API __attribute__((visibility("default")))

static int device, powers[2], engine, clocks[2], sensor, memory;

/* One entry of `list`, or how many there are. */
static uint32_t give(uint32_t *n, void **out, int *list, uint32_t count)
{
	if (!out) {
		*n = count;
		return 0;
	}
	*n = *n < count ? *n : count;
	for (uint32_t i = 0; i < *n; i++)
		out[i] = &list[i];
	return 0;
}

API uint32_t zesInit(uint32_t flags)
{
	return 0;
}

API uint32_t zesDriverGet(uint32_t *n, void **out)
{
	return give(n, out, &device, 1);
}

API uint32_t zesDeviceGet(void *driver, uint32_t *n, void **out)
{
	return give(n, out, &device, 1);
}

/* Offsets as the specification's C structures have them. */
API uint32_t zesDeviceGetProperties(void *d, uint8_t *out)
{
	memset(out + 16 + 16, 0, 368 - 16);
	memset(out + 16 + 96, 0xab, 16); /* uuid */
	strcpy((char *)out + 16 + 112, "Fake Xe");
	strcpy((char *)out + 16 + 368 + 4 + 4 * 64, "Intel");
	strcpy((char *)out + 16 + 368 + 4 + 5 * 64, "1.2.3");
	return 0;
}

API uint32_t zesDevicePciGetProperties(void *d, uint32_t *out)
{
	out[4] = 0;
	out[5] = 0x4d;
	out[6] = 0;
	out[7] = 0;
	return 0;
}

API uint32_t zesDevicePciGetStats(void *d, uint64_t *out)
{
	static uint64_t n;

	memset(out, 0, 56);
	out[0] = ++n;
	out[3] = 1000 * n; /* received */
	out[4] = 2000 * n;
	return 0;
}

API uint32_t zesDeviceEnumPowerDomains(void *d, uint32_t *n, void **out)
{
	return give(n, out, powers, 2);
}

API uint32_t zesPowerGetProperties(void *p, uint8_t *out)
{
	out[16] = p == &powers[1]; /* of a subdevice */
	return 0;
}

API uint32_t zesPowerGetEnergyCounter(void *p, uint64_t out[2])
{
	static uint64_t n;

	out[0] = 2000000 * ++n; /* 2 J more each time */
	out[1] = n;
	return 0;
}

API uint32_t zesDeviceEnumEngineGroups(void *d, uint32_t *n, void **out)
{
	return give(n, out, &engine, 1);
}

API uint32_t zesEngineGetProperties(void *e, uint32_t *out)
{
	out[4] = 1; /* all compute engines */
	((uint8_t *)out)[20] = 0;
	return 0;
}

API uint32_t zesEngineGetActivity(void *e, uint64_t out[2])
{
	static uint64_t n;

	out[0] = 50 * ++n;
	out[1] = 100 * n;
	return 0;
}

API uint32_t zesDeviceEnumFrequencyDomains(void *d, uint32_t *n, void **out)
{
	return give(n, out, clocks, 2);
}

API uint32_t zesFrequencyGetProperties(void *f, uint32_t *out)
{
	out[4] = f == &clocks[1];
	((uint8_t *)out)[20] = 0;
	return 0;
}

API uint32_t zesFrequencyGetState(void *f, double *out)
{
	out[6] = f == &clocks[1] ? -1 : 1550; /* actual */
	((uint32_t *)out)[14] = 1;            /* reasons */
	return 0;
}

API uint32_t zesDeviceEnumTemperatureSensors(void *d, uint32_t *n, void **out)
{
	return give(n, out, &sensor, 1);
}

API uint32_t zesTemperatureGetProperties(void *s, uint32_t *out)
{
	out[4] = 1;
	((uint8_t *)out)[20] = 0;
	return 0;
}

API uint32_t zesTemperatureGetState(void *s, double *out)
{
	*out = 48.5;
	return 0;
}

API uint32_t zesDeviceEnumMemoryModules(void *d, uint32_t *n, void **out)
{
	return give(n, out, &memory, 1);
}

API uint32_t zesMemoryGetState(void *m, uint64_t *out)
{
	out[3] = 6ull << 30; /* free */
	out[4] = 8ull << 30;
	return 0;
}
