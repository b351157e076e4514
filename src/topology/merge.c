/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that runtimes show, brought together with what was found on the machine. A device is one
 * agent; each runtime, and each platform of it, adds a handle to it.
 *
 * All of this runs under the caller's lock; others read descriptions meanwhile, which are replaced as a
 * whole.
 */
#include <ctype.h>
#include <string.h>

#include "topology/model.h"

/* ---- handles ---- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void handle_remove(struct topo_agent *a, uint32_t i)
{
	a->handles--;
	memmove(&a->handle[i], &a->handle[i + 1], (a->handles - i) * sizeof(a->handle[0]));
	memmove(&a->handle_uuid[i], &a->handle_uuid[i + 1],
		(a->handles - i) * sizeof(a->handle_uuid[0]));
}

void topo_retire(struct topo *t, const char *domain, uint64_t handle)
{
	uint32_t n = atomic_load_explicit(&t->count, memory_order_relaxed);

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t h = t->agents[i]->handles; h-- > 0;) {
			struct topo_agent *a = t->agents[i];

			if (a->handle[h]->handle != handle ||
			    strcmp(a->handle[h]->domain, domain) != 0)
				continue;
			handle_remove(a, h);
			topo_publish(t, a);
		}
}

/* One platform does not show a device twice: if it does, these are parts of it. */
static bool conflicts(const struct topo_agent *a, const struct core_agent_report *r,
		      const char *uuid)
{
	for (uint32_t i = 0; i < a->handles; i++) {
		const kymo_agent_handle_t *h = a->handle[i];

		if (strcmp(h->domain, r->domain) != 0 || !same_text(h->platform, r->platform))
			continue;
		if ((h->ordinal >= 0 && r->ordinal >= 0 && h->ordinal != r->ordinal) ||
		    (a->handle_uuid[i] && *uuid && strcmp(a->handle_uuid[i], uuid) != 0))
			return true;
	}
	return false;
}

static kymo_status_t handle_add(struct topo *t, struct topo_agent *a,
				const struct core_agent_report *r, const char *uuid)
{
	kymo_agent_handle_t *h;

	if (a->handles == TOPO_LIST) {
		t->lost++;
		return KYMO_ERROR_LIMIT;
	}
	h = topo_alloc(t, sizeof(*h));
	if (!h)
		return KYMO_ERROR_NO_MEMORY;
	h->size = sizeof(*h);
	h->domain = topo_text(t, r->domain);
	h->platform = topo_text(t, r->platform);
	h->name = topo_text(t, r->name);
	h->handle = r->handle;
	h->ordinal = r->ordinal;
	h->record = r->record;
	if (!h->domain)
		return KYMO_ERROR_INVALID_ARGUMENT;
	a->handle_uuid[a->handles] = *uuid ? topo_text(t, uuid) : NULL;
	a->handle[a->handles++] = h;
	return KYMO_OK;
}

/* ---- uuids ---- */

/* Plain form of what the runtime gave; "" if it gave none. HIP's bytes are digits already. */
static void report_uuid(const struct core_agent_report *r, char out[65])
{
	size_t n = r->uuid ? r->uuid_bytes : 0, digits = 0, zero = 0;

	if (n > 32)
		n = 32;
	for (size_t i = 0; i < n; i++) {
		digits += isxdigit(r->uuid[i]) != 0;
		zero += r->uuid[i] == 0;
	}
	out[0] = '\0';
	for (size_t i = 0; i < n && zero < n; i++)
		if (digits == n)
			snprintf(out + i, 2, "%c", tolower(r->uuid[i]));
		else
			snprintf(out + 2 * i, 3, "%02x", r->uuid[i]);
}

static bool has_uuid(const struct topo_agent *a, const char *uuid)
{
	char own[65];

	topo_uuid_plain(a->a.uuid, own);
	return *own && strcmp(own, uuid) == 0;
}

/* ---- which agent ---- */

static struct topo_agent *make_agent(struct topo *t, const struct core_agent_report *r,
				     uint32_t parent)
{
	struct topo_agent *a = topo_agent_new(t, r->type), *up = topo_by_id(t, parent);

	if (!a)
		return NULL;
	a->reported = true;
	a->a.parent = parent;
	a->a.numa_node = up ? up->a.numa_node : r->numa_node;
	a->a.partition = topo_text(t, r->partition);
	if (up) {
		a->a.driver = up->a.driver;
		a->a.version = up->a.version;
		a->a.vendor = up->a.vendor;
		a->pci = up->pci;
		a->has_pci = up->has_pci;
	} else if (r->pci_domain >= 0) {
		a->pci.domain = (uint32_t)r->pci_domain;
		a->pci.bus = r->pci_bus;
		a->pci.device = r->pci_device;
		a->pci.function = r->pci_function;
		a->has_pci = true;
	}
	return a;
}

/*
 * A sub-device: a part of its parent's agent. Programs make and release the same ones again and
 * again, so one that no runtime shows now is taken again if it is alike.
 */
static struct topo_agent *sub_device(struct topo *t, const struct core_agent_report *r,
				     uint32_t parent)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct topo_agent *a = t->agents[i];

		if (a->reported && a->a.parent == parent && !a->handles && !a->a.partition &&
		    a->a.type == r->type && a->a.compute_units == r->compute_units &&
		    same_text(a->a.name, r->name))
			return a;
	}
	return make_agent(t, r, parent);
}

/* The part of `whole` that the report means, made if need be. */
static struct topo_agent *part_of(struct topo *t, struct topo_agent *whole,
				  const struct core_agent_report *r, const char *uuid)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct topo_agent *a = t->agents[i];

		if (a->a.parent != whole->a.id)
			continue;
		if (r->partition ? same_text(a->a.partition, r->partition)
				 : a->reported && (!*uuid || !a->a.uuid || has_uuid(a, uuid)) &&
					   !conflicts(a, r, uuid))
			return a;
	}
	return make_agent(t, r, whole->a.id);
}

/* The device at the report's PCI address, or the part of it that is meant. */
static struct topo_agent *by_address(struct topo *t, const struct core_agent_report *r,
				     const char *uuid)
{
	struct topo_agent *a =
		topo_by_pci(t, (uint32_t)r->pci_domain, r->pci_bus, r->pci_device, r->pci_function);

	if (!a)
		return NULL;
	if (r->partition || conflicts(a, r, uuid) ||
	    (a->uuid_sure && *uuid && !has_uuid(a, uuid))) /* a MIG instance has its own */
		return part_of(t, a, r, uuid);
	return a;
}

static struct topo_agent *by_uuid(struct topo *t, const char *uuid)
{
	for (uint32_t i = 0; *uuid && i < t->count; i++)
		if (has_uuid(t->agents[i], uuid))
			return t->agents[i];
	return NULL;
}

static struct topo_agent *by_kfd_node(struct topo *t, int32_t node)
{
	for (uint32_t i = 0; node >= 0 && i < t->count; i++)
		if (t->agents[i]->kfd_node == node)
			return t->agents[i];
	return NULL;
}

static bool has_node(const struct topo_agent *a, int32_t node)
{
	for (uint32_t i = 0; i < a->numa; i++)
		if ((int64_t)a->node[i]->node == node)
			return true;
	return false;
}

/* All packages together, as runtimes like to show them. */
static struct topo_agent *whole_machine(struct topo *t, const struct core_agent_report *r)
{
	struct topo_agent *a = topo_by_id(t, t->machine);

	if (a)
		return a;
	a = make_agent(t, r, 0);
	if (!a)
		return NULL;
	for (uint32_t i = 0; i < t->count; i++) {
		const kymo_agent_t *p = &t->agents[i]->a;

		if (p->type != KYMO_AGENT_CPU || p->id == a->a.id)
			continue;
		a->a.compute_units += p->compute_units;
		a->a.threads += p->threads;
		a->a.memory_bytes += p->memory_bytes;
	}
	topo_property(t, a, "spans", "all packages");
	t->machine = a->a.id;
	return a;
}

static struct topo_agent *by_cpu(struct topo *t, const struct core_agent_report *r)
{
	struct topo_agent *only = NULL;
	unsigned packages = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		struct topo_agent *a = t->agents[i];

		if (a->a.type != KYMO_AGENT_CPU || a->reported)
			continue;
		if (r->numa_node >= 0 && has_node(a, r->numa_node))
			return a;
		only = a;
		packages++;
	}
	return packages == 1 ? only : whole_machine(t, r);
}

static struct topo_agent *find_agent(struct topo *t, const struct core_agent_report *r,
				     const char *uuid)
{
	const kymo_agent_t *parent =
		r->parent_record ? topo_find_record(t, r->parent_record) : NULL;
	struct topo_agent *a;

	if (parent)
		return sub_device(t, r, parent->id);
	if (r->type == KYMO_AGENT_CPU)
		return by_cpu(t, r);
	a = by_kfd_node(t, r->kfd_node);
	if (!a && r->pci_domain >= 0)
		a = by_address(t, r, uuid);
	if (!a)
		a = by_uuid(t, uuid);
	return a ? a : make_agent(t, r, 0);
}

/* ---- */

/* What the machine did not tell. */
static void fill_in(struct topo *t, struct topo_agent *a, const struct core_agent_report *r,
		    const char *uuid)
{
	if ((!a->a.name || a->name_guessed) && r->name && *r->name) {
		a->a.name = topo_text(t, r->name);
		a->name_guessed = false;
	}
	if (!a->a.name)
		a->a.name = topo_text(t, "device");
	if (!a->a.vendor)
		a->a.vendor = topo_text(t, r->vendor);
	if (!a->a.uuid && *uuid && a->a.type != KYMO_AGENT_CPU)
		a->a.uuid = topo_text(t, uuid);
	if (!a->a.memory_bytes)
		a->a.memory_bytes = r->memory_bytes;
	if (!a->a.compute_units)
		a->a.compute_units = r->compute_units;
	if (!a->a.clock_max_hz)
		a->a.clock_max_hz = r->clock_max_hz;
}

static kymo_status_t remember_record(struct topo *t, uint32_t record, uint32_t agent)
{
	uint32_t n = atomic_load_explicit(&t->records, memory_order_relaxed);

	if (!record)
		return KYMO_OK;
	if (n == TOPO_RECORDS) {
		t->lost++;
		return KYMO_ERROR_LIMIT;
	}
	t->record[n].record = record;
	t->record[n].agent = agent;
	atomic_store_explicit(&t->records, n + 1, memory_order_release);
	return KYMO_OK;
}

kymo_status_t topo_report(struct topo *t, const struct core_agent_report *r, uint32_t *id)
{
	struct topo_agent *a;
	kymo_status_t status, remembered;
	char uuid[65];

	report_uuid(r, uuid);
	topo_retire(t, r->domain, r->handle);
	a = find_agent(t, r, uuid);
	if (!a)
		return t->no_memory ? KYMO_ERROR_NO_MEMORY : KYMO_ERROR_LIMIT;
	fill_in(t, a, r, uuid);
	status = handle_add(t, a, r, uuid);
	if (!topo_publish(t, a))
		return KYMO_ERROR_NO_MEMORY;
	remembered = remember_record(t, r->record, a->a.id);
	if (id)
		*id = a->a.id;
	return status != KYMO_OK ? status : remembered;
}

/* The last one counts: ids of records are not used again, but a runtime may report twice. */
const kymo_agent_t *topo_find_record(const struct topo *t, uint32_t record)
{
	uint32_t n = atomic_load_explicit(&t->records, memory_order_acquire);

	while (record && n-- > 0)
		if (t->record[n].record == record) {
			struct topo_agent *a = topo_by_id(t, t->record[n].agent);

			return a ? atomic_load_explicit(&a->current, memory_order_acquire) : NULL;
		}
	return NULL;
}
