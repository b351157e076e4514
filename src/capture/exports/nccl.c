/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL besides its calls: what they move becomes records of the domain "comm", communicators become
 * definitions. Bytes are those of the program's own buffers, as with MPI. Between ncclGroupStart()
 * and the last ncclGroupEnd() calls only say what is to be done: their records end with that call.
 * The kernels that do the work are device work like any other, of the CUDA calls inside.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "capture/exports/models.h"
#include "core/activity/comm.h"
#include "core/marker/marker.h"

enum { NCCL_OK = 0, NCCL_IN_PROGRESS = 7 }; /* the latter of communicators that do not block */
enum { UNIQUE_ID = 128 };                   /* bytes */

/* ---- arguments ---- */

enum moves {             /* what a call gives and gets, `count` elements or those of all ranks */
	     MOVES_BOTH, /* count, count */
	     MOVES_GATHER_ALL,  /* count, all */
	     MOVES_SCATTER_SUM, /* all, count */
	     MOVES_ALL,         /* all, all */
	     MOVES_FROM_ROOT,   /* the root gives, the others get */
	     MOVES_TO_ROOT,     /* all give, the root gets */
	     MOVES_GATHER,      /* all give, the root gets of all */
	     MOVES_SCATTER,     /* the root gives to all, all get */
	     MOVES_SEND,
	     MOVES_RECEIVE
};

static const struct traffic {
	char op[20], count[12], peer[8]; /* names of parameters; peer: of the root or other side */
	enum moves moves;
	unsigned record; /* COMM_OP_* */
} traffic[] = {
	{"ncclAllReduce", "count", "", MOVES_BOTH, COMM_OP_COLLECTIVE},
	{"ncclAllGather", "sendcount", "", MOVES_GATHER_ALL, COMM_OP_COLLECTIVE},
	{"ncclReduceScatter", "recvcount", "", MOVES_SCATTER_SUM, COMM_OP_COLLECTIVE},
	{"ncclAlltoAll", "count", "", MOVES_ALL, COMM_OP_COLLECTIVE},
	{"ncclBcast", "count", "root", MOVES_FROM_ROOT, COMM_OP_COLLECTIVE},
	{"ncclBroadcast", "count", "root", MOVES_FROM_ROOT, COMM_OP_COLLECTIVE},
	{"ncclReduce", "count", "root", MOVES_TO_ROOT, COMM_OP_COLLECTIVE},
	{"ncclGather", "count", "root", MOVES_GATHER, COMM_OP_COLLECTIVE},
	{"ncclScatter", "count", "root", MOVES_SCATTER, COMM_OP_COLLECTIVE},
	{"ncclSend", "count", "peer", MOVES_SEND, COMM_OP_SEND},
	{"ncclRecv", "count", "peer", MOVES_RECEIVE, COMM_OP_RECEIVE},
	{"ncclPutSignal", "count", "peer", MOVES_SEND, COMM_OP_PUT},
};
#define TRAFFIC (sizeof(traffic) / sizeof(traffic[0]))

static const struct table_model *model;
static const kymo_domain_desc_t *desc;
static const char *type_names[16]; /* by value of ncclDataType_t */
static int (*comm_count)(void *comm, int *count);
static int (*comm_rank)(void *comm, int *rank);

static uint64_t argument(const struct table_call *c, const char *name)
{
	return name ? exports_argument(model, c, name) : 0;
}

static bool succeeded(const struct table_call *c)
{
	const int32_t result = (int32_t)c->result[0];

	return result == NCCL_OK || result == NCCL_IN_PROGRESS;
}

static uint64_t bytes_of_type(uint64_t type)
{
	static const uint8_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

	return type < sizeof(bytes) ? bytes[type] : 0;
}

/* ---- communicators ---- */

struct communicator { /* one lifetime of a handle; kept for ever */
	struct communicator *next;
	void *handle; /* NULL: it is not valid any more */
	uint64_t key; /* the same in all ranks; 0: not known */
	uint32_t id, parent, splits;
	int rank, size; /* size 0: not asked yet */
	char name[128];
};

static struct communicator *communicators;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct communicator *find_communicator(const void *handle)
{
	struct communicator *c;

	pthread_mutex_lock(&lock);
	c = communicators;
	while (c && c->handle != handle)
		c = c->next;
	pthread_mutex_unlock(&lock);
	return c;
}

static void define_communicator(const struct communicator *c)
{
	char text[sizeof(c->name) + 48];

	snprintf(text, sizeof(text), "%s%sNCCL rank %d", c->name, *c->name ? ", " : "", c->rank);
	/* NCCL does not tell which processes its ranks are. */
	comm_define(&(struct comm_definition){.id = c->id,
					      .name = text,
					      .kind = COMMUNICATOR_INTRA,
					      .size = (uint32_t)c->size,
					      .parent = c->parent,
					      .key = c->key,
					      .own_rank = c->rank >= 0 ? (uint32_t)c->rank + 1 : 0,
					      .handle = (uintptr_t)c->handle});
}

static void forget_communicator(const void *handle)
{
	struct communicator *c = handle ? find_communicator(handle) : NULL;

	if (c)
		c->handle = NULL;
}

/* `like` has handle, key, parent, and size and rank where they are known. */
static struct communicator *add_communicator(const struct communicator *like, const char *name)
{
	struct communicator *c = like->handle ? malloc(sizeof(*c)) : NULL;

	if (!c)
		return NULL;
	forget_communicator(like->handle); /* destroyed by a call that was not seen */
	*c = *like;
	c->id = cap_new_id(DEF_COMMUNICATOR);
	snprintf(c->name, sizeof(c->name), "%s", name ? name : "");
	pthread_mutex_lock(&lock);
	c->next = communicators;
	communicators = c;
	pthread_mutex_unlock(&lock);
	if (c->size)
		define_communicator(c);
	return c;
}

/* Rank and size from NCCL itself, where the call that made it did not tell. */
static void query_rank_and_size(struct communicator *c)
{
	int rank = -1, size = 0;

	cap_guard_enter();
	if (comm_count && comm_rank && comm_count(c->handle, &size) == NCCL_OK && size > 0 &&
	    comm_rank(c->handle, &rank) == NCCL_OK) {
		c->size = size;
		c->rank = rank;
		define_communicator(c);
	}
	cap_guard_leave();
}

static struct communicator *communicator_of(void *handle)
{
	struct communicator *c = handle ? find_communicator(handle) : NULL;

	if (!c)
		c = add_communicator(&(struct communicator){.handle = handle}, NULL);
	if (c && !c->size)
		query_rank_and_size(c);
	return c;
}

static uint64_t key_of(const void *unique_ids, size_t count)
{
	return unique_ids ? hash_bytes(unique_ids, UNIQUE_ID * count) : 0;
}

/* The unique id is passed by value: on the stack, or (AAPCS64) as a pointer to a copy. */
static const void *unique_id(const struct table_call *c)
{
#if defined(__aarch64__)
	return (const void *)(uintptr_t)c->gp[2];
#else
	return c->stack;
#endif
}

/* A communicator's name, of configurations that are as long as to have one. */
static const char *name_in(const struct table_call *c)
{
	const char *config = (const char *)(uintptr_t)argument(c, "config");
	enum { NAME_AT = 48 };
	const char *name;
	size_t size;

	if (!config)
		return NULL;
	memcpy(&size, config, sizeof(size));
	if (size < NAME_AT + sizeof(name))
		return NULL;
	memcpy(&name, config + NAME_AT, sizeof(name));
	return name;
}

static void *handle_at(const struct table_call *c, const char *name)
{
	return (void *)(uintptr_t)argument(c, name);
}

static void made(const struct table_call *c, const char *comm, const char *rank, uint64_t key)
{
	const struct communicator like = {.handle = handle_at(c, comm),
					  .key = key,
					  .rank = (int)argument(c, rank),
					  .size = (int)argument(c, "nranks")};

	if (succeeded(c))
		add_communicator(&like, name_in(c));
}

static void after_init_rank(const struct table_call *c)
{
	made(c, "comm", "rank", key_of(unique_id(c), 1));
}

static void after_init_scalable(const struct table_call *c)
{
	made(c, "newcomm", "myrank", key_of(handle_at(c, "commIds"), argument(c, "nId")));
}

/* All ranks are of this process. */
static void after_init_all(const struct table_call *c)
{
	void *const *handles = (void *const *)(uintptr_t)c->gp[0];
	const int size = (int)argument(c, "ndev");
	const uint64_t now = tick_now(), key = hash_u64(now);

	for (int i = 0; succeeded(c) && handles && i < size; i++)
		add_communicator(
			&(struct communicator){
				.handle = handles[i], .key = key, .rank = i, .size = size},
			NULL);
}

/* Members split in the same order, so that the number of the split is the same in all. */
static void after_split(const struct table_call *c)
{
	struct communicator *parent = communicator_of(handle_at(c, "comm"));
	struct communicator like = {.handle = handle_at(c, "newcomm")};
	const uint64_t color = argument(c, "color");

	if (!succeeded(c) || !parent)
		return;
	parent->splits++;
	like.parent = parent->id;
	if (parent->key) {
		like.key = hash_mix(hash_mix(parent->key, parent->splits), color);
	}
	parent = add_communicator(&like, name_in(c));
	if (parent)
		query_rank_and_size(parent);
}

static void after_destroy(const struct table_call *c)
{
	if (succeeded(c))
		forget_communicator(handle_at(c, "comm"));
}

/* ---- transfers ---- */

struct transfer {
	struct comm_transfer t;
	struct transfer *next;
};

static _Thread_local struct {
	unsigned depth; /* of groups */
	struct transfer *first, **last;
} group;

static void amounts(const struct traffic *k, const struct communicator *c, uint64_t bytes,
		    struct comm_transfer *t)
{
	const uint64_t all = bytes * (uint64_t)(c ? c->size : 1);
	const bool root = c && c->rank == t->peer;

	switch (k->moves) {
	case MOVES_BOTH:
		t->sent = t->received = bytes;
		break;
	case MOVES_GATHER_ALL:
		t->sent = bytes;
		t->received = all;
		break;
	case MOVES_SCATTER_SUM:
		t->sent = all;
		t->received = bytes;
		break;
	case MOVES_ALL:
		t->sent = t->received = all;
		break;
	case MOVES_FROM_ROOT:
		*(root ? &t->sent : &t->received) = bytes;
		break;
	case MOVES_TO_ROOT:
		t->sent = bytes;
		t->received = root ? bytes : 0;
		break;
	case MOVES_GATHER:
		t->sent = bytes;
		t->received = root ? all : 0;
		break;
	case MOVES_SCATTER:
		t->sent = root ? all : 0;
		t->received = bytes;
		break;
	case MOVES_SEND:
		t->sent = bytes;
		break;
	case MOVES_RECEIVE:
		t->received = bytes;
		break;
	}
}

static uint32_t type_name(uint64_t type)
{
	const char *text = type < sizeof(type_names) / sizeof(type_names[0]) ? type_names[type] : 0;
	const struct marker_name *name = text ? marker_name(text) : NULL;

	return name ? name->id : 0;
}

static void later(struct comm_transfer *t)
{
	struct transfer *one = malloc(sizeof(*one));

	if (!one) {
		cap_submission_end(&t->submission);
		return;
	}
	*one = (struct transfer){*t, NULL};
	if (!group.first)
		group.last = &group.first;
	*group.last = one;
	group.last = &one->next;
}

static void after_traffic(const struct table_call *c)
{
	const char *op = desc->ops[c->slot->cap->number].name;
	const struct traffic *k = traffic;
	const struct communicator *comm;
	struct comm_transfer t = {.peer = -1, .tag = -1, .has_submission = true};
	uint64_t type;

	while (strcmp(k->op, op) != 0)
		k++;
	t.op = k->record;
	if (!succeeded(c) || !cap_submission_take(&t.submission, c->frame, &comm_ops[t.op], NULL))
		return;
	comm = communicator_of(handle_at(c, "comm"));
	type = argument(c, "datatype");
	if (*k->peer)
		t.peer = (int32_t)argument(c, k->peer);
	t.excluded = atomic_load_explicit(&c->frame->op->excluded, memory_order_relaxed);
	t.correlation = t.submission.call;
	t.communicator = comm ? comm->id : 0;
	t.start = c->frame->start;
	t.datatype = type_name(type);
	amounts(k, comm, argument(c, k->count) * bytes_of_type(type), &t);
	if (group.depth)
		later(&t);
	else
		comm_write(&t, c->frame->end);
}

static void after_group_start(const struct table_call *c)
{
	if (succeeded(c))
		group.depth++;
}

/* What a group that failed was to do has not been done. */
static void after_group_end(const struct table_call *c)
{
	const bool ok = succeeded(c);
	struct transfer *next;

	if (group.depth && --group.depth)
		return;
	for (struct transfer *t = group.first; t; t = next) {
		next = t->next;
		t->t.completed_by = c->frame->id;
		if (ok)
			comm_write(&t->t, c->frame->end);
		else
			cap_submission_end(&t->t.submission);
		free(t);
	}
	group.first = NULL;
}

/* ---- start ---- */

/* Communicators and groups are followed always: who listens later would not know them. */
static bool needed(const char *op)
{
	return strncmp(op, "ncclComm", 8) == 0 || strncmp(op, "ncclGroup", 9) == 0 || comm_wanted();
}

static void fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void types_find(void)
{
	for (uint32_t i = 0; i < desc->op_count; i++) {
		const kymo_op_desc_t *op = &desc->ops[i];

		for (unsigned k = 0; k < op->field_count; k++) {
			const kymo_enum_set_t *set = op->fields[k].set;

			if (!set || strcmp(set->name, "ncclDataType_t") != 0)
				continue;
			for (uint32_t v = 0; v < set->count; v++)
				if (set->values[v].value >= 0 && set->values[v].value < 12 &&
				    !type_names[set->values[v].value])
					type_names[set->values[v].value] = set->values[v].name;
			return;
		}
	}
}

void exports_nccl_prepare(struct table_model *m, void *const *entries)
{
	static const struct table_after others[] = {
		{"ncclGroupStart", after_group_start},
		{"ncclGroupEnd", after_group_end},
		{"ncclCommInitRank", after_init_rank},
		{"ncclCommInitRankConfig", after_init_rank},
		{"ncclCommInitRankScalable", after_init_scalable},
		{"ncclCommInitAll", after_init_all},
		{"ncclCommSplit", after_split},
		{"ncclCommShrink", after_split},
		{"ncclCommGrow", after_split},
		{"ncclCommDestroy", after_destroy},
		{"ncclCommAbort", after_destroy},
	};
	enum { OTHERS = sizeof(others) / sizeof(others[0]) };
	static struct table_after after[TRAFFIC + OTHERS + 1];

	model = m;
	desc = m->desc;
	for (unsigned i = 0; i < TRAFFIC; i++)
		after[i] = (struct table_after){traffic[i].op, after_traffic};
	memcpy(&after[TRAFFIC], others, sizeof(others));
	exports_function(m, entries, "ncclCommCount", &comm_count);
	exports_function(m, entries, "ncclCommUserRank", &comm_rank);
	types_find();
	pthread_atfork(NULL, NULL, fork_child);
	comm_register();
	m->after = after;
	m->keep_after = true;
	m->needed = needed;
}
