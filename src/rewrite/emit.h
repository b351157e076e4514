/* SPDX-License-Identifier: Apache-2.0 */
/* The rewritten text. */
#ifndef REWRITE_EMIT_H
#define REWRITE_EMIT_H

#include "rewrite/plan.h"

/* False: no memory. */
bool emit_source(struct plan *p, struct text *out);

#endif
