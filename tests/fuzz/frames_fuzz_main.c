/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the target on the program's own tables and stack, as they are and damaged; the same damage each time. */
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/careful.h"
#include "base/cfi.h"
#include "core/unwind/unwind.h"

#define ROUNDS    20000
#define STACKS    20000
#define STACK     2048u
#define TABLES    (1u << 20)
#define DAMAGED   4u /* bytes of one entry */
#define REGISTERS sizeof(struct unwind_registers)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t input[8 + TABLES];
static uint32_t size, header; /* of tables */
static uint64_t address;      /* of the header, in the program */

static int find_tables(struct dl_phdr_info *o, size_t n, void *data)
{
	const ElfW(Phdr) *h = NULL;

	for (int i = 0; i < o->dlpi_phnum; i++)
		if (o->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			h = &o->dlpi_phdr[i];
	for (int i = 0; h && i < o->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &o->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || h->p_vaddr - p->p_vaddr >= p->p_filesz)
			continue;
		size = p->p_filesz < TABLES ? (uint32_t)p->p_filesz : TABLES;
		header = (uint32_t)(h->p_vaddr - p->p_vaddr);
		address = o->dlpi_addr + h->p_vaddr;
		/* Constants lie there as well, with what the sanitizer forbids between them. */
		size = (uint32_t)careful_copy(
			input + 8, (const void *)(uintptr_t)(o->dlpi_addr + p->p_vaddr), size);
	}
	return 1; /* the program is the first */
}

static void look_for(uint64_t pc)
{
	int32_t at[2] = {(int32_t)header, (int32_t)(pc - address)};

	memcpy(input, at, sizeof(at));
}

static uint64_t own(unsigned i)
{
	static const void *const functions[] = {(const void *)find_tables, (const void *)look_for,
						(const void *)cfi_find, (const void *)unwind_copied,
						(const void *)LLVMFuzzerTestOneInput};

	return (uint64_t)(uintptr_t)functions[i % 5] + (i / 5) % 64;
}

static bool finds_own(void)
{
	struct cfi_tables t = {.header = (uint64_t)(uintptr_t)input + 8 + header,
			       .start = (uint64_t)(uintptr_t)input + 8,
			       .end = (uint64_t)(uintptr_t)input + 8 + size,
			       .stays = true};
	struct cfi_rule rule;

	for (unsigned i = 0; i < 5; i++)
		if (!cfi_find(&t, t.header + (own(i) - address), &rule) || rule.cfa != CFI_RSP)
			return false;
	return true;
}

/* Half of it where the function's own entry is likely to be: the table is searched by halves. */
static void damage_tables(unsigned round)
{
	uint8_t old[DAMAGED];
	uint32_t at[DAMAGED];

	look_for(own((unsigned)rand()));
	for (unsigned i = 0; i < DAMAGED; i++) {
		at[i] = 8 + header + (uint32_t)rand() % (size - header);
		if (round % 4 == 0 && i == 0)
			at[i] = 8 + header + (uint32_t)rand() % 12;
		old[i] = input[at[i]];
		input[at[i]] = (uint8_t)(round & 1 ? rand() : old[i] ^ 1 << rand() % 8);
	}
	LLVMFuzzerTestOneInput(input, 8 + size);
	for (unsigned i = DAMAGED; i-- > 0;)
		input[at[i]] = old[i];
}

static void damage_stack(void)
{
	static uint8_t bytes[REGISTERS + STACK];
	struct unwind_registers r = {own((unsigned)rand()), 0x7000000000u + 8u * (rand() & 255), 0,
				     0};
	uint64_t word;

	for (size_t i = REGISTERS; i + 8 <= sizeof(bytes); i += 8) {
		word = rand() % 3 ? own((unsigned)rand())
				  : r.sp + ((unsigned)rand() % STACK) / 8 * 8;
		memcpy(bytes + i, &word, 8);
	}
	r.fp = r.sp + ((unsigned)rand() % STACK) / 8 * 8;
	r.bx = r.sp + (unsigned)rand() % STACK;
	memcpy(bytes, &r, sizeof(r));
	LLVMFuzzerTestOneInput(bytes, sizeof(bytes) - (unsigned)rand() % STACK);
}

/* ---- tables of one function, with any instructions ---- */

static uint8_t made[512];
static uint32_t made_size;

static void put(uint32_t value, unsigned bytes)
{
	memcpy(made + made_size, &value, bytes);
	made_size += bytes;
}

static void fill(uint32_t start, uint32_t until)
{
	while (made_size < until)
		made[made_size++] = 0;
	memcpy(made + start, &(uint32_t){until - start - 4}, 4);
}

/* The same kind again and again, or all of them. */
static void put_instructions(uint32_t until)
{
	static const uint8_t all[] = {0x0a, 0x0b, 0x41, 0x83, 0xc3, 0x0c, 0x0d, 0x0e, 0x0f,
				      0x10, 0x16, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
				      0x09, 0x11, 0x12, 0x13, 0x14, 0x15, 0x2e, 0x01, 0x3f};
	unsigned one = (unsigned)rand() % (2 * sizeof(all));

	while (made_size < until)
		made[made_size++] = one < sizeof(all) && rand() % 16 ? all[one]
				    : rand() % 2 ? all[(unsigned)rand() % sizeof(all)]
						 : (uint8_t)(rand() % 24);
}

static void run_made(void)
{
	static const uint8_t common[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};
	static const uint8_t head[] = {1, 0x1b, 3, 0x3b};
	const uint32_t cie = 8 + 20, fde = cie + 32, function = 4096;

	made_size = 0;
	put(0, 4); /* where the header lies */
	put(function + (unsigned)rand() % 256, 4);
	memcpy(made + made_size, head, sizeof(head));
	made_size += sizeof(head);
	put(20 - 4, 4);
	put(1, 4);
	put(function, 4);
	put(fde - 8, 4);
	put(0, 4); /* length of the CIE, below */
	put(0, 4);
	memcpy(made + made_size, common, sizeof(common));
	made_size += sizeof(common);
	fill(cie, fde);
	put(0, 4);
	put(fde + 4 - cie, 4);
	put(function - (made_size - 8), 4);
	put(256, 4);
	put(0, 1);
	put_instructions(fde + 17 + (unsigned)rand() % 400);
	fill(fde, made_size);
	LLVMFuzzerTestOneInput(made, made_size);
}

int main(void)
{
	dl_iterate_phdr(find_tables, NULL);
	unwind_look();
	if (!size || !finds_own()) {
		printf("the program's own functions are not found\n");
		return 1;
	}
	srand(1);
	for (unsigned i = 0; i < ROUNDS; i++)
		damage_tables(i);
	for (unsigned i = 0; i < STACKS; i++)
		damage_stack();
	for (unsigned i = 0; i < ROUNDS; i++)
		run_made();
	/* Each length of the tables' beginning. */
	for (uint32_t i = 0; i < 8 + header + 64 && i < size; i++)
		LLVMFuzzerTestOneInput(input, i);
	return 0;
}
