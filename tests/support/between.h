/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads do the same for the first time, and one of them is stopped on the way: where a thread of
 * Kymo's code takes a lock for the n-th time. See between.c; link programs with ENABLE_EXPORTS.
 */
#ifndef SUPPORT_BETWEEN_H
#define SUPPORT_BETWEEN_H

/*
 * A thread does `first` and stays for ever before its n-th lock; then another does `second`, as far as
 * it gets without what the first one holds. Ends the process by SIGKILL; by status 3 where the first
 * took fewer locks.
 */
void between(unsigned n, void (*first)(void), void (*second)(void));

#endif
