/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels on the host's time line: each must lie between the call that submitted it and the moment
 * it was known to be complete, as far as the times are told to be right. Writes to the file
 * DEVICE_TIMES_OUT a line for each agent: kernels, those that do not, the largest error in ns.
 */
#include <kymo/kymo.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST   10000
#define CALLS  (1u << 22) /* ids are given to threads by the block */
#define AGENTS 64

static struct kernel {
	uint64_t correlation, start, duration, known;
	uint32_t agent;
} kernels[MOST];
static uint64_t entered[CALLS]; /* by id of the call */
static uint32_t kernel_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t field(const kymo_callback_record_t *r, const char *name)
{
	kymo_value_t v = {.size = sizeof(v)};
	uint32_t index;

	if (kymo_field_find(&r->domain->ops[r->op], name, &index) ||
	    kymo_callback_value(r, index, &v))
		return 0;
	return v.u;
}

static void called(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	if (r->phase == KYMO_PHASE_ENTER && r->correlation < CALLS)
		entered[r->correlation] = kymo_time();
}

static void completed(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	struct kernel k = {.correlation = field(r, "correlation"),
			   .start = field(r, "start"),
			   .duration = field(r, "duration"),
			   .known = kymo_time(),
			   .agent = (uint32_t)field(r, "agent")};

	pthread_mutex_lock(&lock);
	if (kernel_count < MOST && !field(r, "untimed"))
		kernels[kernel_count++] = k;
	pthread_mutex_unlock(&lock);
}

static kymo_status_t start(void *data)
{
	kymo_selection_t calls = {.size = sizeof(calls), .domain = "opencl"};
	kymo_selection_t work = {.size = sizeof(work), .domain = "dispatch"};
	kymo_context_t c;
	kymo_status_t s = kymo_context_create(&c);

	s = s ? s : kymo_callback_service(c, &calls, called, NULL);
	s = s ? s : kymo_callback_service(c, &work, completed, NULL);
	return s ? s : kymo_context_start(c);
}

static int fits(const struct kernel *k, uint64_t *error)
{
	uint64_t begin, end, e1 = 0, e2 = 0;

	if (kymo_clock_to_host(k->agent, k->start, &begin, &e1) ||
	    kymo_clock_to_host(k->agent, k->start + k->duration, &end, &e2))
		return 0;
	*error = e1 > e2 ? e1 : e2;
	return k->correlation < CALLS && entered[k->correlation] &&
	       begin + e1 >= entered[k->correlation] && end <= k->known + e2 && begin <= end;
}

static void finish(void *data)
{
	const char *path = getenv("DEVICE_TIMES_OUT");
	FILE *out = path ? fopen(path, "w") : NULL;

	for (uint32_t a = 1; out && a < AGENTS; a++) {
		uint64_t most = 0;
		unsigned all = 0, wrong = 0;

		for (uint32_t i = 0; i < kernel_count; i++) {
			uint64_t error = 0;

			if (kernels[i].agent != a)
				continue;
			all++;
			wrong += !fits(&kernels[i], &error);
			most = error > most ? error : most;
		}
		if (all)
			fprintf(out, "%u %u %llu\n", all, wrong, (unsigned long long)most);
	}
	if (out)
		fclose(out);
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t n);

const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t n)
{
	static const kymo_tool_t tool = {sizeof(tool), "device times", start, finish, NULL, NULL};

	return &tool;
}
