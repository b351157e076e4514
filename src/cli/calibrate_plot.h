/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline of `kymo calibrate --plot`. */
#ifndef CLI_CALIBRATE_PLOT_H
#define CLI_CALIBRATE_PLOT_H

#include "roofs/roofs.h"

/* "-": as text; else a picture in a file, of the form that its ending names. CLI_USAGE: there is none like that. */
int calibrate_plot_check(const char *output);

/* The exit status. */
int calibrate_plot(const struct roofs *r, const char *output, bool dark, bool force);

#endif
