/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as what `kymo rewrite` answers. It is refused, or what belongs to blocks belongs to some, and
 * names and the source end inside of it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/counter/rewritten.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, size_t size, const char *s)
{
	if (s && s[0] && (s < text || s + strlen(s) > text + size))
		abort();
}

static void check_all(const struct cap_rewritten *r, const struct cap_rewritten_list *l,
		      size_t size)
{
	for (uint32_t i = 0; i < l->count; i++) {
		const struct cap_rewritten_part *p = &l->at[i];

		check(r->text, size, p->name);
		check(r->text, size, p->what);
		check(r->text, size, p->space);
		check(r->text, size, p->file);
		if (l == &r->parts && p->block >= r->blocks.count)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cap_rewritten r = {.text = NULL};
	char *copy = malloc(size + 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\0';
	if (!cap_rewritten_parse(copy, size, &r))
		return 0;
	check(r.text, size, r.source);
	check_all(&r, &r.kernels, size);
	check_all(&r, &r.blocks, size);
	check_all(&r, &r.parts, size);
	check_all(&r, &r.arguments, size);
	check_all(&r, &r.variables, size);
	cap_rewritten_release(&r);
	return 0;
}
