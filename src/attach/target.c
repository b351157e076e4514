/* SPDX-License-Identifier: Apache-2.0 */
/* Whether Kymo may be put into a process; what is here only looks. */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/parts.h"
#include "base/file.h"

bool target_status(int pid, int tid, const char *name, char *out, size_t size)
{
	char path[64], *text, *line;
	size_t n = strlen(name);

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	text = file_read(path, NULL);
	out[0] = '\0';
	for (line = text; line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (strncmp(line, name, n) != 0 || line[n] != ':')
			continue;
		line += n + 1;
		line += strspn(line, " \t");
		snprintf(out, size, "%.*s", (int)strcspn(line, "\n"), line);
		break;
	}
	free(text);
	return out[0] != '\0';
}

static long number_of(int pid, const char *name)
{
	char text[128];

	return target_status(pid, pid, name, text, sizeof(text)) ? strtol(text, NULL, 10) : 0;
}

static void add_user(struct text *out, uid_t uid)
{
	const struct passwd *p = getpwuid(uid);

	if (p)
		text_add(out, p->pw_name);
	else
		text_addf(out, "user %u", (unsigned)uid);
}

static bool exists(int pid, struct text *why)
{
	char path[32], text[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (pid <= 0 || stat(path, &st) != 0) {
		text_add(why, "there is no such process");
		return false;
	}
	if (target_status(pid, pid, "Tgid", text, sizeof(text)) && atoi(text) != pid) {
		text_addf(why, "it is a thread of process %s: attach to that", text);
		return false;
	}
	if (pid == getpid() || pid == getppid()) {
		text_add(why, "it is Kymo, or who started it");
		return false;
	}
	return true;
}

/* Who it runs as; both ids the same, and this user's. */
static bool is_ours(int pid, struct text *why)
{
	char text[128];
	unsigned real, effective, saved;

	if (!target_status(pid, pid, "Uid", text, sizeof(text)) ||
	    sscanf(text, "%u %u %u", &real, &effective, &saved) != 3)
		return false;
	if (real != geteuid()) {
		text_add(why, "it belongs to ");
		add_user(why, real);
		text_add(why, ": only that user can record it");
		return false;
	}
	if (real == effective && effective == saved)
		return true;
	text_add(why, "it runs with the rights of another user (setuid)");
	return false;
}

static bool is_free(int pid, struct text *why)
{
	long tracer = number_of(pid, "TracerPid");
	char state[64];

	target_status(pid, pid, "State", state, sizeof(state));
	if (tracer)
		text_addf(why,
			  "process %ld traces it already (a debugger, strace): it can be traced by "
			  "one alone",
			  tracer);
	else if (state[0] == 'T' || state[0] == 't')
		text_add(why, "it is stopped: let it go on (kill -CONT), then attach");
	else if (state[0] == 'Z' || state[0] == 'X')
		text_add(why, "it has ended");
	else
		return true;
	return false;
}

/* Filters that this process has too are no worse for that one. */
static bool is_unfiltered(int pid, struct text *why)
{
	if (!number_of(pid, "Seccomp") ||
	    (number_of(pid, "Seccomp") == 2 && number_of(getpid(), "Seccomp") == 2 &&
	     number_of(pid, "Seccomp_filters") == number_of(getpid(), "Seccomp_filters")))
		return true;
	text_add(why, "it runs with a filter of system calls (seccomp), which may end it for one "
		      "of ours");
	return false;
}

static bool has_plain_stack(int pid, struct text *why)
{
	char text[128];

	if (!target_status(pid, pid, "x86_Thread_features", text, sizeof(text)) ||
	    !strstr(text, "shstk"))
		return true;
	text_add(why, "it has a shadow stack (CET), which forbids that a thread is led elsewhere");
	return false;
}

static bool same_place(int pid, const char *kind, const char *what, struct text *why)
{
	char own[64], its[64];
	struct stat a, b;

	snprintf(own, sizeof(own), "/proc/self/ns/%s", kind);
	snprintf(its, sizeof(its), "/proc/%d/ns/%s", pid, kind);
	if (stat(own, &a) != 0 || stat(its, &b) != 0 || a.st_ino == b.st_ino)
		return true;
	text_addf(why, "it is in a container, or has other %s than this shell: attach from inside",
		  what);
	return false;
}

static bool same_root(int pid, struct text *why)
{
	struct stat a, b;
	char its[64];

	snprintf(its, sizeof(its), "/proc/%d/root/.", pid);
	if (stat("/", &a) != 0 || stat(its, &b) != 0 ||
	    (a.st_dev == b.st_dev && a.st_ino == b.st_ino))
		return true;
	text_add(why, "it has another root directory than this shell (chroot): attach from inside");
	return false;
}

/* Stacks of Go's are small, and others lie beside them: nobody else may run on one. */
static bool is_not_go(int fd, struct text *why)
{
	Elf *elf;
	Elf_Scn *scn = NULL;
	size_t names;
	bool go = false;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while (elf && elf_getshdrstrndx(elf, &names) == 0 && !go && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr head;
		const char *name =
			gelf_getshdr(scn, &head) ? elf_strptr(elf, names, head.sh_name) : NULL;

		go = name &&
		     (strcmp(name, ".go.buildinfo") == 0 || strcmp(name, ".note.go.buildid") == 0);
	}
	elf_end(elf);
	if (go)
		text_add(why, "it is a program of Go, on whose stacks nothing else may run");
	return !go;
}

/* The program's file: 64 bit, of this processor. */
static bool has_format(struct attach_target *t, struct text *why)
{
	char path[64];
	Elf64_Ehdr h;
	ssize_t n;
	bool go;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", t->pid);
	n = readlink(path, t->exe, sizeof(t->exe) - 1);
	t->exe[n > 0 ? n : 0] = '\0';
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		text_addf(why,
			  "its program cannot be read (%s): a kernel's thread, or one that does "
			  "not allow it",
			  strerror(errno));
		return false;
	}
	n = read(fd, &h, sizeof(h));
	go = !is_not_go(fd, why);
	close(fd);
	if (go)
		return false;
	if (n != (ssize_t)sizeof(h) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
		text_add(why, "its program is of an unknown format");
	else if (h.e_ident[EI_CLASS] != ELFCLASS64)
		text_add(why, "it is a 32-bit program");
	else if (h.e_machine != EM_X86_64)
		text_add(why, "it is for another processor");
	else
		return true;
	return false;
}

static bool is_unrecorded(int pid, struct text *why)
{
	char path[32], *maps;
	bool yes;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = file_read(path, NULL);
	yes = !maps || !strstr(maps, "/libkymo-inject.so");
	free(maps);
	if (!yes)
		text_add(why, "it was started with \"kymo run\" and is recorded already: \"kymo "
			      "ctl\" steers that, "
			      "\"kymo top\" looks at it");
	return yes;
}

bool attach_look(int pid, struct attach_target *t, struct text *why)
{
	*t = (struct attach_target){.pid = pid};
	return exists(pid, why) && is_ours(pid, why) && is_free(pid, why) &&
	       is_unfiltered(pid, why) && has_plain_stack(pid, why) &&
	       same_place(pid, "mnt", "file systems", why) &&
	       same_place(pid, "pid", "process numbers", why) &&
	       same_place(pid, "user", "users", why) && same_root(pid, why) && has_format(t, why) &&
	       is_unrecorded(pid, why) && attach_functions_find(t, why);
}
