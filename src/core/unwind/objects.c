/* SPDX-License-Identifier: Apache-2.0 */
/* The loaded objects; see unwind.h. */
#include "core/unwind/unwind.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define OBJECTS 4096u

struct object {
	uint64_t start, end; /* of code */
	struct cfi_tables tables;
};

#define WORDS (sizeof(struct cfi_tables) / sizeof(uint64_t))
_Static_assert(sizeof(struct cfi_tables) % sizeof(uint64_t) == 0, "in words");

/* What the loader says, of who looks. */
struct found {
	uint32_t count;
	struct object objects[OBJECTS];
};

/* The same by address, in words: who searches it while it is written finds nonsense, and sees that afterwards. */
struct list {
	_Atomic uint32_t count;
	_Atomic uint64_t start[OBJECTS], end[OBJECTS], tables[OBJECTS][WORDS];
};

struct lists {
	struct list list[2]; /* the one in use has the parity of `published` */
	struct found found;
};

static struct lists *_Atomic lists;
static _Atomic uint32_t published, writing; /* `writing` goes ahead */
static _Atomic bool looking;
static unsigned long long seen_adds, seen_subs; /* of who looks */

static void add_code(struct found *f, const struct dl_phdr_info *o, const ElfW(Phdr) * code,
		     const ElfW(Phdr) * header)
{
	struct object *x = &f->objects[f->count];

	if (f->count == OBJECTS)
		return;
	f->count++;
	*x = (struct object){.start = o->dlpi_addr + code->p_vaddr};
	x->end = x->start + code->p_memsz;
	if (!header)
		return;
	x->tables.header = o->dlpi_addr + header->p_vaddr;
	for (int i = 0; i < o->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &o->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && header->p_vaddr - p->p_vaddr < p->p_filesz) {
			x->tables.start = o->dlpi_addr + p->p_vaddr;
			x->tables.end = x->tables.start + p->p_filesz;
		}
	}
}

static int add_object(struct dl_phdr_info *o, size_t size, void *data)
{
	const ElfW(Phdr) *header = NULL;

	for (int i = 0; i < o->dlpi_phnum; i++)
		if (o->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			header = &o->dlpi_phdr[i];
	for (int i = 0; i < o->dlpi_phnum; i++)
		if (o->dlpi_phdr[i].p_type == PT_LOAD && (o->dlpi_phdr[i].p_flags & PF_X))
			add_code(data, o, &o->dlpi_phdr[i], header);
	return 0;
}

static int read_counts(struct dl_phdr_info *o, size_t size, void *data)
{
	unsigned long long *counts = data;

	counts[0] = o->dlpi_adds;
	counts[1] = o->dlpi_subs;
	return 1;
}

static int by_address(const void *a, const void *b)
{
	const struct object *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/*
 * What the list has not: objects of other namespaces (dlmopen), or loaded since. The C library's way for its own unwinder, which
 * takes no lock; since glibc 2.35.
 */
#ifdef DLFO_STRUCT_HAS_EH_DBASE
static int (*_Atomic find_object)(void *, struct dl_find_object *);

void unwind_prepare(void)
{
	static _Atomic bool prepared;
	int (*f)(void *, struct dl_find_object *);
	void *p;

	if (atomic_exchange(&prepared, true))
		return;
	p = dlsym(RTLD_DEFAULT, "_dl_find_object");
	memcpy(&f, &p, sizeof(f));
	atomic_store(&find_object, f);
}

static bool ask_loader(uint64_t pc, struct cfi_tables *out)
{
	int (*f)(void *, struct dl_find_object *) = atomic_load(&find_object);
	struct dl_find_object o;

	if (!f || f((void *)(uintptr_t)pc, &o) != 0)
		return false;
	*out = (struct cfi_tables){.header = (uint64_t)(uintptr_t)o.dlfo_eh_frame,
				   .start = (uint64_t)(uintptr_t)o.dlfo_map_start,
				   .end = (uint64_t)(uintptr_t)o.dlfo_map_end};
	return true;
}
#else
void unwind_prepare(void)
{
}

static bool ask_loader(uint64_t pc, struct cfi_tables *out)
{
	return false;
}
#endif

static struct lists *make_lists(void)
{
	struct lists *l = atomic_load(&lists);
	void *p;

	if (l)
		return l;
	unwind_prepare();
	p = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	l = p == MAP_FAILED ? NULL : p;
	atomic_store(&lists, l);
	return l;
}

static void write_list(struct list *l, const struct found *f)
{
	uint64_t words[WORDS] = {0};

	for (uint32_t i = 0; i < f->count; i++) {
		const struct object *o = &f->objects[i];

		atomic_store_explicit(&l->start[i], o->start, memory_order_relaxed);
		atomic_store_explicit(&l->end[i], o->end, memory_order_relaxed);
		memcpy(words, &o->tables, sizeof(words));
		for (unsigned w = 0; w < WORDS; w++)
			atomic_store_explicit(&l->tables[i][w], words[w], memory_order_relaxed);
	}
	atomic_store_explicit(&l->count, f->count, memory_order_relaxed);
}

static void renew(void)
{
	uint32_t next = atomic_load(&published) + 1;
	struct lists *l = make_lists();

	if (!l)
		return;
	l->found.count = 0;
	dl_iterate_phdr(add_object, &l->found);
	qsort(l->found.objects, l->found.count, sizeof(*l->found.objects), by_address);
	atomic_store(&writing, next);
	atomic_thread_fence(memory_order_release); /* said before the first word changes */
	write_list(&l->list[next & 1], &l->found);
	atomic_store(&published, next);
}

void unwind_look(void)
{
	unsigned long long counts[2] = {0, 0};

	if (atomic_exchange(&looking, true))
		return;
	dl_iterate_phdr(read_counts, counts);
	if (counts[0] != seen_adds || counts[1] != seen_subs || !atomic_load(&lists)) {
		seen_adds = counts[0];
		seen_subs = counts[1];
		renew();
	}
	atomic_store(&looking, false);
}

/* The thread that looked may be the parent's alone. */
void unwind_fork_child(void)
{
	seen_adds = 0;
	atomic_store(&looking, false);
}

uint32_t unwind_generation(void)
{
	return atomic_load(&published);
}

static void read_tables(const struct list *l, uint32_t i, struct cfi_tables *out)
{
	uint64_t words[WORDS] = {0};

	for (unsigned w = 0; w < WORDS; w++)
		words[w] = atomic_load_explicit(&l->tables[i][w], memory_order_relaxed);
	memcpy(out, words, sizeof(*out));
}

static bool find(const struct list *l, uint64_t pc, struct cfi_tables *out)
{
	uint32_t low = 0, high = atomic_load_explicit(&l->count, memory_order_relaxed);

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (pc < atomic_load_explicit(&l->start[middle], memory_order_relaxed)) {
			high = middle;
		} else if (pc >= atomic_load_explicit(&l->end[middle], memory_order_relaxed)) {
			low = middle + 1;
		} else {
			read_tables(l, middle, out);
			return true;
		}
	}
	return false;
}

bool unwind_object(uint64_t pc, struct cfi_tables *out)
{
	const struct lists *l = atomic_load(&lists);
	uint32_t in_use = atomic_load(&published);
	bool found = l && in_use && find(&l->list[in_use & 1], pc, out);

	atomic_thread_fence(memory_order_acquire);
	return (found && atomic_load(&writing) - in_use < 2) || ask_loader(pc, out);
}
