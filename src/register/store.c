/* SPDX-License-Identifier: Apache-2.0 */
/* The list of registrations; see store.h. */
#include "register/store.h"

#include <stdlib.h>
#include <string.h>

static struct store_entry *_Atomic first;

bool store_name_valid(const char *name)
{
	size_t n;

	if (!name || name[0] < 'a' || name[0] > 'z')
		return false;
	n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-");
	return n <= STORE_NAME_MAX && name[n] == '\0';
}

struct store_entry *store_new(const char *name, uint32_t version)
{
	struct store_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	strncpy(e->name, name, STORE_NAME_MAX);
	e->version = version;
	atomic_init(&e->state, KYMO_REGISTRATION_KEPT);
	return e;
}

void store_append(struct store_entry *entry)
{
	struct store_entry *_Atomic *at = &first;
	struct store_entry *expected;

	entry->id = 1;
	entry->instance = 0;
	for (;;) {
		expected = NULL;
		if (atomic_compare_exchange_strong(at, &expected, entry))
			return;
		/* `expected` is the entry that is there. */
		entry->id = expected->id + 1;
		if (strcmp(expected->name, entry->name) == 0)
			entry->instance = expected->instance + 1;
		at = &expected->next;
	}
}

struct store_entry *store_first(void)
{
	return atomic_load(&first);
}

struct store_entry *store_next(const struct store_entry *entry)
{
	return atomic_load(&entry->next);
}

struct store_entry *store_find(uint64_t id)
{
	struct store_entry *e = store_first();

	while (e && e->id != id)
		e = store_next(e);
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
