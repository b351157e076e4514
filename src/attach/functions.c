/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions of the C library are in another process: its symbol table, from the file that is mapped there. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attach/parts.h"

/* A file that is mapped. */
struct mapped {
	char path[PATH_MAX];
	uint64_t base; /* of its first page */
	uint64_t text[2],
		text_at; /* the first part that can be executed, and where that is in the file */
	unsigned device[2];
	uint64_t inode;
};

static bool is_library(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	size_t n = strlen(name);

	path = slash ? slash + 1 : path;
	return strncmp(path, name, n) == 0 && (path[n] == '\0' || path[n] == ' ');
}

/* Also of older ones, "libc-2.31.so". */
static bool is_c_library(const char *path)
{
	const char *slash = strrchr(path, '/');

	return is_library(path, "libc.so.6") || (slash && strncmp(slash, "/libc-2.", 8) == 0);
}

static bool find_mapped(int pid, bool (*is)(const char *path), struct mapped *m)
{
	char maps[32], line[PATH_MAX + 128], rights[8], path[PATH_MAX];
	unsigned long from, to, at, inode;
	unsigned major, minor;
	FILE *f;

	*m = (struct mapped){.path = ""};
	snprintf(maps, sizeof(maps), "/proc/%d/maps", pid);
	f = fopen(maps, "re");
	while (f && fgets(line, sizeof(line), f)) {
		path[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %4095[^\n]", &from, &to, rights, &at,
			   &major, &minor, &inode, path) < 7 ||
		    !is(path))
			continue;
		if (!m->path[0]) {
			snprintf(m->path, sizeof(m->path), "%s", path);
			m->base = from - at;
			m->device[0] = major;
			m->device[1] = minor;
			m->inode = inode;
		}
		if (rights[2] == 'x' && !m->text[1]) {
			m->text[0] = from;
			m->text[1] = to;
			m->text_at = at;
		}
	}
	if (f)
		fclose(f);
	return m->path[0] && m->text[1];
}

/* As the process sees it; -1: another file is there now. */
static int open_mapped(int pid, const struct mapped *m)
{
	char path[PATH_MAX + 64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, m->path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == m->inode)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static const char *const names[] = {"pthread_create", "dlopen", "dlsym", "dlerror"};

static void take_symbol(struct attach_target *t, const char *name, const GElf_Sym *s, uint64_t base)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!t->functions[i] && strcmp(name, names[i]) == 0)
			t->functions[i] = base + s->st_value;
}

static void read_symbols(struct attach_target *t, Elf *elf, uint64_t base)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr head;
	GElf_Sym s;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &head) || head.sh_type != SHT_DYNSYM || !head.sh_entsize)
			continue;
		data = elf_getdata(scn, NULL);
		for (uint64_t i = 0; data && i < head.sh_size / head.sh_entsize; i++)
			if (gelf_getsym(data, (int)i, &s) && s.st_shndx != SHN_UNDEF &&
			    GELF_ST_TYPE(s.st_info) == STT_FUNC)
				take_symbol(t, elf_strptr(elf, head.sh_link, s.st_name), &s, base);
	}
}

/* Instructions that are in the text of any C library; 0: not of this one. */
static uint64_t find_code(int fd, const struct mapped *m, const char *code, size_t size)
{
	uint8_t bytes[65536];
	ssize_t n;

	for (uint64_t at = 0; at < m->text[1] - m->text[0]; at += (uint64_t)n - size + 1) {
		const uint8_t *found;

		n = pread(fd, bytes, sizeof(bytes), (off_t)(m->text_at + at));
		if (n < (ssize_t)size)
			return 0;
		found = memmem(bytes, (size_t)n, code, size);
		if (found)
			return m->text[0] + at + (uint64_t)(found - bytes);
	}
	return 0;
}

static bool read_library(struct attach_target *t, const struct mapped *m, int fd)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return false;
	read_symbols(t, elf, m->base);
	elf_end(elf);
	t->system_call = find_code(fd, m, "\x0f\x05\xc3", 3);
	/* mov $15, %rax; syscall */
	t->sigreturn = find_code(fd, m, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
	return t->functions[0] && t->functions[1] && t->functions[2] && t->functions[3] &&
	       t->system_call && t->sigreturn;
}

bool attach_functions_find(struct attach_target *t, struct text *why)
{
	struct mapped libc;
	bool ok;
	int fd;

	if (!find_mapped(t->pid, is_c_library, &libc)) {
		text_add(why, "it has no GNU C library loaded: it is linked statically, or with "
			      "another one");
		return false;
	}
	fd = open_mapped(t->pid, &libc);
	if (fd < 0) {
		text_addf(why,
			  "its C library (%s) was replaced since it was started: start it anew",
			  libc.path);
		return false;
	}
	ok = read_library(t, &libc, fd);
	close(fd);
	if (!ok)
		text_addf(why,
			  "its C library (%s) has no pthread_create and dlopen of its own, as "
			  "those before 2.34: start "
			  "it with \"kymo run\"",
			  libc.path);
	return ok;
}
