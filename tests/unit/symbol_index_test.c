/* SPDX-License-Identifier: Apache-2.0 */
/* The index finds the symbols that libdwfl finds by walking through all of them, in this program and in the C library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

#include "stream/symbol_index.h"

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
					 .find_debuginfo = dwfl_standard_find_debuginfo};

struct subject {
	Dwfl *dwfl;
	Dwfl_Module *module;
	struct symbol_index index;
};

static void open_subject(struct subject *s, const char *path)
{
	GElf_Addr bias;

	*s = (struct subject){.dwfl = dwfl_begin(&callbacks)};
	assert_non_null(s->dwfl);
	dwfl_report_begin(s->dwfl);
	s->module = dwfl_report_elf(s->dwfl, path, path, -1, 0, true);
	dwfl_report_end(s->dwfl, NULL, NULL);
	assert_non_null(s->module);
	assert_non_null(dwfl_module_getelf(s->module, &bias));
}

static void close_subject(struct subject *s)
{
	symbol_index_release(&s->index);
	dwfl_end(s->dwfl);
}

static bool is_code(const GElf_Sym *s)
{
	switch (GELF_ST_TYPE(s->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
	case STT_NOTYPE:
		return s->st_shndx != SHN_ABS;
	default:
		return false;
	}
}

/* libdwfl takes a label that stands at the end of its section for what begins there, like _edata for the first byte of .bss. */
static bool ends_section(const GElf_Sym *s, GElf_Word section, Elf *elf)
{
	GElf_Shdr memory, *h = gelf_getshdr(elf_getscn(elf, section), &memory);

	return !s->st_size && h && s->st_value == h->sh_addr + h->sh_size;
}

/* libdwfl asked for the same address, where it gives a function. True: it did. */
static bool compare(struct subject *s, uint64_t at)
{
	GElf_Off offset = 0;
	GElf_Word section = 0;
	GElf_Sym symbol;
	Elf *elf = NULL;
	const char *name =
		dwfl_module_addrinfo(s->module, at, &offset, &symbol, &section, &elf, NULL);
	const struct symbol_range *r = symbol_index_find(&s->index, s->module, at);

	if (!name || !is_code(&symbol) || ends_section(&symbol, section, elf))
		return false;
	assert_non_null(r);
	assert_string_equal(r->name, name);
	assert_int_equal(r->start, at - offset);
	if (symbol.st_size)
		assert_int_equal(r->end - r->start, symbol.st_size);
	assert_int_equal(r->sized, symbol.st_size != 0);
	return true;
}

static void check(const char *path, unsigned step, unsigned least)
{
	unsigned found = 0;
	struct subject s;

	open_subject(&s, path);
	assert_null(symbol_index_find(&s.index, s.module, 0));
	for (size_t i = 0; i < s.index.sized.count; i += step) {
		const uint64_t start = s.index.sized.at[i].start, end = s.index.sized.at[i].end;

		found += compare(&s, start);
		found += compare(&s, start + (end - start) / 2);
		found += compare(&s, end - 1);
		compare(&s, end); /* the next one, or a gap */
	}
	for (size_t i = 0; i < s.index.labels.count; i++)
		compare(&s, s.index.labels.at[i].start);
	assert_true(found >= least);
	close_subject(&s);
}

static void test_this_program(void **state)
{
	check("/proc/self/exe", 1, 15);
}

static void test_c_library(void **state)
{
	Dl_info info;

	assert_true(dladdr((void *)(uintptr_t)puts, &info) != 0);
	check(info.dli_fname, 23, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_program),
		cmocka_unit_test(test_c_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
