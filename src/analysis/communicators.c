/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of communicators; see communicators.h. */
#include "analysis/communicators.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/map.h"

/* What it is called. */
static uint64_t hash_of_name(const struct t_communicator *c)
{
	uint64_t hash = hash_string(c->name);

	hash = hash_add(hash, &c->kind, sizeof(c->kind));
	return hash_add(hash, &c->size, sizeof(c->size));
}

/* All its ranks have the key, which those of one rank make up on their own. */
static uint64_t hash_of_one(const struct t_communicator *c, uint64_t name)
{
	return c->size > 1 ? hash_add(name, &c->key, sizeof(c->key)) : name;
}

uint32_t *communicators_numbered(const struct trace *t)
{
	struct map counts = {0}, numbers = {0};
	uint32_t *out = calloc(t->communicators_count + 1u, sizeof(*out));
	bool ok = out != NULL;

	for (uint32_t i = 1; ok && i < t->communicators_count; i++) {
		uint64_t name = hash_of_name(&t->communicators[i]);
		uint64_t one = hash_of_one(&t->communicators[i], name);

		if (!map_get(&numbers, one))
			ok = map_set(&counts, name, map_get(&counts, name) + 1) &&
			     map_set(&numbers, one, map_get(&counts, name));
		out[i] = (uint32_t)map_get(&numbers, one);
	}
	for (uint32_t i = 1; ok && i < t->communicators_count; i++)
		if (map_get(&counts, hash_of_name(&t->communicators[i])) < 2)
			out[i] = 0;
	map_release(&counts);
	map_release(&numbers);
	if (!ok) {
		free(out);
		return NULL;
	}
	return out;
}
