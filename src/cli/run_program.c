/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the program and telling whether it can be traced; see run.h. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/recordable.h"
#include "cli/run.h"

enum { SCRIPT_DEPTH = 5, HEADERS_MAX = 64, STRINGS_MAX = 64 << 20 };

/* ---- finding -------------------------------------------------------------------------------- */

/* 0, or why `path` cannot be executed. */
static int why_not_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return access(path, X_OK) == 0 ? 0 : errno;
}

/* The errno of the most telling failure, as execvp(): EACCES beats ENOENT. */
static int search_path(const char *name, char path[PATH_MAX])
{
	const char *p = getenv("PATH");
	int why = ENOENT;

	if (!p)
		p = "/usr/local/bin:/bin:/usr/bin";
	for (;;) {
		size_t n = strcspn(p, ":");
		int error;

		if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)n, p, n ? "/" : "./", name) <
		    PATH_MAX) {
			error = why_not_executable(path);
			if (error == 0)
				return 0;
			if (error == EACCES)
				why = EACCES;
		}
		if (p[n] == '\0')
			return why;
		p += n + 1;
	}
}

static bool find_program(struct program *p, const char *name, struct text *error, int *status)
{
	int why;

	if (strchr(name, '/')) {
		snprintf(p->path, sizeof(p->path), "%s", name);
		why = why_not_executable(name);
	} else {
		why = *name ? search_path(name, p->path) : ENOENT;
	}
	if (why == 0)
		return true;
	*status = why == ENOENT || why == ENOTDIR ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
	if (*status == RUN_NOT_FOUND)
		text_addf(error, "\"%s\": there is no such program%s", name,
			  strchr(name, '/') ? "" : " in PATH");
	else if (why == EACCES)
		text_addf(error, "\"%s\" is not executable: chmod +x may help", name);
	else
		text_addf(error, "\"%s\" cannot be executed: %s", name, strerror(why));
	if (*status == RUN_NOT_FOUND && !strchr(name, '/') && access(name, X_OK) == 0)
		text_addf(error, "; did you mean \"./%s\"?", name);
	return false;
}

/* ---- can it be traced? ---------------------------------------------------------------------- */

/* ---- what it is linked with ------------------------------------------------------------------ */

struct dynamic {
	uint64_t strings, bytes; /* where in the file, how many */
};

static uint64_t offset_of(const Elf64_Phdr *ph, unsigned n, uint64_t address)
{
	for (unsigned i = 0; i < n; i++)
		if (ph[i].p_type == PT_LOAD && address >= ph[i].p_vaddr &&
		    address - ph[i].p_vaddr < ph[i].p_filesz)
			return address - ph[i].p_vaddr + ph[i].p_offset;
	return 0;
}

static bool find_strings(int fd, struct dynamic *d)
{
	Elf64_Phdr ph[HEADERS_MAX];
	Elf64_Dyn entry;
	Elf64_Ehdr h;
	unsigned n;

	memset(d, 0, sizeof(*d));
	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) ||
	    memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    h.e_phentsize != sizeof(*ph))
		return false;
	n = h.e_phnum < HEADERS_MAX ? h.e_phnum : HEADERS_MAX;
	if (pread(fd, ph, n * sizeof(*ph), (off_t)h.e_phoff) != (ssize_t)(n * sizeof(*ph)))
		return false;
	for (unsigned i = 0; i < n; i++)
		for (uint64_t at = 0; ph[i].p_type == PT_DYNAMIC && at < ph[i].p_filesz;
		     at += sizeof(entry)) {
			if (pread(fd, &entry, sizeof(entry), (off_t)(ph[i].p_offset + at)) !=
				    (ssize_t)sizeof(entry) ||
			    entry.d_tag == DT_NULL)
				break;
			if (entry.d_tag == DT_STRTAB)
				d->strings = offset_of(ph, n, entry.d_un.d_ptr);
			else if (entry.d_tag == DT_STRSZ)
				d->bytes = entry.d_un.d_val;
		}
	return d->strings && d->bytes && d->bytes < STRINGS_MAX;
}

bool program_names(const char *path, const char *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct dynamic d;
	char *strings = NULL;
	bool found = false;

	if (fd >= 0 && find_strings(fd, &d)) {
		strings = malloc(d.bytes);
		found = strings &&
			pread(fd, strings, d.bytes, (off_t)d.strings) == (ssize_t)d.bytes &&
			memmem(strings, d.bytes, text, strlen(text));
	}
	free(strings);
	if (fd >= 0)
		close(fd);
	return found;
}

/* Interpreter of a script, "" if the file is none. */
static void interpreter_of(const char *head, char *out, size_t size)
{
	const char *p = head + 2;

	out[0] = '\0';
	if (strncmp(head, "#!", 2) != 0)
		return;
	p += strspn(p, " \t");
	snprintf(out, size, "%.*s", (int)strcspn(p, " \t\n"), p);
}

/* "#!/usr/bin/env NAME": a word behind the interpreter, "" if there is none. */
static void argument_of(const char *head, char *out, size_t size)
{
	const char *p = head + 2;

	p += strspn(p, " \t");
	p += strcspn(p, " \t\n");
	p += strspn(p, " \t");
	snprintf(out, size, "%.*s", (int)strcspn(p, " \t\n"), p);
}

void program_file(const char *path, char out[PATH_MAX])
{
	char head[1024], next[512], word[256];
	size_t n;

	snprintf(out, PATH_MAX, "%s", path);
	for (unsigned depth = 0; depth < SCRIPT_DEPTH; depth++) {
		int fd = open(out, O_RDONLY | O_CLOEXEC);
		ssize_t got = fd >= 0 ? read(fd, head, sizeof(head) - 1) : -1;

		if (fd >= 0)
			close(fd);
		head[got > 0 ? got : 0] = '\0';
		interpreter_of(head, next, sizeof(next));
		if (!*next)
			return;
		argument_of(head, word, sizeof(word));
		n = strlen(next);
		if (n < 4 || strcmp(next + n - 4, "/env") != 0 || search_path(word, out) != 0)
			snprintf(out, PATH_MAX, "%s", next);
	}
}

#define REASON sizeof(((struct program *)0)->untraceable)

static bool check_file(const char *path, unsigned depth, char *why, struct text *error)
{
	char head[1024] = "", next[512], reason[128];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, head, sizeof(head) - 1) : -1;
	bool ok = true;

	if (!*why && !recordable(path, reason, sizeof(reason), NULL))
		snprintf(why, REASON, "\"%.140s\" %s", path, reason);
	if (fd >= 0)
		close(fd);
	if (n < 2)
		return true; /* may be executed, may not be read */
	interpreter_of(head, next, sizeof(next));
	if (*next && why_not_executable(next) != 0) {
		text_addf(error, "\"%s\" is a script for \"%s\", which cannot be executed: %s",
			  path, next, strerror(why_not_executable(next)));
		ok = false;
	} else if (*next && depth < SCRIPT_DEPTH) {
		ok = check_file(next, depth + 1, why, error);
	}
	return ok;
}

bool program_find(struct program *p, const char *name, struct text *error, int *status)
{
	memset(p, 0, sizeof(*p));
	if (!find_program(p, name, error, status))
		return false;
	*status = RUN_NOT_EXECUTABLE;
	return check_file(p->path, 0, p->untraceable, error);
}
