/* SPDX-License-Identifier: Apache-2.0 */
/* Words for numbers; see names.h. */
#include "stream/names.h"

#include <stdio.h>
#include <string.h>

#include "record/value.h"
#include "wire/raw.h"

const char *name_memory_kind(uint32_t kind)
{
	return record_value_name(RECORD_SET_memory_kind, kind);
}

const char *name_allocation_what(uint32_t what)
{
	return what ? record_value_name(RECORD_SET_allocation_what, what) : "memory";
}

const char *name_untimed(uint32_t reason)
{
	return record_value_name(RECORD_SET_untimed_reason, reason);
}

const char *name_migration_cause(uint32_t cause)
{
	return record_value_name(RECORD_SET_migration_cause, cause);
}

const char *name_stack_end(uint64_t end)
{
	return end && end <= UINT32_MAX ? record_value_name(RECORD_SET_stack_end, (uint32_t)end)
					: NULL;
}

uint64_t stack_end_named(const char *name)
{
	for (uint32_t i = STACK_OUTERMOST; name && i <= STACK_REPLACED; i++)
		if (strcmp(name, name_stack_end(i)) == 0)
			return i;
	return STACK_UNKNOWN;
}

const char *name_process_end(const struct t_process *p, char *out, size_t size)
{
	if (p->file_state)
		return p->file_state == FILE_MISSING
			       ? "its file is missing: what it recorded is lost"
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
