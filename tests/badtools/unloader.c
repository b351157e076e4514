/* SPDX-License-Identifier: Apache-2.0 */
/* A tool in a library of its own that closes itself, and detaches itself, in a callback. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#include <kymo/tool.h>

KYMO_EXPORT int unloader_calls, unloader_ends, unloader_detach;
static const kymo_tool_t *self;

/* A thread that goes on when the tool is gone: it says that it is in, and stays until it may go. */
KYMO_EXPORT _Atomic int
	*unloader_thread; /* 1: it is to be made; 2: it is in; 3: it may go; 4: it has */

static void thread(void *data)
{
	_Atomic int *state = data;
	const struct timespec pause = {0, 1000000};

	*state = 2;
	while (*state != 3)
		nanosleep(&pause, NULL);
	*state = 4;
}

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

	if (unloader_thread) /* and no callback, which would close the library */
		return kymo_thread_start("left", thread, (void *)(uintptr_t)unloader_thread);
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
