/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema of ROCpd, versions 3 (also called 3.0.0) to 3.0.3: its tables and views as data, from
 * which a database is made. Each process has a set of tables of its own, whose names end with its
 * uuid; views without that suffix join all sets of a file.
 */
#ifndef FORMATS_ROCPD_SCHEMA_H
#define FORMATS_ROCPD_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* Most sets of tables that the views of one file can join: what SQLite takes in one statement. */
enum { ROCPD_SETS_MAX = 480 };

enum { ROCPD_GUID = 37, ROCPD_SUFFIX = 38 };

struct rocpd_schema {
	unsigned version; /* 3.0.x: x */
	bool plain;       /* says "3" of its version, as what was before 3.0.1 does */
};

/* "3", "3.0.0" ... "3.0.3". False: it is none that is written. */
bool rocpd_schema_parse(const char *text, struct rocpd_schema *s);

/* Adds the statements for the tables of one process. */
void rocpd_schema_tables(struct text *out, const struct rocpd_schema *s, const char *guid,
			 const char *suffix);

/* Adds those for all views of a file that has the tables of `count` processes. */
void rocpd_schema_views(struct text *out, const struct rocpd_schema *s, const char *const *suffixes,
			uint32_t count);

/* views.c: the views that join base views, in order; NULL-terminated. */
struct rocpd_view {
	const char *name;
	const char *select;
	unsigned since; /* 3.0.x */
};
extern const struct rocpd_view rocpd_views[];

#endif
