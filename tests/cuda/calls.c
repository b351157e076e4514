/* SPDX-License-Identifier: Apache-2.0 */
/* See calls.h. */
#include <stdlib.h>

#include "calls.h"

uint32_t context_id = 1;
_Thread_local const char *symbol;

size_t by_version(size_t v13, size_t v12, size_t v11)
{
	const char *v = getenv("FAKE_VERSION");
	int n = v ? atoi(v) : 130001;

	return n >= 130000 ? v13 : n >= 19 ? v12 : v11;
}

void begin(struct fake_call *c, int domain, uint32_t cbid, const void *params, uint32_t correlation)
{
	*c = (struct fake_call){.domain = domain,
				.cbid = cbid,
				.params = params,
				.correlation = correlation,
				.context_id = context_id,
				.symbol = symbol};
	fake_enter(c);
}

void whole(int domain, uint32_t cbid, const void *params, int32_t result)
{
	struct fake_call c;

	begin(&c, domain, cbid, params, fake_correlation());
	fake_leave(&c, result);
}

void launch_as(uint32_t correlation, const char *name, void *stream, unsigned blocks)
{
	struct launch p = {name, {blocks, 1, 1}, {256, 1, 1}, NULL, 48, stream};
	struct driver_launch d = {(void *)name, {blocks, 1, 1}, {256, 1, 1}, 48,
				  stream,       NULL,           NULL};
	struct fake_call outer, inner;

	symbol = name;
	begin(&outer, RUNTIME, RT_LAUNCH, &p, correlation);
	begin(&inner, DRIVER, CU_LAUNCH, &d, correlation);
	fake_leave(&inner, 0);
	fake_leave(&outer, 0);
	symbol = NULL;
}

uint32_t launch(const char *name, void *stream, unsigned blocks)
{
	uint32_t correlation = fake_correlation();

	launch_as(correlation, name, stream, blocks);
	return correlation;
}

void ran(const char *name, uint32_t correlation, uint64_t start, uint64_t end, uint32_t stream,
	 unsigned blocks)
{
	struct kernel k = {.kind = fake_kind(3) ? 3 : 10,
			   .registers = 32,
			   .start = start,
			   .end = end,
			   .context = 1,
			   .stream = stream,
			   .grid = {(int)blocks, 1, 1},
			   .block = {256, 1, 1},
			   .shared = {16, 48},
			   .local = {8, 0},
			   .correlation = correlation,
			   .name = name,
			   .cluster = {2, 1, 1}};

	fake_record(&k, by_version(216, 208, 200));
}

void now_ran(const char *name, uint32_t correlation)
{
	uint64_t now = fake_now();

	ran(name, correlation, now, now + 10, 7, 1);
}

void copied(uint32_t correlation, uint32_t graph, uint64_t node)
{
	struct memcpy_record m = {.kind = 1,
				  .what = {1, 1, 3},
				  .bytes = 4096,
				  .context = 1,
				  .stream = 7,
				  .correlation = correlation,
				  .graph = graph,
				  .node = node,
				  .start = fake_now()};

	m.end = m.start + 100;
	fake_record(&m, by_version(96, 88, 88));
}

void copies(void)
{
	struct {
		void *to;
		const void *from;
		size_t count;
		int kind;
	} p = {(void *)0x7f0000001000, &p, 1 << 20, 1};
	struct memcpy_record m = {
		.kind = 1, .what = {1, 1, 3}, .bytes = 1 << 20, .context = 1, .stream = 7};
	struct memset_record s = {
		.kind = 2, .bytes = 4096, .context = 1, .stream = 7, .memory = 3, .flags = 1};
	struct {
		uint64_t to;
		unsigned char value;
		size_t n;
	} q = {0x7f0000001000, 1, 4096};
	struct fake_call c;

	m.correlation = fake_correlation();
	begin(&c, RUNTIME, RT_MEMCPY, &p, m.correlation);
	m.start = fake_now();
	m.end = m.start + 1000;
	fake_leave(&c, 0);
	fake_record(&m, by_version(96, 88, 88));
	s.correlation = fake_correlation();
	begin(&c, DRIVER, CU_MEMSET, &q, s.correlation);
	fake_leave(&c, 0);
	s.start = fake_now();
	s.end = s.start + 500;
	fake_record(&s, by_version(88, 88, 88));
}

void *make_stream(int priority)
{
	void *stream = (void *)0x500d;
	struct {
		void **stream;
		unsigned flags;
		int priority;
	} p = {&stream, 1, priority};

	whole(DRIVER, CU_STREAM_CREATE_PRIORITY, &p, 0);
	return stream;
}

void many(unsigned count)
{
	fake_context(1);
	for (unsigned i = 0; i < count; i++) {
		uint64_t now = fake_now();

		ran("empty", launch("empty", NULL, 1), now, now + 1000, 7, 1);
		if (i % 1000 == 999)
			fake_deliver();
	}
	fake_deliver();
}

void direct(const char *name)
{
	struct driver_launch d = {(void *)name, {1, 1, 1}, {1, 1, 1}, 0, NULL, NULL, NULL};
	struct fake_call c;
	uint32_t correlation = fake_correlation();

	begin(&c, DRIVER, CU_LAUNCH, &d, correlation);
	fake_leave(&c, 0);
	ran(name, correlation, fake_now(), fake_now() + 10, 7, 1);
}

void kernels(const char *name, int count)
{
	for (int i = 0; i < count; i++)
		ran(name, launch(name, NULL, 1), fake_now(), fake_now() + 10, 7, 1);
}
