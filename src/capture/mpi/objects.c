/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators, windows, files and datatypes: what is behind a handle. Looked up without a lock by
 * every call that moves bytes; asked of the implementation once for each lifetime of a handle.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/locks.h"
#include "capture/mpi/backend.h"
#include "core/marker/marker.h"

#define RUNS 4096u /* of members that a definition holds */

/* ---- handle to value ------------------------------------------------------------------------ */

struct mpi_map mpi_maps[3], mpi_types;  /* maps: by enum mpi_object */
static struct mpi_map messages, probes; /* of messages: communicator, call that took them */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Caller holds `lock`. No handle that stands for anything is 0. */
static void map_set(struct mpi_map *m, uint64_t handle, uintptr_t value)
{
	struct mpi_node *first = &m->buckets[mpi_map_bucket(handle)], *n = mpi_map_find(m, handle);

	if (n && handle) {
		atomic_store_explicit(&n->value, value, memory_order_release);
	} else if (handle && !atomic_load_explicit(&first->handle, memory_order_relaxed)) {
		atomic_store_explicit(&first->value, value, memory_order_relaxed);
		atomic_store_explicit(&first->handle, handle, memory_order_release);
	} else if (handle && (n = malloc(sizeof(*n)))) {
		atomic_init(&n->handle, handle);
		atomic_init(&n->value, value);
		atomic_init(&n->next, atomic_load(&first->next));
		atomic_store_explicit(&first->next, n, memory_order_release);
	}
}

static void map_forget(struct mpi_map *m, uint64_t handle)
{
	struct mpi_node *n = mpi_map_find(m, handle);

	if (n)
		atomic_store(&n->value, 0);
}

/* ---- members -------------------------------------------------------------------------------- */

struct group {
	struct mpi_members m;
	struct group *next;
	uint32_t instances; /* communicators that had these members, to number them */
};
static struct group *groups GUARDED_BY(lock); /* under `lock` */

static uint64_t hash_members(const uint32_t *world, uint32_t count)
{
	return hash_bytes(world, count * sizeof(*world));
}

static bool identity(const uint32_t *world, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (world[i] != i)
			return false;
	return true;
}

/* Takes `world` over. Caller holds `lock`. */
static struct group *intern(uint32_t *world, uint32_t count) REQUIRES(lock)
{
	uint64_t hash = hash_members(world, count);
	struct group *g;

	kymo_assert_held(&lock);
	for (g = groups; g; g = g->next)
		if (g->m.hash == hash && g->m.count == count) {
			free(world);
			return g;
		}
	g = calloc(1, sizeof(*g));
	if (!g) {
		free(world);
		return NULL;
	}
	if (identity(world, count)) {
		free(world);
		world = NULL;
	}
	g->m = (struct mpi_members){count, world, hash};
	g->next = groups;
	groups = g;
	return g;
}

/* Asks the implementation; no lock is held. */
static uint32_t *ask_members(enum mpi_object what, uint64_t handle, bool remote, int count)
{
	uint32_t *world = count > 0 ? malloc((size_t)count * sizeof(*world)) : NULL;

	if (world && !mpi_module->members(what, handle, remote, world, count)) {
		free(world);
		world = NULL;
	}
	return world;
}

/* ---- definitions ---------------------------------------------------------------------------- */

struct run { /* ranks first, first + stride, ... */
	uint32_t first, count;
	int32_t stride;
};

/* Members as runs; returns how many there are, at most RUNS. */
static uint32_t runs_of(const struct mpi_members *m, struct run *out)
{
	uint32_t n = 0;

	if (!m->world) {
		out[0] = (struct run){0, m->count, 1};
		return m->count ? 1 : 0;
	}
	for (uint32_t i = 0; i < m->count && n < RUNS; n++) {
		struct run r = {m->world[i], 1, 1};

		if (i + 1 < m->count)
			r.stride = (int32_t)(m->world[i + 1] - m->world[i]);
		while (++i < m->count && m->world[i] - m->world[i - 1] == (uint32_t)r.stride)
			r.count++;
		out[n] = r;
	}
	return n;
}

static void define_object(const struct mpi_comm *c, enum mpi_object what, uint64_t handle,
			  uint32_t parent, const char *name)
{
	struct run *runs = malloc(2 * RUNS * sizeof(*runs));
	uint32_t n = runs && c->local ? runs_of(c->local, runs) : 0;
	uint32_t m = runs && c->remote ? runs_of(c->remote, runs + RUNS) : 0;

	comm_define(&(struct comm_definition){
		.id = c->id,
		.name = name,
		.kind = what != MPI_OBJECT_COMM
				? (what == MPI_OBJECT_WINDOW ? COMMUNICATOR_WINDOW
							     : COMMUNICATOR_FILE)
				: (c->remote ? COMMUNICATOR_INTER : COMMUNICATOR_INTRA),
		.size = c->local ? c->local->count : 0,
		.members = runs,
		.members_bytes = n * sizeof(*runs),
		.parent = parent,
		.key = c->job_key,
		.handle = handle,
		.remote_size = c->remote ? c->remote->count : 0,
		.remote_members = runs ? runs + RUNS : NULL,
		.remote_members_bytes = m * sizeof(*runs)});
	free(runs);
}

/* ---- communicators -------------------------------------------------------------------------- */

/*
 * `made`: in the call that made it. Members make communicators in the same order, so that counting them
 * gives one the same key in all; one that is met later (MPI_Comm_idup) is not counted and has no key,
 * unless nobody else is in it.
 */
static const struct mpi_comm *learn(enum mpi_object what, uint64_t handle, uint32_t parent,
				    bool made)
{
	struct mpi_object_info info;
	struct group *local = NULL, *remote = NULL;
	uint32_t *world, *there = NULL;
	struct mpi_comm *c;

	if (!mpi_module->query(what, handle, &info) || info.size <= 0)
		return NULL;
	world = ask_members(what, handle, false, info.size);
	if (info.remote > 0)
		there = ask_members(what, handle, true, info.remote);
	c = calloc(1, sizeof(*c));
	if (!c || !world) {
		free(c);
		free(world);
		free(there);
		return NULL;
	}
	pthread_mutex_lock(&lock);
	local = intern(world, (uint32_t)info.size);
	if (there)
		remote = intern(there, (uint32_t)info.remote);
	c->id = cap_new_id(DEF_COMMUNICATOR);
	c->rank = info.rank;
	c->local = local ? &local->m : NULL;
	c->remote = remote ? &remote->m : NULL;
	if (local && (made || (local->m.count == 1 && !remote)))
		c->job_key = (local->m.hash ^ (remote ? remote->m.hash : 0)) + local->instances++;
	pthread_mutex_unlock(&lock);
	define_object(c, what, handle, parent, info.name); /* before others may refer to it */
	pthread_mutex_lock(&lock);
	map_set(&mpi_maps[what], handle, (uintptr_t)c);
	pthread_mutex_unlock(&lock);
	return c;
}

static const struct mpi_comm *find_or_learn(enum mpi_object what, uint64_t handle, uint32_t parent,
					    bool made)
{
	const struct mpi_comm *c = (const struct mpi_comm *)mpi_map_get(&mpi_maps[what], handle);

	if (c)
		return c;
	if (what == MPI_OBJECT_COMM && handle == mpi_module->comm_null)
		return NULL;
	cap_guard_enter();
	c = learn(what, handle, parent, made);
	cap_guard_leave();
	return c;
}

const struct mpi_comm *mpi_comm_learn(enum mpi_object what, uint64_t handle)
{
	return find_or_learn(what, handle, 0, false);
}

void mpi_comm_made(enum mpi_object what, uint64_t handle, uint32_t parent)
{
	find_or_learn(what, handle, parent, true);
}

void mpi_comm_forget(enum mpi_object what, uint64_t handle)
{
	map_forget(&mpi_maps[what], handle);
}

void mpi_comm_named(enum mpi_object what, uint64_t handle)
{
	const struct mpi_comm *c = mpi_comm_of(what, handle);
	struct mpi_object_info info;

	cap_guard_enter();
	if (c && mpi_module->query(what, handle, &info))
		define_object(c, what, handle, 0, info.name);
	cap_guard_leave();
}

/* ---- messages ------------------------------------------------------------------------------- */

void mpi_message_put(uint64_t handle, const struct mpi_comm *comm, uint64_t probe)
{
	pthread_mutex_lock(&lock);
	map_set(&messages, handle, (uintptr_t)comm);
	map_set(&probes, handle, probe);
	pthread_mutex_unlock(&lock);
}

uintptr_t mpi_message_take(uint64_t handle, uint64_t *probe)
{
	uintptr_t comm = mpi_map_get(&messages, handle);

	*probe = mpi_map_get(&probes, handle);
	map_forget(&messages, handle);
	map_forget(&probes, handle);
	return comm;
}

/* ---- datatypes ------------------------------------------------------------------------------ */

static uint32_t name_of_type(uint64_t handle)
{
	const struct marker_name *name;
	char text[128];

	mpi_module->type_name(handle, text);
	name = *text ? marker_name(text) : NULL;
	return name && name->id < 1u << 24 ? name->id : 0;
}

uintptr_t mpi_type_learn(uint64_t handle)
{
	uintptr_t value;
	int64_t size;

	cap_guard_enter();
	size = mpi_module->type_size(handle);
	value = size < 0 || (uint64_t)size + 1 >= 1ull << MPI_SIZE_BITS ? 1 : (uintptr_t)size + 1;
	value |= (uintptr_t)name_of_type(handle) << MPI_SIZE_BITS;
	cap_guard_leave();
	pthread_mutex_lock(&lock);
	map_set(&mpi_types, handle, value);
	pthread_mutex_unlock(&lock);
	return value;
}

void mpi_type_forget(uint64_t handle)
{
	map_forget(&mpi_types, handle);
}

void mpi_objects_fork_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
