/* SPDX-License-Identifier: Apache-2.0 */
/* The domain "function": an op for each function of the plan. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/variables.h"
#include "capture/function/function.h"

struct plan function_plan;
struct cap_op *function_ops;
uint64_t function_least;

static kymo_domain_desc_t desc;
static struct cap_domain_info info = {
	.desc = &desc, .flush = function_tell, .fork_child = function_modules_fork_child};
static struct cap_domain *domain;

static bool describe(uint32_t count)
{
	kymo_op_desc_t *ops = calloc(count, sizeof(*ops));

	function_ops = calloc(count, sizeof(*function_ops));
	if (!ops || !function_ops) {
		free(ops);
		free(function_ops);
		function_ops = NULL;
		return false;
	}
	for (uint32_t i = 0; i < count; i++)
		ops[i].name = plan_string(&function_plan, function_plan.functions[i].name);
	desc = (kymo_domain_desc_t){sizeof(desc), "function", "Functions", 1, count, ops};
	info.ops = function_ops;
	return true;
}

/* Ticks of the nanoseconds that the launcher left in the environment. */
static uint64_t least(void)
{
	const char *text = variable("KYMO_FUNCTIONS_MIN");
	double ns = text ? strtod(text, NULL) : 0;

	return ns > 0 && ns < 1e18 ? (uint64_t)(ns * (double)tick_rate() / 1e9) : 0;
}

bool function_describe(void)
{
	kymo_status_t status;

	if (!function_plan_join(&function_plan, function_plan_open(&function_plan)) ||
	    !function_plan.function_count)
		return false;
	tick_init();
	cap_handlers_init();
	function_least = least();
	if (!describe((uint32_t)function_plan.function_count)) {
		cap_note(2, "function", "functions are not traced: there is no memory for them");
		return false;
	}
	status = cap_domain_register(&info, &domain);
	if (status != KYMO_OK)
		cap_note(2, "function",
			 "functions are not traced: their domain cannot be made (%d)", (int)status);
	return status == KYMO_OK;
}
