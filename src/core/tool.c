/* SPDX-License-Identifier: Apache-2.0 */
/* Tools: finding them, starting them, calling them back. */
#include "core/internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const kymo_tool_t *tools[CORE_TOOLS];
static kymo_configure_fn configured[CORE_TOOLS];
static _Atomic uint32_t tool_count;

kymo_status_t kymo_force_configure(kymo_configure_fn configure)
{
	const kymo_tool_t *tool;
	kymo_status_t status = KYMO_OK;
	uint32_t n;

	if (!configure)
		return KYMO_ERROR_INVALID_ARGUMENT;
	if (!core_init())
		return KYMO_ERROR_UNSUPPORTED;
	n = atomic_load(&tool_count);
	for (uint32_t i = 0; i < n; i++)
		if (configured[i] == configure)
			return KYMO_ERROR_EXISTS;
	if (n == CORE_TOOLS)
		return KYMO_ERROR_LIMIT;
	tool = configure(KYMO_TOOL_VERSION, KYMO_VERSION, n);
	if (!tool)
		return KYMO_OK;
	if (tool->size < sizeof(*tool))
		return KYMO_ERROR_INCOMPATIBLE;
	configured[n] = configure;
	tools[n] = tool;
	atomic_store(&tool_count, n + 1);
	if (tool->initialize)
		status = tool->initialize(tool->data);
	if (status != KYMO_OK) {
		tools[n] = NULL;
		cap_note(2, "core", "tool %s switched itself off: %s",
			 tool->name ? tool->name : "?", kymo_status_text(status));
	}
	return KYMO_OK;
}

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

static void discover(void)
{
	const char *list = getenv("KYMO_TOOLS");
	kymo_configure_fn f = (kymo_configure_fn)dlsym(RTLD_DEFAULT, "kymo_configure");
	char *copy, *save = NULL;

	if (f)
		kymo_force_configure(f);
	copy = list ? strdup(list) : NULL;
	for (char *p = copy ? strtok_r(copy, ":", &save) : NULL; p; p = strtok_r(NULL, ":", &save))
		load(p);
	free(copy);
}

void core_tools_discover(void)
{
	static _Atomic bool done;
	int saved = errno;

	if (!atomic_exchange(&done, true))
		discover();
	errno = saved;
}

void core_tools_fork_child(void)
{
	for (uint32_t i = 0; i < atomic_load(&tool_count); i++)
		if (tools[i] && tools[i]->fork_child)
			tools[i]->fork_child(tools[i]->data);
}

void core_tools_finalize(void)
{
	for (uint32_t i = atomic_load(&tool_count); i-- > 0;)
		if (tools[i] && tools[i]->finalize)
			tools[i]->finalize(tools[i]->data);
}

/* ---- callbacks ---- */

static uint64_t *user_words(struct cap_thread *t, const struct cap_frame *f)
{
	void *p;

	if (!t->user) {
		p = mmap(NULL, CAP_USER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
		t->user = p == MAP_FAILED ? NULL : p;
	}
	return t->user ? t->user + (f - t->frames) * 64 : NULL;
}

static void call_services(struct core_context *c, unsigned index, kymo_callback_record_t *r,
			  const struct cap_domain *d, uint32_t op)
{
	kymo_context_t handle = {(uint64_t)c->generation << 8 | (uint64_t)(index + 1)};

	for (uint32_t i = 0; i < c->service_count; i++) {
		struct core_service *s = &c->services[i];

		if (s->kind != SERVICE_CALLBACK ||
		    (s->domain && strcmp(s->domain, d->info->desc->name) != 0) ||
		    (s->selection.select &&
		     !s->selection.select(d->info->desc, op, s->selection.data)))
			continue;
		s->callback(handle, r, s->data);
	}
}

void cap_callbacks(struct cap_frame *f, void *args, enum cap_phase phase)
{
	core_callbacks(f, args, phase, user_words(cap_thread_current, f));
}

void core_callbacks(struct cap_frame *f, void *args, enum cap_phase phase, uint64_t *user)
{
	const struct cap_domain *d = core_domain_of(f->op->wire);
	struct cap_thread *t = cap_thread_current;
	int saved = errno;
	kymo_callback_record_t r = {
		.size = sizeof(r), .op = f->op->number, .phase = (kymo_phase_t)phase,
		.thread = t->index, .tid = t->tid, .correlation = f->id, .parent = f->parent,
		.scope = f->scope, .status = f->status, .args = args,
		.call_site = f->caller,
	};

	if (!d || !user)
		return;
	r.domain = d->info->desc;
	if (phase == CAP_ENTER)
		memset(user, 0, 64 * sizeof(*user));
	t->guard++;
	for (uint64_t left = f->callbacks; left; left &= left - 1) {
		unsigned c = (unsigned)__builtin_ctzll(left);

		if (!core_contexts[c].used)
			continue;
		r.external = t->external[c];
		r.user = &user[c];
		call_services(&core_contexts[c], c, &r, d, f->op->number);
	}
	t->guard--;
	errno = saved;
}
