/* SPDX-License-Identifier: Apache-2.0 */
/* Events of programs and what they say of regions; which events there are. See reader.h. */
#include <stdlib.h>
#include <string.h>

#include "base/bulk.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/vec.h"
#include "formats/otf2/reader.h"
#include "wire/defs.h"

enum { SECOND = 1000000000 };
#define DAY       (INT64_C(86400) * SECOND)
#define TIME_MAX_ (INT64_C(1) << 61)

/* ---- times ----------------------------------------------------------------------------------- */

/* The trace begins with its first second: before 0 there is no time. */
int64_t otf2r_time(const struct reader *r, uint64_t ticks)
{
	bool before = ticks < r->first;
	uint64_t away = before ? r->first - ticks : ticks - r->first;
	__extension__ unsigned __int128 ns =
		r->resolution == SECOND
			? away
			: (unsigned __int128)away * SECOND / (r->resolution ? r->resolution : 1);

	if (ns > TIME_MAX_)
		ns = TIME_MAX_;
	return before ? SECOND - (int64_t)ns : SECOND + (int64_t)ns;
}

/* The clock says when the trace began, if that can be. */
static void begin_time(struct reader *r, uint64_t ticks)
{
	int64_t declared;

	r->any = true;
	r->first = ticks;
	declared = otf2r_time(r, r->offset);
	if (r->offset < ticks && declared > SECOND - DAY)
		r->first = r->offset;
	r->begin = r->now = SECOND;
}

struct place *otf2r_event(struct reader *r, uint64_t location, uint64_t ticks)
{
	uint32_t i = otf2r_at(&r->places_at, location);
	int64_t time;

	r->events++;
	if (!i) {
		unplaced_add(&r->unplaced, "events of locations that are not defined", 1);
		return NULL;
	}
	if (!r->any)
		begin_time(r, ticks);
	time = otf2r_time(r, ticks);
	if (time == SECOND + TIME_MAX_) {
		unplaced_add(&r->unplaced, "events whose time is none", 1);
		return NULL;
	}
	if (time < r->now)
		unplaced_add(&r->unplaced, "times before those of earlier events", 1);
	else
		r->now = time;
	r->end = r->now;
	return &r->places[i - 1];
}

static OTF2_CallbackCode code_of(const struct reader *r)
{
	return r->status == KYMO_OK && !r->emptied ? OTF2_CALLBACK_SUCCESS
						   : OTF2_CALLBACK_INTERRUPT;
}

/* ---- regions --------------------------------------------------------------------------------- */

static OTF2_CallbackCode on_enter(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				  OTF2_AttributeList *a, OTF2_RegionRef region)
{
	struct place *p = otf2r_event(data, l, t);

	if (p)
		otf2r_enter(data, p, otf2r_at(&((struct reader *)data)->regions_at, region), a);
	return code_of(data);
}

static OTF2_CallbackCode on_leave(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				  OTF2_AttributeList *a, OTF2_RegionRef region)
{
	struct place *p = otf2r_event(data, l, t);

	if (p)
		otf2r_leave(data, p, otf2r_at(&((struct reader *)data)->regions_at, region), a);
	return code_of(data);
}

/* ---- what is said of the region -------------------------------------------------------------- */

/* Score-P's names of how a kernel was launched. */
static uint32_t *size_named(struct frame *f, const char *name)
{
	static const char *const names[] = {"CUDA_GRID_X",  "CUDA_GRID_Y",  "CUDA_GRID_Z",
					    "CUDA_BLOCK_X", "CUDA_BLOCK_Y", "CUDA_BLOCK_Z"};

	for (unsigned i = 0; i < 6; i++)
		if (strcasecmp(names[i], name) == 0)
			return &f->sizes[i];
	return NULL;
}

static bool take_size(struct frame *f, const char *name, uint64_t value)
{
	uint32_t *size = size_named(f, name);

	if (size)
		*size = value <= UINT32_MAX ? (uint32_t)value : 0;
	else if (strcasestr(name, "shared") && strcasestr(name, "static"))
		f->launch.static_shared = value;
	else if (strcasestr(name, "shared") && strcasestr(name, "dyn"))
		f->launch.dynamic_shared = value;
	else if (strcasestr(name, "register"))
		f->launch.registers = value;
	else
		return false;
	return true;
}

/* A hash of the call path, of a launch and of its kernel: the n-th of the one is of the n-th of the other. */
static void take_site(struct reader *r, struct place *p, uint64_t site)
{
	struct frame *f = p->depth ? &p->frames[p->depth - 1] : NULL;
	struct begun *w;

	if (p->queue) {
		if (f)
			f->site = site;
		else
			p->site = site;
		return;
	}
	f = otf2r_call(p);
	if (!f)
		return;
	w = otf2r_wait(r, &r->launches, hash_mix(hash_u64(p->process), site));
	if (!w)
		return;
	w->start = f->start;
	w->call = f->id;
	w->thread = p->thread;
	w->scope = otf2r_scope(p);
	w->communicator = f->region;
}

static void parameter(struct reader *r, struct place *p, uint32_t ref, uint8_t kind, uint64_t value,
		      const char *text)
{
	uint32_t i = otf2r_at(&r->parameters_at, ref);
	const char *name = i ? r->parameters[i - 1].name : "";
	struct frame *f = p->depth ? &p->frames[p->depth - 1] : NULL;

	if (kind == KYMO_KIND_UNSIGNED && strcmp(name, "callsite id") == 0) {
		take_site(r, p, value);
		return;
	}
	if (f && f->kind == FRAME_KERNEL && !text && take_size(f, name, value))
		return;
	otf2r_argument(r, p, UINT64_C(1) << 32 | ref, name, kind, value, text);
}

static OTF2_CallbackCode on_parameter_string(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
					     OTF2_AttributeList *a, OTF2_ParameterRef ref,
					     OTF2_StringRef s)
{
	struct place *p = otf2r_event(data, l, t);

	if (p)
		parameter(data, p, ref, KYMO_KIND_STRING, 0, otf2r_text(data, s));
	return code_of(data);
}

static OTF2_CallbackCode on_parameter_int(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
					  OTF2_AttributeList *a, OTF2_ParameterRef ref,
					  int64_t value)
{
	struct place *p = otf2r_event(data, l, t);

	if (p)
		parameter(data, p, ref, KYMO_KIND_SIGNED, (uint64_t)value, NULL);
	return code_of(data);
}

static OTF2_CallbackCode on_parameter_unsigned(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
					       OTF2_AttributeList *a, OTF2_ParameterRef ref,
					       uint64_t value)
{
	struct place *p = otf2r_event(data, l, t);

	if (p)
		parameter(data, p, ref, KYMO_KIND_UNSIGNED, value, NULL);
	return code_of(data);
}

/* ---- calling contexts ------------------------------------------------------------------------ */

/* Place + 1. */
static uint32_t region_of_context(const struct reader *r, uint32_t context)
{
	uint32_t i = otf2r_at(&r->contexts_at, context);

	return i ? r->contexts[i - 1].region : 0;
}

static OTF2_CallbackCode on_context_enter(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
					  OTF2_AttributeList *a, OTF2_CallingContextRef context,
					  uint32_t unwind)
{
	struct place *p = otf2r_event(data, l, t);

	if (p)
		otf2r_enter(data, p, region_of_context(data, context), a);
	return code_of(data);
}

static OTF2_CallbackCode on_context_leave(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
					  OTF2_AttributeList *a, OTF2_CallingContextRef context)
{
	struct place *p = otf2r_event(data, l, t);

	if (p)
		otf2r_leave(data, p, region_of_context(data, context), a);
	return code_of(data);
}

/* ---- the program ----------------------------------------------------------------------------- */

static void pause(struct reader *r, const struct place *p, int64_t start, int64_t end)
{
	if (!r->sink && end > start)
		*trace_add(r->t, pauses) = (struct t_pause){p->process, start, end};
}

static OTF2_CallbackCode on_measurement(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
					OTF2_AttributeList *a, OTF2_MeasurementMode mode)
{
	struct reader *r = data;
	struct place *p = otf2r_event(r, l, t);

	if (p && mode == OTF2_MEASUREMENT_OFF && !p->off)
		p->off = r->now;
	if (p && mode == OTF2_MEASUREMENT_ON && p->off) {
		pause(r, p, p->off, r->now);
		p->off = 0;
	}
	return code_of(r);
}

/* Of Kymo records that are lost; of others the time in which the measurement wrote its buffer. */
static OTF2_CallbackCode on_flush(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				  OTF2_AttributeList *a, OTF2_TimeStamp stop)
{
	struct reader *r = data;
	struct place *p = otf2r_event(r, l, t);
	struct said said = {0};
	struct rec_loss loss;
	int64_t end;

	if (!p)
		return code_of(r);
	otf2r_attributes(r, NULL, a, &said);
	end = otf2r_time(r, stop);
	end = end > r->now && end < TIME_MAX_ ? end : r->now;
	if (!said_has(&said, ATTRIBUTE_LOST)) {
		pause(r, p, r->now, end);
		return code_of(r);
	}
	loss = (struct rec_loss){
		.process = p->process,
		.thread = p->thread,
		.count = said.of[ATTRIBUTE_LOST] < COUNT_MAX ? said.of[ATTRIBUTE_LOST] : COUNT_MAX,
		.after = r->now,
		.before = end};
	OTF2R_EMIT(r, loss, &loss);
	return code_of(r);
}

static OTF2_CallbackCode on_program_begin(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
					  OTF2_AttributeList *a, OTF2_StringRef name,
					  uint32_t count, const OTF2_StringRef *arguments)
{
	struct reader *r = data;
	struct place *p = otf2r_event(r, l, t);
	struct text words = {0};
	struct t_process *x;

	if (!p || r->sink)
		return code_of(r);
	x = &r->t->processes[p->process];
	x->exe = otf2r_text(r, name);
	x->start = r->now;
	text_add_shell(&words, x->exe);
	for (uint32_t i = 0; i < count && words.length < 65536; i++) {
		text_add(&words, " ");
		text_add_shell(&words, otf2r_text(r, arguments[i]));
	}
	if (words.s)
		x->argv = trace_string(r->t, words.s, words.length);
	text_release(&words);
	return code_of(r);
}

static OTF2_CallbackCode on_program_end(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
					OTF2_AttributeList *a, int64_t status)
{
	struct reader *r = data;
	struct place *p = otf2r_event(r, l, t);
	struct t_process *x;

	if (!p || r->sink)
		return code_of(r);
	x = &r->t->processes[p->process];
	x->end = r->now;
	x->rank_stage = RANK_FINALIZING; /* of a rank: all its messages are there */
	if (status != OTF2_UNDEFINED_INT64 && status >= 0 && status <= 255) {
		x->how_ended = 0;
		x->exit_status = (int32_t)status;
	}
	return code_of(r);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { SAID_THREADS, SAID_TASK, SAID_LOCK, SAID_HANDLE, SAID_BYTES, SAID_DONE };

/* What an event says of the call that it lies in, which is there as well: an argument of that. */
static void say(struct reader *r, struct place *p, unsigned what, uint64_t value)
{
	static const char *const names[] = {"requested_threads", "task", "lock", "handle", "bytes",
					    "bytes_done"};

	if (p && p->depth && p->frames[p->depth - 1].kind == FRAME_CALL)
		otf2r_argument(r, p, UINT64_C(2) << 32 | what, names[what], KYMO_KIND_UNSIGNED,
			       value, NULL);
	else if (p)
		unplaced_add(&r->unplaced, "events of threads, tasks and files outside of calls",
			     1);
}

static OTF2_CallbackCode on_fork(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				 OTF2_AttributeList *a, OTF2_Paradigm paradigm, uint32_t threads)
{
	say(data, otf2r_event(data, l, t), SAID_THREADS, threads);
	return code_of(data);
}

static OTF2_CallbackCode on_omp_fork(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				     OTF2_AttributeList *a, uint32_t threads)
{
	say(data, otf2r_event(data, l, t), SAID_THREADS, threads);
	return code_of(data);
}

static OTF2_CallbackCode on_task(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				 OTF2_AttributeList *a, OTF2_CommRef team, uint32_t thread,
				 uint32_t task)
{
	struct place *p = otf2r_event(data, l, t);

	if (p && p->depth) /* outside of all they switch back to the implicit task */
		say(data, p, SAID_TASK, task);
	return code_of(data);
}

static OTF2_CallbackCode on_omp_task(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				     OTF2_AttributeList *a, uint64_t task)
{
	struct place *p = otf2r_event(data, l, t);

	if (p && p->depth)
		say(data, p, SAID_TASK, task);
	return code_of(data);
}

static OTF2_CallbackCode on_lock(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				 OTF2_AttributeList *a, OTF2_Paradigm paradigm, uint32_t lock,
				 uint32_t order)
{
	say(data, otf2r_event(data, l, t), SAID_LOCK, lock);
	return code_of(data);
}

static OTF2_CallbackCode on_omp_lock(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
				     OTF2_AttributeList *a, uint32_t lock, uint32_t order)
{
	say(data, otf2r_event(data, l, t), SAID_LOCK, lock);
	return code_of(data);
}

static OTF2_CallbackCode on_io(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
			       OTF2_AttributeList *a, OTF2_IoHandleRef handle,
			       OTF2_IoOperationMode mode, OTF2_IoOperationFlag flags,
			       uint64_t bytes, uint64_t id)
{
	struct place *p = otf2r_event(data, l, t);

	say(data, p, SAID_HANDLE, handle);
	if (p && bytes != OTF2_UNDEFINED_UINT64)
		say(data, p, SAID_BYTES, bytes);
	return code_of(data);
}

static OTF2_CallbackCode on_io_complete(OTF2_LocationRef l, OTF2_TimeStamp t, void *data,
					OTF2_AttributeList *a, OTF2_IoHandleRef handle,
					uint64_t bytes, uint64_t id)
{
	struct place *p = otf2r_event(data, l, t);

	if (p && bytes != OTF2_UNDEFINED_UINT64)
		say(data, p, SAID_DONE, bytes);
	return code_of(data);
}

/* ---- the whole ------------------------------------------------------------------------------- */

OTF2_GlobalEvtReaderCallbacks *otf2r_listen(void)
{
	OTF2_GlobalEvtReaderCallbacks *c = OTF2_GlobalEvtReaderCallbacks_New();

	if (!c)
		return NULL;
	OTF2_GlobalEvtReaderCallbacks_SetEnterCallback(c, on_enter);
	OTF2_GlobalEvtReaderCallbacks_SetLeaveCallback(c, on_leave);
	OTF2_GlobalEvtReaderCallbacks_SetParameterStringCallback(c, on_parameter_string);
	OTF2_GlobalEvtReaderCallbacks_SetParameterIntCallback(c, on_parameter_int);
	OTF2_GlobalEvtReaderCallbacks_SetParameterUnsignedIntCallback(c, on_parameter_unsigned);
	OTF2_GlobalEvtReaderCallbacks_SetCallingContextEnterCallback(c, on_context_enter);
	OTF2_GlobalEvtReaderCallbacks_SetCallingContextLeaveCallback(c, on_context_leave);
	OTF2_GlobalEvtReaderCallbacks_SetMeasurementOnOffCallback(c, on_measurement);
	OTF2_GlobalEvtReaderCallbacks_SetBufferFlushCallback(c, on_flush);
	OTF2_GlobalEvtReaderCallbacks_SetProgramBeginCallback(c, on_program_begin);
	OTF2_GlobalEvtReaderCallbacks_SetProgramEndCallback(c, on_program_end);
	OTF2_GlobalEvtReaderCallbacks_SetThreadForkCallback(c, on_fork);
	OTF2_GlobalEvtReaderCallbacks_SetOmpForkCallback(c, on_omp_fork);
	OTF2_GlobalEvtReaderCallbacks_SetThreadTaskCreateCallback(c, on_task);
	OTF2_GlobalEvtReaderCallbacks_SetThreadTaskSwitchCallback(c, on_task);
	OTF2_GlobalEvtReaderCallbacks_SetOmpTaskCreateCallback(c, on_omp_task);
	OTF2_GlobalEvtReaderCallbacks_SetOmpTaskSwitchCallback(c, on_omp_task);
	OTF2_GlobalEvtReaderCallbacks_SetThreadAcquireLockCallback(c, on_lock);
	OTF2_GlobalEvtReaderCallbacks_SetThreadReleaseLockCallback(c, on_lock);
	OTF2_GlobalEvtReaderCallbacks_SetOmpAcquireLockCallback(c, on_omp_lock);
	OTF2_GlobalEvtReaderCallbacks_SetOmpReleaseLockCallback(c, on_omp_lock);
	OTF2_GlobalEvtReaderCallbacks_SetIoOperationBeginCallback(c, on_io);
	OTF2_GlobalEvtReaderCallbacks_SetIoOperationCompleteCallback(c, on_io_complete);
	otf2r_listen_transfers(c);
	otf2r_listen_mpi(c);
	otf2r_listen_metrics(c);
	otf2r_listen_samples(c);
	otf2r_listen_others(c);
	return c;
}

/* What is open when the archive ends. */
void otf2r_finish(struct reader *r)
{
	for (uint32_t i = 0; i < r->places_count && r->status == KYMO_OK; i++) {
		struct place *p = &r->places[i];

		otf2r_left_open(r, p);
		if (p->off)
			pause(r, p, p->off, r->end);
	}
	otf2r_left_messages(r);
	for (uint32_t i = 0; i < r->transfers.count; i++) {
		const struct begun *w = &r->transfers.items[i];

		if (map_get(&r->transfers.heads, w->key) == i + UINT64_C(1))
			unplaced_add(&r->unplaced, "transfers that did not end", 1);
	}
}

/* As before the first event: all is read once more. */
void otf2r_start_over(struct reader *r)
{
	for (uint32_t i = 0; i < r->places_count; i++) {
		struct place *p = &r->places[i];

		p->depth = p->argument_count = p->send_count = 0;
		p->off = p->collective = 0;
		p->site = 0;
	}
	otf2r_release_waiting(&r->transfers);
	otf2r_release_waiting(&r->requests);
	otf2r_release_waiting(&r->launches);
	bulk_map_release(&r->call_at);
	map_release(&r->last_values);
	map_release(&r->live);
	r->call_count = 0;
	r->allocations = 0;
	r->opens = r->unfinished = 0;
	r->events = 0;
	r->now = r->begin;
	r->unplaced = r->defined;
	for (uint32_t i = 0; i < r->t->processes_count; i++)
		r->next[i] = r->largest[i];
}
