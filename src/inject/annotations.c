/* SPDX-License-Identifier: Apache-2.0 */
/* Domains of annotations that are recorded: --annotations and --exclude-annotations. */
#include "inject/annotations.h"

#include "core/marker/choose.h"
#include "recorder/parts.h"

static struct recorder_patterns only, but;
static struct patterns included, excluded;

static bool wanted(const char *domain)
{
	return (!only.count || patterns_match(&included, domain)) &&
	       !patterns_match(&excluded, domain);
}

void annotations_choose(struct recorder_patterns include, struct recorder_patterns exclude)
{
	only = include;
	but = exclude;
	if ((only.count || but.count) && patterns_compile(&included, &only) == KYMO_OK &&
	    patterns_compile(&excluded, &but) == KYMO_OK)
		kymo_marker_choose(wanted);
}
