/* SPDX-License-Identifier: Apache-2.0 */
/* What users write to choose records, but for times: patterns, executions of ranges. */
#include <stdlib.h>
#include <string.h>

#include "base/patterns.h"
#include "base/vec.h"
#include "stream/filter_parts.h"

static bool line_compile(struct pattern_line *l, bool numbered)
{
	return l->text && l->name && (!numbered || numbers_cut(l->name, &l->numbers)) &&
	       regcomp(&l->regex, l->name, REG_EXTENDED | REG_NOSUB) == 0;
}

static void line_release(struct pattern_line *l)
{
	free(l->text);
	free(l->name);
	free(l->numbers.at);
}

static kymo_status_t compile(struct pattern *p, const char *text, bool numbered, const char *what,
			     struct stream_log *log)
{
	char why[300];

	if (!text)
		return KYMO_OK;
	if (!patterns_check(text, numbered, why, sizeof(why))) {
		stream_error(log, "%s: %s", what, why);
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	p->text = text;
	p->set = true;
	for (const char *s = text; s;) {
		struct pattern_line l = {.text = patterns_next(&s)};

		l.name = l.text ? strdup(l.text) : NULL;
		if (!vec_reserve(&p->lines, &p->room, p->count, 1) || !line_compile(&l, numbered)) {
			line_release(&l);
			return KYMO_ERROR_NO_MEMORY; /* all else is checked */
		}
		p->lines[p->count++] = l;
	}
	return KYMO_OK;
}

kymo_status_t pattern_compile(struct pattern *p, const char *text, const char *what,
			      struct stream_log *log)
{
	return compile(p, text, false, what, log);
}

kymo_status_t pattern_compile_kernels(struct pattern *p, const char *text, const char *what,
				      struct stream_log *log)
{
	return compile(p, text, true, what, log);
}

bool pattern_matches(const struct pattern *p, const char *text)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (pattern_line_matches(&p->lines[i], text))
			return true;
	return false;
}

void pattern_release(struct pattern *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		regfree(&p->lines[i].regex);
		line_release(&p->lines[i]);
	}
	free(p->lines);
	*p = (struct pattern){0};
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
	char why[300];

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
	if (patterns_check(r->name, false, why, sizeof(why)))
		return pattern_compile(&r->pattern, r->name, what, log);
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
