/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver does of itself while the program waits: compiling PTX, loading code when it is first
 * used, running out of room for commands; and its pools of memory. Records of a domain of its own,
 * with CUPTI's times, published as any runtime may do.
 */
#include <string.h>

#include <kymo/publish.h>

#include "capture/cuda/backend.h"

enum { JIT_CACHE_LOAD = 1, JIT_CACHE_STORE = 2, JIT_COMPILE = 3 };
enum { LOADING_MODULE = 4, LOADING_FUNCTION = 5, COMMANDS_FULL = 6 };

/* Ops; the first three are the kinds of JIT records less one, the last three those of pools. */
enum {
	OP_CACHE_LOAD,
	OP_CACHE_STORE,
	OP_COMPILE,
	OP_MODULE,
	OP_FUNCTION,
	OP_COMMANDS,
	OP_POOL_CREATE,
	OP_POOL_DESTROY,
	OP_POOL_TRIM,
	OPS
};
enum { JIT_FROM, JIT_AGENT, JIT_BYTES, JIT_PATH, JIT_FIELDS };
enum {
	POOL_ADDRESS,
	POOL_AGENT,
	POOL_TYPE,
	POOL_BYTES,
	POOL_USED,
	POOL_KEPT,
	POOL_TRIMMED,
	POOL_FIELDS
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const kymo_enum_value_t jit_from_values[] = {{"PTX", 1}, {"NVVM IR", 2}};
static const kymo_enum_set_t from_set = {"jit_from", jit_from_values, COUNT(jit_from_values)};
static const kymo_enum_value_t pools[] = {{"local", 1}, {"imported", 2}};
static const kymo_enum_set_t pool_set = {"pool_type", pools, COUNT(pools)};

static const kymo_field_t jit_fields[JIT_FIELDS] = {
	[JIT_FROM] = {"from", "jit_from", &from_set, KYMO_KIND_ENUM, 0, 4, 0},
	[JIT_AGENT] = {"agent", "agent", NULL, KYMO_KIND_REF, 0, 4, 0},
	[JIT_BYTES] = {"bytes", "bytes", NULL, KYMO_KIND_SIZE, 0, 8, 0},
	[JIT_PATH] = {"path", "string", NULL, KYMO_KIND_STRING, 0, 1, 0},
};
static const kymo_field_t pool_fields[POOL_FIELDS] = {
	[POOL_ADDRESS] = {"pool", "pointer", NULL, KYMO_KIND_HANDLE, 0, 8, 0},
	[POOL_AGENT] = {"agent", "agent", NULL, KYMO_KIND_REF, 0, 4, 0},
	[POOL_TYPE] = {"type", "pool_type", &pool_set, KYMO_KIND_ENUM, 0, 4, 0},
	[POOL_BYTES] = {"bytes", "bytes", NULL, KYMO_KIND_SIZE, 0, 8, 0},
	[POOL_USED] = {"used", "bytes", NULL, KYMO_KIND_SIZE, 0, 8, 0},
	[POOL_KEPT] = {"release_threshold", "bytes", NULL, KYMO_KIND_SIZE, 0, 8, 0},
	[POOL_TRIMMED] = {"trimmed_to", "bytes", NULL, KYMO_KIND_SIZE, 0, 8, 0},
};

#define OP(name, fields, count)                                                                    \
	{                                                                                          \
		name, fields, count, KYMO_OP_MINIMAL, NULL, 0                                      \
	}

static const kymo_op_desc_t ops[OPS] = {
	[OP_CACHE_LOAD] = OP("jit_cache_load", jit_fields, JIT_FIELDS),
	[OP_CACHE_STORE] = OP("jit_cache_store", jit_fields, JIT_FIELDS),
	[OP_COMPILE] = OP("jit_compile", jit_fields, JIT_FIELDS),
	[OP_MODULE] = OP("module_loading", NULL, 0),
	[OP_FUNCTION] = OP("function_loading", NULL, 0),
	[OP_COMMANDS] = OP("command_buffer_full", NULL, 0),
	[OP_POOL_CREATE] = OP("pool_create", pool_fields, POOL_FIELDS),
	[OP_POOL_DESTROY] = OP("pool_destroy", pool_fields, POOL_FIELDS),
	[OP_POOL_TRIM] = OP("pool_trim", pool_fields, POOL_FIELDS),
};
static const kymo_domain_desc_t desc = {
	sizeof(desc), "cuda_driver", "CUDA driver's own work", 1, OPS, ops};

CAP_KNOWN_DOMAIN(cuda_driver, &desc);

static kymo_published_domain_t domain;
static kymo_clock_t host_clock;
static kymo_track_t track;

bool cuda_driver_domain(void)
{
	return kymo_domain_publish(&desc, &domain) == KYMO_OK;
}

void cuda_driver_clock_sync(void)
{
	uint64_t before, value;

	if (!domain.handle)
		return;
	if (!host_clock.handle &&
	    (kymo_clock_create("CUPTI", "host", 1000, &host_clock) != KYMO_OK ||
	     kymo_track_create("CUDA driver", &track) != KYMO_OK))
		return;
	before = kymo_time();
	value = cuda_clock();
	kymo_clock_sync(host_clock, before, value, kymo_time(), KYMO_SYNC_SAMPLED);
}

static void publish_event(unsigned op, uint64_t start, uint64_t end, uint32_t correlation,
			  const kymo_value_t *values, uint32_t count)
{
	const kymo_publication_t p = {.size = sizeof(p),
				      .clock = host_clock,
				      .start = start,
				      .end = end,
				      .track = track,
				      .parent = cuda_submission_call(correlation),
				      .values = values,
				      .value_count = count};

	if (domain.handle && start && end >= start)
		kymo_publish(domain, op, &p, NULL);
}

static kymo_value_t number_value(uint64_t value)
{
	return (kymo_value_t){.size = sizeof(kymo_value_t), .present = true, .u = value};
}

void cuda_jit_record(const struct cupti_jit *j)
{
	kymo_value_t v[JIT_FIELDS] = {[JIT_FROM] = number_value(j->entry),
				      [JIT_AGENT] = number_value(cuda_agent(j->device)),
				      [JIT_BYTES] = number_value(j->cache_bytes)};

	if (j->operation < JIT_CACHE_LOAD || j->operation > JIT_COMPILE)
		return;
	v[JIT_PATH] = (kymo_value_t){.size = sizeof(kymo_value_t),
				     .present = j->path != NULL,
				     .data = j->path,
				     .count = j->path ? strlen(j->path) : 0};
	publish_event(j->operation - 1, j->start, j->end, j->correlation, v, JIT_FIELDS);
}

void cuda_driver_overhead(uint32_t kind, uint64_t start, uint64_t end)
{
	if (kind >= LOADING_MODULE && kind <= COMMANDS_FULL)
		publish_event(OP_MODULE + kind - LOADING_MODULE, start, end, 0, NULL, 0);
}

void cuda_pool_record(const struct cupti_pool *p)
{
	const kymo_value_t v[POOL_FIELDS] = {[POOL_ADDRESS] = number_value(p->address),
					     [POOL_AGENT] = number_value(cuda_agent(p->device)),
					     [POOL_TYPE] = number_value(p->type),
					     [POOL_BYTES] = number_value(p->bytes),
					     [POOL_USED] = number_value(p->used),
					     [POOL_KEPT] = number_value(p->threshold),
					     [POOL_TRIMMED] = number_value(p->least)};

	if (p->operation >= 1 && p->operation <= 3)
		publish_event(OP_POOL_CREATE + p->operation - 1, p->time, p->time, p->correlation,
			      v, POOL_FIELDS);
}
