/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking symbols up in the objects of this process by reading their tables. Unlike dlsym() this
 * takes no lock that a constructor of another thread may hold while it waits for us.
 *
 * It walks over the objects with dl_iterate_phdr(), whose callbacks have the loader's lock of the
 * list of objects: nothing in them may call dlopen(), dlsym(), dladdr() and the like, which wait for
 * another lock of the loader's; who has that (any thread in dlopen()) waits for the list
 * (tools/check/loader_lock.py).
 */
#ifndef BASE_ELF_H
#define BASE_ELF_H

#include <stdbool.h>
#include <stdint.h>

/* Called with the path of an object ("": the program itself), as the loader has it; under the lock. */
typedef bool (*elf_wanted_fn)(const char *path, const void *data);

/*
 * Definitions of the function `name` in the loaded objects that are wanted (NULL: all), in load
 * order; at most `most`. Of several versions it is the one that dlsym() gives.
 */
unsigned elf_find_in(elf_wanted_fn wanted, const void *data, const char *name, void **out,
		     unsigned most);

/* Definitions of the function `name` in all loaded objects, in load order; at most `most`. */
unsigned elf_find_everywhere(const char *name, void **out, unsigned most);

/* The first definition of `name` in load order, of a function or data, and how many bytes it has. False: there is none. */
bool elf_symbol(const char *name, void **at, uint64_t *size);

/* Changes whenever an object was loaded. */
uint64_t elf_objects_loaded(void);

#endif
