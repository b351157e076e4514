/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake for libnvidia-ml.so.1: two devices whose values follow a script. The first is the
 * device that the fake for CUPTI tells of. FAKE_NVML says what goes wrong:
 *   lost      the 3rd to 5th readings of the first device fail: it has fallen off the bus
 *   denied    power may not be read
 *   nodriver  there is no driver
 *   mismatch  library and driver are of different versions
 *   old       neither counts of energy nor fields
 *   hang      reading power takes 20 seconds, from the 2nd time on
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum { OK = 0, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NO_DRIVER = 9, LOST = 15, MISMATCH = 18 };

struct device {
	int index;
	_Atomic unsigned powers,
		energies; /* times that it was asked, by samplers that take turns */
};
static struct device devices[2] = {{0, 0, 0}, {1, 0, 0}};

struct field {
	unsigned id, scope;
	long long timestamp, latency;
	unsigned type;
	int status;
	union {
		unsigned u;
		unsigned long long ull;
	} value;
};

static int script(const char *word)
{
	const char *s = getenv("FAKE_NVML");

	return s && strcmp(s, word) == 0;
}

/* By how often power was asked for, which comes first each time. */
static int lost(const struct device *d)
{
	return d->index == 0 && script("lost") && d->powers >= 4 && d->powers <= 6;
}

API int nvmlInit_v2(void)
{
	return script("nodriver") ? NO_DRIVER : script("mismatch") ? MISMATCH : OK;
}

API int nvmlShutdown(void)
{
	return OK;
}

API int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = 2;
	return OK;
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned i, struct device **out)
{
	*out = &devices[i];
	return OK;
}

API int nvmlDeviceGetName(struct device *d, char *out, unsigned size)
{
	snprintf(out, size, "Fake GPU");
	return OK;
}

API int nvmlDeviceGetUUID(struct device *d, char *out, unsigned size)
{
	snprintf(out, size, "GPU-%s",
		 d->index ? "11111111-2222-3333-4444-555555555555"
			  : "deadbeef-0506-0708-090a-0b0c0d0e0f10");
	return OK;
}

struct pci {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char address[32];
};

API int nvmlDeviceGetPciInfo_v3(struct device *d, struct pci *out)
{
	memset(out, 0, sizeof(*out));
	out->bus = 0x3b + (unsigned)d->index;
	return OK;
}

API int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
	snprintf(out, size, "580.1");
	return OK;
}

API int nvmlDeviceGetPowerUsage(struct device *d, unsigned *mw)
{
	d->powers++;
	if (script("hang") && d->powers > 1)
		sleep(20);
	if (script("denied"))
		return NO_PERMISSION;
	*mw = 300000 + 1000 * (d->powers % 2);
	return lost(d) ? LOST : OK;
}

/* 30 J more each time. */
API int nvmlDeviceGetTotalEnergyConsumption(struct device *d, unsigned long long *mj)
{
	if (script("old"))
		return NOT_SUPPORTED;
	*mj = 1000000000ull + 30000ull * d->energies++;
	return lost(d) ? LOST : OK;
}

API int nvmlDeviceGetTemperature(struct device *d, int sensor, unsigned *c)
{
	*c = 55 + (unsigned)d->index;
	return lost(d) ? LOST : OK;
}

API int nvmlDeviceGetClockInfo(struct device *d, int type, unsigned *mhz)
{
	*mhz = type == 1 ? 1980 : 3201;
	return lost(d) ? LOST : OK;
}

API int nvmlDeviceGetCurrentClocksEventReasons(struct device *d, unsigned long long *mask)
{
	*mask = d->powers % 2 ? 0x4 : 0; /* the power cap, every other time */
	return lost(d) ? LOST : OK;
}

API int nvmlDeviceGetUtilizationRates(struct device *d, unsigned out[2])
{
	out[0] = 97;
	out[1] = 42;
	return lost(d) ? LOST : OK;
}

API int nvmlDeviceGetMemoryInfo(struct device *d, unsigned long long out[3])
{
	out[0] = 80ull << 30;
	out[1] = 70ull << 30;
	out[2] = 10ull << 30;
	return lost(d) ? LOST : OK;
}

struct memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};

/* What the driver keeps for itself is in the older function's answer alone. */
API int nvmlDeviceGetMemoryInfo_v2(struct device *d, struct memory_v2 *m)
{
	if (script("old") || m->version != (40 | 2u << 24))
		return NOT_SUPPORTED;
	m->used = 9ull << 30;
	return lost(d) ? LOST : OK;
}

API int nvmlDeviceGetPcieThroughput(struct device *d, int counter, unsigned *kib)
{
	*kib = counter ? 2048 : 1024;
	return OK;
}

API int nvmlDeviceGetFieldValues(struct device *d, int count, struct field *values)
{
	if (script("old"))
		return NOT_SUPPORTED;
	for (int i = 0; i < count; i++) {
		struct field *f = &values[i];

		f->status = lost(d) ? LOST : OK;
		f->type = 3;
		f->value.ull = 0;
		if (f->id == 138 && f->scope == 0xffffffffu)
			f->value.ull = 100ull * d->powers; /* KiB */
		else if (f->id == 186)
			f->value.ull = 310000;
		else if (f->id == 82) {
			f->type = 1;
			f->value.u = 61;
		} else if (f->id == 197 || f->id == 198) {
			f->type = 1; /* 32 bits: they wrap too often to be of use */
			f->value.u = 5;
		} else if (f->id == 3 || f->id == 4 || f->id == 139)
			f->value.ull = 0;
		else
			f->status = NOT_SUPPORTED;
	}
	return OK;
}
