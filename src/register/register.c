/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kymo's own registration: tables are checked, kept, and handed to the tool as soon as there is
 * one. Nothing here knows the tool but two names of functions.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "register/find.h"
#include "register/store.h"

/* Both functions of the tool, published at once. */
struct taker {
	kymo_take_fn take;
	kymo_return_fn give_back;
};

static struct taker attached_taker, found_taker;
static struct taker *_Atomic taker;
static _Atomic int attaching;

/* ---- the tool's side ---- */

static void function_set(void *to, void *symbol)
{
	memcpy(to, &symbol, sizeof(symbol));
}

/* A tool that was asked for and is not loaded yet. */
static void load_asked(void)
{
	if (find_setting("KYMO_TOOLS"))
		find_library(FIND_TOOL_LIBRARY);
}

static struct taker *taker_look(void)
{
	static _Atomic int busy;
	void *take = find_loaded("kymo_register_take");
	struct taker *none = NULL;

	if (!take) {
		load_asked();
		take = find_loaded("kymo_register_take");
	}
	/* All threads find the same; the first one writes it down. */
	if (!take || atomic_exchange(&busy, 1))
		return atomic_load(&taker);
	function_set(&found_taker.take, take);
	function_set(&found_taker.give_back, find_beside(take, "kymo_register_return"));
	atomic_compare_exchange_strong(&taker, &none, &found_taker);
	return atomic_load(&taker);
}

static kymo_status_t hand_over(struct store_entry *e, const struct taker *t)
{
	kymo_status_t status;

	if (!store_claim(e, KYMO_REGISTRATION_KEPT, KYMO_REGISTRATION_HANDING))
		return (kymo_status_t)atomic_load(&e->status); /* somebody else is at it, or was */
	status = t->take(&e->registration, e->instance, &e->token);
	atomic_store(&e->status, status);
	store_set(e, status == KYMO_OK ? KYMO_REGISTRATION_TAKEN : KYMO_REGISTRATION_REFUSED);
	return status;
}

/* Those that were registered when there was no tool, or before the present one. */
static void hand_over_kept(const struct taker *t)
{
	for (struct store_entry *e = store_first(); e; e = store_next(e))
		hand_over(e, t);
}

kymo_status_t kymo_register_attach(kymo_take_fn take, kymo_return_fn give_back)
{
	struct taker *present = atomic_load(&taker);
	struct taker *none = NULL;

	if (!take)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!present && !atomic_exchange(&attaching, 1)) {
		attached_taker = (struct taker){take, give_back};
		atomic_compare_exchange_strong(&taker, &none, &attached_taker);
		present = atomic_load(&taker);
	}
	if (!present)
		return KYMO_ERROR_BUSY;
	if (present->take != take)
		return KYMO_ERROR_EXISTS;
	hand_over_kept(present);
	return KYMO_OK;
}

/* ---- the runtimes' side ---- */

static uint32_t table_entries(const void *table)
{
	size_t bytes;

	memcpy(&bytes, table, sizeof(bytes));
	if (bytes % sizeof(void *) != 0 || bytes < 2 * sizeof(void *) ||
	    bytes / sizeof(void *) - 1 > KYMO_TABLE_ENTRIES_MAX)
		return 0;
	return (uint32_t)(bytes / sizeof(void *) - 1);
}

static kymo_status_t check_registration(const kymo_registration_t *r, uint32_t *entries)
{
	if (!r)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (r->size < sizeof(*r))
		return KYMO_ERROR_INCOMPATIBLE;
	if (!store_name_valid(r->name) || !r->table || (uintptr_t)r->table % _Alignof(void *) != 0)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (r->desc && r->desc->size < sizeof(*r->desc))
		return KYMO_ERROR_INCOMPATIBLE;
	if (r->desc && (!r->desc->name || strcmp(r->desc->name, r->name) != 0))
		return KYMO_ERROR_INVALID_ARGUMENT;
	*entries = table_entries(r->table);
	return *entries ? KYMO_OK : KYMO_ERROR_INCOMPATIBLE;
}

static kymo_status_t add_registration(const kymo_registration_t *r, kymo_registration_id_t *out)
{
	kymo_status_t status;
	struct store_entry *e;
	struct taker *t;
	uint32_t entries;

	status = check_registration(r, &entries);
	if (status != KYMO_OK)
		return status;
	e = store_new(r->name, r->version);
	if (!e)
		return KYMO_ERROR_NO_MEMORY;
	e->entries = entries;
	e->registration = *r;
	e->registration.size = sizeof(*r);
	e->registration.name = e->name;
	store_append(e);
	/* After the append: a tool that attaches now either sees the entry or is seen here. */
	t = atomic_load(&taker);
	if (t)
		status = hand_over(e, t);
	else if ((t = taker_look()) != NULL) {
		status = hand_over(e, t);
		hand_over_kept(t); /* of threads that looked while the tool was being found */
	}
	if (status == KYMO_OK && out)
		out->handle = e->id;
	store_put(e);
	return status;
}

kymo_status_t kymo_register_table(const kymo_registration_t *registration,
				  kymo_registration_id_t *out)
{
	int saved = errno;
	kymo_status_t status = add_registration(registration, out);

	errno = saved;
	return status;
}

static kymo_status_t take_back(struct store_entry *e)
{
	struct taker *t = atomic_load(&taker);

	if (store_claim(e, KYMO_REGISTRATION_TAKEN, KYMO_REGISTRATION_GONE)) {
		if (t && t->give_back)
			t->give_back(e->token);
	} else if (!store_claim(e, KYMO_REGISTRATION_KEPT, KYMO_REGISTRATION_GONE) &&
		   !store_claim(e, KYMO_REGISTRATION_REFUSED, KYMO_REGISTRATION_GONE)) {
		return atomic_load(&e->state) == KYMO_REGISTRATION_GONE ? KYMO_ERROR_NOT_FOUND
									: KYMO_ERROR_BUSY;
	}
	store_remove(e);
	return KYMO_OK;
}

kymo_status_t kymo_unregister_table(kymo_registration_id_t id)
{
	struct store_entry *e = store_find(id.handle);
	kymo_status_t status;
	int saved = errno;

	if (!e)
		return KYMO_ERROR_NOT_FOUND;
	status = take_back(e);
	store_put(e);
	errno = saved;
	return status;
}

static kymo_status_t show_entry(const struct store_entry *e, kymo_registration_fn callback,
				void *data)
{
	const kymo_registration_info_t info = {
		.size = sizeof(info),
		.id = {e->id},
		.name = e->name,
		.version = e->version,
		.instance = e->instance,
		.entries = e->entries,
		.state = (kymo_registration_state_t)atomic_load(&e->state),
	};

	return callback(&info, data);
}

kymo_status_t kymo_registrations(kymo_registration_fn callback, void *data)
{
	kymo_status_t status = KYMO_OK;

	if (!callback)
		return KYMO_ERROR_INVALID_ARGUMENT;
	for (struct store_entry *e = store_first(); e; e = store_next(e)) {
		status = show_entry(e, callback, data);
		if (status != KYMO_OK) {
			store_put(e);
			break;
		}
	}
	return status;
}
