/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a runtime lets tools see its calls: it keeps its functions in a table, calls itself through
 * the table, and registers the table once. A tool that is there, or that comes later, puts its own
 * functions into the table; without a tool nothing happens but one call.
 *
 *   struct mylib_table {
 *           size_t size;                            // sizeof, first; entries are only appended
 *           int (*open)(const char *path);
 *           ...
 *   };
 *   static struct mylib_table table = {sizeof(table), open_impl, ...};
 *
 *   kymo_registration_t r = {.size = sizeof(r), .name = "mylib", .version = 100,
 *                            .table = &table, .desc = &mylib_desc};
 *   kymo_register_table(&r, &id);
 *
 * Any library may register, under any name, as often as it has tables (each is an instance of its
 * name). The library behind this header, libkymo-register.so.1, knows no tool and needs libc only.
 *
 * Three ways to it:
 *  - link -lkymo-register;
 *  - define KYMO_REGISTER_WEAK before including, do not link, and test `if (kymo_register_table)`;
 *  - call kymo_register_table_dynamic(), which loads the library when the program has none.
 *
 * Threads: every function may be called from any thread at any time: from constructors, while other
 * threads register, and from a function that a tool runs because of a registration. No lock is
 * held while a tool is called.
 */
#ifndef KYMO_REGISTER_H
#define KYMO_REGISTER_H

#include <stddef.h>
#include <stdint.h>

#ifndef KYMO_REGISTER_NO_DYNAMIC
#include <dlfcn.h>
#endif

#include <kymo/schema.h>
#include <kymo/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef KYMO_REGISTER_WEAK
#define KYMO_REGISTER_API __attribute__((visibility("default"), weak))
#else
#define KYMO_REGISTER_API __attribute__((visibility("default")))
#endif

#define KYMO_REGISTER_LIBRARY "libkymo-register.so.1"

/* A table has at most this many entries. */
#define KYMO_TABLE_ENTRIES_MAX 8191u

typedef struct kymo_registration {
	size_t size; /* sizeof(kymo_registration_t) */
	/* Of the domain: lower-case letter, then up to 62 of [a-z0-9_.-]. Copied. */
	const char *name;
	uint32_t version; /* of the layout; another description under one name is refused */
	/*
	 * A size_t that holds the size of the whole table in bytes, then function pointers, each
	 * of which may be NULL. Tools change the pointers at any time (each at once), until the
	 * table is unregistered.
	 */
	void *table;
	/*
	 * What the entries are, in their order, or NULL. An op whose `fields` are NULL, an entry
	 * beyond `op_count`, and every entry without a description still run and are counted,
	 * by name or index. A described op gets its calls recorded with arguments:
	 *  - one field for each argument, in order, of kind UNSIGNED, SIGNED, FLOAT, POINTER,
	 *    HANDLE, ENUM, FLAGS, BOOL, STRING, TIME, SIZE or REF, and of the argument's size;
	 *    no arguments: point `fields` anywhere, with a count of 0;
	 *  - KYMO_FIELD_OUT: the argument is a pointer to the value, read after a call that
	 *    succeeded; KYMO_FIELD_DEREF with the name "*NAME" reads, besides, where the argument
	 *    NAME points;
	 *  - KYMO_FIELD_RESULT: what the function returns. With a `status_set` it returns its
	 *    status instead, an integer.
	 * Tools copy what they need before the registration returns. desc->name is `name`.
	 */
	const kymo_domain_desc_t *desc;
} kymo_registration_t;

typedef struct kymo_registration_id {
	uint64_t handle; /* never 0 */
} kymo_registration_id_t;

/*
 * What a callback record of a registered runtime's call points to with `args`: one word for each
 * field of the op. Numbers are extended to 64 bits, floats are their bits, strings their address.
 * Fields known only after the call are 0 at ENTER.
 */
typedef struct kymo_table_args {
	size_t size; /* up to the last word in use */
	uint64_t value[KYMO_FIELDS_MAX];
} kymo_table_args_t;

typedef enum kymo_registration_state {
	KYMO_REGISTRATION_KEPT = 1,    /* no tool so far; one that comes later gets the table */
	KYMO_REGISTRATION_HANDING = 2, /* a tool is looking at the table now */
	KYMO_REGISTRATION_TAKEN = 3,
	KYMO_REGISTRATION_REFUSED = 4, /* the tool did not want it; its status was returned */
	KYMO_REGISTRATION_GONE = 5     /* being unregistered at this moment */
} kymo_registration_state_t;

/*
 * Registers a table. KYMO_OK: a tool has it, or it is kept for one. ERROR_INVALID_ARGUMENT: null or
 * malformed name, null table, description of another name or with impossible fields.
 * ERROR_INCOMPATIBLE: a size that cannot be, or a description that contradicts the first of that
 * name. ERROR_LIMIT: a tool has no room for so many entries. Whatever is returned, the table works.
 * `out` may be NULL and is written with KYMO_OK only.
 */
KYMO_REGISTER_API kymo_status_t kymo_register_table(const kymo_registration_t *registration,
						    kymo_registration_id_t *out);

/*
 * Gives the table back, entries as they were registered; the library may be unloaded then. No
 * entry may be running or be called through a copy any more. ERROR_NOT_FOUND: no such
 * registration. ERROR_BUSY: a tool is being given the table at this moment.
 */
KYMO_REGISTER_API kymo_status_t kymo_unregister_table(kymo_registration_id_t id);

typedef struct kymo_registration_info {
	size_t size; /* sizeof(kymo_registration_info_t) */
	kymo_registration_id_t id;
	const char *name; /* valid for ever */
	uint32_t version;
	uint32_t instance; /* counts the registrations of this name from 0 */
	uint32_t entries;
	kymo_registration_state_t state;
} kymo_registration_info_t;

/* Stop by returning another status than KYMO_OK; it is passed on. In order of registration. */
typedef kymo_status_t (*kymo_registration_fn)(const kymo_registration_info_t *info, void *data);
KYMO_REGISTER_API kymo_status_t kymo_registrations(kymo_registration_fn callback, void *data);

/* ---- for tools ------------------------------------------------------------------------------- */

/*
 * A tool that takes tables exports the first function under the name "kymo_register_take" (and the
 * other as "kymo_register_return"), or attaches both. `token` is its own.
 */
typedef kymo_status_t (*kymo_take_fn)(const kymo_registration_t *registration, uint32_t instance,
				      void **token);
/* The table goes: entries are to be put back before this returns. */
typedef void (*kymo_return_fn)(void *token);

/*
 * Hands every kept table to `take`, now and in the future. ERROR_EXISTS: another tool is attached
 * already. The functions must stay loaded.
 */
KYMO_REGISTER_API kymo_status_t kymo_register_attach(kymo_take_fn take, kymo_return_fn give_back);

/* ---- without linking ------------------------------------------------------------------------- */

#ifndef KYMO_REGISTER_NO_DYNAMIC
/*
 * kymo_register_table() of the library, which is loaded if need be. ERROR_UNSUPPORTED: it is not
 * installed; the runtime goes on without tools.
 */
static inline kymo_status_t kymo_register_table_dynamic(const kymo_registration_t *registration,
							kymo_registration_id_t *out)
{
	void *library = dlopen(KYMO_REGISTER_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
	kymo_status_t (*function)(const kymo_registration_t *, kymo_registration_id_t *);
	void *symbol = library ? dlsym(library, "kymo_register_table") : NULL;

	if (!symbol)
		return KYMO_ERROR_UNSUPPORTED;
	__builtin_memcpy(&function, &symbol, sizeof(function));
	return function(registration, out);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
