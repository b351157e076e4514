/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands before the calls that a process of one thread may do and one with threads of Kymo's may not
 * (core/process/rest.h): new namespaces, and the change of users and groups by a thread that has other rights than Kymo's.
 * Who has another user afterwards is told of in the trace: nobody hears of its children.
 */
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "core/process/rest.h"

#define EXPORT __attribute__((visibility("default")))

/*
 * A function of the name `what` that does as the next one of that name, after a rest if there is to be one, and `then`. What is next
 * is looked up while that is allowed; before, by who comes early.
 */
#define STAND_BEFORE(what, parameters, arguments, when, then)                                      \
	static int(*next_##what) parameters;                                                       \
                                                                                                   \
	__attribute__((constructor(102))) static void find_##what(void)                            \
	{                                                                                          \
		void *symbol = dlsym(RTLD_NEXT, #what);                                            \
                                                                                                   \
		memcpy(&next_##what, &symbol, sizeof(symbol));                                     \
	}                                                                                          \
                                                                                                   \
	EXPORT int what parameters                                                                 \
	{                                                                                          \
		int result;                                                                        \
		bool rested;                                                                       \
                                                                                                   \
		if (!next_##what)                                                                  \
			find_##what();                                                             \
		if (!next_##what) {                                                                \
			errno = ENOSYS;                                                            \
			return -1;                                                                 \
		}                                                                                  \
		rested = (when) >= 0 && kymo_process_rest((enum rest)(when));                      \
		result = next_##what arguments;                                                    \
		if (rested)                                                                        \
			kymo_process_rise();                                                       \
		if (result == 0)                                                                   \
			then;                                                                      \
		return result;                                                                     \
	}

#define NEVER (-1)
#define ALONE (CLONE_NEWUSER | CLONE_VM | CLONE_SIGHAND | CLONE_THREAD)

STAND_BEFORE(unshare, (int flags), (flags), flags &ALONE ? (int)REST_ALWAYS : NEVER, (void)0)
STAND_BEFORE(setns, (int fd, int type), (fd, type), REST_ALWAYS, (void)0)
STAND_BEFORE(setuid, (uid_t u), (u), REST_IF_RIGHTS_DIFFER, kymo_process_user())
STAND_BEFORE(seteuid, (uid_t u), (u), REST_IF_RIGHTS_DIFFER, kymo_process_user())
STAND_BEFORE(setreuid, (uid_t r, uid_t e), (r, e), REST_IF_RIGHTS_DIFFER, kymo_process_user())
STAND_BEFORE(setresuid, (uid_t r, uid_t e, uid_t s), (r, e, s), REST_IF_RIGHTS_DIFFER,
	     kymo_process_user())
STAND_BEFORE(setgid, (gid_t g), (g), REST_IF_RIGHTS_DIFFER, (void)0)
STAND_BEFORE(setegid, (gid_t g), (g), REST_IF_RIGHTS_DIFFER, (void)0)
STAND_BEFORE(setregid, (gid_t r, gid_t e), (r, e), REST_IF_RIGHTS_DIFFER, (void)0)
STAND_BEFORE(setresgid, (gid_t r, gid_t e, gid_t s), (r, e, s), REST_IF_RIGHTS_DIFFER, (void)0)
STAND_BEFORE(setgroups, (size_t n, const gid_t *list), (n, list), REST_IF_RIGHTS_DIFFER, (void)0)
STAND_BEFORE(initgroups, (const char *user, gid_t g), (user, g), REST_IF_RIGHTS_DIFFER, (void)0)
