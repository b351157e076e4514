/* SPDX-License-Identifier: Apache-2.0 */
/* Writes over a count in the memory that it shares with the drain, as a program that has gone wrong. Ends with 0. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <kymo/marker.h>

#include "wire/shm.h"

int main(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	struct shm_header *h = NULL;
	unsigned long from;
	char line[512];

	kymo_mark("recorded");
	while (maps && !h && fgets(line, sizeof(line), maps))
		if (strstr(line, "/memfd:kymo") && sscanf(line, "%lx", &from) == 1 &&
		    ((struct shm_header *)from)->magic == SHM_MAGIC)
			h = (struct shm_header *)from;
	if (!h)
		return 77;
	atomic_store(&h->lost_records, UINT64_MAX);
	return 0;
}
