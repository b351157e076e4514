/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples: where the threads of the program are, taken at intervals, with call stacks; and where the
 * kernels on its devices are, and why they wait (second half).
 *
 * Samples are delivered as records of the activity domain "sample" into the context's buffer, where
 * a buffer service selects that domain. Op "pc" is a sample; its fields say the thread, the time, the
 * processor, the program counter, the stack and the time that the sample stands for. Op "lost" says
 * how many samples were lost since the last such record. Stacks hold return addresses (the innermost
 * one counts as such: program counter plus 1) and become functions when a trace is read.
 *
 * How it is done is a method:
 *   perf   perf_event_open(2): the kernel writes samples into memory that a thread of Kymo's reads.
 *          No signals; new threads are included from their first instruction. On x86-64
 *          callers need no frame pointers. Samples name
 *          the call they lie in only when a trace is read.
 *   timer  a POSIX timer for each thread and a real-time signal: where perf is not permitted. The
 *          program may notice: system calls that wait without being restartable may return EINTR,
 *          and a thread that waits for "any" signal gets ours. New threads are found within 20 ms.
 *          Taken when asked for, or where the process runs CPython, whose frames it alone sees. On x86-64 callers need no frame pointers.
 */
#ifndef KYMO_SAMPLE_H
#define KYMO_SAMPLE_H

#include <kymo/tool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kymo_sample_clock {
	KYMO_SAMPLE_CPU = 0, /* intervals of time on a processor */
	KYMO_SAMPLE_WALL = 1 /* intervals of time, also while a thread waits; method timer only */
} kymo_sample_clock_t;

typedef enum kymo_sample_method {
	KYMO_SAMPLE_QUIET =
		0, /* perf, which the program cannot notice; of CPython timer, which a thread that waits does not get */
	KYMO_SAMPLE_PERF = 1,
	KYMO_SAMPLE_TIMER = 2
} kymo_sample_method_t;

typedef enum kymo_sample_off_cpu {
	KYMO_OFF_CPU_NONE = 0,
	KYMO_OFF_CPU_BESIDE = 1, /* beside samples */
	KYMO_OFF_CPU_ALONE = 2   /* instead of samples */
} kymo_sample_off_cpu_t;

#define KYMO_SAMPLE_DEPTH 256u /* of a stack, at most */

typedef struct kymo_sample_desc {
	size_t size;          /* sizeof(kymo_sample_desc_t) */
	uint64_t interval_ns; /* 100 us to 10 s; 0: 10 ms */
	kymo_sample_clock_t clock;
	kymo_sample_method_t method;
	uint32_t depth; /* stack entries at most; 0: KYMO_SAMPLE_DEPTH, 1: program counter alone */
	/*
	 * These threads alone, comma separated: numbers of the system, names as the system has them, "main". NULL:
	 * all. A thread that gets its name is sampled from the next 100 ms on. Strings are copied.
	 */
	const char *threads;
	/*
	 * A sample each time that a thread has met so many of these events ("page-faults", "instructions", what
	 * provider perf counts) instead of by time; weights are 0. NULL: by time. Method perf only.
	 */
	const char *event;
	uint64_t event_period; /* 1 at least */
	/*
	 * Also the times in which threads had no processor: records of domain "off_cpu", a published one (publish.h),
	 * on the thread that it happened to. The op says why: "preempted" or what the thread waited for, which is known
	 * of waits that lasted long enough to be looked at, 10 ms; fields name the system call, the file, the futex.
	 * A time is told when it is over or sampling stops. Method perf only.
	 */
	kymo_sample_off_cpu_t off_cpu;
} kymo_sample_desc_t;

/*
 * Samples all threads of the process while the context is started. Contexts with the same
 * description share the work. ERROR_BUSY: another context samples with another description.
 * ERROR_UNSUPPORTED: the method does not work here; kymo_sample_error() says why.
 */
KYMO_EXPORT kymo_status_t kymo_sample_service(kymo_context_t context,
					      const kymo_sample_desc_t *desc);

/* Whether the calling thread is sampled (it is, unless it says otherwise), in all contexts. */
KYMO_EXPORT kymo_status_t kymo_sample_thread(bool sampled);

/* KYMO_OK: the method works here. Else kymo_sample_error() says why not. Starts nothing. */
KYMO_EXPORT kymo_status_t kymo_sample_check(kymo_sample_method_t method);

/* What the last refusal in this thread was about, in words; never NULL. */
KYMO_EXPORT const char *kymo_sample_error(void);

/* ---- kernels on devices ---------------------------------------------------------------------- */

/*
 * Program counters of kernels, sampled by the device itself. Delivered as records of the activity
 * domain "device_sample" into the context's buffer, where a buffer service selects that domain. Op
 * "pc" says how often an instruction was met, and why its warp did not go on (the stall reason; its
 * name: kymo_ref_name()), in the time between the record's start and end; op "lost" what the device or its driver lost.
 *
 * A device that cannot be sampled is left out; a note in the trace says why. Devices are asked when
 * their runtime starts, so this service is never refused for a reason of theirs.
 */
typedef enum kymo_device_sample_mode {
	KYMO_DEVICE_SAMPLE_CONTINUOUS = 0, /* kernels run as ever; samples know only their code */
	KYMO_DEVICE_SAMPLE_SERIALIZED = 1 /* kernels run one at a time; samples know their launch */
} kymo_device_sample_mode_t;

typedef struct kymo_device_sample_desc {
	size_t size; /* sizeof(kymo_device_sample_desc_t) */
	kymo_device_sample_mode_t mode;
	uint32_t period_log2; /* a sample every 2^n cycles of a multiprocessor, 5 to 31; 0: 2^18 */
} kymo_device_sample_desc_t;

/*
 * Samples all devices that can be while the context is started. A device's sampler is exclusive:
 * contexts with the same description share it. ERROR_BUSY: another context samples with another.
 */
KYMO_EXPORT kymo_status_t kymo_device_sample_service(kymo_context_t context,
						     const kymo_device_sample_desc_t *desc);

/* An instruction of a kernel. Strings live as long as the process. */
typedef struct kymo_device_code {
	size_t size; /* sizeof(kymo_device_code_t) */
	const char
		*function; /* the symbol it lies in: a kernel, or a function that was not inlined */
	const char *file;  /* "" where the code has no line information */
	uint32_t line;     /* 0 likewise */
	uint64_t module;   /* checksum of the binary, as the device's vendor forms it */
	uint64_t offset;   /* bytes from the beginning of the function */
} kymo_device_code_t;

/* What field "code" of a record means. ERROR_NOT_FOUND. */
KYMO_EXPORT kymo_status_t kymo_device_code(uint64_t code, kymo_device_code_t *out);

#ifdef __cplusplus
}
#endif
#endif
