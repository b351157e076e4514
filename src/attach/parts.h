/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of attach share. */
#ifndef ATTACH_PARTS_H
#define ATTACH_PARTS_H

#include <sys/types.h>
#include <sys/user.h>

#include "attach/attach.h"
#include "wire/attach.h"

/* ---- target.c ---- */

/* A line of /proc/PID/status, or of a thread's; false: there is none. */
bool target_status(int pid, int tid, const char *name, char *out, size_t size);

/* ---- functions.c ---- */

/* Fills in what the C library of the process has. */
bool attach_functions_find(struct attach_target *t, struct text *why);

/* ---- safe.c ---- */

/* For looking at stacks of one process. */
struct safe;
struct safe *safe_open(const struct attach_target *t);
void safe_close(struct safe *s);
/*
 * Whether the thread, which is stopped, is at a place where it may call pthread_create(): in no function that
 * takes locks which that needs. `where` names the function if it is.
 */
bool safe_here(struct safe *s, pid_t tid, char *where, size_t size);

/* ---- tracee.c ---- */

/* A thread that is stopped. */
struct tracee {
	pid_t pid, tid;
	struct user_regs_struct registers; /* as it was stopped */
	uint64_t mask;                     /* its signals that were blocked */
	uint8_t extended[16384];           /* its other registers */
	size_t extended_bytes;
	int memory; /* /proc/PID/mem */
};

/* Stops it; false: errno. ESRCH: it is gone. */
bool tracee_stop(struct tracee *t, pid_t pid, pid_t tid);
/* Keeps its registers and takes no signals for it from here on. */
bool tracee_keep(struct tracee *t);
/* Makes a system call in it; negative: an error, as the kernel has it. */
int64_t tracee_call(struct tracee *t, uint64_t instruction, uint64_t number,
		    const uint64_t *arguments, unsigned count);
/* Has it run at `pc` with `argument` in rbx, on its own stack, until it makes the call that stub.c ends with. */
bool tracee_run(struct tracee *t, uint64_t pc, uint64_t argument);
bool tracee_write(const struct tracee *t, uint64_t to, const void *data, size_t bytes);
/* Puts back what was kept, if anything was, and lets it go. */
void tracee_go(struct tracee *t, bool kept);

/* ---- stub.c ---- */

/* Code that runs in the process, wherever it is put; rbx is the page of struct attach_page. */
extern const unsigned char stub_code[], stub_thread[], stub_end[];
enum { STUB_CALL = 39, STUB_SIGN = 0x4b594d4f }; /* getpid with this first argument: done */

#endif
