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

/*
 * A thread that is stopped. Whoever traces it may be killed at any moment: it then goes on with what it was last told, alone. So
 * each change is one request that leads it somewhere from where it comes back by itself.
 */
struct tracee {
	pid_t pid, tid;
	struct user_regs_struct registers; /* as it was stopped */
	uint64_t mask;                     /* its signals that were blocked */
	uint8_t extended[16384];           /* its other registers */
	size_t extended_bytes;
	const struct attach_target *target;
	uint64_t back; /* where the way back lies; 0: it was not led anywhere */
};

/* Stops it; false: errno. ESRCH: it is gone. */
bool tracee_stop(struct tracee *t, const struct attach_target *target, pid_t tid);
/*
 * Keeps its registers and has it block its signals. False: *signal came to it, which it is to be let go with, or, if that is 0, it
 * cannot be done here.
 */
bool tracee_lead(struct tracee *t, int *signal);
/* Makes a system call in it; negative: an error, as the kernel has it. */
int64_t tracee_call(struct tracee *t, uint64_t number, const uint64_t *arguments, unsigned count);
/* Has it run at `pc` on another stack with `argument` in rbx, until it makes the call that stub.S says it is done by. */
bool tracee_run(struct tracee *t, uint64_t pc, uint64_t stack, uint64_t argument);
bool tracee_write(const struct tracee *t, uint64_t to, const void *data, size_t bytes);
/* Puts back what was kept and lets it go, with the signal if there is one. */
void tracee_go(struct tracee *t, int signal);

/* ---- back.c ---- */

struct back {
	_Alignas(64) uint8_t data[20480];
	size_t bytes;
};

/*
 * The frame that puts back what `t` keeps, for the address that is returned; 0: there is none. A thread whose stack begins
 * there and that returns finds `sigreturn`. The frame has the word `blocked` besides, at back_blocked().
 */
uint64_t back_build(const struct tracee *t, uint64_t sigreturn, uint64_t blocked, struct back *b);
uint64_t back_blocked(uint64_t at);

/* ---- stub.S ---- */

/* Code that runs in the process, wherever it is put; rbx is the page of struct attach_page. */
extern const unsigned char stub_code[], stub_thread[], stub_end[];
enum { STUB_CALL = 39, STUB_SIGN = 0x4b594d4f }; /* getpid with this first argument: done */

#endif
