/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs every case in a child of its own, which has a time limit: a tool that misbehaves must
 * neither stop nor end the program, and other tools must not notice. badtools FOLDER [CASE]
 */
#include "badtools.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/activity/activity.h"
#include "core/capture.h"

#define LIMIT_S 20

int wrong;
const char *folder;
struct good good;

/* ---- the runtime ---- */

enum { OP_CALL, OP_AROUND, OP_SUBMIT, OPS };
static const kymo_op_desc_t descs[OPS] = {{"call", NULL, 0, 0, NULL, 0},
					  {"around", NULL, 0, 0, NULL, 0},
					  {"submit", NULL, 0, 0, NULL, 0}};
static const kymo_domain_desc_t desc = {sizeof(desc), "bad", "Bad", 1, OPS, descs};
static struct cap_op ops[OPS];
static const struct cap_domain_info info = {.desc = &desc, .ops = ops};

struct args {
	size_t size;
};

static struct cap_frame *enter(int op, void *caller, void *sp)
{
	struct cap_frame *f = cap_enter_at(&ops[op], caller, sp);
	struct args args = {sizeof(args)};

	if (f && f->callbacks)
		cap_callbacks(f, &args, CAP_ENTER);
	return f;
}

static void leave(struct cap_frame *f)
{
	struct args args = {sizeof(args)};
	struct wire_enc e;

	if (!f)
		return;
	cap_leave(f);
	if (f->callbacks)
		cap_callbacks(f, &args, CAP_EXIT);
	if (f->buffers && cap_record(f, &e, 0))
		cap_commit(f, &e);
	cap_done(f);
}

__attribute__((noinline)) void call(void)
{
	leave(enter(OP_CALL, __builtin_return_address(0), __builtin_frame_address(0)));
}

__attribute__((noinline)) void call_around(void (*inside)(void))
{
	struct cap_frame *f =
		enter(OP_AROUND, __builtin_return_address(0), __builtin_frame_address(0));

	inside();
	leave(f);
}

__attribute__((noinline)) void submit(void)
{
	struct cap_frame *f =
		enter(OP_SUBMIT, __builtin_return_address(0), __builtin_frame_address(0));
	uint64_t now = tick_now();
	struct cap_frame a;
	struct cap_submission o;
	struct wire_enc e;

	if (cap_submission_take(&o, f, &core_sync_ops[0], NULL)) {
		if (cap_activity_begin(&a, &e, &core_sync_ops[0], &o, now, now, SYNC_FIELDS)) {
			wire_unsigned(&e, SYNC_CORRELATION, o.call);
			for (unsigned i = 1; i < SYNC_FIELDS; i++)
				wire_unsigned(&e, i, 0);
			cap_activity_commit(&a, &e);
		}
		cap_submission_end(&o);
	}
	leave(f);
}

/* ---- tools ---- */

static void behave(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	const bool ours = strcmp(r->domain->name, "bad") == 0;

	good.enters += ours && r->phase == KYMO_PHASE_ENTER;
	good.exits += ours && r->phase == KYMO_PHASE_EXIT;
	good.bare += ours && r->phase == KYMO_PHASE_EXIT && !r->args;
	good.completes += strcmp(r->domain->name, "sync") == 0;
}

kymo_context_t watch(kymo_callback_fn fn, void *data)
{
	kymo_context_t c = {0};

	EQUAL(kymo_context_create(&c), KYMO_OK);
	EQUAL(kymo_callback_service(c, NULL, fn, data), KYMO_OK);
	EQUAL(kymo_context_start(c), KYMO_OK);
	return c;
}

kymo_context_t good_start(void)
{
	memset(&good, 0, sizeof(good));
	return watch(behave, NULL);
}

void (*thrower_throw)(void);
int (*thrower_destroyed)(void), (*thrower_uncaught)(void);
int (*thrower_catches)(void (*fn)(void));

bool thrower_load(void)
{
	char path[4096];
	void *h;

	snprintf(path, sizeof(path), "%s/thrower.so", folder);
	h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!h)
		return false;
	*(void **)&thrower_throw = dlsym(h, "thrower_throw");
	*(void **)&thrower_destroyed = dlsym(h, "thrower_destroyed");
	*(void **)&thrower_uncaught = dlsym(h, "thrower_uncaught");
	*(void **)&thrower_catches = dlsym(h, "thrower_catches");
	return true;
}

/* ---- cases ---- */

static void run_child(const struct bad_case *c)
{
	struct cap_domain *domain;

	alarm(LIMIT_S);
	if (c->throws && !thrower_load())
		exit(77);
	EQUAL(cap_domain_register(&info, &domain), KYMO_OK);
	c->run();
	exit(wrong ? 1 : 0);
}

/* 0: as it should be; 77: skipped. */
static int run(const struct bad_case *c)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		run_child(c);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 2;
	if (WIFSIGNALED(status))
		printf("%-24s ended by signal %d%s\n", c->name, WTERMSIG(status),
		       WTERMSIG(status) == SIGALRM ? ": it hangs" : "");
	else if (WEXITSTATUS(status) == 77 && c->throws)
		printf("%-24s skipped: there is no C++ compiler\n", c->name);
	else if (WEXITSTATUS(status) != c->status)
		printf("%-24s ended with %d, not %d\n", c->name, WEXITSTATUS(status), c->status);
	else
		printf("%-24s ok\n", c->name);
	fflush(stdout);
	if (WIFSIGNALED(status))
		return 1;
	return WEXITSTATUS(status) == 77 && c->throws ? 77 : WEXITSTATUS(status) != c->status;
}

int main(int argc, char **argv)
{
	const struct bad_case *lists[] = {cases, handle_cases};
	int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	folder = argc > 1 ? argv[1] : ".";
	for (unsigned l = 0; l < 2; l++)
		for (const struct bad_case *c = lists[l]; c->name; c++)
			if (argc < 3 || strcmp(argv[2], c->name) == 0)
				failed += run(c) % 77 != 0;
	return failed ? 1 : 0;
}
