/* SPDX-License-Identifier: Apache-2.0 */
/* Tools: finding and registering them, taking them out, calling them back. */
#include "core/context/context.h"
#include "core/deliver/deliver.h"
#include "core/deliver/pass.h"
#include "core/process/process.h"
#include "core/publish/publish.h"
#include "core/ring/ring.h"
#include "core/tool/tool.h"
#include "core/activity/submission.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/elf.h"
#include "base/variables.h"
#include "base/vec.h"

struct tool {
	kymo_configure_fn configure;
	const kymo_tool_t *tool; /* NULL: it did not want to, or is gone */
	void *pin;               /* keeps its library loaded, or NULL */
	uint32_t priority;
	bool over; /* it has heard of the end */
	struct tool *next;
};

/* In order of registration, under `lock`; entries are never freed. */
static struct tool *tools;
static uint32_t tool_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The tool whose function runs on this thread. */
static _Thread_local const void *current __attribute__((tls_model("initial-exec")));
static _Thread_local const struct core_callback_info *telling
	__attribute__((tls_model("initial-exec")));

const struct core_callback_info *core_callback_current(void)
{
	return telling;
}

const void *core_tool_current(void)
{
	return current;
}

const void *core_tool_enter(const void *tool)
{
	const void *outer = current;

	current = tool;
	return outer;
}

kymo_status_t kymo_client_info(kymo_client_info_t *out)
{
	const struct tool *own = current;
	uint32_t count = 0;

	if (!out)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (out->size < sizeof(*out))
		return KYMO_ERROR_INCOMPATIBLE;
	if (!own)
		return KYMO_ERROR_STATE;
	pthread_mutex_lock(&lock);
	for (const struct tool *t = tools; t; t = t->next)
		count += t->tool != NULL;
	*out = (kymo_client_info_t){.size = sizeof(*out),
				    .name = own->tool && own->tool->name ? own->tool->name : "",
				    .id = own->priority + 1,
				    .priority = own->priority,
				    .tools = count};
	pthread_mutex_unlock(&lock);
	return KYMO_OK;
}

/* ---- registering ---- */

/* False: registered already. */
static bool add_tool(kymo_configure_fn configure, struct tool **out, uint32_t *priority)
{
	struct tool **link = &tools, *t = NULL;
	bool fresh = true;

	pthread_mutex_lock(&lock);
	for (; *link && fresh; link = &(*link)->next) {
		fresh = (*link)->configure != configure;
		t = (*link)->configure ? t : *link; /* gone: used again */
	}
	if (fresh && !t)
		t = *link = calloc(1, sizeof(*t));
	if (fresh && t) {
		t->configure = configure;
		t->over = false;
		*priority = t->priority = tool_count++;
	}
	pthread_mutex_unlock(&lock);
	*out = t;
	return fresh;
}

/* It may be configured again later. */
static void forget_tool(struct tool *t)
{
	pthread_mutex_lock(&lock);
	t->configure = NULL;
	t->tool = NULL;
	pthread_mutex_unlock(&lock);
}

/* The object that holds the function is not unloaded under us. */
static void *pin_library(kymo_configure_fn configure)
{
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)configure, &info) || !info.dli_fname)
		return NULL;
	return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

static void set_tool(struct tool *t, const kymo_tool_t *tool)
{
	pthread_mutex_lock(&lock);
	t->tool = tool;
	pthread_mutex_unlock(&lock);
}

static _Thread_local bool initializing;

bool core_tool_initializing(void)
{
	return initializing;
}

static kymo_status_t configure_tool(struct tool *t, const kymo_tool_t *tool)
{
	kymo_status_t status = KYMO_OK;
	uint32_t caught = core_caught();

	if (tool->size < sizeof(*tool) || !core_size_known(tool, sizeof(*tool)))
		return core_refuse_size();
	t->pin = pin_library(t->configure);
	set_tool(t, tool);
	initializing = true;
	if (tool->initialize)
		status = (kymo_status_t)core_contained(CORE_FUNCTION(tool->initialize),
						       CORE_ARGUMENT(tool->data), 0, 0);
	initializing = false;
	if (core_caught() != caught)
		status = KYMO_ERROR_STATE;
	if (status == KYMO_OK)
		return KYMO_OK;
	cap_note(2, "core", "tool %s switched itself off: %s", tool->name ? tool->name : "?",
		 kymo_status_text(status));
	core_contexts_destroy_of(t);
	set_tool(t, NULL);
	return KYMO_OK;
}

static kymo_status_t force_configure(kymo_configure_fn configure)
{
	kymo_status_t status = core_changeable();
	const void *outer = current;
	const kymo_tool_t *tool;
	uint32_t priority = 0;
	struct tool *t;

	if (!configure)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (status != KYMO_OK)
		return status;
	if (core_selecting())
		return KYMO_ERROR_STATE;
	if (!add_tool(configure, &t, &priority))
		return KYMO_OK;
	if (!t)
		return KYMO_ERROR_NO_MEMORY;
	current = t;
	tool = (const kymo_tool_t *)(uintptr_t)core_contained(
		CORE_FUNCTION(configure), KYMO_TOOL_VERSION, CORE_ARGUMENT(KYMO_VERSION), priority);
	if (tool)
		status = configure_tool(t, tool);
	current = outer;
	if (status != KYMO_OK)
		forget_tool(t);
	return status;
}

kymo_status_t kymo_force_configure(kymo_configure_fn configure)
{
	struct cap_timed spent;
	kymo_status_t status;

	core_spent_begin(&spent);
	status = force_configure(configure);
	core_spent_end(&spent);
	return status;
}

/* Calls a function that has the tool's data alone. */
static void call_tool(struct tool *t, void (*fn)(void *), void *data)
{
	const void *outer = current;

	current = t;
	if (fn)
		core_contained(CORE_FUNCTION(fn), CORE_ARGUMENT(data), 0, 0);
	current = outer;
}

static struct tool *find_tool(const kymo_tool_t *tool)
{
	struct tool *found = NULL;

	for (struct tool *t = tools; t && !found; t = t->next)
		if (t->tool == tool)
			found = t;
	return found;
}

/* From here on it is found no more. */
static kymo_status_t take_tool(const kymo_tool_t *tool, struct tool **out, void **library,
			       bool *over)
{
	struct tool *found;
	bool inside;

	pthread_mutex_lock(&lock);
	found = find_tool(tool);
	pthread_mutex_unlock(&lock);
	inside = found && core_contexts_inside(found);
	pthread_mutex_lock(&lock);
	found = inside ? NULL : find_tool(tool);
	if (found) {
		*library = found->pin;
		*over = found->over;
		found->pin = NULL;
		found->tool = NULL;
	}
	pthread_mutex_unlock(&lock);
	*out = found;
	return inside ? KYMO_ERROR_BUSY : found ? KYMO_OK : KYMO_ERROR_NOT_FOUND;
}

kymo_status_t kymo_tool_detach(const kymo_tool_t *tool)
{
	kymo_status_t status = core_changeable();
	void *library = NULL;
	struct tool *t = NULL;
	bool over = false;

	if (!tool)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (status == KYMO_OK && core_selecting())
		status = KYMO_ERROR_STATE;
	if (status == KYMO_OK)
		status = take_tool(tool, &t, &library, &over);
	if (status != KYMO_OK)
		return status;
	call_tool(t, over ? NULL : tool->finalize, tool->data);
	core_contexts_destroy_of(t);
	forget_tool(t);
	if (library && current != t && !core_inside_callback())
		dlclose(library);
	return KYMO_OK;
}

/* ---- finding ---- */

static void load_library(const char *path)
{
	void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	kymo_configure_fn f = h ? (kymo_configure_fn)dlsym(h, "kymo_configure") : NULL;

	if (!h)
		cap_note(2, "core", "tool library %s was not loaded: %s", path, dlerror());
	else if (!f)
		cap_note(2, "core", "tool library %s exports no kymo_configure", path);
	else
		kymo_force_configure(f);
}

static void load_list(void)
{
	const char *list = variable("KYMO_TOOLS");
	char *copy = list ? strdup(list) : NULL, *save = NULL;

	for (char *p = copy ? strtok_r(copy, ":", &save) : NULL; p; p = strtok_r(NULL, ":", &save))
		load_library(p);
	free(copy);
}

/* Objects that were loaded since the last look and export kymo_configure. */
static void find_tools(void)
{
	void *found[64];
	unsigned n = elf_find_everywhere("kymo_configure", found, 64);

	for (unsigned i = 0; i < n; i++)
		kymo_force_configure((kymo_configure_fn)(uintptr_t)found[i]);
}

void core_tools_discover(void)
{
	static _Atomic bool loaded;
	static _Atomic uint64_t seen;
	uint64_t objects = elf_objects_loaded();
	int saved = errno;

	if (atomic_exchange(&seen, objects) != objects)
		find_tools();
	if (!atomic_exchange(&loaded, true))
		load_list();
	errno = saved;
}

/* ---- children and the end ---- */

static struct tool *next_tool(struct tool *t)
{
	struct tool *next;

	pthread_mutex_lock(&lock);
	next = t ? t->next : tools;
	pthread_mutex_unlock(&lock);
	return next;
}

void core_tools_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	for (struct tool *t = next_tool(NULL); t; t = next_tool(t)) {
		const kymo_tool_t *tool = t->tool;

		if (tool)
			call_tool(t, tool->fork_child, tool->data);
	}
}

void core_tools_stop(void)
{
	for (struct tool *t = next_tool(NULL); t; t = next_tool(t)) {
		const kymo_tool_t *tool;

		pthread_mutex_lock(&lock);
		tool = t->tool;
		pthread_mutex_unlock(&lock);
		if (tool && tool->finalize)
			core_contexts_stop_of(t);
	}
}

/* The last one that came of those that have not heard of the end, or NULL. */
static struct tool *take_last(const kymo_tool_t **tool)
{
	struct tool *found = NULL;

	pthread_mutex_lock(&lock);
	for (struct tool *t = tools; t; t = t->next)
		if (t->tool && !t->over && (!found || t->priority > found->priority))
			found = t;
	if (found) {
		found->over = true;
		*tool = found->tool;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

void core_tools_finalize(void)
{
	const kymo_tool_t *tool;

	for (struct tool *t; (t = take_last(&tool)) != NULL;)
		if (!core_deliver_runs(t))
			call_tool(t, tool->finalize, tool->data);
}

/* ---- callbacks ---- */

static uint64_t *words_of(struct cap_thread *t, const struct cap_frame *f, uint32_t count)
{
	struct core_words *w;

	if (!t->words)
		t->words = calloc(CAP_FRAMES, sizeof(*t->words));
	if (!t->words)
		return NULL;
	w = &t->words[f >= t->frames && f < t->frames + CAP_FRAMES ? f - t->frames : 0];
	return vec_reserve(&w->words, &w->room, 0, count) ? w->words : NULL;
}

void core_words_release(struct cap_thread *t)
{
	for (uint32_t i = 0; t->words && i < CAP_FRAMES; i++)
		free(t->words[i].words);
	free(t->words);
	t->words = NULL;
}

/* ---- who calls what ---- */

bool core_inside_callback(void)
{
	struct cap_thread *t = cap_thread_current;

	return t && t->magic == CAP_THREAD_MAGIC && t->calling_level;
}

bool core_calling_begin(struct core_calling *k, struct cap_thread *t)
{
	uint32_t level = t->calling_level;

	if (cap_unlikely(level >= CAP_CALLING))
		return false;
	k->thread = t;
	k->tool = current;
	k->sp = t->guard_sp;
	k->level = level;
	k->generation = core_generation;
	t->calling_level = level + 1;
	t->guard++;
	if (!k->sp)
		t->guard_sp = k;
	return true;
}

/*
 * A context that is destroyed meanwhile either waits until `calling` names it no more, or is seen to
 * be gone here.
 */
inline bool core_calling_one(struct core_calling *k, const struct core_context *c,
			     uint32_t generation)
{
	atomic_store_explicit(&k->thread->calling[k->level], (struct core_context *)(uintptr_t)c,
			      memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	if (cap_unlikely(atomic_load_explicit(&c->generation, memory_order_acquire) !=
			 generation) ||
	    cap_unlikely(atomic_load_explicit(&c->over, memory_order_acquire)))
		return false;
	current = c->owner;
	return true;
}

inline bool core_calling_goes_on(const struct core_calling *k)
{
	return k->thread->magic == CAP_THREAD_MAGIC && core_generation == k->generation &&
	       cap_thread_current == k->thread;
}

void core_calling_end(struct core_calling *k)
{
	struct cap_thread *t = k->thread;

	current = k->tool;
	if (cap_unlikely(!core_calling_goes_on(k)))
		return;
	atomic_store_explicit(&t->calling[k->level], NULL, memory_order_release);
	t->calling_level = k->level;
	t->guard_sp = k->sp;
	t->guard--;
}

static void call_entry(struct cap_thread *t, const struct core_subscriber *e,
		       kymo_callback_record_t *r, uint64_t *word, const void **asked)
{
	kymo_context_t handle = {(uint64_t)e->generation << 32 | (e->context->index + 1u)};

	if (e->request) {
		if (r->phase == KYMO_PHASE_ENTER) {
			r->external = core_external_top(t, e->context);
			*word = core_contained(CORE_FUNCTION(e->request), handle.handle,
					       CORE_ARGUMENT(r), CORE_ARGUMENT(e->data));
		}
		r->external = *word;
		*asked = e->context;
		return;
	}
	if (*asked != e->context)
		r->external = core_external_top(t, e->context);
	r->user = word;
	core_contained(CORE_FUNCTION(e->callback), handle.handle, CORE_ARGUMENT(r),
		       CORE_ARGUMENT(e->data));
}

/* Of activities what was asked or pushed when they were submitted. */
static bool entry_skipped(const struct core_submission *submission, uint32_t i,
			  kymo_callback_record_t *r, const struct core_subscriber *e,
			  const void **asked)
{
	if ((!e->callback && !e->request) || !(e->phases & (unsigned)r->phase))
		return true;
	if (!submission)
		return false;
	if (submission->entries[i].skip || e->request)
		return true;
	r->external = submission->entries[i].external;
	*asked = e->context;
	return false;
}

/* False: the program is a child now, forked by a tool; nothing of the call is left. */
static bool call_all(struct cap_thread *t, const struct core_subscribers *subscribers,
		     kymo_callback_record_t *r, uint64_t *words,
		     const struct core_submission *submission)
{
	const void *asked = NULL;
	struct core_calling k;
	bool goes_on = true;

	if (!core_calling_begin(&k, t))
		return true;
	for (uint32_t i = 0; i < subscribers->count && goes_on; i++) {
		const struct core_subscriber *e = &subscribers->entries[i];

		if (entry_skipped(submission, i, r, e, &asked) ||
		    !core_calling_one(&k, e->context, e->generation))
			continue;
		call_entry(t, e, r, &words[i], &asked);
		goes_on = core_calling_goes_on(&k);
	}
	core_calling_end(&k);
	return goes_on;
}

void cap_callbacks(struct cap_frame *f, void *args, enum cap_phase phase)
{
	if (phase == CAP_ENTER &&
	    !atomic_load_explicit(&f->callbacks, memory_order_relaxed)->enters)
		f->told = true;
	else
		core_callbacks(f, args, phase, NULL, NULL, NULL);
}

/* Published records say themselves when and where they were. */
static void tell_timed(kymo_callback_record_t *r, const struct wire_record *wire)
{
	struct core_timed timed;

	if (!core_timed_read(&r->domain->ops[r->op], wire, &timed))
		return;
	r->correlation = timed.id;
	r->parent = timed.parent;
	r->start = timed.start;
	r->end = timed.end;
	r->status = timed.status;
	if (timed.track)
		r->thread = timed.track;
}

bool core_callbacks(struct cap_frame *f, void *args, enum cap_phase phase, uint64_t *words,
		    const struct wire_record *wire, const struct core_submission *submission)
{
	const struct core_subscribers *subscribers =
		atomic_load_explicit(&f->callbacks, memory_order_relaxed);
	const struct cap_domain *d = &core_domains[f->op->domain];
	struct cap_thread *t = cap_thread_current;
	int saved = errno;
	bool goes_on = true;
	struct core_callback_info told = {.domain = d,
					  .op = f->op->number,
					  .args = args,
					  .exit = phase == CAP_EXIT,
					  .ok = !f->has_status,
					  .wire = wire,
					  .stack = f->stack};
	kymo_callback_record_t r; /* filled field by field: no string instruction for the zeros */

	r.size = sizeof(r);
	r.domain = d->desc;
	r.op = f->op->number;
	r.phase = (kymo_phase_t)phase;
	r.thread = t->index;
	r.tid = t->tid;
	r.correlation = f->id;
	r.parent = f->parent;
	r.external = 0;
	r.scope = f->scope;
	r.call_site = f->caller;
	r.status = f->status;
	r.args = args;
	r.user = NULL;
	r.start = r.end = 0;
	r.internal = &told;
	if (!words)
		words = words_of(t, f, subscribers->count);
	if (words && (phase == CAP_ENTER || phase == CAP_COMPLETE || !subscribers->enters))
		for (uint32_t i = 0; i < subscribers->count; i++)
			words[i] = 0;
	if (phase == CAP_COMPLETE) {
		struct tick_line line = tick_line_now();

		r.start = tick_line_ns(&line, f->start);
		r.end = tick_line_ns(&line, f->end);
		if (d->desc->ops[r.op].flags & KYMO_OP_TIMED)
			tell_timed(&r, wire);
	}
	if (phase == CAP_ENTER)
		f->told = false;
	if (words) {
		const struct core_callback_info *outer = telling;

		telling = &told;
		goes_on = call_all(t, subscribers, &r, words, submission);
		telling = outer;
		if (goes_on && phase == CAP_ENTER)
			f->told = true;
	}
	errno = saved;
	return goes_on;
}

/* ---- callbacks that were left, and calls that they make ---- */

static _Atomic uint64_t inner_calls;

uint64_t kymo_inner_calls(void)
{
	return atomic_load(&inner_calls);
}

/*
 * A traced call inside Kymo or a tool. If the stack has been unwound past the place where the tool
 * was called, the tool never came back (longjmp): the call is the program's.
 */
bool cap_guard_left(struct cap_thread *t, const void *sp)
{
	static _Atomic bool noted;

	if (!t->guard_sp) {
		/* A delivery callback, or Kymo itself. */
		if (current || core_pool_current())
			atomic_fetch_add_explicit(&inner_calls, 1, memory_order_relaxed);
		return false;
	}
	if ((const char *)sp <= (const char *)t->guard_sp || !cap_same_stack(sp, t->guard_sp)) {
		atomic_fetch_add_explicit(&inner_calls, 1, memory_order_relaxed);
		return false;
	}
	if (!atomic_exchange(&noted, true))
		cap_note(2, "core", "a tool left its callback by longjmp or an exception");
	t->guard = 0;
	t->guard_sp = NULL;
	current = NULL;
	telling = NULL;
	t->calling_level = 0;
	for (unsigned i = 0; i < CAP_CALLING; i++)
		atomic_store(&t->calling[i], NULL);
	atomic_store(&t->busy, 0);
	return true;
}
