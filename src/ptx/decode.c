/* SPDX-License-Identifier: Apache-2.0 */
/* See decode.h. */
#include "ptx/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 20, NAME = 160 };

/* An operation's name, part by part. */
struct operation {
	char text[NAME];
	const char *part[PARTS];
	uint32_t count;
};

static bool split(struct operation *o, const char *name, uint32_t length)
{
	char *at = o->text;

	o->count = 0;
	if (length >= NAME)
		return false;
	memcpy(o->text, name, length);
	o->text[length] = '\0';
	while (at && o->count < PARTS) {
		o->part[o->count++] = at;
		at = strchr(at, '.');
		if (at)
			*at++ = '\0';
	}
	return !at;
}

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static bool any(const char *s, const char *const *of, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(s, of[i]) == 0)
			return true;
	return false;
}

#define ANY(s, ...)                                                                                \
	any(s, (const char *const[]){__VA_ARGS__},                                                 \
	    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static bool has(const struct operation *o, const char *part)
{
	for (uint32_t i = 1; i < o->count; i++)
		if (strcmp(o->part[i], part) == 0)
			return true;
	return false;
}

static const char *last(const struct operation *o)
{
	return o->part[o->count - 1];
}

/* ---- types ---- */

struct type {
	char letter; /* b, u, s, f, p(redicate); '\0': it is none */
	uint32_t bits, lanes;
	bool half; /* bf16 too */
};

static struct type type_of(const char *s)
{
	struct type t = {'\0', 0, 1, false};
	const char *digits = s;
	char *end;

	if (strcmp(s, "pred") == 0)
		return (struct type){'p', 1, 1, false};
	if (starts(s, "tf32"))
		return (struct type){'f', 32, 1, false};
	if (starts(s, "e4m3") || starts(s, "e5m2"))
		return (struct type){'f', 8, s[4] == 'x' ? (uint32_t)atoi(s + 5) : 1, false};
	digits += starts(s, "bf") ? 2 : 1;
	if (!strchr("busf", *s) || !*s || *digits < '0' || *digits > '9')
		return t;
	t.bits = (uint32_t)strtoul(digits, &end, 10);
	if (t.bits > 128 || (*end && *end != 'x'))
		return t;
	if (*end == 'x')
		t.lanes = (uint32_t)strtoul(end + 1, NULL, 10);
	t.lanes = t.lanes && t.lanes <= 8 ? t.lanes : 1;
	t.letter = digits - s == 2 ? 'f' : *s;
	t.half = t.letter == 'f' && t.bits == 16;
	return t;
}

/* The last part that is a type: what is computed with. */
static struct type type_at_end(const struct operation *o)
{
	return type_of(last(o));
}

static uint32_t vector_of(const struct operation *o)
{
	return has(o, "v8") ? 8 : has(o, "v4") ? 4 : has(o, "v2") ? 2 : 1;
}

/* ---- memory ---- */

static const char *space_of(const struct operation *o)
{
	for (uint32_t i = 1; i < o->count; i++) {
		if (strcmp(o->part[i], "global") == 0)
			return "global";
		if (starts(o->part[i], "shared"))
			return "local";
		if (strcmp(o->part[i], "local") == 0)
			return "private";
		if (strcmp(o->part[i], "const") == 0)
			return "constant";
		if (starts(o->part[i], "param"))
			return NULL;
	}
	return "generic";
}

static void add_access(struct ptx_decoded *out, const char *kind, const char *space, uint32_t bytes,
		       uint8_t operand)
{
	if (space)
		out->access[out->accesses++] =
			(struct ptx_access){kind, space, bytes, operand, true};
}

static void opaque(struct ptx_decoded *out)
{
	out->work = "opaque";
	out->times = 1;
}

static void plain_access(const struct operation *o, struct ptx_decoded *out, const char *kind)
{
	struct type t = type_at_end(o);

	if (has(o, "async") || strcmp(o->part[0], "multimem") == 0)
		opaque(out);
	else if (t.letter)
		add_access(out, kind, space_of(o), (t.bits * t.lanes + 7) / 8 * vector_of(o), 0);
}

/* Of `ldmatrix`, `stmatrix`: with four matrices each thread has the address of as much as it gets. */
static void matrix_access(const struct operation *o, struct ptx_decoded *out, const char *kind)
{
	uint32_t matrices = has(o, "x4") ? 4 : has(o, "x2") ? 2 : 1;

	add_access(out, kind, "local", 4 * matrices, 0);
	out->access[0].addressed = matrices == 4;
}

static void copy_access(const struct operation *o, struct ptx_decoded *out)
{
	if (has(o, "bulk") || strcmp(o->part[1], "reduce") == 0) {
		opaque(out);
	} else if (has(o, "ca") || has(o, "cg")) {
		add_access(out, "load", "global", 0, 1);
		add_access(out, "store", "local", 0, 0);
	}
}

static bool decode_memory(const struct operation *o, struct ptx_decoded *out)
{
	const char *base = o->part[0];

	if (ANY(base, "ld", "ldu"))
		plain_access(o, out, "load");
	else if (strcmp(base, "st") == 0)
		plain_access(o, out, "store");
	else if (ANY(base, "atom", "red"))
		plain_access(o, out, "atomic");
	else if (strcmp(base, "ldmatrix") == 0)
		matrix_access(o, out, "load");
	else if (strcmp(base, "stmatrix") == 0)
		matrix_access(o, out, "store");
	else if (strcmp(base, "cp") == 0 && o->count > 1)
		copy_access(o, out);
	else if (ANY(base, "multimem", "tensormap", "tcgen05", "tex", "tld4", "suld"))
		opaque(out);
	else
		return false;
	return true;
}

/* ---- operations ---- */

static const char *class_of(struct type t)
{
	if (t.letter == 'f')
		return t.bits == 64   ? "flop_double"
		       : t.bits == 32 ? "flop_single"
		       : t.half       ? "flop_half"
				      : "opaque";
	switch (t.bits) {
	case 8:
		return "int8";
	case 16:
		return "int16";
	case 32:
		return "int32";
	case 64:
		return "int64";
	}
	return NULL;
}

static void arithmetic(struct ptx_decoded *out, struct type t, uint32_t times)
{
	if (!t.letter || t.letter == 'p')
		return;
	out->work = class_of(t);
	out->times = times * t.lanes;
}

/* "m64n128k16": how many products there are; 0: it says no such thing. */
static uint64_t products(const struct operation *o)
{
	unsigned m, n, k;

	for (uint32_t i = 1; i < o->count; i++)
		if (sscanf(o->part[i], "m%4un%4uk%4u", &m, &n, &k) == 3)
			return (uint64_t)m * n * k;
	return 0;
}

/*
 * Matrices, by the type of what is multiplied: 2 operations a product, shared among the threads of a warp, or of four.
 * The types of results, of both factors and, of mma, of the sum come last.
 */
static void matrices(const struct operation *o, struct ptx_decoded *out, uint32_t threads)
{
	struct type t = {0};
	uint32_t types = 0, first = 0;

	for (uint32_t i = 1; i < o->count; i++) {
		if (!type_of(o->part[i]).letter)
			continue;
		first = types++ ? first : i;
	}
	if (types >= 2)
		t = type_of(o->part[first + 1]);
	if (!products(o) || !t.letter || (t.letter == 'f' && t.bits < 16) || t.bits < 8 ||
	    has(o, "sp") || starts(o->part[1], "sp")) {
		opaque(out);
		return;
	}
	t.lanes = 1;
	arithmetic(out, t, (uint32_t)(2 * products(o) / threads));
}

static bool decode_matrices(const struct operation *o, struct ptx_decoded *out)
{
	const char *base = o->part[0];

	if (strcmp(base, "mma") == 0)
		matrices(o, out, 32);
	else if (strcmp(base, "wgmma") == 0 && o->count > 1 && strcmp(o->part[1], "mma_async") == 0)
		matrices(o, out, 128);
	else if (strcmp(base, "wmma") == 0)
		opaque(out);
	else
		return false;
	return true;
}

static void decode_work(const struct operation *o, struct ptx_decoded *out)
{
	const char *base = o->part[0];
	struct type t = type_at_end(o);

	if (ANY(base, "fma", "mad", "madc", "mad24", "sad"))
		arithmetic(out, t, 2);
	else if (ANY(base, "add", "sub", "mul", "div", "rem", "addc", "subc", "mul24", "min", "max",
		     "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "and", "or", "xor",
		     "not", "cnot", "shl", "shr", "shf", "lop3", "popc", "clz", "brev", "bfe",
		     "bfi", "bfind", "fns", "szext", "bmsk", "prmt"))
		arithmetic(out, t.letter ? t : (struct type){'b', 32, 1, false}, 1);
	else if (ANY(base, "dp4a", "dp2a"))
		arithmetic(out, (struct type){'s', 8, 1, false}, base[2] == '4' ? 8 : 4);
	else if (ANY(base, "setp", "set"))
		out->work = "compare";
	else if (ANY(base, "bar", "barrier") && !has(o, "warp") && !has(o, "cluster"))
		out->work = "barrier";
	if (out->work && !out->times)
		out->times = 1;
}

static void decode_flow(const struct operation *o, bool guarded, struct ptx_decoded *out)
{
	const char *base = o->part[0];

	out->branches = ANY(base, "bra", "brx", "ret", "exit", "trap");
	out->ends = out->branches && !guarded;
	if ((strcmp(base, "bra") == 0 && guarded) || strcmp(base, "brx") == 0) {
		out->work = "branch";
		out->times = 1;
	}
}

static const char *refused(const struct operation *o)
{
	const char *base = o->part[0];

	if (strcmp(base, "setmaxnreg") == 0)
		return "it shifts registers between its warps (setmaxnreg)";
	if (ANY(base, "sust", "sured"))
		return "it writes to surfaces, which are not put aside";
	return NULL;
}

void ptx_decode(const char *name, uint32_t length, bool guarded, struct ptx_decoded *out)
{
	struct operation o = {.count = 0};

	*out = (struct ptx_decoded){.work = NULL};
	if (!split(&o, name, length)) {
		opaque(out);
		return;
	}
	out->refused = refused(&o);
	decode_flow(&o, guarded, out);
	if (out->branches)
		return;
	if (!decode_memory(&o, out) && !decode_matrices(&o, out))
		decode_work(&o, out);
}
