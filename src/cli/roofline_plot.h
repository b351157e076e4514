/* SPDX-License-Identifier: Apache-2.0 */
/* Rooflines as text or pictures: of `kymo calibrate --plot`, and with kernels of `kymo kernels --roofline`. */
#ifndef CLI_ROOFLINE_PLOT_H
#define CLI_ROOFLINE_PLOT_H

#include "roofs/roofline.h"
#include "roofs/roofs.h"

struct roofline_plot {
	const char *output; /* "-": as text; else a file, of the form that its ending names */
	bool dark, force;
	const struct roofline_point *points; /* of kernels; may be none */
	unsigned count;
};

/* CLI_USAGE: there is no form like that. `option`: of whose value it is. */
int roofline_plot_check(const char *command, const char *option, const char *output);

/* The exit status. */
int roofline_plot(const struct roofs *r, const struct roofline_plot *p);

#endif
