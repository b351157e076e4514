/* SPDX-License-Identifier: Apache-2.0 */
/* Names, and what slices are: see data.h. */
#include "page/data.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

uint32_t page_name(struct page_data *d, const char *s, size_t n)
{
	uint64_t hash, i;
	char *copy;

	n = n > PAGE_NAME_MOST ? PAGE_NAME_MOST : n;
	hash = hash_bytes(s, n);
	map_each(&d->name_of, hash, i)
		if (strncmp(d->names[i - 1], s, n) == 0 && !d->names[i - 1][n])
			return (uint32_t)i - 1;
	copy = strndup(s, n);
	if (!copy || !vec_reserve(&d->names, &d->name_room, d->name_count, 1) ||
	    !map_add(&d->name_of, hash, d->name_count + 1u)) {
		free(copy);
		d->failed = true;
		return 0;
	}
	d->names[d->name_count] = copy;
	return d->name_count++;
}

uint32_t page_op(struct page_data *d, const char *name, size_t n, const char *domain,
		 const char *kind)
{
	uint32_t text;
	uint64_t hash, i;

	if (d->op_count >= PAGE_OPS_MOST - 8 && strcmp(kind, "range") == 0) {
		name = "(a range with another name)";
		n = strlen(name);
		unplaced_add(&d->left, "names of ranges", 1);
	}
	text = page_name(d, name, n);
	hash = hash_mix(hash_mix(hash_u64(text), hash_string(domain)), hash_string(kind));
	map_each(&d->op_of, hash, i) {
		const struct page_op *o = &d->ops[i - 1];

		if (o->name == text && strcmp(o->domain, domain) == 0 && strcmp(o->kind, kind) == 0)
			return (uint32_t)i - 1;
	}
	if (!vec_reserve(&d->ops, &d->op_room, d->op_count, 1) ||
	    !map_add(&d->op_of, hash, d->op_count + 1u)) {
		d->failed = true;
		return 0;
	}
	d->ops[d->op_count] = (struct page_op){.name = text, .domain = domain, .kind = kind};
	return d->op_count++;
}

static const char *kind_of_op(const struct trace *t, uint32_t op)
{
	const struct t_op *o = &t->ops[op];

	if (o->flags & KYMO_OP_STATE)
		return "state";
	if (strcmp(t->domains[o->domain].name, "openmp") == 0)
		return "openmp";
	if (o->flags & KYMO_OP_ACTIVITY)
		return strcmp(t->domains[o->domain].name, "sync") == 0 ? "wait" : "other";
	return (o->flags & KYMO_OP_WAITS) && !(o->flags & KYMO_OP_SUBMITS) ? "wait" : "call";
}

uint32_t page_op_of_record(struct page_data *d, uint32_t op)
{
	const struct t_op *o = &d->t->ops[op];

	if (!d->of_op[op])
		d->of_op[op] = 1 + page_op(d, o->name, strlen(o->name),
					   d->t->domains[o->domain].name, kind_of_op(d->t, op));
	return d->of_op[op] - 1;
}

static const char *kind_of_copy(uint32_t number)
{
	switch (number) {
	case COPY_OP_FILL:
		return "fill";
	case COPY_OP_MAP:
	case COPY_OP_UNMAP:
		return "map";
	case COPY_OP_MIGRATE:
	case COPY_OP_FAULT:
		return "migration";
	default:
		return "copy";
	}
}

uint32_t page_op_of_work(struct page_data *d, uint32_t op, uint32_t kernel)
{
	const struct t_op *o = &d->t->ops[op];
	const char *domain = d->t->domains[o->domain].name;
	const char *name;

	if (strcmp(domain, "copy") == 0) {
		if (!d->of_op[op])
			d->of_op[op] = 1 + page_op(d, o->name, strlen(o->name), domain,
						   kind_of_copy(o->number));
		return d->of_op[op] - 1;
	}
	kernel = kernel < d->t->kernels_count ? kernel : 0;
	name = d->t->kernels[kernel].name;
	name = kernel && name && *name ? name : "(unknown kernel)";
	if (!d->of_kernel[kernel])
		d->of_kernel[kernel] = 1 + page_op(d, name, strlen(name), domain, "kernel");
	return d->of_kernel[kernel] - 1;
}

uint32_t page_op_of_marker(struct page_data *d, const struct rec_marker *r)
{
	const struct trace *t = d->t;
	const char *domain =
		r->domain && r->domain < t->strings_count ? t->strings[r->domain].text : "marker";
	const char *kind = r->scope ? "range" : "mark";
	bool numbered = r->name && r->name < t->strings_count && !r->domain && r->scope;
	const char *text = r->text_length ? r->text : r->scope ? "(range)" : "(mark)";
	size_t n = r->text_length ? r->text_length : strlen(text);
	uint32_t op;

	domain = *domain ? domain : "marker";
	if (numbered && d->of_string[r->name])
		return d->of_string[r->name] - 1;
	op = page_op(d, text, n, domain, kind);
	if (numbered)
		d->of_string[r->name] = op + 1;
	return op;
}
