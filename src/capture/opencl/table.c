/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts thunks into dispatch tables and in the place of function pointers handed out by name. The
 * data (entries, names, slots, thunks) are generated.
 */
#include "capture/opencl/table.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/intercept/intercept.h"

void *ocl_untraced_next[OCL_TABLE_ENTRIES];

static struct cap_domain *_Atomic table_domain;
static void *table_object; /* load address of the library whose table we were given */
static pthread_mutex_t link_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t table_number; /* in the intercept service */

static bool is_lookup(unsigned op)
{
	for (unsigned i = 0; i < OCL_LOOKUP_OPS; i++)
		if (ocl_lookup_ops[i] == op)
			return true;
	return false;
}

/* Whether the op is one of the table's; the others are only known by name. */
static bool table_has(unsigned op)
{
	for (unsigned i = 0; i < OCL_TABLE_ENTRIES; i++)
		if (ocl_entries[i].op == (int)op)
			return true;
	return false;
}

/*
 * Whether the function is the loader's own. Such functions call through the table again, where they
 * are traced; a second thunk would show the call twice.
 */
static bool is_loader(void *function)
{
	const char *name;
	Dl_info info;

	if (!dladdr(function, &info))
		return false;
	name = info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
	return (table_object && info.dli_fbase == table_object) ||
	       (name && strncmp(name, "/libOpenCL.so", 13) == 0);
}

/* Makes a slot lead somewhere; until core decides, only lookups go through their wrapper. */
static void slot_open(struct cap_slot *slot, void *next)
{
	slot->next = next;
	atomic_store_explicit(&slot->target, is_lookup(slot->op) ? slot->wrapper : next,
			      memory_order_release);
}

static void *entry_install(unsigned i, void *next)
{
	const struct ocl_entry *entry = &ocl_entries[i];

	if (!next)
		return NULL;
	if (entry->op >= 0) {
		unsigned link = (unsigned)entry->op * OCL_LINKS_PER_OP;

		slot_open(&ocl_slots[link], next);
		return ocl_thunk(link);
	}
	ocl_untraced_next[i] = next;
	return entry->untraced ? entry->untraced : next;
}

void ocl_table_install(cl_icd_dispatch *ours, const cl_icd_dispatch *target, unsigned entries)
{
	void *pointers[sizeof(*ours) / sizeof(void *)] = {NULL};
	const unsigned room = sizeof(pointers) / sizeof(void *);
	Dl_info info;

	ocl_slots_fill();
	if (entries > room)
		entries = room;
	memcpy(pointers, target, entries * sizeof(void *));
	if (pointers[0] && dladdr(pointers[0], &info))
		table_object = info.dli_fbase;
	for (unsigned i = 0; i < entries && i < OCL_TABLE_ENTRIES; i++)
		pointers[i] = entry_install(i, pointers[i]);
	memcpy(ours, pointers, entries * sizeof(void *));
}

void ocl_table_attach(struct cap_domain *domain)
{
	atomic_store_explicit(&table_domain, domain, memory_order_release);
	for (unsigned i = 0; i < OCL_LOOKUP_OPS; i++)
		cap_require_wrapper(domain, ocl_lookup_ops[i], true);
	cap_slots_update(domain);
}

/* ---- other tools' wrappers: entry i is op i, by its first link ---- */

static void *intercept_read(void *data, uint32_t index)
{
	void *next;

	pthread_mutex_lock(&link_lock);
	next = ocl_slots[index * OCL_LINKS_PER_OP].next;
	pthread_mutex_unlock(&link_lock);
	return next;
}

static void intercept_store(void *data, uint32_t index, void *_Atomic *head)
{
	pthread_mutex_lock(&link_lock);
	__atomic_store_n(&ocl_slots[index * OCL_LINKS_PER_OP].next, atomic_load(head),
			 __ATOMIC_RELEASE);
	pthread_mutex_unlock(&link_lock);
	cap_slots_update(atomic_load(&table_domain));
}

void ocl_table_announce(void)
{
	static const struct intercept_source source = {intercept_read, intercept_store};
	const kymo_table_info_t info = {
		.domain = packed_describe(OCL_PACKED, 0),
		.part = "dispatch",
		.entries = OCL_OP_COUNT,
		.known = OCL_OP_COUNT,
	};

	atomic_store(&table_number, intercept_add(&info, &source, NULL));
}

static int name_compare(const void *key, const void *element)
{
	return strcmp(key, &ocl_name_text[((const struct ocl_name *)element)->name]);
}

/* A wrapper lies before the function: it is the same link all the same. */
static bool chained(unsigned op, const void *function)
{
	return intercept_leads_to(atomic_load(&table_number), op, function);
}

/*
 * The link of `op`, counted from `first`, that leads to `function`, opened if need be; NULL: all
 * are taken.
 */
static void *link_thunk(unsigned op, unsigned first, void *function)
{
	struct cap_slot *slot = &ocl_slots[first];
	void *thunk = NULL;
	bool opened = false;

	pthread_mutex_lock(&link_lock);
	for (unsigned i = 0; i < OCL_LINKS_PER_OP && !thunk; i++) {
		/* The first link belongs to the table, also while the table lacks the function. */
		if (!slot[i].next && (i > 0 || !table_has(op))) {
			slot_open(&slot[i], function);
			opened = true;
		}
		if (slot[i].next == function || (i == 0 && chained(op, function)))
			thunk = ocl_thunk(first + i);
	}
	pthread_mutex_unlock(&link_lock);
	if (opened) {
		struct cap_domain *domain =
			atomic_load_explicit(&table_domain, memory_order_acquire);

		if (domain)
			cap_slots_update(domain);
	}
	return thunk;
}

/*
 * The first link of the form in which the driver has the function; false: the driver does not say
 * which that is, so that no wrapper can be trusted to fit.
 */
static bool form_of(cl_platform_id platform, const struct ocl_name *known, const void *function,
		    unsigned *first)
{
	const struct ocl_older *older;
	cl_version version;

	*first = (unsigned)known->op * OCL_LINKS_PER_OP;
	if (!known->older)
		return true;
	older = &ocl_olders[known->older - 1];
	if (!ocl_extension_version(platform, older->extension, &ocl_name_text[known->name],
				   function, &version))
		return false;
	if (version < older->before)
		*first = older->link;
	return true;
}

void *ocl_lookup(cl_platform_id platform, const char *name, void *function)
{
	const struct ocl_name *known;
	void *thunk = NULL;
	unsigned first;

	if (!name || !function)
		return function;
	known = bsearch(name, ocl_names, ocl_name_count, sizeof(*ocl_names), name_compare);
	if (known && known->op >= 0) {
		if (table_has((unsigned)known->op) && is_loader(function))
			return function;
		if (form_of(platform, known, function, &first))
			thunk = link_thunk((unsigned)known->op, first, function);
	}
	if (thunk)
		return thunk;
	cap_count_untraced("opencl", name);
	return function;
}
