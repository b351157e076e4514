/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives up something, as servers and sandboxes do, and makes its first recorded calls only then:
 * sandboxed [fork|after:FILE] WHAT CALLS. `fork`: in a child; `after`: when FILE is there. Its
 * status is 5; 77 where the system does not let it give that up.
 */
#include <errno.h>
#include <kymo/marker.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int refuse(int call, unsigned error)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {sizeof(f) / sizeof(f[0]), f};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}

static int limit(int what, rlim_t to)
{
	struct rlimit r = {to, to};

	return setrlimit(what, &r);
}

static int give_up(const char *what)
{
	return strcmp(what, "chroot") == 0         ? chroot("/proc/self/fd") || chdir("/")
	       : strcmp(what, "setuid") == 0       ? setgid(65534) || setuid(65534)
	       : strcmp(what, "files") == 0        ? limit(RLIMIT_NOFILE, 0)
	       : strcmp(what, "addresses") == 0    ? limit(RLIMIT_AS, 30000000)
	       : strcmp(what, "memfd_create") == 0 ? refuse(SYS_memfd_create, EPERM)
	       : strcmp(what, "socket") == 0       ? refuse(SYS_socket, EPERM)
	       : strcmp(what, "mmap") == 0         ? refuse(SYS_mmap, ENOMEM)
	       : strcmp(what, "madvise") == 0      ? refuse(SYS_madvise, EPERM)
	       : strcmp(what, "memory") == 0
		       ? refuse(SYS_madvise, ENOMEM) || refuse(SYS_fallocate, ENOSPC)
	       : strcmp(what, "mremap") == 0 ? refuse(SYS_mremap, EPERM)
	       : strcmp(what, "clone3") == 0 ? refuse(SYS_clone3, EPERM)
					     : strcmp(what, "nothing") != 0;
}

/* Where the calls are made, and when. */
static void go(const char *where)
{
	const char *colon = strchr(where, ':');
	struct timespec t = {0, 1000000};
	pid_t child = colon ? 0 : fork();
	int status;

	while (colon && access(colon + 1, F_OK) != 0)
		nanosleep(&t, NULL);
	if (child == 0)
		return;
	waitpid(child, &status, 0);
	exit(WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	int calls;

	if (argc == 4)
		go(*++argv);
	calls = atoi(argv[2]);
	if (give_up(argv[1]))
		return 77;
	for (int i = 0; i < calls; i++)
		kymo_mark("mark");
	return 5;
}
