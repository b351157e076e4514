/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA devices, by NVML: power, energy, temperatures, clocks and what holds them down,
 * utilisation, memory, PCIe, NVLink, ECC. NVML renews most of it about every 100 ms. There is no
 * header of NVML here: what is used of its interface is declared below, from NVIDIA's reference.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/library.h"

enum { DEVICES = 64, NO_PERMISSION = 4, NOT_SUPPORTED = 3, FIELD_MEMORY_TEMPERATURE = 82 };

typedef struct nvml_device *nvml_device;

struct nvml_pci {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char address[32];
};

struct nvml_field {
	unsigned id, scope;
	long long timestamp, latency;
	unsigned type;
	int status;
	union {
		double d;
		unsigned u;
		unsigned long ul;
		unsigned long long ull;
		long long sll;
		int i;
		unsigned short us;
	} value;
};

/* Of version 2: what the driver keeps for itself is not in use. */
struct nvml_memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};
#define MEMORY_V2 ((unsigned)sizeof(struct nvml_memory_v2) | 2u << 24)

struct nvml {
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned *n);
	int (*device)(unsigned i, nvml_device *out);
	int (*name)(nvml_device d, char *out, unsigned size);
	int (*uuid)(nvml_device d, char *out, unsigned size);
	int (*pci)(nvml_device d, struct nvml_pci *out);
	int (*driver)(char *out, unsigned size);
	int (*power)(nvml_device d, unsigned *mw);
	int (*energy)(nvml_device d, unsigned long long *mj);
	int (*temperature)(nvml_device d, int sensor, unsigned *c);
	int (*clock)(nvml_device d, int type, unsigned *mhz);
	int (*reasons)(nvml_device d, unsigned long long *mask);
	int (*old_reasons)(nvml_device d, unsigned long long *mask);
	int (*utilisation)(nvml_device d, unsigned out[2]);
	int (*memory)(nvml_device d, unsigned long long out[3]);
	int (*memory_v2)(nvml_device d, struct nvml_memory_v2 *out);
	int (*pcie)(nvml_device d, int counter, unsigned *kib);
	int (*fields)(nvml_device d, int count, struct nvml_field *values);
};

#define F(member, symbol) LIBRARY_FUNCTION(struct nvml, member, symbol)
#define O(member, symbol) LIBRARY_OPTIONAL(struct nvml, member, symbol)
static const struct library_function functions[] = {
	F(init, "nvmlInit_v2"),
	F(shutdown, "nvmlShutdown"),
	F(count, "nvmlDeviceGetCount_v2"),
	F(device, "nvmlDeviceGetHandleByIndex_v2"),
	F(name, "nvmlDeviceGetName"),
	O(uuid, "nvmlDeviceGetUUID"),
	O(pci, "nvmlDeviceGetPciInfo_v3"),
	O(driver, "nvmlSystemGetDriverVersion"),
	O(power, "nvmlDeviceGetPowerUsage"),
	O(energy, "nvmlDeviceGetTotalEnergyConsumption"),
	O(temperature, "nvmlDeviceGetTemperature"),
	O(clock, "nvmlDeviceGetClockInfo"),
	O(reasons, "nvmlDeviceGetCurrentClocksEventReasons"),
	O(old_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons"),
	O(utilisation, "nvmlDeviceGetUtilizationRates"),
	O(memory, "nvmlDeviceGetMemoryInfo"),
	O(memory_v2, "nvmlDeviceGetMemoryInfo_v2"),
	O(pcie, "nvmlDeviceGetPcieThroughput"),
	O(fields, "nvmlDeviceGetFieldValues"),
};

/* ---- values -------------------------------------------------------------------------------- */

/* Each reads one value; returns NVML's status. A function that is not there supports nothing. */
#define NEED(function)                                                                             \
	do {                                                                                       \
		if (!(function))                                                                   \
			return NOT_SUPPORTED;                                                      \
	} while (0)

static int get_power(const struct nvml *n, nvml_device d, uint64_t *out)
{
	unsigned v = 0;
	int status;

	NEED(n->power);
	status = n->power(d, &v);
	*out = v;
	return status;
}

static int get_energy(const struct nvml *n, nvml_device d, uint64_t *out)
{
	unsigned long long v = 0;
	int status;

	NEED(n->energy);
	status = n->energy(d, &v);
	*out = v;
	return status;
}

static int get_temperature(const struct nvml *n, nvml_device d, uint64_t *out)
{
	unsigned v = 0;
	int status;

	NEED(n->temperature);
	status = n->temperature(d, 0, &v);
	*out = v;
	return status;
}

static int get_clock(const struct nvml *n, nvml_device d, int type, uint64_t *out)
{
	unsigned v = 0;
	int status;

	NEED(n->clock);
	status = n->clock(d, type, &v);
	*out = v;
	return status;
}

static int get_clock_sm(const struct nvml *n, nvml_device d, uint64_t *out)
{
	return get_clock(n, d, 1, out);
}

static int get_clock_memory(const struct nvml *n, nvml_device d, uint64_t *out)
{
	return get_clock(n, d, 2, out);
}

static int get_busy(const struct nvml *n, nvml_device d, unsigned which, uint64_t *out)
{
	unsigned v[2] = {0, 0};
	int status;

	NEED(n->utilisation);
	status = n->utilisation(d, v);
	*out = v[which];
	return status;
}

static int get_busy_gpu(const struct nvml *n, nvml_device d, uint64_t *out)
{
	return get_busy(n, d, 0, out);
}

static int get_busy_memory(const struct nvml *n, nvml_device d, uint64_t *out)
{
	return get_busy(n, d, 1, out);
}

static int get_used(const struct nvml *n, nvml_device d, uint64_t *out)
{
	struct nvml_memory_v2 m = {.version = MEMORY_V2};
	unsigned long long v[3] = {0, 0, 0};
	int status;

	if (n->memory_v2 && n->memory_v2(d, &m) == 0) {
		*out = m.used;
		return 0;
	}
	NEED(n->memory);
	status = n->memory(d, v);
	*out = v[2];
	return status;
}

/* 100 while some bit of `mask` is set, so that an average is the share of the time. */
static int get_reason(const struct nvml *n, nvml_device d, uint64_t mask, uint64_t *out)
{
	unsigned long long v = 0;
	int status;

	NEED(n->reasons || n->old_reasons);
	status = n->reasons ? n->reasons(d, &v) : n->old_reasons(d, &v);
	*out = v & mask ? 100 : 0;
	return status;
}

static int get_held_power(const struct nvml *n, nvml_device d, uint64_t *out)
{
	return get_reason(n, d, 0x04 | 0x80, out);
}

static int get_held_heat(const struct nvml *n, nvml_device d, uint64_t *out)
{
	return get_reason(n, d, 0x20 | 0x40, out);
}

static int get_held_hardware(const struct nvml *n, nvml_device d, uint64_t *out)
{
	return get_reason(n, d, 0x08, out);
}

enum value { VALUE_POWER, VALUE_ENERGY, VALUES = 11 };

static const struct {
	const char *name, *unit, *what;
	enum metric_kind kind;
	double scale;
	int (*get)(const struct nvml *n, nvml_device d, uint64_t *out);
} values[VALUES] = {
	[VALUE_POWER] = {"power", "W", "Power of the device, on average over a second on most",
			 METRIC_LEVEL, 1e-3, get_power},
	[VALUE_ENERGY] = {"energy", "J", "Energy of the device", METRIC_TOTAL, 1e-3, get_energy},
	{"temperature", "C", "Temperature of the GPU", METRIC_LEVEL, 1, get_temperature},
	{"clock.sm", "MHz", "Clock of the multiprocessors", METRIC_LEVEL, 1, get_clock_sm},
	{"clock.memory", "MHz", "Clock of the memory", METRIC_LEVEL, 1, get_clock_memory},
	{"utilisation", "%", "Time in which some kernel ran, over NVML's window of up to a second",
	 METRIC_LEVEL, 1, get_busy_gpu},
	{"utilisation.memory", "%", "Time in which memory was read or written, likewise",
	 METRIC_LEVEL, 1, get_busy_memory},
	{"memory.used", "bytes", "Memory in use, by whomever", METRIC_LEVEL, 1, get_used},
	{"throttled.power", "%", "100 while power holds the clocks down", METRIC_LEVEL, 1,
	 get_held_power},
	{"throttled.heat", "%", "100 while heat holds the clocks down", METRIC_LEVEL, 1,
	 get_held_heat},
	{"throttled.hardware", "%", "100 while the hardware slows itself down", METRIC_LEVEL, 1,
	 get_held_hardware},
};

enum { FIELDS = 8, FIRST_PCIE = 2, TYPE_U64 = 3 };
#define LINKS_ALL 0xffffffffu

static const struct {
	unsigned id, scope;
	const char *name, *unit, *what;
	enum metric_kind kind;
	double scale;
} fields[FIELDS] = {
	{186, 0, "power.instant", "W", "Power of the device at that moment", METRIC_LEVEL, 1e-3},
	{FIELD_MEMORY_TEMPERATURE, 0, "temperature.memory", "C", "Temperature of the memory",
	 METRIC_LEVEL, 1},
	[FIRST_PCIE] = {197, 0, "pcie.sent", "bytes", "Sent over PCIe", METRIC_TOTAL, 1},
	{198, 0, "pcie.received", "bytes", "Received over PCIe", METRIC_TOTAL, 1},
	{138, LINKS_ALL, "nvlink.sent", "bytes", "Sent over all NVLinks", METRIC_TOTAL, 1024},
	{139, LINKS_ALL, "nvlink.received", "bytes", "Received over all NVLinks", METRIC_TOTAL,
	 1024},
	{3, 0, "ecc.corrected", "", "Memory errors that were corrected", METRIC_TOTAL, 1},
	{4, 0, "ecc.uncorrected", "", "Memory errors that could not be corrected", METRIC_TOTAL, 1},
};

struct gpu {
	nvml_device handle;
	uint32_t device;
	uint32_t metrics[VALUES], fields[FIELDS];
	uint32_t throughput[2]; /* where PCIe is not counted: its rate */
	bool integrate;         /* there is no counter of energy */
};

struct nvml_state {
	struct nvml n;
	struct gpu gpus[DEVICES];
	unsigned count;
	unsigned turn; /* whose throughput is measured next: it takes 20 ms */
};

static const char *status_text(int status)
{
	static const struct {
		int status;
		const char *text;
	} texts[] = {{1, "NVML was not initialised"},
		     {3, "not supported by the device"},
		     {4, "permission denied"},
		     {9, "the driver is not loaded"},
		     {12, "NVML's driver library was not found"},
		     {13, "the driver is too old for it"},
		     {15, "the GPU is lost"},
		     {16, "the GPU needs a reset"},
		     {17, "the operating system or its container keeps the GPU away"},
		     {18, "library and driver are of different versions"},
		     {21, "NVML has no data"},
		     {28, "no GPU was found"}};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].status == status)
			return texts[i].text;
	return "NVML failed";
}

static double field_value(const struct nvml_field *f)
{
	switch (f->type) {
	case 0:
		return f->value.d;
	case 1:
		return f->value.u;
	case 2:
		return (double)f->value.ul;
	case TYPE_U64:
		return (double)f->value.ull;
	case 4:
		return (double)f->value.sll;
	case 5:
		return f->value.i;
	case 6:
		return f->value.us;
	default:
		return -1;
	}
}

static int read_fields(const struct nvml *n, nvml_device d, struct nvml_field out[FIELDS])
{
	memset(out, 0, FIELDS * sizeof(*out));
	for (unsigned i = 0; i < FIELDS; i++) {
		out[i].id = fields[i].id;
		out[i].scope = fields[i].scope;
		out[i].status = NOT_SUPPORTED; /* an old library may leave those it does not know */
	}
	NEED(n->fields);
	return n->fields(d, FIELDS, out);
}

/* ---- opening ------------------------------------------------------------------------------- */

static uint32_t tell_device(struct probe *p, const struct nvml *n, nvml_device d)
{
	char name[96] = "NVIDIA GPU", uuid[96] = "", driver[48] = "", address[24] = "";
	struct nvml_pci pci = {.legacy = ""};
	uint8_t raw[16];
	bool has_uuid, has_pci;

	n->name(d, name, sizeof(name) - 1);
	has_uuid = n->uuid && n->uuid(d, uuid, sizeof(uuid) - 1) == 0 && library_uuid(uuid, raw);
	has_pci = n->pci && n->pci(d, &pci) == 0;
	if (has_pci)
		snprintf(address, sizeof(address), "%04x:%02x:%02x.0", pci.domain, pci.bus & 0xff,
			 pci.device & 0xff);
	if (n->driver)
		n->driver(driver, sizeof(driver) - 1);
	return meter_device(p, &(struct device_info){.type = "gpu",
						     .name = name,
						     .vendor = "NVIDIA",
						     .driver = driver,
						     .pci = has_pci ? address : NULL,
						     .uuid = has_uuid ? raw : NULL});
}

static void tell_values(struct probe *p, const struct nvml *n, struct gpu *g)
{
	for (unsigned i = 0; i < VALUES; i++) {
		uint64_t v;
		int status = values[i].get(n, g->handle, &v);

		if (status == NO_PERMISSION)
			meter_denied(p, "%s: permission denied", values[i].name);
		if (status != 0)
			continue;
		g->metrics[i] = meter_metric(p, &(struct metric_info){.name = values[i].name,
								      .unit = values[i].unit,
								      .description = values[i].what,
								      .kind = values[i].kind,
								      .scale = values[i].scale,
								      .device = g->device});
	}
	if (g->metrics[VALUE_ENERGY] || !g->metrics[VALUE_POWER])
		return;
	g->integrate = true;
	g->metrics[VALUE_ENERGY] = meter_metric(
		p, &(struct metric_info){.name = "energy",
					 .unit = "J",
					 .description = "Energy of the device: power over time",
					 .kind = METRIC_TOTAL,
					 .device = g->device});
}

static void tell_fields(struct probe *p, const struct nvml *n, struct gpu *g)
{
	static const char *const names[2] = {"pcie.sent.rate", "pcie.received.rate"};
	struct nvml_field f[FIELDS];
	unsigned kib;

	read_fields(n, g->handle, f);
	for (unsigned i = 0; i < FIELDS; i++) {
		bool pcie = i == FIRST_PCIE || i == FIRST_PCIE + 1;

		/* 32 bits of bytes can wrap more than once between two readings. */
		if (f[i].status != 0 || field_value(&f[i]) < 0 || (pcie && f[i].type != TYPE_U64))
			continue;
		g->fields[i] = meter_metric(p, &(struct metric_info){.name = fields[i].name,
								     .unit = fields[i].unit,
								     .description = fields[i].what,
								     .kind = fields[i].kind,
								     .scale = fields[i].scale,
								     .device = g->device});
	}
	for (unsigned k = 0; k < 2 && !g->fields[FIRST_PCIE]; k++)
		if (n->pcie && n->pcie(g->handle, (int)k, &kib) == 0)
			g->throughput[k] = meter_metric(
				p,
				&(struct metric_info){
					.name = names[k],
					.unit = "bytes/s",
					.scale = 1024,
					.description =
						"Rate over PCIe, measured for 20 ms now and then",
					.device = g->device});
}

static bool add_devices(struct probe *p, struct nvml_state *s)
{
	unsigned count = 0;
	int status = s->n.init();

	if (status != 0) {
		if (status == 9 || status == 28)
			meter_missing(p, "%s", status_text(status));
		else
			meter_denied(p, "%s (NVML's status %d)", status_text(status), status);
		return false;
	}
	s->n.count(&count);
	for (unsigned i = 0; i < count && s->count < DEVICES; i++) {
		struct gpu *g = &s->gpus[s->count];

		status = s->n.device(i, &g->handle);
		if (status != 0) {
			meter_denied(p, "GPU %u: %s", i, status_text(status));
			continue;
		}
		g->device = tell_device(p, &s->n, g->handle);
		tell_values(p, &s->n, g);
		tell_fields(p, &s->n, g);
		s->count++;
	}
	if (s->count)
		return true;
	meter_missing(p, "NVML has no GPU");
	s->n.shutdown();
	return false;
}

static void *nvml_open(struct probe *p)
{
	static const char *const names[] = {"libnvidia-ml.so.1", "libnvidia-ml.so", NULL};
	struct nvml_state *s = calloc(1, sizeof(*s));

	if (s &&
	    library_load(p, names, functions, sizeof(functions) / sizeof(functions[0]), &s->n) &&
	    add_devices(p, s))
		return s;
	free(s);
	return NULL;
}

/* ---- reading ------------------------------------------------------------------------------- */

static void read_values(struct probe *p, const struct nvml *n, const struct gpu *g)
{
	for (unsigned i = 0; i < VALUES; i++) {
		uint64_t v = 0;
		int status;

		if (!g->metrics[i] || (i == VALUE_ENERGY && g->integrate))
			continue;
		meter_before(p);
		status = values[i].get(n, g->handle, &v);
		if (status != 0)
			meter_gap(p, g->metrics[i], status_text(status));
		else if (values[i].kind == METRIC_TOTAL)
			meter_total(p, g->metrics[i], v, NULL);
		else
			meter_level(p, g->metrics[i], (double)v);
		if (i == VALUE_POWER && g->integrate && status == 0)
			meter_integrate(p, g->metrics[VALUE_ENERGY], (double)v * 1e-3);
		else if (i == VALUE_POWER && g->integrate)
			meter_gap(p, g->metrics[VALUE_ENERGY], status_text(status));
	}
}

static void read_all_fields(struct probe *p, const struct nvml *n, const struct gpu *g)
{
	struct nvml_field f[FIELDS];
	int status;

	meter_before(p);
	status = read_fields(n, g->handle, f);
	for (unsigned i = 0; i < FIELDS; i++) {
		int own = status ? status : f[i].status;

		if (!g->fields[i])
			continue;
		if (own != 0 || field_value(&f[i]) < 0)
			meter_gap(p, g->fields[i], status_text(own ? own : 21));
		else if (fields[i].kind == METRIC_LEVEL)
			meter_level(p, g->fields[i], field_value(&f[i]));
		else
			meter_total(p, g->fields[i],
				    f[i].type == TYPE_U64 ? f[i].value.ull
							  : (uint64_t)field_value(&f[i]),
				    NULL);
	}
}

/* One device and direction each time: the others are not to wait for its 20 ms. */
static void read_throughput(struct probe *p, struct nvml_state *s)
{
	unsigned turn = s->turn++ % (2 * s->count);
	const struct gpu *g = &s->gpus[turn / 2];
	unsigned kib = 0;
	int status;

	if (!g->throughput[turn % 2])
		return;
	meter_before(p);
	status = s->n.pcie(g->handle, (int)(turn % 2), &kib);
	if (status == 0)
		meter_level(p, g->throughput[turn % 2], kib);
	else
		meter_gap(p, g->throughput[turn % 2], status_text(status));
}

static void nvml_read(struct probe *p, void *state)
{
	struct nvml_state *s = state;

	for (unsigned i = 0; i < s->count; i++) {
		read_values(p, &s->n, &s->gpus[i]);
		read_all_fields(p, &s->n, &s->gpus[i]);
	}
	read_throughput(p, s);
}

static void nvml_close(void *state)
{
	struct nvml_state *s = state;

	s->n.shutdown();
	free(s);
}

extern const struct source source_nvml;
const struct source source_nvml = {
	.name = "nvml",
	.about = "NVIDIA devices: NVML",
	.interval_ns = 100 * MILLISECOND,
	.alone = true,
	.open = nvml_open,
	.read = nvml_read,
	.close = nvml_close,
};
