/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the recorder with the options that the launcher has left for this process (base/variables.h). */
#ifndef INJECT_INJECT_H
#define INJECT_INJECT_H

#include <kymo/status.h>

/*
 * Once in the life of this library. `leave`: is called, on a thread of Kymo's, when the recording is over and the
 * process is not; NULL: they end together. A process that is left out by --rank is KYMO_OK.
 */
kymo_status_t inject_start(void (*leave)(void));

#endif
