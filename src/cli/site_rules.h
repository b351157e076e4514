/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of a site, as `kymo diagnose` and `kymo list rules` find them. */
#ifndef CLI_SITE_RULES_H
#define CLI_SITE_RULES_H

#include "analysis/site_rules.h"
#include "base/knob.h"

/*
 * Those of the folder `named`, or, where that is NULL, of the one that the environment, the configuration or else the default
 * names. False: what is wrong is in `error`, or has been told where that is "".
 */
bool cli_site_rules(const char *named, struct site_rules *out, char error[KNOB_ERROR_MAX]);

#endif
