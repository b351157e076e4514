/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The intercept service as backends see it: they tell of tables and say how an entry is made to
 * lead elsewhere. Tracing stays in front: an entry's `next` is what changes.
 */
#ifndef CORE_INTERCEPT_H
#define CORE_INTERCEPT_H

#include <stdbool.h>

#include <kymo/intercept.h>

/* How the entries of a table are reached. Called without locks of core; any thread. */
struct intercept_source {
	/* Where the entry leads to below Kymo; NULL: nowhere, or it is gone. */
	void *(*read)(void *data, uint32_t index);
	/*
	 * Makes it lead to `*head`, which is to be read under a lock of the source's own: of two
	 * threads that come at once the later value has to stay.
	 */
	void (*store)(void *data, uint32_t index, void *_Atomic *head);
};

/*
 * A table that is ready to be called through; `info` is copied, but for its handle. Tools are told
 * before this returns. 0: no memory, tools will not hear of it.
 */
uint64_t intercept_add(const kymo_table_info_t *info, const struct intercept_source *source,
		       void *data);

/* The table goes: its entries lead to their functions again, then tools are told. */
void intercept_gone(uint64_t table);

/* Whether `function` is what the entry led to before it was chained. */
bool intercept_leads_to(uint64_t table, uint32_t index, const void *function);

#endif
