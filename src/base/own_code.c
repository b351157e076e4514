/* SPDX-License-Identifier: Apache-2.0 */
/* See own_code.h. */
#include "base/own_code.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

#define OWN 16u
static struct {
	uintptr_t start, end;
} own[OWN];
static uint32_t own_count;

bool own_code_has(const void *address)
{
	const uintptr_t at = (uintptr_t)address;

	for (uint32_t i = 0; i < own_count; i++)
		if (at - own[i].start < own[i].end - own[i].start)
			return true;
	return false;
}

static int add_own(struct dl_phdr_info *info, size_t size, void *data)
{
	if (!info->dlpi_name || !strstr(info->dlpi_name, "/libkymo"))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum && own_count < OWN; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		own[own_count].start = info->dlpi_addr + p->p_vaddr;
		own[own_count++].end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	return 0;
}

void own_code_find(void)
{
	dl_iterate_phdr(add_own, NULL);
}
