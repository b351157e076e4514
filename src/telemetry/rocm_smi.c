/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD devices, by ROCm-SMI where AMD-SMI, which follows it, is not there or has no device: power, energy, temperatures, load, memory. Clocks are left to the
 * kernel's sensors (source hwmon): the layout of the library's own differs between its versions.
 * There is no header of it here: what is used is declared below, from AMD's reference.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/amd_smi.h"
#include "telemetry/library.h"

enum { DEVICES = 64, NOT_SUPPORTED = 2, PERMISSION = 4, ALL_ONES = 0xffff };

struct rsmi {
	int (*init)(uint64_t flags);
	int (*shutdown)(void);
	int (*count)(uint32_t *n);
	int (*name)(uint32_t d, char *out, size_t size);
	int (*pci)(uint32_t d, uint64_t *out);
	int (*power)(uint32_t d, uint64_t *uw, int *type);
	int (*power_average)(uint32_t d, uint32_t sensor, uint64_t *uw);
	int (*energy)(uint32_t d, uint64_t *count, float *resolution, uint64_t *timestamp);
	int (*temperature)(uint32_t d, uint32_t sensor, int metric, int64_t *out);
	int (*busy)(uint32_t d, uint32_t *percent);
	int (*memory_busy)(uint32_t d, uint32_t *percent);
	int (*used)(uint32_t d, int type, uint64_t *bytes);
};

#define F(member, symbol) LIBRARY_FUNCTION(struct rsmi, member, symbol)
#define O(member, symbol) LIBRARY_OPTIONAL(struct rsmi, member, symbol)
static const struct library_function functions[] = {
	F(init, "rsmi_init"),
	F(shutdown, "rsmi_shut_down"),
	F(count, "rsmi_num_monitor_devices"),
	F(name, "rsmi_dev_name_get"),
	O(pci, "rsmi_dev_pci_id_get"),
	O(power, "rsmi_dev_power_get"),
	O(power_average, "rsmi_dev_power_ave_get"),
	O(energy, "rsmi_dev_energy_count_get"),
	O(temperature, "rsmi_dev_temp_metric_get"),
	O(busy, "rsmi_dev_busy_percent_get"),
	O(memory_busy, "rsmi_dev_memory_busy_percent_get"),
	O(used, "rsmi_dev_memory_usage_get"),
};

/* ---- values: 0, or the library's status ------------------------------------------------------ */

static int get_power(const struct rsmi *r, uint32_t d, double *out)
{
	uint64_t uw = 0;
	int status = NOT_SUPPORTED, type;

	if (r->power)
		status = r->power(d, &uw, &type);
	if (status != 0 && r->power_average)
		status = r->power_average(d, 0, &uw);
	*out = (double)uw * 1e-6;
	return status;
}

static int get_temperature(const struct rsmi *r, uint32_t d, uint32_t sensor, double *out)
{
	int64_t v = 0;
	int status = r->temperature ? r->temperature(d, sensor, 0, &v) : NOT_SUPPORTED;

	*out = (double)v * 1e-3;
	return status;
}

static int get_edge(const struct rsmi *r, uint32_t d, double *out)
{
	return get_temperature(r, d, 0, out);
}

static int get_junction(const struct rsmi *r, uint32_t d, double *out)
{
	return get_temperature(r, d, 1, out);
}

static int get_memory_heat(const struct rsmi *r, uint32_t d, double *out)
{
	return get_temperature(r, d, 2, out);
}

/* Firmware that does not tell gives all ones. */
static int percent(int status, uint32_t v, double *out)
{
	*out = v;
	return status ? status : v > 100 ? NOT_SUPPORTED : 0;
}

static int get_busy(const struct rsmi *r, uint32_t d, double *out)
{
	uint32_t v = ALL_ONES;
	int status = r->busy ? r->busy(d, &v) : NOT_SUPPORTED;

	return percent(status, v, out);
}

static int get_memory_busy(const struct rsmi *r, uint32_t d, double *out)
{
	uint32_t v = ALL_ONES;
	int status = r->memory_busy ? r->memory_busy(d, &v) : NOT_SUPPORTED;

	return percent(status, v, out);
}

static int get_used(const struct rsmi *r, uint32_t d, double *out)
{
	uint64_t v = 0;
	int status = r->used ? r->used(d, 0, &v) : NOT_SUPPORTED;

	*out = (double)v;
	return status;
}

enum { VALUE_POWER, VALUES = 7 };

static const struct {
	const char *name, *unit, *what;
	int (*get)(const struct rsmi *r, uint32_t d, double *out);
} values[VALUES] = {
	[VALUE_POWER] = {"power", "W",
			 "Power of the device, of the moment or on average by its kind", get_power},
	{"temperature.edge", "C", "Temperature at the edge of the chip", get_edge},
	{"temperature.junction", "C", "Temperature where the chip is hottest", get_junction},
	{"temperature.memory", "C", "Temperature of the memory", get_memory_heat},
	{"utilisation", "%", "Load of the compute engines, as the firmware averages it", get_busy},
	{"utilisation.memory", "%", "Load of the memory, as the firmware averages it",
	 get_memory_busy},
	{"memory.used", "bytes", "Memory of the device in use, by whomever", get_used},
};

struct gpu {
	uint32_t index, device;
	uint32_t metrics[VALUES], energy;
	bool counts; /* energy */
};

struct rsmi_state {
	struct rsmi r;
	struct gpu gpus[DEVICES];
	unsigned count;
};

static const char *status_text(int status)
{
	switch (status) {
	case NOT_SUPPORTED:
		return "not supported by the device";
	case PERMISSION:
		return "permission denied";
	case 3:
		return "the driver's file could not be read";
	case 8:
		return "ROCm-SMI could not be initialised";
	case 11:
		return "the device was not found";
	default:
		return "ROCm-SMI failed";
	}
}

/* The count comes in steps of the resolution, in uJ: whole mJ are kept. */
static int get_energy(const struct rsmi *r, uint32_t d, uint64_t *mj)
{
	uint64_t count = 0, timestamp;
	float resolution = 0;
	int status = r->energy ? r->energy(d, &count, &resolution, &timestamp) : NOT_SUPPORTED;

	*mj = (uint64_t)((double)count * (double)resolution * 1e-3);
	return status ? status : resolution > 0 && count != UINT64_MAX ? 0 : NOT_SUPPORTED;
}

/* ---- opening ------------------------------------------------------------------------------- */

static uint32_t tell_device(struct probe *p, const struct rsmi *r, uint32_t d)
{
	char name[96] = "AMD GPU", address[24] = "";
	uint64_t id = 0;
	bool has_pci = r->pci && r->pci(d, &id) == 0;

	r->name(d, name, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	if (has_pci)
		snprintf(address, sizeof(address), "%04x:%02x:%02x.%x", (unsigned)(id >> 32),
			 (unsigned)(id >> 8 & 0xff), (unsigned)(id >> 3 & 0x1f),
			 (unsigned)(id & 7));
	return meter_device(p, &(struct device_info){.type = "gpu",
						     .name = name,
						     .vendor = "AMD",
						     .pci = has_pci ? address : NULL});
}

static void tell_values(struct probe *p, const struct rsmi *r, struct gpu *g)
{
	uint64_t mj;

	for (unsigned i = 0; i < VALUES; i++) {
		double v;
		int status = values[i].get(r, g->index, &v);

		if (status == PERMISSION)
			meter_denied(p, "%s: permission denied", values[i].name);
		if (status == 0)
			g->metrics[i] =
				meter_metric(p, &(struct metric_info){.name = values[i].name,
								      .unit = values[i].unit,
								      .description = values[i].what,
								      .device = g->device});
	}
	g->counts = get_energy(r, g->index, &mj) == 0;
	if (g->counts || g->metrics[VALUE_POWER])
		g->energy = meter_metric(
			p, &(struct metric_info){
				   .name = "energy",
				   .unit = "J",
				   .kind = METRIC_TOTAL,
				   .device = g->device,
				   .scale = g->counts ? 1e-3 : 1,
				   .description =
					   g->counts ? "Energy of the device"
						     : "Energy of the device: power over time"});
}

static void *rsmi_open(struct probe *p)
{
	static const char *const names[] = {"librocm_smi64.so",
					    "librocm_smi64.so.7",
					    "librocm_smi64.so.6",
					    "librocm_smi64.so.1",
					    "/opt/rocm/lib/librocm_smi64.so",
					    NULL};
	struct rsmi_state *s;
	uint32_t count = 0;
	int status;

	if (amd_smi_works()) {
		meter_missing(p, "AMD-SMI is there, and is asked instead");
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s ||
	    !library_load(p, names, functions, sizeof(functions) / sizeof(functions[0]), &s->r)) {
		free(s);
		return NULL;
	}
	status = s->r.init(0);
	if (status == 0)
		s->r.count(&count);
	else
		meter_denied(p, "%s (status %d)", status_text(status), status);
	for (uint32_t i = 0; i < count && s->count < DEVICES; i++) {
		struct gpu *g = &s->gpus[s->count++];

		g->index = i;
		g->device = tell_device(p, &s->r, i);
		tell_values(p, &s->r, g);
	}
	if (s->count)
		return s;
	if (status == 0) {
		meter_missing(p, "ROCm-SMI has no device");
		s->r.shutdown();
	}
	free(s);
	return NULL;
}

/* ---- reading ------------------------------------------------------------------------------- */

static void read_energy(struct probe *p, const struct rsmi *r, const struct gpu *g)
{
	uint64_t mj;
	int status;

	if (!g->counts)
		return;
	meter_before(p);
	status = get_energy(r, g->index, &mj);
	if (status == 0)
		meter_total(p, g->energy, mj, NULL);
	else
		meter_gap(p, g->energy, status_text(status));
}

static void rsmi_read(struct probe *p, void *state)
{
	struct rsmi_state *s = state;

	for (unsigned d = 0; d < s->count; d++) {
		const struct gpu *g = &s->gpus[d];

		for (unsigned i = 0; i < VALUES; i++) {
			double v = 0;
			int status;

			if (!g->metrics[i])
				continue;
			meter_before(p);
			status = values[i].get(&s->r, g->index, &v);
			if (status == 0)
				meter_level(p, g->metrics[i], v);
			else
				meter_gap(p, g->metrics[i], status_text(status));
			if (i == VALUE_POWER && !g->counts && status == 0)
				meter_integrate(p, g->energy, v);
			else if (i == VALUE_POWER && !g->counts)
				meter_gap(p, g->energy, status_text(status));
		}
		read_energy(p, &s->r, g);
	}
}

static void rsmi_close(void *state)
{
	struct rsmi_state *s = state;

	s->r.shutdown();
	free(s);
}

extern const struct source source_rocm_smi;
const struct source source_rocm_smi = {
	.name = "rocm_smi",
	.about = "AMD devices: ROCm-SMI",
	.interval_ns = 10 * MILLISECOND,
	.alone = true,
	.open = rsmi_open,
	.read = rsmi_read,
	.close = rsmi_close,
};
