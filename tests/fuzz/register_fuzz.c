/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any registration of a table by a library that Kymo did not build. The memory behind its pointers is as large as its
 * counts say, as far as these can be; sizes, counts, kinds, names, and what is null and what not, come from the input. What is
 * taken is described, laid out, read from a frame and encoded; Kymo's own taker is asked as well. Afterwards the table has its
 * entries again.
 */
/* As small.cmake builds it: core, which is in this program, would attach itself to the other name when it is loaded. */
#define kymo_register_attach register_attach
#include <kymo/register.h>

#include <stdlib.h>
#include <string.h>

#include "core/table/table.h"
#include "fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

kymo_status_t kymo_register_take(const kymo_registration_t *registration, uint32_t instance,
				 void **token);
void kymo_register_return(void *token);

enum {
	ENTRIES = 64,
	OPS = 12,
	FIELDS = KYMO_FIELDS_MAX + 1,
	VALUES = 8,
	PIECES = 2048,
	STACK = 256
};

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* ---- memory of one input ---------------------------------------------------------------------- */

static void *pieces[PIECES];
static unsigned piece_count;

static void *piece(size_t bytes)
{
	check(piece_count < PIECES);
	pieces[piece_count] = calloc(1, bytes ? bytes : 1);
	check(pieces[piece_count] != NULL);
	return pieces[piece_count++];
}

static void forget(void)
{
	while (piece_count)
		free(pieces[--piece_count]);
}

/* Texts behind which nothing is; NULL now and then. */
static const char *take_name(struct input *in)
{
	size_t length = input_bytes(in, 1);
	const uint8_t *s;
	char *copy;

	if (length == INPUT_MOST)
		return NULL;
	s = input_text(in, &length);
	copy = piece(length + 1);
	memcpy(copy, s, length);
	return copy;
}

/* ---- a description ----------------------------------------------------------------------------- */

static const kymo_enum_set_t *take_set(struct input *in)
{
	unsigned count = (unsigned)input_bytes(in, 1);
	kymo_enum_value_t *values;
	kymo_enum_set_t *set;

	if (count > VALUES)
		return NULL;
	set = piece(sizeof(*set));
	values = piece(count * sizeof(*values));
	for (unsigned i = 0; i < count; i++)
		values[i] = (kymo_enum_value_t){take_name(in), (int64_t)input_number(in)};
	*set = (kymo_enum_set_t){take_name(in), count ? values : NULL, count};
	return set;
}

static const kymo_field_t *take_fields(struct input *in, unsigned count)
{
	unsigned there = count < FIELDS ? count : FIELDS;
	kymo_field_t *fields = piece(there * sizeof(*fields));

	for (unsigned i = 0; i < there; i++)
		fields[i] = (kymo_field_t){.name = take_name(in),
					   .type = take_name(in),
					   .set = take_set(in),
					   .kind = (uint8_t)input_bytes(in, 1),
					   .element = (uint8_t)input_bytes(in, 1),
					   .size = (uint8_t)input_bytes(in, 1),
					   .flags = (uint8_t)input_bytes(in, 1)};
	return fields;
}

static kymo_op_desc_t take_op(struct input *in)
{
	kymo_op_desc_t op = {.name = take_name(in), .flags = (uint16_t)input_number(in)};
	unsigned what = (unsigned)input_bytes(in, 1);

	/* Many are refused before any of them is looked at. */
	op.field_count = (uint16_t)(what == INPUT_MOST ? input_bytes(in, 2) : what % FIELDS);
	if (what != INPUT_NUMBER)
		op.fields = take_fields(in, op.field_count);
	op.status_set = take_set(in);
	op.status_ok = (int32_t)input_number(in);
	return op;
}

static const kymo_domain_desc_t *take_description(struct input *in, const char *name)
{
	uint64_t what = input_bytes(in, 1), size = input_number(in), count = input_number(in);
	kymo_domain_desc_t *d;
	kymo_op_desc_t *ops;
	unsigned there;

	if (what == INPUT_MOST)
		return NULL;
	d = piece(sizeof(*d));
	/* As many as it says, or more than a table can have. */
	there = (unsigned)(count % OPS);
	ops = piece(there * sizeof(*ops));
	for (unsigned i = 0; i < there; i++)
		ops[i] = take_op(in);
	*d = (kymo_domain_desc_t){.size = size ? sizeof(*d) + size - 1 : 0,
				  .name = what % 8 == 1 ? take_name(in) : name,
				  .title = take_name(in),
				  .version = (uint32_t)what,
				  .op_count =
					  count > KYMO_TABLE_ENTRIES_MAX ? (uint32_t)count : there,
				  .ops = what % 8 == 2 ? NULL : ops};
	return d;
}

/* ---- who takes it ------------------------------------------------------------------------------ */

static void one(void)
{
}

static kymo_status_t answer;

/* As the wrapper does for a call whose arguments are all 0. */
static void use_op(const kymo_op_desc_t *desc, const struct table_op *op)
{
	static union {
		struct table_call call;
		uint64_t words[TABLE_STACK_AT / 8 + STACK];
	} frame;
	static union {
		struct wire_chunk chunk;
		uint8_t bytes[sizeof(struct wire_chunk) + WIRE_RECORD_MAX + WIRE_SLACK];
	} memory;
	struct wire_ring ring = {.cur = memory.bytes + sizeof(memory.chunk),
				 .chunk = &memory.chunk};
	const struct wire_event v = {.id = 1, .no_fields = false};
	kymo_table_args_t args = {.size = sizeof(args)};
	struct wire_enc e;

	check(op->field_count == desc->field_count && op->stack_words < STACK);
	frame.call.stack = frame.words + TABLE_STACK_AT / 8;
	for (unsigned i = 0; i < op->field_count; i++) {
		check(op->fields[i].in.at + 8u <= sizeof(frame));
		args.value[i] = 0;
		(void)table_value(&frame.call, &op->fields[i], true, &args.value[i]);
	}
	wire_begin(&e, &ring, &v, op->field_count);
	table_encode(op, &args, true, &e);
	wire_end(&e, &ring);
	check(memory.chunk.committed <= sizeof(memory));
}

static void use_model(const struct table_model *m)
{
	for (uint32_t i = 0; i < m->desc->op_count; i++) {
		const kymo_op_desc_t *desc = &m->desc->ops[i];
		struct table_field fields[KYMO_FIELDS_MAX] = {{.place = 0}};
		struct table_op op = {.fields = fields};

		check(desc->name && desc->field_count <= KYMO_FIELDS_MAX);
		if (desc->fields && table_layout(desc, NULL, 0, &op))
			use_op(desc, &op);
	}
}

static kymo_status_t take(const kymo_registration_t *r, uint32_t instance, void **token)
{
	struct table_model *m;
	size_t bytes;

	memcpy(&bytes, r->table, sizeof(bytes));
	m = r->desc ? table_model_copy(r->desc)
		    : table_model_unknown(r->name, (uint32_t)(bytes / sizeof(void *) - 1));
	if (m)
		use_model(m);
	table_model_free(m);
	*token = NULL;
	if (answer == KYMO_OK && kymo_register_take(r, instance, token) == KYMO_OK)
		check(*token != NULL);
	return answer;
}

static void give_back(void *token)
{
	if (token)
		kymo_register_return(token);
}

/* Those that were refused stay in the list, for their names: not all of them each time. */
static kymo_status_t look(const kymo_registration_info_t *info, void *data)
{
	unsigned *seen = data;

	check(info->size == sizeof(*info) && info->name && info->entries);
	return ++*seen < ENTRIES ? KYMO_OK : KYMO_ERROR_LIMIT;
}

/* ---- the table --------------------------------------------------------------------------------- */

static void **take_table(struct input *in, unsigned *entries)
{
	uint64_t claimed = input_number(in);
	size_t bytes = (claimed % ENTRIES + 2) * sizeof(void *);
	void **table = piece(bytes);

	*entries = (unsigned)(bytes / sizeof(void *) - 1);
	for (unsigned i = 1; i <= *entries; i++)
		table[i] = input_bytes(in, 1) % 8 ? (void *)(uintptr_t)one : NULL;
	/* It says what it is, or what cannot be. */
	if (claimed >= ENTRIES)
		bytes = claimed % 2 ? claimed / 2 % 16 : bytes + 1 + claimed / 2 % 7;
	memcpy(table, &bytes, sizeof(bytes));
	return table;
}

static void register_one(struct input *in)
{
	uint64_t size = input_number(in);
	kymo_registration_t r = {.size = size ? sizeof(r) + size - 1 : 0,
				 .name = take_name(in),
				 .version = (uint32_t)input_number(in)};
	kymo_registration_id_t id = {0};
	unsigned entries, had = 0, has = 0, seen = 0;
	void **table = take_table(in, &entries);

	r.table = input_bytes(in, 1) % 16 == 15 ? (char *)table + 1 : (char *)table;
	r.desc = take_description(in, r.name);
	answer = input_bytes(in, 1) % 4 ? KYMO_OK : KYMO_ERROR_LIMIT;
	for (unsigned i = 1; i <= entries; i++)
		had += table[i] == (void *)(uintptr_t)one;
	if (kymo_register_table(&r, &id) == KYMO_OK) {
		check(id.handle != 0);
		kymo_registrations(look, &seen);
		check(kymo_unregister_table(id) == KYMO_OK);
		check(kymo_unregister_table(id) == KYMO_ERROR_NOT_FOUND);
	}
	for (unsigned i = 1; i <= entries; i++)
		has += table[i] == (void *)(uintptr_t)one;
	check(had == has);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};

	(void)kymo_register_attach(take, give_back); /* the first time */
	for (unsigned i = 0; i < 4 && input_left(&in); i++) {
		register_one(&in);
		forget();
	}
	return 0;
}
