/* SPDX-License-Identifier: Apache-2.0 */
/* See packed.h. What is made lies in memory of its own, which nobody can write to afterwards. */
#include "base/packed.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

/* All that is made of one `struct packed`. Alignment: everything here is a multiple of 8 bytes. */
struct made {
	const struct packed *of;
	struct made *next;
	size_t bytes;
	kymo_domain_desc_t *domains;
	kymo_op_desc_t *ops;
	kymo_field_t *fields;
	kymo_enum_set_t *sets;
	kymo_enum_value_t *values;
};

static struct made *_Atomic all_made;

static struct made *made_find(const struct packed *p)
{
	struct made *m = atomic_load_explicit(&all_made, memory_order_acquire);

	while (m && m->of != p)
		m = m->next;
	return m;
}

/* Memory for all rows, one kind after the other. */
static struct made *made_new(const struct packed *p)
{
	const size_t bytes =
		sizeof(struct made) + p->domain_count * sizeof(kymo_domain_desc_t) +
		p->op_count * sizeof(kymo_op_desc_t) + p->field_count * sizeof(kymo_field_t) +
		p->set_count * sizeof(kymo_enum_set_t) + p->value_count * sizeof(kymo_enum_value_t);
	struct made *m =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		return NULL;
	m->of = p;
	m->bytes = bytes;
	m->domains = (kymo_domain_desc_t *)(m + 1);
	m->ops = (kymo_op_desc_t *)(m->domains + p->domain_count);
	m->fields = (kymo_field_t *)(m->ops + p->op_count);
	m->sets = (kymo_enum_set_t *)(m->fields + p->field_count);
	m->values = (kymo_enum_value_t *)(m->sets + p->set_count);
	return m;
}

static void sets_make(const struct packed *p, struct made *m)
{
	const struct packed_value *values = packed_at(p, p->values);
	const struct packed_set *sets = packed_at(p, p->sets);

	for (uint32_t i = 0; i < p->value_count; i++)
		m->values[i] = (kymo_enum_value_t){packed_text(p, values[i].name), values[i].value};
	for (uint32_t i = 0; i < p->set_count; i++)
		m->sets[i] =
			(kymo_enum_set_t){packed_text(p, sets[i].name),
					  &m->values[sets[i].first_value], sets[i].value_count};
}

static void ops_make(const struct packed *p, struct made *m)
{
	const struct packed_field *fields = packed_at(p, p->fields);

	for (uint32_t i = 0; i < p->field_count; i++) {
		const struct packed_field *f = &fields[i];

		m->fields[i] = (kymo_field_t){packed_text(p, f->name),
					      packed_text(p, f->type),
					      f->set ? &m->sets[f->set - 1] : NULL,
					      f->kind,
					      f->element,
					      f->size,
					      f->flags};
	}
	for (uint32_t i = 0; i < p->op_count; i++) {
		const struct packed_op *o = packed_op(p, i);

		m->ops[i] = (kymo_op_desc_t){packed_text(p, o->name),
					     o->first_field ? &m->fields[o->first_field - 1] : NULL,
					     o->field_count,
					     o->flags,
					     o->status_set ? &m->sets[o->status_set - 1] : NULL,
					     o->status_ok};
	}
}

static void domains_make(const struct packed *p, struct made *m)
{
	const struct packed_domain *domains = packed_at(p, p->domains);

	for (uint32_t i = 0; i < p->domain_count; i++) {
		const struct packed_domain *d = &domains[i];

		m->domains[i] = (kymo_domain_desc_t){sizeof(kymo_domain_desc_t),
						     packed_text(p, d->name),
						     packed_text(p, d->title),
						     d->version,
						     d->op_count,
						     &m->ops[d->first_op]};
	}
}

/* Makes it known, unless another thread was faster: then what that one made counts. */
static struct made *made_add(struct made *m)
{
	struct made *head = atomic_load_explicit(&all_made, memory_order_acquire);
	struct made *other;

	do {
		other = made_find(m->of);
		if (other) {
			munmap(m, m->bytes);
			return other;
		}
		m->next = head;
	} while (!atomic_compare_exchange_weak_explicit(&all_made, &head, m, memory_order_acq_rel,
							memory_order_acquire));
	mprotect(m, m->bytes, PROT_READ);
	return m;
}

static struct made *made_get(const struct packed *p)
{
	struct made *m = made_find(p);
	const int kept = errno;

	if (m)
		return m;
	m = made_new(p);
	if (m) {
		sets_make(p, m);
		ops_make(p, m);
		domains_make(p, m);
		m = made_add(m);
	}
	errno = kept;
	return m;
}

const kymo_domain_desc_t *packed_describe(const struct packed *p, uint32_t domain)
{
	const struct made *m = made_get(p);

	return m && domain < p->domain_count ? &m->domains[domain] : NULL;
}

const kymo_field_t *packed_describe_fields(const struct packed *p, uint32_t first)
{
	const struct made *m = made_get(p);

	return m && first && first <= p->field_count ? &m->fields[first - 1] : NULL;
}
