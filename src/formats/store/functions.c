/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQL functions on arguments:
 *   kymo_arg(op, args, 'name')  one argument: a number, or text for names, handles and arrays
 *   kymo_args(op, args)         all of them as a JSON object
 *   kymo_status(op, status)     the name of a status, e.g. 'CL_INVALID_VALUE'
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "formats/store/args.h"
#include "formats/store/store.h"

#define VALUE_MAX 4096u

/* The operation and record behind the first two arguments of a function; NULL: no arguments. */
static const struct t_op *arguments(sqlite3_context *c, sqlite3_value **v, struct wire_record *w)
{
	const struct trace *t = sqlite3_user_data(c);
	sqlite3_int64 op = sqlite3_value_int64(v[0]);

	if (op <= 0 || op >= t->ops_count) {
		sqlite3_result_error(c, "kymo_arg: the first argument is no operation of this "
					"trace; use the column `op`",
				     -1);
		return NULL;
	}
	if (sqlite3_value_type(v[1]) == SQLITE_NULL)
		return NULL;
	if (!args_unpack(&t->ops[op], sqlite3_value_blob(v[1]),
			 (size_t)sqlite3_value_bytes(v[1]), w)) {
		sqlite3_result_error(c, "kymo_arg: the second argument holds no arguments; use the "
					"column `args`",
				     -1);
		return NULL;
	}
	return &t->ops[op];
}

static bool is_text(const struct t_field *f)
{
	switch (f->kind) {
	case KYMO_KIND_UNSIGNED:
	case KYMO_KIND_SIGNED:
	case KYMO_KIND_BOOL:
	case KYMO_KIND_SIZE:
	case KYMO_KIND_TIME:
	case KYMO_KIND_REF:
	case KYMO_KIND_FLOAT:
		return false;
	default:
		return true;
	}
}

static bool has_value(const struct t_field *f, const struct wire_value *v)
{
	return v->present || !(f->kind == KYMO_KIND_STRING || f->kind == KYMO_KIND_BYTES ||
			       f->kind == KYMO_KIND_ARRAY);
}

static void result(sqlite3_context *c, const struct t_field *f, const struct wire_value *v)
{
	char text[VALUE_MAX];

	if (!has_value(f, v))
		return;
	if (f->kind == KYMO_KIND_STRING) {
		sqlite3_result_text(c, (const char *)v->data, (int)v->count, SQLITE_TRANSIENT);
	} else if (is_text(f)) {
		rec_value_text(f, v, text, sizeof(text));
		sqlite3_result_text(c, text, -1, SQLITE_TRANSIENT);
	} else if (f->kind == KYMO_KIND_FLOAT) {
		sqlite3_result_double(c, v->f);
	} else {
		sqlite3_result_int64(c, v->i);
	}
}

static void arg_function(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	const char *name = (const char *)sqlite3_value_text(argv[2]);
	struct rec_fields f = {0};
	const struct t_field *field;
	struct wire_record w;
	struct wire_value v;

	f.op = arguments(c, argv, &w);
	if (!f.op || !name)
		return;
	wire_cursor_init(&f.cursor, &w);
	while (rec_fields_next(&f, &field, &v)) {
		if (strcmp(field->name, name) == 0) {
			result(c, field, &v);
			return;
		}
	}
}

static void add_json(struct text *out, const struct t_field *f, const struct wire_value *v)
{
	char text[VALUE_MAX];

	text_add(out, out->length > 1 ? ", " : "");
	text_add_json(out, f->name);
	text_add(out, ": ");
	if (!has_value(f, v)) {
		text_add(out, "null");
		return;
	}
	rec_value_text(f, v, text, sizeof(text));
	if (f->kind == KYMO_KIND_REF) {
		text_addf(out, "%" PRIu64, v->u);
	} else if (f->kind == KYMO_KIND_FLOAT && !isfinite(v->f)) {
		text_add_json(out, text); /* JSON has no such numbers */
	} else if (!is_text(f)) {
		text_add(out, f->kind != KYMO_KIND_BOOL ? text : v->u ? "true" : "false");
	} else if (f->kind == KYMO_KIND_STRING) {
		size_t n = v->count < sizeof(text) - 1 ? v->count : sizeof(text) - 1;

		memcpy(text, v->data, n);
		text[n] = '\0';
		text_add_json(out, text);
	} else {
		text_add_json(out, text);
	}
}

static void args_function(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	struct rec_fields f = {0};
	const struct t_field *field;
	struct text out = {0};
	struct wire_record w;
	struct wire_value v;

	f.op = arguments(c, argv, &w);
	if (!f.op)
		return;
	text_add(&out, "{");
	wire_cursor_init(&f.cursor, &w);
	while (rec_fields_next(&f, &field, &v))
		add_json(&out, field, &v);
	text_add(&out, "}");
	if (out.failed)
		sqlite3_result_error_nomem(c);
	else
		sqlite3_result_text(c, out.s, -1, SQLITE_TRANSIENT);
	text_release(&out);
}

static void status_function(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	const struct trace *t = sqlite3_user_data(c);
	sqlite3_int64 op = sqlite3_value_int64(argv[0]);
	const char *name;

	if (op <= 0 || op >= t->ops_count)
		return;
	name = rec_status_name(&t->ops[op], sqlite3_value_int(argv[1]));
	if (name)
		sqlite3_result_text(c, name, -1, SQLITE_STATIC);
	else
		sqlite3_result_value(c, argv[1]);
}

/* What plain SQLite cannot say: the arguments of all calls as rows, as ROCpd has them. */
static const char views[] =
	"CREATE TEMP VIEW region_args AS SELECT c.id, p.pid, f.type, f.name, j.value FROM call c "
	"JOIN json_each(kymo_args(c.op, c.args)) j "
	"JOIN op_field f ON f.op = c.op AND f.name = j.key "
	"LEFT JOIN thread t ON t.id = c.thread LEFT JOIN process p ON p.id = t.process;";

bool store_functions(sqlite3 *db, const struct trace *t)
{
	int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
	void *data = (void *)(uintptr_t)t;

	return sqlite3_create_function(db, "kymo_arg", 3, flags, data, arg_function, NULL, NULL) ==
		       SQLITE_OK &&
	       sqlite3_create_function(db, "kymo_args", 2, flags, data, args_function, NULL,
				       NULL) == SQLITE_OK &&
	       sqlite3_create_function(db, "kymo_status", 2, flags, data, status_function, NULL,
				       NULL) == SQLITE_OK &&
	       sqlite3_exec(db, views, NULL, NULL, NULL) == SQLITE_OK;
}
