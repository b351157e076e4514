/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door for runtimes that register with libkymo-register.so.1: the functions that it looks for,
 * and a look, when this library is loaded, for tables that it has kept.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/elf.h"
#include "core/table/table.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT kymo_status_t kymo_register_take(const kymo_registration_t *registration, uint32_t instance,
					void **token);
EXPORT void kymo_register_return(void *token);

static struct table_model *model_of(const kymo_registration_t *r, uint32_t entries)
{
	return r->desc ? table_model_copy(r->desc) : table_model_unknown(r->name, entries);
}

static kymo_status_t take(const kymo_registration_t *r, uint32_t instance, void **token)
{
	struct table_part part = {.name = "the table", .instance = instance, .version = r->version};
	struct table_model *model;
	uint64_t number = 0;
	kymo_status_t status;
	size_t bytes;

	memcpy(&bytes, r->table, sizeof(bytes));
	part.entries = (void **)r->table + 1;
	part.count = (uint32_t)(bytes / sizeof(void *) - 1);
	model = model_of(r, part.count);
	if (!model)
		return KYMO_ERROR_INVALID_ARGUMENT;
	part.known = model->desc->op_count;
	status = table_take(model, &part, 1, &number);
	if (!model->borrowed)
		table_model_free(model);
	*token = (void *)(uintptr_t)number;
	return status;
}

kymo_status_t kymo_register_take(const kymo_registration_t *registration, uint32_t instance,
				 void **token)
{
	int saved = errno;
	kymo_status_t status = KYMO_ERROR_INVALID_ARGUMENT;

	if (registration && registration->size >= sizeof(*registration) && registration->table &&
	    registration->name && token)
		status = take(registration, instance, token);
	errno = saved;
	return status;
}

void kymo_register_return(void *token)
{
	int saved = errno;

	table_return((uint64_t)(uintptr_t)token);
	errno = saved;
}

/* Tables registered before this library was loaded. */
__attribute__((constructor)) static void attach(void)
{
	kymo_status_t (*function)(kymo_take_fn, kymo_return_fn);
	void *symbol;

	if (elf_find_everywhere("kymo_register_attach", &symbol, 1) == 0)
		return;
	memcpy(&function, &symbol, sizeof(function));
	function(kymo_register_take, kymo_register_return);
}
