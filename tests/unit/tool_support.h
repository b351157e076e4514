/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up runtime and a tool that keeps what it is told, for tests of the tools interface. */
#ifndef TOOL_SUPPORT_H
#define TOOL_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <cmocka.h>

#include <kymo/kymo.h>

#include "core/activity/activity.h"
#include "core/capture.h"

enum { T_CALL, T_OTHER, T_SUBMIT, T_OPS };
extern struct cap_op t_ops[T_OPS];

struct t_args {
	size_t size;
	uint64_t number;
	const char *text;
	int32_t out; /* written by the call */
};

/* Registers the runtime; once a process. */
void t_register(void);
/* A traced call of op T_CALL or T_OTHER; `inside` (may be NULL) runs inside it. Returns its id or
 * 0. */
uint64_t t_call(int op, uint64_t number, void (*inside)(void *data), void *data);
/* Submits work (domain "sync") for t_complete(); the id of the call, 0: nobody wants the work. */
uint64_t t_submit(struct cap_submission *o, uint64_t bytes, bool *wanted);
void t_complete(struct cap_submission *o);

struct t_event {
	const char *domain;
	uint32_t op;
	kymo_phase_t phase;
	uint64_t call, external, value; /* value: of field 0 */
	int64_t scope;
	int32_t status;
	bool bare;
};

struct t_seen {
	struct t_event list[4096];
	uint32_t count;
};

/* A callback that appends to a struct t_seen. */
void t_keep(kymo_context_t c, const kymo_callback_record_t *r, void *data);
/* A context with t_keep() for all ops of `domain` (NULL: of all), not started. */
kymo_context_t t_context(const char *domain, struct t_seen *seen);
/* How many events of this domain and phase. */
uint32_t t_count(const struct t_seen *s, const char *domain, kymo_phase_t phase);

#endif
