/* SPDX-License-Identifier: Apache-2.0 */
/* See recordable.h. */
#include "base/recordable.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__powerpc64__)
#define MACHINE EM_PPC64
#elif defined(__riscv)
#define MACHINE EM_RISCV
#else
#error "name the ELF machine of this architecture"
#endif

enum { HEADERS_MAX = 64 };

/* Such programs run in secure mode, where the dynamic linker ignores LD_PRELOAD. */
static void check_privileges(const char *path, char *why, size_t size)
{
	struct stat st;
	char caps[64];

	if (stat(path, &st) != 0)
		return;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		snprintf(why, size, "is a setuid program");
	else if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid())
		snprintf(why, size, "is a setgid program");
	else if (getuid() != 0 && getxattr(path, "security.capability", caps, sizeof(caps)) > 0)
		snprintf(why, size, "has file capabilities");
}

/* The dynamic linker named in the program headers: of glibc, or none at all. True: it is another. */
static bool check_headers(int fd, const Elf64_Ehdr *h, char *why, size_t size)
{
	char interp[256] = "", *base;
	Elf64_Phdr ph;

	for (unsigned i = 0; i < h->e_phnum && i < HEADERS_MAX; i++) {
		if (pread(fd, &ph, sizeof(ph), (off_t)(h->e_phoff + i * sizeof(ph))) !=
		    (ssize_t)sizeof(ph))
			return false;
		if (ph.p_type == PT_INTERP && ph.p_filesz < sizeof(interp) &&
		    pread(fd, interp, ph.p_filesz, (off_t)ph.p_offset) < 0)
			return false;
	}
	base = strrchr(interp, '/');
	if (!*interp) {
		snprintf(why, size, "is statically linked");
		return false;
	}
	if (strncmp(base ? base + 1 : interp, "ld-linux", 8) == 0 ||
	    strncmp(base ? base + 1 : interp, "ld64.so", 7) == 0)
		return false;
	snprintf(why, size, "is linked with another C library (%.80s)", interp);
	return true;
}

static bool check_elf(int fd, const unsigned char *head, size_t n, char *why, size_t size)
{
	Elf64_Ehdr h;

	if (head[EI_CLASS] != ELFCLASS64) {
		snprintf(why, size, "is a 32-bit program");
		return true;
	}
	if (n < sizeof(h))
		return false;
	memcpy(&h, head, sizeof(h));
	if (h.e_machine != MACHINE) {
		snprintf(why, size, "is for another processor");
		return true;
	}
	return h.e_phentsize == sizeof(Elf64_Phdr) && check_headers(fd, &h, why, size);
}

bool recordable(const char *path, char *why, size_t size, bool *other)
{
	unsigned char head[sizeof(Elf64_Ehdr)] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd >= 0 ? pread(fd, head, sizeof(head), 0) : -1;

	bool is_other = false;

	why[0] = '\0';
	check_privileges(path, why, size);
	if (!*why && n >= (ssize_t)EI_NIDENT && memcmp(head, ELFMAG, SELFMAG) == 0)
		is_other = check_elf(fd, head, (size_t)n, why, size);
	if (other)
		*other = is_other;
	if (fd >= 0)
		close(fd);
	return !*why;
}
