/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices and their clocks. Kernel timestamps count the ticks of the device's timer in fewer bits
 * than it has, so that they wrap within minutes: they are placed by readings of the whole timer,
 * each between two readings of the host's clock, of which some time ago is the next one due.
 */
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "capture/ze/ze.h"
#include "topology/topology.h"

#define SECOND 1000000000ull

enum {
	DEVICE_PROPERTIES = 0x3, /* structure types */
	DEVICE_PROPERTIES_1_2 = 0x20006,
	PCI_PROPERTIES = 0x10008,
	GPU = 1,
	CPU = 2,
	SUB_DEVICE = 2,
	DEVICES = 64, /* of a driver, or parts of a device, that are looked at */
};

/* As in the headers, from 1.0 on. */
struct device_properties {
	uint32_t stype;
	void *next;
	uint32_t type, vendor, device, flags, subdevice, core_clock;
	uint64_t memory_max;
	uint32_t contexts, priorities, threads_per_eu, simd_width, eus, subslices, slices;
	uint64_t timer;
	uint32_t timestamp_bits, kernel_timestamp_bits;
	uint8_t uuid[16];
	char name[256];
};
_Static_assert(sizeof(struct device_properties) == 368, "as in ze_api.h");

struct pci_properties {
	uint32_t stype;
	void *next;
	uint32_t domain, bus, device, function;
	int32_t generation, width;
	int64_t bandwidth;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ze_agent *_Atomic agents;

static const char *type_name(uint32_t type)
{
	if (type == CPU)
		return "cpu";
	return type == GPU ? "gpu" : "accelerator";
}

/* Devices of a driver, parts of a device: how many there are, at most DEVICES; 0: not known. */
static uint32_t list(uint32_t (*get)(void *of, uint32_t *count, void **out), void *of, void **out)
{
	uint32_t count = DEVICES;

	return get && get(of, &count, out) == 0 && count <= DEVICES ? count : 0;
}

static bool has_part(void *device, const void *part)
{
	uint32_t (*get)(void *, uint32_t *, void **);
	void *parts[DEVICES];
	uint32_t count;

	memcpy(&get, &ze_next[ZE_OP_zeDeviceGetSubDevices], sizeof(get));
	count = list(get, device, parts);
	for (uint32_t i = 0; i < count; i++)
		if (parts[i] == part)
			return true;
	return false;
}

/* The device of this driver that has the part, or NULL. */
static void *whole_in(void *driver, const void *part)
{
	uint32_t (*get)(void *, uint32_t *, void **);
	void *devices[DEVICES];
	uint32_t count;

	memcpy(&get, &ze_next[ZE_OP_zeDeviceGet], sizeof(get));
	count = list(get, driver, devices);
	for (uint32_t i = 0; i < count; i++)
		if (devices[i] != part && has_part(devices[i], part))
			return devices[i];
	return NULL;
}

/*
 * The device that a tile is a part of, or NULL. Level Zero tells it from 1.7 on; where tiles are all that
 * zeDeviceGet() has (ZE_FLAT_DEVICE_HIERARCHY=COMBINED), nothing else does.
 */
static void *whole_of(void *part)
{
	uint32_t (*root)(void *, void **), (*get)(uint32_t *, void **), count = DEVICES;
	void *found = NULL, *drivers[DEVICES];

	memcpy(&root, &ze_next[ZE_OP_zeDeviceGetRootDevice], sizeof(root));
	if (root && root(part, &found) == 0 && found && found != part)
		return found;
	found = NULL;
	memcpy(&get, &ze_next[ZE_OP_zeDriverGet], sizeof(get));
	if (!get || get(&count, drivers) != 0 || count > DEVICES)
		return NULL;
	for (uint32_t i = 0; i < count && !found; i++)
		found = whole_in(drivers[i], part);
	return found;
}

static uint32_t parent_of(const struct ze_agent *a, const struct device_properties *p)
{
	const struct ze_agent *whole =
		p->flags & SUB_DEVICE ? ze_agent_of(whole_of(a->device)) : NULL;

	return whole ? whole->id : 0;
}

static void define_agent(const struct ze_agent *a, const struct device_properties *p,
			 uint32_t parent)
{
	struct wire_def d;

	wire_def_init(&d, DEF_AGENT);
	wire_def_u64(&d, a->id);
	wire_def_string(&d, type_name(p->type));
	wire_def_string(&d, p->name);
	wire_def_string(&d, p->vendor == 0x8086 ? "Intel" : "");
	wire_def_string(&d, "");
	wire_def_string(&d, ZE_DOMAIN);
	wire_def_u64(&d, (uintptr_t)a->device);
	wire_def_u64(&d, parent);
	wire_def_string(&d, "");
	wire_def_u64(&d, a->clock);
	wire_def_bytes(&d, p->uuid, sizeof(p->uuid));
	wire_def_string(&d, "Level Zero");
	cap_define(&d);
}

static void report(const struct ze_agent *a, const struct device_properties *p, uint32_t parent)
{
	uint32_t (*pci_of)(void *, void *);
	struct pci_properties pci = {.stype = PCI_PROPERTIES};
	struct core_agent_report r = CORE_AGENT_REPORT_INIT;
	char partition[16];

	r.type = p->type == GPU   ? KYMO_AGENT_GPU
		 : p->type == CPU ? KYMO_AGENT_CPU
				  : KYMO_AGENT_OTHER;
	r.domain = ZE_DOMAIN;
	r.name = p->name;
	r.vendor = p->vendor == 0x8086 ? "Intel" : NULL;
	r.handle = (uintptr_t)a->device;
	r.record = a->id;
	r.parent_record = parent;
	r.uuid = p->uuid;
	r.uuid_bytes = sizeof(p->uuid);
	r.compute_units = p->eus * p->subslices * p->slices;
	r.clock_max_hz = p->core_clock * 1000000ull;
	snprintf(partition, sizeof(partition), "%u", p->subdevice);
	r.partition = p->flags & SUB_DEVICE ? partition : NULL;
	memcpy(&pci_of, &ze_next[ZE_OP_zeDevicePciGetPropertiesExt], sizeof(pci_of));
	if (pci_of && pci_of(a->device, &pci) == 0) {
		r.pci_domain = pci.domain;
		r.pci_bus = (uint8_t)pci.bus;
		r.pci_device = (uint8_t)pci.device;
		r.pci_function = (uint8_t)pci.function;
	}
	core_agent_report(&r, NULL);
}

static bool properties(void *device, struct device_properties *p)
{
	uint32_t (*get)(void *, struct device_properties *);

	memcpy(&get, &ze_next[ZE_OP_zeDeviceGetProperties], sizeof(get));
	*p = (struct device_properties){.stype = DEVICE_PROPERTIES_1_2};
	if (!get)
		return false;
	if (get(device, p) == 0) /* the timer in cycles a second */
		return true;
	*p = (struct device_properties){.stype = DEVICE_PROPERTIES};
	if (get(device, p) != 0)
		return false;
	p->timer = p->timer ? SECOND / p->timer : 0; /* it was nanoseconds a cycle */
	return true;
}

static struct ze_agent *find_agent(const void *device)
{
	struct ze_agent *a = atomic_load(&agents);

	while (a && a->device != device)
		a = a->next;
	return a;
}

static struct ze_agent *agent_new(void *device)
{
	struct ze_agent *a = calloc(1, sizeof(*a));
	struct device_properties p;
	uint32_t parent;

	if (!a || !properties(device, &p)) {
		free(a);
		return NULL;
	}
	p.name[sizeof(p.name) - 1] = '\0';
	a->device = device;
	parent = parent_of(a, &p); /* which is defined before it */
	a->id = cap_new_id(DEF_AGENT);
	a->frequency = p.timer;
	a->bits = p.timestamp_bits && p.timestamp_bits < 64 ? p.timestamp_bits : 64;
	a->kernel_bits = p.kernel_timestamp_bits && p.kernel_timestamp_bits < 64
				 ? p.kernel_timestamp_bits
				 : 64;
	ze_clock_start(a, p.name);
	define_agent(a, &p, parent);
	report(a, &p, parent);
	return a;
}

/* Devices stay as long as their driver; two threads that meet one first make it twice, and one
 * stays. */
struct ze_agent *ze_agent_of(void *device)
{
	struct ze_agent *a = device ? find_agent(device) : NULL, *made;

	if (a || !device || ze_ended())
		return a;
	cap_guard_enter();
	made = agent_new(device);
	cap_guard_leave();
	if (!made)
		return NULL;
	pthread_mutex_lock(&lock);
	a = find_agent(device);
	if (!a) {
		made->next = atomic_load(&agents);
		atomic_store(&agents, made);
		a = made;
	}
	pthread_mutex_unlock(&lock);
	if (a != made)
		free(made);
	return a;
}

/* ---- clocks ---- */

static uint64_t low_bits(uint64_t value, unsigned bits)
{
	return bits < 64 ? value & ((1ull << bits) - 1) : value;
}

static uint64_t nanoseconds(const struct ze_agent *a, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * SECOND / a->frequency);
}

/* The tightest of three readings. */
static bool read_timer(const struct ze_agent *a, uint64_t *before, uint64_t *after, uint64_t *value)
{
	uint32_t (*get)(void *, uint64_t *, uint64_t *);
	uint64_t best = UINT64_MAX;

	memcpy(&get, &ze_next[ZE_OP_zeDeviceGetGlobalTimestamps], sizeof(get));
	for (unsigned i = 0; get && i < 3; i++) {
		uint64_t host = 0, device = 0, from = tick_now(), to;

		if (get(a->device, &host, &device) != 0)
			return false;
		to = tick_now();
		if (to - from >= best)
			continue;
		best = to - from;
		*before = from;
		*after = to;
		*value = device;
	}
	return get != NULL;
}

/* The timer without wraps: of all values that end so the one that is next to what is expected. */
static uint64_t unwrap(const struct ze_agent *a, uint64_t value, uint64_t tick)
{
	uint64_t expected, distance, half;

	if (a->bits == 64 || !a->reference_tick)
		return low_bits(value, a->bits);
	expected = a->reference + (uint64_t)((double)(tick - a->reference_tick) /
					     (double)tick_rate() * (double)a->frequency);
	half = 1ull << (a->bits - 1);
	distance = low_bits(value - expected, a->bits);
	return distance < half ? expected + distance : expected - ((half << 1) - distance);
}

void ze_clock_sample(struct ze_agent *a, bool now)
{
	uint64_t before = 0, after = 0, value = 0;
	struct wire_def d;

	if (!a->frequency ||
	    (!now && a->reference_tick && tick_now() - a->reference_tick < tick_rate()))
		return;
	if (!read_timer(a, &before, &after, &value))
		return;
	a->reference = unwrap(a, value, before);
	a->reference_tick = before;
	wire_def_init(&d, DEF_CLOCK_SYNC);
	wire_def_u64(&d, a->clock);
	wire_def_u64(&d, before);
	wire_def_u64(&d, after);
	wire_def_u64(&d, nanoseconds(a, a->reference));
	wire_def_u64(&d, 1);
	cap_define(&d);
}

void ze_clock_start(struct ze_agent *a, const char *name)
{
	struct wire_def d;

	if (!a->frequency)
		return;
	a->clock = cap_new_id(DEF_CLOCK);
	wire_def_init(&d, DEF_CLOCK);
	wire_def_u64(&d, a->clock);
	wire_def_string(&d, name);
	wire_def_string(&d, "device");
	wire_def_u64(&d, 1000);
	cap_define(&d);
	ze_clock_sample(a, true);
}

/*
 * A timestamp may be a little later than the latest reading of the timer, and much earlier: a
 * quarter of its range lies ahead.
 */
uint64_t ze_clock_time(const struct ze_agent *a, uint64_t timestamp)
{
	uint64_t ahead = low_bits(timestamp - a->reference, a->kernel_bits), range;

	if (a->kernel_bits == 64)
		return nanoseconds(a, timestamp);
	range = 1ull << a->kernel_bits;
	return nanoseconds(a,
			   ahead < range / 4 ? a->reference + ahead : a->reference + ahead - range);
}

uint64_t ze_clock_length(const struct ze_agent *a, uint64_t from, uint64_t to)
{
	return nanoseconds(a, low_bits(to - from, a->kernel_bits));
}
