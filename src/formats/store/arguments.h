/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of calls, beside their rows: table call_args holds them in compressed frames, each
 * with arguments of calls whose row ids agree in all but the low 12 bits. Measured against a
 * column of `call`: a third of the size of the whole store less, at the same speed.
 *
 * A frame is a byte (0 plain, 1 zstd), then entries: u16 low bits of the row id, u16 length,
 * u32 operation, the bytes of args.h. Its row id is (call id >> 12) << 8 | part: a block of ids
 * has several frames when its calls come too far apart. Private to the store.
 */
#ifndef FORMATS_STORE_ARGUMENTS_H
#define FORMATS_STORE_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/sqlite.h"
#include "formats/store/args.h"

/* ---- writing ----------------------------------------------------------------------------------- */

struct arguments_writer;

struct arguments_writer *arguments_writer_new(sqlite3 *db);
void arguments_writer_free(struct arguments_writer *w);

/* Adds the arguments of a call, if it has any. False: SQLite or memory failed. */
bool arguments_append(struct arguments_writer *w, int64_t id, const struct trace *t,
		      const struct rec *r);

/* Writes what is still in memory. */
bool arguments_flush(struct arguments_writer *w);

/* ---- reading ----------------------------------------------------------------------------------- */

struct arguments_reader;

struct arguments_reader *arguments_reader_new(sqlite3 *db);
void arguments_reader_free(void *reader);

/* The arguments of a call; borrowed until the next call of this function. False: it has none. */
bool arguments_find(struct arguments_reader *r, int64_t id, uint32_t *op, const void **data,
		    size_t *length);

#endif
