/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of what the process may have; see limits.c. */
#ifndef INJECT_LIMITS_H
#define INJECT_LIMITS_H

/* What the process has of addresses is limited by now: who records tells of it. */
void limits_look(void);

#endif
