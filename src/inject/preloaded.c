/* SPDX-License-Identifier: Apache-2.0 */
/* The preloaded library: the recorder starts when it is loaded. */
#include <errno.h>
#include <stddef.h>

#include "inject/connect.h"
#include "inject/inject.h"
#include "inject/limits.h"

__attribute__((constructor)) static void on_load(void)
{
	int saved = errno;
	kymo_status_t status = inject_start(NULL);

	if (status == KYMO_OK)
		limits_look();
	else if (status == KYMO_ERROR_UNSUPPORTED) /* without what core needs of the kernel */
		connect_unshared(ENOSYS, NULL);
	errno = saved;
}
