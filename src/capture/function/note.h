/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of an object that is loaded. Under the loader's lock of the list of objects. */
#ifndef CAPTURE_FUNCTION_NOTE_H
#define CAPTURE_FUNCTION_NOTE_H

#include <link.h>
#include <stdint.h>
#include <string.h>

#include "wire/plan.h"

static inline const uint8_t *function_note_in(const uint8_t *p, size_t size, const char *owner,
					      uint32_t type, uint32_t *bytes)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const void *)p;
		size_t name = ((size_t)n->n_namesz + 3) & ~(size_t)3;
		size_t all = sizeof(*n) + name + (((size_t)n->n_descsz + 3) & ~(size_t)3);

		if (all > size)
			break;
		if (n->n_type == type && n->n_namesz == strlen(owner) + 1 &&
		    memcmp(n + 1, owner, n->n_namesz) == 0) {
			*bytes = n->n_descsz;
			return (const uint8_t *)(n + 1) + name;
		}
		p += all;
		size -= all;
	}
	return NULL;
}

/* What the first note of this name and type says, `bytes` of it; NULL: there is none. */
static inline const uint8_t *function_note(const struct dl_phdr_info *o, const char *owner,
					   uint32_t type, uint32_t *bytes)
{
	const uint8_t *found = NULL;

	for (unsigned i = 0; i < o->dlpi_phnum && !found; i++)
		if (o->dlpi_phdr[i].p_type == PT_NOTE)
			found = function_note_in((const uint8_t *)o->dlpi_addr +
							 o->dlpi_phdr[i].p_vaddr,
						 o->dlpi_phdr[i].p_memsz, owner, type, bytes);
	return found;
}

/* Of a file that was instrumented. */
static inline bool function_note_of_plan(const struct dl_phdr_info *o, struct plan_note *out)
{
	uint32_t bytes;
	const uint8_t *note = function_note(o, PLAN_NOTE_NAME, PLAN_NOTE, &bytes);

	if (!note || bytes != sizeof(*out))
		return false;
	memcpy(out, note, sizeof(*out));
	return memcmp(out->magic, PLAN_NOTE_MAGIC, sizeof(out->magic)) == 0;
}

#endif
