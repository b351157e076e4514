/* SPDX-License-Identifier: Apache-2.0 */
/* Names and numbers of rocprofv3; see rocprofv3.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/rocprofv3/rocprofv3.h"

static const char *const kind_names[KINDS] = {
	"NONE",
	"HSA_CORE_API",
	"HSA_AMD_EXT_API",
	"HSA_IMAGE_EXT_API",
	"HSA_FINALIZE_EXT_API",
	"HIP_RUNTIME_API",
	"HIP_COMPILER_API",
	"MARKER_CORE_API",
	"MARKER_CONTROL_API",
	"MARKER_NAME_API",
	"MEMORY_COPY",
	"KERNEL_DISPATCH",
	"SCRATCH_MEMORY",
	"CORRELATION_ID_RETIREMENT",
	"RCCL_API",
	"OMPT",
	"MEMORY_ALLOCATION",
	"RUNTIME_INITIALIZATION",
	"ROCDECODE_API",
	"ROCJPEG_API",
	"HIP_STREAM",
	"HIP_RUNTIME_API_EXT",
	"HIP_COMPILER_API_EXT",
	"ROCDECODE_API_EXT",
	"KFD_EVENT_PAGE_MIGRATE",
	"KFD_EVENT_PAGE_FAULT",
	"KFD_EVENT_QUEUE",
	"KFD_EVENT_UNMAP_FROM_GPU",
	"KFD_EVENT_DROPPED_EVENTS",
	"KFD_PAGE_MIGRATE",
	"KFD_PAGE_FAULT",
	"KFD_QUEUE",
	"MARKER_CORE_RANGE_API",
};

static const struct {
	const char *name, *title;
} lists[LISTS] = {
	[LIST_KERNELS] = {"kernel_dispatch", "KERNEL_DISPATCH"},
	[LIST_HIP] = {"hip_api", "HIP_API"},
	[LIST_HSA] = {"hsa_api", "HSA_API"},
	[LIST_MARKERS] = {"marker_api", "MARKER_API"},
	[LIST_RCCL] = {"rccl_api", "RCCL_API"},
	[LIST_COPIES] = {"memory_copy", "MEMORY_COPY"},
	[LIST_MEMORY] = {"memory_allocation", "MEMORY_ALLOCATION"},
	[LIST_SCRATCH] = {"scratch_memory", "SCRATCH_MEMORY"},
	[LIST_ROCDECODE] = {"rocdecode_api", "ROCDECODE_API"},
	[LIST_ROCJPEG] = {"rocjpeg_api", "ROCJPEG_API"},
	[LIST_HOST_TRAP] = {"pc_sample_host_trap", "PC_SAMPLING_HOST_TRAP"},
	[LIST_STOCHASTIC] = {"pc_sample_stochastic", "PC_SAMPLING_STOCHASTIC"},
	[LIST_COUNTERS] = {"counter_collection", "COUNTER_COLLECTION"},
	[LIST_AGENTS] = {"agent_info", "AGENT_INFO"},
};

const char *const rp_directions[DIRECTIONS] = {
	"MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE",
	"MEMORY_COPY_DEVICE_TO_HOST", "MEMORY_COPY_DEVICE_TO_DEVICE"};

const char *const rp_memory_ops[5] = {"MEMORY_ALLOCATION_NONE", "MEMORY_ALLOCATION_ALLOCATE",
				      "MEMORY_ALLOCATION_VMEM_ALLOCATE", "MEMORY_ALLOCATION_FREE",
				      "MEMORY_ALLOCATION_VMEM_FREE"};

/* ---- names ----------------------------------------------------------------------------------- */

static void spell(char out[64], const char *domain, const char *behind, int (*letter)(int))
{
	snprintf(out, 64, "%.40s%s", domain, behind);
	for (char *p = out; *p; p++)
		*p = isalnum((unsigned char)*p) ? (char)letter((unsigned char)*p) : '_';
}

static const char *domain_name(const struct rp_numbers *n, uint32_t number)
{
	return n->t->domains[number].name;
}

const char *rp_kind_name(const struct rp_numbers *n, uint32_t kind, char out[64])
{
	if (kind < KINDS)
		return kind_names[kind];
	spell(out, domain_name(n, kind - KINDS), "_API", toupper);
	return out;
}

uint32_t rp_list_of(uint32_t kind)
{
	switch (kind) {
	case KIND_KERNEL:
		return LIST_KERNELS;
	case KIND_COPY:
		return LIST_COPIES;
	case KIND_MEMORY:
		return LIST_MEMORY;
	case KIND_HIP:
	case KIND_HIP_COMPILER:
		return LIST_HIP;
	case KIND_RCCL:
		return LIST_RCCL;
	case KIND_MARKER_RANGE:
		return LIST_MARKERS;
	default:
		return kind >= KINDS                   ? LISTS + kind - KINDS
		       : kind <= KIND_HSA_FINALIZE_EXT ? LIST_HSA
						       : LIST_MARKERS;
	}
}

const char *rp_list_name(const struct rp_numbers *n, uint32_t list, char out[64])
{
	if (list < LISTS)
		return lists[list].name;
	spell(out, domain_name(n, list - LISTS), "_api", tolower);
	return out;
}

const char *rp_list_title(const struct rp_numbers *n, uint32_t list, char out[64])
{
	if (list < LISTS)
		return lists[list].title;
	spell(out, domain_name(n, list - LISTS), "_API", toupper);
	return out;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static uint32_t kind_of(const struct trace *t, uint32_t domain, const char *name)
{
	const char *d = t->domains[domain].name;

	if (strcmp(d, "hip") == 0)
		return KIND_HIP;
	if (strcmp(d, "hip_compiler") == 0)
		return KIND_HIP_COMPILER;
	if (strcmp(d, "nccl") == 0)
		return KIND_RCCL;
	if (strcmp(d, "hsa") == 0)
		return begins(name, "hsa_amd_")          ? KIND_HSA_AMD_EXT
		       : begins(name, "hsa_ext_program") ? KIND_HSA_FINALIZE_EXT
		       : begins(name, "hsa_ext_")        ? KIND_HSA_IMAGE_EXT
							 : KIND_HSA_CORE;
	if (strcmp(d, "roctx") == 0)
		return begins(name, "roctxProfiler") ? KIND_MARKER_CONTROL
		       : begins(name, "roctxName")   ? KIND_MARKER_NAME
						     : KIND_MARKER_CORE;
	return KINDS + domain;
}

bool rp_is_agent(const struct t_agent *a)
{
	return strcmp(a->type, "nic") != 0 && strcmp(a->type, "other") != 0;
}

/* Numbers 1 and on in the process, for lists of which each element names its process. */
#define NUMBER(n, list, if_counts)                                                                 \
	do {                                                                                       \
		memset(seen, 0, sizeof(*seen) * (n)->t->processes_count);                          \
		for (uint32_t i = 1; i < (n)->t->list##_count; i++)                                \
			if (if_counts)                                                             \
				(n)->list[i] = ++seen[(n)->t->list[i].process];                    \
	} while (0)

static bool number_ops(struct rp_numbers *n)
{
	const struct trace *t = n->t;
	uint32_t *seen = calloc((size_t)n->kinds_count, sizeof(*seen));

	for (uint32_t i = 1; seen && i < t->ops_count; i++) {
		n->kinds[i] = (uint16_t)kind_of(t, t->ops[i].domain, t->ops[i].name);
		n->places[i] = seen[n->kinds[i]]++;
	}
	free(seen);
	return seen != NULL;
}

bool rp_number(struct rp_numbers *n, const struct trace *t)
{
	uint32_t *seen = calloc(t->processes_count, sizeof(*seen));

	*n = (struct rp_numbers){.t = t, .kinds_count = KINDS + t->domains_count};
	n->agents = calloc((size_t)t->agents_count + 1, sizeof(*n->agents));
	n->kernels = calloc((size_t)t->kernels_count + 1, sizeof(*n->kernels));
	n->counters = calloc((size_t)t->counters_count + 1, sizeof(*n->counters));
	n->places = calloc((size_t)t->ops_count + 1, sizeof(*n->places));
	n->kinds = calloc((size_t)t->ops_count + 1, sizeof(*n->kinds));
	n->dispatches = calloc(t->processes_count, sizeof(*n->dispatches));
	n->markers = calloc(t->processes_count, sizeof(*n->markers));
	if (!seen || !n->agents || !n->kernels || !n->counters || !n->places || !n->kinds ||
	    !n->dispatches || !n->markers || !number_ops(n)) {
		free(seen);
		return false;
	}
	NUMBER(n, agents, rp_is_agent(&t->agents[i]));
	NUMBER(n, kernels, true);
	NUMBER(n, counters, true);
	free(seen);
	return true;
}

void rp_numbers_release(struct rp_numbers *n)
{
	free(n->agents);
	free(n->kernels);
	free(n->counters);
	free(n->places);
	free(n->kinds);
	free(n->dispatches);
	free(n->markers);
}

/* ---- records --------------------------------------------------------------------------------- */

uint32_t rp_direction(const struct trace *t, const struct rec_copy *r)
{
	bool from = r->source_agent && strcmp(t->agents[r->source_agent].type, "cpu") != 0;
	bool to = r->destination_agent && strcmp(t->agents[r->destination_agent].type, "cpu") != 0;

	from |= r->source_kind == MEMORY_DEVICE;
	to |= r->destination_kind == MEMORY_DEVICE;
	return 1 + (from ? 2 : 0) + (to ? 1 : 0);
}

uint32_t rp_memory_op(const struct trace *t, const struct rec_allocation *r)
{
	bool frees = t->ops[r->base.op].number == ALLOCATION_OP_FREE;

	return (frees ? 3 : 1) + (r->what == ALLOCATION_PHYSICAL ? 1 : 0);
}

const char *rp_unplaced_dispatch(const struct rec_dispatch *r)
{
	return device_timed(&r->device) ? NULL : "kernels without device times";
}

/* A fill has no direction. */
const char *rp_unplaced_copy(const struct trace *t, const struct rec_copy *r)
{
	uint32_t op = t->ops[r->base.op].number;

	if (op == COPY_OP_FILL)
		return "fills";
	if (op == COPY_OP_FAULT)
		return "page faults";
	return device_timed(&r->device) ? NULL : "copies without device times";
}
