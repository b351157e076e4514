/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What events refer to: attributes, paradigms, the system tree (job, nodes, devices), location
 * groups (a process; a device as one context of a process sees it) and regions of operations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "base/vec.h"
#include "formats/otf2/otf2.h"
#include "stream/names.h"

void define_attributes(struct archive *a)
{
	static const struct {
		const char *name, *description;
		OTF2_Type type;
	} list[] = {
#define X(name, text, type, description) {text, description, OTF2_TYPE_##type},
		OTF2_ATTRIBUTES(X)
#undef X
	};

	for (uint32_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		archive_check(a, OTF2_GlobalDefWriter_WriteAttribute(
					 a->defs, i, archive_string(a, list[i].name),
					 archive_string(a, list[i].description), list[i].type));
}

/* ---- paradigms ----------------------------------------------------------------------------- */

OTF2_Paradigm define_paradigm(const char *domain)
{
	static const struct {
		const char *domain;
		OTF2_Paradigm paradigm;
	} list[] = {{"opencl", OTF2_PARADIGM_OPENCL},     {"cuda", OTF2_PARADIGM_CUDA},
		    {"cuda_runtime", OTF2_PARADIGM_CUDA}, {"hip", OTF2_PARADIGM_HIP},
		    {"hip_compiler", OTF2_PARADIGM_HIP},  {"mpi", OTF2_PARADIGM_MPI},
		    {"openmp", OTF2_PARADIGM_OPENMP},     {"kokkos", OTF2_PARADIGM_KOKKOS},
		    {"marker", OTF2_PARADIGM_USER}};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		if (strcmp(list[i].domain, domain) == 0)
			return list[i].paradigm;
	}
	return OTF2_PARADIGM_UNKNOWN;
}

static OTF2_ParadigmClass class_of(OTF2_Paradigm p)
{
	switch (p) {
	case OTF2_PARADIGM_MPI:
		return OTF2_PARADIGM_CLASS_PROCESS;
	case OTF2_PARADIGM_OPENMP:
		return OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN;
	default:
		return OTF2_PARADIGM_CLASS_ACCELERATOR;
	}
}

/* It has calls of a program, not Kymo's own records alone. */
static bool has_calls(const struct trace *t, uint32_t domain)
{
	for (uint32_t i = 1; i < t->ops_count; i++) {
		if (t->ops[i].domain == domain &&
		    !(t->ops[i].flags & (KYMO_OP_ACTIVITY | KYMO_OP_OBJECT)))
			return true;
	}
	return false;
}

/* There is one name for all paradigms that OTF2 has no number for. */
static void define_paradigms(struct otf2 *w)
{
	struct archive *a = &w->archive;
	struct text unknown = {0};
	bool seen[256] = {false};

	for (uint32_t i = 1; i < w->t->domains_count; i++) {
		const struct t_domain *d = &w->t->domains[i];
		OTF2_Paradigm p = define_paradigm(d->name);

		if (p == OTF2_PARADIGM_UNKNOWN) {
			if (!has_calls(w->t, i))
				continue;
			text_addf(&unknown, "%s%s", unknown.length ? ", " : "",
				  d->title && *d->title ? d->title : d->name);
		} else if (!seen[p] && p != OTF2_PARADIGM_USER && has_calls(w->t, i)) {
			seen[p] = true;
			archive_check(
				a, OTF2_GlobalDefWriter_WriteParadigm(
					   a->defs, p, archive_string(a, d->title), class_of(p)));
		}
	}
	if (unknown.length)
		archive_check(a,
			      OTF2_GlobalDefWriter_WriteParadigm(a->defs, OTF2_PARADIGM_UNKNOWN,
								 archive_string(a, unknown.s),
								 OTF2_PARADIGM_CLASS_ACCELERATOR));
	text_release(&unknown);
}

/* ---- system tree --------------------------------------------------------------------------- */

static uint32_t node(struct otf2 *w, const char *name, const char *kind, uint32_t parent,
		     OTF2_SystemTreeDomain domain, bool *is_new)
{
	uint64_t key = hash_mix(hash_string(name), parent);
	uint64_t place = map_get(&w->node_places, key);
	struct archive *a = &w->archive;

	*is_new = !place;
	if (place)
		return (uint32_t)(place - 1);
	archive_check(a, OTF2_GlobalDefWriter_WriteSystemTreeNode(a->defs, w->node_count,
								  archive_string(a, name),
								  archive_string(a, kind), parent));
	archive_check(
		a, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(a->defs, w->node_count, domain));
	if (!map_set(&w->node_places, key, w->node_count + 1u))
		archive_check(a, OTF2_ERROR_MEM_ALLOC_FAILED);
	return w->node_count++;
}

static uint32_t host_node(struct otf2 *w, uint32_t process)
{
	const char *name = w->t->processes[process].hostname;
	bool is_new;

	return node(w, name && *name ? name : "node", "node", w->root,
		    OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY, &is_new);
}

static void node_property(struct otf2 *w, uint32_t n, const char *name, const char *value)
{
	struct archive *a = &w->archive;
	OTF2_AttributeValue v;

	if (!value || !*value)
		return;
	v.stringRef = archive_string(a, value);
	archive_check(a, OTF2_GlobalDefWriter_WriteSystemTreeNodeProperty(
				 a->defs, n, archive_string(a, name), OTF2_TYPE_STRING, v));
}

static void device_properties(struct otf2 *w, uint32_t n, const struct t_agent *a)
{
	char uuid[33] = "";

	for (int i = 0; a->has_uuid && i < 16; i++)
		snprintf(uuid + 2 * i, 3, "%02x", a->uuid[i]);
	node_property(w, n, "Type", a->type);
	node_property(w, n, "Name", a->name);
	node_property(w, n, "Vendor", a->vendor);
	node_property(w, n, "Driver", a->driver);
	node_property(w, n, "UUID", uuid);
	node_property(w, n, "Properties", a->properties);
}

/* A device that several processes see is one; parts of a device lie below it. */
uint32_t define_device(struct otf2 *w, uint32_t agent)
{
	const struct t_agent *a = &w->t->agents[agent];
	bool is_new;
	uint32_t parent;

	if (w->nodes[agent])
		return w->nodes[agent] - 1;
	parent = a->parent && a->parent < w->t->agents_count && a->parent != agent
			 ? define_device(w, a->parent)
			 : host_node(w, a->process);
	w->nodes[agent] = 1 + node(w, a->hardware && *a->hardware ? a->hardware : a->name, "device",
				   parent, OTF2_SYSTEM_TREE_DOMAIN_ACCELERATOR_DEVICE, &is_new);
	if (is_new)
		device_properties(w, w->nodes[agent] - 1, a);
	return w->nodes[agent] - 1;
}

/* ---- location groups ----------------------------------------------------------------------- */

/* What belongs to no known process has a group only where there is such. */
uint32_t define_process_group(struct otf2 *w, uint32_t process)
{
	return process ? process - 1 : define_accelerator(w, NO_PROCESS, 0);
}

/* The process that has the context; finding it may make one more group. */
static void set_creator(struct otf2 *w, uint32_t place)
{
	const struct accelerator x = w->accelerators[place];
	uint32_t process;

	if (x.agent == NO_PROCESS)
		return;
	process = x.agent ? w->t->agents[x.agent].process : w->t->contexts[x.context].process;
	w->accelerators[place].creator = define_process_group(w, process);
}

uint32_t define_accelerator(struct otf2 *w, uint32_t agent, uint32_t context)
{
	uint64_t key = (uint64_t)agent << 32 | context;
	uint64_t place = map_get(&w->accelerator_places, key);

	if (!place) {
		if (!vec_reserve(&w->accelerators, &w->accelerator_room, w->accelerator_count, 1) ||
		    !map_set(&w->accelerator_places, key, w->accelerator_count + 1u)) {
			archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
			return 0;
		}
		w->accelerators[w->accelerator_count++] = (struct accelerator){agent, context, 0};
		place = w->accelerator_count;
		set_creator(w, (uint32_t)place - 1);
	}
	return w->process_groups + (uint32_t)place - 1;
}

static void process_name(const struct t_process *p, char *out, size_t size)
{
	const char *name = p->name && *p->name ? p->name : name_program(p);

	if (p->rank != UINT32_MAX)
		snprintf(out, size, "rank %u: %s (%u)", p->rank, name, p->pid);
	else
		snprintf(out, size, "%s (%u)", name, p->pid);
}

static void group_count(struct otf2 *w, uint32_t group, const char *name, uint64_t value)
{
	struct archive *a = &w->archive;
	OTF2_AttributeValue v = {.uint64 = value};

	if (value)
		archive_check(
			a, OTF2_GlobalDefWriter_WriteLocationGroupProperty(
				   a->defs, group, archive_string(a, name), OTF2_TYPE_UINT64, v));
}

static void process_group(struct otf2 *w, uint32_t i)
{
	const struct t_process *p = &w->t->processes[i];
	struct archive *a = &w->archive;
	char name[300];

	process_name(p, name, sizeof(name));
	i--; /* its number */
	archive_check(a,
		      OTF2_GlobalDefWriter_WriteLocationGroup(
			      a->defs, i, archive_string(a, name), OTF2_LOCATION_GROUP_TYPE_PROCESS,
			      host_node(w, i + 1), OTF2_UNDEFINED_LOCATION_GROUP));
	group_count(w, i, "OTF2::KYMO::LOST_RECORDS", p->lost_records);
	group_count(w, i, "OTF2::KYMO::LOST_DEFINITIONS", p->lost_definitions);
	group_count(w, i, "OTF2::KYMO::OVERWRITTEN_RECORDS", p->overwritten_records);
	group_count(w, i, "OTF2::KYMO::DAMAGED_BLOCKS", p->damaged_blocks);
	group_count(w, i, "OTF2::KYMO::UNTRACED_CALLS", p->untraced_calls);
	group_count(w, i, "OTF2::KYMO::UNTIMED", p->untimed);
	group_count(w, i, "OTF2::KYMO::CLOCK_ERROR_NS", (uint64_t)p->clock_error_ns);
}

static void unknown_process(struct otf2 *w, uint32_t i)
{
	struct archive *a = &w->archive;

	archive_check(
		a, OTF2_GlobalDefWriter_WriteLocationGroup(a->defs, w->process_groups + i,
							   archive_string(a, "process not known"),
							   OTF2_LOCATION_GROUP_TYPE_PROCESS,
							   w->root, OTF2_UNDEFINED_LOCATION_GROUP));
}

static void accelerator_group(struct otf2 *w, uint32_t i)
{
	const struct accelerator *x = &w->accelerators[i];
	const struct t_agent *g = &w->t->agents[x->agent];
	const struct t_device_context *c = &w->t->contexts[x->context];
	struct archive *a = &w->archive;
	char name[400];

	snprintf(name, sizeof(name), "%s", g->label && *g->label ? g->label : "device not known");
	if (x->context) {
		size_t n = strlen(name);

		if (c->name && *c->name)
			snprintf(name + n, sizeof(name) - n, ", context %s", c->name);
		else
			snprintf(name + n, sizeof(name) - n, ", context 0x%llx",
				 (unsigned long long)c->handle);
	}
	archive_check(a, OTF2_GlobalDefWriter_WriteLocationGroup(
				 a->defs, w->process_groups + i, archive_string(a, name),
				 OTF2_LOCATION_GROUP_TYPE_ACCELERATOR,
				 x->agent ? define_device(w, x->agent) : w->root, x->creator));
}

/* Of threads: what was lost of their records. */
static void thread_properties(struct otf2 *w)
{
	struct archive *a = &w->archive;

	for (uint32_t i = 1; i < w->t->threads_count; i++) {
		OTF2_AttributeValue v = {.uint64 = w->t->threads[i].lost};

		if (v.uint64 && w->threads[i].count)
			archive_check(a, OTF2_GlobalDefWriter_WriteLocationProperty(
						 a->defs, w->threads[i].lanes[0].location,
						 archive_string(a, "OTF2::KYMO::LOST_RECORDS"),
						 OTF2_TYPE_UINT64, v));
	}
}

/* ---- regions ------------------------------------------------------------------------------- */

const struct role *define_role(struct otf2 *w, uint32_t op)
{
	const struct t_op *o = &w->t->ops[op];

	if (!w->op_roles[op])
		w->op_roles[op] = role_of(w->t->domains[o->domain].name, o->name);
	return w->op_roles[op];
}

/* Kymo's own records are named as what they are of: "sync events". */
uint32_t define_new_op_region(struct otf2 *w, uint32_t op)
{
	const struct t_op *o = &w->t->ops[op];
	const char *domain = w->t->domains[o->domain].name;
	bool own = o->flags & KYMO_OP_ACTIVITY && !(o->flags & KYMO_OP_TIMED);
	OTF2_Paradigm paradigm;
	const struct role *r;
	char name[200];

	paradigm = define_paradigm(domain);
	r = define_role(w, op);
	if (own && paradigm == OTF2_PARADIGM_UNKNOWN)
		paradigm = OTF2_PARADIGM_MEASUREMENT_SYSTEM;
	snprintf(name, sizeof(name), own ? "%s %s" : "%s%s", own ? domain : "", o->name);
	w->op_regions[op] =
		1 + archive_region(&w->archive, name, NULL, r ? r->role : OTF2_REGION_ROLE_UNKNOWN,
				   paradigm, r && r->device ? ON_DEVICE : ON_HOST);
	return w->op_regions[op] - 1;
}

/* ---- as a whole ---------------------------------------------------------------------------- */

static bool make_tables(struct otf2 *w)
{
	const struct trace *t = w->t;

	w->thread_count = t->threads_count;
	w->process_count = t->processes_count;
	w->queue_count = t->queues_count;
	w->agent_count = t->agents_count;
	w->threads = calloc(t->threads_count, sizeof(*w->threads));
	w->processes = calloc(t->processes_count, sizeof(*w->processes));
	w->queues = calloc(t->queues_count, sizeof(*w->queues));
	w->queue_states = calloc(t->queues_count, sizeof(*w->queue_states));
	w->agents = calloc(t->agents_count, sizeof(*w->agents));
	w->nodes = calloc(t->agents_count, sizeof(*w->nodes));
	w->op_regions = calloc(t->ops_count, sizeof(*w->op_regions));
	w->op_roles = calloc(t->ops_count, sizeof(*w->op_roles));
	w->kernel_regions = calloc(t->kernels_count, sizeof(*w->kernel_regions));
	w->name_regions = calloc(t->strings_count, sizeof(*w->name_regions));
	return w->threads && w->processes && w->queues && w->queue_states && w->agents &&
	       w->nodes && w->op_regions && w->op_roles && w->kernel_regions && w->name_regions;
}

kymo_status_t define_begin(struct otf2 *w)
{
	const char *host = w->t->hostname;
	bool is_new;

	if (!make_tables(w))
		return KYMO_ERROR_NO_MEMORY;
	w->process_groups = w->t->processes_count - 1;
	define_attributes(&w->archive);
	define_paradigms(w);
	w->root = node(w, host && *host ? host : "job", "machine", OTF2_UNDEFINED_SYSTEM_TREE_NODE,
		       OTF2_SYSTEM_TREE_DOMAIN_MACHINE, &is_new);
	for (uint32_t i = 1; i < w->t->processes_count; i++)
		host_node(w, i);
	for (uint32_t i = 1; i < w->t->agents_count; i++)
		define_device(w, i);
	return KYMO_OK;
}

/* OTF2 wants a thread in each process and a queue in each accelerator; some have memory or counters alone. */
static void complete_groups(struct otf2 *w)
{
	struct archive *a = &w->archive;
	uint32_t groups = w->process_groups + w->accelerator_count;
	bool *complete = calloc(groups + 1u, 1);

	if (!complete) {
		archive_check(a, OTF2_ERROR_MEM_ALLOC_FAILED);
		return;
	}
	for (uint32_t i = 0; i < a->location_count; i++) {
		if (a->locations[i].type != OTF2_LOCATION_TYPE_METRIC &&
		    a->locations[i].group < groups)
			complete[a->locations[i].group] = true;
	}
	for (uint32_t i = 0; i < w->process_groups; i++) {
		if (!complete[i])
			row_location(w, &w->processes[i + 1]);
	}
	for (uint32_t i = 0; i < w->accelerator_count; i++) {
		bool process = w->accelerators[i].agent == NO_PROCESS;

		if (!complete[w->process_groups + i])
			archive_location(a, process ? "no thread known" : "no queue known",
					 process ? OTF2_LOCATION_TYPE_CPU_THREAD
						 : OTF2_LOCATION_TYPE_ACCELERATOR_STREAM,
					 w->process_groups + i);
	}
	free(complete);
}

/* Locations, with the groups that they are in before and their properties after them. */
void define_end(struct otf2 *w)
{
	complete_groups(w);
	for (uint32_t i = 1; i < w->t->processes_count; i++)
		process_group(w, i);
	for (uint32_t i = 0; i < w->accelerator_count; i++) {
		if (w->accelerators[i].agent == NO_PROCESS)
			unknown_process(w, i);
		else
			accelerator_group(w, i);
	}
	archive_close_events(&w->archive);
	thread_properties(w);
}
