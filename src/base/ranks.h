/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of ranks as users write them: "0-3,7". */
#ifndef BASE_RANKS_H
#define BASE_RANKS_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers and ranges from low to high, comma separated, no spaces. */
bool ranks_valid(const char *list);

/* A NULL list holds every rank. The list is valid. */
bool ranks_have(const char *list, uint32_t rank);

/* How many of the ranks 0 to size - 1 it holds. */
uint32_t ranks_count(const char *list, uint32_t size);

/* The lowest; 0 of a NULL list. */
uint32_t ranks_first(const char *list);

#endif
