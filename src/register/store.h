/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of registrations: entries are appended without a lock and never freed, so that any
 * thread may walk it at any time, in a child after fork() too, and nested registrations cannot
 * block each other. What happens to an entry's table is decided by its state alone.
 */
#ifndef REGISTER_STORE_H
#define REGISTER_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <kymo/register.h>

#define STORE_NAME_MAX 63u

struct store_entry {
	struct store_entry *_Atomic next;
	_Atomic int state;  /* kymo_registration_state_t */
	_Atomic int status; /* the tool's answer, KYMO_OK before there is one */
	uint64_t id;       /* position in the list, from 1 */
	uint32_t instance; /* of the name, from 0 */
	uint32_t version;
	uint32_t entries;
	char name[STORE_NAME_MAX + 1];
	/* Kymo's own registrations */
	kymo_registration_t registration;
	void *token;
	/* registrations by AMD's interface */
	uint32_t (*import)(void);
	void **tables;
	uint64_t table_count;
};

/* Lower-case letter, then [a-z0-9_.-], at most STORE_NAME_MAX in all. */
bool store_name_valid(const char *name);

/* A new entry, not yet in the list; NULL: no memory. */
struct store_entry *store_new(const char *name, uint32_t version);

/* Appends; id and instance are set before the entry is seen by others. State: KEPT. */
void store_append(struct store_entry *entry);

struct store_entry *store_first(void);
struct store_entry *store_next(const struct store_entry *entry);
struct store_entry *store_find(uint64_t id); /* or NULL */

/* The one who changes the state from `from` owns the entry until the next change. */
bool store_claim(struct store_entry *entry, int from, int to);
void store_set(struct store_entry *entry, int state);

#endif
