/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `kymo attach` puts into a running process: some pages, of which the first has the code of a thread that
 * loads libkymo-attach.so (src/attach/stub.c), and the others this structure. The code knows the offsets.
 */
#ifndef WIRE_ATTACH_H
#define WIRE_ATTACH_H

#include <stdatomic.h>
#include <stdint.h>

#define ATTACH_MAGIC   0x484354414f4d594bull /* "KYMOATCH" */
#define ATTACH_VERSION 2u

/* What libkymo-attach.so exports: int32_t kymo_attach_begin(struct attach_page *); KYMO_OK, or why not. */
#define ATTACH_BEGIN "kymo_attach_begin"

enum attach_state {
	ATTACH_NEW = 0,
	ATTACH_RUNS = 1,   /* the thread is there */
	ATTACH_BEGUN = 2,  /* kymo_attach_begin() has returned `status` */
	ATTACH_FAILED = 3, /* the library was not loaded: `error` */
};

enum { ATTACH_LIBRARY = 256, ATTACH_ERROR = 504, ATTACH_LATE = 4096 };

struct attach_page {
	_Atomic uint32_t state; /* enum attach_state */
	int32_t created;        /* what pthread_create() returned */
	int32_t status;
	_Atomic uint32_t seen; /* 1: nobody looks at these pages any more */
	/* Functions of the process. */
	uint64_t pthread_create, dlopen, dlsym, dlerror;
	uint64_t thread;           /* pthread_t */
	uint64_t stub;             /* where the code of the thread is */
	char begin[32];            /* ATTACH_BEGIN */
	char kymo[ATTACH_LIBRARY]; /* libkymo.so.1 */
	char library
		[ATTACH_LIBRARY]; /* a libkymo-attach.so that the process has not loaded before */
	char error[ATTACH_ERROR]; /* of dlerror() */
	uint64_t back; /* where the stack of the thread that was led here has its way back */

	/* From here on the code knows nothing of it. */
	uint64_t magic;
	uint32_t version, words; /* bytes of `text` */
	uint64_t pages, bytes;   /* where these pages are, the code's first, and how many */
	uint64_t moment;         /* node time, CLOCK_MONOTONIC: what begins later is recorded */
	char late[ATTACH_LATE];  /* what is missed, a line each */
	char text[];             /* the launcher's variables: base/variables.h */
};

#endif
