/* SPDX-License-Identifier: Apache-2.0 */
/* A tool in a library of its own that closes itself, and detaches itself, in a callback. */
#include <dlfcn.h>
#include <stdlib.h>

#include <kymo/tool.h>

KYMO_EXPORT int unloader_calls, unloader_ends, unloader_detach;
static const kymo_tool_t *self;

static void seen(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	Dl_info info;
	void *library;

	unloader_calls++;
	if (r->phase != KYMO_PHASE_ENTER || !dladdr((void *)(uintptr_t)seen, &info))
		return;
	library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	dlclose(library);
	dlclose(library); /* one more than it opened: the program's reference */
	if (unloader_detach)
		kymo_tool_detach(self);
}

static kymo_status_t initialize(void *data)
{
	kymo_context_t c;

	if (kymo_context_create(&c) != KYMO_OK)
		return KYMO_ERROR_STATE;
	kymo_callback_service(c, NULL, seen, NULL);
	return kymo_context_start(c);
}

static void finalize(void *data)
{
	unloader_ends++;
}

KYMO_EXPORT const kymo_tool_t *unloader_configure(uint32_t version, const char *library,
						  uint32_t priority);

const kymo_tool_t *unloader_configure(uint32_t version, const char *library, uint32_t priority)
{
	static const kymo_tool_t tool = {.size = sizeof(tool),
					 .name = "unloader",
					 .initialize = initialize,
					 .finalize = finalize};

	return self = &tool;
}
