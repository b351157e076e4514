/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The raw file: `raw/HOST-PID-N.kyr`, one a process image. A file header, then blocks; a block is a
 * block header and its payload: one chunk as it was in memory (struct wire_chunk header first,
 * `committed` bytes of it), or a batch of open-call frames, possibly compressed. Raw is the truth:
 * it is only ever appended to, or replaced by a compressed one in one step.
 */
#ifndef WIRE_RAW_H
#define WIRE_RAW_H

#include <stdint.h>

#include "wire/wire.h"

#define RAW_MAGIC       0x0a57415220594b89ull /* "\x89KY RAW\n" */
#define RAW_VERSION     2u
#define RAW_VERSION_MIN 1u          /* that is read, too: it has no RAW_COLUMNS */
#define RAW_BLOCK_MAGIC 0x4b4c424bu /* "KBLK" */

enum raw_block_type {
	RAW_CHUNK = 1, /* a chunk of records or definitions */
	/*
	 * struct raw_open []: calls that were open at `first_tick`, when the process had ended or the
	 * recording was flushed. The last block counts.
	 */
	RAW_OPEN_CALLS = 2,
	RAW_END = 3,       /* struct raw_end: the drain saw the end of the process */
	RAW_TICK_SYNC = 4, /* struct raw_tick_sync: calibration point taken by the drain */
	/*
	 * What there was of a chunk when the recording was flushed. A later block of the same thread,
	 * chunk type and sequence number has all of it, and more.
	 */
	RAW_PARTIAL = 5,
	RAW_STATE =
		6, /* struct raw_end as far as it goes while the process runs: the last one counts */
	RAW_JOB = 7 /* struct raw_job: of a process whose environment says that it is a rank */
};

enum raw_flag {
	RAW_ZSTD = 1,
	RAW_BOUNDED = 2, /* its records began less than 2^n ticks before first_tick, n: flags >>
			   RAW_EARLY_SHIFT */
	RAW_COLUMNS = 4  /* what the frame holds is arranged: wire/columns.h */
};
#define RAW_EARLY_SHIFT 8

/* Flags of the block of a chunk whose header says `early`. */
static inline uint16_t raw_early_flags(uint32_t early)
{
	return (uint16_t)((early & WIRE_EARLY_SAID) && !(early & WIRE_EARLY_ANY)
				  ? RAW_BOUNDED | (early & WIRE_EARLY_BITS) << RAW_EARLY_SHIFT
				  : 0);
}

struct raw_header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_size;
	uint32_t pid;
	uint32_t wire_version;
	uint64_t created_realtime; /* ns */
	uint8_t hostname[64];      /* zero padded */
	uint8_t job[64];           /* job id, or empty */
	uint32_t rank;             /* from the launcher's environment, SHM_NONE if unknown */
	/*
	 * errno: the process wrote this file itself, which has nothing else in it: it was to be recorded and
	 * reached no drain. 0 in all others.
	 */
	uint32_t unrecorded;
};

struct raw_block {
	uint32_t magic;
	uint16_t type;       /* enum raw_block_type */
	uint16_t flags;      /* enum raw_flag; RAW_ZSTD: payload is one zstd frame */
	uint32_t thread;     /* of the chunk; 0 otherwise */
	uint32_t chunk_type; /* enum wire_chunk_type; 0 otherwise */
	uint64_t seq;        /* of the chunk */
	uint64_t first_tick; /* base tick of the chunk */
	uint64_t last_tick;  /* UINT64_MAX when the writer did not look */
	uint32_t stored;     /* bytes of payload in the file */
	uint32_t raw;        /* bytes of payload once decompressed */
	uint64_t checksum;   /* XXH3-64 of the stored payload */
};

struct raw_open {
	struct wire_open call;
	uint32_t thread;
	uint32_t tid;
	uint32_t depth; /* 0 is outermost */
	uint32_t reserved;
};

/* What the names of files have in them that such processes write. */
#define RAW_UNRECORDED "-unrecorded-"

/* The process asked to be recorded and could not be: there is nothing else in its file. */
#define RAW_END_REFUSED 6u
#define RAW_END_LEFT    7u /* the recording of it has ended, and it goes on */
#define RAW_END_KILLED  2u
#define RAW_END_EXEC    3u
#define RAW_END_STOPPED 4u
#define RAW_END_RUNNING 5u

enum raw_usage {
	RAW_USAGE_UNKNOWN = 0,
	RAW_USAGE_WHOLE = 1, /* the process told it as the last that it did */
	RAW_USAGE_SEEN = 2   /* at least: it was killed, this is what was seen from outside */
};

struct raw_end {
	uint32_t how;   /* 0 seen finalised, 1 exited without, 2 killed by signal, 3 exec,
				 4 drain stopped first, 5 still running (RAW_STATE),
				 RAW_END_REFUSED, RAW_END_LEFT */
	int32_t status; /* exit status or signal when known, else -1; of REFUSED errno */
	uint64_t tick;
	uint64_t lost_records;
	uint64_t lost_definitions;
	uint64_t damaged_chunks;      /* chunks with a bad header, not written */
	uint64_t overhead_ticks;      /* measured in the program, see DEF_OVERHEAD */
	uint64_t overwritten_records; /* of a flight recorder: gave way to newer ones */
	uint64_t unwritten_records;   /* of those lost: refused by the file system */
	uint64_t waiting_ticks;       /* of the program, for room */
	uint64_t beside_ticks;      /* spent by threads of the process that are not the program's */
	uint64_t drain_ns;          /* of a processor, by the drain for this process */
	uint64_t no_memory_records; /* of those lost: the program had no memory for them */
	uint64_t
		loading_ticks; /* of the program, for the loading of Kymo; before this member was there,
				   in overhead_ticks */
	uint64_t dropped_records; /* of those lost: the runtime that they are of dropped them */
	/* On processors, and memory resident at most, as far as `usage` says: */
	uint64_t user_ns, system_ns, resident_bytes;
	uint64_t usage; /* enum raw_usage */
	/* That the main thread was ready to run and had no processor, as far as the drain saw; 0: unknown. */
	uint64_t delay_ns;
};

/* How the manifest calls raw_end.how. */
/* How a note of part "drain" begins in the file of a process whose drain was followed by another. */
#define RAW_NOTE_DRAIN_ENDED "the drain was ended by "
#define MANIFEST_ENDS                                                                              \
	{                                                                                          \
		"finalised", "exited", "killed", "exec", "drain stopped", "running", "refused",    \
			"left"                                                                     \
	}

/* `by` and `above` tell who is the rank: what a rank starts has the same environment. */
struct raw_job {
	uint32_t size;    /* ranks in all, 0 unknown */
	uint32_t restart; /* how often the ranks had been started before */
	uint8_t by[16];   /* who says so: "torchrun", "Slurm" ..., zero padded */
	uint32_t count;   /* of `above` */
	uint32_t inside;  /* the first of `above` whose environment has the same rank */
	uint32_t above
		[16]; /* pids upwards from the parent: as far as any rank is there, and one more */
};

struct raw_tick_sync {
	uint64_t before; /* tick */
	uint64_t after;
	uint64_t monotonic_raw; /* ns */
	uint64_t realtime;      /* ns */
};

#endif
