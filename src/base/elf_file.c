/* SPDX-License-Identifier: Apache-2.0 */
/* See elf_file.h. */
#include "base/elf_file.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
	const char *bytes;
	size_t size;
};

static const void *part(const struct file *f, uint64_t offset, uint64_t bytes)
{
	return offset <= f->size && bytes <= f->size - offset ? f->bytes + offset : NULL;
}

static bool look_through(const struct file *f, elf_table_fn *look, void *data)
{
	const ElfW(Ehdr) *e = part(f, 0, sizeof(*e));
	const ElfW(Shdr) * sections, *s;

	if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_shentsize != sizeof(*s))
		return false;
	sections = part(f, e->e_shoff, (uint64_t)e->e_shnum * sizeof(*s));
	for (unsigned i = 0; sections && i < e->e_shnum; i++) {
		const ElfW(Sym) * symbols;
		const char *strings;

		s = &sections[i];
		if (s->sh_type != SHT_SYMTAB || s->sh_link >= e->e_shnum)
			continue;
		symbols = part(f, s->sh_offset, s->sh_size);
		strings = part(f, sections[s->sh_link].sh_offset, sections[s->sh_link].sh_size);
		if (symbols && strings &&
		    look(symbols, s->sh_size / sizeof(*symbols), strings,
			 sections[s->sh_link].sh_size, data))
			return true;
	}
	return false;
}

bool elf_file_symbols(const char *path, elf_table_fn *look, void *data)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	struct file f;
	bool enough = false;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		f.size = (size_t)st.st_size;
		f.bytes = mmap(NULL, f.size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (f.bytes != MAP_FAILED) {
			enough = look_through(&f, look, data);
			munmap((void *)(uintptr_t)f.bytes, f.size);
		}
	}
	close(fd);
	return enough;
}
