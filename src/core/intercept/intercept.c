/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The intercept service: tables, who listens for them, and the wrappers chained into entries. One
 * lock guards the lists; sources and tools are called without it. Of an entry only its head is
 * published to the source, which reads it under a lock of its own: whoever comes last stores
 * what is valid then.
 */
#include "core/intercept/intercept.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/locks.h"
#include "core/process/process.h"

/* A wrapper of an entry; the outermost comes first. */
struct link {
	struct link *inner;
	uint64_t id;
	void *wrapper;
	void **next;
};

/* An entry that is, or was, chained. */
struct entry {
	struct entry *after;
	uint32_t index;
	void *function; /* innermost */
	void *_Atomic head;
	struct link *links;
};

struct table {
	struct table *after; /* in order of their ids */
	uint32_t holders;
	bool gone;
	kymo_table_info_t info;
	const struct intercept_source *source;
	void *data;
	struct entry *entries;
};

struct listener {
	struct listener *after;
	uint32_t holders;
	bool stopped;
	uint64_t id;
	uint64_t told; /* of all tables up to this one */
	char *domain;  /* NULL: any */
	kymo_table_fn callback;
	void *data;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static struct table *tables;
static struct listener *listeners;
static uint64_t last_id;

static void take_lock(void) ACQUIRES(lock)
{
	pthread_mutex_lock(&lock);
}

static void drop_lock(void) RELEASES(lock)
{
	pthread_mutex_unlock(&lock);
}

static void prepare(void)
{
	pthread_atfork(take_lock, drop_lock, drop_lock);
}

/* ---- tables; the lock is held ---- */

static struct table *table_find(uint64_t id)
{
	struct table *t = tables;

	while (t && t->info.table.handle != id)
		t = t->after;
	return t && !t->gone ? t : NULL;
}

static void table_append(struct table *t)
{
	struct table **at = &tables;

	while (*at)
		at = &(*at)->after;
	*at = t;
}

static struct entry *entry_find(struct table *t, uint32_t index)
{
	struct entry *e = t->entries;

	while (e && e->index != index)
		e = e->after;
	return e;
}

static void table_free(struct table *t)
{
	struct entry *e, *after;

	for (e = t ? t->entries : NULL; e; e = after) {
		after = e->after;
		free(e);
	}
	free(t);
}

/* Held by the list too. Returns what is to be freed. */
static struct table *table_put(struct table *t)
{
	struct table **at = &tables;

	if (--t->holders)
		return NULL;
	while (*at != t)
		at = &(*at)->after;
	*at = t->after;
	return t;
}

/* A table that is there, held; NULL: stale. Takes and drops the lock. */
static struct table *table_hold(uint64_t id)
{
	struct table *t;

	take_lock();
	t = table_find(id);
	if (t)
		t->holders++;
	drop_lock();
	return t;
}

static void table_let_go(struct table *t)
{
	take_lock();
	t = table_put(t);
	drop_lock();
	table_free(t);
}

/* ---- listeners ---- */

static struct listener *listener_put(struct listener *l)
{
	struct listener **at = &listeners;

	if (--l->holders)
		return NULL;
	while (*at != l)
		at = &(*at)->after;
	*at = l->after;
	return l;
}

static void listener_free(struct listener *l)
{
	if (l)
		free(l->domain);
	free(l);
}

static bool interested(const struct listener *l, const struct table *t)
{
	return !l->stopped && (!l->domain || strcmp(l->domain, t->info.domain->name) == 0);
}

/* The next table that a listener has not been told of. The lock is held. */
static struct table *next_untold(struct listener *l)
{
	for (struct table *t = tables; t && !l->stopped; t = t->after) {
		if (t->info.table.handle <= l->told || t->gone)
			continue;
		l->told = t->info.table.handle;
		if (interested(l, t))
			return t;
	}
	return NULL;
}

/* Calls a tool; what it calls of traced runtimes passes by untraced. */
static void notify_listener(struct listener *l, kymo_table_event_t event,
			    const kymo_table_info_t *info)
{
	int saved = errno;

	cap_guard_enter();
	l->callback(event, info, l->data);
	cap_guard_leave();
	errno = saved;
}

/* Tells everybody of everything that is new; several threads share the work. */
static void tell_all(void)
{
	kymo_table_info_t info;
	struct listener *l, *done;

	take_lock();
	for (l = listeners; l;) {
		struct table *t = next_untold(l);

		if (!t) {
			l = l->after;
			continue;
		}
		info = t->info;
		l->holders++;
		drop_lock();
		notify_listener(l, KYMO_TABLE_HERE, &info);
		take_lock();
		done = listener_put(l);
		if (done) {
			listener_free(done);
			l = listeners; /* from the start: the place in the list is gone */
		}
	}
	drop_lock();
}

/* Those that were told it is here. `t` is held and gone already. */
static void tell_gone(struct table *t)
{
	struct listener *l, *next, *done;

	take_lock();
	for (l = listeners; l; l = next) {
		if (l->told < t->info.table.handle || !interested(l, t)) {
			next = l->after;
			continue;
		}
		l->holders++;
		drop_lock();
		notify_listener(l, KYMO_TABLE_GONE, &t->info);
		take_lock();
		next = l->after; /* stays in the list while it is held */
		done = listener_put(l);
		listener_free(done);
	}
	drop_lock();
}

kymo_status_t kymo_intercept_listen(const char *domain, kymo_table_fn callback, void *data,
				    kymo_listener_t *out)
{
	struct listener *l, **at = &listeners;

	if (!callback || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	pthread_once(&prepared, prepare);
	l = calloc(1, sizeof(*l));
	if (l && domain)
		l->domain = strdup(domain);
	if (!l || (domain && !l->domain)) {
		free(l);
		return KYMO_ERROR_NO_MEMORY;
	}
	l->holders = 1;
	l->callback = callback;
	l->data = data;
	take_lock();
	out->handle = l->id = ++last_id;
	while (*at)
		at = &(*at)->after;
	*at = l;
	drop_lock();
	tell_all();
	return KYMO_OK;
}

kymo_status_t kymo_intercept_ignore(kymo_listener_t listener)
{
	struct listener *l, *done = NULL;

	take_lock();
	for (l = listeners; l && (l->id != listener.handle || l->stopped);)
		l = l->after;
	if (l) {
		l->stopped = true;
		done = listener_put(l);
	}
	drop_lock();
	listener_free(done);
	return l ? KYMO_OK : KYMO_ERROR_NOT_FOUND;
}

/* ---- the backends' side ---- */

uint64_t intercept_add(const kymo_table_info_t *info, const struct intercept_source *source,
		       void *data)
{
	struct table *t = calloc(1, sizeof(*t));
	uint64_t id;

	if (!t)
		return 0;
	pthread_once(&prepared, prepare);
	t->holders = 1;
	t->info = *info;
	t->info.size = sizeof(t->info);
	t->source = source;
	t->data = data;
	take_lock();
	id = t->info.table.handle = ++last_id;
	table_append(t);
	drop_lock();
	tell_all();
	return id;
}

static void links_free(struct link *l)
{
	struct link *inner;

	for (; l; l = inner) {
		inner = l->inner;
		free(l);
	}
}

void intercept_gone(uint64_t table)
{
	struct table *t = table_hold(table);

	if (!t)
		return;
	take_lock();
	t->gone = true; /* nobody chains any more */
	for (struct entry *e = t->entries; e; e = e->after) {
		atomic_store(&e->head, e->function);
		links_free(e->links);
		e->links = NULL;
	}
	drop_lock();
	/* Entries are only added while the table is not gone. */
	for (struct entry *e = t->entries; e; e = e->after)
		t->source->store(t->data, e->index, &e->head);
	tell_gone(t);
	table_let_go(t);
	table_let_go(t); /* the list's */
}

bool intercept_leads_to(uint64_t table, uint32_t index, const void *function)
{
	struct entry *e;
	struct table *t;
	bool same;

	take_lock();
	t = table_find(table);
	e = t ? entry_find(t, index) : NULL;
	same = e && e->function == function;
	drop_lock();
	return same;
}

/* ---- the tools' side ---- */

kymo_status_t kymo_intercept_find(kymo_table_t table, const char *op, uint32_t *index)
{
	const kymo_domain_desc_t *d;
	kymo_table_info_t info;
	struct table *t;

	if (!op || !index)
		return KYMO_ERROR_INVALID_ARGUMENT;
	t = table_hold(table.handle);
	if (!t)
		return KYMO_ERROR_NOT_FOUND;
	info = t->info;
	table_let_go(t);
	d = info.domain;
	for (uint32_t i = 0; i < info.known && i < info.entries; i++) {
		if (info.first_op + i < d->op_count &&
		    strcmp(d->ops[info.first_op + i].name, op) == 0) {
			*index = i;
			return KYMO_OK;
		}
	}
	return KYMO_ERROR_NOT_FOUND;
}

/* Where an entry leads to, whoever chained it. */
static kymo_status_t read_entry(struct table *t, uint32_t index, void **function)
{
	if (index >= t->info.entries)
		return KYMO_ERROR_INVALID_ARGUMENT;
	*function = t->source->read(t->data, index);
	return *function ? KYMO_OK : KYMO_ERROR_UNSUPPORTED;
}

kymo_status_t kymo_intercept_read(kymo_table_t table, uint32_t index, void **function)
{
	kymo_status_t status;
	void *found = NULL;
	struct table *t;

	if (!function)
		return KYMO_ERROR_INVALID_ARGUMENT;
	t = table_hold(table.handle);
	if (!t)
		return KYMO_ERROR_NOT_FOUND;
	status = read_entry(t, index, &found);
	table_let_go(t);
	if (status == KYMO_OK)
		*function = found;
	return status;
}

/* The lock is held. */
static bool next_in_use(void **next)
{
	for (struct table *t = tables; t; t = t->after)
		for (struct entry *e = t->entries; e; e = e->after)
			for (struct link *l = e->links; l; l = l->inner)
				if (l->next == next)
					return true;
	return false;
}

static void next_store(void **next, void *function)
{
	__atomic_store_n(next, function, __ATOMIC_RELEASE);
}

/* The entry's, which is `fresh` if it had none. The lock is held. */
static struct entry *entry_get(struct table *t, struct entry **fresh)
{
	struct entry *e = entry_find(t, (*fresh)->index);

	if (e)
		return e;
	e = *fresh;
	*fresh = NULL;
	e->after = t->entries;
	t->entries = e;
	return e;
}

/* Puts `l` in front. `fresh` and `l` become NULL where they are used. The lock is held. */
static kymo_status_t put_in_front(struct table *t, struct entry **fresh, struct link **link,
				  struct entry **out)
{
	struct link *l = *link;
	struct entry *e;

	if (t->gone)
		return KYMO_ERROR_NOT_FOUND;
	if (next_in_use(l->next))
		return KYMO_ERROR_EXISTS;
	e = entry_get(t, fresh);
	*link = NULL;
	l->id = ++last_id;
	l->inner = e->links;
	e->links = l;
	next_store(l->next, l->inner ? l->inner->wrapper : e->function);
	atomic_store(&e->head, l->wrapper);
	*out = e;
	return KYMO_OK;
}

static kymo_status_t chain_entry(struct table *t, struct entry *fresh, struct link *l,
				 kymo_chain_t *out)
{
	kymo_status_t status = KYMO_ERROR_NO_MEMORY;
	struct entry *e = NULL;

	if (fresh && l) {
		struct link *link = l;

		take_lock();
		status = put_in_front(t, &fresh, &l, &e);
		if (status == KYMO_OK)
			out->handle = link->id;
		drop_lock();
	}
	free(fresh);
	free(l);
	if (status == KYMO_OK)
		t->source->store(t->data, e->index, &e->head);
	return status;
}

kymo_status_t kymo_intercept_chain(kymo_table_t table, uint32_t index, void *wrapper, void **next,
				   kymo_chain_t *out)
{
	void *function = NULL;
	kymo_status_t status;
	struct entry *fresh;
	struct link *l;
	struct table *t;

	if (!wrapper || !next || !out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	t = table_hold(table.handle);
	if (!t)
		return KYMO_ERROR_NOT_FOUND;
	status = read_entry(t, index, &function);
	if (status == KYMO_OK) {
		fresh = calloc(1, sizeof(*fresh));
		l = calloc(1, sizeof(*l));
		/* If somebody chained before, the entry is known and this one is not used. */
		if (fresh) {
			fresh->index = index;
			fresh->function = function;
		}
		if (l) {
			l->wrapper = wrapper;
			l->next = next;
		}
		status = chain_entry(t, fresh, l, out);
	}
	table_let_go(t);
	return status;
}

/* Where the link hangs; NULL: nowhere. The lock is held. */
static struct link **link_find(uint64_t id, struct table **table, struct entry **entry)
{
	for (struct table *t = tables; t; t = t->after) {
		for (struct entry *e = t->entries; e; e = e->after) {
			struct link **at = &e->links;

			while (*at && (*at)->id != id)
				at = &(*at)->inner;
			if (!*at)
				continue;
			*table = t;
			*entry = e;
			return at;
		}
	}
	return NULL;
}

/* The link outside of `inner` leads to what it led to. The lock is held. */
static void take_out(struct entry *e, struct link **at)
{
	struct link *l = *at, *outer = e->links;
	void *inside = l->inner ? l->inner->wrapper : e->function;

	if (outer == l) {
		atomic_store(&e->head, inside);
	} else {
		while (outer->inner != l)
			outer = outer->inner;
		next_store(outer->next, inside);
	}
	*at = l->inner;
	free(l);
}

kymo_status_t kymo_intercept_unchain(kymo_chain_t chain)
{
	struct table *t = NULL;
	struct entry *e = NULL;
	struct link **at;

	take_lock();
	at = link_find(chain.handle, &t, &e);
	if (at) {
		t->holders++;
		take_out(e, at);
	}
	drop_lock();
	if (!at)
		return KYMO_ERROR_NOT_FOUND;
	t->source->store(t->data, e->index, &e->head);
	table_let_go(t);
	return KYMO_OK;
}
