/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door. The loader fills the tables that all its exported functions jump through by calling
 * zeGet...ProcAddrTable by name, once, when it is initialised. Found first, ours are called
 * instead, let the loader's fill a table, and hand out one whose entries are wrapped. So every
 * program is seen that comes through the loader, linked to it or not, and each call once: layers
 * and drivers below have tables of their own. Loaders that do not look for names call ours as those
 * of a layer (kymo_ze_layer), out of their own: what they hand out is wrapped then.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/tool.h>

#include "capture/ze/ze.h"

#define LOADER      "libze_loader.so.1"
#define ENTRIES_MAX 256u

typedef uint32_t (*fill_fn)(uint32_t version, void *entries);

/* A table as it was filled and as it was handed out; stays for ever, as its wrappers do. */
struct taken {
	struct taken *next;
	unsigned table;
	uint32_t count;
	void *filled[ENTRIES_MAX];
	void *given[ENTRIES_MAX];
};

enum { RESULT_UNINITIALIZED = 0x78000001 };

void *ze_next[ZE_OPS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct taken *takens;
static _Thread_local bool filling __attribute__((tls_model("initial-exec")));

/* ---- the loader's own functions ---- */

static const void *base_of(const void *address)
{
	Dl_info info;

	return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

static void *symbol_in(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
	void *symbol = handle ? dlsym(handle, name) : NULL;

	if (handle)
		dlclose(handle);
	return symbol && base_of(symbol) != base_of(ze_tables) ? symbol : NULL;
}

static fill_fn as_function(void *symbol)
{
	fill_fn function;

	memcpy(&function, &symbol, sizeof(function));
	return function;
}

/* That of the library which calls, if it has one: there may be several loaders. */
static fill_fn fill_function(const char *name, const void *caller)
{
	void *symbol = NULL;
	Dl_info info;

	if (dladdr(caller, &info) && info.dli_fname)
		symbol = symbol_in(info.dli_fname, name);
	if (!symbol)
		symbol = dlsym(RTLD_NEXT, name);
	if (!symbol)
		symbol = symbol_in(LOADER, name);
	return as_function(symbol);
}

/* ---- functions that are called or stood in front of ---- */

static const void *shim_of(uint32_t op)
{
	return (const void *)(uintptr_t)ze_shim_of(op);
}

static bool is_used(uint32_t op)
{
	for (unsigned i = 0; i < ze_used_count; i++)
		if (ze_used[i] == op)
			return true;
	return shim_of(op) != NULL;
}

/*
 * Kymo's own calls can go to one driver only, or one loader over several. Another one is let alone,
 * unless the library of the one before is no more.
 */
static bool agrees(const struct taken *t)
{
	const struct ze_table *d = &ze_tables[t->table];

	for (uint32_t i = 0; i < t->count && i < d->count; i++) {
		const void *known = ze_next[d->first + i];

		if (known && t->filled[i] && known != t->filled[i] && is_used(d->first + i) &&
		    base_of(known))
			return false;
	}
	return true;
}

static void note_next(struct taken *t)
{
	const struct ze_table *d = &ze_tables[t->table];

	for (uint32_t i = 0; i < t->count && i < d->count; i++) {
		const uint32_t op = d->first + i;
		const void *shim = shim_of(op);

		if (!t->filled[i])
			continue;
		__atomic_store_n(&ze_next[op], t->filled[i], __ATOMIC_RELEASE);
		if (shim)
			t->given[i] = (void *)(uintptr_t)shim;
	}
}

/* ---- taking ---- */

static struct taken *find_taken(const struct taken *like)
{
	struct taken *t = takens;

	while (t && (t->table != like->table || t->count != like->count ||
		     memcmp(t->filled, like->filled, sizeof(t->filled)) != 0))
		t = t->next;
	return t;
}

static void wrap(struct taken *t)
{
	const struct ze_table *d = &ze_tables[t->table];
	const struct table_part part = {.name = d->name,
					.entries = t->given,
					.count = t->count,
					.first_op = d->first,
					.known = d->count};
	kymo_status_t status;
	uint64_t token;

	ze_model.flush = ze_flush;
	status = table_take(&ze_model, &part, 1, &token);
	if (status != KYMO_OK) {
		memcpy(t->given, t->filled, sizeof(t->given));
		cap_note(2, ZE_DOMAIN, "functions of %s are not traced: %s", d->name,
			 kymo_status_text(status));
	}
}

/* The table as it is to be handed out. NULL: as it was filled. */
static const struct taken *take_table(const struct taken *filled)
{
	static pthread_once_t after = PTHREAD_ONCE_INIT;
	struct taken *t, *known;
	bool alone = true;

	pthread_once(&after, ze_after_fill);
	pthread_mutex_lock(&lock);
	known = find_taken(filled);
	if (!known)
		alone = agrees(filled);
	pthread_mutex_unlock(&lock);
	if (known)
		return known;
	if (!alone) {
		cap_note(2, ZE_DOMAIN, "a second loader or driver is not traced (%s)",
			 ze_tables[filled->table].name);
		return NULL;
	}
	t = malloc(sizeof(*t));
	if (!t)
		return NULL;
	*t = *filled;
	pthread_mutex_lock(&lock);
	note_next(t);
	pthread_mutex_unlock(&lock);
	wrap(t);
	pthread_mutex_lock(&lock);
	t->next = takens;
	takens = t;
	pthread_mutex_unlock(&lock);
	return t;
}

/* What the loader does not write is told from what it writes by marks. */
static uint32_t fill_table(struct taken *t, fill_fn function, uint32_t version)
{
	static const char mark;
	void *entries[ENTRIES_MAX];
	uint32_t result;

	for (unsigned i = 0; i < ENTRIES_MAX; i++)
		entries[i] = (void *)(uintptr_t)&mark;
	filling = true;
	result = function(version, entries);
	filling = false;
	for (unsigned i = 0; i < ENTRIES_MAX; i++)
		if (entries[i] != &mark)
			t->count = i + 1;
	for (unsigned i = 0; i < t->count; i++)
		t->filled[i] = entries[i] == &mark ? NULL : entries[i];
	memcpy(t->given, t->filled, sizeof(t->given));
	return result;
}

static void hand_out(const struct taken *filled, void **entries)
{
	const struct taken *given = filled->count ? take_table(filled) : NULL;

	for (unsigned i = 0; i < filled->count; i++)
		if (filled->filled[i])
			entries[i] = given ? given->given[i] : filled->filled[i];
	if (given)
		ze_at_exit();
}

uint32_t ze_take(unsigned table, uint32_t version, void *entries, const void *caller)
{
	struct taken *filled; /* too much for a small stack */
	int saved = errno;
	uint32_t result;
	fill_fn function = fill_function(ze_tables[table].name, caller);

	if (!function) {
		errno = saved;
		return RESULT_UNINITIALIZED;
	}
	filled = entries ? calloc(1, sizeof(*filled)) : NULL;
	if (!filled)
		return function(version, entries);
	filled->table = table;
	result = fill_table(filled, function, version);
	if (result == 0)
		hand_out(filled, entries);
	free(filled);
	errno = saved;
	return result;
}

/* How long the table is, a table of our own tells, in whose filling the layer has no part. */
__attribute__((visibility("default"))) uint32_t kymo_ze_layer(unsigned table, uint32_t version,
							      void *entries)
{
	struct taken *filled;
	fill_fn function;
	int saved = errno;

	if (filling || !entries)
		return 0;
	function = as_function(symbol_in(LOADER, ze_tables[table].name));
	filled = calloc(1, sizeof(*filled));
	if (filled)
		filled->table = table;
	if (filled && function && fill_table(filled, function, version) == 0) {
		memcpy(filled->filled, entries, filled->count * sizeof(filled->filled[0]));
		memcpy(filled->given, entries, filled->count * sizeof(filled->given[0]));
		hand_out(filled, entries);
	}
	free(filled);
	errno = saved;
	return 0;
}

/* ---- functions asked for by name ---- */

static int op_named(const char *name)
{
	for (int i = 0; i < ZE_OPS; i++)
		if (strcmp(ze_model.desc->ops[i].name, name) == 0)
			return i;
	return -1;
}

/* What stands between a wrapper and `function`; the function itself if another is called there. */
static void *shim_or(uint32_t op, void *function)
{
	const void *shim = shim_of(op);
	void *known = NULL;

	if (!shim)
		return function;
	if (__atomic_compare_exchange_n(&ze_next[op], &known, function, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE) ||
	    known == function)
		return (void *)(uintptr_t)shim;
	return function;
}

static void *wrap_named(uint32_t op, void *function)
{
	static void *entries[ZE_OPS];
	const struct table_part part = {.name = "functions asked for by name",
					.entries = &entries[op],
					.count = 1,
					.first_op = op,
					.known = 1};
	uint64_t token;

	entries[op] = shim_or(op, function);
	return table_take(&ze_model, &part, 1, &token) == KYMO_OK ? entries[op] : NULL;
}

/* One that is known gets a wrapper of its own; the others run as they are. */
void ze_after_zeDriverGetExtensionFunctionAddress(const struct table_call *call)
{
	static _Atomic uintptr_t cells[ZE_OPS][2]; /* the function, and what is handed out for it */
	const char *name = ze_pointer(call, zeDriverGetExtensionFunctionAddress_name);
	void **out = (void **)call->gp[2];
	int op = ze_succeeded(call) && name && out && *out ? op_named(name) : -1;
	uintptr_t none = 0;

	if (op < 0)
		return;
	if (atomic_compare_exchange_strong(&cells[op][0], &none, (uintptr_t)*out))
		atomic_store(&cells[op][1], (uintptr_t)wrap_named((uint32_t)op, *out));
	if (atomic_load(&cells[op][0]) == (uintptr_t)*out && atomic_load(&cells[op][1]))
		*out = (void *)atomic_load(&cells[op][1]);
}

CAP_KNOWN_DOMAIN(level_zero, table_describe(&ze_model));
