/* SPDX-License-Identifier: Apache-2.0 */
/* For libkymo-attach.so: a recording begins in a process that runs already, perhaps not the first. */
#ifndef CORE_PROCESS_BROUGHT_H
#define CORE_PROCESS_BROUGHT_H

#include <stdint.h>

#define BROUGHT __attribute__((visibility("default")))

/*
 * What the launcher brought counts in this library too, see base/variables.h. For the recording the process begins
 * now: with what it has used, and what was recorded before, that recording has nothing to do.
 */
BROUGHT void kymo_variables_bring(const char *words);

/* The calling thread, which was put into the program, is Kymo's from here on: its number. */
BROUGHT uint32_t kymo_attach_enter(void);
/* It has ended, some time ago: what was seen of it has been taken for a thread of Kymo's. */
BROUGHT void kymo_attach_entered(uint32_t tid);

/* Libraries were loaded: where their code lies belongs to the trace. */
BROUGHT void kymo_attach_modules(void);

#endif
