/* SPDX-License-Identifier: Apache-2.0 */
/* `kymo run --kill`: when a recording is over, and the end of the program then; see run.h. */
#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/knob.h"
#include "base/period.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/run.h"

static const struct {
	const char *name;
	int number;
} signals[] = {
	{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},
	{"ABRT", SIGABRT}, {"KILL", SIGKILL}, {"USR1", SIGUSR1},
	{"USR2", SIGUSR2}, {"ALRM", SIGALRM}, {"TERM", SIGTERM},
};

enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };

int kill_signal(const char *text)
{
	const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
	char *end;
	long number = strtol(text, &end, 10);

	for (unsigned i = 0; i < SIGNALS; i++)
		if (strcasecmp(name, signals[i].name) == 0)
			return signals[i].number;
	return isdigit((unsigned char)*text) && !*end && number > 0 && number <= SIGRTMAX
		       ? (int)number
		       : 0;
}

static void add_signals(struct text *out)
{
	for (unsigned i = 0; i < SIGNALS; i++)
		text_addf(out, "%s%s", i ? ", " : "", signals[i].name);
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The last window's end; UINT64_MAX: they go on. */
static uint64_t period_end(const char *text)
{
	char why[KNOB_ERROR_MAX];
	uint64_t cycle, end;
	struct period p;

	if (!period_parse(&p, text, why, sizeof(why)))
		return UINT64_MAX;
	cycle = p.delay_ns + p.duration_ns;
	return p.repeat && !__builtin_mul_overflow(cycle, p.repeat, &end) ? end : UINT64_MAX;
}

uint64_t kill_moment(const struct run_options *o, uint64_t began, uint64_t started)
{
	uint64_t begin = plus(started, o->delay_ns), end = UINT64_MAX;

	if (o->period)
		return plus(began, period_end(o->period));
	if (o->after_ns && plus(began, o->after_ns) > begin)
		begin = plus(began, o->after_ns);
	if (o->duration_ns)
		end = plus(begin, o->duration_ns);
	if (o->before_ns && plus(began, o->before_ns) < end)
		end = plus(began, o->before_ns);
	return end;
}

int kill_check(const struct run_options *o)
{
	struct text names = {0};

	if (!o->kill)
		return 0;
	if (!kill_signal(o->kill)) {
		add_signals(&names);
		cli_error("--kill \"%s\" is no signal: there are %s, and numbers", o->kill,
			  names.s);
		text_release(&names);
		return CLI_USAGE;
	}
	if (kill_moment(o, 0, 0) == UINT64_MAX)
		return cli_usage("run", "--kill ends the program when recording ends: say when, by "
					"--duration, --before, or --period with REPEAT");
	return 0;
}

/* ---- the processes -------------------------------------------------------------------------- */

struct tree {
	int *pids;
	unsigned count, room;
};

static void add_listed(struct tree *t, const char *path)
{
	char *text = file_read(path, NULL), *end;

	for (char *at = text; at; at = end) {
		long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		if (vec_reserve(&t->pids, &t->room, t->count, 1))
			t->pids[t->count++] = (int)pid;
	}
	free(text);
}

/* Each thread has its own. */
static void add_children(struct tree *t, int pid)
{
	char path[512];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.32s/children", pid, e->d_name);
		add_listed(t, path);
	}
	if (dir)
		closedir(dir);
}

unsigned kill_tree(int program, int number)
{
	struct tree t = {0};
	unsigned sent = 0;

	if (vec_reserve(&t.pids, &t.room, 0, 1))
		t.pids[t.count++] = program;
	for (unsigned i = 0; i < t.count; i++)
		add_children(&t, t.pids[i]);
	for (unsigned i = 0; i < t.count; i++)
		sent += kill(t.pids[i], number) == 0;
	free(t.pids);
	return sent;
}
