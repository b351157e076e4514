/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roofs_measure(): devices one after the other, in a child of this process. Drivers crash and hang; what they take along
 * then is the child, and the roofs of one device. The child tells by a pipe, a line for each step: "" (it waits for its
 * turn), "device JSON" (begun), "roofs JSON" (done), "none TEXT", "end".
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "roofs/keep.h"
#include "roofs/measure.h"

enum { SILENCE_MOST = 60 /* seconds between two lines, of a device that works */ };

/* ---- the child ----------------------------------------------------------------------------------- */

struct child {
	const struct roofs_options *o;
	int pipe;
	unsigned first; /* devices before it are done */
};

static void tell(const struct child *c, const char *word, const char *rest)
{
	struct text line = {0};

	text_addf(&line, "%s%s", word, *word ? " " : "");
	for (const char *s = rest; *s; s++)
		if (*s != '\n')
			text_add_bytes(&line, s, 1);
	text_add(&line, "\n");
	if (line.failed || file_write_all(c->pipe, line.s, line.length) != line.length)
		_exit(1); /* nobody listens */
	text_release(&line);
}

static void tell_roofs(const struct child *c, const char *word, const struct roofs *r)
{
	struct roofs one = *r;
	struct roofs_list l = {.list = &one, .count = 1};
	struct text t = {0};

	roofs_write(&l, &t);
	tell(c, word, t.s ? t.s : "");
	text_release(&t);
}

static void wait_turn(void *data)
{
	tell(data, "", "");
}

/* "opencl", "opencl:1", or part of the name, whatever its letters' case. */
static bool is_chosen(const struct runner *r, unsigned of_api, const char *wanted)
{
	char number[24];

	snprintf(number, sizeof(number), "%s:%u", r->device.api, of_api);
	return !wanted || strcmp(r->device.api, wanted) == 0 || strcmp(number, wanted) == 0 ||
	       strcasestr(r->device.name, wanted);
}

static bool same_place(const struct roof_device *a, const struct roof_device *b)
{
	return (*a->pci && strcmp(a->pci, b->pci) == 0) ||
	       (*a->uuid && strcmp(a->uuid, b->uuid) == 0);
}

/* CUDA's devices are OpenCL's too, where NVIDIA's driver is: CUDA tells more of them. */
static bool is_shown(const struct runner *list, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (strcmp(list[k].device.api, list[i].device.api) != 0 &&
		    same_place(&list[k].device, &list[i].device))
			return true;
	return false;
}

/* What tells it from others, beyond what its runtime says. */
static void mark_twins(struct runner *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct roof_device *d = &list[i].device;

		gethostname(d->host, sizeof(d->host) - 1);
		for (unsigned k = 0; k < i; k++)
			if (strcmp(list[k].device.api, d->api) == 0 &&
			    strcmp(list[k].device.platform, d->platform) == 0 &&
			    strcmp(list[k].device.name, d->name) == 0 &&
			    !same_place(&list[k].device, d))
				d->twin++;
	}
}

/* What lacks some is kept as well, for rooflines; the next time the runtime has compiled its kernels, and all are measured. */
static void keep(const struct child *c, const struct roofs *r, bool dead)
{
	char why[ROOF_WHY], told[2 * ROOF_WHY];
	const unsigned missing = keep_missing(r);

	if (dead || !keep_put(r, why)) {
		snprintf(told, sizeof(told), "these roofs are not kept: %.*s%s", ROOF_WHY - 80,
			 dead ? "the device failed" : why,
			 missing ? "; call it again: kernels are compiled now" : "");
		tell(c, "warning", told);
	} else if (missing) {
		snprintf(told, sizeof(told),
			 "no time was left for %u of %u roofs, as kernels had to be compiled; what "
			 "there is was kept. Call it again when the machine is idle: it measures "
			 "all",
			 missing, r->count);
		tell(c, "warning", told);
	}
}

static bool is_kept(const struct child *c, const struct roof_device *d, struct roofs *out)
{
	return keep_find(d, out) && !keep_missing(out) && (c->o->quick || !out->quick);
}

static void measure_one(const struct child *c, struct runner *r)
{
	const struct measure_limits limits = {.seconds = c->o->quick ? 3 : 14,
					      .rounds = c->o->quick ? 2 : 8,
					      .quick = c->o->quick,
					      .progress = c->o->progress,
					      .data = c->o->data};
	struct roofs out = {.device = r->device};
	int lock;

	tell_roofs(c, "device", &out);
	if (!c->o->again && is_kept(c, &r->device, &out)) {
		tell_roofs(c, "roofs", &out);
		return;
	}
	lock = keep_lock(wait_turn, (void *)(uintptr_t)c);
	if (c->o->again || !is_kept(c, &r->device, &out)) {
		measure_device(r, &limits, &out);
		if (limits.progress)
			limits.progress(limits.data, 1);
		keep(c, &out, r->dead);
	}
	if (lock >= 0)
		close(lock);
	tell_roofs(c, "roofs", &out);
}

static void child_run(const struct child *c)
{
	struct runner *list = calloc(RUNNERS_MOST, sizeof(*list));
	char cuda[ROOF_WHY] = "", opencl[ROOF_WHY] = "", none[2 * ROOF_WHY + 64];
	unsigned count = 0, of_cuda, chosen = 0;

	if (!list)
		_exit(1);
	cuda_runners(list, &count, cuda);
	of_cuda = count;
	opencl_runners(list, &count, opencl);
	mark_twins(list, count);
	for (unsigned i = 0; i < count; i++) {
		if (is_shown(list, i) ||
		    !is_chosen(&list[i], i < of_cuda ? i : i - of_cuda, c->o->device))
			continue;
		if (chosen++ >= c->first)
			measure_one(c, &list[i]);
	}
	snprintf(none, sizeof(none),
		 count ? "no device is called so; kymo calibrate without --device "
			 "shows which there are"
		       : "no device: OpenCL: %s; CUDA: %s",
		 opencl, cuda);
	if (!chosen)
		tell(c, "none", none);
	tell(c, "end", "");
}

/* ---- the parent ---------------------------------------------------------------------------------- */

struct parent {
	const struct roofs_options *o;
	struct roofs_list *out;
	struct roofs under_way; /* its device's name is "": none is */
	FILE *pipe;
	pid_t child;
	unsigned done;
	bool ended, waits;
	char *why;
};

static void add(struct parent *p, const struct roofs *r)
{
	if (vec_reserve(&p->out->list, &p->out->room, p->out->count, 1))
		p->out->list[p->out->count++] = *r;
	p->under_way = (struct roofs){0};
	p->done++;
}

static void take_line(struct parent *p, char *line)
{
	char *rest = strchr(line, ' '), why[ROOF_WHY];
	struct roofs_list l = {0};

	if (!rest && !p->waits && p->o->waiting)
		p->o->waiting();
	p->waits = p->waits || !rest;
	if (!rest)
		return;
	*rest++ = '\0';
	rest[strcspn(rest, "\n")] = '\0';
	if (strcmp(line, "none") == 0)
		snprintf(p->why, ROOF_WHY, "%s", rest);
	else if (strcmp(line, "warning") == 0)
		snprintf(p->out->warning, ROOF_WHY, "%s", rest);
	else if (strcmp(line, "end") == 0)
		p->ended = true;
	else if (!roofs_read(rest, strlen(rest), &l, why) || l.count != 1)
		snprintf(p->why, ROOF_WHY, "%s", why);
	else if (strcmp(line, "device") == 0)
		p->under_way = l.list[0];
	else
		add(p, &l.list[0]);
	roofs_list_release(&l);
}

static bool line_comes(struct parent *p)
{
	struct pollfd f = {.fd = fileno(p->pipe), .events = POLLIN};
	int n;

	do {
		n = poll(&f, 1, SILENCE_MOST * 1000);
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

/* Lines are told one at a time, and each is read as a whole: nothing is left in the stream's buffer when poll() is asked. */
static bool listen(struct parent *p)
{
	char *line = NULL;
	size_t room = 0;
	bool comes;

	setvbuf(p->pipe, NULL, _IONBF, 0);
	while ((comes = line_comes(p)) && getline(&line, &room, p->pipe) > 0)
		take_line(p, line);
	free(line);
	return comes;
}

/* The child is gone, and did not say that it was done. */
static void tell_death(struct parent *p, int status, bool silent)
{
	struct roofs *r = &p->under_way;
	char *to = *r->device.name ? r->note : p->why;

	if (silent)
		snprintf(to, ROOF_WHY, "nothing was heard of its driver for %d s: it was ended",
			 SILENCE_MOST);
	else if (WIFSIGNALED(status))
		snprintf(to, ROOF_WHY, "its driver ended the process that measured: %s",
			 strsignal(WTERMSIG(status)));
	else
		snprintf(to, ROOF_WHY, "its driver ended the process that measured, with status %d",
			 WEXITSTATUS(status));
	if (*r->device.name)
		add(p, r);
	else
		p->ended = true; /* while devices were looked for: once more would be no better */
}

static bool start(struct parent *p)
{
	int ends[2];

	if (pipe(ends) != 0)
		return false;
	fflush(NULL);
	p->child = fork();
	if (p->child == 0) {
		const struct child c = {p->o, ends[1], p->done};

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN);
		close(ends[0]);
		child_run(&c);
		_exit(0); /* drivers have nothing to tidy up */
	}
	close(ends[1]);
	p->pipe = p->child > 0 ? fdopen(ends[0], "r") : NULL;
	if (!p->pipe)
		close(ends[0]);
	return p->pipe != NULL;
}

bool roofs_measure(const struct roofs_options *o, struct roofs_list *out, char why[ROOF_WHY])
{
	struct parent p = {.o = o, .out = out, .why = why};

	why[0] = '\0';
	*out = (struct roofs_list){0};
	while (!p.ended) {
		int status = 0;
		bool heard;

		if (!start(&p)) {
			snprintf(why, ROOF_WHY, "a process to measure in: %s", strerror(errno));
			break;
		}
		heard = listen(&p);
		if (!heard)
			kill(p.child, SIGKILL);
		while (waitpid(p.child, &status, 0) < 0 && errno == EINTR)
			;
		fclose(p.pipe);
		if (!p.ended)
			tell_death(&p, status, !heard);
	}
	return out->count > 0;
}
