/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at all that is followed; see follow.h. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/vec.h"
#include "follow/reading.h"
#include "formats/raw/read.h"

#define ASK_NS 1000000000ull /* between two questions to a drain */

enum {
	TRIES = 3,
	BUDGET_LEAST = 1 << 20,
	ESTIMATED_BY = 4 /* what is an estimate in any case is one by so much less */
};

bool follow_init(struct follow *f)
{
	*f = (struct follow){.stride = 1};
	tick_init();
	f->reading = calloc(1, sizeof(*f->reading));
	if (!f->reading || !vec_reserve_zero(&f->devices, &f->device_room, 0, 1))
		return false;
	f->device_count = 1;
	return true;
}

void follow_release(struct follow *f)
{
	struct follow_reading *r = f->reading;

	for (uint32_t i = 0; i < f->process_count; i++)
		follow_process_free(f->processes[i]);
	for (uint32_t i = 0; i < f->recording_count; i++)
		follow_recording_free(f->recordings[i]);
	for (uint32_t i = 0; i < f->device_count; i++) {
		free(f->devices[i].name);
		free(f->devices[i].host);
		free(f->devices[i].domain);
		busy_union_release(&f->devices[i].busy);
	}
	follow_rows_release(&f->kernels);
	follow_rows_release(&f->calls);
	follow_rows_release(&f->copies);
	if (r) {
		raw_buffer_release(&r->plain);
		free(r->window);
		free(r->chunk);
		free(r->ctl);
		free(r->found);
	}
	free(r);
	free(f->processes);
	free(f->recordings);
	free(f->devices);
	free(f->memory);
	*f = (struct follow){0};
}

/* ---- recordings -------------------------------------------------------------------------------- */

bool follow_add(struct follow *f, const char *trace)
{
	struct follow_recording *r;

	for (uint32_t i = 0; i < f->recording_count; i++)
		if (strcmp(f->recordings[i]->trace, trace) == 0) {
			if (f->recordings[i]->running)
				return true;
			follow_let_go(f);
			break;
		}
	r = calloc(1, sizeof(*r));
	if (!r || !vec_reserve(&f->recordings, &f->recording_room, f->recording_count, 1)) {
		free(r);
		return false;
	}
	snprintf(r->trace, sizeof(r->trace), "%s", trace);
	r->folder = -1;
	r->running = true;
	f->recordings[f->recording_count++] = r;
	return true;
}

bool follow_running(const struct follow *f)
{
	bool running = false;

	for (uint32_t i = 0; i < f->recording_count; i++)
		running |= f->recordings[i]->running;
	return running;
}

static bool is_raw_file(const char *name)
{
	const char *dot = strrchr(name, '.');

	return *name != '.' && dot && strcmp(dot, ".kyr") == 0;
}

/* Processes of other hosts, those that have ended, and those whose memory no drain can show. */
static void list_files(struct follow *f, struct follow_recording *r)
{
	char raw[PATH_MAX], path[PATH_MAX];
	struct stat st;
	struct dirent *e;
	int64_t changed;
	DIR *dir;

	snprintf(raw, sizeof(raw), "%.*s/raw", PATH_MAX - 8, r->trace);
	if (stat(raw, &st) != 0)
		return;
	changed = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	if (changed == r->folder)
		return;
	dir = opendir(raw);
	while (dir && (e = readdir(dir))) {
		if (!is_raw_file(e->d_name))
			continue;
		snprintf(path, sizeof(path), "%.*s/%.255s", PATH_MAX - 260, raw, e->d_name);
		follow_process_of(f, r, path);
	}
	if (dir)
		closedir(dir);
	r->folder = changed;
	r->asked = 0;
}

static void find_processes(struct follow *f, struct follow_recording *r)
{
	bool running = raw_being_written(r->trace);

	list_files(f, r);
	if (running) {
		bool again = !r->asked || f->looked - r->asked >= ASK_NS;

		follow_ask_drains(f, r, again);
		r->asked = again ? f->looked : r->asked;
	} else {
		follow_close_doors(r);
		r->silent = 0;
	}
	r->running = running;
}

/* ---- looks ------------------------------------------------------------------------------------- */

static void keep_rows(struct follow_rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++)
		rows->at[i].then = rows->at[i].now;
}

/* What was `now` is `then`. */
static void keep(struct follow *f)
{
	keep_rows(&f->kernels);
	keep_rows(&f->calls);
	keep_rows(&f->copies);
	for (uint32_t i = 0; i < f->device_count; i++) {
		struct follow_device *d = &f->devices[i];

		d->then = d->now;
		d->busy_then = d->busy_now;
		d->under_way = 0;
	}
	for (uint32_t i = 0; i < f->process_count; i++) {
		struct follow_process *p = f->processes[i];

		p->calls_then = p->calls;
		p->kernels_then = p->kernels_sum;
		p->copies_then = p->copies;
		p->waited_then = p->waited + p->waiting;
	}
	f->calls_then = f->calls_now;
	f->written_then = f->written_now;
}

static uint64_t budget_of(const struct follow *f)
{
	uint64_t bytes = (uint64_t)((double)FOLLOW_BUDGET * (double)f->interval / 1e9);

	if (!f->interval)
		return FOLLOW_BUDGET_FIRST;
	return bytes > BUDGET_LEAST ? bytes : BUDGET_LEAST;
}

/* One of so many chunks is looked into, where there is more than can be. */
static void set_stride(struct follow *f)
{
	uint64_t backlog = 0;
	struct stat st;

	for (uint32_t i = 0; i < f->process_count; i++) {
		const struct follow_process *p = f->processes[i];

		if (!p->ended && stat(p->path, &st) == 0 && (uint64_t)st.st_size > p->at)
			backlog += (uint64_t)st.st_size - p->at;
	}
	f->budget = f->most ? f->most : budget_of(f);
	if (!f->most && f->interval && backlog > f->budget)
		f->budget /= ESTIMATED_BY;
	f->stride = (uint32_t)(backlog / f->budget) + 1;
	f->spent = 0;
}

static void look_at(struct follow *f, struct follow_process *p)
{
	uint64_t before = p->size;

	for (int i = 0; i < TRIES; i++) {
		follow_read_file(f, p);
		follow_read_memory(f, p, i > 0);
		/* Where chunks are left out, what is on its way into the file is seen there by the next look. */
		if (!p->gap || f->stride > 1)
			break;
	}
	if (p->size > before)
		p->written += (double)(p->size - before);
}

void follow_look(struct follow *f)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	keep(f);
	f->interval = f->looked ? now - f->looked : 0;
	f->looked = now;
	f->tick = tick_now();
	f->realtime = clock_ns(CLOCK_REALTIME);
	for (uint32_t i = 0; i < f->recording_count; i++)
		if (f->recordings[i]->running)
			find_processes(f, f->recordings[i]);
	set_stride(f);
	for (uint32_t i = 0; i < f->process_count; i++)
		look_at(f, f->processes[i]);
	follow_add_up(f);
	for (uint32_t i = 0; i < f->device_count; i++)
		f->devices[i].busy_now = busy_union_total(&f->devices[i].busy);
}

struct follow_losses follow_lost(const struct follow *f)
{
	struct follow_losses sum = {0};

	for (uint32_t i = 0; i < f->process_count; i++) {
		const struct follow_process *p = f->processes[i];
		bool live = p->geometry && !p->ended;

		sum.records += (double)(live ? p->shm.lost_records : p->end.lost_records);
		sum.definitions +=
			(double)(live ? p->shm.lost_definitions : p->end.lost_definitions);
		sum.overwritten +=
			(double)(live ? p->shm.overwritten_records : p->end.overwritten_records);
	}
	return sum;
}
