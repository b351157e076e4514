/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose events are, in traces of LTTng and THAPI; see foreign.h. Most say it in their context. Those of the kernel often
 * do not: then the thread is the one that the processor has switched to last, and its process is what
 * the kernel told of it, perhaps later.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/ctf/foreign.h"

static void no_memory(struct ctf_reader *r)
{
	r->status = KYMO_ERROR_NO_MEMORY;
	r->done = true;
}

static void set(struct ctf_reader *r, struct map *m, uint64_t key, uint64_t value)
{
	if (!map_set(m, key, value))
		no_memory(r);
}

/* ---- what the event says ---------------------------------------------------------------------- */

const bt_field *foreign_context(const bt_event *e, const char *name)
{
	const bt_field *f = ctf_member(bt_event_borrow_common_context_field_const(e), name);

	if (!f)
		f = ctf_member(bt_event_borrow_specific_context_field_const(e), name);
	return f;
}

static const bt_value *environment(const bt_event *e, const char *name)
{
	return bt_trace_borrow_environment_entry_value_by_name_const(
		bt_stream_borrow_trace_const(bt_event_borrow_stream_const(e)), name);
}

static const char *environment_text(const bt_event *e, const char *name)
{
	const bt_value *v = environment(e, name);

	return v && bt_value_is_string(v) ? bt_value_string_get(v) : "";
}

static bool number(const bt_event *e, const char *a, const char *b, uint64_t *out)
{
	return ctf_number(foreign_context(e, a), out) || ctf_number(foreign_context(e, b), out);
}

/* Where buffers are of one process each, the trace says of which. */
static bool process_number(const bt_event *e, uint64_t *out)
{
	const bt_value *v;

	if (number(e, "vpid", "pid", out))
		return true;
	v = environment(e, "vpid");
	if (!v || !bt_value_is_signed_integer(v))
		return false;
	*out = (uint64_t)bt_value_integer_signed_get(v);
	return true;
}

static const char *host_of(const bt_event *e)
{
	const char *own = ctf_text(foreign_context(e, "hostname"));

	return own ? own : environment_text(e, "hostname");
}

static uint64_t processor_of(const bt_event *e)
{
	const bt_packet *packet = bt_event_borrow_packet_const(e);
	uint64_t n = 0;

	if (packet)
		ctf_number(ctf_member(bt_packet_borrow_context_field_const(packet), "cpu_id"), &n);
	return n;
}

/* ---- processes -------------------------------------------------------------------------------- */

static uint32_t process_named(struct ctf_reader *r, const char *host, uint64_t pid)
{
	uint32_t p =
		keyed_process(&r->foreign->keyed, hash_mix(hash_string(host), pid), (uint32_t)pid);
	struct t_process *process = &r->t->processes[p];

	if (r->defining && p && !*process->hostname)
		process->hostname =
			trace_string(r->t, *host ? host : "?", *host ? strlen(host) : 1);
	return p;
}

uint32_t foreign_process(struct ctf_reader *r, const bt_event *e)
{
	uint64_t pid = 0;

	process_number(e, &pid);
	return process_named(r, host_of(e), pid);
}

void foreign_name_process(struct ctf_reader *r, uint32_t process, const char *name,
			  enum foreign_namer by)
{
	struct map *m = &r->foreign->named;
	struct t_process *p = &r->t->processes[process];

	if (!r->defining || !process || !name || !*name || map_get(m, process) > by ||
	    strcmp(p->exe, name) == 0)
		return;
	p->exe = trace_string(r->t, name, strlen(name));
	set(r, m, process, by);
}

/* ---- threads ---------------------------------------------------------------------------------- */

struct who {
	const char *host;
	uint64_t pid, tid, key;
	bool process; /* `pid` is known */
};

static struct foreign_thread *add(struct ctf_reader *r, const struct who *w)
{
	struct ctf_foreign *f = r->foreign;
	struct foreign_thread *t;

	if (!vec_reserve(&f->threads, &f->thread_room, f->thread_count, 1)) {
		no_memory(r);
		return NULL;
	}
	set(r, &f->by_key, w->key, f->thread_count + 1);
	t = &f->threads[f->thread_count++];
	*t = (struct foreign_thread){.tid = w->tid, .placed = w->process};
	t->host = trace_string(r->t, w->host, strlen(w->host));
	t->process = w->process ? process_named(r, w->host, w->pid) : 0;
	t->thread = keyed_thread(&f->keyed, w->key, t->process, (uint32_t)w->tid);
	return t;
}

static struct foreign_thread *find(struct ctf_reader *r, const struct who *w)
{
	uint64_t place = map_get(&r->foreign->by_key, w->key);

	return place ? &r->foreign->threads[place - 1] : add(r, w);
}

static void name_thread(struct ctf_reader *r, const struct foreign_thread *t, const char *name)
{
	struct t_thread *thread = &r->t->threads[t->thread];

	if (r->defining && t->thread && name && *name && strcmp(thread->name, name) != 0)
		thread->name = trace_string(r->t, name, strlen(name));
}

/* Of threads that are not the main one the first. */
static void name_by_thread(struct ctf_reader *r, const struct foreign_thread *t, const char *name)
{
	const struct t_process *p = &r->t->processes[t->process];

	if (t->tid == p->pid && t->tid)
		foreign_name_process(r, t->process, name, NAMER_MAIN_THREAD);
	else if (!*p->exe)
		foreign_name_process(r, t->process, name, NAMER_THREAD);
}

/* Number of a thread of the kernel: each processor has its own that does nothing. */
static uint64_t kernel_key(const char *host, uint64_t tid, uint64_t processor)
{
	return hash_mix(hash_mix(hash_string(host), UINT64_MAX), tid ? tid : ~processor);
}

static uint64_t processor_key(const char *host, uint64_t processor)
{
	return hash_mix(hash_mix(hash_string(host), UINT64_MAX - 1), processor);
}

static void name_by_processor(struct ctf_reader *r, const struct foreign_thread *t,
			      const char *what, uint64_t processor)
{
	char name[40];

	if (!r->defining || *r->t->threads[t->thread].name)
		return;
	snprintf(name, sizeof(name), "%s%llu", what, (unsigned long long)processor);
	name_thread(r, t, name);
}

struct foreign_thread *foreign_thread_running(struct ctf_reader *r, const bt_event *e)
{
	const char *host = host_of(e);
	uint64_t processor = processor_of(e), at = processor_key(host, processor);
	uint64_t tid = map_get(&r->foreign->running, at);
	struct who w = {.host = host, .tid = tid - 1, .key = at};
	struct foreign_thread *t;

	if (tid)
		w.key = kernel_key(host, tid - 1, processor);
	else
		w.tid = processor; /* until it is known who ran there first */
	t = find(r, &w);
	if (t && tid <= 1)
		name_by_processor(r, t, tid ? "swapper/" : "processor ", processor);
	return t;
}

struct foreign_thread *foreign_thread(struct ctf_reader *r, const bt_event *e)
{
	struct who w = {.host = host_of(e)};
	const char *name = ctf_text(foreign_context(e, "procname"));
	struct foreign_thread *t;

	w.process = process_number(e, &w.pid);
	if (!number(e, "vtid", "tid", &w.tid)) {
		if (strcmp(environment_text(e, "domain"), "kernel") == 0)
			return foreign_thread_running(r, e);
		w.tid = processor_of(e);
	} else if (strcmp(environment_text(e, "domain"), "kernel") == 0) {
		w.key = kernel_key(w.host, w.tid, processor_of(e));
	}
	if (!w.key) {
		w.process = true;
		w.key = hash_mix(hash_mix(hash_string(w.host), w.pid), w.tid);
	}
	t = find(r, &w);
	if (t && w.process && !*r->t->processes[t->process].exe)
		foreign_name_process(r, t->process, environment_text(e, "procname"), NAMER_THREAD);
	if (t && name) {
		name_thread(r, t, name);
		if (w.process)
			name_by_thread(r, t, name);
	}
	return t;
}

/* ---- of the kernel ---------------------------------------------------------------------------- */

struct foreign_thread *foreign_switch(struct ctf_reader *r, const bt_event *e, uint64_t from,
				      uint64_t to)
{
	const char *host = host_of(e);
	uint64_t processor = processor_of(e), at = processor_key(host, processor), place;
	struct who w = {.host = host, .tid = from, .key = kernel_key(host, from, processor)};
	struct ctf_foreign *f = r->foreign;
	struct foreign_thread *t;

	place = map_get(&f->running, at) ? 0 : map_get(&f->by_key, at);
	if (place && !map_get(&f->by_key, w.key)) { /* now it is known who that was */
		f->threads[place - 1].tid = from;
		set(r, &f->by_key, w.key, place);
		if (r->defining) {
			r->t->threads[f->threads[place - 1].thread].tid = (uint32_t)from;
			r->t->threads[f->threads[place - 1].thread].name = "";
		}
	}
	set(r, &f->running, at, to + 1);
	t = find(r, &w);
	if (t && !from)
		name_by_processor(r, t, "swapper/", processor);
	return t;
}

void foreign_kernel_task(struct ctf_reader *r, const bt_event *e, uint64_t tid, uint64_t pid,
			 const char *name)
{
	const char *host = host_of(e);
	uint64_t key = hash_mix(hash_string(host), tid);

	if (!r->defining || !tid)
		return;
	if (pid != FOREIGN_NO_PROCESS)
		set(r, &r->foreign->pids, key, pid + 1);
	if (name && *name)
		set(r, &r->foreign->names_of_tasks, key,
		    keyed_text(&r->foreign->keyed, name, strlen(name)));
}

/* Threads whose process was told later, or never, get theirs. */
void foreign_threads_place(struct ctf_reader *r)
{
	struct ctf_foreign *f = r->foreign;

	for (uint32_t i = 0; i < f->thread_count; i++) {
		struct foreign_thread *t = &f->threads[i];
		uint64_t key = hash_mix(hash_string(t->host), t->tid);
		uint64_t pid = map_get(&f->pids, key), name = map_get(&f->names_of_tasks, key);

		if (name)
			name_thread(r, t, keyed_string(&f->keyed, (uint32_t)name));
		if (t->placed)
			continue;
		pid = pid ? pid - 1 : t->tid;
		t->process = process_named(r, t->host, pid);
		t->placed = true;
		r->t->threads[t->thread].process = t->process;
	}
	for (uint32_t i = 0; i < f->thread_count; i++) {
		const struct foreign_thread *t = &f->threads[i];

		name_by_thread(r, t, r->t->threads[t->thread].name);
	}
}
