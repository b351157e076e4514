/* SPDX-License-Identifier: Apache-2.0 */
/* libfabric that was asked for, and of which the program opened nothing. */
#include <stdlib.h>
#include <string.h>

#include "core/process/unseen.h"

static bool look(void)
{
	static const char *const door[] = {"libkymo", NULL};
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "/libkymo-libfabric.so") &&
	       cap_is_elsewhere("fi_fabric", door);
}

CAP_UNSEEN(libfabric) = {
	"libfabric", look,
	"libfabric was loaded, and nothing was opened with it: it is recorded from fi_fabric() on, "
	"fi_getinfo() and the like are not"};
