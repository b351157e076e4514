/* SPDX-License-Identifier: Apache-2.0 */
/* The list of registrations; see store.h. */
#include "register/store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct store_name {
	struct store_name *next;
	uint32_t registrations;
	char text[STORE_NAME_MAX + 1];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct store_entry *head, *tail;
static struct store_name *names;
static uint64_t last_id;

static void take_lock(void)
{
	pthread_mutex_lock(&lock);
}

static void drop_lock(void)
{
	pthread_mutex_unlock(&lock);
}

/* A child finds the list in order, whatever other threads did. */
__attribute__((constructor)) static void register_fork_handlers(void)
{
	pthread_atfork(take_lock, drop_lock, drop_lock);
}

bool store_name_valid(const char *name)
{
	size_t n;

	if (!name || name[0] < 'a' || name[0] > 'z')
		return false;
	n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-");
	return n <= STORE_NAME_MAX && name[n] == '\0';
}

/* Caller holds the lock. */
static struct store_name *name_find(const char *text)
{
	struct store_name *n = names;

	while (n && strcmp(n->text, text) != 0)
		n = n->next;
	return n;
}

/* The one copy of a name; NULL: no memory. */
static struct store_name *name_get(const char *text)
{
	struct store_name *made = NULL, *found;

	take_lock();
	found = name_find(text);
	drop_lock();
	if (found)
		return found;
	made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	strncpy(made->text, text, STORE_NAME_MAX);
	take_lock();
	found = name_find(text);
	if (!found) {
		made->next = names;
		names = made;
	}
	drop_lock();
	if (!found)
		return made;
	free(made);
	return found;
}

struct store_entry *store_new(const char *name, uint32_t version)
{
	struct store_name *n = name_get(name);
	struct store_entry *e = n ? calloc(1, sizeof(*e)) : NULL;

	if (!e)
		return NULL;
	e->name = n->text;
	e->version = version;
	e->holders = 1;
	atomic_init(&e->state, KYMO_REGISTRATION_KEPT);
	return e;
}

void store_append(struct store_entry *entry)
{
	take_lock();
	entry->id = ++last_id;
	entry->instance = name_find(entry->name)->registrations++;
	entry->holders++;
	entry->previous = tail;
	if (tail)
		tail->next = entry;
	else
		head = entry;
	tail = entry;
	drop_lock();
}

/* Caller holds the lock. A walk that stands here goes on at `next`, which stays right: see put. */
static void unlink_entry(struct store_entry *e)
{
	if (e->previous)
		e->previous->next = e->next;
	else
		head = e->next;
	if (e->next)
		e->next->previous = e->previous;
	else
		tail = e->previous;
}

/* An entry stays in the list, passed over, until nobody stands on it. Caller holds the lock. */
static struct store_entry *release_entry(struct store_entry *e)
{
	if (--e->holders)
		return NULL;
	if (e->id)
		unlink_entry(e);
	return e;
}

static void entry_free(struct store_entry *e)
{
	if (!e)
		return;
	free(e->tables);
	free(e);
}

void store_put(struct store_entry *entry)
{
	take_lock();
	entry = release_entry(entry);
	drop_lock();
	entry_free(entry);
}

void store_remove(struct store_entry *entry)
{
	atomic_store(&entry->state, KYMO_REGISTRATION_GONE);
	store_put(entry);
}

/* Caller holds the lock. */
static struct store_entry *hold_from(struct store_entry *e)
{
	while (e && atomic_load(&e->state) == KYMO_REGISTRATION_GONE)
		e = e->next;
	if (e)
		e->holders++;
	return e;
}

struct store_entry *store_first(void)
{
	struct store_entry *e;

	take_lock();
	e = hold_from(head);
	drop_lock();
	return e;
}

struct store_entry *store_next(struct store_entry *entry)
{
	struct store_entry *next;

	take_lock();
	next = hold_from(entry->next);
	entry = release_entry(entry);
	drop_lock();
	entry_free(entry);
	return next;
}

struct store_entry *store_find(uint64_t id)
{
	struct store_entry *e;

	take_lock();
	for (e = head; e && e->id != id;)
		e = e->next;
	if (e && atomic_load(&e->state) == KYMO_REGISTRATION_GONE)
		e = NULL;
	if (e)
		e->holders++;
	drop_lock();
	return e;
}

bool store_claim(struct store_entry *entry, int from, int to)
{
	return atomic_compare_exchange_strong(&entry->state, &from, to);
}

void store_set(struct store_entry *entry, int state)
{
	atomic_store(&entry->state, state);
}
