/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the options that the launcher has left and starts the recorder. Nothing here prints, exits or
 * fails loudly: without Kymo the program runs as it is.
 */
#include "inject/inject.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/job.h"
#include "base/numbers.h"
#include "base/patterns.h"
#include "base/perf_named.h"
#include "base/period.h"
#include "base/ranks.h"
#include "base/run_options.h"
#include "base/variables.h"
#include "base/vec.h"
#include "inject/annotations.h"
#include "inject/connect.h"
#include "lanes/lanes.h"
#include "recorder/recorder.h"

static enum recorder_mode mode_of(int mode)
{
	return mode == RUN_MODE_SUMMARY   ? RECORDER_SUMMARY
	       : mode == RUN_MODE_MINIMAL ? RECORDER_MINIMAL
	       : mode == RUN_MODE_FULL    ? RECORDER_FULL
					  : RECORDER_DEFAULT;
}

static enum recorder_pauses pauses_of(int pauses)
{
	return pauses == RUN_PAUSES_COUNT    ? RECORDER_PAUSES_COUNT
	       : pauses == RUN_PAUSES_IGNORE ? RECORDER_PAUSES_IGNORE
					     : RECORDER_PAUSES_LAST;
}

static kymo_replay_t replay_of(int replay)
{
	return replay == RUN_REPLAY_KERNEL   ? KYMO_REPLAY_KERNEL
	       : replay == RUN_REPLAY_ROTATE ? KYMO_REPLAY_ROTATE
					     : KYMO_REPLAY_ONE;
}

static kymo_policy_t policy_of(int on_full)
{
	return on_full == RUN_DROP        ? KYMO_POLICY_DROP
	       : on_full == RUN_OVERWRITE ? KYMO_POLICY_OVERWRITE
					  : KYMO_POLICY_BLOCK;
}

/* Kept for ever. The launcher has looked at it. */
static struct recorder_range range_of(const char *text)
{
	struct recorder_range r = {.text = text, .name = text ? strdup(text) : NULL};
	struct number_list numbers = {0};

	if (!r.name || !numbers_cut((char *)(uintptr_t)r.name, &numbers))
		r.text = NULL;
	r.numbers = (const uint64_t *)numbers.at;
	r.numbers_count = numbers.count;
	return r;
}

/* Likewise. `numbered`: numbers of executions may follow a name. */
static struct recorder_patterns patterns_of(const char *text, bool numbered)
{
	struct recorder_patterns p = {0};
	struct recorder_range *list = NULL;
	uint32_t room = 0;

	for (const char *s = text; s && vec_reserve(&list, &room, p.count, 1);) {
		char *line = patterns_next(&s);
		struct recorder_range *r = &list[p.count];

		*r = numbered ? range_of(line)
			      : (struct recorder_range){.text = line, .name = line};
		if (numbered)
			r->text = line;
		p.count += r->name != NULL;
	}
	p.at = list;
	return p;
}

/* Likewise. Without numbers it is a pattern. */
static void set_device(struct recorder_options *r, const char *text)
{
	struct number_list numbers = {0};

	r->device = text;
	if (!text || text[strspn(text, "0123456789-,")] || !numbers_parse(&numbers, text))
		return;
	r->device_numbers = (const uint64_t *)numbers.at;
	r->device_numbers_count = numbers.count;
}

/* How long ago the run began; by hand, this process. */
static uint64_t since_began(void)
{
	const char *text = variable("KYMO_BEGAN");
	uint64_t began = text ? strtoull(text, NULL, 10) : 0, now = clock_ns(CLOCK_REALTIME);

	return began && began < now ? now - began : 0;
}

/* A moment of CLOCK_MONOTONIC that is `ns` after the run began. */
static uint64_t moment(uint64_t ns)
{
	uint64_t since = since_began(), at = clock_ns(CLOCK_MONOTONIC);

	at = ns + at > since ? ns + at - since : 1;
	return ns ? at : 0;
}

static void set_period(struct recorder_options *r, const char *text)
{
	char why[KNOB_ERROR_MAX];
	struct period p;

	if (!text || !period_parse(&p, text, why, sizeof(why)))
		return;
	r->period = (struct recorder_period){.delay_ns = p.delay_ns,
					     .duration_ns = p.duration_ns,
					     .repeat = p.repeat,
					     .began = clock_ns(CLOCK_MONOTONIC) - since_began()};
}

static void set_sample_event(struct recorder_options *r, const char *text)
{
	const struct perf_named *e = text ? perf_named_parse(text, &r->sample_every) : NULL;

	r->sample_event = e ? e->name : NULL;
}

/* Kept for ever. The launcher has looked at it, and hands files on as their lines. */
static const kymo_lanes_profile_t *lanes_of(const char *text)
{
	static kymo_lanes_profile_t read;
	char why[96];
	char *file;
	bool good;

	if (!text || strcmp(text, "off") == 0)
		return NULL;
	if (lanes_profile_of((uint32_t)strtoul(text, NULL, 10)))
		return lanes_profile_of((uint32_t)strtoul(text, NULL, 10));
	file = strchr(text, '=') ? NULL : file_read_limited(text, 1u << 16);
	good = lanes_profile_parse(file ? file : text, &read, why, sizeof(why));
	free(file);
	return good ? &read : NULL;
}

/* Of a job that is recorded in part. */
static bool left_out(const char *ranks)
{
	struct job job;

	if (!ranks)
		return false;
	job_of_process(&job, 0);
	return job.rank != JOB_UNKNOWN && ranks_valid(ranks) && !ranks_have(ranks, job.rank);
}

kymo_status_t inject_start(void (*leave)(void))
{
	const struct run_options *o = &run_options_values;
	char error[KNOB_ERROR_MAX];
	struct recorder_options r;

	knob_defaults(&run_options_table);
	if (!knob_parse_environment(&run_options_table, error))
		return KYMO_ERROR_INVALID_ARGUMENT; /* the launcher has checked them; by hand: `kymo doctor`
						       tells */
	if (left_out(o->ranks))
		return KYMO_OK;
	r = (struct recorder_options){
		.mode = mode_of(o->mode),
		.arguments = (kymo_arguments_t)o->args,
		.backends = o->backends,
		.include = patterns_of(o->include, false),
		.exclude = patterns_of(o->exclude, false),
		.stacks = patterns_of(o->stacks, false),
		.policy = policy_of(o->on_full),
		.block_ns = o->block_ns,
		.buffer_bytes = o->buffer_size,
		.paused = o->start_paused,
		.pauses = pauses_of(o->pauses),
		.stands = connect_stands(),
		.delay_ns = o->delay_ns,
		.duration_ns = o->duration_ns,
		.after_ns = moment(o->after_ns),
		.before_ns = moment(o->before_ns),
		.range = range_of(o->range),
		.during = range_of(o->during),
		.kernels = patterns_of(o->kernel, true),
		.no_kernels = patterns_of(o->exclude_kernel, true),
		.counters = o->counters,
		.count_kernels = patterns_of(o->count_kernel, true),
		.instrument_kernels = patterns_of(o->instrument_kernels, true),
		.lanes = lanes_of(o->lanes),
		.handlers = o->handlers,
		.replay = replay_of(o->replay),
		.sample_hz = (uint64_t)o->sample_hz,
		.sample_wall = o->sample_clock == RUN_SAMPLE_WALL,
		.sample_threads = o->sample_threads,
		.off_cpu = o->off_cpu,
		.pc_sampling = (uint32_t)o->pc_sampling,
		.pc_serialize = o->pc_serialize,
		.share = connect_share,
		/* Who is asked to leave must have begun. */
		.share_early = connect_has_drain() && !leave ? connect_share_early : NULL,
		.unshared = connect_unshared,
		.leave = leave,
	};
	set_device(&r, o->device);
	set_period(&r, o->period);
	annotations_choose(patterns_of(o->annotations, false),
			   patterns_of(o->exclude_annotations, false));
	set_sample_event(&r, o->sample_event);
	return recorder_start(&r);
}
