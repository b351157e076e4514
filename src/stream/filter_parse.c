/* SPDX-License-Identifier: Apache-2.0 */
/* What users write to choose records, but for times: patterns, executions of ranges. */
#include <stdlib.h>
#include <string.h>

#include "stream/filter_parts.h"

kymo_status_t pattern_compile(struct pattern *p, const char *text, const char *what,
			      struct stream_log *log)
{
	char why[256];

	if (!text)
		return KYMO_OK;
	if (!text_regex_bearable(text, why, sizeof(why))) {
		stream_error(log, "%s \"%s\" %s", what, text, why);
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	if (regcomp(&p->regex, text, REG_EXTENDED | REG_NOSUB)) {
		regerror(regcomp(&p->regex, text, REG_EXTENDED | REG_NOSUB), &p->regex, why,
			 sizeof(why));
		stream_error(log, "%s \"%s\" is not a regular expression: %s", what, text, why);
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	p->text = text;
	p->set = true;
	return KYMO_OK;
}

void pattern_release(struct pattern *p)
{
	if (p->set)
		regfree(&p->regex);
	p->set = false;
}

/* ---- ranges -------------------------------------------------------------------------------- */

static kymo_status_t bad_numbers(const char *what, const char *text, struct stream_log *log)
{
	stream_error(log,
		     "%s \"%s\": after # come the numbers of executions, the first one is 1: "
		     "NAME#5, NAME#100-110 or NAME#1,3",
		     what, text);
	return KYMO_ERROR_INVALID_ARGUMENT;
}

kymo_status_t range_parse(struct range_spec *r, const char *text, const char *what,
			  struct stream_log *log)
{
	if (!*text) {
		stream_error(log, "%s: which range? Give its name", what);
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	r->text = strdup(text);
	r->name = strdup(text);
	if (!r->text || !r->name)
		return KYMO_ERROR_NO_MEMORY;
	if (!numbers_cut(r->name, &r->numbers))
		return bad_numbers(what, r->text, log);
	/* A name need not be a pattern: then it can only be itself. */
	if (text_regex_bearable(r->name, NULL, 0))
		r->pattern.set = regcomp(&r->pattern.regex, r->name, REG_EXTENDED | REG_NOSUB) == 0;
	r->pattern.text = r->name;
	return KYMO_OK;
}

void range_release(struct range_spec *r)
{
	pattern_release(&r->pattern);
	free(r->text);
	free(r->name);
	free(r->numbers.at);
	*r = (struct range_spec){0};
}
