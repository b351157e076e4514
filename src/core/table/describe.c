/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions of tables that are made at run time: copies of what a library told of itself (it may
 * be unloaded, core keeps descriptions for ever), and names for entries nobody has described.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/table/table.h"

/* All pieces of a copy hang on one list; they go together, or never. */
struct piece {
	struct piece *next;
	max_align_t data[];
};

struct copy {
	struct table_model model; /* first */
	kymo_domain_desc_t desc;
	struct piece *pieces;
	bool failed;
};

static void *piece(struct copy *c, size_t bytes)
{
	struct piece *p = calloc(1, sizeof(*p) + bytes);

	if (!p) {
		c->failed = true;
		return NULL;
	}
	p->next = c->pieces;
	c->pieces = p;
	return p->data;
}

static void *duplicate(struct copy *c, const void *from, size_t bytes)
{
	void *to = from ? piece(c, bytes) : NULL;

	return to ? memcpy(to, from, bytes) : NULL;
}

static const char *text(struct copy *c, const char *from)
{
	return from ? duplicate(c, from, strlen(from) + 1) : NULL;
}

static const kymo_enum_set_t *set_copy(struct copy *c, const kymo_enum_set_t *from)
{
	kymo_enum_set_t *set = duplicate(c, from, sizeof(*from));
	kymo_enum_value_t *values;

	if (!set)
		return NULL;
	set->name = text(c, from->name ? from->name : "");
	values = duplicate(c, from->values, from->count * sizeof(*values));
	for (uint32_t i = 0; values && i < from->count; i++)
		values[i].name = text(c, values[i].name ? values[i].name : "");
	set->values = values;
	set->count = values ? from->count : 0;
	return set;
}

static void op_copy(struct copy *c, kymo_op_desc_t *op)
{
	static const kymo_field_t none;
	kymo_field_t *fields;

	op->name = text(c, op->name);
	op->status_set = set_copy(c, op->status_set);
	if (!op->fields)
		return;
	/* A list of no fields differs from none at all: there are no arguments. */
	fields = duplicate(c, op->field_count ? op->fields : &none,
			   (op->field_count ? op->field_count : 1u) * sizeof(*fields));
	for (unsigned i = 0; fields && i < op->field_count; i++) {
		fields[i].name = text(c, fields[i].name);
		fields[i].type = text(c, fields[i].type ? fields[i].type : "");
		fields[i].set = set_copy(c, fields[i].set);
	}
	op->fields = fields;
}

static bool plausible(const kymo_domain_desc_t *d)
{
	if (!d->name || !d->ops || d->op_count == 0 || d->op_count > KYMO_TABLE_ENTRIES_MAX)
		return false;
	for (uint32_t i = 0; i < d->op_count; i++) {
		const kymo_op_desc_t *op = &d->ops[i];

		if (!op->name || op->field_count > KYMO_FIELDS_MAX ||
		    (op->field_count && !op->fields))
			return false;
		for (unsigned f = 0; f < op->field_count; f++)
			if (!op->fields[f].name)
				return false;
	}
	return true;
}

static struct table_model *finish(struct copy *c)
{
	if (c->failed) {
		table_model_free(&c->model);
		return NULL;
	}
	c->model.desc = &c->desc;
	return &c->model;
}

struct table_model *table_model_copy(const kymo_domain_desc_t *desc)
{
	struct copy *c = plausible(desc) ? calloc(1, sizeof(*c)) : NULL;
	kymo_op_desc_t *ops;

	if (!c)
		return NULL;
	c->desc = *desc;
	c->desc.size = sizeof(c->desc);
	c->desc.name = text(c, desc->name);
	c->desc.title = text(c, desc->title ? desc->title : desc->name);
	ops = duplicate(c, desc->ops, desc->op_count * sizeof(*ops));
	for (uint32_t i = 0; ops && i < desc->op_count; i++)
		op_copy(c, &ops[i]);
	c->desc.ops = ops;
	return finish(c);
}

const kymo_domain_desc_t *table_describe(struct table_model *model)
{
	const kymo_domain_desc_t *desc = __atomic_load_n(&model->desc, __ATOMIC_ACQUIRE);

	if (!desc && model->packed) {
		desc = packed_describe(model->packed, 0);
		__atomic_store_n(&model->desc, desc, __ATOMIC_RELEASE);
	}
	return desc;
}

struct table_model *table_model_unknown(const char *name, uint32_t entries)
{
	struct copy *c = entries ? calloc(1, sizeof(*c)) : NULL;
	kymo_op_desc_t *ops;
	char entry[32];

	if (!c)
		return NULL;
	ops = piece(c, entries * sizeof(*ops));
	for (uint32_t i = 0; ops && i < entries; i++) {
		snprintf(entry, sizeof(entry), "entry%u", i);
		ops[i].name = text(c, entry);
	}
	c->desc = (kymo_domain_desc_t){.size = sizeof(c->desc),
				       .name = text(c, name),
				       .title = text(c, name),
				       .op_count = entries,
				       .ops = ops};
	return finish(c);
}

void table_model_free(struct table_model *model)
{
	struct copy *c = (struct copy *)model; /* the model is its first member */
	struct piece *p, *next;

	if (!c)
		return;
	for (p = c->pieces; p; p = next) {
		next = p->next;
		free(p);
	}
	free(c);
}
