/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints every domain that is described in a library, with its ops in order: "DOMAIN NUMBER OP".
 * Descriptions of runtimes that are not here count as well, so they are not asked for but searched
 * in the library's data: a kymo_domain_desc_t is known by its size and by where it points to, one
 * without pointers (src/base/packed.h) by its parts, which lie one behind the other.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <kymo/schema.h>
#include <kymo/tool.h>

#include "base/packed.h"

static struct {
	const char *path;
	uintptr_t begin[16], end[16]; /* loaded segments */
	unsigned count;
	unsigned domains;
} library;

static int inside(const void *p, size_t bytes)
{
	uintptr_t at = (uintptr_t)p;

	for (unsigned i = 0; i < library.count; i++)
		if (at >= library.begin[i] && at < library.end[i] && bytes <= library.end[i] - at)
			return 1;
	return 0;
}

/* A name, all of whose letters lie in the library. */
static int is_name(const char *s, int lower)
{
	size_t n = 0;

	for (; inside(s + n, 1) && n < 128 && s[n]; n++)
		if (!isprint((unsigned char)s[n]) || (lower && isupper((unsigned char)s[n])))
			return 0;
	return n > 0 && inside(s + n, 1) && !s[n];
}

static int is_domain(const kymo_domain_desc_t *d)
{
	return d->size == sizeof(*d) && inside(d->name, 1) && inside(d->title, 1) && d->op_count &&
	       d->op_count < 10000 && inside(d->ops, d->op_count * sizeof(*d->ops)) &&
	       is_name(d->name, 1) && is_name(d->title, 0) && inside(d->ops[0].name, 1) &&
	       is_name(d->ops[0].name, 0);
}

/* A part begins at `at`, behind what ends at `end`; none is nowhere. */
static int follows(uint32_t at, uint32_t count, size_t size, size_t *end)
{
	if (!count)
		return at == 0;
	if (count > 100000 || at < *end || at - *end >= 8)
		return 0;
	*end = at + count * size;
	return 1;
}

static int is_packed(const struct packed *p)
{
	size_t end = sizeof(*p);

	return inside(p, sizeof(*p)) && p->domain_count && p->op_count &&
	       follows(p->domains, p->domain_count, sizeof(struct packed_domain), &end) &&
	       follows(p->ops, p->op_count, sizeof(struct packed_op), &end) &&
	       follows(p->fields, p->field_count, sizeof(struct packed_field), &end) &&
	       follows(p->sets, p->set_count, sizeof(struct packed_set), &end) &&
	       follows(p->values, p->value_count, sizeof(struct packed_value), &end) &&
	       follows(p->text, 1, 1, &end) && inside(p, end);
}

static void print_packed(const struct packed *p)
{
	const struct packed_domain *d = packed_at(p, p->domains);

	for (uint32_t k = 0; k < p->domain_count; k++, library.domains++)
		for (uint32_t i = 0; i < d[k].op_count; i++)
			printf("%s %u %s\n", packed_text(p, d[k].name), i,
			       packed_text(p, packed_op(p, d[k].first_op + i)->name));
}

static void search(uintptr_t at, uintptr_t end)
{
	for (uintptr_t p = at; p + sizeof(struct packed) <= end; p += 8)
		if (is_packed((const struct packed *)p))
			print_packed((const struct packed *)p);
	for (; at + sizeof(kymo_domain_desc_t) <= end; at += sizeof(void *)) {
		const kymo_domain_desc_t *d = (const void *)at;

		if (!is_domain(d))
			continue;
		library.domains++;
		for (uint32_t i = 0; i < d->op_count; i++)
			printf("%s %u %s\n", d->name, i, d->ops[i].name);
	}
}

static int segments(struct dl_phdr_info *info, size_t size, void *data)
{
	if (!info->dlpi_name || strcmp(info->dlpi_name, library.path) != 0)
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum && library.count < 16; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_R))
			continue;
		library.begin[library.count] = info->dlpi_addr + p->p_vaddr;
		library.end[library.count++] = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	return 1;
}

static kymo_status_t pass_over(const kymo_domain_desc_t *domain, void *data)
{
	return KYMO_OK;
}

/* Some descriptions are made where they lie, when they are asked for. */
static void have_made(void *handle)
{
	void *symbol = dlsym(handle, "kymo_domains_known");
	kymo_status_t (*known)(kymo_domain_fn callback, void *data);

	memcpy(&known, &symbol, sizeof(known));
	if (known)
		known(pass_over, NULL);
}

int main(int argc, char **argv)
{
	void *handle = argc == 2 ? dlopen(argv[1], RTLD_LAZY) : NULL;

	if (!handle) {
		fprintf(stderr, "usage: %s /PATH/libkymo.so.1\n%s\n", argv[0],
			argc == 2 ? dlerror() : "");
		return 2;
	}
	have_made(handle);
	library.path = argv[1];
	dl_iterate_phdr(segments, NULL);
	for (unsigned i = 0; i < library.count; i++)
		search(library.begin[i], library.end[i]);
	return library.domains ? 0 : 1;
}
