/* SPDX-License-Identifier: Apache-2.0 */
/* How far processes have come; see progress.h. */
#include "analysis/progress.h"

#include <stdlib.h>

enum {
	PARTS = 8,
	LEAST_PARTS = 6 /* what goes on in fewer of them does not go on through the run */
};

static int by_process(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

struct step *progress_steps(const struct timeline *tl, bool messages, uint32_t *count)
{
	size_t room = (size_t)tl->work_count + (messages ? tl->messages_count : 0);
	struct step *all = calloc(room + 1, sizeof(*all));

	*count = 0;
	for (uint32_t i = 0; all && i < tl->work_count; i++) {
		const struct tl_work *w = &tl->work[i];

		all[(*count)++] = (struct step){w->submit ? w->submit : w->start, w->process};
	}
	for (uint32_t i = 0; all && messages && i < tl->messages_count; i++)
		all[(*count)++] = (struct step){tl->messages[i].start, tl->messages[i].process};
	if (all && *count)
		qsort(all, *count, sizeof(*all), by_process);
	return all;
}

void progress_next(struct progress *p, const struct timeline *tl, const struct step *steps,
		   uint32_t count, uint32_t process)
{
	const struct t_process *of = &tl->trace->processes[process];
	const struct step *end = steps + count;

	p->at = p->at ? p->at + p->count : steps;
	while (p->at < end && p->at->process < process)
		p->at++;
	for (p->count = 0; p->at + p->count < end && p->at[p->count].process == process;)
		p->count++;
	p->start = of->start > tl->start ? of->start : tl->start;
	p->end = of->end && of->end < tl->end ? of->end : tl->end;
}

uint32_t progress_part(const struct progress *p, int64_t time, uint32_t parts)
{
	uint32_t low = 0, high = p->count;
	double part;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (p->at[middle].time < time)
			low = middle + 1;
		else
			high = middle;
	}
	if (p->count >= 2 * parts)
		part = (double)low / (double)p->count;
	else
		part = p->end > p->start ? (double)(time - p->start) / (double)(p->end - p->start)
					 : 0;
	if (part <= 0)
		return 0;
	return part < 1 ? (uint32_t)(part * parts) : parts - 1;
}

bool progresses_find(struct progresses *all, const struct timeline *tl)
{
	uint32_t count, processes = tl->trace->processes_count;
	struct progress p = {0};

	all->of = calloc(processes + 1u, sizeof(*all->of));
	all->steps = progress_steps(tl, true, &count);
	if (!all->of || !all->steps) {
		progresses_release(all);
		return false;
	}
	for (uint32_t i = 1; i < processes; i++) {
		progress_next(&p, tl, all->steps, count, i);
		all->of[i] = p;
	}
	return true;
}

void progresses_release(struct progresses *all)
{
	free(all->of);
	free(all->steps);
	*all = (struct progresses){0};
}

uint8_t progress_bit(const struct progresses *all, uint32_t process, int64_t time)
{
	return (uint8_t)(1u << progress_part(&all->of[process], time, PARTS));
}

bool progress_throughout(uint8_t bits)
{
	return __builtin_popcount(bits) >= LEAST_PARTS;
}
