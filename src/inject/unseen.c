/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks backends, when the process ends, for runtimes that were used and could not be entered, so that
 * nobody is told that the program used none.
 */
#include "base/unseen.h"

#include <stdlib.h>

#include "base/run_options.h"
#include "base/variables.h"
#include "core/process/unseen.h"

static bool is_wanted(const char *domain)
{
	return knob_list_has(run_options_values.backends, domain);
}

static void note_unseen(const char *domain, const char *text)
{
	unseen_tell(variable("KYMO_TRACE"), domain, text);
}

static void note_all_unseen(void)
{
	const char *trace = variable("KYMO_TRACE");

	if (trace && *trace)
		kymo_unseen_look(is_wanted, note_unseen);
}

/* Exit handlers run while all libraries are still there. */
__attribute__((constructor)) static void register_at_exit(void)
{
	atexit(note_all_unseen);
}
