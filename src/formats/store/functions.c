/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQL functions on arguments:
 *   kymo_arg(id, 'name')   one argument of the call: a number, or text for names, handles, arrays
 *   kymo_args(id)          all of them as a JSON object
 *   kymo_arg(op, args, 'name'), kymo_args(op, args)   the same of a row of `activity`
 *   kymo_status(op, status)   the name of a status, e.g. 'CL_INVALID_VALUE'
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/store/args.h"
#include "formats/store/definitions.h"
#include "formats/store/arguments.h"
#include "formats/store/store.h"
#include "stream/reference.h"
#include "stream/trace.h"

#define VALUE_MAX 4096u

struct functions {
	const struct trace *trace;
	struct arguments_reader *side;
	/* On a connection of somebody else's: what is read from it at the first use. */
	sqlite3 *db;
	struct trace *own;
};

static const char *copy_version(void *out, const char *text)
{
	return strncpy(out, text ? text : "", 15);
}

static const char *cannot_read(struct functions *f)
{
	char version[16] = "";
	struct sql_context c = {.db = f->db, .keep = copy_version, .owner = version};

	metadata_text(&c, "schema_version");
	if (strcmp(version, STORE_SCHEMA_VERSION) != 0)
		return *version ? "this store is of another version of Kymo; kymo query builds it "
				  "anew"
				: "this database is no store of Kymo";
	f->own = definitions_read(&c);
	sql_release(&c);
	f->side = f->own ? arguments_reader_new(f->db) : NULL;
	f->trace = f->own;
	return f->side ? NULL : "the store is damaged";
}

/* What the functions of this connection need; NULL: said why. */
static struct functions *functions_of(sqlite3_context *c)
{
	struct functions *f = sqlite3_user_data(c);
	const char *why = f->side ? NULL : cannot_read(f);

	if (why)
		sqlite3_result_error(c, why, -1);
	return why ? NULL : f;
}

static const struct t_op *unpack(sqlite3_context *c, const struct trace *t, sqlite3_int64 op,
				 const void *data, size_t length, struct wire_record *w)
{
	if (op <= 0 || op >= t->ops_count)
		sqlite3_result_error(c,
				     "kymo_arg: there is no such operation in this trace; use "
				     "the column `op`",
				     -1);
	else if (!args_unpack(&t->ops[op], data, length, w))
		sqlite3_result_error(c, "kymo_arg: these are no arguments; use the column `args`",
				     -1);
	else
		return &t->ops[op];
	return NULL;
}

/* The operation and record that the first `n` arguments name; NULL: it has none. */
static const struct t_op *arguments(sqlite3_context *c, int n, sqlite3_value **v,
				    struct wire_record *w)
{
	struct functions *f = functions_of(c);
	const void *data;
	size_t length;
	uint32_t op;

	if (!f)
		return NULL;
	if (n == 2)
		return sqlite3_value_type(v[1]) == SQLITE_NULL
			       ? NULL
			       : unpack(c, f->trace, sqlite3_value_int64(v[0]),
					sqlite3_value_blob(v[1]), (size_t)sqlite3_value_bytes(v[1]),
					w);
	if (!arguments_find(f->side, sqlite3_value_int64(v[0]), &op, &data, &length))
		return NULL;
	return unpack(c, f->trace, op, data, length, w);
}

static bool is_text(const struct t_field *f)
{
	if (f->reference == REFERENCE_STRING)
		return true;
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

static void result(sqlite3_context *c, const struct trace *t, const struct t_field *f,
		   const struct wire_value *v)
{
	char text[VALUE_MAX];

	if (!has_value(f, v))
		return;
	if (f->reference == REFERENCE_STRING) {
		if (v->u)
			sqlite3_result_text(
				c, reference_name(t, f->reference, v->u, text, sizeof(text)), -1,
				SQLITE_TRANSIENT);
	} else if (f->kind == KYMO_KIND_STRING) {
		sqlite3_result_text(c, (const char *)v->data, (int)v->count, SQLITE_TRANSIENT);
	} else if (is_text(f)) {
		rec_value_text(t, f, v, text, sizeof(text));
		sqlite3_result_text(c, text, -1, SQLITE_TRANSIENT);
	} else if (f->kind == KYMO_KIND_FLOAT) {
		sqlite3_result_double(c, v->f);
	} else if (v->u > INT64_MAX && f->kind != KYMO_KIND_SIGNED && f->kind != KYMO_KIND_TIME) {
		rec_value_text(t, f, v, text, sizeof(text)); /* more than SQL's integers hold */
		sqlite3_result_text(c, text, -1, SQLITE_TRANSIENT);
	} else {
		sqlite3_result_int64(c, v->i);
	}
}

static void arg_function(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	const char *name = (const char *)sqlite3_value_text(argv[argc - 1]);
	struct rec_fields f = {0};
	const struct t_field *field;
	struct wire_record w;
	struct wire_value v;

	f.op = arguments(c, argc - 1, argv, &w);
	if (!f.op || !name)
		return;
	wire_cursor_init(&f.cursor, &w);
	while (rec_fields_next(&f, &field, &v)) {
		if (strcmp(field->name, name) == 0) {
			result(c, functions_of(c)->trace, field, &v);
			return;
		}
	}
}

static void add_json(struct text *out, const struct trace *t, const struct t_field *f,
		     const struct wire_value *v)
{
	char text[VALUE_MAX];

	text_add(out, out->length > 1 ? ", " : "");
	text_add_json(out, f->name);
	text_add(out, ": ");
	if (!has_value(f, v)) {
		text_add(out, "null");
		return;
	}
	rec_value_text(t, f, v, text, sizeof(text));
	if (f->reference == REFERENCE_STRING) {
		text_add_json(out, reference_name(t, f->reference, v->u, text, sizeof(text)));
	} else if (f->kind == KYMO_KIND_REF || f->reference) {
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

	f.op = arguments(c, argc, argv, &w);
	if (!f.op)
		return;
	text_add(&out, "{");
	wire_cursor_init(&f.cursor, &w);
	while (rec_fields_next(&f, &field, &v))
		add_json(&out, functions_of(c)->trace, field, &v);
	text_add(&out, "}");
	if (out.failed)
		sqlite3_result_error_nomem(c);
	else
		sqlite3_result_text(c, out.s, -1, SQLITE_TRANSIENT);
	text_release(&out);
}

static void status_function(sqlite3_context *c, int argc, sqlite3_value **argv)
{
	const struct functions *f = functions_of(c);
	sqlite3_int64 op = sqlite3_value_int64(argv[0]);
	const char *name;

	if (!f || op <= 0 || op >= f->trace->ops_count)
		return;
	name = rec_status_name(&f->trace->ops[op], sqlite3_value_int(argv[1]));
	if (name)
		sqlite3_result_text(c, name, -1, SQLITE_STATIC);
	else
		sqlite3_result_value(c, argv[1]);
}

/* What plain SQLite cannot say: the arguments of all calls as rows, as ROCpd has them. */
static const char views[] =
	"CREATE TEMP VIEW region_args AS SELECT c.id, p.pid, f.type, f.name, j.value FROM call c "
	"JOIN json_each(kymo_args(c.id)) j "
	"JOIN op_field f ON f.op = c.op AND f.name = j.key "
	"LEFT JOIN thread t ON t.id = c.thread LEFT JOIN process p ON p.id = t.process;";

static bool add_function(sqlite3 *db, const char *name, int argc, struct functions *f,
			 void (*function)(sqlite3_context *, int, sqlite3_value **),
			 void (*destroy)(void *))
{
	return sqlite3_create_function_v2(db, name, argc,
					  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, f,
					  function, NULL, NULL, destroy) == SQLITE_OK;
}

/* Of functions that read for themselves; the others have what the store's reader frees. */
static void free_functions(void *data)
{
	struct functions *f = data;

	if (f->db) {
		arguments_reader_free(f->side);
		trace_free(f->own);
	}
	free(f);
}

/* The last one to go frees `f`, which SQLite does when creating it fails, too. */
static bool add_all(sqlite3 *db, struct functions *f)
{
	return add_function(db, "kymo_arg", 2, f, arg_function, NULL) &&
	       add_function(db, "kymo_arg", 3, f, arg_function, NULL) &&
	       add_function(db, "kymo_args", 1, f, args_function, NULL) &&
	       add_function(db, "kymo_args", 2, f, args_function, NULL) &&
	       add_function(db, "kymo_status", 2, f, status_function, free_functions);
}

bool store_functions(sqlite3 *db, const struct trace *t, struct arguments_reader *side)
{
	struct functions *f = calloc(1, sizeof(*f));

	if (!f)
		return false;
	*f = (struct functions){.trace = t, .side = side};
	return add_all(db, f) && sqlite3_exec(db, views, NULL, NULL, NULL) == SQLITE_OK;
}

bool store_functions_late(sqlite3 *db)
{
	struct functions *f = calloc(1, sizeof(*f));

	if (!f)
		return false;
	f->db = db;
	if (!add_all(db, f))
		return false;
	/* Only where it means something; the view's own tables are looked for when it is used. */
	if (sqlite3_table_column_metadata(db, NULL, "call_args", "data", NULL, NULL, NULL, NULL,
					  NULL) == SQLITE_OK)
		sqlite3_exec(db, views, NULL, NULL, NULL);
	return true;
}
