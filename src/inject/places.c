/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See places.h. The list of objects is copied under the loader's lock, and each object is held (dlopen with
 * NOLOAD) while its tables are read: nothing that may wait is done under that lock (base/elf.h).
 */
#include "inject/places.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/vec.h"

#if defined(__x86_64__)
#define IS_FUNCTION(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_FUNCTION(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#define IS_FUNCTION(type) false
#endif

struct object {
	char *path; /* "": the program */
	ElfW(Addr) base;
	const ElfW(Dyn) * dynamic;
	uintptr_t relro, relro_end; /* read-only since it was loaded */
	bool visited, present;
};

struct place {
	void *_Atomic *at;
	void *before, *ours;
	uint32_t object;
};

static struct object *objects;
static uint32_t object_count, object_room;
static struct place *places;
static uint32_t place_count, place_room;
static unsigned long long seen_added, seen_gone;

/* ---- objects --------------------------------------------------------------------------------- */

static bool is_left_out(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	static const char *const begin[] = {"libkymo", "memfd:libkymo", "ld-linux",     "ld64",
					    "libc.so", "linux-vdso",    "libpthread.so"};

	if (strncmp(path, "/proc/", 6) == 0) /* Kymo's, brought here */
		return true;
	for (size_t i = 0; i < sizeof(begin) / sizeof(*begin); i++)
		if (strncmp(name, begin[i], strlen(begin[i])) == 0)
			return true;
	return false;
}

static struct object *known(const char *path, ElfW(Addr) base)
{
	for (uint32_t i = 0; i < object_count; i++)
		if (objects[i].base == base && strcmp(objects[i].path, path) == 0)
			return &objects[i];
	return NULL;
}

static int add_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct object o = {.base = info->dlpi_addr, .present = true};
	struct object *before = known(info->dlpi_name, info->dlpi_addr);

	seen_added = info->dlpi_adds;
	seen_gone = info->dlpi_subs;
	if (before)
		before->present = true;
	if (before || is_left_out(info->dlpi_name))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_DYNAMIC)
			o.dynamic = (const void *)(info->dlpi_addr + p->p_vaddr);
		if (p->p_type == PT_GNU_RELRO) {
			o.relro = info->dlpi_addr + p->p_vaddr;
			o.relro_end = o.relro + p->p_memsz;
		}
	}
	o.path = strdup(info->dlpi_name);
	if (o.path && o.dynamic && vec_reserve(&objects, &object_room, object_count, 1))
		objects[object_count++] = o;
	else
		free(o.path);
	return 0;
}

static int count_changes(struct dl_phdr_info *info, size_t size, void *changed)
{
	*(bool *)changed = info->dlpi_adds != seen_added || info->dlpi_subs != seen_gone;
	return 1;
}

bool places_changed(void)
{
	bool changed = false;

	dl_iterate_phdr(count_changes, &changed);
	return changed;
}

/* The object stays while it is held; NULL: it is gone, or another is in its place. */
static void *hold(const struct object *o)
{
	void *handle = dlopen(*o->path ? o->path : NULL, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
	struct link_map *map = NULL;

	if (handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_addr == o->base)
		return handle;
	if (handle)
		dlclose(handle);
	return NULL;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* False: the page stays read-only. */
static bool store(const struct object *o, void *_Atomic *at, void *value)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)at & ~(page - 1);
	bool closed = (uintptr_t)at >= o->relro && (uintptr_t)at < o->relro_end;

	if (closed && mprotect((void *)from, page, PROT_READ | PROT_WRITE) != 0)
		return false;
	atomic_store(at, value);
	if (closed)
		mprotect((void *)from, page, PROT_READ);
	return true;
}

struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Rela) * calls, *others;
	size_t calls_bytes, others_bytes;
};

/* The loader has made addresses of some values, and left those of others relative. */
static const void *pointer(const struct object *o, ElfW(Addr) value)
{
	return (const void *)(value < o->base ? o->base + value : value);
}

static bool read_tables(const struct object *o, struct tables *t)
{
	*t = (struct tables){0};
	for (const ElfW(Dyn) *d = o->dynamic; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			t->symbols = pointer(o, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			t->strings = pointer(o, d->d_un.d_ptr);
		else if (d->d_tag == DT_JMPREL)
			t->calls = pointer(o, d->d_un.d_ptr);
		else if (d->d_tag == DT_PLTRELSZ)
			t->calls_bytes = d->d_un.d_val;
		else if (d->d_tag == DT_RELA)
			t->others = pointer(o, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELASZ)
			t->others_bytes = d->d_un.d_val;
	}
	return t->symbols && t->strings;
}

static unsigned enter_list(uint32_t object, const struct tables *t, const ElfW(Rela) * list,
			   size_t bytes, places_fn target, void *data)
{
	const struct object *o = &objects[object];
	unsigned changed = 0;

	for (size_t i = 0; list && i < bytes / sizeof(*list); i++) {
		const ElfW(Sym) *s = &t->symbols[ELF64_R_SYM(list[i].r_info)];
		struct place p = {.at = (void *)(o->base + list[i].r_offset), .object = object};

		if (!IS_FUNCTION(ELF64_R_TYPE(list[i].r_info)) || s->st_shndx != SHN_UNDEF ||
		    !s->st_name)
			continue;
		p.ours = target(t->strings + s->st_name, data);
		p.before = p.ours ? atomic_load(p.at) : NULL;
		/* A weak function that nobody has, as the program may ask. */
		if (!p.before || p.before == p.ours ||
		    !vec_reserve(&places, &place_room, place_count, 1) || !store(o, p.at, p.ours))
			continue;
		places[place_count++] = p;
		changed++;
	}
	return changed;
}

/* One that was loaded again at the same address is another. */
static void look_at_objects(void)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < object_count; i++)
		objects[i].present = false;
	dl_iterate_phdr(add_object, NULL);
	for (uint32_t i = 0; i < object_count; i++)
		objects[i].visited &= objects[i].present;
	for (uint32_t i = 0; i < place_count; i++)
		if (objects[places[i].object].present)
			places[kept++] = places[i];
	place_count = kept;
}

unsigned places_enter(places_fn target, void *data)
{
	unsigned changed = 0;
	struct tables t;

	look_at_objects();
	for (uint32_t i = 0; i < object_count; i++) {
		void *held = objects[i].visited ? NULL : hold(&objects[i]);

		if (!held)
			continue;
		objects[i].visited = true;
		if (read_tables(&objects[i], &t)) {
			changed += enter_list(i, &t, t.calls, t.calls_bytes, target, data);
			changed += enter_list(i, &t, t.others, t.others_bytes, target, data);
		}
		dlclose(held);
	}
	return changed;
}

void places_restore(void)
{
	for (uint32_t i = 0, next; i < place_count; i = next) {
		uint32_t object = places[i].object;
		void *held = hold(&objects[object]);

		for (next = i; next < place_count && places[next].object == object; next++)
			if (held && atomic_load(places[next].at) == places[next].ours)
				store(&objects[object], places[next].at, places[next].before);
		if (held)
			dlclose(held);
	}
	place_count = 0;
}
