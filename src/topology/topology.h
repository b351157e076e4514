/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents inside core: what backends report of their runtimes' devices, and (for tests) reading a
 * machine from another root folder.
 *
 * The folder needs base only: the command line uses it without the rest of core.
 */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kymo/agent.h>

/* ---- for backends ---- */

#define CORE_AGENT_UNKNOWN (-1)

/*
 * A device as a runtime shows it. Everything is copied. Start from CORE_AGENT_REPORT_INIT; leave
 * alone what the runtime does not tell.
 */
struct core_agent_report {
	kymo_agent_type_t type;
	const char *domain;   /* must be there */
	const char *platform; /* NULL: the domain has but one */
	const char *name, *vendor;
	uint64_t handle;
	int64_t ordinal;
	uint32_t record;        /* id of the DEF_AGENT definition, or 0 */
	uint32_t parent_record; /* of the device it is a sub-device of, or 0 */
	const uint8_t *uuid;
	size_t uuid_bytes;
	int64_t pci_domain; /* < 0: no PCI address is known */
	uint8_t pci_bus, pci_device, pci_function;
	const char *partition;               /* "gi1/ci0", "3"; NULL: whole, or not told */
	int32_t kfd_node;                    /* HSA: AMD's driver node */
	int32_t numa_node;                   /* of a CPU device that is but one node */
	uint64_t memory_bytes, clock_max_hz; /* 0: not told */
	uint32_t compute_units;
};

#define CORE_AGENT_REPORT_INIT                                                                     \
	{                                                                                          \
		.ordinal = CORE_AGENT_UNKNOWN, .pci_domain = CORE_AGENT_UNKNOWN,                   \
		.kfd_node = CORE_AGENT_UNKNOWN, .numa_node = CORE_AGENT_UNKNOWN,                   \
	}

/*
 * A runtime shows a device. Found by partition or PCI address, else uuid, else (CPUs) by type; made
 * if there is none. The same handle again replaces what was said of it, on whatever agent it was.
 *
 * With `id` NULL this costs a copy: the machine is looked at when somebody asks for agents. With
 * `id` it is looked at now, if it has not been, and *id is the agent's. Any thread; no lock of
 * core is taken. ERROR_LIMIT: too many agents or reports.
 */
kymo_status_t core_agent_report(const struct core_agent_report *report, uint32_t *id);

/* The runtime released the device: its handle is taken off its agent; the agent stays. */
void core_agent_retire(const char *domain, uint64_t handle);

/* ---- for tests ---- */

struct topo;

/* Looks at the machine whose /sys and /proc lie under `root` (""). hwloc sees the real root only. */
struct topo *topo_read(const char *root, bool with_hwloc);
void topo_free(struct topo *t);
size_t topo_agent_count(const struct topo *t);
const kymo_agent_t *topo_agent(const struct topo *t, size_t index);
size_t topo_source_count(const struct topo *t);
const kymo_agent_source_t *topo_source(const struct topo *t, size_t index);
/* core_agent_report() and the rest on such a machine. */
kymo_status_t topo_report(struct topo *t, const struct core_agent_report *report, uint32_t *id);
void topo_retire(struct topo *t, const char *domain, uint64_t handle);
const kymo_agent_t *topo_find_record(const struct topo *t, uint32_t record);

#endif
