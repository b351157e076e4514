/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the numbers in activity records and process ends, the same in every output. */
#ifndef STREAM_NAMES_H
#define STREAM_NAMES_H

#include "record/fields.h"
#include "stream/stream.h"

/* "device", "pageable", ...; "?" for values this version does not know. */
const char *name_memory_kind(uint32_t kind);
const char *name_allocation_what(uint32_t what);
const char *name_untimed(uint32_t reason);
const char *name_migration_cause(uint32_t cause);
/* NULL: not told. */
const char *name_stack_end(uint64_t end);
/* 0: not told. */
uint64_t stack_end_named(const char *name);

/* "exited with status 0", "killed by signal 9", "still running or lost", ... into `out`. */
const char *name_process_end(const struct t_process *p, char *out, size_t size);

/* File name of the executable, without its folder. */
const char *name_program(const struct t_process *p);

/* "worker", or "4243" for a thread without name; borrowed from the trace or `out`. */
const char *name_thread(const struct t_thread *t, char *out, size_t size);

#endif
