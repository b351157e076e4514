/* SPDX-License-Identifier: Apache-2.0 */
/* See brought.h. */
#include "core/process/brought.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/variables.h"
#include "core/define/define.h"
#include "core/process/life.h"
#include "core/process/process.h"
#include "core/ring/ring.h"

void kymo_variables_bring(const char *words)
{
	static bool before;

	variables_bring(words);
	if (before)
		core_overhead_anew();
	before = true;
	core_usage_begin();
	if (core_usable())
		core_define_anew();
}

uint32_t kymo_attach_enter(void)
{
	syscall(SYS_prctl, PR_SET_NAME, "kymo-enter", 0, 0, 0);
	core_life_enter();
	return (uint32_t)syscall(SYS_gettid);
}

void kymo_attach_entered(uint32_t tid)
{
	core_life_forget(tid);
}

void kymo_attach_modules(void)
{
	if (core_usable())
		core_define_modules();
}
