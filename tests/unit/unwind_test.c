/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks at every instruction: code is run step by step (the processor's trap flag), and what is found in the handler is compared
 * with a list of open calls that is kept by looking at each call and return. Built without frame pointers.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/unwind/unwind.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <pthread.h>
#include <cmocka.h>

#define DEEP      512
#define SMALL     16384 /* the smallest stack of a thread */
#define ALTERNATE 65536

static struct unwind_registers registers_of(const ucontext_t *u)
{
	return (struct unwind_registers){
		(uint64_t)u->uc_mcontext.gregs[REG_RIP], (uint64_t)u->uc_mcontext.gregs[REG_RSP],
		(uint64_t)u->uc_mcontext.gregs[REG_RBP], (uint64_t)u->uc_mcontext.gregs[REG_RBX]};
}

/* ---- step by step ---- */

static struct {
	uint64_t calls[DEEP]; /* return addresses, outermost first */
	uint64_t at[DEEP];    /* where they lie */
	uint32_t depth, base;
	struct unwind_registers last;
	uint64_t steps, wrong, compared;
	struct unwind_registers first_wrong;
	uint32_t wrong_got, wrong_end;
	uint32_t pushed; /* instructions behind the push of a lazy PLT entry */
	uint64_t stack_end;
	bool begun;
} track;

/* The instruction before has left a return address behind itself: it was a call. */
static void follow(const struct unwind_registers *r)
{
	uint64_t word = *(const uint64_t *)(uintptr_t)r->sp;

	while (track.depth > track.base && r->sp > track.at[track.depth - 1])
		track.depth--;
	if (r->sp == track.last.sp - 8 && word > track.last.pc && word - track.last.pc <= 8 &&
	    r->pc != word && track.depth < DEEP) {
		const uint8_t *op = (const uint8_t *)(uintptr_t)track.last.pc;

		while (*op == 0xf2 || *op == 0x3e || (*op & 0xf0) == 0x40)
			op++;
		if (*op == 0xe8 || (*op == 0xff && (op[1] >> 3 & 7) == 2)) {
			track.calls[track.depth] = word;
			track.at[track.depth++] = r->sp;
		}
	}
}

static bool is_right(const struct unwind_registers *r, const uint64_t *got, uint32_t n,
		     enum stack_end end)
{
	bool same = n == track.depth + 1 && end == STACK_OUTERMOST && got[0] == r->pc;

	for (uint32_t i = 0; same && i < track.depth; i++)
		same = got[1 + i] == track.calls[track.depth - 1 - i];
	return same;
}

/* From the stack pointer on there is all that is needed: samples of the kernel's have no more. */
static void compare(const struct unwind_registers *r)
{
	struct unwind_copy all = {(const void *)(uintptr_t)r->sp, track.stack_end - r->sp, false,
				  0};
	uint64_t got[DEEP];
	enum stack_end end;
	uint32_t n = unwind_stack(r, 0, got, DEEP, &end);
	bool same = is_right(r, got, n, end);

	if (same) {
		n = unwind_copied(r, &all, got, DEEP, &end);
		same = is_right(r, got, n, end);
	}
	track.compared++;
	if (!same && !track.wrong++) {
		track.first_wrong = *r;
		track.wrong_got = n;
		track.wrong_end = end;
	}
}

static void begin(const struct unwind_registers *r)
{
	uint64_t got[DEEP];
	enum stack_end end;
	uint32_t n = unwind_stack(r, 0, got, DEEP, &end);

	track.base = track.depth = n - 1;
	for (uint32_t i = 0; i < track.depth; i++) {
		track.calls[i] = got[n - 1 - i];
		track.at[i] = UINT64_MAX;
	}
	track.begun = true;
	track.wrong += end != STACK_OUTERMOST || n < 3;
}

static void on_step(int number, siginfo_t *info, void *context)
{
	struct unwind_registers r = registers_of(context);

	if (!track.begun)
		begin(&r);
	else
		follow(&r);
	compare(&r);
	track.pushed += r.sp == track.last.sp - 8 && *(uint8_t *)(uintptr_t)track.last.pc == 0x68 &&
			*(uint8_t *)(uintptr_t)r.pc == 0xe9;
	track.last = r;
	track.steps++;
}

void trap_on(void);
void trap_off(void);
__asm__(".text\n"
	"trap_on: .cfi_startproc\n pushfq\n .cfi_adjust_cfa_offset 8\n orq $0x100, (%rsp)\n"
	"popfq\n .cfi_adjust_cfa_offset -8\n ret\n .cfi_endproc\n"
	"trap_off: .cfi_startproc\n pushfq\n .cfi_adjust_cfa_offset 8\n andq $-257, (%rsp)\n"
	"popfq\n .cfi_adjust_cfa_offset -8\n ret\n .cfi_endproc\n");

static uint64_t own_stack_end(void)
{
	pthread_attr_t a;
	void *base;
	size_t size;

	assert_int_equal(pthread_getattr_np(pthread_self(), &a), 0);
	assert_int_equal(pthread_attr_getstack(&a, &base, &size), 0);
	pthread_attr_destroy(&a);
	return (uint64_t)(uintptr_t)base + size;
}

static void stepped(void (*run)(void), uint64_t at_least)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	uint64_t stack[ALTERNATE / 8];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)},
		none = {.ss_flags = SS_DISABLE};

	memset(&track, 0, sizeof(track));
	track.stack_end = own_stack_end();
	sigaltstack(&alternate, NULL);
	sigaction(SIGTRAP, &action, NULL);
	trap_on();
	run();
	trap_off();
	sigaltstack(&none, NULL);
	printf("%lu instructions, %lu wrong, %u calls bound\n", track.compared, track.wrong,
	       track.pushed);
	if (track.wrong)
		fail_msg("first at %#lx: %u addresses, end %u", track.first_wrong.pc,
			 track.wrong_got, track.wrong_end);
	assert_true(track.compared >= at_least);
}

static int by_value(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static __attribute__((noinline)) int aligned(int n)
{
	_Alignas(64) volatile char place[128];

	memset((char *)place, n, sizeof(place));
	return place[n] + (n ? aligned(n - 1) : 0);
}

static __attribute__((noinline)) size_t variable(size_t n)
{
	char *room = alloca(n);

	memset(room, 'x', n - 1);
	room[n - 1] = '\0';
	return strlen(room);
}

static char text[64];
static struct timespec now;
static volatile int sum;

static void library(void)
{
	int list[] = {3, 1, 2, 8, 4, 7, 6, 5};

	qsort(list, 8, sizeof(*list), by_value);
	snprintf(text, sizeof(text), "%d %.3f %s", list[7], 2.5, "end");
	clock_gettime(CLOCK_MONOTONIC, &now);
	sum += (int)strtol("77", NULL, 10);
	sum += aligned(3) + (int)variable(1000);
}

static void test_steps(void **state)
{
	stepped(library, 3000); /* calls are bound: through the entries of the PLT and the loader */
	assert_true(track.pushed >= 3);
	stepped(library, 3000);
	assert_int_equal(track.pushed, 0);
	assert_string_equal(text, "8 2.500 end");
}

static volatile sig_atomic_t handled;
static uint64_t in_handler[64];
static uint32_t in_handler_count;
static enum stack_end in_handler_end;

static void on_user(int number, siginfo_t *info, void *context)
{
	struct unwind_registers here = {0};

	UNWIND_HERE(here);
	in_handler_count = unwind_stack(&here, 0, in_handler, 64, &in_handler_end);
	handled++;
}

static bool lies_in(const uint64_t *list, uint32_t n, const void *function, uint64_t size)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i] - (uint64_t)(uintptr_t)function < size)
			return true;
	return false;
}

static __attribute__((noinline, noclone)) void raises(void)
{
	raise(SIGUSR1);
	__asm__ volatile("" ::: "memory");
}

static void raise_once(int flags)
{
	struct sigaction action = {.sa_sigaction = on_user, .sa_flags = SA_SIGINFO | flags};

	handled = 0;
	sigaction(SIGUSR1, &action, NULL);
	raises();
	assert_int_equal(handled, 1);
	assert_int_equal(in_handler_end, STACK_OUTERMOST);
	assert_true(lies_in(in_handler, in_handler_count, raises, 64));
}

static void test_signal(void **state)
{
	uint64_t stack[ALTERNATE / 8];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)},
		none = {.ss_flags = SS_DISABLE};

	raise_once(0);
	sigaltstack(&alternate, NULL);
	raise_once(SA_ONSTACK);
	sigaltstack(&none, NULL);
}

static void *small_main(void *data)
{
	raise_once(0);
	return NULL;
}

static void test_small_stack(void **state)
{
	pthread_attr_t a;
	pthread_t thread;

	pthread_attr_init(&a);
	assert_int_equal(pthread_attr_setstacksize(&a, SMALL), 0);
	assert_int_equal(pthread_create(&thread, &a, small_main, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&a);
}

static __attribute__((noinline, noclone)) void deep(int n)
{
	if (n)
		deep(n - 1);
	else
		raise(SIGUSR1);
	__asm__ volatile("" ::: "memory");
}

static void test_ends(void **state)
{
	/* push %rbx; mov $1, %rbx; call *%rdi; pop %rbx; ret */
	static const uint8_t code[] = {0x53, 0x48, 0xc7, 0xc3, 1, 0, 0, 0, 0xff, 0xd7, 0x5b, 0xc3};
	struct unwind_registers nowhere = {(uint64_t)(uintptr_t)on_user, 16, 16, 0};
	enum stack_end end;
	uint64_t out[4];
	void (*call)(void (*)(void));
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	deep(100);
	assert_int_equal(in_handler_end, STACK_DEPTH);
	assert_int_equal(in_handler_count, 64);
	assert_true(page != MAP_FAILED);
	memcpy(page, code, sizeof(code));
	*(void **)&call = page;
	call(raises);
	assert_int_equal(in_handler_end, STACK_NO_OBJECT);
	assert_true(lies_in(in_handler, in_handler_count, page, sizeof(code)));
	munmap(page, 4096);
	assert_int_equal(unwind_stack(&nowhere, 0, out, 4, &end), 1); /* no memory there */
	assert_int_equal(end, STACK_MEMORY);
	nowhere.pc = 16;
	assert_int_equal(unwind_stack(&nowhere, 0, out, 4, &end), 1);
	assert_int_equal(end, STACK_NO_OBJECT);
}

/*
 * Two pairs, each of a function with a word on the stack before one with none. The call at the end of `last_is_call` returns, if it
 * did, into the next function; `first_is_trap` is interrupted where it begins, and one byte before that is the function before it.
 * `by_rbx` has its frame as the loader has where it binds: by a register that is the one of the interrupted function, too.
 */
void last_is_call(void (*f)(void));
void first_is_trap(void);
void by_rbx(void (*f)(void));
__asm__(".text\n .p2align 4\n"
	"last_is_call: .cfi_startproc\n push %rbp\n .cfi_adjust_cfa_offset 8\n call *%rdi\n "
	".cfi_endproc\n"
	"behind_call: .cfi_startproc\n ret\n .cfi_endproc\n"
	"before_trap: .cfi_startproc\n push %rbp\n .cfi_adjust_cfa_offset 8\n jmp .\n "
	".cfi_endproc\n"
	"first_is_trap: .cfi_startproc\n ud2\n ret\n .cfi_endproc\n"
	"by_rbx: .cfi_startproc\n push %rbx\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset %rbx, 0\n"
	"mov %rsp, %rbx\n .cfi_def_cfa_register %rbx\n and $-64, %rsp\n call *%rdi\n"
	"mov %rbx, %rsp\n .cfi_def_cfa_register %rsp\n pop %rbx\n .cfi_adjust_cfa_offset -8\n"
	".cfi_restore %rbx\n ret\n .cfi_endproc\n");

static sigjmp_buf back;

static void raise_and_leave(void)
{
	raise(SIGUSR1);
	siglongjmp(back, 1);
}

static __attribute__((noinline, noclone)) void calls_last(void)
{
	last_is_call(raise_and_leave);
	__asm__ volatile("" ::: "memory");
}

static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	on_user(number, info, context);
	u->uc_mcontext.gregs[REG_RIP] += 2;
}

static __attribute__((noinline, noclone)) void calls_trap(void)
{
	by_rbx(first_is_trap);
	__asm__ volatile("" ::: "memory");
}

static void test_borders(void **state)
{
	struct sigaction user = {.sa_sigaction = on_user, .sa_flags = SA_SIGINFO},
			 trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	uint64_t first = (uint64_t)(uintptr_t)first_is_trap;

	sigaction(SIGUSR1, &user, NULL);
	sigaction(SIGILL, &trap, NULL);
	in_handler_count = 0;
	if (!sigsetjmp(back, 1))
		calls_last();
	assert_int_equal(in_handler_end, STACK_OUTERMOST);
	assert_true(lies_in(in_handler, in_handler_count, calls_last, 64));
	in_handler_count = 0;
	calls_trap();
	assert_int_equal(in_handler_end, STACK_OUTERMOST);
	assert_true(lies_in(in_handler, in_handler_count, (void *)(uintptr_t)first, 1));
	assert_true(lies_in(in_handler, in_handler_count, calls_trap, 64));
}

static uint8_t copied[65536];
static struct unwind_registers copied_from;
static uint64_t copied_size;

static __attribute__((noinline, noclone)) void copy_here(int n, uint64_t known_end)
{
	if (n) {
		copy_here(n - 1, known_end);
	} else {
		UNWIND_HERE(copied_from);
		copied_size = known_end - copied_from.sp;
		copied_size = copied_size < sizeof(copied) ? copied_size : sizeof(copied);
		memcpy(copied, (void *)(uintptr_t)copied_from.sp, copied_size);
		in_handler_count =
			unwind_stack(&copied_from, known_end, in_handler, 64, &in_handler_end);
	}
	__asm__ volatile("" ::: "memory");
}

/* A copy says the same as the stack did, when that is gone; of a part of it, the innermost callers. */
static void test_copied(void **state)
{
	uint64_t out[64];
	enum stack_end end;
	uint32_t before = 0, n;

	copy_here(20, own_stack_end());
	assert_int_equal(in_handler_end, STACK_OUTERMOST);
	assert_true(in_handler_count > 22);
	for (uint64_t part = 0; part <= copied_size; part += 8) {
		struct unwind_copy c = {copied, part, part < copied_size, 0};

		n = unwind_copied(&copied_from, &c, out, 64, &end);
		assert_true(n >= before && n <= in_handler_count);
		assert_memory_equal(out, in_handler, n * sizeof(*out));
		assert_int_equal(end, n == in_handler_count ? STACK_OUTERMOST : STACK_CUT);
		before = n;
	}
	assert_int_equal(before, in_handler_count);
	n = unwind_copied(&copied_from, &(struct unwind_copy){copied, 128, false, 0}, out, 64,
			  &end);
	assert_int_equal(end, STACK_MEMORY); /* a stack that is no longer, but goes on */
	assert_true(n < in_handler_count);
}

/* Stands for the address of a caller in the copy; what it stands for now it does from a tick on. */
static void test_stub(void **state)
{
	static const uint64_t codes[2];
	const uint64_t stub = (uint64_t)(uintptr_t)&codes[1];
	uint64_t table[4] = {0}, since[2] = {0, 1000}, out[64];
	struct unwind_copy c = {copied, 0, false, 1000};
	uint32_t replaced = 0, n;
	enum stack_end end;

	copy_here(5, own_stack_end());
	c.size = copied_size;
	table[2] = in_handler[4];
	for (uint64_t i = 0; i + 8 <= copied_size && replaced < 4; i += 8)
		if (*(uint64_t *)(copied + i) == in_handler[1 + replaced] && ++replaced == 4)
			memcpy(copied + i, &stub, sizeof(stub));
	assert_int_equal(replaced, 4);
	unwind_stubs(&(struct unwind_stubs){(uint64_t)(uintptr_t)codes, sizeof(codes), 16, table,
					    since});
	assert_true(unwind_original(stub) == in_handler[4]);
	n = unwind_copied(&copied_from, &c, out, 64, &end);
	assert_int_equal(end, STACK_OUTERMOST);
	assert_int_equal(n, in_handler_count);
	assert_memory_equal(out, in_handler, n * sizeof(*out));
	c.tick = 999; /* another call had the stub then */
	n = unwind_copied(&copied_from, &c, out, 64, &end);
	assert_int_equal(end, STACK_REPLACED);
	assert_int_equal(n, 4);
	assert_memory_equal(out, in_handler, n * sizeof(*out));
}

static _Atomic bool over;
static _Atomic uint64_t taken, cut;

static void *take(void *data)
{
	while (!over) {
		struct unwind_registers here = {0};
		enum stack_end end;
		uint64_t out[64];

		UNWIND_HERE(here);
		unwind_stack(&here, 0, out, 64, &end);
		taken++;
		cut += end != STACK_OUTERMOST;
	}
	return NULL;
}

/* Objects come and go while stacks are taken: a list that is being replaced is no loss but for a moment. */
static void test_replaced(void **state)
{
	struct cfi_tables t;
	pthread_t thread;
	void *symbol = NULL;

	assert_int_equal(pthread_create(&thread, NULL, take, NULL), 0);
	for (int i = 0; i < 300 || taken < 3000; i++) {
		void *library = dlopen(UNWIND_TEST_LIBRARY, RTLD_NOW);

		assert_non_null(library);
		symbol = dlsym(library, "elf_test_new");
		assert_non_null(symbol);
		unwind_look();
		assert_true(unwind_object((uint64_t)(uintptr_t)symbol, &t));
		dlclose(library);
		unwind_look();
		assert_false(unwind_object((uint64_t)(uintptr_t)symbol, &t));
	}
	over = true;
	pthread_join(thread, NULL);
	printf("%lu stacks, %lu cut\n", taken, cut);
	assert_true(cut * 20 < taken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),       cmocka_unit_test(test_signal),
		cmocka_unit_test(test_small_stack), cmocka_unit_test(test_ends),
		cmocka_unit_test(test_borders),     cmocka_unit_test(test_copied),
		cmocka_unit_test(test_stub),        cmocka_unit_test(test_replaced),
	};

	unwind_look();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
