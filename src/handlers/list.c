/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers that come with Kymo. */
#include "handlers/handlers.h"

#include <string.h>

static const kymo_handler_t *const handlers[] = {&handler_memory,    &handler_heatmap,
						 &handler_reuse,     &handler_blocks,
						 &handler_addresses, &handler_block_log};

const kymo_handler_t *handlers_at(uint32_t i)
{
	return i < sizeof(handlers) / sizeof(handlers[0]) ? handlers[i] : NULL;
}

const kymo_handler_t *handlers_find(const char *name)
{
	for (uint32_t i = 0; handlers_at(i); i++)
		if (strcmp(handlers_at(i)->name, name) == 0)
			return handlers_at(i);
	return NULL;
}
