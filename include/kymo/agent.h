/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents: the processors, accelerators and network adapters of this node, found without
 * initialising a runtime. What runtimes report of their devices is merged in as they come up, so
 * that a device is one agent however many runtimes (or platforms of one runtime) show it.
 *
 * The first call of kymo_agents() looks at the machine (files of /sys and /proc, hwloc where it is
 * installed; milliseconds); nothing is looked at before. No device node is opened and no file read
 * that would wake a sleeping device.
 *
 * Lifetime: ids are given once in a process, from 1, and keep their meaning until it ends; a forked
 * child knows the same ones. Whatever is reached from a kymo_agent_t never changes and is never
 * freed: when a runtime adds to an agent, later calls show a newer description under the same id.
 * Threads: any function, any thread, any time. Errors: as in tool.h. A number that is not known is
 * 0, a text NULL, unless said otherwise.
 */
#ifndef KYMO_AGENT_H
#define KYMO_AGENT_H

#include <stddef.h>
#include <stdint.h>

#include <kymo/status.h>
#include <kymo/tool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Codes never change; new ones are appended. */
typedef enum kymo_agent_type {
	KYMO_AGENT_CPU = 1, /* a package (socket), or all of them as a runtime shows them */
	KYMO_AGENT_GPU = 2,
	KYMO_AGENT_NPU = 3,         /* neural processor beside or inside the CPU */
	KYMO_AGENT_ACCELERATOR = 4, /* computes, but is none of the others */
	KYMO_AGENT_FPGA = 5,
	KYMO_AGENT_NIC = 6,  /* Ethernet, InfiniBand and alike */
	KYMO_AGENT_OTHER = 7 /* for instance a display adapter that does not compute */
} kymo_agent_type_t;

/* "cpu", "gpu", ...; NULL for a code that is not one. */
KYMO_EXPORT const char *kymo_agent_type_name(kymo_agent_type_t type);

typedef enum kymo_agent_cache_type {
	KYMO_AGENT_CACHE_UNIFIED = 1,
	KYMO_AGENT_CACHE_DATA = 2,
	KYMO_AGENT_CACHE_INSTRUCTION = 3
} kymo_agent_cache_type_t;

/* Caches of one level, type and size. */
typedef struct kymo_agent_cache {
	size_t size;
	uint32_t level; /* 1 is next to the core */
	kymo_agent_cache_type_t type;
	uint64_t bytes; /* of one of them */
	uint32_t line_bytes;
	uint32_t
		shared_by; /* hardware threads (CPU) or compute units (GPU) that one of them serves */
	uint32_t count;    /* how many of them the agent has */
} kymo_agent_cache_t;

/* A NUMA node that belongs to a CPU agent. A node that spans packages is listed with each. */
typedef struct kymo_agent_numa {
	size_t size;
	uint32_t node;    /* number of the operating system */
	uint32_t threads; /* hardware threads of this agent in it; 0: memory only */
	uint64_t memory_bytes;
} kymo_agent_numa_t;

/* The agent as a runtime shows it. */
typedef struct kymo_agent_handle {
	size_t size;
	const char *domain;   /* "opencl", "cuda", ... */
	const char *platform; /* of several in one domain, or NULL */
	const char *name;     /* the runtime's name for the device, or NULL */
	uint64_t handle;      /* the runtime's own */
	int64_t ordinal;      /* number of the device in the runtime (platform); -1: not known */
	uint32_t record;      /* what fields of kind KYMO_KIND_REF and type "agent" say; or 0 */
} kymo_agent_handle_t;

typedef struct kymo_agent_property {
	size_t size;
	const char *name;
	const char *value;
} kymo_agent_property_t;

/* Address of a PCI function; its text form is domain:bus:device.function in hexadecimal. */
typedef struct kymo_agent_pci {
	size_t size;
	uint32_t domain;
	uint8_t bus, device, function;
	uint16_t vendor_id, device_id;
	uint16_t subsystem_vendor_id, subsystem_device_id;
	uint32_t class_code; /* 24 bits: class, subclass, interface */
	uint32_t revision;
} kymo_agent_pci_t;

/* Arrays of pointers end with NULL and are never NULL themselves. */
typedef struct kymo_agent {
	size_t size;
	uint32_t id;     /* from 1 */
	uint32_t parent; /* id of the agent this one is a part of (partition, virtual function,
			    sub-device), or 0 */
	kymo_agent_type_t type;
	int32_t numa_node; /* nearest one, or the first of a CPU; -1: not known */
	const char *name;
	const char *vendor;
	const char *driver;  /* kernel driver, or NULL */
	const char *version; /* of that driver, where it says */
	/*
	 * As the vendor's tools print it ("GPU-8f3c...") or, if only a runtime told, in hexadecimal
	 * digits.
	 */
	const char *uuid;
	const kymo_agent_pci_t *pci; /* NULL: not on PCI, or not known */
	/*
	 * Which part of its parent this is, as the driver says it: number of an AMD partition, "gi1/ci0"
	 * of a NVIDIA MIG instance, "vf3" of a virtual function; NULL: it is whole.
	 */
	const char *partition;
	/*
	 * Of a CPU: of its NUMA nodes; one that spans packages counts for the first. Of a device: its
	 * own memory.
	 */
	uint64_t memory_bytes;
	uint32_t compute_units; /* cores, compute units, multiprocessors: what the driver counts */
	uint32_t threads;       /* hardware threads of a CPU, SIMD units of an AMD GPU */
	uint64_t clock_max_hz;
	const kymo_agent_cache_t *const *caches;        /* by level */
	const kymo_agent_numa_t *const *numa;           /* of a CPU */
	const kymo_agent_handle_t *const *handles;      /* of the runtimes that are up */
	const kymo_agent_property_t *const *properties; /* docs/agents.md lists the names */
} kymo_agent_t;

/* Another status than KYMO_OK stops and is passed on. */
typedef kymo_status_t (*kymo_agent_fn)(const kymo_agent_t *agent, void *data);

/* All agents known now, by id. No lock is held while `callback` runs. ERROR_NO_MEMORY. */
KYMO_EXPORT kymo_status_t kymo_agents(kymo_agent_fn callback, void *data);

/* The newest description of an agent. ERROR_NOT_FOUND: there is no such id. */
KYMO_EXPORT kymo_status_t kymo_agent_find(uint32_t id, const kymo_agent_t **out);

/*
 * The agent that a record means: `record` is the value of a field of type "agent". Also answers for
 * devices that the runtime has released since. ERROR_NOT_FOUND: no runtime reported it.
 */
KYMO_EXPORT kymo_status_t kymo_agent_find_record(uint32_t record, const kymo_agent_t **out);

/* Where agents were looked for, and why something is not known. */
typedef struct kymo_agent_source {
	size_t size;
	const char *name; /* "hwloc", "cpu", "pci", "kfd", ... */
	/*
	 * OK; ERROR_NOT_FOUND: not there (most machines lack some); ERROR_UNSUPPORTED: Kymo was built
	 * without it; ERROR_SYSTEM: could not be read; ERROR_CORRUPT: made no sense, what did was
	 * kept; ERROR_LIMIT: there is more than Kymo keeps.
	 */
	kymo_status_t status;
	const char *text; /* what was found, or what is missing, and what to do about it */
} kymo_agent_source_t;

typedef kymo_status_t (*kymo_agent_source_fn)(const kymo_agent_source_t *source, void *data);
KYMO_EXPORT kymo_status_t kymo_agent_sources(kymo_agent_source_fn callback, void *data);

#ifdef __cplusplus
}
#endif
#endif
