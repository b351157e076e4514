/* SPDX-License-Identifier: Apache-2.0 */
/* A tool that counts calls by name; TOOL_NESTED names a library that it loads when it begins. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/register.h>
#include <kymo/tool.h>

#include "tool_count.h"

#define NAMES 64

static struct {
	const char *domain, *op;
	_Atomic uint64_t enters, exits, sum;
} counts[NAMES];
static _Atomic int used;
static atomic_flag lock = ATOMIC_FLAG_INIT;

static int find(const char *domain, const char *op, int add)
{
	int i, n = atomic_load(&used);

	for (i = 0; i < n; i++)
		if (strcmp(counts[i].domain, domain) == 0 && strcmp(counts[i].op, op) == 0)
			return i;
	if (!add || n == NAMES)
		return -1;
	while (atomic_flag_test_and_set(&lock))
		;
	n = atomic_load(&used);
	for (i = 0; i < n; i++)
		if (strcmp(counts[i].domain, domain) == 0 && strcmp(counts[i].op, op) == 0)
			break;
	if (i == n) {
		counts[n].domain = domain;
		counts[n].op = op;
		atomic_store(&used, n + 1);
	}
	atomic_flag_clear(&lock);
	return i;
}

static void seen(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	int i = find(r->domain->name, r->domain->ops[r->op].name, 1);
	const kymo_table_args_t *args = r->args;

	if (i < 0)
		return;
	if (r->phase == KYMO_PHASE_ENTER) {
		atomic_fetch_add(&counts[i].enters, 1);
		return;
	}
	atomic_fetch_add(&counts[i].exits, 1);
	if (args && args->size > sizeof(size_t))
		atomic_fetch_add(&counts[i].sum, args->value[0]);
}

uint64_t tool_count(const char *domain, const char *op)
{
	int i = find(domain, op, 0);

	if (i < 0 || atomic_load(&counts[i].enters) != atomic_load(&counts[i].exits))
		return i < 0 ? 0 : UINT64_MAX;
	return atomic_load(&counts[i].exits);
}

uint64_t tool_sum(const char *domain, const char *op)
{
	int i = find(domain, op, 0);

	return i < 0 ? 0 : atomic_load(&counts[i].sum);
}

static kymo_status_t initialize(void *data)
{
	const char *nested = getenv("TOOL_NESTED");
	kymo_context_t context;
	kymo_status_t status = kymo_context_create(&context);

	if (nested)
		dlopen(nested, RTLD_NOW | RTLD_GLOBAL);
	if (status == KYMO_OK)
		status = kymo_callback_service(context, NULL, seen, NULL);
	return status == KYMO_OK ? kymo_context_start(context) : status;
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library_version,
					      uint32_t priority);

const kymo_tool_t *kymo_configure(uint32_t version, const char *library_version, uint32_t priority)
{
	static const kymo_tool_t tool = {
		.size = sizeof(tool), .name = "count", .initialize = initialize};

	return &tool;
}
