/* SPDX-License-Identifier: Apache-2.0 */
/* Where roofs are kept: a file for each device in the user's cache. */
#ifndef ROOFS_KEEP_H
#define ROOFS_KEEP_H

#include <limits.h>

#include "roofs/roofs.h"

/* Where all are. False: no folder is known; `why` says what to set. */
bool keep_folder(char out[PATH_MAX], char why[ROOF_WHY]);

/* False: likewise. */
bool keep_path(const struct roof_device *d, char out[PATH_MAX], char why[ROOF_WHY]);

/* What is kept of this very device. */
bool keep_find(const struct roof_device *d, struct roofs *out);

/* Roofs that no time was left for. */
unsigned keep_missing(const struct roofs *r);

/* One that lacks some does not take the place of one that has all, which `why` says. */
bool keep_put(const struct roofs *r, char why[ROOF_WHY]);

/* All that is kept. */
void keep_all(struct roofs_list *out);

/*
 * One process of the node measures at a time; `waiting` is called again and again until it is this one's turn. -1: there
 * is no place for a lock, so that nobody is waited for. To be closed.
 */
int keep_lock(void (*waiting)(void *data), void *data);

#endif
