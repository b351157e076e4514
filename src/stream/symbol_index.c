/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols by address; see symbol_index.h. */
#include "stream/symbol_index.h"

#include <stdlib.h>

#include "base/vec.h"

static unsigned visibility(const GElf_Sym *s)
{
	switch (GELF_ST_BIND(s->st_info)) {
	case STB_GLOBAL:
		return 0;
	case STB_WEAK:
		return 1;
	case STB_LOCAL:
		return 2;
	default: /* STB_GNU_UNIQUE */
		return 0;
	}
}

static bool is_code(const GElf_Sym *s)
{
	switch (GELF_ST_TYPE(s->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
	case STT_NOTYPE:
		return s->st_shndx != SHN_UNDEF && s->st_shndx != SHN_ABS;
	default:
		return false;
	}
}

/* Bytes from the label to the end of its section; 0: that is none that is loaded. */
static uint64_t rest_of_section(const GElf_Sym *s, GElf_Word section, Elf *elf)
{
	GElf_Shdr memory, *h = gelf_getshdr(elf_getscn(elf, section), &memory);

	if (!h || !(h->sh_flags & SHF_ALLOC) || s->st_value < h->sh_addr ||
	    s->st_value - h->sh_addr >= h->sh_size)
		return 0;
	return h->sh_size - (s->st_value - h->sh_addr);
}

static int by_start(const void *a, const void *b)
{
	const struct symbol_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->visibility != y->visibility) /* what is preferred comes last: it is found first */
		return x->visibility > y->visibility ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return y->number - x->number;
}

static bool add(struct symbol_index *x, Dwfl_Module *m, int number)
{
	GElf_Word section = SHN_UNDEF;
	GElf_Sym s = {0};
	Elf *elf = NULL;
	GElf_Addr start;
	const char *name = dwfl_module_getsym_info(m, number, &s, &start, &section, &elf, NULL);
	struct symbol_ranges *r = s.st_size ? &x->sized : &x->labels;
	uint64_t size;

	if (!name || !*name || !is_code(&s))
		return true;
	size = s.st_size ? s.st_size : rest_of_section(&s, section, elf);
	if (!size)
		return true;
	if (!vec_reserve(&r->at, &r->room, r->count, 1))
		return false;
	r->at[r->count++] = (struct symbol_range){.start = start,
						  .end = start + size,
						  .name = name,
						  .visibility = visibility(&s),
						  .number = number,
						  .sized = s.st_size != 0};
	return true;
}

static void sort(struct symbol_ranges *r)
{
	uint64_t end = 0;

	if (r->count)
		qsort(r->at, r->count, sizeof(*r->at), by_start);
	for (size_t i = 0; i < r->count; i++) {
		end = r->at[i].end > end ? r->at[i].end : end;
		r->at[i].ends_until = end;
	}
}

static void make(struct symbol_index *x, Dwfl_Module *m)
{
	const int n = dwfl_module_getsymtab(m);

	x->made = true;
	for (int i = 0; i < n && add(x, m, i); i++)
		;
	sort(&x->sized);
	sort(&x->labels);
}

/* How many begin at or before the address. */
static size_t begun(const struct symbol_ranges *r, uint64_t address)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (r->at[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct symbol_range *last_with(const struct symbol_ranges *r, size_t n,
					    uint64_t address)
{
	for (; n && r->at[n - 1].ends_until > address; n--)
		if (r->at[n - 1].end > address)
			return &r->at[n - 1];
	return NULL;
}

const struct symbol_range *symbol_index_find(struct symbol_index *x, Dwfl_Module *m,
					     uint64_t address)
{
	const struct symbol_range *found;
	size_t n;

	if (!x->made)
		make(x, m);
	n = begun(&x->sized, address);
	found = last_with(&x->sized, n, address);
	if (found)
		return found;
	found = last_with(&x->labels, begun(&x->labels, address), address);
	return found && (!n || x->sized.at[n - 1].ends_until <= found->start) ? found : NULL;
}

void symbol_index_release(struct symbol_index *x)
{
	free(x->sized.at);
	free(x->labels.at);
	*x = (struct symbol_index){0};
}
