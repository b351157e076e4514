/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL that was used and could not be entered. */
#include <stddef.h>

#include "core/process/unseen.h"

static bool look(void)
{
	static const char *const loaders[] = {"libOpenCL.", "libkymo", NULL};

	return cap_is_elsewhere("clGetExtensionFunctionAddress", loaders);
}

CAP_UNSEEN(opencl) = {
	"opencl", look,
	"a library with OpenCL's functions was loaded, such as a driver, but not through a loader "
	"that Kymo can enter: the loader is linked into the program (statically), or knows no "
	"layers"};
