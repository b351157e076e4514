/* SPDX-License-Identifier: Apache-2.0 */
/* What the door and its generated part (tools/gen/gen_exports.py) know of each other. */
#ifndef CAPTURE_EXPORTS_DOOR_H
#define CAPTURE_EXPORTS_DOOR_H

#include <stdbool.h>
#include <stdint.h>

/* In bytes. Of libraries that are named thunks go through one piece of code for each library. */
#ifdef EXPORTS_NAMED
#define EXPORTS_THUNK_SIZE 16
#else
#define EXPORTS_THUNK_SIZE 32
#endif

#define EXPORTS_HIDDEN __attribute__((visibility("hidden")))

/* One library: its functions are numbers `first` on. */
struct exports_library {
	char domain[16];
	char prefix[16];   /* of all its functions' names */
	char files[2][24]; /* how the names of its files begin */
	uint16_t first, count;
};

extern const struct exports_library exports_libraries[] EXPORTS_HIDDEN;
extern const unsigned exports_library_count EXPORTS_HIDDEN;
extern const unsigned exports_count EXPORTS_HIDDEN;  /* of functions; by library, then by name */
extern const char exports_initials[] EXPORTS_HIDDEN; /* letters with which their names begin */
extern const char exports_names[] EXPORTS_HIDDEN;
extern const uint16_t exports_name_at[] EXPORTS_HIDDEN; /* by number: offset in the names */
/* By number: what says that it failed, 1 or -1; 0: NULL. */
extern const int8_t exports_absent[] EXPORTS_HIDDEN;
extern const char exports_thunks[] EXPORTS_HIDDEN; /* by number */
extern void *exports_entries[] EXPORTS_HIDDEN;     /* by number: where the thunk jumps */
extern void *exports_found[] EXPORTS_HIDDEN;       /* by number: the library's function */

/* The C library's; NULL until the first look. */
extern void *(*exports_next_dlsym)(void *handle, const char *name)EXPORTS_HIDDEN;
/* What the C library's dlsym() finds for this library; NULL if that is one of its own thunks. */
void *exports_symbol(void *handle, const char *name) EXPORTS_HIDDEN;
/* `name` in a loaded object whose file's name begins with `file`. */
void *exports_hunt(const char *file, const char *name) EXPORTS_HIDDEN;

/* ---- what the two doors differ in: cupti.c, named.c ---- */

enum { EXPORTS_LIBKYMO = 15 };

/* Where the code of a library lies, whose own calls are not recorded. By library, then of libkymo. */
struct exports_own {
	uintptr_t from, size;
};
extern struct exports_own exports_own[] EXPORTS_HIDDEN;

/* A library, of which `function` is one, is traced from now on. */
void door_opened(unsigned library, const void *function) EXPORTS_HIDDEN;
/* The caller is of the library that has `function`, and what it calls itself is not recorded. */
bool door_inner(const void *function, const void *caller) EXPORTS_HIDDEN;

/* Functions that are stood before without being traced; there may be none. */
bool cupti_has(const char *name) EXPORTS_HIDDEN;
/* dlsym() of one of them, for a caller in the process. */
void *cupti_dlsym(void *handle, const char *name, const void *caller) EXPORTS_HIDDEN;
/* Whether it is one of the door's own. */
bool cupti_is_thunk(const void *function) EXPORTS_HIDDEN;

#endif
