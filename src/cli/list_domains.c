/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kymo list domains` and `kymo list ops`: what can be recorded, as the library that is loaded into
 * programs describes it.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <kymo/tool.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/list_output.h"
#include "launch/launch.h"

typedef __typeof__(kymo_domains_known) known_fn;

static int each_domain(kymo_domain_fn callback, void *data)
{
	char path[PATH_MAX];
	known_fn *known;
	void *library;

	launch_path(cli_libdir(), "libkymo.so.1", path);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		cli_error("%s cannot be loaded: %s", path, dlerror());
		return CLI_FAILURE;
	}
	known = (known_fn *)dlsym(library, "kymo_domains_known");
	if (!known) {
		cli_error("%s is of another version", path);
		return CLI_FAILURE;
	}
	return known(callback, data) == KYMO_OK ? CLI_OK : CLI_FAILURE;
}

/* Calls, unless all are activities: those have records of their own in every mode. */
static bool has_calls(const kymo_domain_desc_t *d)
{
	for (uint32_t i = 0; i < d->op_count; i++)
		if (!(d->ops[i].flags & (KYMO_OP_ACTIVITY | KYMO_OP_OBJECT)))
			return true;
	return false;
}

static kymo_status_t print_domain(const kymo_domain_desc_t *d, void *data)
{
	char count[16];

	snprintf(count, sizeof(count), list_format() == REPORT_TEXT ? "%5u" : "%u", d->op_count);
	LIST_ROW(data, d->name, count, has_calls(d) ? "calls" : "activities", d->title);
	return KYMO_OK;
}

static int run_domains(int argc, char **argv)
{
	struct list_output o;
	int result, printed;

	if (argc)
		return cli_usage("list", "list domains takes no operand, not \"%s\"", argv[0]);
	list_begin(&o, "domains", "Domains",
		   (const char *const[]){"name", "operations", "kind", "description", NULL},
		   (const unsigned[]){14, 5, 10});
	result = each_domain(print_domain, &o);
	printed = list_end(&o);
	return result == CLI_OK ? printed : result;
}

const struct list list_domains = {"domains", "Domains of what is recorded: APIs and activities",
				  run_domains, NULL};

/* ---- operations ------------------------------------------------------------------------------ */

struct wanted {
	const char *domain; /* NULL: all */
	bool found;
	struct text names;
	struct list_output out;
};

/* From which mode on it is recorded, if nothing else is said. */
static const char *mode_of(const kymo_op_desc_t *op)
{
	return op->flags & KYMO_OP_OBJECT     ? "tools"
	       : op->flags & KYMO_OP_ACTIVITY ? "always"
	       : op->flags & KYMO_OP_MINIMAL  ? "minimal"
	       : op->flags & KYMO_OP_CHATTY   ? "full"
					      : "default";
}

static kymo_status_t print_ops(const kymo_domain_desc_t *d, void *data)
{
	struct wanted *w = data;

	text_addf(&w->names, "%s%s", w->names.length ? ", " : "", d->name);
	if (w->domain && strcmp(w->domain, d->name) != 0)
		return KYMO_OK;
	w->found = true;
	for (uint32_t i = 0; i < d->op_count; i++) {
		const kymo_op_desc_t *op = &d->ops[i];

		struct text call = {0};

		text_addf(&call, "%s(", op->name);
		for (uint32_t k = 0; k < op->field_count; k++)
			text_addf(&call, "%s%s", k ? ", " : "", op->fields[k].name);
		text_add(&call, ")");
		LIST_ROW(&w->out, d->name, mode_of(op), call.s);
		text_release(&call);
	}
	return KYMO_OK;
}

static int run_ops(int argc, char **argv)
{
	struct wanted w = {.domain = argc ? argv[0] : NULL};
	int result, printed;

	if (argc > 1)
		return cli_usage("list", "list ops takes one domain, not \"%s\" too", argv[1]);
	list_begin(&w.out, "ops", "Operations",
		   (const char *const[]){"domain", "mode", "operation", NULL},
		   (const unsigned[]){14, 8});
	result = each_domain(print_ops, &w);
	if (result == CLI_OK && !w.found) {
		cli_error("there is no domain \"%s\"; there are %s", w.domain, w.names.s);
		result = CLI_USAGE;
		report_release(&w.out.report);
	} else {
		printed = list_end(&w.out);
		result = result == CLI_OK ? printed : result;
	}
	text_release(&w.names);
	return result;
}

const struct list list_ops = {
	"ops", "Operations of a domain, or of all: from which mode on they are recorded, arguments",
	run_ops, "[DOMAIN]"};
