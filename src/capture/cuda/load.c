/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's functions. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "capture/cuda/cupti_find.h"
#include "capture/cuda/backend.h"

struct cupti cupti;
void *cuda_library;

static bool symbol(void *library, const char *name, void *out)
{
	void *at = dlsym(library, name);

	memcpy(out, &at, sizeof(at));
	return at != NULL;
}

static const char *resolve_functions(void *library)
{
#define FUNCTION(name, args)                                                                       \
	if (!symbol(library, "cupti" #name, &cupti.name))                                          \
		return "cupti" #name;
	CUPTI_FUNCTIONS(FUNCTION)
#undef FUNCTION
#define FUNCTION(name, args) symbol(library, "cupti" #name, &cupti.name);
	CUPTI_FUNCTIONS_LATER(FUNCTION)
#undef FUNCTION
	return NULL;
}

bool cuda_load(char *why, size_t size)
{
	struct cupti_found s;
	const char *missing;

	cupti_find(&s);
	if (!s.library) {
		snprintf(why, size,
			 "CUPTI was not found (libcupti.so.13 or .12): not beside the program's "
			 "CUDA, in CUDA_HOME or /usr/local/cuda, nor by the loader; set KYMO_CUPTI "
			 "to its path");
		return false;
	}
	missing = resolve_functions(s.library);
	cuda_library = s.library;
	if (missing) {
		snprintf(why, size, "%.200s lacks %s: it is too old (11.8 or later is needed)",
			 s.path, missing);
		return false;
	}
	if (cupti.GetVersion(&cupti.version) != CUPTI_OK || cupti.version < CUPTI_VERSION_MIN) {
		snprintf(why, size, "%.200s is of version %u: %u (CUDA 11.8) or later is needed",
			 s.path, cupti.version, (unsigned)CUPTI_VERSION_MIN);
		return false;
	}
	return true;
}
