/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the CUDA backend share. Calls come from CUPTI's callbacks on the program's
 * threads (call.c, effect.c); device work comes in buffers on a thread of CUPTI's (buffer.c,
 * work.c) and is tied to calls by CUPTI's 32-bit correlation numbers (submission.c).
 */
#ifndef CAPTURE_CUDA_BACKEND_H
#define CAPTURE_CUDA_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/cuda/cupti.h"
#include "capture/cuda/model.h"

/* CUPTI's functions; all zero until it was found. Constant once the backend has started. */
extern struct cupti cupti;

extern void *cuda_library; /* CUPTI, for functions that not every version has */

/* load.c: finds CUPTI and fills `cupti`. False: why not is said in `why`. */
bool cuda_load(char *why, size_t size);

/* door.c */
/* The process in which CUPTI was started; in others (after a fork) it must not be called. */
bool cuda_alive(void);
/* CUPTI is in use; it is not between two recordings (door.c). */
bool cuda_attached(void);
/* Ticks of a time of the clock that CUPTI was given (clock.c). */
uint64_t cuda_clock(void);
uint64_t cuda_default_clock(void); /* CUPTI's own, as long as nobody gives it another */
void cuda_clock_define(void);
void cuda_clock_sync(void);
uint32_t cuda_clock_id(void);
/* Nanoseconds of that clock at a tick, within a microsecond. */
uint64_t cuda_clock_of_tick(uint64_t tick);
void cuda_managed_memory_seen(void);
/* Counting of kernels began or ended: the driver's launches are needed, or not any more. */
void cuda_launches_changed(void);
/* Whether loading of modules is to be told to profile.c. */
void cuda_modules_wanted(bool wanted);
/* The program itself launches kernels by this function of the driver. */
void cuda_driver_used(uint32_t op);
/* By one that nobody listened to, or it is about to. */
void cuda_driver_suspected(void);
/* The runtime launches by the driver, inside a launch that is recorded. */
void cuda_driver_inner_launch(void);
/*
 * A call whose begin CUPTI has told is listened to until it has told the end, whoever wants it: before cuda_call_listen() its
 * frame is open, or it has none and is between cuda_call_open() and cuda_call_close().
 */
void cuda_call_listen(enum cuda_api api, uint32_t op);
void cuda_call_open(enum cuda_api api, uint32_t op);
void cuda_call_close(enum cuda_api api, uint32_t op);
/* CUPTI hands over all that it has, with work that still runs. */
extern _Atomic bool cuda_taking_all;
/* The driver's launches inside the runtime's are to be recorded too. */
extern _Atomic bool cuda_inner_launches;

/* What a collect says of work that is not over (flight.c). */
enum cuda_tell {
	CUDA_TELL_OLD, /* what was submitted a while ago */
	CUDA_TELL_ALL,
	CUDA_TELL_LAST,   /* CUPTI hands over all that it has: what has a record without an end */
	CUDA_TELL_NOTHING /* it is not looked at any more */
};
/* Takes the buffers in which all work is done out of CUPTI's hands; at last all. Returns how much work is not over. */
uint32_t cuda_collect(enum cuda_tell tell);

/* From the collector, each time that it looks: lets go of CUPTI when nothing is wanted any more. */
void cuda_detach_when_idle(void);

/* Gives CUPTI up, for good, for somebody else in the process. False: it was not in use. */
bool cuda_leave(void);

/* Instead of starting: says why. */
void cuda_give_way(const char *why);

/* ---- aside.c ---- */

/* Whether somebody else uses CUPTI here, or is about to: who, in `why`. */
bool cuda_others(char *why, size_t size);
/* Objects that were loaded meanwhile may bring a CUPTI of their own: leaves it to them. */
void cuda_aside_look(void);

/* ---- collector.c ---- */

void cuda_collector_start(void);
/* CUPTI has got a buffer. */
void cuda_collector_wake(void);

/* ---- call.c ---- */

/* CUPTI's number of a function to the op's; false: not in the model. */
bool cuda_op_of(enum cuda_api api, uint32_t cbid, uint32_t *op);
void cuda_calls_init(void);
/* CUPTI was left: what threads know of calls that go on is over. */
void cuda_calls_forget(void);
bool cuda_is_call(const struct cap_op *op);
void cuda_call(enum cuda_api api, uint32_t cbid, const struct cupti_callback *data, const void *sp);

/* This thread is in a call by the runtime of that number which has no frame: nobody recorded it as it began. */
bool cuda_call_passed(uint32_t correlation);

/* The value of an argument before a call; false: there is none. */
bool cuda_argument(const void *params, const struct cuda_place *p, uint64_t *value);

/* ---- effect.c ---- */

/* After a call that has a role: what it allocated, waited for, made. `call`: its id. */
void cuda_effect(const struct cuda_role *role, const struct cap_frame *f, uint64_t call,
		 const struct cupti_callback *data);
void cuda_effects_fork_child(void);

/* ---- submission.c ---- */

/* What can come of a call that submits work, with the op of its records. */
enum cuda_work {
	CUDA_WORK_LAUNCH,
	CUDA_WORK_READ,
	CUDA_WORK_WRITE,
	CUDA_WORK_COPY,
	CUDA_WORK_FILL,
	CUDA_WORKS
};

struct cuda_submission {
	uint64_t start; /* tick of the traced call; 0: not known */
	struct cap_submission submission;
};

bool cuda_submissions_init(void);
/* cuda_submission_put() comes soon: what it writes to is fetched meanwhile. */
void cuda_submission_expect(uint32_t correlation);
/*
 * What the call submits nobody wants, though CUPTI will have records of it. Where the number is that of another call,
 * it tells neither from then on; of a call around this one, it stays that one's.
 */
void cuda_submission_none(uint32_t correlation);
/*
 * `call`, of this thread, is about to submit work: a launch of one kernel, or who knows what. A number
 * that a call had which is not around this one tells neither from then on.
 */
void cuda_submission_put(uint32_t correlation, const struct cap_frame *call, bool launch,
			 const struct cap_subject *subject);
/* It did not. */
void cuda_submission_failed(uint32_t correlation);
/*
 * For one record; the caller ends it. False: not submitted by a traced call, or so long ago that it
 * was forgotten, or for recordings that are over (counted); then it is of the present. So is one of a number that several calls used,
 * which is counted by itself.
 */
bool cuda_submission_get(uint32_t correlation, enum cuda_work work, struct cuda_submission *o);
/* Calls whose latest record came before this tick will have no more. UINT64_MAX: no call will. */
void cuda_submissions_age(uint64_t before);
/* The same for a submission of which there is no record, as what it is for launches or copies. */
bool cuda_submission_peek(uint32_t correlation, bool launch, struct cuda_submission *o);
/* The traced call of a submission; 0: not known (any more). */
uint64_t cuda_submission_call(uint32_t correlation);
/* CUPTI was left: it gives the numbers again. */
void cuda_submissions_forget(void);
void cuda_submissions_fork_child(void);
uint64_t cuda_submissions_missed(void);
uint64_t cuda_submissions_shared(void);

/* ---- flight.c ---- */

bool cuda_flights_init(void);
/* `f` has submitted work and returned. */
void cuda_flight_put(enum cuda_api api, uint32_t op, const struct cap_frame *f,
		     const struct cupti_callback *data);
/* What this thread puts into streams is captured, from here on or no more. */
void cuda_flight_capturing(bool on);
/* There is a record of it. `start`: tick of the call; `complete`: it ran to its end. */
void cuda_flight_over(uint32_t correlation, uint64_t start, bool complete);
/* All that was submitted to a queue, or in a device context, before this tick is over. */
void cuda_flight_queue_waited(uint32_t queue, uint64_t tick);
void cuda_flight_context_waited(uint32_t context, uint64_t tick);
/* CUPTI was left: what was submitted until then has no record any more, and the numbers are given again. */
void cuda_flights_forget(void);
/* What was a kernel, a stream may be another one from here on. */
void cuda_flight_code_unloaded(void);
void cuda_flight_queue_ended(void);
/* Before a collect: sees what is new; returns how many pieces of work are not known to be over. */
uint32_t cuda_flights_gather(void);
/* After one. The first `done` of them are over. Returns how many are not. */
uint32_t cuda_flights_tell(uint32_t done, enum cuda_tell when);
void cuda_flights_fork_child(void);

/* ---- objects.c ---- */

/* Ids of definitions, made when first asked for. Thread-safe. */
uint32_t cuda_agent(uint32_t device);
uint32_t cuda_queue(uint32_t context, uint32_t stream, uint32_t device);
/* The stream that a program names by a handle, in the device context of number `context`. */
uint32_t cuda_queue_of(void *device_context, uint32_t context, void *handle);
uint32_t cuda_kernel(const char *name);
uint32_t cuda_device_context(uint32_t context, uint32_t device, void *handle);
void cuda_queue_made(void *device_context, uint32_t context, void *handle, uint32_t flags,
		     int32_t priority);
void cuda_queue_ended(uint32_t context, void *handle);
void cuda_agent_describe(const struct cupti_device *d);
/* The device of a context seen before. */
uint32_t cuda_device_of(uint32_t context);
/* Devices of which CUPTI told nothing are defined by their numbers. */
void cuda_objects_complete(void);
/* CUPTI was left: it gives contexts and streams other numbers. */
void cuda_objects_forget(void);
void cuda_objects_fork_child(void);

/* ---- buffer.c ---- */

void cuda_buffer_request(uint8_t **buffer, size_t *size, size_t *records);
void cuda_buffer_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			  size_t valid);
uint64_t cuda_dropped(void);
/* How many buffers are in CUPTI's hands. */
unsigned cuda_buffers_given(void);
/* CUPTI was left: what it did not give back is lost. */
void cuda_buffers_forget(void);

/* ---- driver.c ---- */

bool cuda_driver_domain(void);
void cuda_driver_clock_sync(void);
void cuda_jit_record(const struct cupti_jit *j);
void cuda_pool_record(const struct cupti_pool *p);
/* An overhead that is the driver's own. */
void cuda_driver_overhead(uint32_t kind, uint64_t start, uint64_t end);

/* ---- work.c ---- */

void cuda_record(const struct cupti_record *r);

#endif
