/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a raw file (wire/raw.h). Blocks are gathered and written together, those that others need
 * first. Room for these and for the end is set aside ahead of what is written: a file system that is
 * full takes no more records, but has the names of those that it took and the count of the others.
 */
#ifndef DRAIN_RAWFILE_H
#define DRAIN_RAWFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drain/batch.h"
#include "wire/raw.h"

struct rawfile {
	int fd;
	int failed; /* errno of the first write that was refused, 0 while all is well */
	char path[PATH_MAX];
	uint64_t bytes;        /* in the file */
	uint64_t saved;        /* that it had more if nothing of it were compressed */
	uint64_t lost_records; /* not written because the file system refused */
	uint64_t lost_definitions;
	struct batch needed; /* definitions, the end: written first, and when records are refused */
	struct batch pending;
	uint64_t
		reserved; /* the file system has room for the file up to here; 0: it does not tell */
	uint64_t limit;   /* RLIMIT_FSIZE */
	uint32_t spare;   /* bytes of it that are kept for what is needed */
};

/* What this process's temporary files end in, before ".tmp" or ".part": who is left over tells whose. */
void rawfile_set_token(const char *token);
const char *rawfile_token(void);

/* Makes raw/HOST-PID-N.kyr in `trace`, N the first that is free. False: errno tells. */
bool rawfile_create(struct rawfile *f, const char *trace, const struct raw_header *h);

/* The same, named raw/HOST-WHAT-N.kyr. */
bool rawfile_create_as(struct rawfile *f, const char *trace, const char *what,
		       const struct raw_header *h);

struct scan;

/*
 * Goes on with a file that another drain has begun: finds what is in it (scan.h), and cuts what is
 * not whole. False: errno tells; the file takes nothing, which is counted.
 */
bool rawfile_continue(struct rawfile *f, const char *path, struct scan *s);

/*
 * Room for the payload of a block; NULL: out of memory. The caller fills it, then commits with
 * `b->raw` bytes of it used; type, thread, seq and ticks are the caller's, the rest is filled in.
 */
uint8_t *rawfile_reserve(struct rawfile *f, size_t bytes);
void rawfile_commit(struct rawfile *f, struct raw_block *b);

/*
 * The block whose payload is `head`, which is copied, and the rest of `b->raw` bytes as they are in memory
 * that stays there until the next flush: `lent`. False: out of memory.
 */
bool rawfile_lend(struct rawfile *f, struct raw_block *b, const void *head, size_t head_bytes,
		  const void *lent);

/* As rawfile_reserve(), for a block that goes before all of those. */
uint8_t *rawfile_reserve_needed(struct rawfile *f, size_t bytes);
void rawfile_commit_needed(struct rawfile *f, struct raw_block *b);

/* So many bytes can be reserved, or lent, without writing first what is pending. */
bool rawfile_fits(const struct rawfile *f, size_t bytes);

/* Adds a block with that payload; `needed`: as above. */
void rawfile_add(struct rawfile *f, uint16_t type, const void *payload, uint32_t bytes);
void rawfile_add_needed(struct rawfile *f, uint16_t type, const void *payload, uint32_t bytes);
void rawfile_add_at(struct rawfile *f, uint16_t type, const void *payload, uint32_t bytes,
		    uint64_t tick); /* needed, as of then */

/* Writes what is pending. False: the file has failed. */
bool rawfile_flush(struct rawfile *f);

/* Writes what is pending, then the last block, whatever has been refused before. */
void rawfile_end(struct rawfile *f, const struct raw_end *end);

void rawfile_close(struct rawfile *f);

struct compress;

/*
 * Goes on with a file that has the same up to some offset and takes this one's place; what follows is
 * copied. False: that cannot be, and nothing has changed.
 */
bool rawfile_move(struct rawfile *f, struct compress *c);

/*
 * The same for a small file that has its end, which is a moment's work: it loses the definitions of
 * operations, enumerations and modules that nothing in it refers to, and calibration points that say no
 * more than those about them. Returns its size afterwards, 0 if
 * it was left alone.
 */
uint64_t rawfile_slim(const char *path, uint64_t deadline);

#endif
