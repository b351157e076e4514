/* SPDX-License-Identifier: Apache-2.0 */
/* Presets: configuration files for `kymo run` that come with Kymo, or are put beside them. */
#ifndef CLI_PRESETS_H
#define CLI_PRESETS_H

#include <limits.h>
#include <stdbool.h>

#include "base/knob.h"

/*
 * The file of a preset: `name` itself if it has a slash in it, else NAME.conf in the first folder that has it: the
 * user's, the machine's, Kymo's own. False: `error` says which there are.
 */
bool preset_find(const char *name, char path[PATH_MAX], char error[KNOB_ERROR_MAX]);

#endif
