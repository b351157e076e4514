/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of each kind that CUDA has, released once, twice, or never. */
#include <string.h>

#include "calls.h"
#include "scenes.h"

/* CUPTI's numbers of functions; where the new object's address is among the arguments. */
static const struct kind {
	uint32_t make, release;
	unsigned at;
} kinds[] = {
	{124, 326, 0}, /* cuStreamCreate */
	{118, 325, 0}, /* cuEventCreate */
	{235, 322, 0}, /* cuCtxCreate */
	{19, 22, 0},   /* cuModuleLoadData */
	{678, 680, 0}, /* cuLibraryLoadData */
	{501, 517, 0}, /* cuGraphCreate */
	{643, 516, 0}, /* cuGraphInstantiateWithFlags */
	{607, 608, 0}, /* cuMemPoolCreate */
	{339, 340, 0}, /* cuTexObjectCreate */
	{343, 344, 0}, /* cuSurfObjectCreate */
	{381, 366, 3}, /* cuLinkCreate */
	{743, 744, 0}, /* cuGreenCtxCreate */
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds), INVALID_HANDLE = 400 };
enum { RT_STREAM_CREATE = 129, RT_STREAM_DESTROY = 201, WORDS = 8 };

static void prepare(struct fake_call *c, uint64_t *words, const struct kind *k, uint64_t *handle)
{
	memset(words, 0, WORDS * sizeof(*words));
	words[k->at] = (uintptr_t)handle;
	*c = (struct fake_call){.domain = DRIVER,
				.cbid = k->make,
				.params = words,
				.correlation = fake_correlation(),
				.context_id = 1};
}

static void make(const struct kind *k, uint64_t handle)
{
	uint64_t words[WORDS];
	struct fake_call c;

	prepare(&c, words, k, &handle);
	fake_enter(&c);
	fake_leave(&c, 0);
}

static void release(const struct kind *k, uint64_t handle, int32_t result)
{
	whole(DRIVER, k->release, &handle, result);
}

/* One that the runtime makes of the driver's, and releases so. */
static void of_runtime(uint64_t handle, bool stays)
{
	uint64_t *out = &handle, words[WORDS];
	struct fake_call outer = {.domain = RUNTIME,
				  .cbid = RT_STREAM_CREATE,
				  .params = &out,
				  .correlation = fake_correlation(),
				  .context_id = 1},
			 inner;

	fake_enter(&outer);
	prepare(&inner, words, &kinds[0], &handle);
	inner.correlation = outer.correlation;
	fake_enter(&inner);
	fake_leave(&inner, 0);
	fake_leave(&outer, 0);
	if (stays)
		return;
	begin(&outer, RUNTIME, RT_STREAM_DESTROY, &handle, fake_correlation());
	begin(&inner, DRIVER, kinds[0].release, &handle, outer.correlation);
	fake_leave(&inner, 0);
	fake_leave(&outer, 0);
}

void objects(bool leaks)
{
	fake_context(1);
	for (unsigned i = 0; i < KINDS; i++) {
		const uint64_t handle = 0x10000 * (i + 1ull);

		make(&kinds[i], handle);
		release(&kinds[i], handle, 0);
		release(&kinds[i], handle, INVALID_HANDLE);
		if (!leaks)
			continue;
		make(&kinds[i], handle + 8);
		make(&kinds[i], handle); /* the address is another's now */
	}
	of_runtime(0xff0000, false);
	if (leaks)
		of_runtime(0xff0000, true);
}
