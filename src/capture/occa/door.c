/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-occa.so: the door of OCCA. It is preloaded and exports the functions of functions.h as thunks that jump
 * where their entry says and leave registers, stack and return address as they are. The first that is called
 * has libocca's own looked for; from then on those that libkymo replaces lead to it, and of those that are noted it
 * is told who calls them. libocca's tables of virtual functions lead here as well: the loader fills them by name.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/elf.h"
#include "capture/occa/functions.h"
#include "core/intercept/resolve.h"

#define HIDDEN __attribute__((visibility("hidden")))

void *_Atomic occa_entries[OCCA_THUNKS] HIDDEN;
static void *real[OCCA_FUNCTIONS];
static _Atomic bool opened;

/* Of the thunks that note: libocca's code, begin and bytes (0: not known yet), and where the note is written. */
uintptr_t occa_code[2] HIDDEN;
_Thread_local struct {
	struct occa_note note;
	_Alignas(16) char rest[OCCA_THREAD_BYTES - sizeof(struct occa_note)];
} occa_room HIDDEN __attribute__((tls_model("initial-exec")));
_Static_assert(offsetof(struct occa_note, place) == 0 && offsetof(struct occa_note, caller) == 8 &&
		       offsetof(struct occa_note, function) == 16,
	       "as the thunks write it");

/* ---- thunks ---- */

/* Those of operator(): of 1 to 128 arguments, each of which after the first adds as much to the name. */
#define MORE_1          OCCA_CALL_MORE
#define MORE_2          MORE_1 MORE_1
#define MORE_4          MORE_2 MORE_2
#define MORE_8          MORE_4 MORE_4
#define MORE_16         MORE_8 MORE_8
#define MORE_32         MORE_16 MORE_16
#define MORE_64         MORE_32 MORE_32
#define CALLS_1(more)   "\tocca_note " OCCA_CALL_1 more "\n"
#define CALLS_2(more)   CALLS_1(more) CALLS_1(more MORE_1)
#define CALLS_4(more)   CALLS_2(more) CALLS_2(more MORE_2)
#define CALLS_8(more)   CALLS_4(more) CALLS_4(more MORE_4)
#define CALLS_16(more)  CALLS_8(more) CALLS_8(more MORE_8)
#define CALLS_32(more)  CALLS_16(more) CALLS_16(more MORE_16)
#define CALLS_64(more)  CALLS_32(more) CALLS_32(more MORE_32)
#define CALLS_128(more) CALLS_64(more) CALLS_64(more MORE_64)
_Static_assert(OCCA_CALLS == 128, "as many thunks");

__asm__(".pushsection .text,\"ax\",%progbits\n"
	"\t.set occa_number, 0\n"
	"\t.macro occa_thunk name\n"
	"\t.balign 32\n\t.globl \\name\n\t.type \\name, %function\n\\name:\n\t.cfi_startproc\n"
	"\tendbr64\n\tmov (occa_entries + 8 * occa_number)(%rip), %r11\n\ttest %r11, %r11\n"
	"\tjz 1f\n\tjmp *%r11\n1:\tmov $occa_number, %r11d\n\tjmp occa_unbound\n"
	"\t.cfi_endproc\n\t.size \\name, . - \\name\n\t.set occa_number, occa_number + 1\n\t.endm\n"
	/* Likewise, but who calls is noted, unless it is libocca. No argument is in r10 or r11. */
	"\t.macro occa_note name\n"
	"\t.balign 32\n\t.globl \\name\n\t.type \\name, %function\n\\name:\n\t.cfi_startproc\n"
	"\tendbr64\n\tmov (%rsp), %r11\n\tsub occa_code(%rip), %r11\n"
	"\tcmp occa_code + 8(%rip), %r11\n\tjb 1f\n"
	"\tmov occa_room@gottpoff(%rip), %r10\n\tmov (%rsp), %r11\n"
	"\tmov %rsp, %fs:(%r10)\n\tmov %r11, %fs:8(%r10)\n\tmovl $occa_number, %fs:16(%r10)\n"
	"1:\tmov (occa_entries + 8 * occa_number)(%rip), %r11\n\ttest %r11, %r11\n"
	"\tjz 1f\n\tjmp *%r11\n1:\tmov $occa_number, %r11d\n\tjmp occa_unbound\n"
	"\t.cfi_endproc\n\t.size \\name, . - \\name\n\t.set occa_number, occa_number + 1\n\t.endm\n"
#define THUNK(id, symbol) "\tocca_thunk " symbol "\n"
	OCCA_WRAPPED(THUNK)
#undef THUNK
#define THUNK(id, symbol) "\tocca_note " symbol "\n"
		OCCA_NOTED(THUNK)
#undef THUNK
			CALLS_128("") "\t.popsection\n");

/* ---- libocca's functions ---- */

/* One after the other, without pointers, which would be relocated in every process. */
static const char names[] =
#define NAME(id, symbol) symbol "\0"
	OCCA_WRAPPED(NAME) OCCA_NOTED(NAME);
static const char asked[] = OCCA_ASKED(NAME);
#undef NAME

static bool is_occa(const char *path, const void *unused)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, "libocca", 7) == 0;
}

static bool any_library(const char *path, const void *unused)
{
	return *path != '\0';
}

/* Not our own, by whatever name it was found. */
static bool is_ours(const void *function)
{
	Dl_info info, self;

	return dladdr(function, &info) && dladdr((const void *)names, &self) &&
	       info.dli_fbase == self.dli_fbase;
}

/* Where libocca came without RTLD_GLOBAL it is not among what RTLD_NEXT looks through. */
static void *find(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name), *all[16];
	elf_wanted_fn in[] = {is_occa, any_library};

	for (unsigned i = 0; !found && i < 2; i++) {
		unsigned n = elf_find_in(in[i], NULL, name, all, 16);

		for (unsigned k = 0; !found && k < n; k++)
			found = is_ours(all[k]) ? NULL : all[k];
	}
	return found;
}

static unsigned find_list(const char *list, size_t size, unsigned number)
{
	for (const char *p = list; p < list + size - 1; p += strlen(p) + 1)
		real[number++] = find(p);
	return number;
}

static void find_calls(void)
{
	char name[sizeof(OCCA_CALL_1) + OCCA_CALLS * (sizeof(OCCA_CALL_MORE) - 1)] = OCCA_CALL_1;
	size_t length = sizeof(OCCA_CALL_1) - 1;

	for (unsigned i = 0; i < OCCA_CALLS; i++) {
		real[OCCA_CALL + i] = find(name);
		memcpy(name + length, OCCA_CALL_MORE, sizeof(OCCA_CALL_MORE));
		length += sizeof(OCCA_CALL_MORE) - 1;
	}
}

/* ---- opening ---- */

static void *thread_room(void)
{
	return &occa_room;
}

static void open_occa(void)
{
	const struct occa_door door = {real, occa_entries, thread_room, &occa_code[0],
				       &occa_code[1]};

	find_list(names, sizeof(names), 0);
	find_calls();
	find_list(asked, sizeof(asked), OCCA_THUNKS);
	kymo_occa_open(&door);
	for (unsigned i = 0; i < OCCA_THUNKS; i++)
		if (!atomic_load(&occa_entries[i]))
			atomic_store(&occa_entries[i], real[i]);
	atomic_store(&opened, true);
}

/* libocca has no such function, and yet it is called: by what was built with another. */
static void *absent(void)
{
	return NULL;
}

void *occa_resolve(uint32_t number) HIDDEN __attribute__((used));

/* A thunk without an entry: the first call of all, or of what libocca lacks. */
void *occa_resolve(uint32_t number)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved = errno;
	void *to;

	if (!atomic_load_explicit(&opened, memory_order_acquire))
		pthread_once(&once, open_occa);
	to = atomic_load_explicit(&occa_entries[number], memory_order_relaxed);
	errno = saved;
	return to ? to : (void *)(uintptr_t)absent;
}

RESOLVE_AND_JUMP("occa_unbound", "occa_resolve");
