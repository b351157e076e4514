/* SPDX-License-Identifier: Apache-2.0 */
/* Rules by name against the model's fields: a function's arguments are found once, by their names. */
#include <stdarg.h>
#include <string.h>

#include "capture/rocm/work.h"

static const kymo_op_desc_t *op_of(const struct table_model *m, const char *name, uint32_t *number)
{
	for (uint32_t i = 0; i < m->desc->op_count; i++) {
		if (strcmp(m->desc->ops[i].name, name) == 0) {
			*number = i;
			return &m->desc->ops[i];
		}
	}
	return NULL;
}

static int field_of(const kymo_op_desc_t *op, const char *name)
{
	for (uint32_t i = 0; i < op->field_count && i < INT8_MAX; i++)
		if (op->fields[i].name && strcmp(op->fields[i].name, name) == 0)
			return (int)i;
	return -1;
}

static bool resolve(struct rocm_rule *rule, const kymo_op_desc_t *op)
{
	for (unsigned i = 0; i < ROCM_ROLES; i++) {
		int field = rule->names[i] && op->fields ? field_of(op, rule->names[i]) : -1;

		if (rule->names[i] && field < 0)
			return false;
		rule->fields[i] = (int8_t)field;
	}
	return true;
}

void rocm_rule_add(struct rocm_rules *r, const char *op, void (*run)(const struct rocm_call *c),
		   struct rocm_traits traits, ...)
{
	struct rocm_rule *rule = &r->rules[r->count];
	va_list names;
	int role;

	if (r->count++ >= r->room)
		return;
	*rule = (struct rocm_rule){.op = op, .run = run, .traits = traits};
	va_start(names, traits);
	while ((role = va_arg(names, int)) != ROCM_ROLES)
		rule->names[role] = va_arg(names, const char *);
	va_end(names);
}

bool rocm_rules_apply(const struct rocm_rules *r, struct table_model *m,
		      void (*after)(const struct table_call *call))
{
	struct table_after *at = r->after;
	bool all = table_describe(m) && r->count <= r->room;

	if (!all)
		return false;
	for (struct rocm_rule *rule = r->rules; rule < r->rules + r->count; rule++) {
		uint32_t number = 0;
		const kymo_op_desc_t *op = op_of(m, rule->op, &number);

		if (!op || !resolve(rule, op)) {
			all = false;
			continue;
		}
		r->by_op[number] = rule;
		*at++ = (struct table_after){rule->op, after};
	}
	m->after = r->after;
	m->keep_after = true;
	return all;
}

void rocm_run(const struct rocm_rules *r, const struct table_call *call)
{
	const struct rocm_rule *rule = r->by_op[call->slot->cap->number];
	const struct rocm_call c = {call, rule, call->frame};

	/* A child that was forked inside the call has an empty frame. */
	if (rule && call->frame->op &&
	    (!call->frame->has_status || (rule->traits.flags & ROCM_FAILED)))
		rule->run(&c);
}

bool rocm_rule_needed(const struct rocm_rules *r, const char *op)
{
	for (const struct rocm_rule *rule = r->rules; rule < r->rules + r->count; rule++)
		if (strcmp(rule->op, op) == 0)
			return !rule->traits.activities || cap_wants(rule->traits.activities);
	return false;
}

bool rocm_has(const struct rocm_call *c, enum rocm_role role)
{
	return c->rule->fields[role] >= 0;
}

uint64_t rocm_word(const struct rocm_call *c, enum rocm_role role, unsigned i)
{
	const struct table_op *op = c->table->slot->op;
	uint64_t value = 0;

	if (rocm_has(c, role))
		table_value(c->table, &op->fields[(unsigned)c->rule->fields[role] + i], true,
			    &value);
	return value;
}

uint64_t rocm_bytes(const struct rocm_call *c)
{
	uint64_t bytes = rocm_argument(c, ROCM_BYTES);

	if (rocm_has(c, ROCM_ROWS))
		bytes *= rocm_argument(c, ROCM_ROWS);
	if (rocm_has(c, ROCM_SLICES))
		bytes *= rocm_argument(c, ROCM_SLICES);
	return bytes * (c->rule->traits.unit ? c->rule->traits.unit : 1);
}

const void *rocm_pointer(uint64_t value)
{
	return (const void *)(uintptr_t)value;
}
