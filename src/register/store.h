/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of registrations, in their order. A lock guards its links and is held for a few
 * instructions only, never while anything else is called; whoever looks at an entry holds it by a
 * count. What happens to an entry's table is decided by its state alone. Entries go when their
 * registration does; names stay for ever.
 */
#ifndef REGISTER_STORE_H
#define REGISTER_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <kymo/register.h>

#define STORE_NAME_MAX 63u

struct store_name;

struct store_entry {
	struct store_entry *next, *previous;
	uint32_t holders;   /* under the lock; the list itself is one */
	_Atomic int state;  /* kymo_registration_state_t */
	_Atomic int status; /* the tool's answer, KYMO_OK before there is one */
	uint64_t id;        /* from 1, never used again */
	uint32_t instance;  /* of the name, from 0 */
	uint32_t version;
	uint32_t entries;
	const char *name; /* for ever */
	/* Kymo's own registrations */
	kymo_registration_t registration;
	void *token;
	/* registrations by AMD's interface */
	uint32_t (*import)(void);
	void **tables; /* the entry's own copy */
	uint64_t table_count;
};

/* Lower-case letter, then [a-z0-9_.-], at most STORE_NAME_MAX in all. */
bool store_name_valid(const char *name);

/* A new entry, not yet in the list and held by the caller; NULL: no memory. */
struct store_entry *store_new(const char *name, uint32_t version);

/* Appends; id and instance are set before the entry is seen by others. State: KEPT. */
void store_append(struct store_entry *entry);

/* Takes a registration out of the list; those who hold it may still look at it. */
void store_remove(struct store_entry *entry);

/* Lets go of an entry; the last one frees it. */
void store_put(struct store_entry *entry);

/*
 * Walking: each entry is held until the next one is asked for. A walk that ends early lets go of
 * its last one with store_put(). Entries that are removed meanwhile are passed over.
 */
struct store_entry *store_first(void);
struct store_entry *store_next(struct store_entry *entry);

/* Held, or NULL. */
struct store_entry *store_find(uint64_t id);

/* The one who changes the state from `from` owns the entry until the next change. */
bool store_claim(struct store_entry *entry, int from, int to);
void store_set(struct store_entry *entry, int state);

#endif
