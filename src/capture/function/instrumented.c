/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that were instrumented (wire/plan.h): their plans, which lie in them, are added to the process's, and their slots are filled.
 * Nothing that is run is written, so threads may be in them.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/careful.h"
#include "capture/function/note.h"
#include "capture/function/patch.h"
#include "capture/function/returns.h"
#include "core/unwind/unwind.h"

enum { FOUND_MOST = 64, FUNCTIONS_MOST = 60000 };

struct found {
	unsigned count;
	uint64_t modules, functions, moves, strings;
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
	f->moves += p->header->moves.count;
	f->strings += p->header->strings.count;
	f->count++;
	return 0;
}

/* The first plan's functions keep their places: what they have in other tables is its alone. */
static bool join(struct plan *out, const struct found *f)
{
	struct plan_module *modules = calloc(f->modules, sizeof(*modules));
	struct plan_function *functions = calloc(f->functions, sizeof(*functions));
	struct plan_move *moves = calloc(f->moves + 1, sizeof(*moves));
	char *strings = malloc(f->strings);
	uint64_t m = 0, n = 0, v = 0, s = 0;

	if (!modules || !functions || !moves || !strings) {
		free(modules);
		free(functions);
		free(moves);
		free(strings);
		return false;
	}
	for (unsigned i = 0; i < f->count; i++) {
		const struct plan *p = &f->plans[i];
		const uint64_t first = n;

		memcpy(strings + s, p->strings, p->header->strings.count);
		memcpy(moves + v, p->moves, p->header->moves.count * sizeof(*moves));
		for (uint64_t k = 0; k < p->module_count; k++, m++) {
			modules[m] = p->modules[k];
			modules[m].first_function += first;
			modules[m].path += (uint32_t)s;
		}
		for (uint64_t k = 0; k < p->function_count; k++, n++) {
			functions[n] = p->functions[k];
			functions[n].id += (uint32_t)first;
			functions[n].name += (uint32_t)s;
			functions[n].first_move += (uint32_t)v;
		}
		v += p->header->moves.count;
		s += p->header->strings.count;
	}
	if (!f->plans[0].header->fixups.count)
		*out = f->plans[0];
	out->modules = modules;
	out->functions = functions;
	out->moves = moves;
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
		f.moves = out->header->moves.count;
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

/* ---- threads in stubs ---- */

#if defined(__x86_64__)

/* For good; another object may have come to lie there since. */
struct filled {
	struct filled *next;
	uintptr_t bias;
	const struct plan_module *module;
};

static struct filled *_Atomic all_filled;

static void add_filled(uintptr_t bias, const struct plan_module *m)
{
	struct filled *first = atomic_load(&all_filled), *f;

	for (f = first; f; f = f->next)
		if (f->bias == bias && f->module == m)
			return;
	f = malloc(sizeof(*f));
	if (!f)
		return;
	*f = (struct filled){first, bias, m};
	while (!atomic_compare_exchange_weak(&all_filled, &f->next, f))
		;
	unwind_copies(function_undo);
}

/* Stubs lie in the order of functions. NULL: the address lies before all. */
static const struct plan_function *stub_before(const struct plan_module *m, uint64_t place)
{
	const struct plan_function *f = &function_plan.functions[m->first_function];
	uint64_t low = 0, high = m->functions;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (f[middle].code <= place)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &f[low - 1] : NULL;
}

/* cmpq $0, slot(%rip): it begins there, if the object is the one that was. */
static bool is_stub(uintptr_t at, uintptr_t slot)
{
	static const uint8_t compare[] = {0x48, 0x83, 0x3d};
	uint8_t bytes[8];
	int32_t distance;

	if (careful_copy(bytes, (const void *)at, sizeof(bytes)) != sizeof(bytes) ||
	    memcmp(bytes, compare, sizeof(compare)) != 0)
		return false;
	memcpy(&distance, bytes + sizeof(compare), sizeof(distance));
	return at + sizeof(bytes) + (uintptr_t)(intptr_t)distance == slot;
}

static bool undo_in(struct unwind_registers *r, const struct filled *x)
{
	const struct plan_module *m = x->module;
	const struct plan_function *f;
	uint64_t place = r->pc - x->bias - m->low, offset;

	if (place >= m->high - m->low || !(f = stub_before(m, place)) ||
	    place - f->code >= PLAN_STUB_HEAD + (uint64_t)f->code_bytes ||
	    !is_stub(x->bias + m->low + f->code, x->bias + f->site))
		return false;
	offset = place - f->code;
	function_undo_at(r, x->bias, f,
			 offset < PLAN_STUB_HEAD ? 0 : (uint32_t)offset - PLAN_STUB_HEAD);
	return true;
}

void function_undo_slot(struct unwind_registers *r)
{
	const struct filled *x = atomic_load_explicit(&all_filled, memory_order_acquire);

	while (x && !undo_in(r, x))
		x = x->next;
}
#endif

/* ---- filling slots ---- */

void function_fill(uintptr_t bias, const struct plan_module *m)
{
#if defined(__x86_64__)
	const struct plan_function *f = &function_plan.functions[m->first_function];
	_Atomic uintptr_t *slots = (_Atomic uintptr_t *)(bias + f->site);
	const char *why;

	add_filled(bias, m);
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
