/* SPDX-License-Identifier: Apache-2.0 */
/* Words for numbers; see names.h. */
#include "stream/names.h"

#include <stdio.h>
#include <string.h>

#include "wire/raw.h"

#define PICK(table, i) ((i) < sizeof(table) / sizeof((table)[0]) && (table)[i] ? (table)[i] : "?")

const char *name_memory_kind(uint32_t kind)
{
	static const char *const names[] = {
		[MEMORY_UNKNOWN] = "unknown", [MEMORY_HOST_PAGEABLE] = "pageable",
		[MEMORY_HOST_PINNED] = "pinned", [MEMORY_DEVICE] = "device",
		[MEMORY_MANAGED] = "managed", [MEMORY_SHARED] = "shared"};

	return PICK(names, kind);
}

const char *name_allocation_what(uint32_t what)
{
	static const char *const names[] = {
		[0] = "memory", [ALLOCATION_BUFFER] = "buffer",
		[ALLOCATION_SUB_BUFFER] = "sub-buffer", [ALLOCATION_IMAGE] = "image",
		[ALLOCATION_PIPE] = "pipe", [ALLOCATION_SVM] = "svm", [ALLOCATION_USM] = "usm",
		[ALLOCATION_POOL] = "pool", [ALLOCATION_PHYSICAL] = "physical",
		[ALLOCATION_REGISTERED] = "registered"};

	return PICK(names, what);
}

const char *name_untimed(uint32_t reason)
{
	static const char *const names[] = {
		[UNTIMED_NO] = "no", [UNTIMED_NO_PROFILING] = "no profiling queue",
		[UNTIMED_FAILED] = "command failed", [UNTIMED_LOST] = "never completed",
		[UNTIMED_QUERY] = "query refused", [UNTIMED_MODE] = "not asked for",
		[UNTIMED_NONE] = "no time reported", [UNTIMED_IMPOSSIBLE] = "impossible time",
		[UNTIMED_NO_TIMER] = "no device timer",
		[UNTIMED_IN_BUFFER] = "in a command buffer"};

	return PICK(names, reason);
}

const char *name_migration_cause(uint32_t cause)
{
	static const char *const names[] = {
		[MIGRATION_UNKNOWN] = "unknown", [MIGRATION_USER] = "user",
		[MIGRATION_COHERENCE] = "coherence", [MIGRATION_PREFETCH] = "prefetch",
		[MIGRATION_EVICTION] = "eviction",
		[MIGRATION_ACCESS_COUNTERS] = "access counters"};

	return PICK(names, cause);
}

const char *name_process_end(const struct t_process *p, char *out, size_t size)
{
	if (p->file_state)
		return p->file_state == FILE_MISSING ? "its file is missing: what it recorded is lost"
						     : "its file cannot be read: what it recorded is lost";
	switch (p->how_ended) {
	case 0:
		if (p->exit_status < 0)
			return "ended normally";
		snprintf(out, size, "exited with status %d", p->exit_status);
		return out;
	case 1:
		snprintf(out, size, "exited without finalisation (status %d)", p->exit_status);
		return p->exit_status < 0 ? "exited without finalisation" : out;
	case 2:
		snprintf(out, size, "killed by signal %d", p->exit_status);
		return p->exit_status < 0 ? "killed by a signal" : out;
	case 3:
		return "replaced by exec";
	case 4:
		return "still running when the recording stopped";
	case RAW_END_REFUSED:
		snprintf(out, size, "could not be recorded: %s",
			 p->exit_status > 0 ? strerror(p->exit_status) : "it was not in order");
		return out;
	default:
		if (!p->recording)
			return "its end is missing";
		snprintf(out, size, "still recording (last data %.1f s ago)",
			 (double)p->quiet_ns / 1e9);
		return out;
	}
}

const char *name_program(const struct t_process *p)
{
	const char *slash = strrchr(p->exe, '/');

	if (p->name && p->name[0])
		return p->name;
	return slash ? slash + 1 : p->exe;
}

const char *name_thread(const struct t_thread *t, char *out, size_t size)
{
	if (t->name[0])
		return t->name;
	snprintf(out, size, "%u", t->tid);
	return out;
}
