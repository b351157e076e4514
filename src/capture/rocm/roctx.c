/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ROCTx annotations besides their calls: each becomes what it is in any other language of markers,
 * under the domain "roctx", so that ranges are scopes and readers need not know ROCTx.
 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/rocm/models.h"
#include "core/marker/marker.h"

#define OPEN_MAX 1024u /* ranges started and not stopped; more are recorded as calls only */

static kymo_string_t domain = KYMO_STRING("roctx");

/* ROCTx's numbers of open ranges and ours. A place is free, or being changed, or holds a pair. */
#define FREE     0ull
#define CHANGING UINT64_MAX
static struct {
	_Atomic uint64_t theirs;
	uint64_t ours;
} open_ranges[OPEN_MAX];

bool rocm_roctx_needed(const char *op)
{
	if (strncmp(op, "roctxName", 9) == 0)
		return true;
	for (unsigned i = 0; i < MARKER_OPS; i++)
		if (atomic_load(&marker_ops[i].callbacks) || atomic_load(&marker_ops[i].buffers))
			return true;
	return false;
}

static const char *text(const struct table_call *c)
{
	return (const char *)(uintptr_t)c->gp[0];
}

static bool succeeded(const struct table_call *c)
{
	return (int32_t)c->result[0] >= 0;
}

static kymo_marker_t marker(const struct table_call *c)
{
	return (kymo_marker_t){.size = sizeof(kymo_marker_t), .name = text(c), .domain = &domain};
}

void rocm_after_roctxMarkA(const struct table_call *call)
{
	kymo_marker_t m = marker(call);

	kymo_mark_full(&m);
}

void rocm_after_roctxRangePushA(const struct table_call *call)
{
	kymo_marker_t m = marker(call);

	if (succeeded(call))
		kymo_range_push_full(&m);
}

void rocm_after_roctxRangePop(const struct table_call *call)
{
	if (succeeded(call))
		kymo_range_pop_domain(&domain);
}

static void open_add(uint64_t theirs, uint64_t ours)
{
	for (uint32_t i = 0; i < OPEN_MAX; i++) {
		uint64_t expected = FREE;

		if (!atomic_compare_exchange_strong(&open_ranges[i].theirs, &expected, CHANGING))
			continue;
		open_ranges[i].ours = ours;
		atomic_store(&open_ranges[i].theirs, theirs);
		return;
	}
}

/* 0: not open. */
static uint64_t open_remove(uint64_t theirs)
{
	for (uint32_t i = 0; i < OPEN_MAX; i++) {
		uint64_t expected = theirs, ours;

		if (!atomic_compare_exchange_strong(&open_ranges[i].theirs, &expected, CHANGING))
			continue;
		ours = open_ranges[i].ours;
		atomic_store(&open_ranges[i].theirs, FREE);
		return ours;
	}
	return 0;
}

static bool number_valid(uint64_t theirs)
{
	return theirs != FREE && theirs != CHANGING;
}

void rocm_after_roctxRangeStartA(const struct table_call *call)
{
	kymo_marker_t m = marker(call);
	uint64_t ours = number_valid(call->result[0]) ? kymo_range_start_full(&m) : 0;

	if (ours)
		open_add(call->result[0], ours);
}

void rocm_after_roctxRangeStop(const struct table_call *call)
{
	uint64_t ours = number_valid(call->gp[0]) ? open_remove(call->gp[0]) : 0;

	if (ours)
		kymo_range_stop(ours);
}

/* Another thread's pause cannot be passed on: markers are spoken by the thread they are about. */
static void control(const struct table_call *c, kymo_control_t all, kymo_control_t thread)
{
	if (c->gp[0] == 0)
		kymo_control(all);
	else if (c->gp[0] == (uint64_t)syscall(SYS_gettid))
		kymo_control(thread);
}

void rocm_after_roctxProfilerPause(const struct table_call *call)
{
	control(call, KYMO_PAUSE_ALL, KYMO_PAUSE_THREAD);
}

void rocm_after_roctxProfilerResume(const struct table_call *call)
{
	control(call, KYMO_RESUME_ALL, KYMO_RESUME_THREAD);
}

void rocm_after_roctxNameOsThread(const struct table_call *call)
{
	kymo_name(KYMO_OBJECT_THREAD, "roctx", 0, text(call));
}

void rocm_after_roctxNameHsaAgent(const struct table_call *call)
{
	const uint64_t *agent = (const uint64_t *)(uintptr_t)call->gp[1];

	if (agent)
		kymo_name(KYMO_OBJECT_DEVICE, "hsa", *agent, text(call));
}

void rocm_after_roctxNameHipDevice(const struct table_call *call)
{
	kymo_name(KYMO_OBJECT_DEVICE, "hip", (uint32_t)call->gp[1], text(call));
}

void rocm_after_roctxNameHipStream(const struct table_call *call)
{
	kymo_name(KYMO_OBJECT_QUEUE, "hip", call->gp[1], text(call));
}
