/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of time that repeat; see period.h. */
#include "base/period.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/knob.h"

/* Below that windows would be of the time that beginning and ending one takes. */
#define LEAST_NS 1000000u

static bool refuse(char *why, size_t size, const char *text, const char *what)
{
	snprintf(why, size, "\"%.100s\" %s", text, what);
	return false;
}

static bool repeat_parse(uint64_t *out, const char *s)
{
	char *end;

	errno = 0;
	*out = strtoull(s, &end, 10);
	return isdigit((unsigned char)*s) && !*end && !errno;
}

bool period_parse(struct period *p, const char *text, char *why, size_t size)
{
	char copy[120], *duration, *repeat;

	*p = (struct period){0};
	snprintf(copy, sizeof(copy), "%s", text);
	duration = strchr(copy, ':');
	repeat = duration ? strchr(duration + 1, ':') : NULL;
	if (!duration || strlen(text) >= sizeof(copy))
		return refuse(why, size, text, "is not DELAY:DURATION[:REPEAT], as in 10s:2s:5");
	*duration++ = '\0';
	if (repeat)
		*repeat++ = '\0';
	if (!knob_duration(&p->delay_ns, copy))
		return refuse(why, size, text, "begins with no duration such as 1.5, 20ms or 3m");
	if (!knob_duration(&p->duration_ns, duration))
		return refuse(why, size, text,
			      "has no duration such as 1.5, 20ms or 3m after the colon");
	if (repeat && !repeat_parse(&p->repeat, repeat))
		return refuse(why, size, text,
			      "ends with no number of windows; 0 or none: until the end");
	if (p->duration_ns < LEAST_NS)
		return refuse(why, size, text, "records for less than 1ms at a time");
	if (p->delay_ns && p->delay_ns < LEAST_NS)
		return refuse(why, size, text, "pauses for less than 1ms at a time");
	return true;
}
