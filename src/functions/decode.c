/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions by Capstone; see decode.h. */
#include "functions/decode.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"

/* Structures differ between major versions: the one that was compiled for. */
#if CS_API_MAJOR == 4
#define LIBRARY "libcapstone.so.4"
#else
#define LIBRARY "libcapstone.so.5"
#endif
#define FUNCTIONS(X) X(cs_open) X(cs_close) X(cs_option) X(cs_malloc) X(cs_free) X(cs_disasm_iter)

static struct {
	FUNCTIONS(LIBRARY_POINTER)
} capstone;

struct decoder {
	csh handle;
	cs_insn *instruction;
};

static bool load(char why[LIBRARY_WHY])
{
	static const char *const names[] = {LIBRARY, NULL};
#define ROW(name) LIBRARY_FUNCTION(__typeof__(capstone), name, #name),
	static const struct library_function rows[] = {FUNCTIONS(ROW)};
#undef ROW

	return library_find(names, "libcapstone4", rows, sizeof(rows) / sizeof(rows[0]), &capstone,
			    why);
}

struct decoder *decoder_new(char *why, size_t size)
{
	struct decoder *d;
	char text[LIBRARY_WHY];

	if (!capstone.cs_open && !load(text)) {
		snprintf(why, size, "%s", text);
		return NULL;
	}
	snprintf(why, size, "there is no memory");
	d = calloc(1, sizeof(*d));
	if (!d || capstone.cs_open(CS_ARCH_X86, CS_MODE_64, &d->handle) != CS_ERR_OK) {
		free(d);
		return NULL;
	}
	capstone.cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
	d->instruction = capstone.cs_malloc(d->handle);
	if (d->instruction)
		return d;
	decoder_free(d);
	return NULL;
}

void decoder_free(struct decoder *d)
{
	if (!d)
		return;
	if (d->instruction)
		capstone.cs_free(d->instruction, 1);
	capstone.cs_close(&d->handle);
	free(d);
}

/* ---- what it is ---- */

static bool is_in(const cs_detail *x, uint8_t group)
{
	for (unsigned i = 0; i < x->groups_count; i++)
		if (x->groups[i] == group)
			return true;
	return false;
}

static uint8_t kind_of_jump(const cs_insn *n, bool direct)
{
	switch (n->id) {
	case X86_INS_LJMP:
		return DECODED_UNMOVABLE;
	case X86_INS_JMP:
		return direct ? DECODED_JUMP : DECODED_INDIRECT_JUMP;
	case X86_INS_LOOP:
	case X86_INS_LOOPE:
	case X86_INS_LOOPNE:
	case X86_INS_JRCXZ:
	case X86_INS_JECXZ:
	case X86_INS_JCXZ:
		return DECODED_SHORT;
	default:
		return direct ? DECODED_BRANCH : DECODED_UNMOVABLE;
	}
}

static uint8_t kind_of(const cs_insn *n)
{
	const cs_x86 *x = &n->detail->x86;
	bool direct = x->op_count == 1 && x->operands[0].type == X86_OP_IMM;

	switch (n->id) {
	case X86_INS_NOP:
		return DECODED_NOP;
	case X86_INS_RET:
		return DECODED_RETURN;
	case X86_INS_UD2:
	case X86_INS_HLT:
		return DECODED_STOP;
	case X86_INS_CALL:
		return direct ? DECODED_CALL : DECODED_INDIRECT_CALL;
	case X86_INS_LCALL:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_IRET:
	case X86_INS_IRETD:
	case X86_INS_IRETQ:
	case X86_INS_SYSRET:
	case X86_INS_SYSEXIT:
	case X86_INS_XBEGIN:
	case X86_INS_XABORT:
		return DECODED_UNMOVABLE;
	case X86_INS_LOOP:
	case X86_INS_LOOPE:
	case X86_INS_LOOPNE:
		return DECODED_SHORT;
	default:
		return is_in(n->detail, CS_GRP_JUMP) ? kind_of_jump(n, direct) : DECODED_PLAIN;
	}
}

static void read_memory(const cs_insn *n, const cs_x86_op *op, struct decoded *out)
{
	const cs_x86_encoding *e = &n->detail->x86.encoding;
	int32_t value;

	out->by_rsp |= op->mem.base == X86_REG_RSP || op->mem.base == X86_REG_ESP;
	if (op->mem.base == X86_REG_EIP)
		out->kind = DECODED_UNMOVABLE;
	if (op->mem.base != X86_REG_RIP)
		return;
	out->relative = true;
	out->operand = n->address + n->size + (uint64_t)op->mem.disp;
	out->operand_at = e->disp_offset;
	/* Where Capstone is not sure of its own encoding nobody else is. */
	if (!e->disp_offset || e->disp_offset + 4 > n->size ||
	    (memcpy(&value, n->bytes + e->disp_offset, 4), value != op->mem.disp))
		out->kind = DECODED_UNMOVABLE;
}

static void read_operands(const cs_insn *n, struct decoded *out)
{
	const cs_x86 *x = &n->detail->x86;

	for (unsigned i = 0; i < x->op_count; i++) {
		const cs_x86_op *op = &x->operands[i];

		if (op->type == X86_OP_MEM)
			read_memory(n, op, out);
		else if (op->type == X86_OP_REG && (op->access & CS_AC_WRITE) &&
			 (op->reg == X86_REG_RSP || op->reg == X86_REG_ESP ||
			  op->reg == X86_REG_SP))
			out->sets_rsp = true;
	}
	for (unsigned i = 0; i < n->detail->regs_write_count; i++)
		out->sets_rsp |= n->detail->regs_write[i] == X86_REG_RSP;
}

static bool is_prefix(uint8_t b)
{
	switch (b) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x66:
	case 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
		return true;
	default:
		return (b & 0xf0) == 0x40; /* REX: nothing stands behind it but the opcode */
	}
}

/* A branch with a 16-bit operand size goes elsewhere on other makers' processors. */
static bool is_narrow(const struct decoded *i)
{
	return i->kind != DECODED_PLAIN && i->kind != DECODED_NOP &&
	       memchr(i->bytes, 0x66, i->opcode_at);
}

bool decode(struct decoder *d, const uint8_t *bytes, uint64_t left, uint64_t at,
	    struct decoded *out)
{
	size_t size = left < 15 ? (size_t)left : 15;
	const cs_insn *n = d->instruction;

	if (!left || !capstone.cs_disasm_iter(d->handle, &bytes, &size, &at, d->instruction) ||
	    n->size > sizeof(out->bytes))
		return false;
	*out = (struct decoded){.at = n->address, .length = (uint8_t)n->size, .kind = kind_of(n)};
	memcpy(out->bytes, n->bytes, n->size);
	while (out->opcode_at + 1 < out->length && is_prefix(out->bytes[out->opcode_at]))
		out->opcode_at++;
	out->lea = n->id == X86_INS_LEA;
	if (out->kind == DECODED_CALL || decoded_branches(out))
		out->target = (uint64_t)n->detail->x86.operands[0].imm;
	read_operands(n, out);
	if (is_narrow(out))
		out->kind = DECODED_UNMOVABLE;
	return true;
}

void decoded_text(const struct decoder *d, char *out, size_t size)
{
	const cs_insn *n = d->instruction;

	snprintf(out, size, "%s%s%s", n->mnemonic, *n->op_str ? " " : "", n->op_str);
}
