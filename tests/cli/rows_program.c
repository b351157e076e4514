/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations with many names: some differ in a number alone. See rows.py, which knows how often each comes.
 * With a number: so many names more.
 */
#include <stdio.h>
#include <stdlib.h>

#include <kymo/marker.h>

static void annotate(const char *name)
{
	kymo_range_push(name);
	kymo_mark(name);
	kymo_range_pop();
}

int main(int argc, char **argv)
{
	char name[32];

	for (int i = 0; i < 26; i += 2) {
		snprintf(name, sizeof(name), "%c%c", 'a' + i, 'a' + i);
		annotate(name);
	}
	for (int i = 1; i <= 3; i++) {
		snprintf(name, sizeof(name), "few %d", i);
		annotate(name);
	}
	for (int round = 0; round < 5; round++) {
		for (int i = 1; i <= 4; i++) {
			snprintf(name, sizeof(name), "many %d", i);
			annotate(name);
		}
	}
	for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--) {
		snprintf(name, sizeof(name), "range %d of many", i);
		annotate(name);
	}
	return 0;
}
