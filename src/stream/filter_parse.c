/* SPDX-License-Identifier: Apache-2.0 */
/* What users write to choose records, but for times: patterns, lists of numbers, executions of ranges. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
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
	p->set = true;
	return KYMO_OK;
}

void pattern_release(struct pattern *p)
{
	if (p->set)
		regfree(&p->regex);
	p->set = false;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static bool parse_number(const char **s, uint64_t *out)
{
	char *end;

	errno = 0;
	if (**s < '0' || **s > '9')
		return false;
	*out = strtoull(*s, &end, 10);
	*s = end;
	return errno == 0;
}

bool numbers_parse(struct number_list *l, const char *text)
{
	const char *s = text;

	do {
		struct number_span n;

		if (!parse_number(&s, &n.first))
			return false;
		n.last = n.first;
		if (*s == '-') {
			s++;
			if (!parse_number(&s, &n.last) || n.last < n.first)
				return false;
		}
		if (!vec_reserve(&l->at, &l->room, l->count, 1))
			return false;
		l->at[l->count++] = n;
	} while (*s == ',' && *++s);
	return *s == '\0';
}

bool numbers_have(const struct number_list *l, uint64_t n)
{
	for (uint32_t i = 0; i < l->count; i++)
		if (n >= l->at[i].first && n <= l->at[i].last)
			return true;
	return false;
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

static bool all_of(const char *s, const char *of)
{
	return *s && s[strspn(s, of)] == '\0';
}

/* Names may have # and numbers in them ("ProfilerStep#5"): which is meant tells the trace. */
static kymo_status_t parse_numbers_of(struct range_spec *r, const char *what,
				      struct stream_log *log)
{
	char *hash = strrchr(r->name, '#');

	if (!hash || !all_of(hash + 1, "0123456789-,"))
		return KYMO_OK;
	if (!numbers_parse(&r->numbers, hash + 1) || numbers_have(&r->numbers, 0) ||
	    hash == r->name)
		return bad_numbers(what, r->text, log);
	*hash = '\0';
	return KYMO_OK;
}

kymo_status_t range_parse(struct range_spec *r, const char *text, const char *what,
			  struct stream_log *log)
{
	kymo_status_t status;

	if (!*text) {
		stream_error(log, "%s: which range? Give its name", what);
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	r->text = strdup(text);
	r->name = strdup(text);
	if (!r->text || !r->name)
		return KYMO_ERROR_NO_MEMORY;
	status = parse_numbers_of(r, what, log);
	/* A name need not be a pattern: then it can only be itself. */
	if (status == KYMO_OK && text_regex_bearable(r->name, NULL, 0))
		r->pattern.set = regcomp(&r->pattern.regex, r->name, REG_EXTENDED | REG_NOSUB) == 0;
	return status;
}

void range_release(struct range_spec *r)
{
	pattern_release(&r->pattern);
	free(r->text);
	free(r->name);
	free(r->numbers.at);
	*r = (struct range_spec){0};
}
