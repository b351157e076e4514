/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose instructions are counted, said to the fake. The first argument chooses the scene. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "fake_profile.h"

static const char hot[] = "_Z3hotPfi", cold[] = "_Z4coldPf";

static uint32_t launch_with(unsigned context, void *handle, uint64_t crc, const char *name,
			    uint64_t warps, int32_t result)
{
	struct {
		void *f;
		unsigned grid[3], block[3], shared;
		void *stream;
		void **params, **extra;
	} d = {(void *)(uintptr_t)name, {1, 1, 1}, {32, 1, 1}, 0, NULL, NULL, NULL};
	struct fake_call c = {DRIVER, CU_LAUNCH, &d, 0, fake_correlation(), context, 0, name};

	fake_enter(&c);
	if (result == 0)
		fake_sass(handle, crc, name, warps);
	fake_leave(&c, result);
	return c.correlation;
}

static uint32_t launch_of(void *handle, uint64_t crc, const char *name, uint64_t warps)
{
	return launch_with(1, handle, crc, name, warps, 0);
}

static void around(uint32_t cbid, bool capturing, void *inside, uint64_t warps)
{
	void *params[2] = {(void *)0x9, NULL};
	struct fake_call c = {DRIVER, cbid, params, 0, fake_correlation(), 1, 0, NULL};

	fake_enter(&c);
	fake_capture(capturing);
	if (inside)
		fake_sass(inside, 77, hot, warps);
	fake_leave(&c, 0);
}

static void *fifty(void *context)
{
	for (unsigned i = 0; i < 50; i++)
		launch_of(context, 77, hot, 3);
	return NULL;
}

static void threads(void *context)
{
	pthread_t t[4];

	for (unsigned i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, fifty, context);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "once";
	void *first, *second;

	fake_init();
	fake_resource(5, NULL, NULL);
	first = fake_context(1);
	fake_module(true);
	fake_module(false);
	if (strcmp(scene, "once") == 0) {
		now_ran(hot, launch_of(first, 77, hot, 10));
		now_ran(cold, launch_of(first, 78, cold, 7));
		fake_deliver();
	} else if (strcmp(scene, "many") ==
		   0) { /* of two devices, one name in two modules; one failed */
		second = fake_context(2);
		launch_of(first, 77, hot, 10);
		launch_of(first, 77, hot, 20);
		launch_of(first, 78, hot, 100);
		launch_with(2, second, 77, hot, 1000, 0);
		launch_with(1, first, 77, hot, 5, 700);
		launch_of(first, 78, cold, 7);
	} else if (strcmp(scene, "graph") == 0) {
		launch_of(first, 77, hot, 10);
		around(CU_GRAPH_LAUNCH, false, first, 40);
		around(CU_BEGIN_CAPTURE, true, NULL, 0);
		launch_of(first, 77, hot, 80);
		around(CU_END_CAPTURE, false, NULL, 0);
		launch_of(first, 77, hot, 20);
	} else if (strcmp(scene, "threads") == 0) {
		threads(first);
	}
	printf("patched %u concurrent %d serial %d\n", fake_sass_patched(), fake_kind(10),
	       fake_kind(3));
	return 0;
}
