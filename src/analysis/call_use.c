/* SPDX-License-Identifier: Apache-2.0 */
/* See call_use.h. */
#include "analysis/call_use.h"

#include <stdlib.h>
#include <string.h>

uint8_t call_use_of(const struct trace *t, const struct t_op *op, const char *domain,
		    call_use_fn *is)
{
	return strcmp(t->domains[op->domain].name, domain) == 0 ? is(op->name) : 0;
}

uint8_t *call_use_ops(const struct trace *t, const char *domain, call_use_fn *is)
{
	uint8_t *ops = calloc(t->ops_count + 1u, sizeof(*ops));

	for (uint32_t i = 0; ops && i < t->ops_count; i++)
		ops[i] = call_use_of(t, &t->ops[i], domain, is);
	return ops;
}

uint32_t call_use_words(const struct trace *t, const struct rec *r, const char *const *names,
			unsigned count, uint64_t *words)
{
	const struct t_field *field;
	struct rec_fields fields;
	struct wire_value value;
	uint32_t there = 0;

	memset(words, 0, count * sizeof(*words));
	if (!r->wire)
		return 0;
	rec_fields_init(&fields, t, r);
	while (rec_fields_next(&fields, &field, &value)) {
		for (unsigned i = 0; value.present && i < count; i++)
			if (strcmp(field->name, names[i]) == 0) {
				words[i] = value.u;
				there |= 1u << i;
			}
	}
	return there;
}
