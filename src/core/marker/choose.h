/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Domains of annotations (NVTX, ITT, marker.h) that are followed at all. What the others say is as if nobody listened:
 * their ranges are no scopes, their pops close nothing.
 */
#ifndef CORE_MARKER_CHOOSE_H
#define CORE_MARKER_CHOOSE_H

#include <stdbool.h>

/* "" is the domain of annotations without one. */
bool marker_asks(const char *domain);

/*
 * For libkymo-inject.so, once, before the program begins. `wanted` is asked once for each domain, mostly, by any thread; "" is
 * that of annotations without one.
 */
__attribute__((visibility("default"))) void kymo_marker_choose(bool (*wanted)(const char *domain));

#endif
