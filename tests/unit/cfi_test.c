/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of call frame information against those of elfutils, at every address of the code of real objects (arguments); and of
 * damaged tables, of which there must be an answer, whatever it is.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cfi.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <pthread.h>
#include <cmocka.h>

#define UNSUPPORTED 0.01 /* of addresses, at most */
#define DAMAGES     300
#define STRIDE      509

static char **paths;

struct object {
	int fd;
	Elf *elf;
	uint8_t *segment;    /* the one with the tables */
	uint64_t bias;       /* from addresses of the file to those in `segment` */
	uint64_t start, end; /* code, in addresses of the file */
	struct cfi_tables tables;
};

static void read_segment(struct object *o, const GElf_Phdr *p)
{
	o->segment = malloc(p->p_filesz);
	assert_non_null(o->segment);
	assert_int_equal(pread(o->fd, o->segment, p->p_filesz, (off_t)p->p_offset), p->p_filesz);
	o->bias = (uint64_t)(uintptr_t)o->segment - p->p_vaddr;
	o->tables.start = (uint64_t)(uintptr_t)o->segment;
	o->tables.end = o->tables.start + p->p_filesz;
	o->tables.stays = true;
}

static void open_object(struct object *o, const char *path)
{
	GElf_Phdr p, header = {0};
	size_t count;

	*o = (struct object){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	assert_true(o->fd >= 0);
	elf_version(EV_CURRENT);
	o->elf = elf_begin(o->fd, ELF_C_READ, NULL);
	assert_int_equal(elf_getphdrnum(o->elf, &count), 0);
	for (size_t i = 0; i < count; i++) {
		assert_non_null(gelf_getphdr(o->elf, (int)i, &p));
		if (p.p_type == PT_GNU_EH_FRAME)
			header = p;
		if (p.p_type == PT_LOAD && (p.p_flags & PF_X)) {
			o->start = p.p_vaddr;
			o->end = p.p_vaddr + p.p_memsz;
		}
	}
	assert_int_equal(header.p_type, PT_GNU_EH_FRAME);
	for (size_t i = 0; i < count; i++) {
		gelf_getphdr(o->elf, (int)i, &p);
		if (p.p_type == PT_LOAD && header.p_vaddr - p.p_vaddr < p.p_filesz)
			read_segment(o, &p);
	}
	o->tables.header = header.p_vaddr + o->bias;
}

static void close_object(struct object *o)
{
	elf_end(o->elf);
	close(o->fd);
	free(o->segment);
}

/* What elfutils says of a register that is kept, in our words. -1: something else. */
static int kept(Dwarf_Frame *f, int reg, int64_t *offset)
{
	Dwarf_Op memory[3], *ops;
	size_t n;

	*offset = 0;
	assert_int_equal(dwarf_frame_register(f, reg, memory, &ops, &n), 0);
	if (n == 0)
		return ops ? CFI_LOST : CFI_SAME;
	if (n == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst) {
		*offset = (int64_t)ops[1].number;
		return CFI_BELOW;
	}
	if (n == 1 && ops[0].atom == DW_OP_breg6) {
		*offset = (int64_t)ops[0].number;
		return CFI_BY_RBP;
	}
	return -1;
}

static int by_register(unsigned reg)
{
	return reg == 7 ? CFI_RSP : reg == 6 ? CFI_RBP : reg == 3 ? CFI_RBX : CFI_NONE;
}

static int cfa(Dwarf_Frame *f, int64_t *offset)
{
	Dwarf_Op *ops;
	size_t n;

	*offset = 0;
	if (dwarf_frame_cfa(f, &ops, &n) != 0)
		return CFI_NONE;
	if (n == 1 && ops[0].atom == DW_OP_bregx && ops[0].number <= 7) {
		*offset = (int64_t)ops[0].number2;
		return by_register((unsigned)ops[0].number);
	}
	if (n == 1 && ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg7) {
		*offset = (int64_t)ops[0].number;
		return by_register(ops[0].atom - DW_OP_breg0);
	}
	if (n == 2 && ops[0].atom == DW_OP_breg6 && ops[1].atom == DW_OP_deref) {
		*offset = (int64_t)ops[0].number;
		return CFI_AT_RBP;
	}
	if (n == 9 && ops[3].atom == DW_OP_and && ops[5].atom == DW_OP_ge) {
		*offset = ops[4].atom - DW_OP_lit0;
		return CFI_PLT;
	}
	return CFI_NONE;
}

/* Of rbx nothing is said at most places, which for elfutils 0.188 is lost: it has that in rax as what calls preserve. */
static struct cfi_rule theirs(Dwarf_Frame *f, bool is_signal)
{
	struct cfi_rule r = {.cfa = CFI_NONE};
	int64_t of_cfa, of_rbp, of_rbx, of_ra;
	int how = cfa(f, &of_cfa), rbp = kept(f, 6, &of_rbp), rbx = kept(f, 3, &of_rbx),
	    ra = kept(f, 16, &of_ra);

	if (is_signal)
		return (struct cfi_rule){.cfa = CFI_SIGNAL};
	if (ra == CFI_LOST)
		return (struct cfi_rule){.cfa = CFI_OUTERMOST};
	if (how == CFI_NONE || ra != CFI_BELOW || of_ra != -8)
		return r;
	r.cfa = (uint8_t)how;
	r.cfa_offset = (int32_t)of_cfa;
	r.rbp = (uint8_t)(rbp < 0 ? CFI_LOST : rbp);
	r.rbp_offset = (int16_t)of_rbp;
	r.rbx = (uint8_t)(rbx < 0 ? CFI_LOST : rbx == CFI_LOST ? CFI_SAME : rbx);
	r.rbx_offset = (int16_t)of_rbx;
	return r;
}

static void compare_row(const struct object *o, uint64_t from, uint64_t to,
			const struct cfi_rule *want, uint64_t *unsupported)
{
	struct cfi_rule got;

	for (uint64_t pc = from; pc < to; pc++) {
		assert_true(cfi_find(&o->tables, pc + o->bias, &got));
		if (got.cfa != want->cfa || got.cfa_offset != want->cfa_offset ||
		    got.rbp != want->rbp || got.rbp_offset != want->rbp_offset ||
		    got.rbx != want->rbx || got.rbx_offset != want->rbx_offset)
			fail_msg("%#lx: cfa %d%+d rbp %d%+d rbx %d%+d, elfutils has cfa %d%+d rbp "
				 "%d%+d rbx %d%+d",
				 pc, got.cfa, got.cfa_offset, got.rbp, got.rbp_offset, got.rbx,
				 got.rbx_offset, want->cfa, want->cfa_offset, want->rbp,
				 want->rbp_offset, want->rbx, want->rbx_offset);
		*unsupported += got.cfa == CFI_NONE;
	}
}

static void compare(const char *path)
{
	uint64_t described = 0, unsupported = 0;
	struct object o;
	Dwarf_CFI *all;

	open_object(&o, path);
	all = dwarf_getcfi_elf(o.elf);
	assert_non_null(all);
	for (uint64_t pc = o.start; pc < o.end;) {
		Dwarf_Addr from, to;
		struct cfi_rule got, want;
		Dwarf_Frame *f;
		bool is_signal;

		if (dwarf_cfi_addrframe(all, pc, &f) != 0) {
			assert_false(cfi_find(&o.tables, pc + o.bias, &got));
			pc++;
			continue;
		}
		dwarf_frame_info(f, &from, &to, &is_signal);
		want = theirs(f, is_signal);
		compare_row(&o, pc, to, &want, &unsupported);
		described += to - pc;
		pc = to;
		free(f);
	}
	printf("%s: %lu addresses, %lu not supported (%.3f %%)\n", path, described, unsupported,
	       100.0 * (double)unsupported / (double)described);
	assert_true(described > 1000);
	assert_true((double)unsupported < UNSUPPORTED * (double)described);
	dwarf_cfi_end(all);
	close_object(&o);
}

static void test_rules(void **state)
{
	for (char **p = paths; *p; p++)
		compare(*p);
}

/* Bytes changed at random; the same each time. Tables end where memory ends: the sanitizers would tell. */
static void test_damaged(void **state)
{
	struct cfi_rule rule;
	struct object o;

	srand(1);
	open_object(&o, paths[0]);
	for (int i = 0; i < DAMAGES; i++) {
		uint64_t size = o.tables.end - o.tables.header, at;

		for (int k = 0; k < 200; k++) {
			at = (uint64_t)rand() % size;
			((uint8_t *)(uintptr_t)o.tables.header)[at < 12 && i % 10 ? at + 12 : at] ^=
				(uint8_t)(1 << rand() % 8);
		}
		for (uint64_t pc = o.start + (uint64_t)i; pc < o.end; pc += STRIDE * 97)
			cfi_find(&o.tables, pc + o.bias, &rule);
	}
	close_object(&o);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_damaged),
	};

	paths = argv + 1;
	return argc < 2 ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
