/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of calls. They lie in a table of their own, by event; writers put them in the order of events,
 * so that they are met one after the other, and what is not so is found by an index. What an operation has
 * as fields is what the first pass meets of its calls; numbers are those whose values all are.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "base/vec.h"
#include "formats/rocpd/columns.h"
#include "formats/rocpd/reader.h"

enum { SAW_NUMBER = 1, SAW_NEGATIVE = 2, SAW_HUGE = 4, SAW_POINTER = 8, SAW_TEXT = 16 };

struct argument {
	const char *name, *type;
	uint32_t length; /* of the name */
	uint8_t saw;
};

struct op_arguments {
	struct argument *list;
	uint32_t count, room;
	bool wanted;
};

struct arg_row {
	int64_t event, row;
};

/* ---- where they lie ---------------------------------------------------------------------------- */

static bool read_here(struct set *s, struct dbvalue all[DBFILE_COLUMNS], struct dbrow *row)
{
	return dbrow_read(&s->tables[T_ARG], &s->args.walk, all, row);
}

/* Of which event the row is. */
static bool read_owner(struct set *s, int64_t *event)
{
	return dbrow_read_number(&s->tables[T_ARG], &s->args.walk, C_ARG_EVENT, event);
}

/* The next row that can be read becomes the one it stands on. */
static void step(struct set *s)
{
	struct args *a = &s->args;

	a->before = a->there ? a->event : a->before;
	a->there = false;
	while (!a->there && dbwalk_next(&a->walk))
		a->there = read_owner(s, &a->event);
}

static int compare_rows(const void *a, const void *b, void *none)
{
	const struct arg_row *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* In another order than that of their events, or with gaps: an index of them all. */
static bool make_index(struct set *s)
{
	struct args *a = &s->args;
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbrow row;
	uint64_t room = 0;

	dbwalk_release(&a->walk);
	dbwalk_init(&a->walk, s->file, s->tables[T_ARG].root);
	while (dbwalk_next(&a->walk)) {
		if (!read_here(s, all, &row))
			continue;
		if (!bulk_reserve(&a->index, &room, a->indexed, 1))
			return false;
		a->index[a->indexed++] =
			(struct arg_row){row_number(NULL, &row, C_ARG_EVENT), row.id};
	}
	return bulk_sort(&a->index, a->indexed, sizeof(*a->index), compare_rows, NULL);
}

/* Passes over records do not meet it again. */
static void keep_damage(struct reader *r, const struct set *s, uint64_t before)
{
	if (r->damaged)
		r->damaged[s->file - r->files] += s->file->damaged - before;
}

/* False: no memory. */
static bool open_set(struct reader *r, struct set *s)
{
	struct args *a = &s->args;
	const struct dbtable *t = &s->tables[T_ARG];
	struct dbvalue all[DBFILE_COLUMNS];
	uint64_t damaged = s->file->damaged;
	struct dbrow row;
	bool in_order = true;
	int64_t event = INT64_MIN;

	a->opened = true;
	if (!t->root)
		return true;
	dbwalk_init(&a->walk, s->file, s->tables[T_ARG].root);
	while (dbwalk_next(&a->walk)) {
		if (!dbrow_read_some(t, &a->walk, dbtable_column(t, C_ARG_EVENT), all, &row))
			continue;
		in_order &= !a->rows || row.id == a->last + 1;
		a->first = a->rows++ ? a->first : row.id;
		a->last = row.id;
		in_order &= row_number(r, &row, C_ARG_EVENT) >= event;
		event = row_number(NULL, &row, C_ARG_EVENT);
	}
	in_order &= s->file->damaged == damaged;
	keep_damage(r, s, damaged);
	damaged = s->file->damaged;
	a->before = INT64_MIN;
	if (!in_order && !make_index(s))
		return false;
	s->file->damaged = damaged; /* the same pages again */
	a->there = false;
	return true;
}

static bool every_op(const struct trace *t, const struct t_op *op)
{
	return true;
}

bool args_want_all(struct reader *r)
{
	r->args_of = every_op;
	for (uint32_t i = 0; i < r->sets_count; i++)
		if (!open_set(r, &r->sets[i]))
			return false;
	return true;
}

/* Rows have the numbers first ... last, in the order of their events: stands on the first of `event` or behind. */
static void search(struct set *s, int64_t event)
{
	struct args *a = &s->args;
	int64_t from = a->first, to = a->last + 1, owner;

	while (from < to) {
		int64_t middle = from + (to - from) / 2;

		if (dbwalk_seek(&a->walk, middle) && read_owner(s, &owner) && owner < event)
			from = middle + 1;
		else
			to = middle;
	}
	a->event = 0;
	a->there = from <= a->last && dbwalk_seek(&a->walk, from) && read_owner(s, &a->event);
	a->before = event - 1;
}

static void find_indexed(struct args *a, int64_t event)
{
	uint64_t from = 0, to = a->indexed;

	while (from < to) {
		uint64_t middle = from + (to - from) / 2;

		if (a->index[middle].event < event)
			from = middle + 1;
		else
			to = middle;
	}
	a->at = from;
}

static void find(struct set *s, int64_t event)
{
	struct args *a = &s->args;

	if (a->index)
		find_indexed(a, event);
	else if (!(a->before < event && (a->there ? event <= a->event : a->before > INT64_MIN)))
		search(s, event);
}

/* The next of the event, until there are no more. */
static bool next(struct set *s, int64_t event, struct dbvalue all[DBFILE_COLUMNS],
		 struct dbrow *row)
{
	struct args *a = &s->args;

	if (!a->index)
		return a->there && a->event == event && read_here(s, all, row);
	while (a->at < a->indexed && a->index[a->at].event == event)
		if (dbwalk_seek(&a->walk, a->index[a->at++].row) && read_here(s, all, row))
			return true;
	return false;
}

static void done(struct set *s)
{
	if (!s->args.index)
		step(s);
}

/* ---- what they are ----------------------------------------------------------------------------- */

static inline bool says(const struct dbvalue *v, const char *text, uint32_t n)
{
	return v->type == DB_TEXT ? v->length == n && memcmp(v->text, text, n) == 0 : !n;
}

static bool is_null(const struct dbvalue *v)
{
	return says(v, "NULL", 4);
}

static unsigned digit_of(char c)
{
	return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
	       : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
				      : 16;
}

/* As Kymo writes numbers: others stay texts, so that they are shown as they are written. */
static bool read_value(const struct dbvalue *v, uint8_t *saw, uint64_t *out)
{
	bool negative = v->type == DB_TEXT && v->length && v->text[0] == '-';
	bool hex = v->type == DB_TEXT && v->length > 2 && memcmp(v->text, "0x", 2) == 0;
	uint32_t at = hex ? 2 : negative;
	uint64_t base = hex ? 16 : 10;

	*saw = SAW_TEXT;
	if (v->type != DB_TEXT || v->length == at)
		return false;
	if (v->text[at] == '0' && (v->length > at + 1 || negative || hex))
		return false;
	*out = 0;
	for (uint32_t i = at; i < v->length; i++) {
		unsigned digit = digit_of(v->text[i]);

		if (digit >= base || __builtin_mul_overflow(*out, base, out) ||
		    __builtin_add_overflow(*out, digit, out))
			return false;
	}
	if (negative && *out > INT64_MAX)
		return false;
	*saw = hex        ? SAW_POINTER
	       : negative ? SAW_NEGATIVE
			  : SAW_NUMBER | (*out > INT64_MAX ? SAW_HUGE : 0);
	*out = negative ? 0 - *out : *out;
	return true;
}

static uint8_t kind_of(const struct argument *a)
{
	if (strstr(a->type, "char") || !a->saw || a->saw & SAW_TEXT ||
	    (a->saw & SAW_POINTER && a->saw != SAW_POINTER) ||
	    (a->saw & SAW_HUGE && a->saw & SAW_NEGATIVE))
		return KYMO_KIND_STRING;
	if (a->saw == SAW_POINTER)
		return KYMO_KIND_POINTER;
	return a->saw & SAW_NEGATIVE ? KYMO_KIND_SIGNED : KYMO_KIND_UNSIGNED;
}

/* Of which of the operation's arguments from `from` on the row is one; their number: of none. */
static uint32_t place_of(const struct op_arguments *o, const struct dbrow *row, uint32_t from)
{
	const struct dbvalue *name = dbrow_value(row, C_ARG_NAME);

	while (from < o->count && !says(name, o->list[from].name, o->list[from].length))
		from++;
	return from;
}

static const char *keep(struct reader *r, const struct dbvalue *v)
{
	return v->type == DB_TEXT ? trace_string(r->t, v->text, v->length) : "";
}

static struct op_arguments *of_op(struct reader *r, uint32_t op)
{
	while (r->op_args_count <= op) {
		const struct t_op *next = &r->t->ops[r->op_args_count];

		if (!vec_reserve(&r->op_args, &r->op_args_room, r->op_args_count, 1))
			return NULL;
		r->op_args[r->op_args_count++] =
			(struct op_arguments){.wanted = r->args_of && r->args_of(r->t, next)};
	}
	return &r->op_args[op];
}

static void add_argument(struct reader *r, struct op_arguments *o, const struct dbrow *row)
{
	const char *name = keep(r, dbrow_value(row, C_ARG_NAME));

	o->list[o->count++] = (struct argument){.name = name,
						.type = keep(r, dbrow_value(row, C_ARG_TYPE)),
						.length = name ? (uint32_t)strlen(name) : 0};
}

static bool learn_one(struct reader *r, struct op_arguments *o, const struct dbrow *row,
		      uint32_t *at)
{
	const struct dbvalue *value = dbrow_value(row, C_ARG_VALUE);
	uint64_t number;
	uint8_t saw;

	*at = place_of(o, row, *at);
	if (*at == o->count && o->count == KYMO_FIELDS_MAX)
		return true;
	if (*at == o->count) {
		if (!vec_reserve(&o->list, &o->room, o->count, 1))
			return false;
		add_argument(r, o, row);
	}
	if (!is_null(value)) {
		read_value(value, &saw, &number);
		o->list[*at].saw |= saw;
	}
	++*at;
	return true;
}

bool args_learn(struct reader *r, struct set *s, uint32_t op, int64_t event)
{
	struct op_arguments *o = of_op(r, op);
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbrow row;
	uint32_t at = 0;
	bool ok = true;

	if (!o || !o->wanted)
		return o;
	if (!s->args.opened && !open_set(r, s))
		return false;
	if (!s->args.rows)
		return true;
	for (find(s, event); ok && next(s, event, all, &row); done(s)) {
		ok = learn_one(r, o, &row, &at);
		s->args.of_calls++;
	}
	return ok;
}

void args_define(struct reader *r)
{
	for (uint32_t i = 0; i < r->op_args_count; i++) {
		const struct op_arguments *o = &r->op_args[i];
		struct t_field *fields;

		if (!o->count)
			continue;
		fields = trace_alloc(r->t, o->count * sizeof(*fields));
		for (uint32_t k = 0; fields && k < o->count; k++) {
			uint8_t kind = kind_of(&o->list[k]);

			fields[k] = (struct t_field){.name = o->list[k].name,
						     .type = o->list[k].type,
						     .kind = kind,
						     .size = kind == KYMO_KIND_STRING ? 1 : 8};
		}
		r->t->ops[i].fields = fields;
		r->t->ops[i].field_count = fields ? o->count : 0;
	}
}

/* ---- of one call ------------------------------------------------------------------------------- */

/* Texts that have something special in them are quoted, with escapes. */
static void put_text(struct reader *r, const struct dbvalue *v)
{
	char text[WIRE_RECORD_MAX];
	bool quoted = v->length > 1 && v->text[0] == '"' && v->text[v->length - 1] == '"';

	if (quoted)
		make_text(&r->fields, text,
			  json_unescape(v->text + 1, v->length - 2, text, sizeof(text)));
	else
		make_text(&r->fields, v->text, v->length);
}

static void put_value(struct reader *r, const struct t_field *field, const struct dbvalue *v)
{
	uint64_t number;
	uint8_t saw;

	if (is_null(v) || v->type != DB_TEXT)
		make_absent(&r->fields);
	else if (field->kind == KYMO_KIND_STRING)
		put_text(r, v);
	else if (read_value(v, &saw, &number))
		make_number(&r->fields, number);
	else
		make_absent(&r->fields);
}

const struct wire_record *args_read(struct reader *r, struct set *s, uint32_t op, int64_t event)
{
	const struct op_arguments *o = op < r->op_args_count ? &r->op_args[op] : NULL;
	struct dbvalue all[DBFILE_COLUMNS];
	struct dbrow row;

	if (!o || !s->args.rows || !r->t->ops[op].field_count)
		return NULL;
	make_fields_begin(&r->fields, &r->t->ops[op]);
	for (find(s, event); next(s, event, all, &row); done(s)) {
		uint32_t at = place_of(o, &row, r->fields.index);

		if (at == o->count) {
			unplaced_add(&r->skipped, "arguments beyond those that an operation has",
				     1);
			continue;
		}
		while (r->fields.index < at)
			make_absent(&r->fields);
		put_value(r, &r->t->ops[op].fields[at], dbrow_value(&row, C_ARG_VALUE));
	}
	return make_fields_end(&r->fields);
}

uint64_t args_of_others(const struct reader *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; r->args_of == every_op && i < r->sets_count; i++)
		n += r->sets[i].args.rows - r->sets[i].args.of_calls;
	return n;
}

void args_close(struct reader *r)
{
	for (uint32_t i = 0; i < r->sets_count; i++) {
		dbwalk_release(&r->sets[i].args.walk);
		bulk_free(r->sets[i].args.index);
	}
	for (uint32_t i = 0; i < r->op_args_count; i++)
		free(r->op_args[i].list);
	free(r->op_args);
}
