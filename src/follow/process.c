/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that are followed. */
#include "follow/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"

enum { THREADS_MOST = 1 << 20 };

static struct follow_process *find(const struct follow *f, const char *path)
{
	for (uint32_t i = 0; i < f->process_count; i++)
		if (strcmp(f->processes[i]->path, path) == 0)
			return f->processes[i];
	return NULL;
}

struct follow_process *follow_process_of(struct follow *f, struct follow_recording *r,
					 const char *path)
{
	struct follow_process *p = find(f, path);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p) {
		f->failed = true;
		return NULL;
	}
	if (!vec_reserve(&f->processes, &f->process_room, f->process_count, 1)) {
		free(p);
		f->failed = true;
		return NULL;
	}
	f->processes[f->process_count++] = p;
	snprintf(p->path, sizeof(p->path), "%s", path);
	p->recording = r;
	p->fd = p->memory = -1;
	p->rank = -1;
	return p;
}

struct follow_thread *follow_thread_of(struct follow *f, struct follow_process *p, uint32_t index)
{
	uint64_t i = map_get(&p->thread_places, index + 1ull);
	struct follow_thread *t;

	if (i)
		return &p->threads[i - 1];
	if (p->thread_count == THREADS_MOST)
		return NULL;
	if (!vec_reserve(&p->threads, &p->thread_room, p->thread_count, 1) ||
	    !map_set(&p->thread_places, index + 1ull, p->thread_count + 1u)) {
		f->failed = true;
		return NULL;
	}
	t = &p->threads[p->thread_count++];
	*t = (struct follow_thread){.index = index};
	return t;
}

void follow_process_free(struct follow_process *p)
{
	struct map *maps[] = {&p->agents,  &p->queues,        &p->kernels,      &p->pieces,
			      &p->domains, &p->thread_places, &p->tally_places, &p->allocations};

	for (uint32_t i = 0; i < p->op_room; i++)
		free(p->ops[i].name);
	for (uint32_t i = 0; p->domains.entries && i <= p->domains.mask; i++)
		free((void *)(uintptr_t)p->domains.entries[i].value);
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		map_release(maps[i]);
	free(p->ops);
	free(p->met);
	free(p->program);
	free(p->threads);
	free(p->tallies);
	for (unsigned i = 0; i < TABLES; i++)
		free(p->parts[i].at);
	if (p->fd >= 0)
		close(p->fd);
	if (p->memory >= 0)
		close(p->memory);
	free(p);
}
