/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that could not be recorded. Each gets a raw file of its own, without a record and with an
 * end that says why, so that it is a process of the trace that was lost, and not one that never was.
 */
#ifndef DRAIN_REFUSED_H
#define DRAIN_REFUSED_H

#include <stdbool.h>

/*
 * Descriptors held back, so that a process can be turned away, and that be written down, when there
 * are no others. Between refused_begin() and refused_end() they are free to be used. False: some of them
 * are still used.
 */
void refused_begin(void);
bool refused_end(void);

/* Writes down that the process was turned away; `error`: errno. False: it could not be. */
bool refused_write(const char *trace, int pid, int error);

#endif
