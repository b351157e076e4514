/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What core knows of a thread and of the calls it is in: read and written by the inline functions of core/capture.h,
 * which laid them out so that a call touches few cache lines.
 */
#ifndef CORE_FRAME_H
#define CORE_FRAME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/shm.h"
#include "wire/wire.h"

struct cap_op;
struct core_subscribers;

#define CAP_FRAMES   256u /* nested traced calls; deeper ones run untraced and are counted */
#define CAP_BUFFERS  64u
#define CAP_SITES    256u
#define CAP_SECTIONS 15u /* stacks of functions end at multiples of 16 */
#define CAP_CALLING  8u  /* tools called from inside each other; deeper ones are left out */

/* Two cache lines, found by a shift. `retire` of a frame that is not in use is NULL. */
struct cap_frame {
	_Alignas(128) uint64_t id;
	uint64_t start; /* ticks */
	uint64_t parent;
	uint64_t end;                                     /* 0 until it returned */
	const struct core_subscribers *_Atomic callbacks; /* captured at entry */
	_Atomic uint64_t buffers;
	int64_t scope;
	const void *sp;            /* of the wrapper: frames below a live stack pointer are dead */
	struct cap_op *_Atomic op; /* read by those who look for open calls, meanwhile */
	const void *caller;        /* return address of the call */
	uint32_t site;
	uint32_t stack;
	int32_t status;
	bool has_status;
	union {
		bool owns_submission; /* activities */
		bool told; /* calls: every tool of the list of subscribers was told of the entry */
	};
	bool ordinary; /* activities: the record goes into one buffer, and that is all */
	uint32_t plan; /* enum cap_plan: STRAIGHT, or what is captured above has to be looked at */
	union {
		struct core_retire *retire;         /* NULL: nobody waits for the id's retirement */
		struct core_submission *submission; /* activities */
	};
	uint64_t inside; /* ticks spent in traced calls inside; kept for tallies, else 0 */
	uint64_t
		entered; /* what `buffers` was at entry; not kept where the plan is STRAIGHT, which never changes it */
};

/* A context's buffer as seen from the capture side; see core/ring/ring.h. */
struct core_buffer;

/*
 * One for each thread, in wipe-on-fork memory: after a fork, of whatever kind, a child reads zeros
 * (magic included), so that it can never write into its parent's ring.
 */
struct cap_thread {
	union {
		struct {
			uint32_t magic;
			uint32_t guard; /* > 0: inside Kymo or a tool; traced calls pass through */
		};
		uint64_t gate; /* both: CAP_GATE_OPEN, or calls do not take the straight path */
	};
	_Atomic uint32_t depth;
	/*
	 * The thread may be using subscribers and buffers that it has loaded and that no frame below `depth` shows: in so
	 * many sections (CAP_SECTIONS), the outermost of which began in a function whose stack ends at the address in the other
	 * bits. Written by the thread alone; see core_grace_period_over().
	 */
	_Atomic uint64_t busy;
	uint64_t current; /* id of the innermost call that has not returned, or 0 */
	uint64_t next_id;
	uint64_t id_limit; /* at this one something is due; see cap_ids_refill() */
	int64_t scope;
	struct shm_thread *_Atomic shared; /* open calls visible to the drain, or NULL */
	_Atomic uint64_t records;          /* written, all buffers; by the thread itself only */
	const void *guard_sp;              /* stack pointer when a tool was called, else NULL */
	/* Whose functions run on this thread, outermost first; NULL: at the moment none. */
	struct core_context *_Atomic calling[CAP_CALLING];
	uint32_t calling_level;
	bool tally_no_memory; /* what the last tally lacked that could not be had; else room */
	uint32_t index;
	uint32_t tid;
	uint64_t start; /* tick at which the thread was first seen */
	/*
	 * Bit n: what the thread does goes not into buffer n, and neither does what it submits; its ring
	 * shows no room then. `late`: bits that are lifted while it writes what was submitted before.
	 */
	_Atomic uint64_t paused;
	uint64_t late;
	struct wire_tally **tallies;         /* by wire op, or NULL; mode summary */
	struct wire_ring tally_ring;         /* the chunk they lie in */
	uint32_t tally_buffer;               /* number of the buffer that has it, from 1; 0: none */
	struct core_tally_chunk *tally_full; /* those before it */
	struct core_work *work;              /* activities that are counted, or NULL */
	struct core_words *words;  /* [CAP_FRAMES]: words of tools, or NULL until needed */
	struct wire_ring *scratch; /* for records that go into no buffer, or NULL */
	struct core_externals *_Atomic externals; /* stacks of external ids, or NULL */
	_Atomic uint64_t external[CAP_BUFFERS];   /* top of the stack of each buffer's context */
	uint64_t id_end;                          /* ids of the thread's block end here */
	struct cap_cost {
		struct wire_line *line;   /* where samples are added up, or NULL */
		uint64_t timed;           /* ticks that were timed as they were spent */
		uint64_t id;              /* of the call whose cost is being measured */
		uint64_t tick, before;    /* when that began, and `timed` then */
		uint32_t sampled, weight; /* calls that this sample stands for; the next one */
		uint32_t steps;           /* so far */
		uint64_t random;
	} cost;
	struct wire_line **left_out; /* by wire op, or NULL */
	struct wire_ring rings[CAP_BUFFERS];
	struct {
		uintptr_t address;
		uint32_t id;
	} sites[CAP_SITES];
	struct cap_frame frames[CAP_FRAMES];
};

/* The next id: one instruction, so that a signal's handler never takes the same. */
static inline uint64_t cap_take_id(struct cap_thread *t)
{
#ifdef __x86_64__
	uint64_t id = 1;

	__asm__ volatile("xaddq %0, %1" : "+r"(id), "+m"(t->next_id) : : "cc");
	return id;
#else
	return __atomic_fetch_add(&t->next_id, 1, __ATOMIC_RELAXED);
#endif
}

#define CAP_THREAD_MAGIC 0x594d594bu
#define CAP_GATE_OPEN    ((uint64_t)CAP_THREAD_MAGIC) /* and no guard */

extern _Thread_local struct cap_thread *cap_thread_current
	__attribute__((tls_model("initial-exec")));

#endif
