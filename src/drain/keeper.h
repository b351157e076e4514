/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: a process that does nothing but wait for the drain, with which it shares one table of
 * descriptors and the journal. A drain that is killed leaves nothing but these; another is started
 * on them. Whoever is recorded notices only that nobody took its chunks for a moment.
 */
#ifndef DRAIN_KEEPER_H
#define DRAIN_KEEPER_H

#include "drain/drain.h"

/*
 * In a process that drain_detach() has made: returns its exit status once the drain has ended,
 * which may be in another process.
 */
int drain_keep(const struct drain_config *config);

#endif
