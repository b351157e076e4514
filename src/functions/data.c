/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses in data: relocations, words of files with a fixed address, the lists that compilers make of their sites. */
#include <string.h>

#include "functions/judge.h"

typedef void relocation_fn(void *data, const Elf64_Rela *r);

static void each_of(const struct image *m, int64_t table, int64_t size, relocation_fn *f,
		    void *data)
{
	uint64_t left, bytes = image_dynamic(m, size);
	const uint8_t *p = image_at(m, image_dynamic(m, table), &left);
	Elf64_Rela r;

	if (!p || !image_dynamic(m, table))
		return;
	bytes = bytes < left ? bytes : left;
	for (; bytes >= sizeof(r); bytes -= sizeof(r), p += sizeof(r)) {
		memcpy(&r, p, sizeof(r));
		f(data, &r);
	}
}

static void each_relocation(const struct image *m, relocation_fn *f, void *data)
{
	each_of(m, DT_RELA, DT_RELASZ, f, data);
	each_of(m, DT_JMPREL, DT_PLTRELSZ, f, data);
}

/* ---- leading into covered bytes ---- */

static void lead_by(void *data, const Elf64_Rela *r)
{
	if (ELF64_R_TYPE(r->r_info) == R_X86_64_RELATIVE)
		judge_lead(data, (uint64_t)r->r_addend, VERDICT_POINTER_INSIDE);
}

/* Relocated words are not where relocations are packed (DT_RELR); those of a fixed address have none. */
static bool words_are_addresses(const struct image *m)
{
	return m->kind == ET_EXEC || image_dynamic(m, 36 /* DT_RELR */);
}

void judge_data(struct judge *j)
{
	const struct image *m = &j->f->image;
	uint64_t word;

	each_relocation(m, lead_by, j);
	for (unsigned i = 0; i < m->segment_count && words_are_addresses(m); i++) {
		const struct image_part *p = &m->segments[i];

		if (p->flags & PF_X)
			continue;
		for (uint64_t at = (8 - p->at % 8) % 8; at + 8 <= p->size; at += 8) {
			memcpy(&word, p->bytes + at, 8);
			judge_lead(j, word, VERDICT_POINTER_INSIDE);
		}
	}
}

/* ---- resolvers ---- */

static void resolve(void *data, const Elf64_Rela *r)
{
	struct functions *f = data;
	uint32_t i;

	if (ELF64_R_TYPE(r->r_info) != R_X86_64_IRELATIVE)
		return;
	i = functions_before(f, (uint64_t)r->r_addend);
	if (i < f->count && f->items[i].entry == (uint64_t)r->r_addend)
		f->items[i].source |= FUNCTION_RESOLVER;
}

void judge_resolvers(struct functions *f)
{
	each_relocation(&f->image, resolve, f);
}

/* ---- lists of compilers ---- */

struct lists {
	struct functions *f;
	struct image_part patchable, mcount;
};

static void list_site(struct functions *f, uint64_t at)
{
	uint32_t i = functions_before(f, at);

	if (i < f->count && at - f->items[i].entry <= f->items[i].offset)
		f->items[i].flags |= PLAN_LISTED;
}

static void list_relocated(void *data, const Elf64_Rela *r)
{
	struct lists *l = data;

	if (ELF64_R_TYPE(r->r_info) == R_X86_64_RELATIVE &&
	    (r->r_offset - l->patchable.at < l->patchable.size ||
	     r->r_offset - l->mcount.at < l->mcount.size))
		list_site(l->f, (uint64_t)r->r_addend);
}

static void list_words(struct functions *f, const struct image_part *p)
{
	uint64_t word;

	for (uint64_t at = 0; at + 8 <= p->size; at += 8) {
		memcpy(&word, p->bytes + at, 8);
		if (word)
			list_site(f, word);
	}
}

/* Entries of 32 bytes, version 2: the distance to the sled, ..., the kind (0: entry). */
static void list_sleds(struct functions *f)
{
	struct image_part p;
	uint64_t distance;

	if (!image_find_section(&f->image, "xray_instr_map", &p))
		return;
	for (uint64_t at = 0; at + 32 <= p.size; at += 32) {
		memcpy(&distance, p.bytes + at, 8);
		if (p.bytes[at + 16] == 0 && p.bytes[at + 18] == 2)
			list_site(f, p.at + at + distance);
	}
}

void judge_listed(struct functions *f)
{
	struct lists l = {.f = f};

	image_find_section(&f->image, "__patchable_function_entries", &l.patchable);
	image_find_section(&f->image, "__mcount_loc", &l.mcount);
	if (f->image.kind == ET_EXEC) {
		list_words(f, &l.patchable);
		list_words(f, &l.mcount);
	} else if (l.patchable.size || l.mcount.size) {
		each_relocation(&f->image, list_relocated, &l);
	}
	list_sleds(f);
}
