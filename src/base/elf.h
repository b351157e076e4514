/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking symbols up in the objects of this process by reading their tables. Unlike dlsym() this
 * takes no lock that a constructor of another thread may hold while it waits for us.
 */
#ifndef BASE_ELF_H
#define BASE_ELF_H

#include <stdint.h>

/* Definitions of the function `name` in all loaded objects, in load order; at most `most`. */
unsigned elf_find_everywhere(const char *name, void **out, unsigned most);

/* Changes whenever an object was loaded. */
uint64_t elf_objects_loaded(void);

#endif
