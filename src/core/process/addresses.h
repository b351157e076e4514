/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses where they are rationed (RLIMIT_AS): what Kymo maps counts as the program's. */
#ifndef CORE_PROCESS_ADDRESSES_H
#define CORE_PROCESS_ADDRESSES_H

#include <stdint.h>

/*
 * The program's addresses are limited to so many bytes: those that Kymo keeps for threads to come are given back, and the trace is told
 * how many it still has. Any thread that holds no lock of Kymo's; nothing in children that are not in order. Keeps errno.
 */
void kymo_process_limits_addresses(uint64_t bytes);

#endif
