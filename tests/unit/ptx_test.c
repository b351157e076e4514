/* SPDX-License-Identifier: Apache-2.0 */
/* PTX: what instructions do, what is found in bodies and put into them, what is refused, and what images hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ptx/decode.h"
#include "ptx/fatbin.h"
#include "ptx/image.h"
#include "ptx/rewrite.h"

static void decodes(const char *name, bool guarded, const char *expected)
{
	struct ptx_decoded d;
	char found[200] = "";
	size_t n = 0;

	ptx_decode(name, (uint32_t)strlen(name), guarded, &d);
	for (uint32_t i = 0; i < d.accesses; i++)
		n += (size_t)snprintf(found + n, sizeof(found) - n, "%s %s %u%s ", d.access[i].kind,
				      d.access[i].space, d.access[i].bytes,
				      d.access[i].addressed ? "" : " unaddressed");
	if (d.work)
		n += (size_t)snprintf(found + n, sizeof(found) - n, "%s %u ", d.work, d.times);
	snprintf(found + n, sizeof(found) - n, "%s%s", d.branches ? "goes " : "",
		 d.refused ? "refused " : "");
	if (strcmp(found, expected) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", name, found, expected);
}

static void test_memory(void **state)
{
	decodes("ld.global.f32", false, "load global 4 ");
	decodes("ld.global.nc.L1::no_allocate.L2::128B.v4.b32", false, "load global 16 ");
	decodes("ld.volatile.shared::cta.v2.f64", false, "load local 16 ");
	decodes("ld.relaxed.gpu.u8", false, "load generic 1 ");
	decodes("ld.const.b128", false, "load constant 16 ");
	decodes("ld.param.u64", false, "");
	decodes("st.param.b32", false, "");
	decodes("st.local.b64", false, "store private 8 ");
	decodes("st.shared.v4.b16", true, "store local 8 ");
	decodes("atom.global.cas.b64", false, "atomic global 8 ");
	decodes("red.shared.add.noftz.f16x2", false, "atomic local 4 ");
	decodes("cp.async.ca.shared.global", false, "load global 0 store local 0 ");
	decodes("cp.async.wait_group", false, "");
	decodes("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", false, "load local 16 ");
	decodes("ldmatrix.sync.aligned.m8n8.x2.shared.b16", false, "load local 8 unaddressed ");
	decodes("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
		false, "opaque 1 ");
	decodes("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32", false,
		"opaque 1 ");
	decodes("sust.b.2d.b32.trap", false, "refused ");
}

static void test_work(void **state)
{
	decodes("add.f32", false, "flop_single 1 ");
	decodes("fma.rn.ftz.f32", false, "flop_single 2 ");
	decodes("fma.rn.f64", false, "flop_double 2 ");
	decodes("fma.rn.bf16x2", false, "flop_half 4 ");
	decodes("mul.wide.s32", false, "int32 1 ");
	decodes("mad.lo.s64", false, "int64 2 ");
	decodes("shl.b32", false, "int32 1 ");
	decodes("and.pred", false, "");
	decodes("cvt.rn.f32.s32", false, "");
	decodes("mov.b64", false, "");
	decodes("setp.lt.f32", false, "compare 1 ");
	decodes("bar.sync", false, "barrier 1 ");
	decodes("bar.warp.sync", false, "");
	decodes("bra", true, "branch 1 goes ");
	decodes("bra.uni", false, "goes ");
	decodes("exit", true, "goes ");
	decodes("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", false, "flop_half 128 ");
	decodes("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", false, "flop_double 16 ");
	decodes("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", false, "flop_half 2048 ");
	decodes("wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3", false, "opaque 1 ");
	decodes("wgmma.fence.sync.aligned", false, "");
	decodes("setmaxnreg.dec.sync.aligned.u32", false, "refused ");
}

/* ---- bodies ---- */

static char *rewritten(const char *text, const char *kernel, bool addresses)
{
	struct text out = {0};

	assert_true(ptx_rewrite(&(struct ptx_request){text, strlen(text), kernel, addresses, false},
				&out));
	return out.s;
}

#define HEAD ".version 8.0\n.target sm_90, debug\n.address_size 64\n"

static void has(const char *result, const char *what, bool yes)
{
	if ((strstr(result, what) != NULL) != yes)
		fail_msg("%s \"%s\" in:\n%s", yes ? "no" : "there is", what, result);
}

static const char kernel[] =
	HEAD ".func helper(.param .b32 a) { .reg .b32 %r; ld.param.b32 %r, [a]; add.s32 %r, %r, 1; "
	     "ret; }\n"
	     ".func unused(.param .b32 a) { ret; }\n"
	     ".global .align 4 .u32 seen[2] = {1, 2};\n"
	     ".global .align 4 .u32 unseen;\n"
	     ".visible .entry other() { ret; }\n"
	     ".visible .entry k(.param .u64 p)\n"
	     ".maxnreg 24\n.maxntid 64, 1, 1 .minnctapersm 2\n"
	     "{\n"
	     "	.reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<3>;\n"
	     "	.loc 1 4 2\n"
	     "	setp.eq.s32 %p1, %r1, 0;\n"
	     "	@%p1 ld.shared.u32 %r2, [%r3+4];\n"
	     "	@%p1 st.global.u32 [%rd1], %r2; // the same block\n"
	     "	@!%p1 st.global.u32 [seen+8], %r2;\n"
	     "	setp.eq.s32 %p1, %r2, 0;\n"
	     "	@%p1 st.global.u32 [%rd1 + -8], %r2;\n"
	     "	@%p1 bra L;\n"
	     "	.loc 1 0 0\n"
	     "	{ .param .b32 x; st.param.b32 [x], %r1; call.uni helper, (x); }\n"
	     "U: mul.lo.s32 %r1, %r1, 3;\n"
	     "L:	.loc 2 9 1\n"
	     "	/* bra U; */ ret;\n"
	     "}\n"
	     ".file 1 \"/a/b c.cu\"\n"
	     ".file 2 \"h\"\n"
	     ".section .debug_info { .b8 1, 2 }\n";

static void test_blocks(void **state)
{
	char *r = rewritten(kernel, "k", false);

	has(r, "kernel k\n", true);
	has(r,
	    "block 0 helper function 0 0 \n"
	    "block 1 k function 4 2 /a/b%20c.cu\n"
	    "block 2 k predicated 4 2 /a/b%20c.cu\n"
	    "block 3 k predicated 4 2 /a/b%20c.cu\n"
	    "block 4 k predicated 4 2 /a/b%20c.cu\n"
	    "block 5 k rest 4 2 /a/b%20c.cu\n"
	    "block 6 k label 9 1 h\n"
	    "site 0 2 load local 4 1 4 2 /a/b%20c.cu\n"
	    "site 1 2 store global 4 1 4 2 /a/b%20c.cu\n"
	    "site 2 3 store global 4 1 4 2 /a/b%20c.cu\n"
	    "site 3 4 store global 4 1 4 2 /a/b%20c.cu\n"
	    "work 0 int32 1 0 0 \n"
	    "work 1 branch 1 4 2 /a/b%20c.cu\n"
	    "work 1 compare 2 4 2 /a/b%20c.cu\n"
	    "work 5 int32 1 4 2 /a/b%20c.cu\n"
	    "variable hidden initialised seen\n",
	    true);
	free(r);
}

/* What the twin is made of: nothing that it does not need, none of its lines; limits that counting would not fit into are left out. */
static void test_source(void **state)
{
	char *r = rewritten(kernel, "k", false);
	const char *source = strstr(r, "\nsource "), *at;

	assert_non_null(source);
	has(source, ".target sm_90\n", true);
	has(source, ".maxntid 64, 1, 1", true);
	for (const char *const *no =
		     (const char *const[]){"maxnreg", "minnctapersm", "unused", "unseen", "other",
					   ".loc", ".file", ".section", "debug", "the same", NULL};
	     *no; no++)
		has(source, *no, false);
	/* All that the kernel does is still there, in its order. */
	at = strstr(source, ".entry k");
	for (const char *const *yes =
		     (const char *const[]){"setp.eq.s32 %p1, %r1, 0;",
					   "@%p1 ld.shared.u32 %r2, [%r3+4];",
					   "@%p1 st.global.u32 [%rd1], %r2;",
					   "@!%p1 st.global.u32 [seen+8], %r2;", "@%p1 bra L;",
					   "st.param.b32 [x], %r1; call.uni helper, (x);",
					   "mul.lo.s32 %r1, %r1, 3;", "ret;", NULL};
	     *yes; yes++) {
		at = at ? strstr(at, *yes) : NULL;
		if (!at)
			fail_msg("no \"%s\" at its place in:\n%s", *yes, source);
	}
	has(source, "setp.eq.and.u32 %kymo_q, %kymo_t, 0, %p1;\n", true);
	has(source, "setp.eq.and.u32 %kymo_q, %kymo_t, 0, !%p1;\n", true);
	has(source, "\t@%kymo_q red.global.add.u64 [%kymo_n+112], %kymo_d;\n", true); /* block 6 */
	has(source, "$kymo_", false);
	free(r);
}

static void test_addresses(void **state)
{
	char *r = rewritten(kernel, "k", true);
	const char *source = strstr(r, "\nsource ");

	assert_non_null(source);
	has(source,
	    "\t@!%p1 bra $kymo_0;\n\t@!%kymo_on bra $kymo_0;\n\tcvt.u64.u32 %kymo_a, %r3;\n"
	    "\tadd.s64 %kymo_a, %kymo_a, 4;\n",
	    true);
	has(source,
	    "\t@%p1 bra $kymo_2;\n\t@!%kymo_on bra $kymo_2;\n\tmov.u64 %kymo_a, seen;\n"
	    "\tadd.s64 %kymo_a, %kymo_a, 8;\n",
	    true);
	has(source, "\tadd.s64 %kymo_a, %kymo_a,  -8;\n", true);
	has(source, "\tmov.u32 %kymo_x, 3;\n", true);
	free(r);
}

/* Marks of regions, blocks and ends: behind the counts of their block, and only for threads that are there. */
static void test_times(void **state)
{
	static const char marked[] =
		HEAD ".func f() { ret; }\n"
		     ".entry k() {\n.reg .pred %p;\n{.reg .pred kymo_begin_a_b;}\n@%p exit;\n"
		     "{.reg .pred kymo_ending;}\n{ .reg .pred kymo_end_x; }\ncall f;\nret;\n}\n";
	struct text out = {0};
	const char *source;

	assert_true(
		ptx_rewrite(&(struct ptx_request){marked, strlen(marked), "k", false, true}, &out));
	source = strstr(out.s, "\nsource ");
	assert_non_null(source);
	has(out.s, "region 4 1 begin a_b 0 0 \nregion 5 2 end x 0 0 \nsource ", true);
	has(out.s, "site ", false);
	for (const char *const *yes =
		     (const char *const[]){"\tmov.u32 %kymo_x, 2147483648;\n", /* f, block 0 */
					   "\tmov.u32 %kymo_x, 2147483650;\n", /* k, block 2 */
					   "\tmov.u32 %kymo_x, 3221225472;\n",
					   "\tmov.u32 %kymo_x, 3221225473;\n",
					   "\t@!%p bra $kymo_3;\n\t@!%kymo_on bra "
					   "$kymo_3;\n\tmov.u64 %kymo_a, 0;\n",
					   NULL};
	     *yes; yes++)
		has(source, *yes, true);
	has(source, "%kymo_x, 4294967295;\n", true);
	text_release(&out);
}

/* What lies between two marks stays between them, in one block too; places go, and nothing else. */
static void test_marks_of_a_block(void **state)
{
	static const char marked[] = HEAD
		".entry k() {\n.reg .b32 %r;\n{.reg .pred kymo_begin_a;}\nmov.u32 %r, 77;\n"
		"{.reg .pred kymo_end_a;}\nmov.u32 %r, 78;\n.loc 1 5 9\nmov.u32 %r, 79;\nret;\n}\n";
	static const char *const order[] = {"%kymo_x, 3221225472;\n", "mov.u32 %r, 77;\n",
					    "%kymo_x, 3221225473;\n", "mov.u32 %r, 78;\n",
					    "mov.u32 %r, 79;\n"};
	struct text out = {0};
	const char *at;

	assert_true(
		ptx_rewrite(&(struct ptx_request){marked, strlen(marked), "k", false, true}, &out));
	at = strstr(out.s, "\nsource ");
	for (unsigned i = 0; i < 5; i++) {
		assert_non_null(at);
		has(at, order[i], true);
		at = strstr(at, order[i]);
	}
	has(out.s, ".loc", false);
	text_release(&out);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} all[] = {
		{HEAD ".entry j() { ret; }", "does%20not%20have%20it"},
		{HEAD
		 ".extern .func vprintf(.param .b64 a);\n.entry k() { call.uni vprintf; ret; }",
		 "it%20prints"},
		{HEAD ".extern .func far();\n.entry k() { call.uni far; ret; }", "several%20parts"},
		{HEAD
		 ".extern .global .u32 far;\n.entry k() { .reg .b32 %r; ld.global.u32 %r, [far]; }",
		 "several%20parts"},
		{HEAD ".global .texref t;\n.entry k() .reqnctapercluster 2 { ret; }", "clusters"},
		{HEAD ".entry k() { setmaxnreg.inc.sync.aligned.u32 232; ret; }", "setmaxnreg"},
		{HEAD ".entry k() { ret; ", "cannot%20be%20read"},
		{HEAD ".entry k() { mov.u32 (; }", "cannot%20be%20read"},
		{".entry k() { ret; }", "cannot%20be%20read"},
		{".version 8.0\n.target sm_90\n.address_size 32\n.entry k() { ret; }", "32%20bits"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char *r = rewritten(all[i].text, "k", false);

		has(r, "refused k ", true);
		has(r, all[i].why, true);
		has(r, "\nsource 0\n", true);
		free(r);
	}
}

/* ---- images ---- */

static char *load(const char *name, size_t *size)
{
	char path[1024], *bytes = malloc(1 << 20);
	FILE *f;

	snprintf(path, sizeof(path), PTX_SAMPLES "/%s", name);
	f = fopen(path, "rb");
	assert_non_null(f);
	*size = fread(bytes, 1, 1 << 20, f);
	fclose(f);
	return bytes;
}

static void takes(const char *image, uint32_t arch, const char *name, const char *as)
{
	size_t size, expected;
	char *bytes = load(image, &size), *text = load(as, &expected);
	struct text out = {0};
	const char *why = ptx_of_image(bytes, size, arch, name, &out);

	if (why)
		fail_msg("%s: %s", image, why);
	assert_true(out.length >= expected);
	assert_memory_equal(out.s, text, expected);
	text_release(&out);
	free(bytes);
	free(text);
}

/* For sm_70 it is packed with LZ4, for sm_90 with zstd, for sm_100 not at all; the newest that can run is taken, if it has the kernel. */
static void test_images(void **state)
{
	size_t size, at = 0, entries = 0;
	char *bytes = load("mixed.fatbin", &size);
	struct text out = {0};
	struct ptx_entry e;

	takes("scale.ptx", 90, "_Z5scalePji", "scale.ptx");
	takes("mixed.fatbin", 90, "_Z5scalePji", "scale.ptx");
	takes("mixed.fatbin", 100, "_Z5scalePji", "scale.ptx");
	takes("mixed.fatbin", 75, "k", "forms.ptx");
	takes("mixed.fatbin", 90, "twice", "forms.ptx");
	takes("lz4.fatbin", 90, "_Z5scalePji", "scale.ptx");
	assert_string_equal(ptx_of_image(bytes, size, 60, "k", &out),
			    "its module has no PTX that the device can run");
	while (ptx_fatbin_next(bytes, size, &at, &e))
		entries++;
	assert_int_equal(entries, 4);
	for (size_t cut = 0; cut < size; cut += 7)
		for (at = 0; ptx_fatbin_next(bytes, cut, &at, &e);)
			assert_true((const char *)e.header + e.header_bytes + e.bytes <=
				    bytes + cut);
	assert_string_equal(
		ptx_of_image("\177ELF\2 and all that follows, which are sixty-four bytes "
			     "and some more of it",
			     76, 90, "k", &out),
		"its module is machine code without PTX");
	free(bytes);
}

static void test_lz4(void **state)
{
	static const uint8_t good[] = {0x35, 'a', 'b', 'c', 3, 0, 0x10, '!'};
	static const uint8_t far[] = {0x15, 'a', 9, 0, 0x10, '!'};
	uint8_t out[16];
	size_t length;

	assert_true(ptx_unpack_lz4(good, sizeof(good), out, sizeof(out), &length));
	assert_int_equal(length, 13);
	assert_memory_equal(out, "abcabcabcabc!", 13);
	assert_false(ptx_unpack_lz4(good, sizeof(good), out, 12, &length));
	assert_false(ptx_unpack_lz4(good, 5, out, sizeof(out), &length));
	assert_false(ptx_unpack_lz4(far, sizeof(far), out, sizeof(out), &length));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),    cmocka_unit_test(test_work),
		cmocka_unit_test(test_blocks),    cmocka_unit_test(test_source),
		cmocka_unit_test(test_addresses), cmocka_unit_test(test_times),
		cmocka_unit_test(test_refused),   cmocka_unit_test(test_images),
		cmocka_unit_test(test_lz4),       cmocka_unit_test(test_marks_of_a_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
