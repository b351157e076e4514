/* SPDX-License-Identifier: Apache-2.0 */
/* See numbers.h. */
#include "base/numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

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

static bool all_of(const char *s, const char *of)
{
	return *s && s[strspn(s, of)] == '\0';
}

bool numbers_cut(char *name, struct number_list *l)
{
	char *hash = strrchr(name, '#');

	if (!hash || !all_of(hash + 1, "0123456789-,"))
		return true;
	if (!numbers_parse(l, hash + 1) || numbers_have(l, 0) || hash == name)
		return false;
	*hash = '\0';
	return true;
}
