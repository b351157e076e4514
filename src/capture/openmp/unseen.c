/* SPDX-License-Identifier: Apache-2.0 */
/* OpenMP that was used and whose runtime has another tool. */
#include <stdlib.h>
#include <string.h>

#include "core/process/unseen.h"

/* One in the process, or the user's own in the list before ours, which may be gone by now. */
static bool has_other_tool(void)
{
	static const char *const runtimes[] = {"libomp.", "libiomp5.", "libkymo", NULL};
	const char *list = getenv("OMP_TOOL_LIBRARIES"),
		   *ours = list ? strstr(list, "/libkymo") : NULL;

	return cap_is_elsewhere("ompt_start_tool", runtimes) ||
	       (ours && memchr(list, ':', (size_t)(ours - list)));
}

static bool look(void)
{
	static const char *const nothing[] = {NULL};

	return cap_is_elsewhere("__kmpc_fork_call", nothing) && has_other_tool();
}

CAP_UNSEEN(openmp) = {
	"openmp", look,
	"an OpenMP runtime was loaded whose only place for a tool (OMPT) another tool has"};
