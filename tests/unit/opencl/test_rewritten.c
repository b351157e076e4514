/* SPDX-License-Identifier: Apache-2.0 */
/* What `kymo rewrite` writes is taken as it says, and nothing that is cut or contradicts itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/counter/rewritten.h"

static const char good[] = "kymo-rewrite 1\n"
			   "clang 19 /usr/lib/libclang-19.so.1\n"
			   "kernel add\n"
			   "refused draw line%207:%20no%20such%20%25type\n"
			   "block 0 add function 2 1 \n"
			   "block 1 add then 4 3 /tmp/a%20b.cl\n"
			   "site 0 1 rw global 4 3 5 7 \n"
			   "work 0 flop_single 2\n"
			   "work 1 flop_double 6 9 2 /tmp/c.cl\n"
			   "work 1 atomic 1\n"
			   "later words that nobody knows\n"
			   "options -cl-mad-enable%20-w\n"
			   "source 7\n"
			   "kernel\n";

static bool parse(const char *text, size_t length, struct cap_rewritten *r)
{
	char *copy = malloc(length + 1);

	memcpy(copy, text, length);
	copy[length] = '\0';
	return cap_rewritten_parse(copy, length, r);
}

static void check_part(const struct cap_rewritten_part *p, const char *what, uint32_t block,
		       uint64_t times, uint32_t line, const char *file)
{
	assert_string_equal(p->what, what);
	assert_int_equal(p->block, block);
	assert_int_equal(p->times, times);
	assert_int_equal(p->line, line);
	assert_string_equal(p->file, file);
}

static void all_is_taken(void **state)
{
	struct cap_rewritten r;

	assert_true(parse(good, sizeof(good) - 1, &r));
	assert_string_equal(r.source, "kernel\n");
	assert_string_equal(r.options, "-cl-mad-enable -w");
	assert_int_equal(r.kernels.count, 2);
	assert_string_equal(r.kernels.at[0].name, "add");
	assert_null(r.kernels.at[0].what);
	assert_string_equal(r.kernels.at[1].what, "line 7: no such %type");
	assert_int_equal(r.blocks.count, 2);
	assert_string_equal(r.blocks.at[1].file, "/tmp/a b.cl");
	assert_string_equal(r.blocks.at[0].file, "");
	assert_int_equal(r.parts.count, 3); /* an atomic access is a site */
	check_part(&r.parts.at[0], "rw", 1, 3, 5, "");
	assert_int_equal(r.parts.at[0].bytes, 4);
	check_part(&r.parts.at[1], "flop_single", 0, 2, 2, ""); /* where its block is */
	check_part(&r.parts.at[2], "flop_double", 1, 6, 9, "/tmp/c.cl");
	cap_rewritten_release(&r);
}

static void what_is_cut_is_none(void **state)
{
	struct cap_rewritten r;

	for (size_t n = 0; n + 1 < sizeof(good); n++)
		assert_false(parse(good, n, &r));
}

static void contradictions_are_none(void **state)
{
	static const char *const bad[] = {
		"kymo-rewrite 2\nsource 0\n",
		"kymo-rewrite 1\nblock 1 f function 1 1 \nsource 0\n", /* ids are dense */
		"kymo-rewrite 1\nsite 0 0 load global 4 1 1 1 \nsource 0\n",
		"kymo-rewrite 1\nblock 0 f function 1 1 \nwork 1 int 1\nsource 0\n",
		"kymo-rewrite 1\nsource 18446744073709551615\n",
	};
	struct cap_rewritten r;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(parse(bad[i], strlen(bad[i]), &r));
}

static void all_may_be_refused(void **state)
{
	static const char text[] = "kymo-rewrite 1\nrefused * no%20libclang\n";
	struct cap_rewritten r;

	assert_true(parse(text, sizeof(text) - 1, &r));
	assert_string_equal(r.kernels.at[0].what, "no libclang");
	assert_string_equal(r.source, "");
	cap_rewritten_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_taken),
		cmocka_unit_test(what_is_cut_is_none),
		cmocka_unit_test(contradictions_are_none),
		cmocka_unit_test(all_may_be_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
