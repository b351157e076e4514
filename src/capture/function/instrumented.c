/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that were instrumented (wire/plan.h): their plans, which lie in them, are added to the process's, and their slots are filled.
 * Nothing that is run is written, so threads may be in them.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/function/note.h"
#include "capture/function/patch.h"
#include "capture/function/returns.h"

enum { FOUND_MOST = 64, FUNCTIONS_MOST = 60000 };

struct found {
	unsigned count;
	uint64_t modules, functions, strings;
	struct plan plans[FOUND_MOST];
};

static bool lies_in(const struct dl_phdr_info *o, uint64_t at, uint64_t bytes)
{
	for (unsigned i = 0; i < o->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &o->dlpi_phdr[i];

		if (h->p_type == PT_LOAD && at >= h->p_vaddr && at - h->p_vaddr <= h->p_memsz &&
		    bytes <= h->p_memsz - (at - h->p_vaddr))
			return true;
	}
	return false;
}

static bool is_known(const struct plan *p, const struct plan_note *note)
{
	for (uint64_t i = 0; i < p->module_count; i++)
		if (p->modules[i].build_id_bytes == PLAN_NOTE_ID &&
		    memcmp(p->modules[i].build_id, note->id, PLAN_NOTE_ID) == 0)
			return true;
	return false;
}

static int find_plan(struct dl_phdr_info *o, size_t size, void *data)
{
	struct found *f = data;
	struct plan_note note;
	struct plan *p = &f->plans[f->count];

	if (f->count == FOUND_MOST || !function_note_of_plan(o, &note) ||
	    !lies_in(o, note.plan, note.plan_bytes) ||
	    !plan_open(p, (const void *)(o->dlpi_addr + note.plan), note.plan_bytes))
		return 0;
	for (unsigned i = 0; i < f->count; i++)
		if (is_known(&f->plans[i], &note))
			return 0;
	if (f->functions + p->function_count > FUNCTIONS_MOST)
		return 0;
	f->modules += p->module_count;
	f->functions += p->function_count;
	f->strings += p->header->strings.count;
	f->count++;
	return 0;
}

/* The first plan's functions keep their places: what they have in other tables is its alone. */
static bool join(struct plan *out, const struct found *f)
{
	struct plan_module *modules = calloc(f->modules, sizeof(*modules));
	struct plan_function *functions = calloc(f->functions, sizeof(*functions));
	char *strings = malloc(f->strings);
	uint64_t m = 0, n = 0, s = 0;

	if (!modules || !functions || !strings) {
		free(modules);
		free(functions);
		free(strings);
		return false;
	}
	for (unsigned i = 0; i < f->count; i++) {
		const struct plan *p = &f->plans[i];
		const uint64_t first = n;

		memcpy(strings + s, p->strings, p->header->strings.count);
		for (uint64_t k = 0; k < p->module_count; k++, m++) {
			modules[m] = p->modules[k];
			modules[m].first_function += first;
			modules[m].path += (uint32_t)s;
		}
		for (uint64_t k = 0; k < p->function_count; k++, n++) {
			functions[n] = p->functions[k];
			functions[n].id += (uint32_t)first;
			functions[n].name += (uint32_t)s;
		}
		s += p->header->strings.count;
	}
	if (!f->plans[0].header->fixups.count)
		*out = f->plans[0];
	out->modules = modules;
	out->functions = functions;
	out->strings = strings;
	out->module_count = m;
	out->function_count = n;
	return true;
}

bool function_plan_join(struct plan *out, bool planned)
{
	static struct found f; /* too large for small stacks */

	if (planned) {
		f.plans[0] = *out;
		f.modules = out->module_count;
		f.functions = out->function_count;
		f.strings = out->header->strings.count;
		f.count = 1;
	}
	dl_iterate_phdr(find_plan, &f);
	if (f.count == (planned ? 1u : 0u))
		return planned;
	if (!planned)
		*out = f.plans[0];
	if (join(out, &f))
		return true;
	cap_note(2, "function",
		 "functions of files that were instrumented are not traced: there is "
		 "no memory for them");
	return planned;
}

bool function_has_slots(const struct plan_module *m)
{
	return m->functions && function_plan.functions[m->first_function].how == PLAN_SLOT;
}

void function_fill(uintptr_t bias, const struct plan_module *m)
{
#if defined(__x86_64__)
	const struct plan_function *f = &function_plan.functions[m->first_function];
	_Atomic uintptr_t *slots = (_Atomic uintptr_t *)(bias + f->site);
	const char *why;

	if (!function_returns_usable(&why)) {
		cap_note(2, "function", "functions of %s are not traced: %s",
			 plan_string(&function_plan, m->path), why);
		return;
	}
	atomic_store_explicit(&slots[-1], (uintptr_t)function_entry_instrumented,
			      memory_order_release);
	for (uint64_t i = 0; i < m->functions; i++)
		atomic_store_explicit((_Atomic uintptr_t *)(bias + f[i].site),
				      (uintptr_t)&function_ops[m->first_function + i],
				      memory_order_release);
#else
	(void)bias;
	(void)m;
#endif
}
