/* SPDX-License-Identifier: Apache-2.0 */
/* See rest.h. Samplers and those who listen to `kymo ctl` rest; threads of tools, and those that end with device work, do not. */
#include "core/process/rest.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/context/context.h"
#include "core/process/life.h"
#include "core/process/process.h"

enum { SETS = _LINUX_CAPABILITY_U32S_3 };

static bool rights_of(uint32_t tid, struct __user_cap_data_struct rights[SETS])
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, (int)tid};

	memset(rights, 0, SETS * sizeof(*rights));
	return syscall(SYS_capget, &header, rights) == 0;
}

/* A thread that has ended meanwhile has no rights that differ. */
static bool differs(uint32_t tid, void *data)
{
	struct __user_cap_data_struct rights[SETS];

	return rights_of(tid, rights) && memcmp(rights, data, sizeof(rights)) != 0;
}

static bool is_needed(enum rest when)
{
	struct __user_cap_data_struct mine[SETS];

	return when == REST_ALWAYS ? core_life_any()
				   : rights_of(0, mine) && core_life_find(differs, mine);
}

__attribute__((visibility("default"))) bool kymo_process_rest(enum rest when)
{
	const int saved = errno;
	/* Children have no such threads before they use Kymo, those of vfork() have their parent's memory. */
	const bool rests = core_live && core_generation == (uint32_t)getpid() &&
			   kymo_process_state() == KYMO_STATE_RUNNING && !core_life_here() &&
			   is_needed(when) && core_life_alone();

	if (rests) {
		cap_guard_enter();
		core_domains_rest(true);
		core_steer_rest(true);
		core_life_await_gone();
		cap_guard_leave();
	}
	errno = saved;
	return rests;
}

/* The user as whom the process was loaded, who is the drain's: others are not let in (drain/door.c). */
static uid_t first_user;

__attribute__((constructor)) static void find_user(void)
{
	first_user = geteuid();
}

/* Once is enough: what comes after is not recorded either way. A child of vfork() has its parent's memory. */
__attribute__((visibility("default"))) void kymo_process_user(void)
{
	static bool told;
	const int saved = errno;

	if (!told && geteuid() != first_user && core_usable() &&
	    core_generation == (uint32_t)getpid() && kymo_process_state() == KYMO_STATE_RUNNING) {
		told = true;
		cap_note(1, "process",
			 "it runs as user %u now: children and programs that it starts cannot "
			 "reach the recording of user %u and are not in it; `kymo run` as that "
			 "user records them",
			 (unsigned)geteuid(), (unsigned)first_user);
	}
	errno = saved;
}

__attribute__((visibility("default"))) void kymo_process_rise(void)
{
	const int saved = errno;

	cap_guard_enter();
	core_steer_rest(false);
	core_domains_rest(false);
	cap_guard_leave();
	errno = saved;
}
