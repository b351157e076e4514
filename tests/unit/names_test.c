/* SPDX-License-Identifier: Apache-2.0 */
/* Names that differ in instance data alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/brief_names.h"
#include "analysis/names.h"
#include "stream/demangle.h"

static void names_are_folded(void **state)
{
	static const struct {
		const char *name, *folded; /* NULL: it stays as it is */
	} cases[] = {
		{"step 12", "step *"},
		{"step12", "step*"},
		{"ProfilerStep#7", "ProfilerStep#*"},
		{"batch 3/100", "batch *"},
		{"epoch 1, batch 3/100", "epoch 1, batch *"},
		{"12", "*"},
		{"1-2-3", "*"},
		{"a-1-2", "a-*"},
		{"-1", "-*"},
		{"buffer 0x7f00AB", "buffer 0x*"},
		{"0x7f00ab", "0x*"},
		{"from 0x12 to 0x345 again", "from 0x* to 0x* again"},
		{"copy 0x12 part 3", "copy 0x* part *"},
		{"TSL:XlaCompile:#module=x,program_id=7#", "TSL:XlaCompile:#*#"},
		{"XlaModule:#hlo_module=jit_f.1,program_id=12#", "XlaModule:#*#"},
		{"module 0x1f:#id=7#", "module 0x*:#*#"},
		{"", NULL},
		{"forward", NULL},
		{"layer.3.attention", NULL},
		{"sgemm_128x128_nn", NULL},
		{"0x", NULL},
		{"0xzebra", NULL},
		{"a#b#", NULL},  /* no fields */
		{"a#b=c", NULL}, /* no end */
		{"#", NULL},
		{"##", NULL},
		{"x=1#", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text out = {0};
		bool folded = name_fold(&out, cases[i].name);

		text_add_bytes(&out, "", 1);
		assert_false(out.failed);
		assert_string_equal(out.s, cases[i].folded ? cases[i].folded : cases[i].name);
		assert_int_equal(folded, cases[i].folded != NULL);
		text_release(&out);
	}
}

static void devices_lose_fields(void **state)
{
	struct t_agent a = {.hardware = "GPU #0", .label = "GPU #0 (left 1)", .given = "left 1"};

	assert_string_equal(name_device(&a), "GPU #0 (left 1)");
	a.label = "GPU #0 (Xla:#global=0,local=0#)";
	a.given = "Xla:#global=0,local=0#";
	assert_string_equal(name_device(&a), "GPU #0");
	a.given = NULL;
	assert_string_equal(name_device(&a), a.label);
}

static void kernels_are_shortened(void **state)
{
	static const struct {
		const char *name, *shorter; /* NULL: it stays as it is */
	} cases[] = {
		{"void add(float*, int)", "add"},
		{"std::enable_if<!(false), void>::type a::kernel<int, b<c> >(int)",
		 "a::kernel<int, b<...> >"},
		{"float const* (anonymous namespace)::s::operator()(int) const",
		 "(anonymous namespace)::s::operator()"},
		{"a<b c>::k(d e)", "a<b c>::k"},
		{"at::f(bool, long)", "at::f"},
		{"main::{lambda(int)#1}::operator()(int) const",
		 "main::{lambda(int)#1}::operator()"},
		{"decltype (a::b(0)) add<int, int>(int, int)", "add<int, int>"},
		{"decltype(auto) f<int>(int)", "f<int>"},
		{"void (*pick<int>(int))(int)", NULL}, /* its result has brackets */
		{"ncclDevKernel_Sum(ncclArgs<4096ul>)", "ncclDevKernel_Sum"},
		{"void k<4, a::b<c>, std::array<char*, 3ul> >(int, d<e>)",
		 "k<4, a::b<...>, std::array<...> >"},
		{"void (anonymous namespace)::k<float, 10>(float*)",
		 "(anonymous namespace)::k<float, 10>"},
		{"void k<(anonymous namespace)::a<b> >(int)", "k<(anonymous namespace)::a<...> >"},
		{"void k<a<b>(c&)::{lambda(int)#1}>(int)", "k<a<...>(...)::{lambda(...)#1}>"},
		{"void s::operator()<int>(int)", "s::operator()<int>"},
		{"void k<a::operator()(int) const>(int)", "k<a::operator(...)(...) const>"},
		{"k<a>", NULL},
		{"advance", NULL},
		{"", NULL},
		{"void s::operator<<(int)", NULL}, /* brackets that are none */
		{"void s::operator()<a::operator< >(int)", NULL},
		{"k<a", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text out = {0};
		bool shortened = name_shorten(&out, cases[i].name);

		text_add_bytes(&out, "", 1);
		assert_false(out.failed);
		assert_string_equal(out.s, cases[i].shorter ? cases[i].shorter : cases[i].name);
		assert_int_equal(shortened, cases[i].shorter != NULL);
		text_release(&out);
	}
}

static void expect_brief(unsigned columns, unsigned count, const char *const names[],
			 const char *const brief[])
{
	struct text texts[BRIEF_NAMES_MOST] = {0};

	for (unsigned i = 0; i < count; i++)
		text_add(&texts[i], names[i]);
	brief_names(texts, count, columns);
	for (unsigned i = 0; i < count; i++) {
		text_add_bytes(&texts[i], "", 1);
		assert_string_equal(texts[i].s, brief[i]);
		text_release(&texts[i]);
	}
}

static void names_are_brief(void **state)
{
	static const struct {
		const char *name, *brief; /* in 30 columns */
	} cases[] = {
		{"void a::b::add(float*, int)", "a::b::add"}, /* there is room */
		{"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, "
		 "int>(int)",
		 "gemvx::kernel<int, int, flo..."},
		{"void cutlass::gemm::device::Kernel2<int>(int)", "device::Kernel2<int>"},
		{"at::native::(anonymous namespace)::run<float, 1000>(int)",
		 "native::run<float, 1000>"},
		{"some::library::(anonymous namespace)::Functor::operator()(int)",
		 "Functor::operator()"},
		{"at::native::vectorized_kernel<4, std::array<char*, 3ul> >(int)",
		 "vectorized_kernel<4, array<..."},
		{"library::main::{lambda(int)#1}::operator()(int)",
		 "main::{lambda(int)#1}::oper..."},
		{"namespaces::of_a_library::kernel_of_it", "kernel_of_it"},
		{"sm80_xmma_gemm_f32f32_f32f32_f32_tn", "sm80_xmma_gemm_f32f32_f32f3..."},
	};
	/* They stay different: not made equal, or cut before the difference. */
	static const char *const pairs[][2][2] = {
		{{"a_long_namespace::of_one::advance", "a_long_namespace::of_two::advance"},
		 {"a_long_namespace::of_one::a...", "a_long_namespace::of_two::a..."}},
		{{"sm80_xmma_gemm_f32f32_f32f32_f32_tn", "sm80_xmma_gemm_f32f32_f32f32_f32_nn"},
		 {"sm80_xmma_...tn", "sm80_xmma_...nn"}},
		{{"vectorized_elementwise_kernel<4, at::AddFunctor>",
		  "vectorized_elementwise_kernel<4, at::AxeFunctor>"},
		 {"vectorized...AddFunctor>", "vectorized...AxeFunctor>"}},
		{{"void k(int)", "void k(float)"}, {"void k(int)", "void k(float)"}},
		{{"void k(int)", "void k(int)"}, {"k", "k"}}, /* these do not */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_brief(30, 1, &cases[i].name, &cases[i].brief);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		expect_brief(30, 2, pairs[i][0], pairs[i][1]);
}

/* What is added stands behind what is there. */
static void text_is_added_to(void **state)
{
	struct text out = {0};

	text_add(&out, "range: ");
	assert_true(name_fold(&out, "step 1"));
	assert_string_equal(out.s, "range: step *");
	text_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_folded),      cmocka_unit_test(devices_lose_fields),
		cmocka_unit_test(kernels_are_shortened), cmocka_unit_test(names_are_brief),
		cmocka_unit_test(text_is_added_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
