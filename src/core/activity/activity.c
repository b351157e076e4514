/* SPDX-License-Identifier: Apache-2.0 */
/* The activity domains that core itself has; their descriptions are in the record model (model). */
#include "core/activity/activity.h"

#include "core/context/context.h"

#define DEFINE(name, short, count, bit)                                                            \
	struct cap_op core_##short##_ops[count];                                                   \
	static const struct cap_domain_info name##_info = {RECORD_DESCRIPTION(name),               \
							   .ops = core_##short##_ops};
RECORD_BUILTIN_DOMAINS(DEFINE)

void core_activities_register(void)
{
#define REGISTER(name, short, count, bit) core_domain_add_builtin(&name##_info, CAP_ACTIVITY_##bit);
	RECORD_BUILTIN_DOMAINS(REGISTER)
}
