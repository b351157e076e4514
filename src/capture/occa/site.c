/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's own code that calls OCCA: neither libocca's nor what the compiler has made of OCCA's headers in the
 * program (occa::device::malloc<float>()). What is called from there has its callers looked for on the stack; whether
 * code is of OCCA's headers is asked of the object's file once for each place.
 */
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/elf_file.h"
#include "base/vec.h"
#include "capture/occa/occa.h"

/* ---- objects ---- */

struct range {
	uintptr_t begin, bytes;
};

struct object {
	struct object *next;
	uintptr_t begin, end, bias;
	struct range *headers; /* functions of OCCA's headers, by address */
	size_t count, room;
	char path[512];
};

struct wanted {
	uintptr_t address;
	struct object *object;
};

static int look(struct dl_phdr_info *i, size_t size, void *data)
{
	struct wanted *w = data;
	struct object *o = w->object;

	o->begin = UINTPTR_MAX;
	o->end = 0;
	for (unsigned k = 0; k < i->dlpi_phnum; k++) {
		uintptr_t at = i->dlpi_addr + i->dlpi_phdr[k].p_vaddr;

		if (i->dlpi_phdr[k].p_type != PT_LOAD)
			continue;
		o->begin = at < o->begin ? at : o->begin;
		at += i->dlpi_phdr[k].p_memsz;
		o->end = at > o->end ? at : o->end;
	}
	if (w->address < o->begin || w->address >= o->end)
		return 0;
	o->bias = i->dlpi_addr;
	snprintf(o->path, sizeof(o->path), "%s",
		 i->dlpi_name && *i->dlpi_name ? i->dlpi_name : "/proc/self/exe");
	return 1;
}

/* ---- libocca ---- */

static uintptr_t code_begin, code_bytes;

void occa_library(const void *function, uintptr_t *begin, uintptr_t *bytes)
{
	struct object o;
	struct wanted w = {(uintptr_t)function, &o};

	if (dl_iterate_phdr(look, &w)) {
		code_begin = o.begin;
		code_bytes = o.end - o.begin;
	}
	*begin = code_begin;
	*bytes = code_bytes;
}

bool occa_of_library(const void *address)
{
	return (uintptr_t)address - code_begin < code_bytes;
}

/* ---- OCCA's headers ---- */

/* Of a mangled name: a function of namespace occa, or something in one. */
static bool of_occa(const char *name)
{
	if (strncmp(name, "_Z", 2) != 0)
		return false;
	name += 2;
	name += strspn(name, "Z");
	if (*name++ != 'N')
		return false;
	name += *name == 'K';
	return strncmp(name, "4occa", 5) == 0;
}

static bool collect(const ElfW(Sym) * symbols, size_t count, const char *strings, size_t bytes,
		    void *data)
{
	struct object *o = data;

	if (!bytes || strings[bytes - 1])
		return false;
	for (size_t i = 0; i < count; i++) {
		const ElfW(Sym) *s = &symbols[i];

		if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF ||
		    s->st_name >= bytes || !of_occa(strings + s->st_name))
			continue;
		if (!vec_reserve(&o->headers, &o->room, o->count, 1))
			return true;
		o->headers[o->count++] = (struct range){s->st_value + o->bias, s->st_size};
	}
	return false;
}

static int by_address(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects; /* under the lock; never freed */

/* Under the lock. NULL: it is in none, or there is no memory. */
static struct object *object_of(uintptr_t address)
{
	struct object *o = objects;
	struct wanted w;

	while (o && (address < o->begin || address >= o->end))
		o = o->next;
	if (o)
		return o;
	w = (struct wanted){address, o = calloc(1, sizeof(*o))};
	if (!o || !dl_iterate_phdr(look, &w)) {
		free(o);
		return NULL;
	}
	elf_file_symbols(o->path, collect, o);
	if (o->count)
		qsort(o->headers, o->count, sizeof(*o->headers), by_address);
	o->next = objects;
	objects = o;
	return o;
}

static bool in_headers(const struct object *o, uintptr_t address)
{
	size_t low = 0, high = o->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (o->headers[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address - o->headers[low - 1].begin < o->headers[low - 1].bytes;
}

static __attribute__((noinline, cold)) bool ask_file(uintptr_t address)
{
	const struct object *o;
	bool is;

	pthread_mutex_lock(&lock);
	o = object_of(address);
	is = o && in_headers(o, address);
	pthread_mutex_unlock(&lock);
	return is;
}

/* The call that returns to `address` is made there. */
static bool of_headers(const void *address)
{
	static _Atomic uintptr_t known[256]; /* twice the address, and whether it is */
	uintptr_t a = (uintptr_t)address;
	_Atomic uintptr_t *k = &known[a * 0x9e3779b97f4a7c15ull >> 56];
	uintptr_t is = atomic_load_explicit(k, memory_order_relaxed);

	if (is >> 1 != a) {
		is = a << 1 | ask_file(a - 1);
		atomic_store_explicit(k, is, memory_order_relaxed);
	}
	return is & 1;
}

/* ---- who has called ---- */

enum { FRAMES = 64 };

static __attribute__((noinline, cold)) const void *look_up(const void *caller)
{
	void *frames[FRAMES];
	int n = backtrace(frames, FRAMES), i = 0;

	while (i < n && frames[i] != caller)
		i++;
	for (i++; i < n; i++)
		if (!occa_of_library(frames[i]) && !of_headers(frames[i]))
			return frames[i];
	return caller;
}

const void *occa_site(const void *caller)
{
	int saved;

	if (cap_likely(!occa_of_library(caller) && !of_headers(caller)))
		return caller;
	saved = errno;
	cap_guard_enter();
	caller = look_up(caller);
	cap_guard_leave();
	errno = saved;
	return caller;
}

void occa_site_fork_child(void)
{
	pthread_mutex_init(&lock, NULL); /* whoever held it is not in this process */
}
