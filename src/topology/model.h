/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the readers of the topology share: a machine being put together, and reading of small files
 * that may be missing, forbidden or nonsense.
 *
 * Memory belongs to the machine and is freed with it alone. Readers work on struct topo_agent;
 * topo_publish() then makes the unchanging descriptions that the outside sees.
 */
#ifndef TOPOLOGY_MODEL_H
#define TOPOLOGY_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "topology/topology.h"

#define TOPO_AGENTS  1024u
#define TOPO_SOURCES 16u
#define TOPO_LIST    64u   /* caches, NUMA nodes, handles, properties of an agent */
#define TOPO_RECORDS 8192u /* devices that runtimes reported, released ones included */
#define TOPO_CPUS    8192u
#define TOPO_NODES   1024u  /* NUMA nodes, KFD nodes */
#define TOPO_TEXT    65536u /* longest file that is read */
#define TOPO_PATH    512u

struct topo_block;

/* An agent under construction, and afterwards what merging needs to know. */
struct topo_agent {
	kymo_agent_t a; /* the arrays are filled in by topo_publish() */
	kymo_agent_pci_t pci;
	bool has_pci;
	bool uuid_sure;    /* told by the kernel driver in the form that runtimes use */
	bool name_guessed; /* made of numbers: a runtime's name is better */
	bool reported;     /* made because a runtime showed it */
	int32_t kfd_node;  /* -1: none */
	uint32_t caches, numa, handles, properties;
	kymo_agent_cache_t *cache[TOPO_LIST];
	kymo_agent_numa_t *node[TOPO_LIST];
	kymo_agent_handle_t *handle[TOPO_LIST];
	const char *handle_uuid[TOPO_LIST]; /* reported with that handle, plain; NULL: none */
	kymo_agent_property_t *property[TOPO_LIST];
	_Atomic(const kymo_agent_t *) current;
};

struct topo {
	char root[TOPO_PATH];
	struct topo_block *blocks;
	bool no_memory;
	_Atomic uint32_t count; /* agents published or, while reading, made */
	struct topo_agent *agents[TOPO_AGENTS];
	uint32_t sources;
	kymo_agent_source_t source[TOPO_SOURCES];
	uint32_t machine; /* id of the agent for all packages together, or 0 */
	uint32_t lost;    /* agents and list entries over the limits */
	_Atomic uint32_t records;
	struct {
		uint32_t record, agent;
	} record[TOPO_RECORDS];
};

/* ---- memory (model.c) ---- */

void *topo_alloc(struct topo *t, size_t bytes); /* zeroed; NULL sets no_memory */
/* A copy without control bytes and blanks at the ends; NULL if nothing is left. */
const char *topo_text(struct topo *t, const char *s);
const char *topo_format(struct topo *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- agents (model.c) ---- */

/* NULL: no memory or too many. */
struct topo_agent *topo_agent_new(struct topo *t, kymo_agent_type_t type);
struct topo_agent *topo_by_pci(const struct topo *t, uint32_t domain, unsigned bus, unsigned device,
			       unsigned function);
struct topo_agent *topo_by_id(const struct topo *t, uint32_t id);
void topo_property(struct topo *t, struct topo_agent *a, const char *name, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Adds to the caches of the same kind, or as a new kind. */
void topo_cache(struct topo *t, struct topo_agent *a, const kymo_agent_cache_t *c, uint32_t count);
void topo_numa(struct topo *t, struct topo_agent *a, uint32_t node, uint32_t threads,
	       uint64_t bytes);
void topo_source_add(struct topo *t, const char *name, kymo_status_t status, const char *format,
		     ...) __attribute__((format(printf, 4, 5)));
/* Makes the description of an agent that others see from now on. False: no memory. */
bool topo_publish(struct topo *t, struct topo_agent *a);

/* "GPU-0011..." or raw digits as bare lower case hexadecimal; "" if there are no digits. */
void topo_uuid_plain(const char *uuid, char out[65]);

/* ---- files (file.c) ---- */

enum topo_read_result { TOPO_READ_OK, TOPO_READ_MISSING, TOPO_READ_DENIED, TOPO_READ_BAD };

/* Path below the root; false: too long. */
bool topo_path(const struct topo *t, char out[TOPO_PATH], const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The whole of a regular file of up to `room` - 1 bytes, terminated; longer ones and binary ones are BAD. */
enum topo_read_result topo_read_file(const char *path, char *text, size_t room);
/* First line of folder/name, with blanks cut off; false: not there or not text. */
bool topo_line(const char *folder, const char *name, char *out, size_t room);
/* A number in a file of its own: decimal, or hexadecimal with 0x. */
bool topo_number(const char *folder, const char *name, uint64_t *out);
bool topo_signed(const char *folder, const char *name, int64_t *out);
/* Last component of where a link points to; false: no link. */
bool topo_link(const char *folder, const char *name, char *out, size_t room);
/*
 * Calls `visit` for the entries of a folder that start with `prefix`, in the order of the numbers in
 * their names, then by name. False (errno set): it cannot be read.
 */
bool topo_each(const char *folder, const char *prefix, void (*visit)(const char *name, void *data),
	       void *data);
/* The file's "0-3,8" as bits; returns how many are set below `limit`, -1 if it is no such list. */
int topo_list_file(const char *folder, const char *name, uint64_t *bits, unsigned limit);
/* Value of "key value" or "key : value" lines; NULL: no such key. The value ends at the line's end. */
const char *topo_key(const char *text, const char *key, char *out, size_t room);
bool topo_key_number(const char *text, const char *key, uint64_t *out);
/* Exactly hhhh:hh:hh.h. */
bool topo_pci_parse(const char *text, kymo_agent_pci_t *out);

/* ---- readers; each adds its source ---- */

/* A CPU package while the processors are read. */
struct topo_package {
	struct topo_agent *agent;
	int64_t number; /* of the operating system */
	uint64_t cpus[TOPO_CPUS / 64];
};
#define TOPO_PACKAGES 256u

struct topo_packages {
	uint32_t count;
	struct topo_package *p[TOPO_PACKAGES];
};

/* The package of this number, made if need be; NULL: no memory or too many. */
struct topo_package *topo_package(struct topo *t, struct topo_packages *all, int64_t number);
/* False: the plain reader is to do it. */
bool topo_read_hwloc(struct topo *t, struct topo_packages *all);
void topo_read_cpus(struct topo *t, bool with_hwloc);
void topo_read_pci(struct topo *t);
void topo_read_drm(struct topo *t);
void topo_read_accel(struct topo *t);
void topo_read_kfd(struct topo *t);
void topo_read_nvidia(struct topo *t);
void topo_read_nics(struct topo *t);
void topo_read_names(struct topo *t); /* pci.ids */

#endif
