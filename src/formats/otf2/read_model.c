/* SPDX-License-Identifier: Apache-2.0 */
/* Locations and groups of these as processes, threads, devices and queues; ranks. See reader.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/otf2/reader.h"

enum { WORLDS_MAX = 1024, DEPTH_MAX = 64 /* of the system tree, where it is no tree */ };

/* ---- domains --------------------------------------------------------------------------------- */

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* Kymo writes the libraries that OTF2 has no number for as one: their functions tell them apart. */
static const char *domain_of_name(const char *name)
{
	static const struct {
		const char *begin, *domain;
	} list[] = {{"nccl", "nccl"},     {"pnccl", "nccl"},  {"hsa_", "hsa"},
		    {"roctx", "roctx"},   {"cudnn", "cudnn"}, {"cublas", "cublas"},
		    {"hiprtc", "hiprtc"}, {"nvrtc", "nvrtc"}, {"pthread_", "pthread"},
		    {"zes", "zes"},       {"ze", "ze"},       {"fi_", "libfabric"}};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (begins(name, list[i].begin))
			return list[i].domain;
	return "unknown";
}

const char *otf2r_domain(const struct reader *r, OTF2_Paradigm paradigm, const char *name)
{
	static const char *const domains[256] = {[OTF2_PARADIGM_USER] = "user",
						 [OTF2_PARADIGM_COMPILER] = "function",
						 [OTF2_PARADIGM_SAMPLING] = "function",
						 [OTF2_PARADIGM_OPENMP] = "openmp",
						 [OTF2_PARADIGM_MPI] = "mpi",
						 [OTF2_PARADIGM_PTHREAD] = "pthread",
						 [OTF2_PARADIGM_OPENACC] = "openacc",
						 [OTF2_PARADIGM_OPENCL] = "opencl",
						 [OTF2_PARADIGM_SHMEM] = "shmem",
						 [OTF2_PARADIGM_KOKKOS] = "kokkos",
						 [OTF2_PARADIGM_MEASUREMENT_SYSTEM] =
							 "measurement"};

	if (paradigm == OTF2_PARADIGM_CUDA)
		return begins(name, "cuda") ? "cuda_runtime" : "cuda";
	if (paradigm == OTF2_PARADIGM_HIP)
		return begins(name, "__hip") ? "hip_compiler" : "hip";
	if (domains[paradigm])
		return domains[paradigm];
	if (paradigm == OTF2_PARADIGM_UNKNOWN || paradigm == OTF2_PARADIGM_NONE)
		return domain_of_name(name);
	return r->paradigms[paradigm] && *r->paradigms[paradigm] ? r->paradigms[paradigm]
								 : "function";
}

/* ---- processes ------------------------------------------------------------------------------- */

/* "rank 3: heat (4711)" and "heat (4711)" of Kymo: what is between, and the number. */
static const char *program_of(struct reader *r, struct group_of_locations *g)
{
	const char *s = g->name, *end = strrchr(s, '('), *colon = strstr(s, ": ");

	if (!r->kymo || !end || end == s)
		return s;
	g->pid = strtoull(end + 1, NULL, 10);
	if (begins(s, "rank ") && colon && colon < end)
		s = colon + 2;
	return end - 1 > s ? trace_string(r->t, s, (size_t)(end - 1 - s)) : g->name;
}

static const char *host_of(const struct reader *r, uint32_t node)
{
	uint32_t i = otf2r_at(&r->nodes_at, node);

	for (unsigned depth = 0; i && depth < DEPTH_MAX; depth++) {
		const struct node *n = &r->nodes[i - 1];

		if (strcmp(n->class, "node") == 0 || strcmp(n->class, "machine") == 0)
			return n->name;
		i = otf2r_at(&r->nodes_at, n->parent);
	}
	return "";
}

static void define_process(struct reader *r, struct group_of_locations *g, uint32_t number)
{
	const char *program = program_of(r, g);
	uint32_t pid = g->pid && g->pid < UINT32_MAX ? (uint32_t)g->pid : number;
	struct t_process *p;

	g->process = keyed_process(&r->keyed, g->ref, pid);
	p = &r->t->processes[g->process];
	p->exe = program;
	p->hostname = host_of(r, g->node);
	make_lost(r->t, g->process, g->lost, 0);
	g->pid = pid;
}

/* Accelerators belong to the process that made them, one that is not there to the first. */
static void define_processes(struct reader *r)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < r->groups_count; i++)
		if (r->groups[i].type != OTF2_LOCATION_GROUP_TYPE_ACCELERATOR)
			define_process(r, &r->groups[i], ++number);
	if (r->t->processes_count < 2)
		keyed_process(&r->keyed, UINT64_MAX, 1);
	for (uint32_t i = 0; i < r->groups_count; i++) {
		struct group_of_locations *g = &r->groups[i];
		uint32_t c = otf2r_at(&r->groups_at, g->creator);

		if (g->type != OTF2_LOCATION_GROUP_TYPE_ACCELERATOR)
			continue;
		g->process = c ? r->groups[c - 1].process : 0;
		if (!g->process) {
			unplaced_add(&r->unplaced, "accelerators that no process made", 1);
			g->process = 1;
		}
	}
}

/* ---- devices --------------------------------------------------------------------------------- */

static const char * or (const char *a, const char *b)
{
	return a && *a ? a : b;
}

/* The group that is the device where the system tree has none above it. */
static uint32_t define_agent(struct reader *r, uint32_t process, uint32_t node, uint64_t otherwise,
			     const char *name, const char *domain)
{
	uint32_t at = otf2r_at(&r->nodes_at, node);
	const struct node *n = at && r->nodes[at - 1].device ? &r->nodes[at - 1] : NULL;
	struct t_agent a = {.type = "gpu",
			    .name = name,
			    .vendor = "",
			    .driver = "",
			    .domain = domain,
			    .platform = "",
			    .properties = "",
			    .handle = n ? node + UINT64_C(1) : otherwise};

	if (n) {
		a.type = or (n->type, a.type);
		a.name = or (n->title, n->name);
		a.vendor = or (n->vendor, "");
		a.driver = or (n->driver, "");
		a.properties = or (n->properties, "");
		a.has_uuid = n->has_uuid;
		memcpy(a.uuid, n->uuid, sizeof(a.uuid));
	}
	return keyed_agent(&r->keyed, process, a.handle, &a);
}

/* "CUDA[0:7]": a stream in the group of its process, as before accelerators had groups. */
static uint64_t device_in_name(const char *name, uint64_t otherwise)
{
	const char *at = strchr(name, '[');

	return (at ? strtoull(at + 1, NULL, 10) & UINT32_MAX : otherwise) | UINT64_C(1) << 40;
}

static const char *domain_of_place(const struct place *p)
{
	return p->domain                 ? p->domain
	       : begins(p->name, "CUDA") ? "cuda"
	       : begins(p->name, "HIP")  ? "hip"
					 : "";
}

static void define_queue(struct reader *r, struct place *p, struct group_of_locations *g)
{
	struct t_queue q = {.process = p->process,
			    .handle = p->ref + 1,
			    .domain = domain_of_place(p),
			    .name = r->kymo && begins(p->name, "queue ") ? "" : p->name};
	char name[64];

	if (g && g->type == OTF2_LOCATION_GROUP_TYPE_ACCELERATOR) {
		g->agent = define_agent(r, p->process, g->node, g->ref | UINT64_C(1) << 41, g->name,
					q.domain);
		g->context = keyed_context(&r->keyed, p->process, g->ref + UINT64_C(1), q.domain);
		q.context = g->context;
		p->agent = g->agent;
	} else {
		uint64_t key = device_in_name(p->name, 0);

		snprintf(name, sizeof(name), "device %u", (unsigned)key);
		p->agent = define_agent(r, p->process, OTF2_UNDEFINED_SYSTEM_TREE_NODE, key,
					trace_string(r->t, name, strlen(name)), q.domain);
	}
	q.agent = p->agent;
	p->queue = keyed_queue(&r->keyed, &q);
}

/* ---- locations ------------------------------------------------------------------------------- */

static void define_thread(struct reader *r, struct place *p, struct group_of_locations *g)
{
	uint32_t pid = r->t->processes[p->process].pid;
	uint32_t tid = g && !g->threads++ ? pid : (uint32_t)(p->ref + 1);

	p->thread = keyed_thread(&r->keyed, p->ref, p->process, tid);
	r->t->threads[p->thread].name = p->name;
}

/* "... (overlap 1)": what Kymo had no room for on the location of that name. */
static struct place *lane_of(struct reader *r, const struct place *p)
{
	const char *s = r->kymo ? strstr(p->name, " (overlap ") : NULL;
	size_t n = s ? (size_t)(s - p->name) : strlen(p->name);
	uint64_t key = hash_mix(hash_bytes(p->name, n), p->group), i;

	map_each(&r->lanes, key, i)
		if (s && r->places[i - 1].group == p->group && r->places[i - 1].type == p->type &&
		    strlen(r->places[i - 1].name) == n &&
		    memcmp(r->places[i - 1].name, p->name, n) == 0)
			return &r->places[i - 1];
	if (r->kymo && !s && !map_add(&r->lanes, key, (uint64_t)(p - r->places) + 1))
		r->emptied = true;
	return NULL;
}

static void define_place(struct reader *r, struct place *p)
{
	struct group_of_locations *g = p->group ? &r->groups[p->group - 1] : NULL;
	const struct place *base = lane_of(r, p);

	p->process = g ? g->process : 1;
	if (base) {
		p->thread = base->thread;
		p->queue = base->queue;
		p->agent = base->agent;
	} else if (p->type == OTF2_LOCATION_TYPE_ACCELERATOR_STREAM) {
		define_queue(r, p, g);
	} else if (p->type == OTF2_LOCATION_TYPE_METRIC) {
		if (g && g->type == OTF2_LOCATION_GROUP_TYPE_ACCELERATOR)
			p->agent = g->agent = define_agent(r, p->process, g->node,
							   g->ref | UINT64_C(1) << 41, g->name, "");
	} else {
		define_thread(r, p, g);
	}
}

/* One that no location is of may be where a transfer reads or writes. */
static void take_accelerator(struct reader *r, struct group_of_locations *g)
{
	if (g->type == OTF2_LOCATION_GROUP_TYPE_ACCELERATOR && !g->agent)
		g->agent = define_agent(r, g->process, g->node, g->ref | UINT64_C(1) << 41, g->name,
					"");
}

/* Who takes part in transfers of a paradigm is a stream of it. */
static void find_domains(struct reader *r)
{
	for (unsigned i = 0; i < 256; i++) {
		const struct members *l =
			r->locations_of[i] ? &r->lists[r->locations_of[i] - 1] : NULL;

		for (uint32_t k = 0; l && k < l->count; k++) {
			uint32_t at = otf2r_at(&r->places_at, l->list[k]);

			if (at)
				r->places[at - 1].domain = otf2r_domain(r, (OTF2_Paradigm)i, "");
		}
	}
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Location + 1. */
uint32_t otf2r_rank(const struct reader *r, uint32_t list, uint32_t rank, uint32_t self)
{
	const struct members *l = list ? &r->lists[list - 1] : NULL, *all;
	uint32_t place;

	if (!l)
		return 0;
	if (l->type == OTF2_GROUP_TYPE_COMM_SELF)
		return self;
	if (rank >= l->count)
		return 0;
	if (l->type != OTF2_GROUP_TYPE_COMM_GROUP)
		return otf2r_at(&r->places_at, l->list[rank]);
	place = r->locations_of[l->paradigm];
	all = place ? &r->lists[place - 1] : NULL;
	return all && l->list[rank] < all->count ? otf2r_at(&r->places_at, all->list[l->list[rank]])
						 : 0;
}

static void set_rank(struct reader *r, uint32_t location, uint32_t rank, uint32_t ranks,
		     const char *job)
{
	struct t_process *p = location ? &r->t->processes[r->places[location - 1].process] : NULL;

	if (!p || p->rank != UINT32_MAX)
		return;
	p->rank = rank;
	p->ranks = ranks;
	p->rank_by = "MPI";
	p->mpi = "MPI";
	p->job = job;
}

static bool is_world(const struct reader *r, const struct comm *c)
{
	return c->group && !c->inter && begins(c->name, "MPI_COMM_WORLD") &&
	       r->lists[c->group - 1].paradigm == OTF2_PARADIGM_MPI;
}

static void rank_world(struct reader *r, uint32_t list, const char *job)
{
	const struct members *l = &r->lists[list - 1];

	for (uint32_t i = 0; i < l->count; i++)
		set_rank(r, otf2r_rank(r, list, i, 0), i, l->count, job);
}

/* Several worlds are told apart by their communicators; else ranks are as the list of all has them. */
static void define_ranks(struct reader *r)
{
	uint32_t worlds = 0;
	char job[32];

	for (uint32_t i = 0; i < r->comms_count; i++)
		worlds += is_world(r, &r->comms[i]);
	if (worlds > 1 && worlds < WORLDS_MAX) {
		for (uint32_t i = 0; i < r->comms_count; i++) {
			if (!is_world(r, &r->comms[i]))
				continue;
			snprintf(job, sizeof(job), "world %u", worlds--);
			rank_world(r, r->comms[i].group, trace_string(r->t, job, strlen(job)));
		}
	}
	if (r->locations_of[OTF2_PARADIGM_MPI])
		rank_world(r, r->locations_of[OTF2_PARADIGM_MPI], "job");
}

/* ---- the whole ------------------------------------------------------------------------------- */

bool otf2r_model(struct reader *r)
{
	define_processes(r);
	find_domains(r);
	for (uint32_t i = 0; i < r->places_count; i++)
		define_place(r, &r->places[i]);
	for (uint32_t i = 0; i < r->groups_count; i++)
		take_accelerator(r, &r->groups[i]);
	define_ranks(r);
	r->largest = calloc(r->t->processes_count, sizeof(*r->largest));
	r->next = calloc(r->t->processes_count, sizeof(*r->next));
	r->scopes = calloc(r->t->processes_count, sizeof(*r->scopes));
	return r->largest && r->next && r->scopes && !r->keyed.failed && !r->emptied;
}

static void set_realtime(struct reader *r)
{
	int64_t node = otf2r_time(r, r->offset);

	if (r->realtime == OTF2_UNDEFINED_TIMESTAMP || r->realtime > INT64_MAX / 2 || node <= 0)
		return;
	for (uint32_t i = 1; i < r->t->processes_count; i++) {
		struct t_process *p = &r->t->processes[i];

		p->realtime_offset = (int64_t)r->realtime - node;
		p->start_realtime = p->start + p->realtime_offset;
	}
	r->t->started = (int64_t)(r->realtime / 1000000000u);
}

bool otf2r_complete(struct reader *r)
{
	struct trace *t = r->t;

	t->origin = r->begin;
	t->end = r->end;
	if (!otf2r_define_ops(r) || !keyed_complete(&r->keyed, t->origin, t->end))
		return false;
	set_realtime(r);
	return make_complete(t);
}
