/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calling functions of tools so that what they throw goes no further. Core links no C++ library and
 * no unwinder: core_contained() is a frame with a personality of its own, which catches whatever
 * comes and uses the functions of the very unwinder that asks it, found when the first exception
 * passes. What an unwinder that exports none of them (linked statically) brings passes through, as
 * do pthread_exit() and cancellation.
 */
#include "core/tool/tool.h"

#include <dlfcn.h>
#include <pthread.h>

#include "base/elf.h"

/* Of this thread: how often a tool's function was left by an exception. */
static _Thread_local uint32_t caught __attribute__((tls_model("initial-exec")));

uint32_t core_caught(void)
{
	return caught;
}

#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__GCC_HAVE_DWARF2_CFI_ASM)

/* ---- what unwinders share: the Itanium C++ ABI, "Exception Handling", 1.2 to 1.6 ---- */

struct exception {
	uint64_t class;
	void (*cleanup)(int reason, struct exception *e);
	uint64_t private_1, private_2;
};

enum { SEARCH_PHASE = 1, HANDLER_FRAME = 4, FORCED = 8 };                  /* actions */
enum { FOREIGN_CAUGHT = 1, HANDLER_FOUND = 6, INSTALL = 7, CONTINUE = 8 }; /* reasons */

struct unwinder {
	void (*set_register)(void *context, int index, uintptr_t value);
	void (*set_address)(void *context, uintptr_t value);
};

/* The function of that name in the object that holds `address`. */
static void *symbol_beside(const char *name, const void *address)
{
	Dl_info wanted, info;
	void *found[32];
	unsigned n = elf_find_everywhere(name, found, 32);

	if (!dladdr(address, &wanted))
		return NULL;
	for (unsigned i = 0; i < n; i++)
		if (dladdr(found[i], &info) && info.dli_fbase == wanted.dli_fbase)
			return found[i];
	return NULL;
}

static bool unwinder_of(const void *address, struct unwinder *u)
{
	void *set_register = symbol_beside("_Unwind_SetGR", address);
	void *set_address = symbol_beside("_Unwind_SetIP", address);

	*(void **)&u->set_register = set_register;
	*(void **)&u->set_address = set_address;
	return set_register && set_address;
}

int core_personality(int version, int actions, uint64_t class, struct exception *e, void *context);
uint64_t core_contained_caught(struct exception *e);
extern const char core_contained_landing[] __attribute__((visibility("hidden")));

__attribute__((used, visibility("hidden"))) int
core_personality(int version, int actions, uint64_t class, struct exception *e, void *context)
{
	struct unwinder u;

	if (version != 1 || (actions & FORCED) || !unwinder_of(__builtin_return_address(0), &u))
		return CONTINUE;
	if (actions & SEARCH_PHASE)
		return HANDLER_FOUND;
	if (!(actions & HANDLER_FRAME))
		return CONTINUE;
	u.set_register(context, __builtin_eh_return_data_regno(0), (uintptr_t)e);
	u.set_address(context, (uintptr_t)core_contained_landing);
	return INSTALL;
}

/* C++ counts exceptions on their way; the library that threw this one is told that it has arrived.
 */
static void finish_exception(struct exception *e)
{
	void *(*begin)(void *) = NULL;
	void (*end)(void) = NULL;

	if ((e->class >> 8 & 0xffffffu) == 0x432b2bu && e->cleanup) { /* "....C++" */
		*(void **)&begin =
			symbol_beside("__cxa_begin_catch", (void *)(uintptr_t)e->cleanup);
		*(void **)&end = symbol_beside("__cxa_end_catch", (void *)(uintptr_t)e->cleanup);
	}
	if (begin && end) {
		begin(e);
		end();
	} else if (e->cleanup) {
		e->cleanup(FOREIGN_CAUGHT, e);
	}
}

__attribute__((used, visibility("hidden"))) uint64_t core_contained_caught(struct exception *e)
{
	static _Atomic bool noted;

	caught++;
	finish_exception(e);
	if (!atomic_exchange(&noted, true))
		cap_note(2, "core", "an exception left a function of a tool; it went no further");
	return 0;
}

/* uint64_t core_contained(void *fn, uint64_t a, uint64_t b, uint64_t c) */
__asm__(".pushsection .text\n"
	".globl core_contained\n.hidden core_contained\n.type core_contained, %function\n"
	".globl core_contained_landing\n.hidden core_contained_landing\n"
	".p2align 4\n"
	"core_contained:\n"
	".cfi_startproc\n"
	".cfi_personality 0x1b, core_personality\n"
#if defined(__x86_64__)
	"pushq %rbp\n"
	".cfi_def_cfa_offset 16\n.cfi_offset 6, -16\n"
	"movq %rsp, %rbp\n"
	".cfi_def_cfa_register 6\n"
	"movq %rdi, %rax\n"
	"movq %rsi, %rdi\n"
	"movq %rdx, %rsi\n"
	"movq %rcx, %rdx\n"
	"call *%rax\n"
	"popq %rbp\n"
	".cfi_def_cfa 7, 8\n"
	"ret\n"
	".cfi_def_cfa 6, 16\n"
	"core_contained_landing:\n"
	"movq %rax, %rdi\n"
	"call core_contained_caught\n"
	"popq %rbp\n"
	".cfi_def_cfa 7, 8\n"
	"ret\n"
#else
	"stp x29, x30, [sp, #-16]!\n"
	".cfi_def_cfa_offset 16\n.cfi_offset 29, -16\n.cfi_offset 30, -8\n"
	"mov x29, sp\n"
	"mov x9, x0\n"
	"mov x0, x1\n"
	"mov x1, x2\n"
	"mov x2, x3\n"
	"blr x9\n"
	"ldp x29, x30, [sp], #16\n"
	".cfi_restore 30\n.cfi_restore 29\n.cfi_def_cfa_offset 0\n"
	"ret\n"
	".cfi_def_cfa_offset 16\n.cfi_offset 29, -16\n.cfi_offset 30, -8\n"
	"core_contained_landing:\n"
	"bl core_contained_caught\n"
	"ldp x29, x30, [sp], #16\n"
	".cfi_restore 30\n.cfi_restore 29\n.cfi_def_cfa_offset 0\n"
	"ret\n"
#endif
	".cfi_endproc\n"
	".size core_contained, .-core_contained\n"
	".popsection\n");

#else

uint64_t core_contained(const void *fn, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t (*call)(uint64_t, uint64_t, uint64_t) = NULL;

	*(const void **)&call = fn;
	return call(a, b, c);
}

#endif
