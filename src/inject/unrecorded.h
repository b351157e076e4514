/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that was to be recorded and reaches no drain leaves that in the trace itself, where it
 * can: it is a process of the trace that was lost, and not one that never was.
 */
#ifndef INJECT_UNRECORDED_H
#define INJECT_UNRECORDED_H

/* `trace`: its directory, or NULL; `error`: errno of what was missing, 0: not known. */
void unrecorded_tell(const char *trace, int error);

#endif
