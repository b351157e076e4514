/* SPDX-License-Identifier: Apache-2.0 */
/* Traces that Kymo wrote: definitions into the lists of the trace, then records as they are. See reader.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "formats/ctf/reader.h"
#include "stream/assemble.h"

static void damaged(struct ctf_reader *r, const char *what)
{
	if (r->status == KYMO_OK)
		stream_error(r->o->log, "%s: the trace is damaged: %s", r->path, what);
	r->status = KYMO_ERROR_NOT_FOUND;
	r->done = true;
}

static void no_memory(struct ctf_reader *r)
{
	r->status = KYMO_ERROR_NO_MEMORY;
	r->done = true;
}

/* ---- classes --------------------------------------------------------------------------------- */

static const struct ctf_member *find(const struct ctf_table *table, const char *name)
{
	for (uint32_t i = 0; i < table->count; i++)
		if (strcmp(table->members[i].name, name) == 0)
			return &table->members[i];
	return NULL;
}

static void take_table(struct ctf_class *c, const char *name)
{
	static const struct ctf_table *const others[] = {&ctf_trace_table, &ctf_op_field_table,
							 &ctf_value_table, &ctf_loss_table,
							 &ctf_end_table};

	for (int i = 0; i < CTF_LIST_COUNT; i++)
		if (strcmp(ctf_lists[i].table.name, name) == 0) {
			c->table = &ctf_lists[i].table;
			c->list = i;
		}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strcmp(others[i]->name, name) == 0)
			c->table = others[i];
}

/* The kind that the field "record" names. */
static bool take_kind(struct ctf_class *c, const bt_field_class *f)
{
	bt_field_class_type type = bt_field_class_get_type(f);

	if (type != BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION)
		return false;
	for (unsigned k = 0; k < CTF_KINDS; k++)
		if (bt_field_class_enumeration_unsigned_borrow_mapping_by_label_const(
			    f, ctf_kind_name((enum ctf_kind)k))) {
			c->kind = (enum ctf_kind)k;
			return true;
		}
	return false;
}

static void take_field(struct ctf_class *c, uint32_t i, const char *name)
{
	if (strcmp(name, "arguments") == 0)
		c->arguments = (int)i;
	if (strcmp(name, "definition") == 0)
		c->definition = (int)i;
	if (c->table) {
		c->fields[i].member = find(c->table, name);
		return;
	}
	c->fields[i].member = find(&ctf_base_table, name);
	c->fields[i].part = CTF_PART_BASE;
	if (!c->fields[i].member && ctf_device_offset[c->kind]) {
		c->fields[i].member = find(&ctf_device_table, name);
		c->fields[i].part = CTF_PART_DEVICE;
	}
	if (!c->fields[i].member) {
		c->fields[i].member = find(&ctf_kind_tables[c->kind], name);
		c->fields[i].part = CTF_PART_KIND;
	}
}

/* The library puts a number of its own before each array that has no fixed length. */
static bool is_length(const bt_field_class *all, uint64_t i)
{
	const char *name = bt_field_class_structure_member_get_name(
		bt_field_class_structure_borrow_member_by_index_const(all, i));
	size_t n = strlen(name);

	if (strncmp(name, "__", 2) != 0 || n < 6 || strcmp(name + n - 4, "_len") != 0 ||
	    i + 1 >= bt_field_class_structure_get_member_count(all))
		return false;
	return bt_field_class_get_type(bt_field_class_structure_member_borrow_field_class_const(
		       bt_field_class_structure_borrow_member_by_index_const(all, i + 1))) ==
	       BT_FIELD_CLASS_TYPE_DYNAMIC_ARRAY_WITH_LENGTH_FIELD;
}

static void take_arguments(struct ctf_class *c, const bt_field_class *payload)
{
	const bt_field_class *all = bt_field_class_structure_member_borrow_field_class_const(
		bt_field_class_structure_borrow_member_by_index_const(payload,
								      (uint64_t)c->arguments));
	uint64_t count;

	if (bt_field_class_get_type(all) != BT_FIELD_CLASS_TYPE_STRUCTURE) {
		c->arguments = -1;
		return;
	}
	count = bt_field_class_structure_get_member_count(all);
	for (uint64_t i = 0; i < count && i <= UINT16_MAX; i++)
		if (!is_length(all, i) && c->argument_count < KYMO_FIELDS_MAX)
			c->argument_at[c->argument_count++] = (uint16_t)i;
}

static struct ctf_class *class_of(struct ctf_reader *r, const bt_event *e)
{
	const bt_event_class *event_class = bt_event_borrow_class_const(e);
	const bt_field_class *payload, *first;
	bool fresh;
	struct ctf_class *c = ctf_class_get(r, event_class, &fresh);
	uint64_t count;

	if (!c || !fresh)
		return c;
	payload = bt_event_class_borrow_payload_field_class_const(event_class);
	count = payload ? bt_field_class_structure_get_member_count(payload) : 0;
	c->count = count < CTF_FIELDS ? (uint32_t)count : CTF_FIELDS;
	first = payload ? bt_field_class_structure_borrow_member_by_name_const(payload, "record")
				  ? bt_field_class_structure_member_borrow_field_class_const(
					    bt_field_class_structure_borrow_member_by_name_const(
						    payload, "record"))
				  : NULL
			: NULL;
	if (strncmp(c->name, "kymo:", 5) == 0)
		take_table(c, c->name + 5);
	c->record = !c->table && first && take_kind(c, first);
	for (uint32_t i = 0; i < c->count && (c->table || c->record); i++)
		take_field(
			c, i,
			bt_field_class_structure_member_get_name(
				bt_field_class_structure_borrow_member_by_index_const(payload, i)));
	if (c->record && c->arguments >= 0)
		take_arguments(c, payload);
	return c;
}

/* ---- values into members --------------------------------------------------------------------- */

static uint64_t array_length(const bt_field *f)
{
	switch (bt_field_get_class_type(f)) {
	case BT_FIELD_CLASS_TYPE_STATIC_ARRAY:
	case BT_FIELD_CLASS_TYPE_DYNAMIC_ARRAY_WITHOUT_LENGTH_FIELD:
	case BT_FIELD_CLASS_TYPE_DYNAMIC_ARRAY_WITH_LENGTH_FIELD:
		return bt_field_array_get_length(f);
	default:
		return 0;
	}
}

static uint64_t element(const bt_field *f, uint64_t i)
{
	uint64_t v = 0;

	ctf_number(bt_field_array_borrow_element_field_by_index_const(f, i), &v);
	return v;
}

/* Memory of a record's, until the next one, or of the trace. */
static void *room(struct ctf_reader *r, size_t bytes)
{
	if (r->defining)
		return trace_alloc(r->t, bytes + 1);
	if (bytes > r->scratch_room) {
		free(r->scratch);
		r->scratch = malloc(bytes);
		r->scratch_room = r->scratch ? bytes : 0;
	}
	return r->scratch;
}

static void set_array(struct ctf_reader *r, char *s, const struct ctf_member *m, const bt_field *f)
{
	uint64_t length = array_length(f), per = m->type == CTF_RUNS ? 3 : 1;
	size_t size = m->type == CTF_BYTES ? 1 : 4;
	uint64_t count = length / per;
	char *to = count < UINT32_MAX ? room(r, (size_t)(count * per * size)) : NULL;

	if (!to) {
		if (length)
			no_memory(r);
		return;
	}
	for (uint64_t i = 0; i < count * per; i++) {
		uint64_t v = element(f, i);

		memcpy(to + i * size, &v, size);
	}
	memcpy(s + m->offset, &to, sizeof(to));
	memcpy(s + m->length, &count, m->length_size);
}

static void set_text(struct ctf_reader *r, char *s, const struct ctf_member *m, const bt_field *f)
{
	const char *text = ctf_text(f);
	uint64_t length;

	text = text ? text : "";
	length = strlen(text);
	if (r->defining)
		text = trace_string(r->t, text, length);
	if (m->type == CTF_TEXT0 && !*text)
		text = NULL;
	memcpy(s + m->offset, &text, sizeof(text));
	if (m->type == CTF_COUNTED && length <= UINT32_MAX)
		memcpy(s + m->length, &length, m->length_size);
}

static void set_uuid(char *s, const bt_field *f)
{
	for (uint64_t i = 0; i < 16 && i < array_length(f); i++)
		s[i] = (char)element(f, i);
}

static uint32_t limit_of(const struct ctf_reader *r, uint8_t list)
{
	return list == CTF_NOTHING ? UINT32_MAX : ctf_list_count(r->t, &ctf_lists[list]);
}

/* What refers to nothing refers to none. */
static uint64_t checked(struct ctf_reader *r, const struct ctf_member *m, uint64_t v)
{
	if (m->of == CTF_NOTHING || r->defining || v < limit_of(r, m->of))
		return v;
	unplaced_add(&r->unplaced, "references to what is not defined", 1);
	return 0;
}

static void set_member(struct ctf_reader *r, char *s, const struct ctf_member *m, const bt_field *f)
{
	static const uint8_t sizes[] = {[CTF_U8] = 1,  [CTF_U32] = 4, [CTF_U64] = 8,
					[CTF_I32] = 4, [CTF_I64] = 8, [CTF_BOOL] = 1};
	double real = 0;
	uint64_t v = 0;

	switch (m->type) {
	case CTF_F64:
		ctf_real(f, &real);
		memcpy(s + m->offset, &real, sizeof(real));
		break;
	case CTF_TEXT:
	case CTF_TEXT0:
	case CTF_COUNTED:
		set_text(r, s, m, f);
		break;
	case CTF_BYTES:
	case CTF_U32S:
	case CTF_RUNS:
		set_array(r, s, m, f);
		break;
	case CTF_UUID:
		set_uuid(s + m->offset, f);
		break;
	default:
		ctf_number(f, &v);
		v = m->type == CTF_BOOL ? v != 0 : checked(r, m, v);
		memcpy(s + m->offset, &v, sizes[m->type]);
	}
}

/* Texts that no field has are empty. */
static void begin_members(char *s, const struct ctf_table *table)
{
	const char *empty = "";

	for (uint32_t i = 0; i < table->count; i++)
		if (table->members[i].type == CTF_TEXT || table->members[i].type == CTF_COUNTED)
			memcpy(s + table->members[i].offset, &empty, sizeof(empty));
}

static void set_members(struct ctf_reader *r, const struct ctf_class *c, const bt_field *payload,
			char *s)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->fields[i].member)
			set_member(
				r, s, c->fields[i].member,
				bt_field_structure_borrow_member_field_by_index_const(payload, i));
}

/* ---- definitions ----------------------------------------------------------------------------- */

static uint64_t definition_of(const struct ctf_class *c, const bt_field *payload)
{
	uint64_t v = 0;

	if (c->definition >= 0)
		ctf_number(bt_field_structure_borrow_member_field_by_index_const(
				   payload, (uint64_t)c->definition),
			   &v);
	return v;
}

/* Values come in the order of their sets. */
static void take_value(struct ctf_reader *r, const struct ctf_value *v)
{
	struct ctf_sets *s = &r->sets;
	struct t_enum_set *set;

	if (v->set == s->count + 1) {
		if (!vec_reserve(&s->all, &s->room, s->count, 1)) {
			no_memory(r);
			return;
		}
		s->all[s->count++] = (struct t_enum_set){.name = v->set_name};
	}
	if (!v->set || v->set != s->count) {
		damaged(r, "values of a set of names are out of order");
		return;
	}
	set = &s->all[s->count - 1];
	if ((set->count & (set->count + 1)) == 0) { /* full: of 0, 1, 3, 7 ... */
		kymo_enum_value_t *more =
			trace_alloc(r->t, (2 * (size_t)set->count + 1) * sizeof(*more));

		if (!more) {
			no_memory(r);
			return;
		}
		if (set->count)
			memcpy(more, set->values, set->count * sizeof(*more));
		set->values = more;
	}
	set->values[set->count++] = (kymo_enum_value_t){.value = v->value, .name = v->name};
}

static const struct t_enum_set *set_of(struct ctf_reader *r, uint32_t number)
{
	struct t_enum_set *set;

	if (!number || number > r->sets.count)
		return NULL;
	set = trace_alloc(r->t, sizeof(*set));
	if (!set)
		return NULL;
	*set = r->sets.all[number - 1];
	trace_sort_enum_set(set);
	return set;
}

static bool is_field(const struct ctf_op_field *f)
{
	bool sized = f->size == 0 || f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8;

	return f->kind >= KYMO_KIND_UNSIGNED && f->kind <= KYMO_KIND_REF && sized &&
	       (f->kind != KYMO_KIND_ARRAY || f->size) && f->element <= KYMO_KIND_REF &&
	       f->reference <= REFERENCE_THREAD;
}

static void take_op_field(struct ctf_reader *r, const struct ctf_op_field *f, uint64_t number)
{
	struct t_op *op;

	if (!f->op || f->op >= r->t->ops_count) {
		damaged(r, "a field is of no operation");
		return;
	}
	op = &r->t->ops[f->op];
	if (!number) {
		op->status_set = set_of(r, f->set);
		return;
	}
	if (number != op->field_count + 1 || number > KYMO_FIELDS_MAX || !is_field(f)) {
		damaged(r, "fields of an operation are out of order, or of no kind that is known");
		return;
	}
	if (!op->fields)
		op->fields = trace_alloc(r->t, (KYMO_FIELDS_MAX + 1) * sizeof(*op->fields));
	if (!op->fields) {
		no_memory(r);
		return;
	}
	op->fields[op->field_count++] = (struct t_field){.name = f->name,
							 .type = f->type,
							 .set = set_of(r, f->set),
							 .kind = f->kind,
							 .element = f->element,
							 .size = f->size,
							 .flags = f->flags,
							 .reference = f->reference};
}

static void take_element(struct ctf_reader *r, const struct ctf_class *c, const bt_field *payload)
{
	const struct ctf_list *l = &ctf_lists[c->list];
	uint32_t count = ctf_list_count(r->t, l);
	uint64_t number = definition_of(c, payload);
	char *base = (char *)r->t;
	void *s;

	if (number && number != count) {
		damaged(r, "definitions are missing or out of order");
		return;
	}
	s = trace_grow(r->t, base + l->array, (uint32_t *)(void *)(base + l->used),
		       (uint32_t *)(void *)(base + l->room), l->table.size);
	begin_members(s, c->table);
	set_members(r, c, payload, s);
}

/* The class of an event, and what it holds; NULL: the message is none. */
static const struct ctf_class *event_of(struct ctf_reader *r, const bt_message *m,
					const bt_field **payload)
{
	const bt_event *e;

	if (bt_message_get_type(m) != BT_MESSAGE_TYPE_EVENT)
		return NULL;
	e = bt_message_event_borrow_event_const(m);
	*payload = bt_event_borrow_payload_field_const(e);
	return *payload ? class_of(r, e) : NULL;
}

static void take_definition(struct ctf_reader *r, const bt_message *m)
{
	const bt_field *payload;
	const struct ctf_class *c = event_of(r, m, &payload);

	if (!c || !c->table || c->table == &ctf_loss_table)
		return;
	if (c->table == &ctf_end_table) {
		set_members(r, c, payload, (char *)&r->end);
		r->complete = r->done = true;
	} else if (c->list >= 0) {
		take_element(r, c, payload);
	} else if (c->table == &ctf_trace_table) {
		set_members(r, c, payload, (char *)r->t);
	} else if (c->table == &ctf_value_table) {
		struct ctf_value v = {.set_name = "", .name = ""};

		set_members(r, c, payload, (char *)&v);
		take_value(r, &v);
	} else {
		struct ctf_op_field f = {.name = "", .type = ""};

		set_members(r, c, payload, (char *)&f);
		take_op_field(r, &f, definition_of(c, payload));
	}
	if (trace_failed(r->t))
		no_memory(r);
}

/* ---- references between definitions ----------------------------------------------------------- */

static void check_element(struct ctf_reader *r, const struct ctf_table *table, char *s)
{
	for (uint32_t i = 0; i < table->count; i++) {
		const struct ctf_member *m = &table->members[i];
		uint32_t v;

		if (m->of == CTF_NOTHING)
			continue;
		memcpy(&v, s + m->offset, sizeof(v));
		v = (uint32_t)checked(r, m, v);
		memcpy(s + m->offset, &v, sizeof(v));
	}
}

/* What has itself above it has nothing above it. */
static void check_parents(struct ctf_reader *r)
{
	struct trace *t = r->t;

	for (uint32_t i = 1; i < t->agents_count; i++)
		if (t->agents[i].parent >= i) {
			unplaced_add(&r->unplaced, "devices that are parts of later ones", 1);
			t->agents[i].parent = 0;
		}
	for (uint32_t i = 1; i < t->communicators_count; i++)
		if (t->communicators[i].parent >= i)
			t->communicators[i].parent = 0;
	for (uint32_t i = 1; i < t->stacks_count; i++)
		for (uint32_t k = 0; k < t->stacks[i].count; k++)
			if (t->stacks[i].sites[k] >= t->sites_count)
				t->stacks[i].sites[k] = 0;
}

static void check_definitions(struct ctf_reader *r)
{
	r->defining = false;
	for (unsigned i = 0; i < CTF_LIST_COUNT; i++)
		for (uint32_t k = 1; k < ctf_list_count(r->t, &ctf_lists[i]); k++)
			check_element(r, &ctf_lists[i].table,
				      ctf_list_element(r->t, &ctf_lists[i], k));
	check_parents(r);
	r->defining = true;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void put_elements(struct ctf_reader *r, unsigned i, const struct t_field *f,
			 const bt_field *v, uint64_t total)
{
	uint64_t values[WIRE_RECORD_MAX / sizeof(uint64_t)], n = array_length(v);
	uint8_t bytes[WIRE_RECORD_MAX];
	size_t size = f->kind == KYMO_KIND_ARRAY && f->size ? f->size : 1;

	n = n < sizeof(values) / sizeof(*values) || size == 1 ? n
							      : sizeof(values) / sizeof(*values);
	n = n * size <= sizeof(bytes) ? n : sizeof(bytes) / size;
	for (uint64_t k = 0; k < n; k++) {
		uint64_t x = element(v, k);
		double real;

		if (f->kind == KYMO_KIND_ARRAY && f->element == KYMO_KIND_FLOAT) {
			real = 0;
			ctf_real(bt_field_array_borrow_element_field_by_index_const(v, k), &real);
			memcpy(&x, &real, sizeof(x));
			if (size == sizeof(float)) {
				float narrow = (float)real;

				memcpy(&x, &narrow, sizeof(narrow));
			}
		}
		memcpy(bytes + k * size, &x, size);
	}
	total = total > n ? total : array_length(v);
	wire_array(&r->arguments.enc, i, bytes, total, size, n);
}

static void put_argument(struct ctf_reader *r, unsigned i, const struct t_field *f,
			 const bt_field *v, uint64_t total)
{
	struct wire_enc *e = &r->arguments.enc;
	uint8_t kind = f->reference ? KYMO_KIND_REF : f->kind;
	const char *text;
	double real = 0;
	uint64_t x = 0;

	switch (kind) {
	case KYMO_KIND_STRING:
		text = ctf_text(v);
		text = text ? text : "";
		x = strlen(text);
		wire_array(e, i, text, total > x ? total : x, 1, x);
		break;
	case KYMO_KIND_BYTES:
	case KYMO_KIND_ARRAY:
		put_elements(r, i, f, v, total);
		break;
	case KYMO_KIND_FLOAT:
		ctf_real(v, &real);
		if (f->size == sizeof(float))
			wire_float(e, i, (float)real);
		else
			wire_double(e, i, real);
		break;
	case KYMO_KIND_POINTER:
	case KYMO_KIND_HANDLE:
		ctf_number(v, &x);
		wire_pointer(e, i, (const void *)(uintptr_t)x);
		break;
	case KYMO_KIND_SIGNED:
	case KYMO_KIND_ENUM:
		ctf_number(v, &x);
		wire_signed(e, i, (int64_t)x, f->size ? f->size : 8);
		break;
	default:
		ctf_number(v, &x);
		wire_unsigned(e, i, x);
	}
}

static uint64_t cut_length(const bt_field *cut, uint32_t i)
{
	for (uint64_t k = 0; cut && k + 1 < array_length(cut); k += 2)
		if (element(cut, k) == i)
			return element(cut, k + 1);
	return 0;
}

static const struct wire_record *arguments(struct ctf_reader *r, const struct ctf_class *c,
					   const struct t_op *op, const bt_field *all)
{
	const bt_field *cut = ctf_member(all, "kymo_cut");
	uint32_t n = op_own_fields(op);
	uint64_t absent = 0;

	ctf_number(ctf_member(all, "kymo_absent"), &absent);
	if (absent == UINT64_MAX)
		return NULL;
	make_fields_begin(&r->arguments, op);
	/* They were in a record before, whose other parts lie elsewhere here. */
	r->arguments.enc.limit = r->arguments.memory + WIRE_RECORD_MAX - 8 * (size_t)n;
	for (uint32_t i = 0; i < n && i < c->argument_count; i++)
		if (!(absent >> i & 1))
			put_argument(r, i, &op->fields[i],
				     bt_field_structure_borrow_member_field_by_index_const(
					     all, c->argument_at[i]),
				     cut_length(cut, i));
	return make_fields_end(&r->arguments);
}

/* ---- records --------------------------------------------------------------------------------- */

union any_record {
	struct rec base;
#define ANY(K, name, type) struct type name;
	RECORD_KINDS(ANY)
#undef ANY
};

static bool is_sane(struct ctf_reader *r, struct rec *b)
{
	const struct trace *t = r->t;

	if (b->thread && !b->process)
		b->process = t->threads[b->thread].process;
	if (!b->op || !b->process || (b->thread && t->threads[b->thread].process != b->process) ||
	    !assembly_is_time(b->start) || !assembly_is_time(b->end) || b->end < b->start) {
		unplaced_add(&r->unplaced, "records of no operation, process or time", 1);
		make_lost(r->t, b->process, 1, 0);
		return false;
	}
	return true;
}

static kymo_status_t hand_on(struct ctf_reader *r, enum ctf_kind kind, const union any_record *x)
{
	struct stream_sink *s = r->sink;

	switch (kind) {
#define HAND_ON(K, name, type)                                                                     \
	case CTF_KIND_##K:                                                                         \
		return s->name(s, &x->name);
		RECORD_KINDS(HAND_ON)
#undef HAND_ON
	case CTF_KIND_OTHER:
		return s->other(s, &x->base);
	default:
		return s->call(s, &x->base);
	}
}

/* The kind is that of the operation's domain: what says otherwise is damaged. */
static bool fits(const struct ctf_reader *r, enum ctf_kind kind, uint32_t op)
{
	enum ctf_kind of = ctf_kind_of(r->t->domains[r->t->ops[op].domain].name);

	return kind == of || kind == CTF_KIND_OTHER || of == CTF_KIND_OTHER;
}

static void take_a_record(struct ctf_reader *r, const struct ctf_class *c, const bt_field *payload)
{
	union any_record x;
	char *s = (char *)&x;

	r->records++;
	memset(&x, 0, sizeof(x));
	begin_members(s, &ctf_kind_tables[c->kind]);
	for (uint32_t i = 0; i < c->count; i++)
		if (c->fields[i].member)
			set_member(
				r,
				s + (c->fields[i].part == CTF_PART_DEVICE
					     ? ctf_device_offset[c->kind]
					     : 0),
				c->fields[i].member,
				bt_field_structure_borrow_member_field_by_index_const(payload, i));
	if (!is_sane(r, &x.base))
		return;
	if (!fits(r, c->kind, x.base.op)) {
		unplaced_add(&r->unplaced, "records of another kind than their operation", 1);
		return;
	}
	if (c->arguments >= 0)
		x.base.wire = arguments(r, c, &r->t->ops[x.base.op],
					bt_field_structure_borrow_member_field_by_index_const(
						payload, (uint64_t)c->arguments));
	r->status = hand_on(r, c->kind, &x);
	r->done = r->status != KYMO_OK;
}

static void take_record(struct ctf_reader *r, const bt_message *m)
{
	const bt_field *payload;
	const struct ctf_class *c = event_of(r, m, &payload);

	if (!c)
		return;
	if (c->record) {
		take_a_record(r, c, payload);
	} else if (c->table == &ctf_loss_table) {
		struct rec_loss l = {0};

		set_members(r, c, payload, (char *)&l);
		r->status = l.process ? r->sink->loss(r->sink, &l) : KYMO_OK;
		r->done = r->status != KYMO_OK;
	} else if (!c->table) {
		unplaced_add(&r->unplaced, "events that are not of Kymo", 1);
	}
}

/* ---- the whole ------------------------------------------------------------------------------- */

static kymo_status_t hand_on_lists(struct ctf_reader *r)
{
	kymo_status_t status = KYMO_OK;

	for (uint32_t i = 1; i < r->t->open_calls_count && status == KYMO_OK; i++)
		status = r->sink->open_call(r->sink, &r->t->open_calls[i]);
	for (uint32_t i = 1; i < r->t->unfinished_count && status == KYMO_OK; i++)
		status = r->sink->unfinished(r->sink, &r->t->unfinished[i]);
	return status;
}

kymo_status_t ctf_read_own(struct ctf_reader *r)
{
	kymo_status_t status;

	r->defining = true;
	status = ctf_messages(r, take_definition);
	if (status != KYMO_OK)
		return status;
	if (!r->complete) {
		damaged(r, "its definitions have no end");
		return r->status;
	}
	if (r->t->processes_count < 2) {
		stream_error(r->o->log, "%s: there is no event in it that can be taken", r->path);
		return KYMO_ERROR_NOT_FOUND;
	}
	check_definitions(r);
	if (!make_complete(r->t))
		return KYMO_ERROR_NO_MEMORY;
	r->defining = false;
	status = r->sink->begin(r->sink, r->t);
	if (status == KYMO_OK)
		status = ctf_messages(r, take_record);
	if (status == KYMO_OK && !r->done && r->end.records > r->records) {
		unplaced_add(&r->unplaced, "records whose files are not there or cut",
			     r->end.records - r->records);
		make_lost(r->t, 0, r->end.records - r->records, 0);
	}
	make_lost(r->t, 0, 0, r->cut);
	if (status == KYMO_OK)
		status = hand_on_lists(r);
	if (status == KYMO_OK || status == KYMO_ERROR_LIMIT)
		status = r->sink->end(r->sink, r->t);
	free(r->sets.all);
	r->sets.all = NULL;
	return status;
}
