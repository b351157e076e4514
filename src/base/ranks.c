/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of ranks; see ranks.h. */
#include "base/ranks.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/job.h"

static bool number(const char **p, uint32_t *out)
{
	unsigned long v;
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	v = strtoul(*p, &end, 10);
	*p = end;
	*out = (uint32_t)v;
	return errno == 0 && v < JOB_UNKNOWN;
}

/* The next range of a list; false at its end and where it is wrong: then **p is not '\0'. */
static bool next_range(const char **p, uint32_t *low, uint32_t *high)
{
	const char *at = *p;

	if (!number(&at, low))
		return false;
	*high = *low;
	if (*at == '-') {
		at++;
		if (!number(&at, high))
			return false;
	}
	if (*high < *low || (*at && *at != ',') || (*at == ',' && !at[1]))
		return false;
	*p = at + (*at == ',');
	return true;
}

bool ranks_valid(const char *list)
{
	uint32_t low, high;

	if (!*list)
		return false;
	while (next_range(&list, &low, &high))
		;
	return *list == '\0';
}

bool ranks_have(const char *list, uint32_t rank)
{
	uint32_t low, high;

	if (!list)
		return true;
	while (next_range(&list, &low, &high))
		if (rank >= low && rank <= high)
			return true;
	return false;
}

uint32_t ranks_count(const char *list, uint32_t size)
{
	uint32_t n = 0;

	if (!list)
		return size;
	for (uint32_t rank = 0; rank < size; rank++)
		n += ranks_have(list, rank);
	return n;
}

uint32_t ranks_first(const char *list)
{
	uint32_t low, high, first = JOB_UNKNOWN;

	if (!list)
		return 0;
	while (next_range(&list, &low, &high))
		first = low < first ? low : first;
	return first;
}
