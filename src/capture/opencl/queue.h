/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues and the work the program put into them. Each enqueued command that is wanted becomes one
 * struct ocl_work in its queue's pending list, with an event: the one that the program asked for
 * (retained), or one of our own. Collecting looks at the events without waiting, writes the records
 * of those that are complete and lets the events go.
 */
#ifndef CAPTURE_OPENCL_QUEUE_H
#define CAPTURE_OPENCL_QUEUE_H

#include <stdatomic.h>

#include "capture/opencl/backend.h"

#define OCL_ASKED_MAX 32u /* elements of the property list a queue was created with */

enum ocl_work_what {
	OCL_WORK_COPY,
	OCL_WORK_DISPATCH,
	OCL_WORK_BUFFER /* a command buffer: a dispatch as a whole, and what is inside */
};

/* Of one dimension. */
struct ocl_size {
	size_t global, local, offset;
};

/*
 * A command. Owned by its queue (pending or free); copied in and out by value. What a kernel of one
 * dimension needs lies in the first two lines of the cache.
 */
struct ocl_work {
	struct ocl_work *next;
	cl_event event;
	struct cap_submission submission;
	uint64_t submit; /* tick at which the call began */
	uint64_t end;    /* tick at which it returned */
	struct ocl_clock *clock;
	uint32_t queue; /* ids: the queue may be gone when the command is collected */
	uint32_t agent;
	uint32_t kernel; /* of a command buffer 0: nobody wants the whole */
	uint32_t place;  /* of a node: where it says that it is under way */
	uint8_t what;    /* enum ocl_work_what */
	bool blocking;
	uint8_t op; /* COPY_OP_* */
	uint8_t dims;
	uint8_t source_kind, destination_kind;
	struct ocl_size size[3]; /* what is beyond `dims` is not looked at */
	union {
		struct {
			uint32_t source, destination; /* agents */
			uint64_t bytes;
		};
		struct {
			struct ocl_work *inside; /* without events; ours to free */
			uint64_t inside_count;
		};
	};
};

/*
 * Guards lists for the few instructions that it takes to link or take them: half of what it costs
 * to put a kernel into a list would be a mutex.
 */
struct ocl_lock {
	_Atomic bool taken;
};
#define OCL_LOCK                                                                                   \
	{                                                                                          \
		false                                                                              \
	}

void ocl_lock_wait(struct ocl_lock *l);

static inline void ocl_lock(struct ocl_lock *l)
{
	while (cap_unlikely(atomic_exchange_explicit(&l->taken, true, memory_order_acquire)))
		ocl_lock_wait(l);
}

static inline void ocl_unlock(struct ocl_lock *l)
{
	atomic_store_explicit(&l->taken, false, memory_order_release);
}

struct ocl_queue {
	struct ocl_object object;
	uint32_t agent;
	uint32_t context;
	const void *context_handle;
	struct ocl_clock *clock;
	bool in_order;
	bool processor; /* its device is one of the host */
	bool forced;    /* profiling is our doing, and masked from the program */
	bool profiled;
	bool on_device_default; /* creating it again gives the same handle */
	bool has_asked;
	uint32_t asked_count; /* properties as the program gave them, terminator included */
	cl_queue_properties asked[OCL_ASKED_MAX];

	/* From here on: under `lock`, and kept when the object is used again. */
	struct ocl_lock lock;
	uint32_t pending;
	struct ocl_work *head, *tail;
	struct ocl_work *free;
	uint32_t look_count; /* look at the list when it is this long */
	uint64_t look_tick;  /* or when this tick has come */
	bool collecting;     /* a thread has taken the list */
	bool again;          /* and is to look once more */
	bool closed;         /* released: what is left is followed by event callbacks */
};

/* What an enqueue hook hands from the call to what comes after its record. */
struct ocl_submission {
	struct ocl_queue *queue; /* NULL: nothing to record */
	cl_event event;          /* ours to release; NULL: the queue cannot be timed */
};

extern _Thread_local struct ocl_submission ocl_submission
	__attribute__((tls_model("initial-exec")));

struct ocl_queue *ocl_queue_learn(cl_command_queue queue);

/* The queue of a handle, learnt if need be; NULL: invalid handle or no memory. */
static inline __attribute__((always_inline)) struct ocl_queue *ocl_queue_get(cl_command_queue queue)
{
	struct ocl_queue *q = (struct ocl_queue *)ocl_find(OCL_QUEUE, queue);

	return cap_likely(q != NULL) ? q : ocl_queue_learn(queue);
}

/* ---- submit.c ---- */

/* Begins the work of the call just made; false: nothing to record. */
bool ocl_submit_take(const struct cap_frame *f, struct ocl_work *w);
/*
 * Puts it into its queue if a context wants it, and collects if the queue's list is long or old.
 * `op` and `subject` (agent and queue are filled in here) say what it is.
 */
void ocl_submit(const struct cap_frame *f, struct ocl_work *w, const struct cap_op *op,
		struct cap_subject *subject);
/* The same for work whose submission was taken. */
void ocl_submit_taken(struct ocl_work *w);

/* ---- work.c ---- */

enum ocl_collect_hint {
	OCL_LOOK,    /* anything may be complete */
	OCL_COMPLETE /* most likely all are: the program has just waited */
};

#define OCL_COLLECT_FEW  256u  /* commands looked at in an enqueue or poll */
#define OCL_COLLECT_MANY 4096u /* after a wait */

/* `now`: the present tick, or one since which the thread has recorded nothing. */
void ocl_collect_at(struct ocl_queue *q, enum ocl_collect_hint hint, uint32_t most, uint64_t now);
void ocl_collect(struct ocl_queue *q, enum ocl_collect_hint hint, uint32_t most);
/* The queue of an event, if it is one we know. */
struct ocl_queue *ocl_queue_of_event(cl_event event);
/* Queues that nobody looks at: called where the program waits, looks at most every 50 ms. */
void ocl_collect_old(uint64_t now);
/* All queues, or those of one context. */
void ocl_collect_all(const void *context);
/* The queue's lifetime is over: what is incomplete is followed by callbacks. */
void ocl_collect_close(struct ocl_queue *q);
/* Writes the record of a command that has no event. */
void ocl_work_untimed(struct ocl_work *w, enum untimed_reason why, int32_t status);
void ocl_collect_flush(uint64_t deadline);
void ocl_collect_fork_child(void);
/* Registers what must run before the runtime's own exit handlers. */
void ocl_collect_at_exit(void);
/* The last moment at which the runtime can be asked: what is complete is recorded. */
void ocl_collect_end(void);

#endif
