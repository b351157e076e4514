/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any number of lists of records that are written side by side and read one after the other, in bounded memory: all
 * lie in one unlinked temporary file, in blocks of which each says where the next one of its list is. Of the words of
 * a record those are written that differ from the record before it, so that the file is a fraction of what the
 * records are in memory, or as text.
 *
 *	strands_init(&p, directory);
 *	strand_begin(&p, &one, sizeof(struct item)); strand_begin(&p, &two, sizeof(struct item));
 *	strand_add(&one, &item, sizeof(item), text, n); ...
 *	for (status = strand_rewind(&one); strand_next(&one, &item, &text, &n); ) ...
 */
#ifndef STREAM_STRANDS_H
#define STREAM_STRANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kymo/status.h>

struct strands {
	int fd;
	uint64_t blocks; /* of the file */
};

struct strand {
	struct strands *strands;
	uint8_t *block; /* of it what is written or read now */
	size_t at;
	uint64_t number, first; /* of that, of the first one */
	uint64_t count, left;   /* records; to be read */
	uint64_t *last;         /* the record before */
	uint32_t words;
	bool ended;     /* no more are added */
	uint8_t *bytes; /* of the record read last */
	size_t room;
	int error; /* errno of the first failure */
};

/* The file lies in `directory`. */
kymo_status_t strands_init(struct strands *p, const char *directory);
void strands_release(struct strands *p);

enum { STRAND_RECORD_MAX = 512 };

/* Of records of at most `size` bytes, a multiple of 8. */
kymo_status_t strand_begin(struct strands *p, struct strand *x, size_t size);

/* One more: the first `size` bytes of it, a multiple of 8, and `n` bytes that belong to it. */
kymo_status_t strand_add(struct strand *x, const void *record, size_t size, const void *bytes,
			 size_t n);

/* Ends adding, and begins reading; again, it is read from the beginning. */
kymo_status_t strand_rewind(struct strand *x);

/*
 * The next record, as far as it was written, and its bytes, which stay until the next call and have 16 more behind them. False: there is none,
 * or strand_status() says what is wrong.
 */
bool strand_next(struct strand *x, void *record, const void **bytes, size_t *n);

static inline kymo_status_t strand_status(const struct strand *x)
{
	return x->error ? KYMO_ERROR_SYSTEM : KYMO_OK;
}

void strand_release(struct strand *x);

#endif
