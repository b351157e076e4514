/* SPDX-License-Identifier: Apache-2.0 */
/* Places where the objects of this process keep the addresses of functions of others: late.h. */
#ifndef INJECT_PLACES_H
#define INJECT_PLACES_H

#include <stdbool.h>
#include <stdint.h>

/* Where calls of the function are to lead, NULL: where they do. */
typedef void *(*places_fn)(const char *function, void *data);

/*
 * Visits the objects that were not visited yet, but Kymo's own and the C library's. A function that an object
 * defines itself is its own affair. Returns how many places lead elsewhere now. One thread at a time.
 */
unsigned places_enter(places_fn target, void *data);

/* Whether the list of objects has changed since places_enter(). */
bool places_changed(void);

/* All lead where they did, unless somebody has changed them since. */
void places_restore(void);

#endif
