/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of loaded libraries, found without asking the loader. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/elf.h"

static bool has(const char *path, const void *part)
{
	return strstr(path, part) != NULL;
}

static void *load(void)
{
	void *library = dlopen(ELF_TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	assert_non_null(library);
	return library;
}

/* The library has two: programs that were linked with the older one go on with that. */
static void test_version(void **state)
{
	void *library = load(), *found[4] = {NULL};

	assert_int_equal(elf_find_everywhere("elf_test_function", found, 4), 1);
	assert_ptr_equal(found[0], dlsym(library, "elf_test_function"));
	assert_ptr_not_equal(found[0], dlvsym(library, "elf_test_function", "OLD"));
}

static void test_path(void **state)
{
	void *library = load(), *found[4] = {NULL};

	assert_int_equal(elf_find_in(has, "no such library", "elf_test_function", found, 4), 0);
	assert_int_equal(elf_find_in(has, "libelf_test", "elf_test_function", found, 4), 1);
	assert_ptr_equal(found[0], dlsym(library, "elf_test_function"));
	assert_int_equal(elf_find_in(has, "libelf_test", "malloc", found, 4), 0);
	assert_int_equal(elf_find_in(has, "libelf_test", "elf_test_data", found, 4), 0);
	assert_int_equal(elf_find_everywhere("elf_test_function", found, 0), 0);
}

/* Data too, and how large it is; the first in load order. */
static void test_symbol(void **state)
{
	void *library = load(), *at = NULL;
	uint64_t size = 0;

	assert_true(elf_symbol("elf_test_data", &at, &size));
	assert_ptr_equal(at, dlsym(library, "elf_test_data"));
	assert_int_equal(size, sizeof(int));
	assert_true(elf_symbol("elf_test_function", &at, &size));
	assert_ptr_equal(at, dlsym(library, "elf_test_function"));
	assert_true(size > 0);
	assert_false(elf_symbol("elf_test_nothing", &at, &size));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_symbol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
