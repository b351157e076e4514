/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `kymo top` share: what is derived from what was followed, and where it is shown. */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include "base/text.h"
#include "follow/process.h"

enum top_view { TOP_OVERVIEW, TOP_KERNELS, TOP_CALLS, TOP_PROCESSES, TOP_DEVICES, TOP_VIEWS };

enum top_order { TOP_BY_TIME, TOP_BY_NOW, TOP_BY_COUNT, TOP_BY_NAME, TOP_ORDERS };

struct top_look { /* at a picture */
	enum top_view view;
	enum top_order order;
	unsigned width, height; /* height 0: as many lines as there is to say */
	unsigned first;         /* rows of a table that lie above the picture */
	bool held;              /* the picture is held */
	bool help;
	uint64_t delay_ns;
};

enum top_weight { TOP_PLAIN, TOP_STRONG, TOP_HEADING };

struct top_line {
	struct text text;
	enum top_weight weight;
};

struct top_picture {
	struct top_line *lines;
	unsigned count, room;
	unsigned rows; /* of the table that was shown, all of them */
	bool failed;
};

/* ---- top_derive.c: NAN is "not known" ---- */

double top_per_s(const struct follow *f, double now, double then);
/* Since the first process began. */
uint64_t top_elapsed(const struct follow *f);
uint64_t top_process_elapsed(const struct follow *f, const struct follow_process *p);
/* Of the last interval: of the time of the threads that recorded, that of calls which wait. */
double top_waiting(const struct follow *f, const struct follow_process *p);
double top_waiting_all(const struct follow *f);
double top_busy_ns(const struct follow *f, const struct follow_device *d);
double top_busy_now(const struct follow *f, const struct follow_device *d);
double top_busy(const struct follow *f, const struct follow_device *d);
double top_overhead_ns(const struct follow_process *p);
/* Of the time of all processes, that of loading Kymo included. */
double top_overhead_share(const struct follow *f);
double top_lost(const struct follow_process *p);
/* Processes that are shown. */
bool top_is_process(const struct follow_process *p);
/* The ranks that wait least and most; false: there are no two that can be compared. */
bool top_extremes(const struct follow *f, const struct follow_process **slowest,
		  const struct follow_process **fastest);
/* What part of the records was looked into. */
double top_read_share(const struct follow *f);
/* Longest time that a running process's records may be behind; processes whose memory is seen are not. */
uint64_t top_age(const struct follow *f);
/* Rows in that order, as places; to be freed. NULL: no memory, or none. */
uint32_t *top_sort_rows(const struct follow_rows *rows, enum top_order order);
uint32_t *top_sort_processes(const struct follow *f, enum top_order order, uint32_t *count);
extern const char *const top_memory_kinds[];
enum { TOP_MEMORY_KINDS = 6 };

/* ---- top_json.c ---- */

void top_json(struct text *out, const struct follow *f);

/* ---- top_picture.c ---- */

/* Lines that are no wider than look->width, and no more than look->height. */
void top_draw(struct top_picture *p, const struct follow *f, const struct top_look *look);
void top_picture_release(struct top_picture *p);

/* ---- top_screen.c ---- */

/*
 * Shows it until the user has enough. `refresh` looks for recordings and at them. Returns the exit status, or
 * TOP_NO_SCREEN after telling that this terminal has none.
 */
enum { TOP_NO_SCREEN = -1 };
int top_live(struct follow *f, uint64_t delay_ns, void (*refresh)(struct follow *f));

#endif
