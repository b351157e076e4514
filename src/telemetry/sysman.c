/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices of Intel and others, by Level Zero's Sysman: energy, engines' load, frequencies,
 * temperatures, memory, PCIe. Its counters have clocks of their own, so that shares are made of
 * differences within one structure. There is no header of it here: what is used is declared below,
 * from the specification of Level Zero.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/library.h"

enum {
	DRIVERS = 8,
	DEVICES = 32,
	PARTS = 16,
	STYPE_DEVICE = 0x1,
	STYPE_PCI = 0x2,
	STYPE_ENGINE = 0x5,
	STYPE_FREQUENCY = 0x9,
	STYPE_POWER = 0xd,
	STYPE_TEMPERATURE = 0x14,
	STYPE_FREQUENCY_STATE = 0x1b,
	STYPE_MEMORY_STATE = 0x1e
};
#define DEVICE_LOST   0x70000001u
#define NO_PERMISSION 0x70010000u
#define UNINITIALISED 0x78000001u
#define UNSUPPORTED   0x78000003u

typedef void *zes_handle;

struct zes_core { /* of a device, in zes_properties */
	uint32_t stype;
	void *next;
	uint32_t type, vendor, device, flags, subdevice, clock;
	uint64_t allocation_max;
	uint32_t numbers[7];
	uint64_t timer;
	uint32_t bits[2];
	uint8_t uuid[16];
	char name[256];
};

struct zes_properties {
	uint32_t stype;
	void *next;
	struct zes_core core;
	uint32_t subdevices;
	char serial[64], board[64], brand[64], model[64], vendor[64], driver[64];
};

struct zes_speed {
	int32_t gen, width;
	int64_t bandwidth;
};

struct zes_pci {
	uint32_t stype;
	void *next;
	uint32_t domain, bus, device, function;
	struct zes_speed speed;
	uint8_t have[3];
};

struct zes_pci_stats {
	uint64_t timestamp, replays, packets, received, sent;
	struct zes_speed speed;
};

/* Power, engines, frequencies and temperatures say alike which part of the device they are of. */
struct zes_power {
	uint32_t stype;
	void *next;
	uint8_t on_subdevice;
	uint32_t subdevice;
	uint8_t more[64];
};

struct zes_part {
	uint32_t stype;
	void *next;
	uint32_t type;
	uint8_t on_subdevice;
	uint32_t subdevice;
	uint8_t more[64];
};

struct zes_frequency {
	uint32_t stype;
	const void *next;
	double voltage, request, tdp, efficient, actual;
	uint32_t reasons;
};

struct zes_memory {
	uint32_t stype;
	const void *next;
	uint32_t health;
	uint64_t free, size;
};

struct zes_count {
	uint64_t value, timestamp; /* us, or uJ and us */
};

/* Where the specification's structures have these on 64-bit machines. */
_Static_assert(sizeof(struct zes_core) == 368 && offsetof(struct zes_core, uuid) == 96 &&
		       offsetof(struct zes_properties, driver) == 708 &&
		       offsetof(struct zes_pci, domain) == 16 &&
		       sizeof(struct zes_pci_stats) == 56 &&
		       offsetof(struct zes_part, on_subdevice) == 20 &&
		       offsetof(struct zes_frequency, reasons) == 56 &&
		       offsetof(struct zes_memory, size) == 32,
	       "Sysman's structures");

struct zes {
	uint32_t (*init)(uint32_t flags);
	uint32_t (*drivers)(uint32_t *n, zes_handle *out);
	uint32_t (*devices)(zes_handle driver, uint32_t *n, zes_handle *out);
	uint32_t (*properties)(zes_handle device, struct zes_properties *out);
	uint32_t (*pci)(zes_handle device, struct zes_pci *out);
	uint32_t (*pci_stats)(zes_handle device, struct zes_pci_stats *out);
	uint32_t (*powers)(zes_handle device, uint32_t *n, zes_handle *out);
	uint32_t (*power_properties)(zes_handle power, struct zes_power *out);
	uint32_t (*energy)(zes_handle power, struct zes_count *out);
	uint32_t (*engines)(zes_handle device, uint32_t *n, zes_handle *out);
	uint32_t (*engine_properties)(zes_handle engine, struct zes_part *out);
	uint32_t (*activity)(zes_handle engine, struct zes_count *out);
	uint32_t (*frequencies)(zes_handle device, uint32_t *n, zes_handle *out);
	uint32_t (*frequency_properties)(zes_handle frequency, struct zes_part *out);
	uint32_t (*frequency)(zes_handle frequency, struct zes_frequency *out);
	uint32_t (*temperatures)(zes_handle device, uint32_t *n, zes_handle *out);
	uint32_t (*temperature_properties)(zes_handle sensor, struct zes_part *out);
	uint32_t (*temperature)(zes_handle sensor, double *out);
	uint32_t (*memories)(zes_handle device, uint32_t *n, zes_handle *out);
	uint32_t (*memory)(zes_handle memory, struct zes_memory *out);
};

#define F(member, symbol) LIBRARY_FUNCTION(struct zes, member, symbol)
static const struct library_function functions[] = {
	F(init, "zesInit"),
	F(drivers, "zesDriverGet"),
	F(devices, "zesDeviceGet"),
	F(properties, "zesDeviceGetProperties"),
	F(pci, "zesDevicePciGetProperties"),
	F(pci_stats, "zesDevicePciGetStats"),
	F(powers, "zesDeviceEnumPowerDomains"),
	F(power_properties, "zesPowerGetProperties"),
	F(energy, "zesPowerGetEnergyCounter"),
	F(engines, "zesDeviceEnumEngineGroups"),
	F(engine_properties, "zesEngineGetProperties"),
	F(activity, "zesEngineGetActivity"),
	F(frequencies, "zesDeviceEnumFrequencyDomains"),
	F(frequency_properties, "zesFrequencyGetProperties"),
	F(frequency, "zesFrequencyGetState"),
	F(temperatures, "zesDeviceEnumTemperatureSensors"),
	F(temperature_properties, "zesTemperatureGetProperties"),
	F(temperature, "zesTemperatureGetState"),
	F(memories, "zesDeviceEnumMemoryModules"),
	F(memory, "zesMemoryGetState"),
};

struct part {
	zes_handle handle;
	uint32_t metric, second; /* `second`: power beside energy */
	struct zes_count last;
	bool begun;
};

struct parts {
	struct part list[PARTS];
	unsigned count;
};

struct gpu {
	zes_handle handle;
	uint32_t device;
	struct parts powers, engines, frequencies, temperatures;
	zes_handle memories[PARTS];
	uint32_t memory_count, memory_used;
	uint32_t received, sent;
};

struct zes_state {
	struct zes z;
	struct gpu gpus[DEVICES];
	unsigned count;
};

static const char *status_text(uint32_t status)
{
	switch (status) {
	case DEVICE_LOST:
		return "the device is lost";
	case NO_PERMISSION:
		return "permission denied";
	case UNINITIALISED:
		return "Level Zero has no driver here";
	case UNSUPPORTED:
		return "not supported by the device";
	default:
		return "Sysman failed";
	}
}

/* ---- opening ------------------------------------------------------------------------------- */

static uint32_t define_metric(struct probe *p, const struct gpu *g, const char *name,
			      const char *unit, const char *what, enum metric_kind kind,
			      double scale)
{
	return meter_metric(p, &(struct metric_info){.name = name,
						     .unit = unit,
						     .description = what,
						     .kind = kind,
						     .scale = scale,
						     .device = g->device});
}

/* Handles of one kind; those that a device has not are none. */
static uint32_t list_handles(struct probe *p, const char *what, zes_handle device,
			     uint32_t (*list)(zes_handle, uint32_t *, zes_handle *),
			     zes_handle out[PARTS])
{
	uint32_t n = 0, status = list(device, &n, NULL);

	if (status == NO_PERMISSION)
		meter_denied(p, "%s: permission denied", what);
	if (status != 0 || n == 0)
		return 0;
	n = n < PARTS ? n : PARTS;
	return list(device, &n, out) == 0 ? n < PARTS ? n : PARTS : 0;
}

static void add_powers(struct probe *p, const struct zes *z, struct gpu *g)
{
	zes_handle list[PARTS];
	uint32_t n = list_handles(p, "energy", g->handle, z->powers, list);

	for (uint32_t i = 0; i < n; i++) {
		struct zes_power properties = {.stype = STYPE_POWER};
		struct part *part = &g->powers.list[g->powers.count];
		uint32_t status = z->energy(list[i], &part->last);

		if (status == NO_PERMISSION)
			meter_denied(p, "energy: permission denied");
		if (status != 0 || z->power_properties(list[i], &properties) != 0 ||
		    properties.on_subdevice || g->powers.count)
			continue; /* the first is the whole device's */
		part->handle = list[i];
		part->metric = define_metric(p, g, "energy", "J", "Energy of the device",
					     METRIC_TOTAL, 1e-6);
		part->second = define_metric(p, g, "power", "W",
					     "Power, on average since the reading before",
					     METRIC_LEVEL, 1);
		g->powers.count++;
	}
}

static void add_engines(struct probe *p, const struct zes *z, struct gpu *g)
{
	static const char *const names[] = {"utilisation", "utilisation.compute",
					    "utilisation.media", "utilisation.copy"};
	zes_handle list[PARTS];
	uint32_t n = list_handles(p, "load", g->handle, z->engines, list);

	for (uint32_t i = 0; i < n; i++) {
		struct zes_part properties = {.stype = STYPE_ENGINE};
		struct part *part = &g->engines.list[g->engines.count];

		if (z->engine_properties(list[i], &properties) != 0 || properties.on_subdevice ||
		    properties.type >= sizeof(names) / sizeof(names[0]) ||
		    z->activity(list[i], &part->last) != 0)
			continue;
		part->handle = list[i];
		part->metric =
			define_metric(p, g, names[properties.type], "%",
				      "Time in which engines of this kind worked", METRIC_LEVEL, 1);
		g->engines.count++;
	}
}

static void add_frequencies(struct probe *p, const struct zes *z, struct gpu *g)
{
	static const char *const names[] = {"clock", "clock.memory", "clock.media"};
	zes_handle list[PARTS];
	uint32_t n = list_handles(p, "frequencies", g->handle, z->frequencies, list);

	for (uint32_t i = 0; i < n; i++) {
		struct zes_part properties = {.stype = STYPE_FREQUENCY};
		struct zes_frequency state = {.stype = STYPE_FREQUENCY_STATE};
		struct part *part = &g->frequencies.list[g->frequencies.count];

		if (z->frequency_properties(list[i], &properties) != 0 || properties.on_subdevice ||
		    properties.type >= sizeof(names) / sizeof(names[0]) ||
		    z->frequency(list[i], &state) != 0)
			continue;
		part->handle = list[i];
		part->metric = define_metric(p, g, names[properties.type], "MHz", "Clock",
					     METRIC_LEVEL, 1);
		if (properties.type == 0)
			part->second = define_metric(p, g, "throttled", "%",
						     "100 while something holds the clock down",
						     METRIC_LEVEL, 1);
		g->frequencies.count++;
	}
}

static void add_temperatures(struct probe *p, const struct zes *z, struct gpu *g)
{
	static const char *const names[] = {"temperature", "temperature.gpu", "temperature.memory"};
	zes_handle list[PARTS];
	uint32_t n = list_handles(p, "temperatures", g->handle, z->temperatures, list);

	for (uint32_t i = 0; i < n; i++) {
		struct zes_part properties = {.stype = STYPE_TEMPERATURE};
		struct part *part = &g->temperatures.list[g->temperatures.count];
		double v;

		if (z->temperature_properties(list[i], &properties) != 0 ||
		    properties.on_subdevice ||
		    properties.type >= sizeof(names) / sizeof(names[0]) ||
		    z->temperature(list[i], &v) != 0)
			continue;
		part->handle = list[i];
		part->metric = define_metric(p, g, names[properties.type], "C", "Temperature",
					     METRIC_LEVEL, 1);
		g->temperatures.count++;
	}
}

static void add_rest(struct probe *p, const struct zes *z, struct gpu *g)
{
	struct zes_memory state = {.stype = STYPE_MEMORY_STATE};
	struct zes_pci_stats stats;

	g->memory_count = list_handles(p, "memory", g->handle, z->memories, g->memories);
	if (g->memory_count && z->memory(g->memories[0], &state) == 0)
		g->memory_used = define_metric(p, g, "memory.used", "bytes",
					       "Memory in use, by whomever", METRIC_LEVEL, 1);
	if (z->pci_stats(g->handle, &stats) != 0)
		return;
	g->received = define_metric(p, g, "pcie.received", "bytes", "Received over PCIe",
				    METRIC_TOTAL, 1);
	g->sent = define_metric(p, g, "pcie.sent", "bytes", "Sent over PCIe", METRIC_TOTAL, 1);
}

static void add_device(struct probe *p, struct zes_state *s, zes_handle handle)
{
	struct zes_properties properties = {.stype = STYPE_DEVICE};
	struct zes_pci pci = {.stype = STYPE_PCI};
	struct gpu *g = &s->gpus[s->count];
	char address[24];
	bool has_pci;

	if (s->count == DEVICES || s->z.properties(handle, &properties) != 0)
		return;
	has_pci = s->z.pci(handle, &pci) == 0;
	snprintf(address, sizeof(address), "%04x:%02x:%02x.%x", pci.domain, pci.bus & 0xff,
		 pci.device & 0xff, pci.function & 0xf);
	properties.core.name[255] = properties.vendor[63] = properties.driver[63] = '\0';
	g->handle = handle;
	g->device = meter_device(p, &(struct device_info){.type = "gpu",
							  .name = properties.core.name,
							  .vendor = properties.vendor,
							  .driver = properties.driver,
							  .pci = has_pci ? address : NULL,
							  .uuid = properties.core.uuid});
	add_powers(p, &s->z, g);
	add_engines(p, &s->z, g);
	add_frequencies(p, &s->z, g);
	add_temperatures(p, &s->z, g);
	add_rest(p, &s->z, g);
	s->count++;
}

static void add_devices(struct probe *p, struct zes_state *s)
{
	zes_handle drivers[DRIVERS], devices[DEVICES];
	uint32_t driver_count = DRIVERS, n;

	if (s->z.drivers(&driver_count, drivers) != 0)
		return;
	for (uint32_t i = 0; i < driver_count && i < DRIVERS; i++) {
		n = DEVICES;
		if (s->z.devices(drivers[i], &n, devices) != 0)
			continue;
		for (uint32_t k = 0; k < n && k < DEVICES; k++)
			add_device(p, s, devices[k]);
	}
}

static void *sysman_open(struct probe *p)
{
	static const char *const names[] = {"libze_loader.so.1", "libze_loader.so", NULL};
	struct zes_state *s = calloc(1, sizeof(*s));
	uint32_t status = 1;

	if (s &&
	    library_load(p, names, functions, sizeof(functions) / sizeof(functions[0]), &s->z)) {
		status = s->z.init(0);
		if (status != 0)
			meter_missing(p, "%s (zesInit: 0x%x)", status_text(status), status);
	}
	if (status == 0)
		add_devices(p, s);
	if (s && s->count)
		return s;
	if (status == 0)
		meter_missing(p, "Sysman has no device");
	free(s);
	return NULL;
}

/* ---- reading ------------------------------------------------------------------------------- */

static void read_energy(struct probe *p, const struct zes *z, struct part *part)
{
	struct zes_count c = {0, 0};
	struct growth g;
	uint32_t status;

	meter_before(p);
	status = z->energy(part->handle, &c);
	if (status != 0)
		meter_gap(p, part->metric, status_text(status));
	else if (meter_total(p, part->metric, c.value, &g) && g.seconds > 0)
		meter_level(p, part->second, g.value / g.seconds);
}

static void read_engine(struct probe *p, const struct zes *z, struct part *part)
{
	struct zes_count c = {0, 0};
	uint32_t status;

	meter_before(p);
	status = z->activity(part->handle, &c);
	if (status != 0) {
		meter_gap(p, part->metric, status_text(status));
		return;
	}
	if (part->begun && c.timestamp > part->last.timestamp && c.value >= part->last.value)
		meter_level(p, part->metric,
			    100 * (double)(c.value - part->last.value) /
				    (double)(c.timestamp - part->last.timestamp));
	part->last = c;
	part->begun = true;
}

static void read_frequency(struct probe *p, const struct zes *z, struct part *part)
{
	struct zes_frequency f = {.stype = STYPE_FREQUENCY_STATE};
	uint32_t status;

	meter_before(p);
	status = z->frequency(part->handle, &f);
	if (status != 0 || f.actual < 0) /* less than 0: not known */
		meter_gap(p, part->metric,
			  status ? status_text(status) : "the device does not report it");
	else
		meter_level(p, part->metric, f.actual);
	if (status == 0)
		meter_level(p, part->second, f.reasons ? 100 : 0);
}

static void read_memory(struct probe *p, const struct zes *z, const struct gpu *g)
{
	uint32_t status = 0;
	double used = 0;

	meter_before(p);
	for (uint32_t i = 0; i < g->memory_count && status == 0; i++) {
		struct zes_memory m = {.stype = STYPE_MEMORY_STATE};

		status = z->memory(g->memories[i], &m);
		used += m.size > m.free ? (double)(m.size - m.free) : 0;
	}
	if (status == 0)
		meter_level(p, g->memory_used, used);
	else
		meter_gap(p, g->memory_used, status_text(status));
}

static void read_pci(struct probe *p, const struct zes *z, const struct gpu *g)
{
	struct zes_pci_stats stats;
	uint32_t status;

	meter_before(p);
	memset(&stats, 0, sizeof(stats));
	status = z->pci_stats(g->handle, &stats);
	if (status == 0) {
		meter_total(p, g->received, stats.received, NULL);
		meter_total(p, g->sent, stats.sent, NULL);
	} else {
		meter_gap(p, g->received, status_text(status));
	}
}

static void read_gpu(struct probe *p, const struct zes *z, struct gpu *g)
{
	for (unsigned i = 0; i < g->powers.count; i++)
		read_energy(p, z, &g->powers.list[i]);
	for (unsigned i = 0; i < g->engines.count; i++)
		read_engine(p, z, &g->engines.list[i]);
	for (unsigned i = 0; i < g->frequencies.count; i++)
		read_frequency(p, z, &g->frequencies.list[i]);
	for (unsigned i = 0; i < g->temperatures.count; i++) {
		const struct part *part = &g->temperatures.list[i];
		uint32_t status;
		double v = 0;

		meter_before(p);
		status = z->temperature(part->handle, &v);
		if (status == 0)
			meter_level(p, part->metric, v);
		else
			meter_gap(p, part->metric, status_text(status));
	}
	if (g->memory_used)
		read_memory(p, z, g);
	if (g->received)
		read_pci(p, z, g);
}

static void sysman_read(struct probe *p, void *state)
{
	struct zes_state *s = state;

	for (unsigned i = 0; i < s->count; i++)
		read_gpu(p, &s->z, &s->gpus[i]);
}

static void sysman_close(void *state)
{
	free(state);
}

extern const struct source source_sysman;
const struct source source_sysman = {
	.name = "sysman",
	.about = "Intel devices: Level Zero Sysman",
	.interval_ns = 10 * MILLISECOND,
	.alone = true,
	.open = sysman_open,
	.read = sysman_read,
	.close = sysman_close,
};
