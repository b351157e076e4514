/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See kernels.h. One text for both languages, below a few macros of each. That passes are done, all of them, follows from
 * results: what copies adds one to its first vector in each pass, chains count their steps.
 */
#include "roofs/kernels.h"

#include <math.h>
#include <string.h>

struct type {
	const char *name, *opencl, *cuda;
	unsigned bytes;
	double exact; /* up to here all whole numbers can be told */
};

static const struct type types[RUNNER_TYPES] = {
	[RUNNER_FP64] = {"fp64", "double", "double", 8, 0x1p53},
	[RUNNER_FP32] = {"fp32", "float", "float", 4, 0x1p24},
	[RUNNER_FP16] = {"fp16", "half", "short", 2, 0x1p11},
	[RUNNER_INT32] = {"int32", "uint", "unsigned", 4, 0x1p53},
};

unsigned kernel_element_bytes(enum runner_type type)
{
	return types[type].bytes;
}

const char *kernel_type_name(enum runner_type type)
{
	return types[type].name;
}

/* ---- source -------------------------------------------------------------------------------------- */

static const char opencl_head[] = "#define KERNEL kernel\n"
				  "#define GLOBAL global\n"
				  "#define LOCAL(V, name, n) local V name[n]\n"
				  "#define POINTER_LOCAL local\n"
				  "#define GROUP get_group_id(0)\n"
				  "#define ITEM get_local_id(0)\n"
				  "#define ITEMS get_local_size(0)\n"
				  "#define GROUPS get_num_groups(0)\n"
				  "typedef ulong size;\n"
				  "#define ADD(a, b) ((a) + (b))\n"
				  "#define STEP(x) x = x * m + c\n";

static const char cuda_head[] = "#define KERNEL extern \"C\" __global__\n"
				"#define GLOBAL\n"
				"#define LOCAL(V, name, n) __shared__ V name[n]\n"
				"#define POINTER_LOCAL\n"
				"#define GROUP blockIdx.x\n"
				"#define ITEM threadIdx.x\n"
				"#define ITEMS blockDim.x\n"
				"#define GROUPS gridDim.x\n"
				"typedef unsigned long size;\n"
				"typedef unsigned uint;\n";

static void opencl_types(const struct kernel_shape *s, struct text *out)
{
	const char *e = types[s->type].opencl;

	if (s->type == RUNNER_FP64)
		text_add(out, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
	if (s->type == RUNNER_FP16)
		text_add(out, "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n");
	text_addf(out, "typedef %s E;\n", e);
	if (s->width > 1)
		text_addf(out, "typedef %s%u V;\n", e, s->width);
	else
		text_add(out, "typedef E V;\n");
	text_add(out, "#define MAKE(x) ((V)(x))\n");
	text_add(out, opencl_head);
}

/* CUDA has no arithmetic of vectors: what moves adds to the elements of one, and halves are computed two in a register. */
static void cuda_types(const struct kernel_shape *s, struct text *out)
{
	const char *e = types[s->type].cuda;

	text_add(out, cuda_head);
	text_addf(out, "typedef %s E;\n", e);
	if (s->type == RUNNER_FP16)
		text_add(out,
			 "typedef uint V;\n"
			 "#define STEP(x) asm(\"fma.rn.f16x2 %0, %0, %1, %2;\" : \"+r\"(x) : "
			 "\"r\"(m), \"r\"(c))\n"
			 "static __device__ V ADD(V a, V b) { V r; asm(\"add.f16x2 %0, %1, %2;\" : "
			 "\"=r\"(r) : \"r\"(a), \"r\"(b)); return r; }\n"
			 "static __device__ V MAKE(E x) { return (V)(unsigned short)x << 16 | "
			 "(unsigned short)x; }\n");
	else if (s->width == 4)
		text_addf(out,
			  "typedef %s4 V;\n"
			  "static __device__ V MAKE(E x) { return make_%s4(x, x, x, x); }\n"
			  "static __device__ V ADD(V a, V b) { return make_%s4(a.x + b.x, a.y + "
			  "b.y, a.z + b.z, a.w + b.w); }\n",
			  e, e, e);
	else if (s->width == 2)
		text_addf(out,
			  "typedef %s2 V;\n"
			  "static __device__ V MAKE(E x) { return make_%s2(x, x); }\n"
			  "static __device__ V ADD(V a, V b) { return make_%s2(a.x + b.x, a.y + "
			  "b.y); }\n",
			  e, e, e);
	else
		text_add(out, "typedef E V;\n"
			      "#define MAKE(x) ((V)(x))\n"
			      "#define ADD(a, b) ((a) + (b))\n"
			      "#define STEP(x) x = x * m + c\n");
}

static const char copy_body[] =
	"\tGLOBAL V *from = (GLOBAL V *)a + GROUP * n, *to = (GLOBAL V *)b + GROUP * n, *t;\n"
	"\tconst size first = ITEM, step = ITEMS;\n"
	"\tfor (uint p = 0; p < passes; p++) {\n"
	"\t\tif (first == 0) to[0] = ADD(from[0], MAKE(1));\n"
	"\t\tfor (size i = first ? first : step; i < n; i += step) to[i] = from[i];\n"
	"\t\tt = from; from = to; to = t;\n"
	"\t}\n";

static const char stream_body[] =
	"\tGLOBAL const V *from = (GLOBAL const V *)a + GROUP * n;\n"
	"\tGLOBAL V *to = (GLOBAL V *)b + GROUP * n;\n"
	"\tconst size step = ITEMS;\n"
	"\tfor (size i = ITEM; i < n; i += 4 * step) {\n"
	"\t\tV v0 = from[i], v1 = from[i + step], v2 = from[i + 2 * step], v3 = from[i + 3 * "
	"step];\n"
	"\t\tto[i] = v0; to[i + step] = v1; to[i + 2 * step] = v2; to[i + 3 * step] = v3;\n"
	"\t}\n";

/* SHIFT: by how many groups a block moves from pass to pass. */
static const char read_body[] =
	"\tconst size step = ITEMS;\n"
	"\tV s0 = MAKE(0), s1 = MAKE(0), s2 = MAKE(0), s3 = MAKE(0);\n"
	"\tfor (uint p = 0; p < passes; p++) {\n"
	"\t\tGLOBAL const V *from = (GLOBAL const V *)a + (GROUP + (size)p * SHIFT) % GROUPS * n;\n"
	"\t\tfor (size i = ITEM; i < n; i += 4 * step) {\n"
	"\t\t\ts0 = ADD(s0, from[i]); s1 = ADD(s1, from[i + step]);\n"
	"\t\t\ts2 = ADD(s2, from[i + 2 * step]); s3 = ADD(s3, from[i + 3 * step]);\n"
	"\t\t}\n"
	"\t}\n"
	"\t((GLOBAL V *)b)[GROUP * step + ITEM] = ADD(ADD(s0, s1), ADD(s2, s3));\n";

static const char local_body[] =
	"\tPOINTER_LOCAL V *from = la, *to = lb, *t;\n"
	"\tconst size first = ITEM, step = ITEMS;\n"
	"\tfor (size i = first; i < n; i += step) { la[i] = MAKE(a[0]); lb[i] = MAKE(0); }\n"
	"\tfor (uint p = 0; p < passes; p++) {\n"
	"\t\tif (first == 0) to[0] = ADD(from[0], MAKE(1));\n"
	"\t\tfor (size i = first ? first : step; i < n; i += step) to[i] = from[i];\n"
	"\t\tt = from; from = to; to = t;\n"
	"\t}\n"
	"\t((GLOBAL V *)b)[GROUP * step + first] = from[first];\n";

static void fma_body(const struct kernel_shape *s, struct text *out)
{
	text_add(out, "\tconst V m = MAKE(a[0]), c = MAKE(a[1]);\n");
	text_add(out, "\tV x0 = MAKE(0)");
	for (unsigned i = 1; i < s->chains; i++)
		text_addf(out, ", x%u = ADD(x%u, MAKE(a[2]))", i, i - 1);
	text_add(out, ";\n\tfor (uint p = 0; p < passes; p++) {\n");
	for (unsigned k = 0; k < KERNEL_UNROLL; k++) {
		text_add(out, "\t\t");
		for (unsigned i = 0; i < s->chains; i++)
			text_addf(out, "STEP(x%u); ", i);
		text_add(out, "\n");
	}
	text_add(out, "\t}\n");
	for (unsigned i = 1; i < s->chains; i++)
		text_addf(out, "\tx0 = ADD(x0, x%u);\n", i);
	text_add(out, "\t((GLOBAL V *)b)[GROUP * ITEMS + ITEM] = x0;\n");
}

void kernel_source(const struct kernel_shape *s, enum runner_language language, struct text *out)
{
	if (language == RUNNER_OPENCL)
		opencl_types(s, out);
	else
		cuda_types(s, out);
	if (s->kind == KERNEL_READ || s->kind == KERNEL_READ_OTHERS)
		text_addf(out, "#define SHIFT %d\n", s->kind == KERNEL_READ ? 0 : 7);
	text_add(out, "KERNEL void roof(GLOBAL E *a, GLOBAL E *b, size n, uint passes)\n{\n");
	switch ((enum kernel_kind)s->kind) {
	case KERNEL_COPY:
		text_add(out, copy_body);
		break;
	case KERNEL_STREAM:
		text_add(out, stream_body);
		break;
	case KERNEL_READ:
	case KERNEL_READ_OTHERS:
		text_add(out, read_body);
		break;
	case KERNEL_LOCAL:
		text_addf(out, "\tLOCAL(V, la, %u);\n\tLOCAL(V, lb, %u);\n", s->elements,
			  s->elements);
		text_add(out, local_body);
		break;
	case KERNEL_FMA:
		fma_body(s, out);
		break;
	case KERNEL_EMPTY:
		break;
	}
	text_add(out, "}\n");
}

static bool reads(const struct kernel_shape *s)
{
	return s->kind == KERNEL_READ || s->kind == KERNEL_READ_OTHERS;
}

/* ---- in closed form ------------------------------------------------------------------------------ */

double kernel_bytes(const struct kernel_shape *s, const struct runner_launch *l)
{
	double vectors = (double)l->groups * (double)l->n * l->passes;

	if (s->kind == KERNEL_FMA || s->kind == KERNEL_EMPTY)
		return 0;
	return vectors * s->width * types[s->type].bytes * (reads(s) ? 1 : 2);
}

double kernel_operations(const struct kernel_shape *s, const struct runner_launch *l)
{
	if (s->kind != KERNEL_FMA)
		return 0;
	return 2.0 * s->chains * s->width * KERNEL_UNROLL * l->passes * (double)l->groups *
	       (double)l->items;
}

/* A chain is at passes * KERNEL_UNROLL and its number at the end, and all of them are added up; halves swing. */
uint32_t kernel_passes_most(const struct kernel_shape *s, uint64_t n)
{
	double each = 1;

	if (s->kind == KERNEL_FMA && (s->type == RUNNER_FP16 || s->type == RUNNER_INT32))
		return UINT32_MAX / 2;
	if (s->kind == KERNEL_FMA)
		each = s->chains * KERNEL_UNROLL;
	else if (s->kind == KERNEL_STREAM)
		return 1;
	else if (reads(s))
		each = (double)n;
	return (uint32_t)fmin(UINT32_MAX / 2, types[s->type].exact / each - s->chains - 1);
}

/* m, c, and what a chain begins with more than the one before: 1 each, but halves have -1, 1, 1. */
void kernel_factors(const struct kernel_shape *s, void *out)
{
	static const double d[] = {1, 1, 1};
	static const float f[] = {1, 1, 1};
	static const uint16_t h[] = {0xbc00, 0x3c00, 0x3c00};
	static const uint32_t u[] = {1, 1, 1};
	const void *const from[RUNNER_TYPES] = {d, f, h, u};

	memcpy(out, from[s->type], (size_t)KERNEL_FACTORS * types[s->type].bytes);
}

uint64_t kernel_results(const struct kernel_shape *s, const struct runner_launch *l)
{
	if (s->kind == KERNEL_EMPTY)
		return 0;
	return s->width * l->groups *
	       (s->kind == KERNEL_COPY || s->kind == KERNEL_STREAM ? l->n : l->items);
}

double kernel_result(const struct kernel_shape *s, const struct runner_launch *l, uint64_t index)
{
	uint64_t vector = index / s->width, each = l->n / (l->items ? l->items : 1);
	double steps = (double)KERNEL_UNROLL * l->passes, sum = s->chains * (s->chains - 1) / 2.0;

	switch ((enum kernel_kind)s->kind) {
	case KERNEL_COPY:
		return vector % l->n ? 1 : 1.0 + l->passes;
	case KERNEL_STREAM:
		return 1;
	case KERNEL_READ:
	case KERNEL_READ_OTHERS:
		return (double)l->passes * (double)each;
	case KERNEL_LOCAL:
		return vector % l->items ? 1 : 1.0 + l->passes;
	case KERNEL_FMA:
		if (s->type == RUNNER_FP16)
			return sum;
		sum += s->chains * steps;
		return s->type == RUNNER_INT32 ? fmod(sum, 0x1p32) : sum;
	case KERNEL_EMPTY:
		break;
	}
	return 0;
}

static double half_value(uint16_t h)
{
	int exponent = h >> 10 & 31, fraction = h & 1023;
	double v = exponent == 31 ? (fraction ? NAN : INFINITY)
		   : exponent     ? ldexp(1024 + fraction, exponent - 25)
				  : ldexp(fraction, -24);

	return h & 0x8000 ? -v : v;
}

double kernel_element(const struct kernel_shape *s, const void *b, uint64_t index)
{
	switch ((enum runner_type)s->type) {
	case RUNNER_FP64:
		return ((const double *)b)[index];
	case RUNNER_FP32:
		return (double)((const float *)b)[index];
	case RUNNER_FP16:
		return half_value(((const uint16_t *)b)[index]);
	default:
		return ((const uint32_t *)b)[index];
	}
}
