/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a backend has on the launcher's side: one constant structure in
 * src/capture/<folder>/launch.c, `kymo_launch_<folder>`, compiled into the command line alone and
 * found from backends.list. Every member but `domains` may be left out.
 */
#ifndef LAUNCH_LAUNCH_H
#define LAUNCH_LAUNCH_H

#include <limits.h>
#include <stdbool.h>

#include "base/run_options.h"
#include "base/text.h"

/* ---- the environment of a program (environment.c) ---- */

/* Libraries of Kymo's in LD_PRELOAD, in this order; those of one place in the order of
 * backends.list. */
enum launch_place {
	LAUNCH_LIBRARY, /* has the functions of libraries */
	LAUNCH_PROCESS, /* has the C library's */
	LAUNCH_RUNTIME, /* takes the place of a library of the runtime's */
	LAUNCH_LOADER,  /* has the functions of the runtime's loader */
	LAUNCH_PLACES
};

struct launch_environment {
	const struct run_options *options;
	const char *libdir;  /* of Kymo's libraries */
	const char *program; /* path of what will run */
	void (*warn)(const char *format, ...) __attribute__((format(printf, 1, 2)));

	char **words; /* the whole environment of the program */
	char **set;   /* what the launcher set, NULL terminated */
	unsigned count, set_count;

	/* What goes into LD_PRELOAD. */
	bool host; /* libkymo.so.1 itself: runtimes look for names that it has */
	struct text doors[LAUNCH_PLACES];
	struct text before;             /* stands before the first library of the user's ... */
	const char *const *before_what; /* ... whose file name begins with one of these */
};

bool launch_set(struct launch_environment *e, const char *name, const char *value);
/* What the user has set stays. */
bool launch_set_default(struct launch_environment *e, const char *name, const char *value);
void launch_unset(struct launch_environment *e, const char *name);

/* Path of a library of Kymo's, which may not be there, in the folder that has them. */
void launch_path(const char *libdir, const char *name, char path[PATH_MAX]);
/* Preloads it. False: it is not there. */
bool launch_preload(struct launch_environment *e, enum launch_place place, const char *name);
/* Preloads it behind the user's own, but before the first whose name begins so; one backend may. */
void launch_preload_before(struct launch_environment *e, const char *name,
			   const char *const *libraries);

/* Sets a list: `first`, then what the user has in it, less what a Kymo around this one has put
 * there. */
bool launch_set_list(struct launch_environment *e, const char *name, const char *first,
		     const char *separators);

/* One of the backend's domains is to be recorded. */
struct kymo_launch;
bool launch_wants(const struct launch_environment *e, const struct kymo_launch *l);
/* The user has named the domain: "all", "-mpi" and nothing name none. */
bool launch_names(const struct launch_environment *e, const char *domain);

/* ---- what is here (library.c) ---- */

/* Tries to load a library, in a process of its own and a bounded time. False: `why` says why not.
 */
bool launch_loads(const char *library, struct text *why);
/*
 * What `look` says, in a process of its own and a bounded time: it may load libraries. False too where
 * that process is ended by what it has loaded, whose messages nobody sees.
 */
bool launch_look(bool (*look)(void));
/* The first of the libraries (NULL terminated) that loads, or NULL. */
const char *launch_first_that_loads(const char *const *libraries);
/* The file has the text in it, as a program has the names of its libraries. */
bool launch_mentions(const char *path, const char *text);

/* ---- kymo doctor ---- */

enum launch_grade { LAUNCH_GOOD, LAUNCH_FAIR /* the text says why and what to do */, LAUNCH_BAD };

struct launch_doctor {
	const char *libdir;
	const char *root; /* put before paths of /proc */
	void (*say)(enum launch_grade grade, const char *what, const char *text);
};

/*
 * The order in which backends are told of; it says nothing of their worth. Annotations are told of
 * together, before those from LAUNCH_TOLD_LATER on.
 */
enum launch_told { LAUNCH_TOLD_LAST, LAUNCH_TOLD_FIRST, LAUNCH_TOLD_LATER = 100 };

/* ---- the structure ---- */

/* A variable that names a library which the runtime loads: libkymo.so.1. */
struct launch_tool {
	const char *variable; /* NULL: none */
	char separator; /* of a list of libraries, in which ours comes last; 0: there is room for
			   one */
};

struct kymo_launch {
	const char *const *domains; /* as in backends.list, NULL terminated */
	/*
	 * Called before LD_PRELOAD is set, whatever is to be recorded: launch_preload() and the
	 * like, variables of loaders. False: no memory.
	 */
	bool (*doors)(struct launch_environment *e, const struct kymo_launch *self);
	struct launch_tool tool;
	/* Likewise, when LD_PRELOAD and the tools are set: further variables. */
	bool (*environment)(struct launch_environment *e, const struct kymo_launch *self);
	/* Parts of the words that `doors` puts into lists, but for libkymo's own. NULL terminated.
	 */
	const char *const *own;
	const struct knob_variable
		*variables; /* that mean something to the backend; ends with a name of NULL */

	void (*doctor)(const struct launch_doctor *d);
	unsigned told;          /* see enum launch_told; unlike in all backends */
	const char *annotation; /* title, if it is an interface of annotations */
	unsigned annotation_told;
	/* Nothing was recorded: what this machine lacks, each as "; there is no ...". */
	void (*absent)(struct text *out);
	/* Nothing was recorded: whether the program has what cannot be recorded. */
	void (*unused)(const char *program,
		       void (*note)(const char *format, ...) __attribute__((format(printf, 1, 2))));
	/* Has the runtime load `library`, libkymo.so.1, here: devices tell of their counters then.
	 */
	void (*start_devices)(const char *library);
};

/* Doors, LD_PRELOAD, tools, environment of all backends. False: no memory. */
bool launch_backends(struct launch_environment *e);

/* All that there are, in the order of backends.list; NULL terminated. Made by CMake. */
extern const struct kymo_launch *const launch_table[];

/* Fills `out` (NULL terminated) in the order in which they are told of. */
#define LAUNCH_MOST 64
void launch_told_order(const struct kymo_launch *out[LAUNCH_MOST]);
/* Likewise those that have an `annotation`. */
void launch_annotations(const struct kymo_launch *out[LAUNCH_MOST]);

#endif
