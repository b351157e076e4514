/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD devices, by AMD-SMI: power, energy, temperatures, load, memory. Clocks are left to the kernel's sensors
 * (source hwmon). There is no header of it here: what is used is declared below, from AMD's amdsmi.h of
 * versions 23.4 to 26. The library is one for the process: it is initialised once, by whoever asks first, and stays.
 */
#include "telemetry/amd_smi.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/library.h"

enum { DEVICES = 64, NOT_SUPPORTED = 2, NO_PERMISSION = 10, NO_DATA = 40 };
enum { INIT_GPUS = 1 << 1, PROCESSOR_GPU = 1, NO_VALUE = 0xffff };
enum { EDGE = 0, HOTSPOT = 1, MEMORY = 2, CURRENT = 0, VRAM = 0, GTT = 2 };

/* Structures that only begin alike in all versions, and grow: so much room is enough for each. */
enum { ROOM = 4096 };

struct version { /* before 25 a year came first: 24, 7, 0 */
	uint32_t first, second, third, fourth;
	const char *build;
};

struct activity {
	uint32_t gfx, umc, mm;
	uint32_t reserved[13];
};

struct functions {
	int (*init)(uint64_t flags);
	int (*version)(struct version *v);
	int (*sockets)(uint32_t *count, void **sockets);
	int (*processors)(void *socket, uint32_t *count, void **processors);
	int (*type)(void *processor, int *type);
	int (*bdf)(void *processor, uint64_t *bdf);
	int (*asic)(void *processor, void *info); /* begins with the name */
	int (*activity)(void *processor, struct activity *a);
	int (*power)(void *processor, void *info);
	int (*energy)(void *processor, uint64_t *count, float *resolution, uint64_t *timestamp);
	int (*temperature)(void *processor, int type, int metric, int64_t *celsius);
	int (*used)(void *processor, int type, uint64_t *bytes);
};

#define F(member, symbol) LIBRARY_FUNCTION(struct functions, member, symbol)
#define O(member, symbol) LIBRARY_OPTIONAL(struct functions, member, symbol)
static const struct library_function names[] = {
	F(init, "amdsmi_init"),
	F(version, "amdsmi_get_lib_version"),
	F(sockets, "amdsmi_get_socket_handles"),
	F(processors, "amdsmi_get_processor_handles"),
	F(type, "amdsmi_get_processor_type"),
	O(bdf, "amdsmi_get_gpu_device_bdf"),
	O(asic, "amdsmi_get_gpu_asic_info"),
	O(activity, "amdsmi_get_gpu_activity"),
	O(power, "amdsmi_get_power_info"),
	O(energy, "amdsmi_get_energy_count"),
	O(temperature, "amdsmi_get_temp_metric"),
	O(used, "amdsmi_get_gpu_memory_usage"),
};

/* The library, once it was tried. */
static struct library {
	bool tried, denied;
	struct functions f;
	bool new_power; /* amdsmi_power_info_t has a member in front: from version 25 on */
	void *gpus[DEVICES];
	unsigned count;
	char why[LIBRARY_WHY]; /* it has no device */
} library;
static pthread_mutex_t trying = PTHREAD_MUTEX_INITIALIZER;

static const char *status_text(int status)
{
	switch (status) {
	case NOT_SUPPORTED:
		return "not supported by the device";
	case NO_PERMISSION:
		return "permission denied";
	case NO_DATA:
		return "the device gave no value";
	case 31:
		return "the device was not found";
	case 34:
		return "AMD's driver is not loaded";
	default:
		return "AMD-SMI failed";
	}
}

/* ---- finding devices ------------------------------------------------------------------------- */

static bool version_is_known(struct library *l)
{
	struct version v = {0};
	int status = l->f.version(&v);
	bool old = v.first == 23 && v.second < 4;

	l->new_power = v.first >= 25;
	if (status == 0 && v.first >= 23 && v.first < 40 && !old)
		return true;
	snprintf(l->why, sizeof(l->why),
		 "AMD-SMI %u.%u is of a version whose layout is not known (23.4 to 26 are)",
		 v.first, v.second);
	return false;
}

static void add_processors(struct library *l, void *socket)
{
	void *processors[DEVICES] = {NULL};
	uint32_t count = DEVICES;

	if (l->f.processors(socket, &count, processors) != 0)
		return;
	for (uint32_t i = 0; i < count && i < DEVICES && l->count < DEVICES; i++) {
		int type = 0;

		if (processors[i] && l->f.type(processors[i], &type) == 0 && type == PROCESSOR_GPU)
			l->gpus[l->count++] = processors[i];
	}
}

static void find_devices(struct library *l)
{
	void *sockets[DEVICES] = {NULL};
	uint32_t count = DEVICES;

	if (l->f.sockets(&count, sockets) == 0)
		for (uint32_t i = 0; i < count && i < DEVICES; i++)
			if (sockets[i])
				add_processors(l, sockets[i]);
	if (!l->count)
		snprintf(l->why, sizeof(l->why), "AMD-SMI has no device");
}

static void try_library(struct library *l)
{
	static const char *const files[] = {"libamd_smi.so",
					    "libamd_smi.so.26",
					    "libamd_smi.so.25",
					    "libamd_smi.so.24",
					    "libamd_smi.so.23",
					    "/opt/rocm/lib/libamd_smi.so",
					    NULL};
	int status;

	if (!library_find(files, NULL, names, sizeof(names) / sizeof(names[0]), &l->f, l->why) ||
	    !version_is_known(l))
		return;
	status = l->f.init(INIT_GPUS);
	if (status == 0) {
		find_devices(l);
		return;
	}
	l->denied = true;
	snprintf(l->why, sizeof(l->why), "%s (status %d)", status_text(status), status);
}

static const struct library *tried(void)
{
	pthread_mutex_lock(&trying);
	if (!library.tried)
		try_library(&library);
	library.tried = true;
	pthread_mutex_unlock(&trying);
	return &library;
}

bool amd_smi_works(void)
{
	return tried()->count > 0;
}

/* ---- values: 0, or the library's status ------------------------------------------------------ */

/* What firmware does not tell is all ones, of 16 or 32 bits. */
static bool told(uint32_t v)
{
	return v != UINT32_MAX && v != NO_VALUE;
}

static int get_power(const struct library *l, void *gpu, double *out)
{
	uint32_t info[ROOM / sizeof(uint32_t)] = {0}, current, average;
	int status = l->f.power ? l->f.power(gpu, info) : NOT_SUPPORTED;

	current = info[l->new_power ? 2 : 0];
	average = info[l->new_power ? 3 : 1];
	*out = told(current) && current ? current : told(average) ? average : 0;
	return status ? status : told(current) || told(average) ? 0 : NOT_SUPPORTED;
}

static int get_temperature(const struct library *l, void *gpu, int type, double *out)
{
	int64_t v = 0;
	int status = l->f.temperature ? l->f.temperature(gpu, type, CURRENT, &v) : NOT_SUPPORTED;

	*out = (double)v;
	return status ? status : v == NO_VALUE ? NOT_SUPPORTED : 0;
}

static int get_edge(const struct library *l, void *gpu, double *out)
{
	return get_temperature(l, gpu, EDGE, out);
}

static int get_junction(const struct library *l, void *gpu, double *out)
{
	return get_temperature(l, gpu, HOTSPOT, out);
}

static int get_memory_heat(const struct library *l, void *gpu, double *out)
{
	return get_temperature(l, gpu, MEMORY, out);
}

static int get_activity(const struct library *l, void *gpu, struct activity *a)
{
	*a = (struct activity){UINT32_MAX, UINT32_MAX, UINT32_MAX, {0}};
	return l->f.activity ? l->f.activity(gpu, a) : NOT_SUPPORTED;
}

static int percent(int status, uint32_t v, double *out)
{
	*out = v;
	return status ? status : v > 100 ? NOT_SUPPORTED : 0;
}

static int get_busy(const struct library *l, void *gpu, double *out)
{
	struct activity a;
	int status = get_activity(l, gpu, &a);

	return percent(status, a.gfx, out);
}

static int get_memory_busy(const struct library *l, void *gpu, double *out)
{
	struct activity a;
	int status = get_activity(l, gpu, &a);

	return percent(status, a.umc, out);
}

static int get_media_busy(const struct library *l, void *gpu, double *out)
{
	struct activity a;
	int status = get_activity(l, gpu, &a);

	return percent(status, a.mm, out);
}

static int get_memory(const struct library *l, void *gpu, int type, double *out)
{
	uint64_t v = 0;
	int status = l->f.used ? l->f.used(gpu, type, &v) : NOT_SUPPORTED;

	*out = (double)v;
	return status;
}

static int get_used(const struct library *l, void *gpu, double *out)
{
	return get_memory(l, gpu, VRAM, out);
}

static int get_host_used(const struct library *l, void *gpu, double *out)
{
	return get_memory(l, gpu, GTT, out);
}

enum { VALUE_POWER, VALUES = 9 };

static const struct {
	const char *name, *unit, *what;
	int (*get)(const struct library *l, void *gpu, double *out);
} values[VALUES] = {
	[VALUE_POWER] = {"power", "W",
			 "Power of the device, of the moment or on average by its kind", get_power},
	{"temperature.edge", "C", "Temperature at the edge of the chip", get_edge},
	{"temperature.junction", "C", "Temperature where the chip is hottest", get_junction},
	{"temperature.memory", "C", "Temperature of the memory", get_memory_heat},
	{"utilisation", "%", "Load of the compute engines, as the firmware averages it", get_busy},
	{"utilisation.memory", "%", "Load of the memory, as the firmware averages it",
	 get_memory_busy},
	{"utilisation.media", "%", "Load of the media engines, as the firmware averages it",
	 get_media_busy},
	{"memory.used", "bytes", "Memory of the device in use, by whomever", get_used},
	{"memory.host.used", "bytes", "Memory of the host that the device uses (GTT)",
	 get_host_used},
};

struct gpu {
	void *handle;
	uint32_t metrics[VALUES], energy;
	bool counts; /* energy */
};

struct state {
	const struct library *l;
	struct gpu gpus[DEVICES];
};

/* The count comes in steps of the resolution, in uJ: whole mJ are kept. */
static int get_energy(const struct library *l, void *gpu, uint64_t *mj)
{
	uint64_t count = 0, timestamp;
	float resolution = 0;
	int status =
		l->f.energy ? l->f.energy(gpu, &count, &resolution, &timestamp) : NOT_SUPPORTED;

	*mj = (uint64_t)((double)count * (double)resolution * 1e-3);
	return status ? status : resolution > 0 && count != UINT64_MAX ? 0 : NOT_SUPPORTED;
}

/* ---- opening --------------------------------------------------------------------------------- */

static uint32_t tell_device(struct probe *p, const struct library *l, void *gpu)
{
	char info[ROOM] = "", address[32] = "";
	uint64_t bdf = 0;
	bool has_bdf = l->f.bdf && l->f.bdf(gpu, &bdf) == 0;

	if (!l->f.asic || l->f.asic(gpu, info) != 0 || !info[0])
		snprintf(info, sizeof(info), "AMD GPU");
	info[96] = '\0';
	if (has_bdf)
		snprintf(address, sizeof(address), "%04llx:%02x:%02x.%x",
			 (unsigned long long)(bdf >> 16), (unsigned)(bdf >> 8 & 0xff),
			 (unsigned)(bdf >> 3 & 0x1f), (unsigned)(bdf & 7));
	return meter_device(p, &(struct device_info){.type = "gpu",
						     .name = info,
						     .vendor = "AMD",
						     .pci = has_bdf ? address : NULL});
}

static void tell_energy(struct probe *p, const struct library *l, struct gpu *g, uint32_t device)
{
	uint64_t mj;

	g->counts = get_energy(l, g->handle, &mj) == 0;
	if (!g->counts && !g->metrics[VALUE_POWER])
		return;
	g->energy = meter_metric(
		p, &(struct metric_info){.name = "energy",
					 .unit = "J",
					 .kind = METRIC_TOTAL,
					 .device = device,
					 .scale = g->counts ? 1e-3 : 1,
					 .description = g->counts ? "Energy of the device"
								  : "Energy of the device: power "
								    "over time"});
}

static void tell_values(struct probe *p, const struct library *l, struct gpu *g, uint32_t device)
{
	for (unsigned i = 0; i < VALUES; i++) {
		double v;
		int status = values[i].get(l, g->handle, &v);

		if (status == NO_PERMISSION)
			meter_denied(p, "%s: permission denied", values[i].name);
		if (status == 0)
			g->metrics[i] =
				meter_metric(p, &(struct metric_info){.name = values[i].name,
								      .unit = values[i].unit,
								      .description = values[i].what,
								      .device = device});
	}
	tell_energy(p, l, g, device);
}

static void *amd_smi_open(struct probe *p)
{
	const struct library *l = tried();
	struct state *s = l->count ? calloc(1, sizeof(*s)) : NULL;

	if (!l->count && l->denied)
		meter_denied(p, "%s", l->why);
	else if (!l->count)
		meter_missing(p, "%s", l->why);
	if (!s)
		return NULL;
	s->l = l;
	for (unsigned i = 0; i < l->count; i++) {
		s->gpus[i].handle = l->gpus[i];
		tell_values(p, l, &s->gpus[i], tell_device(p, l, l->gpus[i]));
	}
	return s;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void read_energy(struct probe *p, const struct library *l, const struct gpu *g)
{
	uint64_t mj;
	int status;

	if (!g->counts)
		return;
	meter_before(p);
	status = get_energy(l, g->handle, &mj);
	if (status == 0)
		meter_total(p, g->energy, mj, NULL);
	else
		meter_gap(p, g->energy, status_text(status));
}

static void read_value(struct probe *p, const struct library *l, const struct gpu *g, unsigned i)
{
	double v = 0;
	int status;

	meter_before(p);
	status = values[i].get(l, g->handle, &v);
	if (status == 0)
		meter_level(p, g->metrics[i], v);
	else
		meter_gap(p, g->metrics[i], status_text(status));
	if (i == VALUE_POWER && !g->counts && status == 0)
		meter_integrate(p, g->energy, v);
	else if (i == VALUE_POWER && !g->counts)
		meter_gap(p, g->energy, status_text(status));
}

static void amd_smi_read(struct probe *p, void *state)
{
	struct state *s = state;

	for (unsigned d = 0; d < s->l->count; d++) {
		for (unsigned i = 0; i < VALUES; i++)
			if (s->gpus[d].metrics[i])
				read_value(p, s->l, &s->gpus[d], i);
		read_energy(p, s->l, &s->gpus[d]);
	}
}

static void amd_smi_close(void *state)
{
	free(state); /* the library stays as it is */
}

extern const struct source source_amd_smi;
const struct source source_amd_smi = {
	.name = "amd_smi",
	.about = "AMD devices: AMD-SMI",
	.interval_ns = 10 * MILLISECOND,
	.alone = true,
	.open = amd_smi_open,
	.read = amd_smi_read,
	.close = amd_smi_close,
};
