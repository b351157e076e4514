/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of records (kymo/handler.h) as core holds them: loaded once by what the user wrote of them, for ever. handler.c finds them, accesses.c gives
 * them records, report.c writes what they report.
 */
#ifndef CORE_COUNTER_HANDLER_H
#define CORE_COUNTER_HANDLER_H

#include "core/counter/accesses.h"
#include "handlers/handlers.h"

struct counter_handler {
	const kymo_handler_t *h;
	kymo_handler_options_t options;
	const char *name;
	bool own; /* it came with Kymo */
};

/* Those of a list, from `count` on, each once; returns how many there are then. Notes tell of those that cannot be had. */
uint32_t counter_handlers_get(const char *list, const struct counter_handler *out[HANDLERS_MOST],
			      uint32_t count);
void counter_handlers_fork_child(void);

/* Asks it for what it reports of the launch, and writes that. */
kymo_status_t counter_handler_report(const struct counter_handler *handler, void *state,
				     const struct cap_launch *launch,
				     const kymo_handler_launch_t *what);

/* What the active services ask for. */
void counter_lines_each(void (*fn)(const kymo_kernel_line_desc_t *desc, void *data), void *data);

#endif
