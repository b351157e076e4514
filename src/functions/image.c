/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ELF files that nobody vouches for; see image.h. */
#include "functions/image.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static bool fail(char why[IMAGE_WHY], const char *what)
{
	snprintf(why, IMAGE_WHY, "%s", what);
	return false;
}

static bool range_fits(uint64_t first, uint64_t count, uint64_t of)
{
	return first <= of && count <= of - first;
}

/* ---- sections ---- */

static bool section_header(const struct image *m, unsigned index, Elf64_Shdr *out)
{
	Elf64_Ehdr h;

	memcpy(&h, m->bytes, sizeof(h));
	if (index >= h.e_shnum || h.e_shentsize != sizeof(*out) ||
	    !range_fits(h.e_shoff, (uint64_t)h.e_shnum * sizeof(*out), m->size))
		return false;
	memcpy(out, m->bytes + h.e_shoff + index * sizeof(*out), sizeof(*out));
	return true;
}

unsigned image_sections(const struct image *m)
{
	Elf64_Ehdr h;

	memcpy(&h, m->bytes, sizeof(h));
	return h.e_shnum;
}

bool image_section(const struct image *m, unsigned index, struct image_part *out)
{
	Elf64_Shdr s;

	if (!section_header(m, index, &s))
		return false;
	*out = (struct image_part){.at = s.sh_flags & SHF_ALLOC ? s.sh_addr : 0,
				   .type = s.sh_type,
				   .flags = (uint32_t)s.sh_flags,
				   .link = s.sh_link,
				   .info = s.sh_info};
	if (s.sh_type == SHT_NOBITS || (s.sh_flags & SHF_COMPRESSED) ||
	    !range_fits(s.sh_offset, s.sh_size, m->size))
		return true;
	out->bytes = m->bytes + s.sh_offset;
	out->size = s.sh_size;
	return true;
}

const char *image_string(const struct image_part *table, uint64_t at)
{
	if (at >= table->size || !memchr(table->bytes + at, 0, table->size - at))
		return NULL;
	return (const char *)table->bytes + at;
}

const char *image_section_name(const struct image *m, unsigned index)
{
	struct image_part names;
	Elf64_Shdr s;
	Elf64_Ehdr h;

	memcpy(&h, m->bytes, sizeof(h));
	if (!section_header(m, index, &s) || !image_section(m, h.e_shstrndx, &names))
		return NULL;
	return image_string(&names, s.sh_name);
}

bool image_find_section(const struct image *m, const char *name, struct image_part *out)
{
	for (unsigned i = 0; i < image_sections(m); i++) {
		const char *s = image_section_name(m, i);

		if (s && strcmp(s, name) == 0)
			return image_section(m, i, out);
	}
	return false;
}

/* ---- segments ---- */

static void add_segment(struct image *m, const Elf64_Phdr *p)
{
	struct image_part *s = &m->segments[m->segment_count];

	if (m->segment_count == IMAGE_SEGMENTS || !range_fits(p->p_offset, p->p_filesz, m->size) ||
	    p->p_filesz > p->p_memsz || p->p_vaddr > UINT64_MAX / 4 || p->p_memsz > UINT64_MAX / 4)
		return;
	*s = (struct image_part){.bytes = m->bytes + p->p_offset,
				 .at = p->p_vaddr,
				 .size = p->p_filesz,
				 .flags = p->p_flags};
	if (!m->segment_count || p->p_vaddr < m->low)
		m->low = p->p_vaddr;
	if (p->p_vaddr + p->p_memsz > m->high)
		m->high = p->p_vaddr + p->p_memsz;
	m->segment_count++;
}

static void take_part(const struct image *m, const Elf64_Phdr *p, struct image_part *out)
{
	if (range_fits(p->p_offset, p->p_filesz, m->size))
		*out = (struct image_part){
			.bytes = m->bytes + p->p_offset, .at = p->p_vaddr, .size = p->p_filesz};
}

static void read_plan_note(struct image *m, const uint8_t *bytes)
{
	struct plan_note note;

	memcpy(&note, bytes, sizeof(note));
	m->instrumented = true;
	m->plan_at = note.plan;
	m->plan_bytes = note.plan_bytes;
}

/* Notes are aligned by 4, those of properties by 8. */
static void read_notes(struct image *m, const Elf64_Phdr *p)
{
	const uint64_t align = p->p_align == 8 ? 8 : 4;
	struct image_part part = {0};
	Elf64_Nhdr n;
	uint64_t at = 0, name, body;

	take_part(m, p, &part);
	while (range_fits(at, sizeof(n), part.size)) {
		memcpy(&n, part.bytes + at, sizeof(n));
		name = at + sizeof(n);
		body = (name + n.n_namesz + align - 1) / align * align;
		if (!range_fits(body, n.n_descsz, part.size))
			return;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz <= PLAN_BUILD_ID &&
		    memcmp(part.bytes + name, "GNU", 4) == 0) {
			memcpy(m->build_id, part.bytes + body, n.n_descsz);
			m->build_id_bytes = n.n_descsz;
		}
		if (n.n_type == PLAN_NOTE && n.n_descsz == sizeof(struct plan_note) &&
		    n.n_namesz == sizeof(PLAN_NOTE_NAME) &&
		    memcmp(part.bytes + name, PLAN_NOTE_NAME, n.n_namesz) == 0)
			read_plan_note(m, part.bytes + body);
		at = (body + n.n_descsz + align - 1) / align * align;
	}
}

static void read_segment(struct image *m, const Elf64_Phdr *p)
{
	struct image_part interpreter = {0};

	switch (p->p_type) {
	case PT_LOAD:
		add_segment(m, p);
		break;
	case PT_DYNAMIC:
		take_part(m, p, &m->dynamic);
		break;
	case PT_GNU_EH_FRAME:
		take_part(m, p, &m->frame_header);
		break;
	case PT_NOTE:
		read_notes(m, p);
		break;
	case PT_INTERP:
		take_part(m, p, &interpreter);
		m->interpreter = image_string(&interpreter, 0);
		break;
	default:
		break;
	}
}

static bool read_headers(struct image *m, char why[IMAGE_WHY])
{
	Elf64_Ehdr h;
	Elf64_Phdr p;

	if (m->size < sizeof(h) || memcmp(m->bytes, ELFMAG, SELFMAG) != 0)
		return fail(why, "it is no ELF file");
	memcpy(&h, m->bytes, sizeof(h));
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != EM_X86_64)
		return fail(why, "it is not for x86-64");
	if (h.e_type != ET_EXEC && h.e_type != ET_DYN)
		return fail(why, "it is neither a program nor a shared library");
	if (h.e_phentsize != sizeof(p) ||
	    !range_fits(h.e_phoff, (uint64_t)h.e_phnum * sizeof(p), m->size))
		return fail(why, "its program headers are damaged");
	m->kind = h.e_type;
	m->start = h.e_entry;
	for (unsigned i = 0; i < h.e_phnum; i++) {
		memcpy(&p, m->bytes + h.e_phoff + i * sizeof(p), sizeof(p));
		read_segment(m, &p);
	}
	return m->segment_count || fail(why, "nothing of it is loaded");
}

bool image_open_bytes(struct image *out, const void *bytes, size_t size, char why[IMAGE_WHY])
{
	*out = (struct image){.bytes = bytes, .size = size};
	return read_headers(out, why);
}

bool image_open(struct image *out, const char *path, char why[IMAGE_WHY])
{
	int fd = file_open_regular(path);
	struct stat st;
	void *p;

	*out = (struct image){0};
	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0) {
		snprintf(why, IMAGE_WHY, "%s", fd < 0 ? strerror(errno) : "it is empty");
		if (fd >= 0)
			close(fd);
		return false;
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return fail(why, strerror(errno));
	*out = (struct image){
		.path = realpath(path, NULL),
		.bytes = p,
		.size = (size_t)st.st_size,
		.device = st.st_dev,
		.inode = st.st_ino,
		.mtime_ns =
			(uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec,
		.mapped = true,
	};
	return read_headers(out, why);
}

void image_close(struct image *m)
{
	if (m->mapped)
		munmap((void *)(uintptr_t)m->bytes, m->size);
	free(m->path);
	*m = (struct image){0};
}

/* ---- addresses ---- */

static const uint8_t *find_address(const struct image *m, uint64_t at, uint32_t flags,
				   uint64_t *left)
{
	for (unsigned i = 0; i < m->segment_count; i++) {
		const struct image_part *s = &m->segments[i];

		if ((s->flags & flags) != flags || at - s->at >= s->size)
			continue;
		*left = s->size - (at - s->at);
		return s->bytes + (at - s->at);
	}
	*left = 0;
	return NULL;
}

const uint8_t *image_at(const struct image *m, uint64_t at, uint64_t *left)
{
	return find_address(m, at, 0, left);
}

const uint8_t *image_code(const struct image *m, uint64_t at, uint64_t *left)
{
	return find_address(m, at, PF_X, left);
}

/* ---- the dynamic section ---- */

/* The entry at `*at`, which is moved on; false: there are no more. */
static bool next_dynamic(const struct image *m, uint64_t *at, Elf64_Dyn *out)
{
	if (!range_fits(*at, sizeof(*out), m->dynamic.size))
		return false;
	memcpy(out, m->dynamic.bytes + *at, sizeof(*out));
	*at += sizeof(*out);
	return out->d_tag != DT_NULL;
}

uint64_t image_dynamic(const struct image *m, int64_t tag)
{
	uint64_t at = 0;
	Elf64_Dyn d;

	while (next_dynamic(m, &at, &d))
		if (d.d_tag == tag)
			return d.d_un.d_val;
	return 0;
}

bool image_needs(const struct image *m, const char *begin)
{
	struct image_part names = {0};
	uint64_t at = 0;
	Elf64_Dyn d;

	names.bytes = image_at(m, image_dynamic(m, DT_STRTAB), &names.size);
	while (names.bytes && next_dynamic(m, &at, &d)) {
		const char *name = d.d_tag == DT_NEEDED ? image_string(&names, d.d_un.d_val) : NULL;

		if (name && strncmp(name, begin, strlen(begin)) == 0)
			return true;
	}
	return false;
}
