/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A core for tests of wrappers: one thread, one context, one chunk of memory that the test reads
 * back with the decoder.
 */
#ifndef TESTS_GEN_FAKE_CORE_H
#define TESTS_GEN_FAKE_CORE_H

#include "core/capture.h"

/* Empties the chunk. */
void fake_reset(void);

/* Prepares to read what was recorded since fake_reset(). */
void fake_read(struct wire_reader *reader);

/* Address that site `id` stands for. */
uintptr_t fake_site(uint32_t id);

/* Switches the context on (buffers, callbacks) or off for one op and stores slot targets. */
void fake_want(struct cap_op *op, bool buffers, bool callbacks);
/* The level of arguments of the buffer that wants the op. */
void fake_level(struct cap_op *op, uint32_t level);

extern unsigned fake_untraced;  /* calls of cap_count_untraced */
extern unsigned fake_bare;      /* records without arguments */
extern unsigned fake_phases[3]; /* callbacks by phase */
extern uint8_t fake_args[256];  /* what the last callback's arguments began with */
extern struct cap_domain *fake_domain;

#endif
