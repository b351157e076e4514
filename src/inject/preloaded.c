/* SPDX-License-Identifier: Apache-2.0 */
/* The preloaded library: the recorder starts when it is loaded. */
#include <errno.h>
#include <stddef.h>

#include "inject/inject.h"
#include "inject/limits.h"

__attribute__((constructor)) static void on_load(void)
{
	int saved = errno;

	if (inject_start(NULL) == KYMO_OK)
		limits_look();
	errno = saved;
}
