/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kymo is put into a program that runs already. One thread of it is stopped for some milliseconds, once, at a
 * place where it holds no lock of the C library's that is needed; it makes a thread, and goes on as if nothing had
 * been. That thread loads libkymo-attach.so as any thread of the program might. Nothing of the program's is
 * changed but for two pages of memory that are added, and which go when the library has begun.
 */
#ifndef ATTACH_ATTACH_H
#define ATTACH_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* What a process is that Kymo may be put into. */
struct attach_target {
	int pid;
	char exe[4096];        /* what /proc/PID/exe leads to */
	uint64_t functions[4]; /* addresses of pthread_create, dlopen, dlsym, dlerror in it */
	uint64_t system_call;  /* of the instructions `syscall; ret` in it */
	uint64_t sigreturn;    /* of those by which a signal's handler returns */
};

/* False: it cannot be done, or not without harm; `why` says so, and what to do. Changes nothing. */
bool attach_look(int pid, struct attach_target *t, struct text *why);

struct attach_request {
	const char *kymo;    /* libkymo.so.1, as the process can open it */
	const char *library; /* a copy of libkymo-attach.so that it has not loaded before */
	const char *words;   /* NAME=VALUE, each with its zero, and a zero after the last */
	uint32_t bytes;      /* of all of them */
};

struct attach_report {
	uint64_t moment;     /* ns of CLOCK_MONOTONIC: what begins later is recorded */
	uint64_t stopped_ns; /* so long a thread of the program was stopped */
	int thread;          /* which */
	char call[64];    /* the system call that it was in and that may end early (EINTR), or "" */
	struct text late; /* what is missed, a line each; the caller releases it */
};

/* False: `why`; the process runs on as before. */
bool attach_put(const struct attach_target *t, const struct attach_request *r,
		struct attach_report *report, struct text *why);

#endif
