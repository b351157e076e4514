/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libkymo-exports.so: the door of libraries whose functions are plain exported ones; and
 * libkymo-exports-named.so, that of such libraries as are recorded only where they are named. It exports the
 * functions as thunks, for programs that were linked to a library, or whose libraries were; and
 * stands before dlsym() for those that look the functions up by name, as stubs of CUDA's libraries
 * do. The first call of a library's function has it looked for, and traced by libkymo from then on.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/elf.h"
#include "capture/exports/door.h"
#include "core/intercept/resolve.h"

/* Of libkymo.so.1. */
bool kymo_exports_open(const char *domain, void **entries, uint32_t count);

#define USED EXPORTS_HIDDEN __attribute__((used))

void *exports_resolve(uint32_t number, const void *caller) USED;
bool exports_has(const char *name) USED;
void *exports_dlsym(void *handle, const char *name) USED;

enum { CLOSED, OPENING, OPEN };
static _Atomic int states[16]; /* by library */

/* ---- names ---------------------------------------------------------------------------------- */

static const char *name_of(uint32_t number)
{
	return exports_names + exports_name_at[number];
}

static void *thunk_of(uint32_t number)
{
	return (void *)((uintptr_t)exports_thunks + (size_t)number * EXPORTS_THUNK_SIZE);
}

static bool is_thunk(const void *function)
{
	return (uintptr_t)function - (uintptr_t)exports_thunks <
		       (size_t)exports_count * EXPORTS_THUNK_SIZE ||
	       cupti_is_thunk(function);
}

static const struct exports_library *library_of(uint32_t number)
{
	const struct exports_library *l = exports_libraries;

	while (number >= (uint32_t)l->first + l->count)
		l++;
	return l;
}

/* The number of a function, or exports_count. Names are sorted within their library. */
static uint32_t number_in(const struct exports_library *l, const char *name)
{
	uint32_t low = l->first, high = low + l->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		int order = strcmp(name, name_of(middle));

		if (order == 0)
			return middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return exports_count;
}

static uint32_t number_of(const char *name)
{
	for (unsigned i = 0; i < exports_library_count; i++) {
		const struct exports_library *l = &exports_libraries[i];
		uint32_t n = strncmp(name, l->prefix, strlen(l->prefix)) == 0 ? number_in(l, name)
									      : exports_count;

		if (n < exports_count)
			return n;
	}
	return exports_count;
}

/* ---- the real functions --------------------------------------------------------------------- */

static void dlsym_find(void)
{
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
	void *found = NULL;

	for (unsigned i = 0; !found && i < sizeof(versions) / sizeof(versions[0]); i++)
		found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	memcpy(&exports_next_dlsym, &found, sizeof(found));
#ifndef EXPORTS_NAMED
	/* The other door stands before dlsym() as well; having no version, it is not what was found. */
	if (found)
		found = exports_next_dlsym(RTLD_DEFAULT, "kymo_named_dlsym");
	if (found)
		memcpy(&exports_next_dlsym, &found, sizeof(found));
#endif
}

__attribute__((constructor)) static void prepare(void)
{
	int saved = errno;

	dlsym_find();
	errno = saved;
}

/* No tail call: dlsym() looks at its return address to know after whom to search. */
void *exports_symbol(void *handle, const char *name)
{
	void *found = exports_next_dlsym(handle, name);

	__asm__ volatile("" : "+r"(found));
	return found && !is_thunk(found) ? found : NULL;
}

static bool begins(const char *path, const char *file)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, file, strlen(file)) == 0;
}

static bool is_file(const char *path, const void *library)
{
	const struct exports_library *l = library;

	for (unsigned i = 0; i < 2; i++)
		if (*l->files[i] && begins(path, l->files[i]))
			return true;
	return false;
}

static bool has_name(const char *path, const void *file)
{
	return begins(path, file);
}

static bool any_library(const char *path, const void *unused)
{
	return *path != '\0'; /* the program itself would have been found before us */
}

/* Objects that were loaded without RTLD_GLOBAL are searched one by one. */
static void *hunt(elf_wanted_fn wanted, const void *data, const char *name)
{
	void *found[16];
	unsigned n = elf_find_in(wanted, data, name, found, sizeof(found) / sizeof(found[0]));

	for (unsigned i = 0; i < n; i++)
		if (!is_thunk(found[i]))
			return found[i];
	return NULL;
}

void *exports_hunt(const char *file, const char *name)
{
	return hunt(has_name, file, name);
}

static void *real(uint32_t number)
{
	const char *name = name_of(number);
	void *found = exports_symbol(RTLD_NEXT, name);

	if (!found)
		found = hunt(is_file, library_of(number), name);
	return found ? found : hunt(any_library, NULL, name);
}

/* Holds the object that has the function, which stays loaded from now on. */
static void *hold(const void *function)
{
	Dl_info info;

	return dladdr(function, &info) && info.dli_fname
		       ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
		       : NULL;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* `function` is one of the library's. Others who come meanwhile call on untraced. */
static void open_library(const struct exports_library *l, uint32_t number, void *function)
{
	_Atomic int *state = &states[l - exports_libraries];
	void *handle, *entries[l->count];
	int closed = CLOSED;

	if (!atomic_compare_exchange_strong(state, &closed, OPENING))
		return;
	handle = hold(function);
	for (uint32_t i = 0; i < l->count; i++)
		entries[i] = handle ? exports_symbol(handle, name_of(l->first + i)) : NULL;
	entries[number - l->first] = function;
	for (uint32_t i = 0; i < l->count; i++) {
		exports_found[l->first + i] = entries[i];
		__atomic_store_n(&exports_entries[l->first + i], entries[i], __ATOMIC_RELEASE);
	}
	door_opened((unsigned)(l - exports_libraries), function);
	kymo_exports_open(l->domain, &exports_entries[l->first], l->count);
	atomic_store(state, OPEN);
}

/* The library is not there, or has no such function: what is linked to it weakly may ask. */
static int absent_status(void)
{
	return 1; /* an error of each library that has none below 0 */
}

static int absent_negative(void)
{
	return -1;
}

static void *absent_value(void)
{
	return NULL;
}

void *exports_resolve(uint32_t number, const void *caller)
{
	int saved = errno;
	void *found, *entry;

	if (!exports_next_dlsym) /* by the constructor of a library, before ours */
		dlsym_find();
	found = real(number);
	if (found && door_inner(found, caller)) {
		errno = saved;
		return found;
	}
	if (found)
		open_library(library_of(number), number, found);
	entry = __atomic_load_n(&exports_entries[number], __ATOMIC_ACQUIRE);
	errno = saved;
	if (entry || found)
		return entry ? entry : found;
	return exports_absent[number] > 0   ? (void *)(uintptr_t)absent_status
	       : exports_absent[number] < 0 ? (void *)(uintptr_t)absent_negative
					    : (void *)(uintptr_t)absent_value;
}

RESOLVE_AND_JUMP("exports_unbound", "exports_resolve");

/* ---- dlsym() -------------------------------------------------------------------------------- */

void *(*exports_next_dlsym)(void *handle, const char *name);

/* Called for every dlsym() of the process. */
bool exports_has(const char *name)
{
	if (!exports_next_dlsym)
		dlsym_find();
	return name && *name && strchr(exports_initials, *name) &&
	       (number_of(name) < exports_count || cupti_has(name));
}

/*
 * A thunk stands for the function of one library only: the one that was opened, or is now. A symbol of
 * some other object (a sublibrary, a stub) is handed out as it is.
 */
static void *traced_dlsym(void *handle, const char *name, uint32_t number)
{
	const struct exports_library *l = library_of(number);
	void *found = exports_next_dlsym(handle, name);
	int saved = errno;
	Dl_info info;

	if (is_thunk(found)) /* the door itself was found; without it there may be none */
		found = real(number) ? found : exports_symbol(RTLD_NEXT, name);
	else if (found && atomic_load(&states[l - exports_libraries]) == CLOSED &&
		 dladdr(found, &info) && info.dli_fname && is_file(info.dli_fname, l))
		open_library(l, number, found);
	errno = saved;
	if (found && found == exports_found[number])
		return thunk_of(number);
	return found;
}

void *exports_dlsym(void *handle, const char *name)
{
	const uint32_t number = number_of(name);

	return number < exports_count ? traced_dlsym(handle, name, number)
				      : cupti_dlsym(handle, name, __builtin_return_address(0));
}

#ifdef EXPORTS_NAMED
#define ALSO "\t.globl kymo_named_dlsym\n\t.set kymo_named_dlsym, dlsym\n"
#else
#define ALSO
#endif

/* Goes on to the C library's with the caller's return address, by which it knows RTLD_NEXT. */
#if defined(__x86_64__)
__asm__(".pushsection .text,\"ax\",%progbits\n"
	"\t.globl dlsym\n\t.type dlsym, %function\ndlsym:\n\t.cfi_startproc\n\tendbr64\n"
	"\tpush %rdi\n\t.cfi_def_cfa_offset 16\n\tpush %rsi\n\t.cfi_def_cfa_offset 24\n"
	"\tsub $8, %rsp\n\t.cfi_def_cfa_offset 32\n"
	"\tmov %rsi, %rdi\n\tcall exports_has\n"
	"\tadd $8, %rsp\n\t.cfi_def_cfa_offset 24\n"
	"\tpop %rsi\n\t.cfi_def_cfa_offset 16\n\tpop %rdi\n\t.cfi_def_cfa_offset 8\n"
	"\tcmp $-1, %rdi\n\tje 1f\n\ttest %al, %al\n\tjnz exports_dlsym\n"
	"1:\tjmp *exports_next_dlsym(%rip)\n\t.cfi_endproc\n\t.size dlsym, . - dlsym\n" ALSO
	"\t.popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text,\"ax\",%progbits\n"
	"\t.globl dlsym\n\t.type dlsym, %function\ndlsym:\n\t.cfi_startproc\n\thint #34\n"
	"\tstp x29, x30, [sp, #-32]!\n\t.cfi_def_cfa_offset 32\n"
	"\t.cfi_offset 29, -32\n\t.cfi_offset 30, -24\n\tmov x29, sp\n"
	"\tstp x0, x1, [sp, #16]\n\tmov x0, x1\n\tbl exports_has\n\tmov w9, w0\n"
	"\tldp x0, x1, [sp, #16]\n\tldp x29, x30, [sp], #32\n\t.cfi_def_cfa_offset 0\n"
	"\t.cfi_restore 29\n\t.cfi_restore 30\n"
	"\tcmn x0, #1\n\tb.eq 1f\n\ttst w9, #0xff\n\tb.ne exports_dlsym\n"
	"1:\tadrp x16, exports_next_dlsym\n\tldr x16, [x16, #:lo12:exports_next_dlsym]\n"
	"\tbr x16\n\t.cfi_endproc\n\t.size dlsym, . - dlsym\n" ALSO "\t.popsection\n");
#endif
