/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo list plots`. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/list_output.h"
#ifdef KYMO_HAVE_PAGE
#include "page/plot.h"
#endif

static int run(int argc, char **argv)
{
	struct list_output o;

	if (argc)
		return cli_usage("list", "list plots takes nothing, not \"%s\"", argv[0]);
	list_begin(&o, "plots", "Plots", (const char *const[]){"plot", "title", "about", NULL},
		   (const unsigned[]){11, 24});
#ifdef KYMO_HAVE_PAGE
	for (unsigned i = 0; i < plots_count; i++)
		LIST_ROW(&o, plots[i]->name, plots[i]->title, plots[i]->about);
#endif
	return list_end(&o);
}

extern const struct list list_plots;
const struct list list_plots = {"plots", "Pictures that `kymo report --plot` draws", run, NULL};
