/* SPDX-License-Identifier: Apache-2.0 */
/* Finding functions by symbols and by call frame information; see functions.h. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "functions/functions.h"

static const char *const hooks[] = {"__cyg_profile_func_enter", "__fentry__", "mcount", "_mcount"};

/* ---- symbols ---- */

static bool add(struct functions *f, const struct function *x)
{
	if (!vec_reserve(&f->items, &f->room, f->count, 1))
		return false;
	f->items[f->count++] = *x;
	return true;
}

static void look_for_hook(struct functions *f, const char *name)
{
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		if (strcmp(name, hooks[i]) == 0)
			f->hook = hooks[i];
}

static bool add_symbol(struct functions *f, const Elf64_Sym *s, const char *name)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);
	struct function x = {.entry = s->st_value,
			     .bytes = s->st_size,
			     .name = name,
			     .names = 1,
			     .source = FUNCTION_SYMBOL};

	if (s->st_shndx == SHN_UNDEF) {
		look_for_hook(f, name);
		return true;
	}
	/* A hidden name becomes a local one when a file is linked, and stays hidden. */
	if (ELF64_ST_BIND(s->st_info) != STB_LOCAL ||
	    ELF64_ST_VISIBILITY(s->st_other) != STV_DEFAULT)
		x.source |= FUNCTION_LINKED;
	if (type == STT_GNU_IFUNC)
		x.source |= FUNCTION_RESOLVER;
	else if (type != STT_FUNC)
		return true;
	return !*name || s->st_shndx == SHN_ABS || add(f, &x);
}

static bool add_table(struct functions *f, const struct image *m, const struct image_part *table)
{
	struct image_part names;
	Elf64_Sym s;

	if (!image_section(m, table->link, &names))
		return true;
	for (uint64_t at = 0; at + sizeof(s) <= table->size; at += sizeof(s)) {
		const char *name;

		memcpy(&s, table->bytes + at, sizeof(s));
		name = image_string(&names, s.st_name);
		if (name && !add_symbol(f, &s, name))
			return false;
	}
	return true;
}

static bool add_symbols(struct functions *f, const struct image *m, bool *complete)
{
	struct image_part table;

	for (unsigned i = 0; i < image_sections(m); i++) {
		if (!image_section(m, i, &table) ||
		    (table.type != SHT_SYMTAB && table.type != SHT_DYNSYM))
			continue;
		*complete |= table.type == SHT_SYMTAB && table.size > 0;
		if (!add_table(f, m, &table))
			return false;
	}
	return true;
}

/* What distributions put beside a stripped file, found by its build id. */
static bool open_debug(struct functions *f)
{
	char path[PATH_MAX], why[IMAGE_WHY];
	const struct image *m = &f->image;
	int n = snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%02x/", m->build_id[0]);

	if (m->build_id_bytes < 2)
		return false;
	for (uint32_t i = 1; i < m->build_id_bytes; i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", m->build_id[i]);
	snprintf(path + n, sizeof(path) - (size_t)n, ".debug");
	return access(path, R_OK) == 0 && image_open(&f->debug, path, why);
}

/* ---- frames ---- */

static bool add_frames(struct functions *f)
{
	for (uint32_t i = 0; i < f->frames.count; i++) {
		const struct frame *r = &f->frames.items[i];
		struct function x = {.entry = r->at, .bytes = r->bytes, .source = FUNCTION_FRAME};

		if (!add(f, &x))
			return false;
	}
	return true;
}

/* ---- merging ---- */

/* Names without underscores first, then shorter ones, so that the choice is the same each time. */
static int by_name(const char *a, const char *b)
{
	size_t x, y;

	if (!a || !b)
		return !a - !b;
	if ((*a == '_') != (*b == '_'))
		return (*a == '_') - (*b == '_');
	x = strlen(a);
	y = strlen(b);
	return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry > y->entry ? 1 : -1;
	return by_name(x->name, y->name);
}

/* The same symbol stands in .symtab and .dynsym, where a version may follow it. */
static void join(struct function *to, const struct function *x, const char **last)
{
	if (x->name && *last && strcmp(x->name, *last) != 0)
		to->names++;
	if (x->name)
		*last = x->name;
	to->source |= x->source;
	if (x->bytes > to->bytes)
		to->bytes = x->bytes;
}

static void merge(struct functions *f)
{
	const char *last = NULL;
	uint32_t n = 0;

	if (f->count)
		qsort(f->items, f->count, sizeof(*f->items), by_address);
	for (uint32_t i = 0; i < f->count; i++) {
		struct function x = f->items[i];

		if (n && f->items[n - 1].entry == x.entry) {
			join(&f->items[n - 1], &x, &last);
			continue;
		}
		last = x.name;
		f->items[n++] = x;
	}
	f->count = n;
	for (uint32_t i = 0; i < n; i++) {
		struct function *x = &f->items[i];

		x->flags =
			(uint16_t)((x->name ? 0 : PLAN_UNNAMED) | (x->names > 1 ? PLAN_SHARED : 0));
	}
}

uint32_t functions_before(const struct functions *f, uint64_t at)
{
	uint32_t low = 0, high = f->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (f->items[middle].entry <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : f->count;
}

static bool find(struct functions *f, char why[IMAGE_WHY])
{
	struct image_part map;
	bool complete = false, ok;

	snprintf(why, IMAGE_WHY, "there is no memory");
	ok = add_symbols(f, &f->image, &complete) && frames_read(&f->image, &f->frames);
	if (ok && !complete && f->image.path && open_debug(f))
		ok = add_symbols(f, &f->debug, &complete);
	if (!ok || !add_frames(f))
		return false;
	merge(f);
	f->sleds = image_find_section(&f->image, "xray_instr_map", &map);
	return true;
}

bool functions_find(struct functions *f, const char *path, char why[IMAGE_WHY])
{
	*f = (struct functions){0};
	return image_open(&f->image, path, why) && find(f, why);
}

bool functions_find_in(struct functions *f, const void *bytes, size_t size, char why[IMAGE_WHY])
{
	*f = (struct functions){0};
	return image_open_bytes(&f->image, bytes, size, why) && find(f, why);
}

void functions_release(struct functions *f)
{
	free(f->items);
	frames_release(&f->frames);
	image_close(&f->image);
	image_close(&f->debug);
	*f = (struct functions){0};
}
