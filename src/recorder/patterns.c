/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of regular expressions; see parts.h. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/parts.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all */

kymo_status_t patterns_compile(struct patterns *p, const struct recorder_patterns *given)
{
	if (!given->count)
		return KYMO_OK;
	p->regex = calloc(given->count, sizeof(*p->regex));
	if (!p->regex)
		return KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; i < given->count; i++)
		if (regcomp(&p->regex[i], given->at[i].name, REG_EXTENDED | REG_NOSUB) != 0)
			return KYMO_ERROR_INVALID_ARGUMENT;
	p->given = given;
	return KYMO_OK;
}

bool patterns_one(const struct patterns *p, uint32_t i, const char *name)
{
	bool yes;

	if (strcmp(p->given->at[i].name, name) == 0)
		return true;
	pthread_mutex_lock(&lock);
	yes = regexec(&p->regex[i], name, 0, NULL, 0) == 0;
	pthread_mutex_unlock(&lock);
	return yes;
}

bool patterns_match(const struct patterns *p, const char *name)
{
	for (uint32_t i = 0; p->given && i < p->given->count; i++)
		if (patterns_one(p, i, name))
			return true;
	return false;
}

void patterns_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
}
