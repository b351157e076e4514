/* SPDX-License-Identifier: Apache-2.0 */
/* Event classes: of tables, and of ops with their arguments. See writer.h. */
#include <ctype.h>
#include <stdio.h>

#include "formats/ctf/writer.h"

#define NAME_MAX_BYTES 256

static bt_field_class *number(struct ctf_writer *w, bool is_signed, unsigned bits)
{
	bt_field_class *f = is_signed ? bt_field_class_integer_signed_create(w->trace_class)
				      : bt_field_class_integer_unsigned_create(w->trace_class);

	if (f)
		bt_field_class_integer_set_field_value_range(f, bits);
	return f;
}

static bt_field_class *hexadecimal(struct ctf_writer *w)
{
	bt_field_class *f = number(w, false, 64);

	if (f)
		bt_field_class_integer_set_preferred_display_base(
			f, BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL);
	return f;
}

static bt_field_class *array_of(struct ctf_writer *w, bt_field_class *element)
{
	bt_field_class *f =
		element ? bt_field_class_array_dynamic_create(w->trace_class, element, NULL) : NULL;

	bt_field_class_put_ref(element);
	return f;
}

/* Takes the reference to `f`. */
static bool append(bt_field_class *structure, const char *name, bt_field_class *f)
{
	bool ok = f && bt_field_class_structure_append_member(structure, name, f) == 0;

	bt_field_class_put_ref(f);
	return ok;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bt_field_class *member_class(struct ctf_writer *w, const struct ctf_member *m)
{
	switch (m->type) {
	case CTF_U8:
	case CTF_BOOL:
		return number(w, false, 8);
	case CTF_U32:
		return number(w, false, 32);
	case CTF_I32:
		return number(w, true, 32);
	case CTF_I64:
		return number(w, true, 64);
	case CTF_F64:
		return bt_field_class_real_double_precision_create(w->trace_class);
	case CTF_TEXT:
	case CTF_TEXT0:
	case CTF_COUNTED:
		return bt_field_class_string_create(w->trace_class);
	case CTF_BYTES:
	case CTF_UUID:
		return array_of(w, number(w, false, 8));
	case CTF_U32S:
	case CTF_RUNS:
		return array_of(w, number(w, false, 32));
	default:
		return number(w, false, 64);
	}
}

static bool append_members(struct ctf_writer *w, bt_field_class *structure,
			   const struct ctf_table *table)
{
	for (uint32_t i = 0; i < table->count; i++)
		if (!append(structure, table->members[i].name, member_class(w, &table->members[i])))
			return false;
	return true;
}

/* Takes the reference to `payload`. */
static bt_event_class *event_class(bt_stream_class *stream, const char *name,
				   bt_field_class *payload, bool whole)
{
	bt_event_class *class = whole ? bt_event_class_create(stream) : NULL;

	if (class && (bt_event_class_set_name(class, name) != 0 ||
		      bt_event_class_set_payload_field_class(class, payload) != 0)) {
		bt_event_class_put_ref(class);
		class = NULL;
	}
	bt_field_class_put_ref(payload);
	return class;
}

static bt_event_class *keep(struct ctf_writer *w, uint64_t key, bt_event_class *class)
{
	if (class && !map_set(&w->classes, key, (uint64_t)(uintptr_t) class)) {
		bt_event_class_put_ref(class);
		return NULL;
	}
	return class;
}

bt_event_class *ctf_class_of_table(struct ctf_writer *w, const struct ctf_table *table)
{
	uint64_t key = (uint64_t)(uintptr_t)table, known = map_get(&w->classes, key);
	bool loss = table == &ctf_loss_table;
	char name[NAME_MAX_BYTES];
	bt_field_class *payload;

	if (known)
		return (bt_event_class *)(uintptr_t)known;
	payload = bt_field_class_structure_create(w->trace_class);
	snprintf(name, sizeof(name), "kymo:%s", table->name);
	return keep(
		w, key,
		event_class(loss ? w->records : w->definitions, name, payload,
			    payload &&
				    (loss || append(payload, "definition", number(w, false, 32))) &&
				    append_members(w, payload, table)));
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Names become identifiers of the metadata; one that is there gets its number behind it. */
static void identifier(const bt_field_class *structure, const struct t_field *f, unsigned i,
		       char *out, size_t size)
{
	size_t n = 0;

	for (const char *s = f->name; *s && n + 16 < size; s++)
		out[n++] = isalnum((unsigned char)*s) ? *s : '_';
	if (!n || isdigit((unsigned char)*out))
		out[n++] = '_';
	out[n] = 0;
	if (isdigit((unsigned char)*out))
		*out = '_';
	if (bt_field_class_structure_borrow_member_by_name_const(structure, out))
		snprintf(out + n, size - n, "_%u", i);
}

static bool is_plain(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if (!isprint((unsigned char)*s) || *s == '"' || *s == '\\')
			return false;
	return true;
}

static bt_field_class *enumeration(struct ctf_writer *w, const struct t_enum_set *set)
{
	bt_field_class *f = bt_field_class_enumeration_signed_create(w->trace_class);

	if (f)
		bt_field_class_integer_set_field_value_range(f, 64);
	for (uint32_t i = 0; f && i < set->count; i++) {
		bt_integer_range_set_signed *range;

		if (!is_plain(set->values[i].name) ||
		    bt_field_class_enumeration_signed_borrow_mapping_by_label_const(
			    f, set->values[i].name))
			continue;
		range = bt_integer_range_set_signed_create();
		if (range && bt_integer_range_set_signed_add_range(range, set->values[i].value,
								   set->values[i].value) == 0)
			bt_field_class_enumeration_signed_add_mapping(f, set->values[i].name,
								      range);
		bt_integer_range_set_signed_put_ref(range);
	}
	return f;
}

static bt_field_class *scalar(struct ctf_writer *w, const struct t_field *f, uint8_t kind)
{
	switch (kind) {
	case KYMO_KIND_SIGNED:
	case KYMO_KIND_TIME:
		return number(w, true, 64);
	case KYMO_KIND_ENUM:
		return f->set && f->set->count ? enumeration(w, f->set) : number(w, true, 64);
	case KYMO_KIND_POINTER:
	case KYMO_KIND_HANDLE:
	case KYMO_KIND_FLAGS:
		return hexadecimal(w);
	case KYMO_KIND_FLOAT:
		return bt_field_class_real_double_precision_create(w->trace_class);
	case KYMO_KIND_BOOL:
		return number(w, false, 8);
	default:
		return number(w, false, 64);
	}
}

static bt_field_class *argument(struct ctf_writer *w, const struct t_field *f)
{
	switch (f->reference ? KYMO_KIND_REF : f->kind) {
	case KYMO_KIND_STRING:
		return bt_field_class_string_create(w->trace_class);
	case KYMO_KIND_BYTES:
		return array_of(w, number(w, false, 8));
	case KYMO_KIND_ARRAY:
		return array_of(w, scalar(w, f, f->element));
	default:
		return scalar(w, f, f->reference ? KYMO_KIND_REF : f->kind);
	}
}

/* After the arguments: a bit for each that is not there, and of those cut their number and length. */
static bt_field_class *arguments(struct ctf_writer *w, const struct t_op *op)
{
	bt_field_class *all = bt_field_class_structure_create(w->trace_class);
	char name[NAME_MAX_BYTES];
	bool ok = all != NULL;

	for (uint32_t i = 0; ok && i < op_own_fields(op); i++) {
		identifier(all, &op->fields[i], i, name, sizeof(name));
		ok = append(all, name, argument(w, &op->fields[i]));
	}
	ok = ok && append(all, "kymo_absent", hexadecimal(w)) &&
	     append(all, "kymo_cut", array_of(w, number(w, false, 32)));
	if (ok)
		return all;
	bt_field_class_put_ref(all);
	return NULL;
}

/* ---- records --------------------------------------------------------------------------------- */

static bt_field_class *kind_class(struct ctf_writer *w, enum ctf_kind kind)
{
	bt_field_class *f = bt_field_class_enumeration_unsigned_create(w->trace_class);
	bt_integer_range_set_unsigned *range = bt_integer_range_set_unsigned_create();
	const char *name = ctf_kind_name(kind);

	if (f)
		bt_field_class_integer_set_field_value_range(f, 8);
	if (f && range && bt_integer_range_set_unsigned_add_range(range, kind, kind) == 0)
		bt_field_class_enumeration_unsigned_add_mapping(f, name, range);
	bt_integer_range_set_unsigned_put_ref(range);
	return f;
}

bt_event_class *ctf_class_of_op(struct ctf_writer *w, enum ctf_kind kind, uint32_t number_of_op)
{
	uint64_t key = (uint64_t)kind << 32 | number_of_op, known = map_get(&w->classes, key);
	const struct t_op *op = &w->t->ops[number_of_op];
	const struct ctf_table *table = &ctf_kind_tables[kind];
	bool whole, fields = !table->count && op_own_fields(op);
	char name[NAME_MAX_BYTES];
	bt_field_class *payload;

	if (known)
		return (bt_event_class *)(uintptr_t)known;
	payload = bt_field_class_structure_create(w->trace_class);
	snprintf(name, sizeof(name), "%.100s:%.100s", w->t->domains[op->domain].name, op->name);
	for (char *s = name; *s; s++)
		if (!isprint((unsigned char)*s) || *s == '"' || *s == '\\')
			*s = '_';
	whole = payload && append(payload, "record", kind_class(w, kind)) &&
		append_members(w, payload, &ctf_base_table) &&
		(!ctf_device_offset[kind] || append_members(w, payload, &ctf_device_table)) &&
		append_members(w, payload, table) &&
		(!fields || append(payload, "arguments", arguments(w, op)));
	return keep(w, key, event_class(w->records, name, payload, whole));
}
