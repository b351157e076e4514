/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of a SQLite file, read without SQLite: nothing that the file says is executed (views, triggers,
 * virtual tables, default values), nothing is written, and a row costs some 50 ns. Files are mapped and
 * untrusted: whatever is wrong in one ends the walk, or leaves a page out, and is counted.
 * The format is that of https://www.sqlite.org/fileformat.html.
 */
#ifndef SQL_DBFILE_H
#define SQL_DBFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DBFILE_DEPTH = 20, DBFILE_COLUMNS = 64 };

struct dbfile {
	const uint8_t *data;
	size_t size;
	uint32_t page, usable, pages;
	uint64_t damaged; /* pages and rows that could not be read */
	uint64_t missing; /* pages that its header counts and it has not: it was cut */
};

/* False: `why` says what is wrong with it, without its name. */
bool dbfile_open(struct dbfile *f, const char *path, char *why, size_t size);
void dbfile_close(struct dbfile *f);
/* It begins as SQLite files do, and its first pages, which have the schema, say `word`. */
bool dbfile_probe(const char *path, const char *word);

struct dbvalue {
	enum { DB_NULL, DB_INTEGER, DB_REAL, DB_TEXT, DB_BLOB } type;
	uint32_t length;
	int64_t integer;  /* also of real numbers that are whole */
	double real;      /* of real numbers alone; dbvalue_real() of all */
	const char *text; /* not terminated */
};

struct dbnode { /* a page of a table */
	const uint8_t *page, *head;
	unsigned type, cells, cell_array;
};

struct dbwalk {
	struct dbfile *file;
	uint32_t root;
	uint32_t page[DBFILE_DEPTH];
	uint16_t cell[DBFILE_DEPTH];
	int depth;          /* of what it stands on; -1: nowhere */
	struct dbnode leaf; /* that it stands on; page NULL: none that was read yet */
	uint64_t visited;   /* pages, which are no more than the file has */
	int64_t id;         /* of the row */
	const uint8_t *row;
	uint32_t row_size;
	uint8_t *spill; /* of a row that does not lie in one page */
	uint32_t spill_room;
};

void dbwalk_init(struct dbwalk *w, struct dbfile *f, uint32_t root);
void dbwalk_release(struct dbwalk *w);
/* The next row in order of ids; false: no more. */
bool dbwalk_next(struct dbwalk *w);
/* The row with that id; false: there is none. dbwalk_next() goes on behind it. */
bool dbwalk_seek(struct dbwalk *w, int64_t id);
/*
 * Fills those of the first DBFILE_COLUMNS values that have their bit in `wanted` with the columns of the row; those it
 * has not are NULL. False: damaged.
 */
bool dbwalk_values(struct dbwalk *w, struct dbvalue *values, uint64_t wanted);

static inline double dbvalue_real(const struct dbvalue *v)
{
	return v->type == DB_INTEGER ? (double)v->integer : v->real;
}

/*
 * Names of the columns that a CREATE TABLE statement declares, in `room`, which they point into.
 * Returns their number, at most `most`.
 */
unsigned dbfile_columns(const char *sql, size_t length, char *room, size_t size, const char **names,
			unsigned most);

#endif
