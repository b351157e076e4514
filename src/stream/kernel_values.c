/* SPDX-License-Identifier: Apache-2.0 */
/* Counters beside their kernels; see kernel_values.h. */
#include "stream/kernel_values.h"

#include <stdio.h>
#include <string.h>

#include "base/bulk.h"
#include "base/hash.h"
#include "record/fields.h"

static uint64_t key_of(uint32_t process, uint64_t correlation)
{
	return hash_mix(process, correlation);
}

bool kernel_values_add(struct kernel_values *v, const struct trace *t, const struct rec_counter *r)
{
	if (t->ops[r->base.op].number != COUNTER_OP_DISPATCH || !r->correlation || !r->counter ||
	    r->counter >= t->counters_count ||
	    strcmp(t->domains[t->ops[r->base.op].domain].name, "counter") != 0)
		return true;
	if (!bulk_reserve(&v->at, &v->room, v->count, 1))
		return false;
	v->at[v->count] = (struct kernel_value){.process = r->base.process,
						.kernel = r->kernel,
						.counter = r->counter,
						.correlation = r->correlation,
						.instance = r->instance,
						.value = r->value};
	return bulk_map_add(&v->places, key_of(r->base.process, r->correlation), ++v->count);
}

void kernel_values_each(const struct kernel_values *v, const struct rec_dispatch *r,
			void (*each)(void *data, const struct kernel_value *value), void *data)
{
	uint64_t i;

	/* A call may submit several kernels. */
	map_each(&v->places, key_of(r->base.process, r->device.correlation), i) {
		const struct kernel_value *x = &v->at[i - 1];

		if (x->process == r->base.process && x->correlation == r->device.correlation &&
		    (!x->kernel || x->kernel == r->kernel))
			each(data, x);
	}
}

void kernel_value_name(const struct trace *t, const struct kernel_value *v, char *out, size_t size)
{
	const struct t_counter *k = &t->counters[v->counter];

	if (*k->dimensions)
		snprintf(out, size, "%.200s [%.*s %llu]", k->name, (int)strcspn(k->dimensions, ":"),
			 k->dimensions, (unsigned long long)v->instance);
	else
		snprintf(out, size, "%.200s", k->name);
}

void kernel_values_release(struct kernel_values *v)
{
	bulk_free(v->at);
	bulk_map_release(&v->places);
	memset(v, 0, sizeof(*v));
}
