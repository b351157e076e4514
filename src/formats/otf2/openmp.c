/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenMP: fork and join, teams, explicit tasks, locks. All threads of a process are one
 * communicator, which stands for each of its teams.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/otf2/otf2.h"
#include "record/fields.h"

#define TASKS_MAX (1u << 20) /* under way at once, of which the creator is known */

enum construct { NONE, PARALLEL, IMPLICIT, TASK_CREATED, TASK_RUNS, ACQUIRE, RELEASE };

struct openmp {
	uint8_t *constructs; /* of ops */
	uint32_t *ranks;     /* of threads, in their process */
	uint32_t first_comm; /* of process 0; the others follow */
	struct map tasks;    /* process and task: rank of the creator + 1 */
	struct map locks;    /* process and wait id: number + 1 */
	uint32_t lock_count;
	struct map acquisitions; /* lock + 1: how often */
};

static enum construct construct_of(const char *name)
{
	static const struct {
		const char *name;
		enum construct construct;
	} list[] = {
		{"parallel", PARALLEL},        {"teams", PARALLEL},   {"implicit_task", IMPLICIT},
		{"task_create", TASK_CREATED}, {"task", TASK_RUNS},   {"lock", ACQUIRE},
		{"nest_lock", ACQUIRE},        {"critical", ACQUIRE}, {"atomic", ACQUIRE},
		{"ordered", ACQUIRE},          {"release", RELEASE}};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		if (strcmp(list[i].name, name) == 0)
			return list[i].construct;
	}
	return NONE;
}

kymo_status_t openmp_begin(struct otf2 *w)
{
	const struct trace *t = w->t;
	uint32_t *next = calloc(t->processes_count, sizeof(*next));
	struct openmp *o = calloc(1, sizeof(*o));
	bool any = false;

	w->openmp = o;
	if (o) {
		o->constructs = calloc(t->ops_count, 1);
		o->ranks = calloc(t->threads_count, sizeof(*o->ranks));
		o->first_comm = mpi_comms(w);
	}
	if (!next || !o || !o->constructs || !o->ranks) {
		free(next);
		return KYMO_ERROR_NO_MEMORY;
	}
	for (uint32_t i = 1; i < t->ops_count; i++) {
		if (strcmp(t->domains[t->ops[i].domain].name, "openmp") == 0) {
			o->constructs[i] = (uint8_t)construct_of(t->ops[i].name);
			any = any || o->constructs[i];
		}
	}
	for (uint32_t i = 1; i < t->threads_count; i++)
		o->ranks[i] = next[t->threads[i].process]++;
	free(next);
	if (!any)
		openmp_release(w);
	return KYMO_OK;
}

/* All constructs have what they are about in their first field. */
static uint64_t first_field(struct otf2 *w, const struct rec *r)
{
	const struct t_field *field;
	struct wire_value value;
	struct rec_fields f;

	if (!r->wire)
		return 0;
	rec_fields_init(&f, w->t, r);
	return rec_fields_next(&f, &field, &value) && value.present ? value.u : 0;
}

static uint64_t key_of(uint32_t process, uint64_t id)
{
	return hash_mix(hash_u64(process), id);
}

static uint32_t lock_of(struct otf2 *w, uint32_t process, uint64_t id)
{
	uint64_t key = key_of(process, id), lock = map_get(&w->openmp->locks, key);

	if (!lock) {
		lock = ++w->openmp->lock_count;
		if (!map_set(&w->openmp->locks, key, lock))
			archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
	}
	return (uint32_t)lock - 1;
}

static void acquire(struct otf2 *w, const struct rec *r, struct row *row)
{
	uint32_t lock = lock_of(w, r->process, first_field(w, r));
	uint64_t times = map_get(&w->openmp->acquisitions, lock + 1u) + 1;
	const struct point p = {
		.time = r->end, .kind = POINT_ACQUIRE, .a = lock, .b = (uint32_t)times};

	map_set(&w->openmp->acquisitions, lock + 1u, times);
	row_point(w, row, &p);
}

static void release(struct otf2 *w, const struct rec *r, OTF2_EvtWriter *e)
{
	uint32_t lock = lock_of(w, r->process, first_field(w, r));
	uint64_t times = map_get(&w->openmp->acquisitions, lock + 1u);

	archive_check(&w->archive, OTF2_EvtWriter_ThreadReleaseLock(e, NULL, otf2_time(r->start),
								    OTF2_PARADIGM_OPENMP, lock,
								    (uint32_t)times));
}

static void create_task(struct otf2 *w, const struct rec *r, OTF2_EvtWriter *e)
{
	struct openmp *o = w->openmp;
	uint64_t task = first_field(w, r);

	if (o->tasks.count < TASKS_MAX)
		map_set(&o->tasks, key_of(r->process, task), o->ranks[r->thread] + 1u);
	archive_check(&w->archive, OTF2_EvtWriter_ThreadTaskCreate(
					   e, NULL, otf2_time(r->start), o->first_comm + r->process,
					   o->ranks[r->thread], (uint32_t)task));
}

static void run_task(struct otf2 *w, const struct rec *r, struct lane *l, OTF2_EvtWriter *e)
{
	uint64_t task = first_field(w, r);
	uint64_t creator = map_remove(&w->openmp->tasks, key_of(r->process, task));
	struct open *open = &l->open[l->depth - 1];

	open->bytes = task;
	open->address = creator ? creator - 1 : w->openmp->ranks[r->thread];
	open->process = r->process;
	archive_check(&w->archive,
		      OTF2_EvtWriter_ThreadTaskSwitch(e, NULL, otf2_time(r->start),
						      w->openmp->first_comm + r->process,
						      (uint32_t)open->address, (uint32_t)task));
}

void openmp_entered(struct otf2 *w, const struct rec *r, struct row *row, struct lane *l)
{
	OTF2_EvtWriter *e = archive_events(&w->archive, l->location);
	uint64_t time = otf2_time(r->start);

	if (l->depth)
		l->open[l->depth - 1].process = r->process;
	switch (w->openmp->constructs[r->op]) {
	case PARALLEL:
		archive_check(&w->archive,
			      OTF2_EvtWriter_ThreadFork(e, NULL, time, OTF2_PARADIGM_OPENMP,
							(uint32_t)first_field(w, r)));
		break;
	case IMPLICIT:
		archive_check(&w->archive,
			      OTF2_EvtWriter_ThreadTeamBegin(e, NULL, time,
							     w->openmp->first_comm + r->process));
		break;
	case TASK_CREATED:
		create_task(w, r, e);
		break;
	case TASK_RUNS:
		run_task(w, r, l, e);
		break;
	case ACQUIRE:
		acquire(w, r, row);
		break;
	case RELEASE:
		release(w, r, e);
		break;
	default:
		break;
	}
}

void openmp_leaving(struct otf2 *w, const struct open *o, uint32_t location, uint64_t time)
{
	OTF2_EvtWriter *e = archive_events(&w->archive, location);
	uint32_t comm = w->openmp->first_comm + o->process;

	switch (o->id ? w->openmp->constructs[o->op] : NONE) {
	case PARALLEL:
		archive_check(&w->archive,
			      OTF2_EvtWriter_ThreadJoin(e, NULL, time, OTF2_PARADIGM_OPENMP));
		break;
	case IMPLICIT:
		archive_check(&w->archive, OTF2_EvtWriter_ThreadTeamEnd(e, NULL, time, comm));
		break;
	case TASK_RUNS:
		archive_check(&w->archive, OTF2_EvtWriter_ThreadTaskComplete(e, NULL, time, comm,
									     (uint32_t)o->address,
									     (uint32_t)o->bytes));
		break;
	default:
		break;
	}
}

static uint32_t threads_of(struct otf2 *w, uint32_t process, uint64_t *list, uint32_t first,
			   bool locations)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < w->t->threads_count; i++) {
		/* Locations are defined by now: a thread that has none has no event either. */
		if (w->t->threads[i].process != process || !w->threads[i].count)
			continue;
		list[first + n] = locations ? row_location(w, &w->threads[i]) : first + n;
		n++;
	}
	return n;
}

/* Threads are grouped by process; communicators of processes are numbered as these. */
void openmp_end(struct otf2 *w, struct numbers *n)
{
	struct archive *a = &w->archive;
	uint32_t count = 0, from = 0;
	uint64_t *list;

	if (!w->openmp)
		return;
	list = malloc((w->t->threads_count + 1u) * sizeof(*list));
	if (!list) {
		archive_check(a, OTF2_ERROR_MEM_ALLOC_FAILED);
		return;
	}
	for (uint32_t i = 0; i < w->t->processes_count; i++)
		count += threads_of(w, i, list, count, true);
	archive_check(a, OTF2_GlobalDefWriter_WriteGroup(
				 a->defs, n->group++, archive_string(a, "OpenMP threads"),
				 OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_OPENMP,
				 OTF2_GROUP_FLAG_NONE, count, list));
	for (uint32_t i = 0; i < w->t->processes_count; i++) {
		uint32_t threads = threads_of(w, i, list, from, false);

		archive_check(a, OTF2_GlobalDefWriter_WriteGroup(
					 a->defs, n->group, archive_string(a, "OpenMP team"),
					 OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_OPENMP,
					 OTF2_GROUP_FLAG_NONE, threads, list + from));
		archive_check(a, OTF2_GlobalDefWriter_WriteComm(
					 a->defs, n->comm++, archive_string(a, "OpenMP team"),
					 n->group++, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
		from += threads;
	}
	free(list);
}

void openmp_release(struct otf2 *w)
{
	if (!w->openmp)
		return;
	free(w->openmp->constructs);
	free(w->openmp->ranks);
	map_release(&w->openmp->tasks);
	map_release(&w->openmp->locks);
	map_release(&w->openmp->acquisitions);
	free(w->openmp);
	w->openmp = NULL;
}
