/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the filter share. */
#ifndef STREAM_FILTER_PARTS_H
#define STREAM_FILTER_PARTS_H

#include <regex.h>
#include <string.h>

#include "base/map.h"
#include "base/numbers.h"
#include "base/text.h"
#include "stream/filter.h"

/* Regular expressions, one a line, of which one is to match. */
struct pattern {
	bool set;
	const char *text; /* the caller's, as long as the pattern */
	struct pattern_line {
		char *text, *name;          /* as it was given, and without numbers */
		struct number_list numbers; /* of executions, of kernels */
		regex_t regex;              /* of the name */
	} * lines;
	uint32_t count, room;
};

/* NAME, or NAME#N-M: executions of a range, or marks. */
struct range_spec {
	char *text; /* as it was given; NULL: not */
	char *name; /* without the numbers */
	struct number_list numbers;
	struct pattern pattern; /* of `name`, where there is no range of that very name */
	bool end;               /* of a time: when it ends, not when it begins */
};

enum time_kind { TIME_NONE, TIME_SINCE, TIME_BEFORE_END, TIME_SHARE, TIME_CLOCK, TIME_RANGE };

/* A moment as the user named it. */
struct time_spec {
	enum time_kind kind;
	int64_t ns;   /* since the beginning, before the end; of the clock: since the epoch */
	double share; /* of the run */
	bool day;     /* of the clock: without a date, on the day that the trace began */
	struct range_spec range;
};

/* What of the user's choices names things, and whether any trace has had them. */
enum choice {
	CHOICE_DOMAIN,
	CHOICE_OP,
	CHOICE_KERNEL,
	CHOICE_EXECUTION, /* of a kernel, by number: --kernel, too */
	CHOICE_PROCESS,
	CHOICE_THREAD,
	CHOICE_RANK,
	CHOICE_NODE,
	CHOICE_DEVICE,
	CHOICE_QUEUE,
	CHOICE_RANGE,
	CHOICE_DURING,
	CHOICE_SITE,
	CHOICE_MEMORY,
	CHOICE_AFTER,
	CHOICE_BEFORE,
	CHOICES
};

struct stream_filter {
	struct stream_filter_spec spec; /* its texts are copies */
	struct stream_log *log;
	struct pattern ops, exclude, kernels, no_kernels, devices, queues, sites;
	struct number_list ranks, device_numbers, queue_numbers, lines;
	char *site_file; /* of FILE:LINE */
	uint64_t memory;
	bool memory_id; /* it is the number of an allocation, not an address */
	struct range_spec ranges, during;
	struct time_spec after, before;
	unsigned traces;     /* that will be read with it */
	bool found[CHOICES]; /* in one of the traces */
	bool *members
		[CHOICES];  /* of a list: each, in one of the traces; NULL: the choice is no list */
	bool here[CHOICES]; /* one of them is in the trace that is bound */
	char *has[CHOICES]; /* what the first trace without has instead */
};

/* filter_parse.c */
kymo_status_t pattern_compile(struct pattern *p, const char *text, const char *what,
			      struct stream_log *log);
/* Likewise, of kernels: lines may end in numbers of executions. */
kymo_status_t pattern_compile_kernels(struct pattern *p, const char *text, const char *what,
				      struct stream_log *log);
void pattern_release(struct pattern *p);
/* A name that is what the user wrote is chosen, whatever that is as a pattern: "Intel(R) Xeon(R)". */
static inline bool pattern_line_matches(const struct pattern_line *l, const char *text)
{
	return strcmp(text, l->name) == 0 || regexec(&l->regex, text, 0, NULL, 0) == 0;
}
bool pattern_matches(const struct pattern *p, const char *text);
kymo_status_t range_parse(struct range_spec *r, const char *text, const char *what,
			  struct stream_log *log);
void range_release(struct range_spec *r);

/* filter_time.c */
kymo_status_t time_parse(struct time_spec *s, const char *text, const char *what,
			 struct stream_log *log);
/* All that do not name a range: node time. */
int64_t time_resolve(const struct time_spec *s, const struct trace *t);
/* Whatever the trace, no moment is between them. */
bool time_reversed(const struct time_spec *after, const struct time_spec *before);
/* Sets the window as far as it does not need ranges; says what is wrong with it. */
kymo_status_t filter_bind_time(struct filter_binding *b);
kymo_status_t filter_check_window(struct filter_binding *b);

/*
 * filter_say.c: what the user chose by `c` was found in the trace, or not. Not: an error where it is
 * the only trace; else the binding wants nothing. `has` (may be NULL) are the names that there are.
 */
struct names_list {
	const char **at;
	uint32_t count, room;
};
bool names_add(struct names_list *l, const char *name);
kymo_status_t filter_choose(struct filter_binding *b, enum choice c, bool found, const char *what,
			    struct names_list *has);

/*
 * Before filter_choose(), where the choice is a list, of which each member must be in one of the traces: all have
 * been found. `there` tells how much of the list is the name at `s` of something in the trace (names may have commas in
 * them), the member of number `k`; 0: there is nothing of that name.
 */
bool filter_members(struct filter_binding *b, enum choice c,
		    size_t (*there)(const struct filter_binding *b, const char *s, unsigned k));

/* filter_bind.c: which functions and lines call. */
kymo_status_t filter_bind_sites(struct filter_binding *b);

/* filter_ranges.c */
bool ranges_needed(const struct stream_filter *f);
struct filter_ranges *ranges_new(struct filter_binding *b);
void ranges_free(struct filter_ranges *r);
struct stream_sink *ranges_look(struct filter_ranges *r,
				bool (**wants)(const struct trace *t, const struct t_op *op));
kymo_status_t ranges_looked(struct filter_ranges *r, struct filter_binding *b);
/* The scope is one of those asked for, or below one. */
bool ranges_have(const struct filter_ranges *r, uint32_t process, int64_t scope);
/* Likewise, of what has no scope of its own: at that time on that thread. */
bool ranges_on_thread(const struct filter_ranges *r, uint32_t thread, int64_t time);
bool ranges_while(const struct filter_ranges *r, uint32_t process, int64_t start, int64_t end);

/* filter_counts.c: executions of kernels by number */
bool counts_needed(const struct stream_filter *f);
/* Which of the kernels' executions are wanted is a question of their numbers. */
struct filter_counts *counts_new(struct filter_binding *b);
void counts_free(struct filter_counts *c);
struct stream_sink *counts_look(struct filter_counts *c,
				bool (**wants)(const struct trace *t, const struct t_op *op));
kymo_status_t counts_looked(struct filter_counts *c, struct filter_binding *b);
bool counts_have(const struct filter_counts *c, const struct rec_dispatch *r);
bool counts_have_unfinished(const struct filter_counts *c, const struct t_unfinished *u);
/* An execution of the kernel that the call launched. */
bool counts_have_call(const struct filter_counts *c, uint32_t process, uint64_t call,
		      uint32_t kernel);

/* filter_calls.c */
struct filter_calls *calls_new(struct filter_binding *b);
void calls_free(struct filter_calls *c);
struct stream_sink *calls_look_objects(struct filter_calls *c,
				       bool (**wants)(const struct trace *t,
						      const struct t_op *op));
kymo_status_t calls_objects_looked(struct filter_calls *c, struct filter_binding *b);
struct stream_sink *calls_look(struct filter_calls *c,
			       bool (**wants)(const struct trace *t, const struct t_op *op));
bool calls_have(const struct filter_calls *c, uint32_t process, uint64_t id);
bool calls_have_object(const struct filter_calls *c, uint32_t process, uint64_t allocation);

/* filter.c: thread, scope and site of the record itself. */
bool filter_host(const struct filter_binding *b, const struct rec *r);

#endif
