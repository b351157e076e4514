/* SPDX-License-Identifier: Apache-2.0 */
/* Of signals by which the program is sampled, for what stands before the functions that say how they are handled. */
#ifndef CORE_SAMPLE_SIGNAL_H
#define CORE_SAMPLE_SIGNAL_H

#include <stdbool.h>

/*
 * The program asks how it handles a signal; with `sets` it is about to change that: Kymo sends it no longer. True: the signal is
 * Kymo's, of which the program is to see nothing. Keeps errno; may be called in a signal's handler.
 */
bool kymo_sample_signal(int number, bool sets);

#endif
