/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compression beside the recording and after it: by one thread of the drain, on processors that
 * nobody else wants. A file that grows is compressed as far as it goes, and when that is worth it the
 * drain goes on with the compressed one (rawfile_move()). So what is done stays done, whenever all
 * is ended, and a long recording does not take the room of all its records. The drain never waits for
 * the thread before the end.
 */
#ifndef DRAIN_BESIDE_H
#define DRAIN_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

struct beside;
struct beside_file;
struct rawfile;

/* A file that is written to is worth looking at when it has so many bytes. */
enum { BESIDE_GROWN = 32 << 20 };

/* The thread is started when there is something to do. */
struct beside *beside_new(void); /* NULL: no memory */

/* The file is there now; it stays listed until the end. NULL: it cannot be, and no other. */
struct beside_file *beside_add(struct beside *b, const char *path);

/* Nobody writes to it any more. */
void beside_finished(struct beside *b, struct beside_file *f);

/* The drain goes on with the compressed file, if there is one for it. */
void beside_move(struct beside_file *f, struct rawfile *file);

/* By a thread like any other from now on, if what there is comes to the end of a step by then. */
void beside_hurry(struct beside *b, uint64_t deadline);

/*
 * Waits until all files that are finished are done, but not beyond `deadline` (CLOCK_MONOTONIC ns). It
 * hurries meanwhile.
 */
void beside_wait(struct beside *b, uint64_t deadline);

/* None that is finished is left. */
bool beside_is_done(const struct beside *b);

/* All files are finished: waits for them. `b` may be NULL. */
void beside_end(struct beside *b);

#endif
