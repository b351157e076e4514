/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the calling convention puts arguments: System V for x86-64, AAPCS64. Only integers, pointers,
 * floats and structures of integers are known; functions with others are not described.
 */
#include <string.h>

#include "core/table/table.h"

#define STACK_WORDS_MAX 255u

/* What is used up so far. */
struct cursor {
	unsigned gp, fp, stack;
};

struct place {
	uint8_t where, index;
	bool indirect; /* the argument is a pointer to the structure (AAPCS64) */
};

static unsigned words(unsigned bytes)
{
	return (bytes + 7) / 8;
}

static struct place on_stack(struct cursor *c, unsigned n)
{
	struct place p = {TABLE_STACK, (uint8_t)c->stack, false};

	c->stack += n;
	return p;
}

static struct place place_integer(struct cursor *c, unsigned bytes)
{
	unsigned n = words(bytes);
	struct place p = {TABLE_GP, (uint8_t)c->gp, false};

#if defined(__aarch64__)
	if (bytes > 16) {
		p = place_integer(c, 8);
		p.indirect = true;
		return p;
	}
	if (c->gp + n > TABLE_GP_COUNT) {
		c->gp = TABLE_GP_COUNT; /* none of the rest is used by later arguments */
		return on_stack(c, n);
	}
#else
	if (bytes > 16 || c->gp + n > TABLE_GP_COUNT)
		return on_stack(c, n);
#endif
	c->gp += n;
	return p;
}

static struct place place_float(struct cursor *c)
{
	struct place p = {TABLE_FP, (uint8_t)c->fp, false};

	if (c->fp == TABLE_FP_COUNT)
		return on_stack(c, 1);
	c->fp++;
	return p;
}

static bool kind_known(unsigned kind)
{
	return (kind >= KYMO_KIND_UNSIGNED && kind <= KYMO_KIND_STRING) ||
	       (kind >= KYMO_KIND_TIME && kind <= KYMO_KIND_REF);
}

static bool size_known(const kymo_field_t *f)
{
	if (f->kind == KYMO_KIND_FLOAT)
		return f->size == 4 || f->size == 8;
	if (f->kind == KYMO_KIND_STRING)
		return true;
	return f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8;
}

static bool is_argument(const kymo_field_t *f)
{
	return !(f->flags & (KYMO_FIELD_RESULT | KYMO_FIELD_DEREF));
}

/* From the wrapper's frame on. */
static size_t place_in_frame(const struct table_field *f)
{
	switch ((enum table_place)f->place) {
	case TABLE_GP:
		return offsetof(struct table_call, gp) + f->index * sizeof(uint64_t);
	case TABLE_FP:
		return offsetof(struct table_call, fp) + f->index * 2 * sizeof(uint64_t);
	case TABLE_STACK:
		return TABLE_STACK_AT + f->index * sizeof(uint64_t);
	case TABLE_RESULT:
		return offsetof(struct table_call, result);
	case TABLE_FP_RESULT:
		break;
	}
	return offsetof(struct table_call, fp_result);
}

static struct wire_place in_frame(const struct table_field *f)
{
	const size_t at = place_in_frame(f) + (f->indirect ? 0 : f->offset);

	return (struct wire_place){.at = (uint16_t)at,
				   .size = f->size,
				   .way = f->deref || f->indirect ? WIRE_OTHER
								  : wire_way_of(f->kind)};
}

static struct table_field field_of(const kymo_field_t *f)
{
	return (struct table_field){
		.kind = f->kind,
		.size = f->kind == KYMO_KIND_STRING ? 8 : f->size,
		.deref = (f->flags & (KYMO_FIELD_OUT | KYMO_FIELD_DEREF)) != 0,
		.out = (f->flags & KYMO_FIELD_OUT) != 0,
		.after = (f->flags & (KYMO_FIELD_OUT | KYMO_FIELD_RESULT)) != 0,
	};
}

static void put(struct table_field *to, const kymo_field_t *f, struct place p, unsigned offset)
{
	*to = field_of(f);
	to->place = p.where;
	to->index = p.index;
	to->offset = (uint8_t)offset;
	to->indirect = p.indirect;
}

/* A member of a structure lies behind the one before, aligned to its own size. */
static unsigned member_offset(unsigned at, unsigned size)
{
	return (at + size - 1) / size * size;
}

/* Lays out one argument, whose first field is desc->fields[first]; false: not possible. */
static bool argument(const kymo_op_desc_t *desc, unsigned first, const struct table_arg *a,
		     struct cursor *c, struct table_op *op)
{
	const kymo_field_t *f = &desc->fields[first];
	bool number = a->fields == 1 && f->kind == KYMO_KIND_FLOAT && !(f->flags & KYMO_FIELD_OUT);
	struct place p = number ? place_float(c) : place_integer(c, a->bytes);
	unsigned offset = 0;

	for (unsigned i = 0; i < a->fields; i++, f++) {
		if (first + i >= desc->field_count || !is_argument(f))
			return false;
		if (a->fields > 1)
			offset = member_offset(offset, f->size);
		put(&op->fields[first + i], f, p, offset);
		offset += f->size;
	}
	return c->stack <= STACK_WORDS_MAX;
}

/* "*NAME" lies where the argument NAME points, and so does "NAME->MEMBER". */
static bool points(const char *base, const char *name)
{
	size_t n = strlen(base);

	return name[0] == '*' ? strcmp(base, name + 1) == 0
			      : strncmp(base, name, n) == 0 && strncmp(name + n, "->", 2) == 0;
}

static bool dereference(const kymo_op_desc_t *desc, unsigned i, struct table_op *op)
{
	const kymo_field_t *f = &desc->fields[i];

	for (unsigned k = 0; k < desc->field_count; k++) {
		const kymo_field_t *base = &desc->fields[k];
		const struct table_field *b = &op->fields[k];

		if (!is_argument(base) || !points(base->name, f->name))
			continue;
		if (b->size != 8 || base->kind == KYMO_KIND_FLOAT)
			return false;
		put(&op->fields[i], f, (struct place){b->place, b->index, b->indirect}, b->offset);
		return true;
	}
	return false;
}

static bool others(const kymo_op_desc_t *desc, struct table_op *op)
{
	unsigned results = 0;

	for (unsigned i = 0; i < desc->field_count; i++) {
		const kymo_field_t *f = &desc->fields[i];
		struct place p = {f->kind == KYMO_KIND_FLOAT ? TABLE_FP_RESULT : TABLE_RESULT, 0,
				  false};

		if (f->flags & KYMO_FIELD_RESULT) {
			put(&op->fields[i], f, p, 0);
			op->fields[i].deref = false;
			op->fields[i].out = false;
			results++;
		} else if (f->flags & KYMO_FIELD_DEREF && !dereference(desc, i, op)) {
			return false;
		}
	}
	return results + (desc->status_set != NULL) <= 1;
}

bool table_layout(const kymo_op_desc_t *desc, const struct table_arg *args, unsigned arg_count,
		  struct table_op *op)
{
	struct cursor c = {0, 0, 0};
	unsigned field = 0;

	for (unsigned i = 0; i < desc->field_count; i++)
		if (!desc->fields[i].name || !kind_known(desc->fields[i].kind) ||
		    !size_known(&desc->fields[i]))
			return false;
	for (unsigned i = 0; args && i < arg_count; i++) {
		if (!argument(desc, field, &args[i], &c, op))
			return false;
		field += args[i].fields;
	}
	for (; !args && field < desc->field_count; field++) {
		const struct table_arg one = {8, 1};

		if (is_argument(&desc->fields[field]) && !argument(desc, field, &one, &c, op))
			return false;
	}
	op->stack_words = (uint16_t)c.stack;
	op->field_count = desc->field_count;
	op->status = desc->status_set != NULL;
	op->status_ok = desc->status_ok;
	op->described = others(desc, op);
	for (unsigned i = 0; i < op->field_count; i++)
		op->fields[i].in = in_frame(&op->fields[i]);
	return op->described;
}
