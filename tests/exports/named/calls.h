/* SPDX-License-Identifier: Apache-2.0 */
/* A program that counts the calls which it makes: CALL(function)(arguments ...), then calls_print(). */
#ifndef TESTS_EXPORTS_NAMED_CALLS_H
#define TESTS_EXPORTS_NAMED_CALLS_H

#include <stdio.h>
#include <string.h>

static struct {
	const char *name;
	unsigned count;
} calls_made[64];

static inline void calls_count(const char *name)
{
	unsigned i = 0;

	while (calls_made[i].name && strcmp(calls_made[i].name, name) != 0)
		i++;
	calls_made[i].name = name;
	calls_made[i].count++;
}

static inline void calls_print(void)
{
	for (unsigned i = 0; calls_made[i].name; i++)
		printf("call %s %u\n", calls_made[i].name, calls_made[i].count);
	fflush(stdout);
}

#define CALL(function) (calls_count(#function), function)

#endif
