/* SPDX-License-Identifier: Apache-2.0 */
/* See elf.h. Layouts: System V ABI, chapter "Dynamic Linking"; DT_GNU_HASH as of binutils. */
#include "base/elf.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct tables {
	const ElfW(Sym) * symbols;
	const uint16_t *versions; /* NULL: symbols have none */
	const char *strings;
	const uint32_t *hash, *gnu_hash;
};

#define HIDDEN 0x8000u /* a version that only those get who were linked with it */

struct search {
	const char *name;
	uint32_t hash, gnu_hash;
	elf_wanted_fn wanted;
	const void *data;
	void **out;
	unsigned found, most;
	bool data_too;  /* not functions alone */
	uint64_t bytes; /* of the last one found */
};

static uint32_t sysv_hash_of(const char *s)
{
	uint32_t h = 0, g;

	for (; *s; s++) {
		h = (h << 4) + (uint8_t)*s;
		g = h & 0xf0000000u;
		h = (h ^ g >> 24) & ~g;
	}
	return h;
}

static uint32_t gnu_hash_of(const char *s)
{
	uint32_t h = 5381;

	for (; *s; s++)
		h = h * 33 + (uint8_t)*s;
	return h;
}

/* The C library has relocated these addresses; those of the kernel's own object it has not. */
static const void *address(const struct dl_phdr_info *object, ElfW(Addr) a)
{
	return (const void *)(a < object->dlpi_addr ? a + object->dlpi_addr : a);
}

static bool tables_of(const struct dl_phdr_info *object, struct tables *t)
{
	const ElfW(Dyn) *d = NULL;

	memset(t, 0, sizeof(*t));
	for (int i = 0; i < object->dlpi_phnum && !d; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		const void *p = address(object, d->d_un.d_ptr);

		if (d->d_tag == DT_SYMTAB)
			t->symbols = p;
		else if (d->d_tag == DT_STRTAB)
			t->strings = p;
		else if (d->d_tag == DT_HASH)
			t->hash = p;
		else if (d->d_tag == DT_GNU_HASH)
			t->gnu_hash = p;
		else if (d->d_tag == DT_VERSYM)
			t->versions = p;
	}
	return t->symbols && t->strings && (t->hash || t->gnu_hash);
}

static bool is_it(const struct tables *t, uint32_t i, const struct search *wanted)
{
	const ElfW(Sym) *s = &t->symbols[i];
	const unsigned type = s->st_info & 0xf;

	return s->st_shndx != SHN_UNDEF &&
	       (type == STT_FUNC || (wanted->data_too && type == STT_OBJECT)) &&
	       !(t->versions && (t->versions[i] & HIDDEN)) &&
	       strcmp(t->strings + s->st_name, wanted->name) == 0;
}

static const ElfW(Sym) * by_gnu_hash(const struct tables *t, const struct search *s)
{
	const uint32_t *h = t->gnu_hash;
	uint32_t buckets = h[0], first = h[1], bloom_words = h[2], shift = h[3];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)&h[4];
	const uint32_t *bucket = (const uint32_t *)&bloom[bloom_words];
	const uint32_t *chain = bucket + buckets;
	const unsigned bits = 8 * sizeof(ElfW(Addr));
	ElfW(Addr) word;
	uint32_t i;

	if (!buckets || !bloom_words)
		return NULL;
	word = bloom[s->gnu_hash / bits % bloom_words];
	if (!(word >> s->gnu_hash % bits & word >> (s->gnu_hash >> shift) % bits & 1))
		return NULL;
	i = bucket[s->gnu_hash % buckets];
	if (i < first)
		return NULL;
	for (;; i++) {
		if ((chain[i - first] | 1) == (s->gnu_hash | 1) && is_it(t, i, s))
			return &t->symbols[i];
		if (chain[i - first] & 1)
			return NULL;
	}
}

static const ElfW(Sym) * by_hash(const struct tables *t, const struct search *s)
{
	uint32_t buckets = t->hash[0], symbols = t->hash[1];

	if (!buckets)
		return NULL;
	for (uint32_t i = t->hash[2 + s->hash % buckets]; i && i < symbols;
	     i = t->hash[2 + buckets + i])
		if (is_it(t, i, s))
			return &t->symbols[i];
	return NULL;
}

static int look_in_object(struct dl_phdr_info *object, size_t size, void *data)
{
	struct search *s = data;
	const ElfW(Sym) * symbol;
	struct tables t;

	if (s->wanted && !s->wanted(object->dlpi_name ? object->dlpi_name : "", s->data))
		return 0;
	if (!tables_of(object, &t))
		return 0;
	symbol = t.gnu_hash ? by_gnu_hash(&t, s) : by_hash(&t, s);
	if (symbol) {
		s->out[s->found++] = (void *)(object->dlpi_addr + symbol->st_value);
		s->bytes = symbol->st_size;
	}
	return s->found == s->most;
}

unsigned elf_find_in(elf_wanted_fn wanted, const void *data, const char *name, void **out,
		     unsigned most)
{
	struct search s = {.name = name,
			   .hash = sysv_hash_of(name),
			   .gnu_hash = gnu_hash_of(name),
			   .wanted = wanted,
			   .data = data,
			   .out = out,
			   .most = most};

	if (most)
		dl_iterate_phdr(look_in_object, &s);
	return s.found;
}

unsigned elf_find_everywhere(const char *name, void **out, unsigned most)
{
	return elf_find_in(NULL, NULL, name, out, most);
}

bool elf_symbol(const char *name, void **at, uint64_t *size)
{
	struct search s = {.name = name,
			   .hash = sysv_hash_of(name),
			   .gnu_hash = gnu_hash_of(name),
			   .out = at,
			   .most = 1,
			   .data_too = true};

	dl_iterate_phdr(look_in_object, &s);
	*size = s.bytes;
	return s.found != 0;
}

static int read_adds(struct dl_phdr_info *object, size_t size, void *data)
{
	*(uint64_t *)data = object->dlpi_adds;
	return 1;
}

uint64_t elf_objects_loaded(void)
{
	uint64_t adds = 0;

	dl_iterate_phdr(read_adds, &adds);
	return adds;
}
