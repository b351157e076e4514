/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kymo's own tool: records what the user asked for into a buffer that the drain empties. It uses
 * the public interface alone, so whatever it does another tool can do too.
 */
#ifndef RECORDER_RECORDER_H
#define RECORDER_RECORDER_H

#include <kymo/counter.h>
#include <kymo/kymo.h>

enum recorder_mode {
	RECORDER_SUMMARY, /* calls are tallied, not recorded */
	RECORDER_MINIMAL,
	RECORDER_DEFAULT,
	RECORDER_FULL
};

/* What the program's own pauses are. */
enum recorder_pauses {
	RECORDER_PAUSES_LAST, /* a resume ends all that came before */
	RECORDER_PAUSES_COUNT,
	RECORDER_PAUSES_IGNORE
};

/* Executions of a range, or a kernel, as users name them: NAME, or NAME#5-7. */
struct recorder_range {
	const char *text;        /* NULL: not asked for */
	const char *name;        /* without the numbers; or a path, "solve/step" */
	const uint64_t *numbers; /* pairs of first and last */
	uint32_t numbers_count;  /* pairs; 0: all */
};

/* Regular expressions (POSIX extended), of which one is to match; of kernels with numbers of executions. */
struct recorder_patterns {
	const struct recorder_range *at;
	uint32_t count; /* 0: not asked for */
};

/* Windows that repeat: nothing for `delay_ns`, then recording for `duration_ns`, `repeat` times. */
struct recorder_period {
	uint64_t delay_ns, duration_ns; /* 0 and 0: no such windows */
	uint64_t repeat;                /* 0: until the end */
	uint64_t began; /* when they begin, CLOCK_MONOTONIC modulo 2^64: the run may be older */
};

/* Strings are borrowed for ever. */
struct recorder_options {
	enum recorder_mode mode;
	kymo_arguments_t arguments;
	const char *backends; /* comma separated; NULL or "all": every domain; "-mpi": but that */
	struct recorder_patterns include, exclude, stacks; /* over names of ops */
	kymo_policy_t policy;
	uint64_t block_ns;
	uint64_t buffer_bytes;
	bool paused; /* record nothing until an annotation resumes */
	enum recorder_pauses pauses;
	kymo_steer_t
		stands;    /* others have been asked for before: holds from the start; 0: nothing */
	uint64_t delay_ns; /* start recording so long after the beginning of the process */
	uint64_t duration_ns; /* stop after so long; 0: never */
	uint64_t after_ns;    /* not before this moment of CLOCK_MONOTONIC; 0: at once */
	uint64_t before_ns;   /* nor from this one on; 0: no limit */
	struct recorder_period period;
	struct recorder_range range;         /* threads record in these alone */
	struct recorder_range during;        /* the process records while one of these is open */
	struct recorder_patterns kernels;    /* of device work executions of these alone */
	struct recorder_patterns no_kernels; /* and not of these */
	const char *device; /* device work of these alone: regular expression over names, or NULL */
	const uint64_t *device_numbers; /* instead, if there are any: pairs of first and last */
	uint32_t device_numbers_count;  /* pairs */
	const char *
		counters; /* as kymo_counter_set_parse() wants them, or NULL; NAME:kernel is of kernels */
	struct recorder_patterns count_kernels;      /* launches of which kernels are counted so */
	struct recorder_patterns instrument_kernels; /* launches whose lines are counted */
	const kymo_lanes_profile_t
		*lanes;       /* the device as which their accesses are looked at, or NULL */
	const char *handlers; /* of their records, as kymo_kernel_line_desc_t has them; or NULL */
	kymo_replay_t replay;
	uint32_t replay_pass; /* of KYMO_REPLAY_ONE, from 0 */
	uint64_t sample_hz;   /* samples of each thread a second of its processor time; 0: none */
	const char
		*sample_event; /* instead: a sample every so many of these in a thread; or NULL */
	uint64_t sample_every;
	bool sample_wall;           /* by all time that passes, not that of a processor */
	bool off_cpu;               /* the times in which threads had no processor */
	const char *sample_threads; /* of these alone, as kymo_sample_desc_t has them; NULL: all */
	uint32_t pc_sampling;       /* samples of kernels every 2^n cycles; 0: none */
	bool pc_serialize;
	kymo_status_t (*share)(int memfd, uint64_t bytes, void *data);
	kymo_status_t (*share_early)(int memfd, uint64_t bytes, void *data); /* or NULL */
	void (*unshared)(int error, void *data);                             /* or NULL */
	void (*leave)(
		void); /* the reading side ends the recording before the process ends; or NULL */
};

/* Makes the context and starts it. Called once, before the program's main(). */
kymo_status_t recorder_start(const struct recorder_options *options);

/*
 * The recording ends, the process goes on; on no thread that the recorder calls from. What is recorded has been
 * handed over when it returns. Nothing is recorded by this recorder again.
 */
void recorder_stop(void);

/*
 * Counters and samples, as far as they can be had: what cannot is noted in the trace, the rest is
 * recorded all the same. `counted` selects the calls that are counted.
 */
void recorder_measure(kymo_context_t context, const struct recorder_options *options,
		      bool (*counted)(const kymo_domain_desc_t *domain, uint32_t op, void *data));

#endif
