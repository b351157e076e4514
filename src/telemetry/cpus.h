/* SPDX-License-Identifier: Apache-2.0 */
/* Which processors there are. */
#ifndef TELEMETRY_CPUS_H
#define TELEMETRY_CPUS_H

#include "base/numbers.h"

/* Adds the numbers of those that /proc/stat below `root` has. False: it cannot be read. */
bool cpus_online(const char *root, struct number_list *out);

#endif
