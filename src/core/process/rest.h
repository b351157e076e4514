/* SPDX-License-Identifier: Apache-2.0 */
/* A time in which the process has no thread of Kymo's: for what the system or the C library does not do where there are others. */
#ifndef CORE_PROCESS_REST_H
#define CORE_PROCESS_REST_H

#include <stdbool.h>

enum rest {
	REST_ALWAYS, /* the system refuses where there are threads: unshare(), setns() */
	/*
	 * The C library has all threads do the same and aborts where they differ, as they do when the calling
	 * one alone has changed its capabilities: setuid() and the like. Nothing is done where they agree.
	 */
	REST_IF_RIGHTS_DIFFER
};

/*
 * Ends the threads of Kymo's that can be made again, if the calling thread is the program's only one.
 * False: nothing was done. Keeps errno; the calling thread holds no lock of Kymo's.
 */
bool kymo_process_rest(enum rest when);
/* After a rest: makes them again, with the rights that the calling thread has by now. Keeps errno. */
void kymo_process_rise(void);

/* The process may have another user now. Keeps errno. */
void kymo_process_user(void);

#endif
