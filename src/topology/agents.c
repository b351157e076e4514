/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine of this process: read when somebody first asks for agents. What runtimes report
 * before that is kept and merged then, so that tracing alone never looks at the machine.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/locks.h"
#include "topology/model.h"

/* ---- reading ---- */

struct topo *topo_read(const char *root, bool with_hwloc)
{
	struct topo *t = calloc(1, sizeof(*t));

	if (!t || strlen(root) >= sizeof(t->root)) {
		free(t);
		return NULL;
	}
	strcpy(t->root, root);
	topo_read_cpus(t, with_hwloc && !*root);
	topo_read_pci(t);
	topo_read_drm(t);
	topo_read_accel(t);
	topo_read_kfd(t);
	topo_read_nvidia(t);
	topo_read_nics(t);
	topo_read_names(t);
	for (uint32_t i = 0; i < t->count; i++)
		topo_publish(t, t->agents[i]);
	if (t->lost)
		topo_source_add(t, "limits", KYMO_ERROR_LIMIT,
				"%u agents, or parts of their descriptions, are more than is kept",
				t->lost);
	if (!t->no_memory)
		return t;
	topo_free(t);
	return NULL;
}

size_t topo_agent_count(const struct topo *t)
{
	return atomic_load_explicit(&t->count, memory_order_acquire);
}

/* NULL: being made just now. */
const kymo_agent_t *topo_agent(const struct topo *t, size_t index)
{
	if (index >= topo_agent_count(t))
		return NULL;
	return atomic_load_explicit(&t->agents[index]->current, memory_order_acquire);
}

size_t topo_source_count(const struct topo *t)
{
	return t->sources;
}

const kymo_agent_source_t *topo_source(const struct topo *t, size_t index)
{
	return index < t->sources ? &t->source[index] : NULL;
}

/* ---- reports before anybody asked ---- */

/* A report or, with `retire`, the end of one. Its texts follow it. */
struct pending {
	struct pending *next;
	bool retire;
	struct core_agent_report r;
	char texts[];
};

static struct pending *pending_first, **pending_end = &pending_first;
static uint32_t pending_count;

static const char *put_text(char **at, const char *s)
{
	char *copy = *at;

	if (!s)
		return NULL;
	*at += strlen(s) + 1;
	return strcpy(copy, s);
}

static size_t room_for(const char *s)
{
	return s ? strlen(s) + 1 : 0;
}

static kymo_status_t keep_report(const struct core_agent_report *r, bool retire)
{
	struct pending *p;
	char *at;

	if (pending_count == TOPO_RECORDS)
		return KYMO_ERROR_LIMIT;
	p = malloc(sizeof(*p) + room_for(r->domain) + room_for(r->platform) + room_for(r->name) +
		   room_for(r->vendor) + room_for(r->partition) + r->uuid_bytes);
	if (!p)
		return KYMO_ERROR_NO_MEMORY;
	at = p->texts;
	p->next = NULL;
	p->retire = retire;
	p->r = *r;
	p->r.domain = put_text(&at, r->domain);
	p->r.platform = put_text(&at, r->platform);
	p->r.name = put_text(&at, r->name);
	p->r.vendor = put_text(&at, r->vendor);
	p->r.partition = put_text(&at, r->partition);
	p->r.uuid = r->uuid ? memcpy(at, r->uuid, r->uuid_bytes) : NULL;
	*pending_end = p;
	pending_end = &p->next;
	pending_count++;
	return KYMO_OK;
}

static void merge_pending(struct topo *t)
{
	struct pending *next;

	for (struct pending *p = pending_first; p; p = next) {
		next = p->next;
		if (p->retire)
			topo_retire(t, p->r.domain, p->r.handle);
		else
			topo_report(t, &p->r, NULL);
		free(p);
	}
	pending_first = NULL;
	pending_end = &pending_first;
	pending_count = 0;
}

/* ---- the one machine ---- */

static _Atomic(struct topo *) machine;
static pthread_mutex_t plain_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *lock = &plain_lock;
static pthread_once_t lock_once = PTHREAD_ONCE_INIT;

/* In memory that a forked child sees as zero: there the lock is free whoever held it. */
static void make_lock(void)
{
	void *p = mmap(NULL, sizeof(*lock), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p != MAP_FAILED && madvise(p, sizeof(*lock), MADV_WIPEONFORK) == 0)
		lock = p;
}

static void take_lock(void) ACQUIRES(*lock)
{
	pthread_once(&lock_once, make_lock);
	pthread_mutex_lock(lock);
}

/* Reads the machine if nobody has; without the lock, for hwloc is foreign code. */
static struct topo *the_machine(void)
{
	struct topo *t = atomic_load_explicit(&machine, memory_order_acquire), *fresh;
	int saved = errno;

	if (t)
		return t;
	fresh = topo_read("", true);
	take_lock();
	t = atomic_load_explicit(&machine, memory_order_relaxed);
	if (!t && fresh) {
		merge_pending(fresh);
		atomic_store_explicit(&machine, fresh, memory_order_release);
		t = fresh;
		fresh = NULL;
	}
	pthread_mutex_unlock(lock);
	topo_free(fresh);
	errno = saved;
	return t;
}

kymo_status_t core_agent_report(const struct core_agent_report *r, uint32_t *id)
{
	struct topo *t;
	kymo_status_t status;
	int saved = errno;

	if (!r || !r->domain || !*r->domain || r->type < KYMO_AGENT_CPU ||
	    r->type > KYMO_AGENT_OTHER)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (id && !the_machine())
		return KYMO_ERROR_NO_MEMORY;
	take_lock();
	t = atomic_load_explicit(&machine, memory_order_relaxed);
	status = t ? topo_report(t, r, id) : keep_report(r, false);
	pthread_mutex_unlock(lock);
	errno = saved;
	return status;
}

void core_agent_retire(const char *domain, uint64_t handle)
{
	struct core_agent_report r = CORE_AGENT_REPORT_INIT;
	struct topo *t;
	int saved = errno;

	r.domain = domain;
	r.handle = handle;
	take_lock();
	t = atomic_load_explicit(&machine, memory_order_relaxed);
	if (t)
		topo_retire(t, domain, handle);
	else
		keep_report(&r, true);
	pthread_mutex_unlock(lock);
	errno = saved;
}

/* ---- for tools ---- */

const char *kymo_agent_type_name(kymo_agent_type_t type)
{
	static const char *const names[] = {NULL,          "cpu",  "gpu", "npu",
					    "accelerator", "fpga", "nic", "other"};

	return (unsigned)type < sizeof(names) / sizeof(names[0]) ? names[type] : NULL;
}

kymo_status_t kymo_agents(kymo_agent_fn callback, void *data)
{
	struct topo *t;
	kymo_status_t status = KYMO_OK;

	if (!callback)
		return KYMO_ERROR_INVALID_ARGUMENT;
	t = the_machine();
	if (!t)
		return KYMO_ERROR_NO_MEMORY;
	for (size_t i = 0, n = topo_agent_count(t); i < n && status == KYMO_OK; i++) {
		const kymo_agent_t *a = topo_agent(t, i);

		if (a)
			status = callback(a, data);
	}
	return status;
}

static kymo_status_t found(const kymo_agent_t *a, const kymo_agent_t **out)
{
	if (!a)
		return KYMO_ERROR_NOT_FOUND;
	*out = a;
	return KYMO_OK;
}

kymo_status_t kymo_agent_find(uint32_t id, const kymo_agent_t **out)
{
	struct topo *t;

	if (!out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	t = the_machine();
	if (!t)
		return KYMO_ERROR_NO_MEMORY;
	return found(id ? topo_agent(t, id - 1) : NULL, out);
}

kymo_status_t kymo_agent_find_record(uint32_t record, const kymo_agent_t **out)
{
	struct topo *t;

	if (!out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	t = the_machine();
	if (!t)
		return KYMO_ERROR_NO_MEMORY;
	return found(topo_find_record(t, record), out);
}

kymo_status_t kymo_agent_sources(kymo_agent_source_fn callback, void *data)
{
	struct topo *t;
	kymo_status_t status = KYMO_OK;

	if (!callback)
		return KYMO_ERROR_INVALID_ARGUMENT;
	t = the_machine();
	if (!t)
		return KYMO_ERROR_NO_MEMORY;
	for (size_t i = 0; i < topo_source_count(t) && status == KYMO_OK; i++)
		status = callback(topo_source(t, i), data);
	return status;
}
