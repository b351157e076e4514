/* SPDX-License-Identifier: Apache-2.0 */
/* See dwarf_place.h. */
#include "stream/dwarf_place.h"

#include <dwarf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/vec.h"

/* A part of a compilation unit, by addresses of the module. */
struct dwarf_unit {
	Dwarf_Addr low, high, bias;
	Dwarf_Die *die;
};

static int by_address(const void *a, const void *b)
{
	const struct dwarf_unit *x = a, *y = b;

	return (x->low > y->low) - (x->low < y->low);
}

static bool add_unit(struct dwarf_units *f, size_t *room, const struct dwarf_unit *u)
{
	if (!vec_reserve(&f->at, room, f->count, 1))
		return false;
	f->at[f->count++] = *u;
	return true;
}

static void find_units(struct dwarf_units *f, Dwfl_Module *elf)
{
	struct dwarf_unit u = {.die = NULL};
	Dwarf_Addr base;
	size_t room = 0;
	bool ok = true;

	f->known = true;
	while (ok && (u.die = dwfl_module_nextcu(elf, u.die, &u.bias))) {
		Dwarf_Addr low, high;
		ptrdiff_t at = 0;

		while (ok && (at = dwarf_ranges(u.die, at, &base, &low, &high)) > 0) {
			u.low = low + u.bias;
			u.high = high + u.bias;
			ok = add_unit(f, &room, &u);
		}
	}
	if (f->count)
		qsort(f->at, f->count, sizeof(*f->at), by_address);
}

/*
 * The compilation unit that an address lies in. Clang writes no .debug_aranges, which is all that
 * libdw looks at: then the units' own ranges tell.
 */
static Dwarf_Die *unit_of(struct dwarf_units *f, Dwfl_Module *elf, uint64_t address,
			  Dwarf_Addr *bias)
{
	Dwarf_Die *die = dwfl_module_addrdie(elf, address, bias);
	size_t low = 0, high;

	if (die)
		return die;
	if (!f->known)
		find_units(f, elf);
	for (high = f->count; low < high;) {
		size_t middle = (low + high) / 2;

		if (f->at[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= f->at[low - 1].high)
		return NULL;
	*bias = f->at[low - 1].bias;
	return f->at[low - 1].die;
}

/* What a compiler made without a line of the source (0) belongs to the line before. */
static Dwarf_Line *line_before(Dwarf_Die *unit, Dwarf_Line *of)
{
	Dwarf_Line *line = NULL, *before = of;
	Dwarf_Lines *lines;
	int number = 0;
	size_t n;

	if (dwarf_lineno(of, &number) != 0 || number || dwarf_getsrclines(unit, &lines, &n) != 0)
		return of;
	for (size_t i = 0; i < n && line != of; i++) {
		bool end = false;

		line = dwarf_onesrcline(lines, i);
		if (dwarf_lineendsequence(line, &end) == 0 && end)
			before = of;
		else if (dwarf_lineno(line, &number) == 0 && number)
			before = line;
	}
	return before;
}

static void line_of(Dwarf_Die *unit, Dwarf_Addr address, struct dwarf_place *out)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number = 0;

	if (!line)
		return;
	line = line_before(unit, line);
	out->file = dwarf_linesrc(line, NULL, NULL);
	if (out->file && dwarf_lineno(line, &number) == 0)
		out->line = (uint32_t)number;
}

/* ---- inlined functions ------------------------------------------------------------------------ */

enum { NESTED = 128 };

/* Dies from the unit down to an address; those of code alone. */
struct nest {
	Dwarf_Die at[NESTED];
	unsigned count;
};

/* They have no addresses of their own, and code may be described in them. */
static bool holds_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type;
}

static bool holds_code(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

/* The die among the children of `of`, or in namespaces and types among them, that has the address. */
static bool find_child(Dwarf_Die *of, Dwarf_Addr address, unsigned depth, Dwarf_Die *out)
{
	Dwarf_Die die;

	if (dwarf_child(of, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (holds_code(tag) && dwarf_haspc(&die, address) == 1) {
			*out = die;
			return true;
		}
		if (depth && holds_functions(tag) && find_child(&die, address, depth - 1, out))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

static void find_nest(Dwarf_Die *unit, Dwarf_Addr address, struct nest *n)
{
	Dwarf_Die *of = unit;

	n->count = 0;
	while (n->count < NESTED && find_child(of, address, n->count ? 0 : 8, &n->at[n->count]))
		of = &n->at[n->count++];
}

/* As the linker would have it, so that the names of all functions are of one kind. */
static const char *function_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name =
		dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	if (!name)
		name = dwarf_formstring(
			dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
	return name ? name : dwarf_diename(die);
}

/* Where the inlined function `die` was called. */
static void call_line(Dwarf_Die *unit, Dwarf_Die *die, struct dwarf_place *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t n;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file) != 0 ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) != 0 ||
	    dwarf_getsrcfiles(unit, &files, &n) != 0 || file >= n)
		return;
	out->file = dwarf_filesrc(files, file, NULL, NULL);
	out->line = (uint32_t)line;
}

/* Of a unit whose dies are in a file of their own (-gsplit-dwarf): that one's. */
static Dwarf_Die *dies_of(Dwarf_Die *unit, Dwarf_Die *split)
{
	uint8_t type = 0;

	if (dwarf_cu_info(unit->cu, NULL, &type, NULL, split, NULL, NULL, NULL) == 0 &&
	    type == DW_UT_skeleton && split->addr)
		return split;
	return unit;
}

static unsigned find_places(struct dwarf_units *u, Dwfl_Module *elf, uint64_t address,
			    struct dwarf_place out[DWARF_PLACES])
{
	Dwarf_Die *unit, split = {0};
	Dwarf_Addr bias = 0;
	struct nest nest;
	unsigned n = 0;

	unit = unit_of(u, elf, address, &bias);
	if (!unit)
		return 0;
	out[0] = (struct dwarf_place){.line = 0};
	line_of(unit, address - bias, &out[0]);
	unit = dies_of(unit, &split);
	find_nest(unit, address - bias, &nest);
	for (unsigned i = nest.count; i-- > 0 && n < DWARF_PLACES - 1;) {
		if (dwarf_tag(&nest.at[i]) == DW_TAG_subprogram)
			break;
		if (dwarf_tag(&nest.at[i]) != DW_TAG_inlined_subroutine)
			continue;
		out[n].function = function_of(&nest.at[i]);
		if (!out[n].function)
			out[n].function = "(inlined)";
		out[++n] = (struct dwarf_place){.line = 0};
		call_line(unit, &nest.at[i], &out[n]);
	}
	return n + 1;
}

/* ---- stacks that are small -------------------------------------------------------------------- */

enum { ROOM = 1 << 20 }; /* libdw takes more than 150 KiB for a table of lines */

struct question {
	struct dwarf_units *units;
	Dwfl_Module *elf;
	uint64_t address;
	struct dwarf_place *out;
	unsigned count;
};

static void *answer(void *data)
{
	struct question *q = data;

	q->count = find_places(q->units, q->elf, q->address, q->out);
	return NULL;
}

static bool has_room(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_STACK, &r) != 0 || r.rlim_cur >= ROOM;
}

static void answer_with_room(struct question *q)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr) != 0)
		return;
	if (pthread_attr_setstacksize(&attr, ROOM) == 0 &&
	    pthread_create(&thread, &attr, answer, q) == 0)
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
}

unsigned dwarf_places(struct dwarf_units *u, Dwfl_Module *elf, uint64_t address,
		      struct dwarf_place out[DWARF_PLACES])
{
	struct question q = {u, elf, address, out, 0};

	if (has_room())
		answer(&q);
	else
		answer_with_room(&q);
	return q.count;
}

void dwarf_units_release(struct dwarf_units *u)
{
	free(u->at);
	*u = (struct dwarf_units){0};
}
