/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a program is made of: itself and the libraries it is linked with, as its loader finds them. */
#ifndef FUNCTIONS_MODULES_H
#define FUNCTIONS_MODULES_H

#include <stdbool.h>
#include <stdint.h>

struct modules {
	char **paths; /* the program first */
	uint32_t count, room;
};

/* Asks the loader that the program names (ld.so --list; nothing of the program runs). False: no memory. */
bool modules_find(struct modules *m, const char *program);
/* Adds a file if it is not there. False: no memory. */
bool modules_add(struct modules *m, const char *path);
void modules_release(struct modules *m);

#endif
