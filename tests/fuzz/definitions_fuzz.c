/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any definitions, and records that refer to them. A definition is a byte for its kind and one for how many
 * values it has; a value is a number (input.h), or TEXT, a length of 2 bytes and so many bytes. Kind END ends them, and records of a thread follow. The same bytes are also read as definitions as they are.
 */
#include "wire/defs.h"

#include "fuzz/input.h"
#include "fuzz/raw_pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT = INPUT_MOST, END = 255, DEFINITIONS = 4000 };

static void take_value(struct input *in, struct wire_def *d)
{
	uint64_t first = input_bytes(in, 1);
	const uint8_t *text;
	size_t length;

	if (first == TEXT) {
		length = input_bytes(in, 2);
		text = input_text(in, &length);
		wire_def_bytes(d, text, length);
	} else {
		wire_def_u64(d, input_number_from(in, first));
	}
}

static void check_same(const struct wire_def *a, const uint8_t *bytes, size_t n)
{
	const uint8_t *p = bytes;
	struct wire_def b;

	if (wire_def_read(&p, bytes + n, &b) != 1 || p != bytes + n || a->kind != b.kind ||
	    a->count != b.count)
		abort();
	for (unsigned i = 0; i < a->count; i++) {
		size_t length, other;
		const char *s = wire_def_text(a, i, &length), *t = wire_def_text(&b, i, &other);

		if (wire_def_get(a, i) != wire_def_get(&b, i) || length != other ||
		    memcmp(s, t, length) != 0)
			abort();
	}
}

/* False: there are no more. */
static bool take_definition(struct input *in, struct raw_pieces *out)
{
	struct wire_def d;
	uint8_t *bytes;
	unsigned count;
	size_t n;

	if (in->p == in->end || *in->p == END) {
		in->p += in->p < in->end;
		return false;
	}
	wire_def_init(&d, (uint16_t)input_bytes(in, 1));
	count = (unsigned)input_bytes(in, 1);
	for (unsigned i = 0; i < count && i < WIRE_DEF_VALUES; i++)
		take_value(in, &d);
	n = wire_def_size(&d);
	bytes = malloc(n);
	if (!bytes)
		abort();
	wire_def_write(&d, bytes);
	check_same(&d, bytes, n);
	raw_pieces_add(out, bytes, n);
	free(bytes);
	return true;
}

/* Nothing of them is right by itself. */
static void read_plain(const uint8_t *data, size_t size)
{
	const uint8_t *p = data, *end = data + size;
	struct wire_def d;

	while (wire_def_read(&p, end, &d) > 0)
		for (unsigned i = 0; i < d.count; i++) {
			size_t length;
			const char *s = wire_def_text(&d, i, &length);

			if (length && ((const uint8_t *)s < data || length > size))
				abort();
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct raw_pieces definitions, file;
	struct input in = {data, data + size};

	read_plain(data, size);
	definitions.size = 0;
	for (unsigned i = 0; i < DEFINITIONS && take_definition(&in, &definitions); i++)
		;
	raw_pieces_begin(&file);
	raw_pieces_chunk(&file, WIRE_CHUNK_DEFINITIONS, 0, sizeof(struct wire_chunk),
			 definitions.data, definitions.size);
	raw_pieces_chunk(&file, WIRE_CHUNK_RECORDS, 1, sizeof(struct wire_chunk), in.p,
			 input_left(&in));
	raw_pieces_read(&file);
	return 0;
}
