/* SPDX-License-Identifier: Apache-2.0 */
/* A function that is nearly always in its third instruction, one of those that a patch moves away; called by another one. */
#include <stddef.h>
#include <time.h>

#define KEPT __attribute__((noinline, noclone))

void filler(char *to, size_t bytes);
__asm__(".globl filler\n.type filler, @function\nfiller:\n.cfi_startproc\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n"
	"mov %rsi, %rcx\n"
	"rep stosb\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\n"
	"ret\n.cfi_endproc\n.size filler, . - filler\n");

static char bytes[16 << 20];

KEPT void filling(void)
{
	filler(bytes, sizeof(bytes));
	__asm__ volatile("");
}

int main(void)
{
	struct timespec t;

	do {
		filling();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < 150);
	return 0;
}
