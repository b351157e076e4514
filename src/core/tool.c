/* SPDX-License-Identifier: Apache-2.0 */
/* Tools: finding and registering them, taking them out, calling them back. */
#include "core/deliver.h"
#include "core/publish.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/elf.h"

struct tool {
	kymo_configure_fn configure;
	const kymo_tool_t *tool; /* NULL: it did not want to, or is gone */
	void *pin;               /* keeps its library loaded, or NULL */
	uint32_t priority;
	struct tool *next;
};

/* In order of registration, under `lock`; entries are never freed. */
static struct tool *tools;
static uint32_t tool_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The tool whose function runs on this thread. */
static _Thread_local const void *current __attribute__((tls_model("initial-exec")));
static _Thread_local const struct core_told *telling __attribute__((tls_model("initial-exec")));

const struct core_told *core_told_now(void)
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
				    .id = own->priority + 1, .priority = own->priority,
				    .tools = count};
	pthread_mutex_unlock(&lock);
	return KYMO_OK;
}

/* ---- registering ---- */

/* False: registered already. */
static bool add(kymo_configure_fn configure, struct tool **out, uint32_t *priority)
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
		*priority = t->priority = tool_count++;
	}
	pthread_mutex_unlock(&lock);
	*out = t;
	return fresh;
}

/* It may be configured again later. */
static void forget(struct tool *t)
{
	pthread_mutex_lock(&lock);
	t->configure = NULL;
	t->tool = NULL;
	pthread_mutex_unlock(&lock);
}

/* The object that holds the function is not unloaded under us. */
static void *pin(kymo_configure_fn configure)
{
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)configure, &info) || !info.dli_fname)
		return NULL;
	return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

static kymo_status_t begin(struct tool *t, const kymo_tool_t *tool)
{
	kymo_status_t status = KYMO_OK;

	if (tool->size < sizeof(*tool))
		return KYMO_ERROR_INCOMPATIBLE;
	t->pin = pin(t->configure);
	t->tool = tool;
	if (tool->initialize)
		status = tool->initialize(tool->data);
	if (status == KYMO_OK)
		return KYMO_OK;
	cap_note(2, "core", "tool %s switched itself off: %s", tool->name ? tool->name : "?",
		 kymo_status_text(status));
	core_contexts_destroy_of(t);
	t->tool = NULL;
	return KYMO_OK;
}

kymo_status_t kymo_force_configure(kymo_configure_fn configure)
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
	if (!add(configure, &t, &priority))
		return KYMO_OK;
	if (!t)
		return KYMO_ERROR_NO_MEMORY;
	current = t;
	tool = configure(KYMO_TOOL_VERSION, KYMO_VERSION, priority);
	if (tool)
		status = begin(t, tool);
	current = outer;
	if (status != KYMO_OK)
		forget(t);
	return status;
}

kymo_status_t kymo_tool_detach(const kymo_tool_t *tool)
{
	struct tool *found = NULL;
	const void *outer = current;

	if (!tool)
		return KYMO_ERROR_INVALID_ARGUMENT;
	pthread_mutex_lock(&lock);
	for (struct tool *t = tools; t && !found; t = t->next)
		if (t->tool == tool)
			found = t;
	if (found)
		found->tool = NULL;
	pthread_mutex_unlock(&lock);
	if (!found)
		return KYMO_ERROR_NOT_FOUND;
	current = found;
	if (tool->finalize)
		tool->finalize(tool->data);
	current = outer;
	core_contexts_destroy_of(found);
	forget(found);
	if (found->pin && outer != found)
		dlclose(found->pin);
	found->pin = NULL;
	return KYMO_OK;
}

/* ---- finding ---- */

static void load(const char *path)
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
	const char *list = getenv("KYMO_TOOLS");
	char *copy = list ? strdup(list) : NULL, *save = NULL;

	for (char *p = copy ? strtok_r(copy, ":", &save) : NULL; p; p = strtok_r(NULL, ":", &save))
		load(p);
	free(copy);
}

/* Objects that were loaded since the last look and export kymo_configure. */
static void look_around(void)
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
		look_around();
	if (!atomic_exchange(&loaded, true))
		load_list();
	errno = saved;
}

/* ---- children and the end ---- */

static struct tool *after(struct tool *t)
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
	for (struct tool *t = after(NULL); t; t = after(t)) {
		const kymo_tool_t *tool = t->tool;

		current = t;
		if (tool && tool->fork_child)
			tool->fork_child(tool->data);
		current = NULL;
	}
}

void core_tools_stop(void)
{
	for (struct tool *t = after(NULL); t; t = after(t))
		if (t->tool && t->tool->finalize)
			core_contexts_stop_of(t);
}

/* The last one that came goes first. */
void core_tools_finalize(void)
{
	struct tool *list[256];
	uint32_t n = 0;

	for (struct tool *t = after(NULL); t && n < 256; t = after(t))
		list[n++] = t;
	while (n-- > 0) {
		const kymo_tool_t *tool = list[n]->tool;

		current = list[n];
		if (tool && tool->finalize)
			tool->finalize(tool->data);
		current = NULL;
	}
}

/* ---- callbacks ---- */

static uint64_t *words_of(struct cap_thread *t, const struct cap_frame *f, uint32_t count)
{
	struct core_words *w;
	uint64_t *more;

	if (!t->words)
		t->words = calloc(CAP_FRAMES, sizeof(*t->words));
	if (!t->words)
		return NULL;
	w = &t->words[f >= t->frames && f < t->frames + CAP_FRAMES ? f - t->frames : 0];
	if (w->room < count) {
		more = realloc(w->words, count * sizeof(*more));
		if (!more)
			return NULL;
		w->words = more;
		w->room = count;
	}
	return w->words;
}

void core_words_release(struct cap_thread *t)
{
	for (uint32_t i = 0; t->words && i < CAP_FRAMES; i++)
		free(t->words[i].words);
	free(t->words);
	t->words = NULL;
}

/*
 * A context that is destroyed meanwhile either waits until `calling` is no more it, or is seen to be
 * gone here.
 */
static inline bool call_begin(struct cap_thread *t, const struct core_plan_entry *e)
{
	atomic_store_explicit(&t->calling, e->context, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	return cap_likely(atomic_load_explicit(&e->context->generation, memory_order_acquire) ==
			  e->generation);
}

static void call_entry(struct cap_thread *t, const struct core_plan_entry *e,
		       kymo_callback_record_t *r, uint64_t *word, const void **asked)
{
	kymo_context_t handle = {(uint64_t)e->generation << 32 | (e->context->index + 1u)};

	if (e->request) {
		if (r->phase == KYMO_PHASE_ENTER) {
			r->external = core_external_top(t, e->context);
			*word = e->request(handle, r, e->data);
		}
		r->external = *word;
		*asked = e->context;
		return;
	}
	if (*asked != e->context)
		r->external = core_external_top(t, e->context);
	r->user = word;
	core_tool_call(e->callback, handle, r, e->data);
}

/* Of activities what was asked or pushed when they were submitted. */
static bool entry_skipped(const struct core_origin *origin, uint32_t i, kymo_callback_record_t *r,
			  const struct core_plan_entry *e, const void **asked)
{
	if (!e->callback && !e->request)
		return true;
	if (!origin)
		return false;
	if (origin->entries[i].skip || e->request)
		return true;
	r->external = origin->entries[i].external;
	*asked = e->context;
	return false;
}

static void call_all(struct cap_thread *t, const struct core_plan *plan, kymo_callback_record_t *r,
		     uint64_t *words, const struct core_origin *origin)
{
	const void *outer = current, *outer_sp = t->guard_sp, *asked = NULL;
	struct core_context *calling = atomic_load_explicit(&t->calling, memory_order_relaxed);

	t->guard++;
	if (!outer_sp)
		t->guard_sp = __builtin_frame_address(0);
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct core_plan_entry *e = &plan->entries[i];

		if (entry_skipped(origin, i, r, e, &asked) || !call_begin(t, e))
			continue;
		current = e->context->owner;
		call_entry(t, e, r, &words[i], &asked);
	}
	atomic_store_explicit(&t->calling, calling, memory_order_release);
	t->guard_sp = outer_sp;
	t->guard--;
	current = outer;
}

void cap_callbacks(struct cap_frame *f, void *args, enum cap_phase phase)
{
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

void core_callbacks(struct cap_frame *f, void *args, enum cap_phase phase, uint64_t *words,
		    const struct wire_record *wire, const struct core_origin *origin)
{
	const struct core_plan *plan = atomic_load_explicit(&f->callbacks, memory_order_relaxed);
	const struct cap_domain *d = &core_domains[f->op->domain];
	struct cap_thread *t = cap_thread_current;
	int saved = errno;
	struct core_told told = {.domain = d, .op = f->op->number, .args = args,
				 .exit = phase == CAP_EXIT, .ok = !f->has_status, .wire = wire};
	kymo_callback_record_t r = {
		.size = sizeof(r), .domain = d->info->desc, .op = f->op->number,
		.phase = (kymo_phase_t)phase, .thread = t->index, .tid = t->tid,
		.correlation = f->id, .parent = f->parent, .scope = f->scope, .status = f->status,
		.args = args, .call_site = f->caller, .internal = &told,
	};

	if (!words)
		words = words_of(t, f, plan->count);
	if (words && (phase == CAP_ENTER || phase == CAP_COMPLETE))
		memset(words, 0, plan->count * sizeof(*words));
	if (phase == CAP_COMPLETE) {
		r.start = core_tick_ns(f->start);
		r.end = core_tick_ns(f->end);
		if (d->info->desc->ops[r.op].flags & KYMO_OP_TIMED)
			tell_timed(&r, wire);
	}
	if (words) {
		const struct core_told *outer = telling;

		telling = &told;
		call_all(t, plan, &r, words, origin);
		telling = outer;
	}
	errno = saved;
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
	if (!t->guard_sp) {
		/* A delivery callback, or Kymo itself. */
		if (current || core_pool_current())
			atomic_fetch_add_explicit(&inner_calls, 1, memory_order_relaxed);
		return false;
	}
	if ((const char *)sp <= (const char *)t->guard_sp || !core_same_stack(sp, t->guard_sp)) {
		atomic_fetch_add_explicit(&inner_calls, 1, memory_order_relaxed);
		return false;
	}
	cap_note(2, "core", "a tool left its callback by longjmp or an exception");
	t->guard = 0;
	t->guard_sp = NULL;
	current = NULL;
	telling = NULL;
	atomic_store(&t->calling, NULL);
	atomic_store(&t->busy, 0);
	return true;
}

void core_tool_call(kymo_callback_fn callback, kymo_context_t context,
		    const kymo_callback_record_t *record, void *data)
{
	callback(context, record, data);
}
