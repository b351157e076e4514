/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way back of a thread that is led elsewhere (parts.h): what a signal's frame is, so that rt_sigreturn() puts all of
 * the thread's state back, whether or not somebody who traces it is still there. It lies below the thread's stack, beyond what a
 * function may use there. Source: sigreturn(2), and the kernel's uapi/asm/sigcontext.h.
 */
#include <cpuid.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#include "attach/parts.h"

enum {
	RED_ZONE = 128,
	LINE = 64,         /* alignment of what XRSTOR reads */
	LEGACY = 512 + 64, /* bytes of FXSAVE, and the header behind them */
	IN_USE_AT = 512,   /* which parts of the state are not as at first */
	SOFTWARE_AT = 464, /* bytes that software may use: struct software */
	FLAGS = 1 | 2 | 4, /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
	NO_STACK =
		4 /* of no meaning in ss_flags: the kernel leaves the stack for signals as it is */
};
#define MAGIC1 0x46505853u
#define MAGIC2 0x46505845u

struct software {
	uint32_t magic, bytes;
	uint64_t parts;
	uint32_t state_bytes, pad[7];
};

/* As rt_sigreturn() finds it, once the first word has been taken off the stack. */
struct frame {
	uint64_t sigreturn;
	char context[offsetof(ucontext_t, uc_sigmask) + sizeof(uint64_t)];
	uint64_t blocked;
	_Alignas(LINE) uint8_t state[];
};
_Static_assert(sizeof(struct frame) % LINE == 0, "the state lies at its end");

/* What of the registers has to be kept: those parts that are in use. */
static size_t bytes_in_use(const uint8_t *state, size_t bytes, uint64_t *parts)
{
	size_t most = LEGACY;

	memcpy(parts, state + IN_USE_AT, sizeof(*parts));
	*parts |= 3; /* of FXSAVE */
	for (unsigned i = 2; i < 63; i++) {
		unsigned size, at, c, d;

		if (*parts >> i & 1 && __get_cpuid_count(13, i, &size, &at, &c, &d) &&
		    at + size > most)
			most = at + size;
	}
	return most < bytes ? most : bytes;
}

/* A system call that was interrupted begins anew, as the kernel would have it. */
static void begin_anew(struct user_regs_struct *r)
{
	enum { RESTARTSYS = 512, RESTARTNOINTR, RESTARTNOHAND, RESTART_RESTARTBLOCK = 516 };
	const long long result = (long long)r->rax;

	if ((long long)r->orig_rax < 0 ||
	    (result != -RESTARTSYS && result != -RESTARTNOINTR && result != -RESTARTNOHAND &&
	     result != -RESTART_RESTARTBLOCK))
		return;
	r->rax = r->orig_rax;
	r->rip -= 2;
}

static void put_registers(ucontext_t *c, struct user_regs_struct r)
{
	greg_t *g = c->uc_mcontext.gregs;

	begin_anew(&r);
	g[REG_R8] = (greg_t)r.r8;
	g[REG_R9] = (greg_t)r.r9;
	g[REG_R10] = (greg_t)r.r10;
	g[REG_R11] = (greg_t)r.r11;
	g[REG_R12] = (greg_t)r.r12;
	g[REG_R13] = (greg_t)r.r13;
	g[REG_R14] = (greg_t)r.r14;
	g[REG_R15] = (greg_t)r.r15;
	g[REG_RDI] = (greg_t)r.rdi;
	g[REG_RSI] = (greg_t)r.rsi;
	g[REG_RBP] = (greg_t)r.rbp;
	g[REG_RBX] = (greg_t)r.rbx;
	g[REG_RDX] = (greg_t)r.rdx;
	g[REG_RAX] = (greg_t)r.rax;
	g[REG_RCX] = (greg_t)r.rcx;
	g[REG_RSP] = (greg_t)r.rsp;
	g[REG_RIP] = (greg_t)r.rip;
	g[REG_EFL] = (greg_t)r.eflags;
	g[REG_CSGSFS] = (greg_t)(r.cs | r.ss << 48);
}

uint64_t back_build(const struct tracee *t, uint64_t sigreturn, uint64_t blocked, struct back *b)
{
	uint64_t parts;
	const size_t state = bytes_in_use(t->extended, t->extended_bytes, &parts);
	const struct software s = {.magic = MAGIC1,
				   .bytes = (uint32_t)(state + sizeof(uint32_t)),
				   .parts = parts,
				   .state_bytes = (uint32_t)state};
	const uint32_t end = MAGIC2;
	struct frame *f = (struct frame *)b->data;
	ucontext_t c = {.uc_flags = FLAGS, .uc_stack = {.ss_flags = NO_STACK}};
	uint64_t at;

	b->bytes = sizeof(*f) + state + sizeof(end);
	if (t->extended_bytes < LEGACY || b->bytes > sizeof(b->data))
		return 0;
	at = (t->registers.rsp - RED_ZONE - b->bytes) & ~(uint64_t)(LINE - 1);
	put_registers(&c, t->registers);
	c.uc_mcontext.fpregs = (void *)(uintptr_t)(at + sizeof(*f));
	memcpy(&c.uc_sigmask, &t->mask, sizeof(t->mask));
	f->sigreturn = sigreturn;
	memcpy(f->context, &c, sizeof(f->context));
	f->blocked = blocked;
	memcpy(f->state, t->extended, state);
	memcpy(f->state + SOFTWARE_AT, &s, sizeof(s));
	memcpy(f->state + state, &end, sizeof(end));
	return at;
}

uint64_t back_blocked(uint64_t at)
{
	return at + offsetof(struct frame, blocked);
}
