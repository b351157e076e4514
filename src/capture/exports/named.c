/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the door of libraries that are recorded where they are named has of its own: calls that a
 * library makes of its own functions go on to them and are not recorded. CUPTI is the other door's.
 */
#include <link.h>
#include <stddef.h>

#include "capture/exports/door.h"

/* Of libkymo.so.1. */
bool kymo_exports_open(const char *domain, void **entries, uint32_t count);

struct exports_own exports_own[EXPORTS_LIBKYMO + 1];

struct search {
	uintptr_t address;
	struct exports_own found;
};

/* From the first to the last byte of the object that has the address. */
static int look(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *s = data;
	uintptr_t from = UINTPTR_MAX, to = 0;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD)
			continue;
		if (info->dlpi_addr + p->p_vaddr < from)
			from = info->dlpi_addr + p->p_vaddr;
		if (info->dlpi_addr + p->p_vaddr + p->p_memsz > to)
			to = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	if (s->address < from || s->address >= to)
		return 0;
	s->found = (struct exports_own){from, to - from};
	return 1;
}

static struct exports_own object_of(const void *address)
{
	struct search s = {(uintptr_t)address, {0, 0}};

	dl_iterate_phdr(look, &s);
	return s.found;
}

void door_opened(unsigned library, const void *function)
{
	exports_own[library] = object_of(function);
	exports_own[EXPORTS_LIBKYMO] = object_of((void *)(uintptr_t)kymo_exports_open);
}

bool door_inner(const void *function, const void *caller)
{
	const struct exports_own own = object_of(function);

	return (uintptr_t)caller - own.from < own.size;
}

bool cupti_has(const char *name)
{
	return false;
}

void *cupti_dlsym(void *handle, const char *name, const void *caller)
{
	return NULL; /* never called, since it has none */
}

bool cupti_is_thunk(const void *function)
{
	return false;
}
