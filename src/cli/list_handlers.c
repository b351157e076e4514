/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list handlers` and `kymo list lanes`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/list_output.h"
#include "handlers/handlers.h"

/* ---- handlers ---------------------------------------------------------------------------------- */

static int run_handlers(int argc, char **argv)
{
	struct list_output o;

	if (argc)
		return cli_usage("list", "list handlers takes nothing, not \"%s\"", argv[0]);
	list_begin(&o, "handlers", "Handlers of records of kernels",
		   (const char *const[]){"handler", "looks_at", "about", NULL},
		   (const unsigned[]){11, 10});
	for (uint32_t i = 0; handlers_at(i); i++) {
		const kymo_handler_t *h = handlers_at(i);

		LIST_ROW(&o, h->name, h->wants & KYMO_HANDLER_BLOCKS ? "blocks" : "accesses",
			 h->description);
	}
	return list_end(&o);
}

extern const struct list list_handlers;
const struct list list_handlers = {"handlers",
				   "What can look at records of kernels (`kymo run --handlers`)",
				   run_handlers, NULL};

/* ---- devices in lockstep ----------------------------------------------------------------------- */

/* As a file that --lanes takes. */
static int print_lanes(const char *name)
{
	const kymo_lanes_profile_t *p = lanes_profile_of((uint32_t)strtoul(name, NULL, 10));
	char text[LANES_TEXT];

	if (!p || (strcmp(name, "32") != 0 && strcmp(name, "64") != 0))
		return cli_usage("list", "list lanes has 32 and 64, not \"%s\"", name);
	lanes_profile_text(p, " = ", "\n", text);
	fputs(text, stdout);
	return CLI_OK;
}

static void put_lanes(struct list_output *o, const kymo_lanes_profile_t *p)
{
	char warp[12], line[12], banks[12], bank[12], together[40];

	snprintf(warp, sizeof(warp), "%u", p->warp);
	snprintf(line, sizeof(line), "%u", p->line);
	snprintf(banks, sizeof(banks), "%u", p->banks);
	snprintf(bank, sizeof(bank), "%u", p->bank);
	snprintf(together, sizeof(together), "%u,%u,%u", p->together[0], p->together[1],
		 p->together[2]);
	LIST_ROW(o, warp, line, banks, bank, together);
}

static int run_lanes(int argc, char **argv)
{
	struct list_output o;

	if (argc > 1)
		return cli_usage("list", "list lanes takes 32 or 64, not \"%s\" too", argv[1]);
	if (argc)
		return print_lanes(argv[0]);
	list_begin(&o, "lanes", "Devices in lockstep",
		   (const char *const[]){"warp", "line", "banks", "bank", "together", NULL},
		   (const unsigned[]){5, 5, 6, 5});
	for (uint32_t i = 0; lanes_profile_at(i); i++)
		put_lanes(&o, lanes_profile_at(i));
	return list_end(&o);
}

extern const struct list list_lanes;
const struct list list_lanes = {
	"lanes", "Devices in lockstep that `kymo run --lanes` knows; `list lanes 32`: as a file",
	run_lanes, NULL};
