/* SPDX-License-Identifier: Apache-2.0 */
/* Writing ELF files with two more segments; see rewrite.h. */
#include "functions/rewrite.h"

#include <stdio.h>
#include <string.h>

#ifndef NT_GNU_PROPERTY_TYPE_0
#define NT_GNU_PROPERTY_TYPE_0 5
#endif

enum {
	PAGE = 4096,
	ADDED = 3, /* program headers: two segments, a segment of notes */
	SECTIONS = 4,
	TEXT = 2,       /* of these the one with code */
	NAME_BYTES = 8, /* of the note's name, aligned */
	HEADERS_MAX = 128,
	FEATURE_1_AND = 0xc0000002, /* property of the processor: what all of the file can do */
	SHADOW_STACK = 2
};

/* Data without contents lies behind the file's; a file is that much longer then. */
#define HOLE_MAX ((uint64_t)256 << 20)

static bool fail(const struct rewrite *r, const char *why)
{
	snprintf(r->why, IMAGE_WHY, "%s", why);
	return false;
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* Everything of the new file lies as far from the base as from its beginning; older kernels reckon with it. */
static uint64_t offset_of(const struct rewrite *r, uint64_t at)
{
	return at - r->base;
}

/* ---- program headers ---- */

static Elf64_Phdr header_at(const struct rewrite *r, unsigned i)
{
	Elf64_Phdr p;

	memcpy(&p, r->image->bytes + r->header.e_phoff + i * sizeof(p), sizeof(p));
	return p;
}

static unsigned last_load(const struct rewrite *r)
{
	unsigned last = 0;

	for (unsigned i = 0; i < r->header.e_phnum; i++)
		if (header_at(r, i).p_type == PT_LOAD)
			last = i;
	return last;
}

static bool find_base(struct rewrite *r)
{
	for (unsigned i = 0; i < r->header.e_phnum; i++) {
		Elf64_Phdr p = header_at(r, i);

		if (p.p_type != PT_LOAD)
			continue;
		r->base = p.p_vaddr - p.p_offset;
		return p.p_vaddr >= p.p_offset && p.p_vaddr == r->image->low && r->base % PAGE == 0;
	}
	return false;
}

/* Else what is added may come to lie in one that reaches beyond the file, and is none yet. */
static bool all_segments_fit(const struct rewrite *r)
{
	unsigned loads = 0;

	for (unsigned i = 0; i < r->header.e_phnum; i++)
		loads += header_at(r, i).p_type == PT_LOAD;
	return loads == r->image->segment_count;
}

bool rewrite_open(struct rewrite *r)
{
	const struct image *m = r->image;

	memcpy(&r->header, m->bytes, sizeof(r->header));
	if (r->header.e_phnum > HEADERS_MAX)
		return fail(r, "it has more program headers than are understood");
	if (!all_segments_fit(r))
		return fail(r, "its program headers are damaged");
	if (!find_base(r))
		return fail(r, "its first segment is not aligned as its contents are");
	text_add_bytes(r->out, (const char *)m->bytes, m->size);
	return !r->out->failed || fail(r, "there is no memory");
}

bool rewrite_lay_out(struct rewrite *r)
{
	const uint64_t loaded = r->image->high - r->base, size = r->image->size;
	uint64_t from = round_up(loaded > size ? loaded : size, PAGE);

	if (loaded > size && loaded - size > HOLE_MAX)
		return fail(r,
			    "its data without contents are too large: the file would be as large");
	r->headers_at = r->base + from;
	r->note_at = r->headers_at + (r->header.e_phnum + (uint64_t)ADDED) * sizeof(Elf64_Phdr);
	r->note_end = r->note_at + sizeof(Elf64_Nhdr) + NAME_BYTES + sizeof(struct plan_note);
	r->plan_at = round_up(r->note_end, 8);
	r->frames_at = round_up(r->plan_at + r->plan_bytes, 8);
	r->stubs_at = round_up(r->frames_at + r->frames_bytes, 16);
	r->slots_at = round_up(r->stubs_at + r->stubs_bytes, PAGE);
	r->end = r->slots_at + r->slots_bytes;
	return r->end - r->base < (uint64_t)INT32_MAX ||
	       fail(r, "it is larger than 2 GiB: a jump does not reach over it");
}

static Elf64_Phdr segment(const struct rewrite *r, uint32_t type, uint32_t flags, uint64_t at,
			  uint64_t end, uint64_t align)
{
	return (Elf64_Phdr){.p_type = type,
			    .p_flags = flags,
			    .p_offset = offset_of(r, at),
			    .p_vaddr = at,
			    .p_paddr = at,
			    .p_filesz = end - at,
			    .p_memsz = end - at,
			    .p_align = align};
}

static void add_header(struct rewrite *r, const Elf64_Phdr *p)
{
	text_add_bytes(r->out, (const char *)p, sizeof(*p));
}

static void move_frames(const struct rewrite *r, Elf64_Phdr *p)
{
	p->p_offset = offset_of(r, r->frames.header);
	p->p_vaddr = p->p_paddr = r->frames.header;
	p->p_filesz = p->p_memsz = r->frames.entries - r->frames.header;
}

/* Segments that are loaded lie in the order of their addresses. */
static void add_headers(struct rewrite *r)
{
	const unsigned last = last_load(r);
	const Elf64_Phdr runs =
		segment(r, PT_LOAD, PF_R | PF_X, r->headers_at, r->stubs_at + r->stubs_bytes, PAGE);
	const Elf64_Phdr written = segment(r, PT_LOAD, PF_R | PF_W, r->slots_at, r->end, PAGE);
	const Elf64_Phdr note = segment(r, PT_NOTE, PF_R, r->note_at, r->note_end, 4);
	const Elf64_Phdr own = segment(r, PT_PHDR, PF_R, r->headers_at, r->note_at, 8);

	for (unsigned i = 0; i < r->header.e_phnum; i++) {
		Elf64_Phdr p = header_at(r, i);

		if (p.p_type == PT_GNU_EH_FRAME && r->frames_bytes)
			move_frames(r, &p);
		add_header(r, p.p_type == PT_PHDR ? &own : &p);
		if (i != last)
			continue;
		add_header(r, &runs);
		add_header(r, &written);
	}
	add_header(r, &note);
}

/* ---- contents ---- */

static uint8_t *place_of(const struct rewrite *r, uint64_t at, uint64_t bytes)
{
	uint64_t left;
	const uint8_t *p = image_at(r->image, at, &left);

	return p && left >= bytes ? (uint8_t *)r->out->s + (p - r->image->bytes) : NULL;
}

bool rewrite_jump(struct rewrite *r, uint64_t site, uint64_t to, const uint8_t *expected,
		  unsigned count)
{
	uint8_t *p = place_of(r, site, count);
	int32_t near = (int32_t)(to - (site + PLAN_JUMP));

	if (!p || memcmp(p, expected, count) != 0)
		return fail(r, "its code lies in the file twice");
	p[0] = 0xe9;
	memcpy(p + 1, &near, sizeof(near));
	return true;
}

static void pad_to(struct rewrite *r, uint64_t at)
{
	static const char zero[PAGE];
	uint64_t to = offset_of(r, at);

	while (!r->out->failed && r->out->length < to) {
		uint64_t n = to - r->out->length;

		text_add_bytes(r->out, zero, n < PAGE ? n : PAGE);
	}
}

static void add_note(struct rewrite *r, const uint8_t id[PLAN_NOTE_ID])
{
	const Elf64_Nhdr n = {sizeof(PLAN_NOTE_NAME), sizeof(struct plan_note), PLAN_NOTE};
	struct plan_note note = {
		.magic = PLAN_NOTE_MAGIC, .plan = r->plan_at, .plan_bytes = r->plan_bytes};
	const char name[NAME_BYTES] = PLAN_NOTE_NAME;

	memcpy(note.id, id, PLAN_NOTE_ID);
	text_add_bytes(r->out, (const char *)&n, sizeof(n));
	text_add_bytes(r->out, name, sizeof(name));
	text_add_bytes(r->out, (const char *)&note, sizeof(note));
}

/* Moved calls push addresses that no shadow stack has. */
static void clear_properties(struct rewrite *r, uint8_t *p, uint64_t size)
{
	uint32_t head[2], value;

	for (uint64_t at = 0; size - at >= sizeof(head);
	     at += round_up(sizeof(head) + head[1], 8)) {
		memcpy(head, p + at, sizeof(head));
		if (head[1] > size - at - sizeof(head))
			return;
		if (head[0] == FEATURE_1_AND && head[1] == sizeof(value)) {
			memcpy(&value, p + at + sizeof(head), sizeof(value));
			r->unshadowed |= (value & SHADOW_STACK) != 0;
			value &= ~(uint32_t)SHADOW_STACK;
			memcpy(p + at + sizeof(head), &value, sizeof(value));
		}
		if (round_up(sizeof(head) + head[1], 8) > size - at)
			return;
	}
}

static void clear_notes(struct rewrite *r, uint8_t *p, uint64_t size)
{
	Elf64_Nhdr n;
	uint64_t at = 0, body;

	while (size - at >= sizeof(n)) {
		memcpy(&n, p + at, sizeof(n));
		body = at + round_up(sizeof(n) + n.n_namesz, 8);
		if (body > size || n.n_descsz > size - body)
			return;
		if (n.n_type == NT_GNU_PROPERTY_TYPE_0 && n.n_namesz == 4 &&
		    memcmp(p + at + sizeof(n), "GNU", 4) == 0)
			clear_properties(r, p + body, n.n_descsz);
		at = body + round_up(n.n_descsz, 8);
		if (at > size)
			return;
	}
}

static void clear_shadow_stack(struct rewrite *r)
{
	for (unsigned i = 0; i < r->header.e_phnum; i++) {
		Elf64_Phdr p = header_at(r, i);

		if (p.p_type == PT_NOTE && p.p_align == 8 && p.p_offset <= r->image->size &&
		    p.p_filesz <= r->image->size - p.p_offset)
			clear_notes(r, (uint8_t *)r->out->s + p.p_offset, p.p_filesz);
	}
}

/* ---- sections ---- */

static const char section_names[SECTIONS][16] = {".note.kymo", ".kymo.plan", ".kymo.text",
						 ".kymo.slots"};

static Elf64_Shdr section(const struct rewrite *r, uint32_t type, uint64_t flags, uint64_t at,
			  uint64_t bytes, uint64_t align)
{
	return (Elf64_Shdr){.sh_type = type,
			    .sh_flags = SHF_ALLOC | flags,
			    .sh_addr = at,
			    .sh_offset = offset_of(r, at),
			    .sh_size = bytes,
			    .sh_addralign = align};
}

/* The names of sections, then those of the new ones; where these begin. */
static bool add_names(struct rewrite *r, const struct image_part *names, uint32_t begin[SECTIONS])
{
	text_add_bytes(r->out, (const char *)names->bytes, names->size);
	for (unsigned i = 0; i < SECTIONS; i++) {
		begin[i] = i ? begin[i - 1] + (uint32_t)strlen(section_names[i - 1]) + 1
			     : (uint32_t)names->size;
		text_add_bytes(r->out, section_names[i], strlen(section_names[i]) + 1);
	}
	while (r->out->length % 8)
		text_add_bytes(r->out, "", 1);
	return !r->out->failed;
}

/* Those that were written anew lie elsewhere. */
static void move_section(const struct rewrite *r, const struct image_part *names, Elf64_Shdr *s)
{
	const char *name = image_string(names, s->sh_name);

	if (name && r->frames_bytes && strcmp(name, ".eh_frame_hdr") == 0) {
		s->sh_addr = r->frames.header;
		s->sh_size = r->frames.entries - r->frames.header;
	} else if (name && r->frames_bytes && strcmp(name, ".eh_frame") == 0) {
		s->sh_addr = r->frames.entries;
		s->sh_size = r->frames.end - r->frames.entries;
	} else {
		return;
	}
	s->sh_offset = offset_of(r, s->sh_addr);
}

/* ---- symbols ---- */

void rewrite_symbol(struct rewrite *r, const char *name, uint64_t at, uint64_t bytes)
{
	const Elf64_Sym s = {.st_name = (Elf64_Word)r->symbol_names.length,
			     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			     .st_other = STV_HIDDEN,
			     .st_value = at,
			     .st_size = bytes};

	text_add_bytes(&r->symbols, (const char *)&s, sizeof(s));
	text_addf(&r->symbol_names, "%s.kymo", name);
	text_add_bytes(&r->symbol_names, "", 1);
}

struct symbols {
	unsigned table, names; /* sections; 0: there are none */
	uint64_t table_at, names_at;
	struct image_part was, names_were;
};

static void find_symbols(const struct rewrite *r, struct symbols *out)
{
	for (unsigned i = 1; i < r->header.e_shnum; i++)
		if (image_section(r->image, i, &out->was) && out->was.type == SHT_SYMTAB &&
		    out->was.size && out->was.link != r->header.e_shstrndx &&
		    image_section(r->image, out->was.link, &out->names_were) &&
		    out->names_were.size &&
		    out->names_were.size <= UINT32_MAX - r->symbol_names.length) {
			out->table = i;
			out->names = out->was.link;
			return;
		}
}

static uint64_t add_longer(struct rewrite *r, const struct image_part *was, const struct text *more)
{
	uint64_t at = r->out->length;

	text_add_bytes(r->out, (const char *)was->bytes, was->size);
	text_add_bytes(r->out, more->s, more->length);
	while (r->out->length % 8)
		text_add_bytes(r->out, "", 1);
	return at;
}

/* Behind the file's own, which are those that others count from the beginning. `section` has the code. */
static void add_symbols(struct rewrite *r, unsigned section, struct symbols *out)
{
	Elf64_Sym *s = (void *)r->symbols.s;

	*out = (struct symbols){0};
	if (!s || r->symbols.failed || r->symbol_names.failed)
		return;
	find_symbols(r, out);
	if (!out->table)
		return;
	for (size_t i = 0; i < r->symbols.length / sizeof(*s); i++) {
		s[i].st_name += (Elf64_Word)out->names_were.size;
		s[i].st_shndx = (Elf64_Section)section;
	}
	out->table_at = add_longer(r, &out->was, &r->symbols);
	out->names_at = add_longer(r, &out->names_were, &r->symbol_names);
}

static void move_symbols(const struct rewrite *r, const struct symbols *symbols, unsigned index,
			 Elf64_Shdr *s)
{
	if (!symbols->table)
		return;
	if (index == symbols->table) {
		s->sh_offset = symbols->table_at;
		s->sh_size = symbols->was.size + r->symbols.length;
	} else if (index == symbols->names) {
		s->sh_offset = symbols->names_at;
		s->sh_size = symbols->names_were.size + r->symbol_names.length;
	}
}

void rewrite_release(struct rewrite *r)
{
	text_release(&r->symbols);
	text_release(&r->symbol_names);
}

/* A file without sections, or with damaged ones, has none for what is new either. */
static void add_sections(struct rewrite *r)
{
	Elf64_Ehdr *h = &r->header;
	const uint64_t names_at = r->out->length, count = h->e_shnum;
	struct image_part names = {0};
	uint32_t begin[SECTIONS] = {0};
	struct symbols symbols;
	Elf64_Shdr added[SECTIONS] = {
		section(r, SHT_NOTE, 0, r->note_at, r->note_end - r->note_at, 4),
		section(r, SHT_PROGBITS, 0, r->plan_at, r->plan_bytes, 8),
		section(r, SHT_PROGBITS, SHF_EXECINSTR, r->stubs_at, r->stubs_bytes, 16),
		section(r, SHT_PROGBITS, SHF_WRITE, r->slots_at, r->slots_bytes, 8)};

	if (!count || count + SECTIONS >= SHN_LORESERVE || names_at > UINT32_MAX ||
	    !image_section(r->image, h->e_shstrndx, &names) || !names.size ||
	    !add_names(r, &names, begin))
		return;
	add_symbols(r, (unsigned)count + TEXT, &symbols);
	for (uint64_t i = 0; i < count; i++) {
		Elf64_Shdr s;

		memcpy(&s, r->image->bytes + h->e_shoff + i * sizeof(s), sizeof(s));
		if (i == h->e_shstrndx) {
			s.sh_offset = names_at;
			s.sh_size = begin[SECTIONS - 1] + strlen(section_names[SECTIONS - 1]) + 1;
		}
		move_section(r, &names, &s);
		move_symbols(r, &symbols, (unsigned)i, &s);
		text_add_bytes(r->out, (const char *)&s, sizeof(s));
	}
	for (unsigned i = 0; i < SECTIONS; i++) {
		added[i].sh_name = begin[i];
		text_add_bytes(r->out, (const char *)&added[i], sizeof(added[i]));
	}
	h->e_shoff = r->out->length - (count + SECTIONS) * sizeof(Elf64_Shdr);
	h->e_shnum = (uint16_t)(count + SECTIONS);
}

bool rewrite_finish(struct rewrite *r, const uint8_t id[PLAN_NOTE_ID], const struct text *plan,
		    const struct text *frames, const struct text *stubs)
{
	clear_shadow_stack(r);
	pad_to(r, r->headers_at);
	add_headers(r);
	add_note(r, id);
	pad_to(r, r->plan_at);
	text_add_bytes(r->out, plan->s, plan->length);
	pad_to(r, r->frames_at);
	if (frames->length)
		text_add_bytes(r->out, frames->s, frames->length);
	pad_to(r, r->stubs_at);
	text_add_bytes(r->out, stubs->s, stubs->length);
	pad_to(r, round_up(r->end, 8));
	add_sections(r);
	if (r->out->failed)
		return fail(r, "there is no memory");
	r->header.e_phoff = offset_of(r, r->headers_at);
	r->header.e_phnum = (uint16_t)(r->header.e_phnum + ADDED);
	memcpy(r->out->s, &r->header, sizeof(r->header));
	return true;
}
