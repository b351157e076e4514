/* SPDX-License-Identifier: Apache-2.0 */
/* What tells kernels where there is little room, as in the summary: docs/page.md, member `briefs` of the head. */
#include <stdlib.h>
#include <string.h>

#include "analysis/brief_names.h"
#include "base/hash.h"
#include "page/page.h"

enum { COLUMNS = 60 };

struct briefs {
	struct text *of;  /* by name; empty: it has none */
	struct map owner; /* hash of a text: its name + 1 */
};

/* The name that has this text, or UINT32_MAX. */
static uint32_t owner_of(struct briefs *b, const struct text *t)
{
	uint64_t i;

	map_each(&b->owner, hash_bytes(t->s, t->length), i)
		if (b->of[i - 1].s && strcmp(b->of[i - 1].s, t->s) == 0)
			return (uint32_t)i - 1;
	return UINT32_MAX;
}

/* Two kernels are never told alike: where they would be, both keep their names. False: no memory. */
static bool shorten(struct briefs *b, const struct page_data *d, bool *shared, uint32_t name)
{
	struct text t = {0};
	uint32_t other;

	if (b->of[name].s)
		return true;
	brief_name(&t, d->names[name], COLUMNS);
	if (t.failed || !t.s) {
		text_release(&t);
		return false;
	}
	other = owner_of(b, &t);
	b->of[name] = t;
	if (other == UINT32_MAX)
		return map_add(&b->owner, hash_bytes(t.s, t.length), name + 1u);
	shared[name] = shared[other] = true;
	return true;
}

static void put(FILE *out, const struct page_data *d, const struct briefs *b, const bool *shared)
{
	const char *comma = "";

	for (uint32_t i = 0; i < d->name_count; i++) {
		if (!b->of[i].s || shared[i] || strcmp(b->of[i].s, d->names[i]) == 0)
			continue;
		fprintf(out, "%s[%u, ", comma, i);
		json_string(out, b->of[i].s);
		fputs("]", out);
		comma = ",\n";
	}
}

void page_put_briefs(FILE *out, const struct page_data *d)
{
	struct briefs b = {.of = calloc(d->name_count + 1u, sizeof(*b.of))};
	bool *shared = calloc(d->name_count + 1u, sizeof(*shared));
	bool ok = b.of && shared;

	for (uint32_t i = 0; ok && i < d->op_count; i++)
		if (strcmp(d->ops[i].kind, "kernel") == 0)
			ok = shorten(&b, d, shared, d->ops[i].name);
	fputs("[", out);
	if (ok)
		put(out, d, &b, shared);
	fputs("]", out);
	for (uint32_t i = 0; b.of && i < d->name_count; i++)
		text_release(&b.of[i]);
	map_release(&b.owner);
	free(b.of);
	free(shared);
}
