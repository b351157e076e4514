/* SPDX-License-Identifier: Apache-2.0 */
/* Synchronisation of MPI's windows: fences as collectives, locks of a rank's part of a window. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/otf2/otf2.h"

enum epoch { NONE, FENCE, LOCK, UNLOCK, OTHER };

#define AMBIGUOUS UINT32_MAX

static const char unknown_window[] = "synchronisation of windows that are not told apart",
		  groups[] = "synchronisation of windows with groups or all ranks";

struct epochs {
	uint8_t *kinds;     /* of ops */
	struct map windows; /* process and handle: communicator, or AMBIGUOUS */
};

static enum epoch epoch_of(const char *name)
{
	static const struct {
		const char *name;
		enum epoch epoch;
	} list[] = {{"MPI_Win_fence", FENCE},      {"MPI_Win_lock", LOCK},
		    {"MPI_Win_unlock", UNLOCK},    {"MPI_Win_lock_all", OTHER},
		    {"MPI_Win_unlock_all", OTHER}, {"MPI_Win_post", OTHER},
		    {"MPI_Win_start", OTHER},      {"MPI_Win_complete", OTHER},
		    {"MPI_Win_wait", OTHER}};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		if (strcmp(list[i].name, name) == 0)
			return list[i].epoch;
	}
	return NONE;
}

static uint64_t window_key(uint32_t process, uint64_t handle)
{
	return hash_mix(hash_u64(process), handle);
}

/* A handle that a process has used for several windows names none. */
static bool add_windows(struct otf2 *w)
{
	const struct trace *t = w->t;
	bool fine = true;

	for (uint32_t i = 1; fine && i < t->communicators_count; i++) {
		const struct t_communicator *c = &t->communicators[i];
		uint64_t key = window_key(c->process, c->handle);
		uint32_t number;

		if (mpi_window(w, i, &number))
			fine = map_set(&w->epochs->windows, key,
				       map_get(&w->epochs->windows, key) ? AMBIGUOUS : i);
	}
	return fine;
}

kymo_status_t epochs_begin(struct otf2 *w)
{
	const struct trace *t = w->t;

	if (!w->mpi)
		return KYMO_OK;
	w->epochs = calloc(1, sizeof(*w->epochs));
	if (!w->epochs || !(w->epochs->kinds = calloc(t->ops_count, 1)) || !add_windows(w))
		return KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 1; i < t->ops_count; i++) {
		if (strcmp(t->domains[t->ops[i].domain].name, "mpi") == 0)
			w->epochs->kinds[i] = (uint8_t)epoch_of(t->ops[i].name);
	}
	return KYMO_OK;
}

struct arguments { /* of such a call */
	uint64_t window;
	int32_t rank;
	int64_t type;
};

static struct arguments arguments_of(struct otf2 *w, const struct rec *r)
{
	struct arguments a = {.rank = -1};
	const struct t_field *field;
	struct wire_value value;
	struct rec_fields f;

	if (!r->wire)
		return a;
	rec_fields_init(&f, w->t, r);
	while (rec_fields_next(&f, &field, &value)) {
		if (!value.present)
			continue;
		if (strcmp(field->name, "win") == 0)
			a.window = value.u;
		else if (strcmp(field->name, "rank") == 0)
			a.rank = (int32_t)value.i;
		else if (strcmp(field->name, "lock_type") == 0)
			a.type = value.i;
	}
	return a;
}

/* MPI_LOCK_EXCLUSIVE of Open MPI and of MPICH. */
static OTF2_LockType lock_type(int64_t type)
{
	return type == 1 || type == 234 ? OTF2_LOCK_EXCLUSIVE : OTF2_LOCK_SHARED;
}

/* What is said at the Enter. */
static void begin_epoch(struct otf2 *w, OTF2_EvtWriter *e, int64_t start, enum epoch kind,
			const struct point *p)
{
	if (kind == FENCE)
		archive_check(&w->archive,
			      OTF2_EvtWriter_RmaCollectiveBegin(e, NULL, otf2_time(start)));
	else if (kind == LOCK)
		archive_check(&w->archive,
			      OTF2_EvtWriter_RmaRequestLock(e, NULL, otf2_time(start), p->a, p->b,
							    0, (OTF2_LockType)p->c));
}

void epochs_entered(struct otf2 *w, const struct rec *r, struct row *row, const struct lane *l)
{
	static const enum point_kind ends[] = {[FENCE] = POINT_FENCE_END,
					       [LOCK] = POINT_WINDOW_LOCK,
					       [UNLOCK] = POINT_WINDOW_UNLOCK};
	enum epoch kind = w->epochs->kinds[r->op];
	struct point p = {.time = r->end};
	struct arguments a;
	uint64_t window;

	if (kind == NONE)
		return;
	if (kind == OTHER) {
		unplaced_add(&w->unplaced, groups, 1);
		return;
	}
	a = arguments_of(w, r);
	window = map_get(&w->epochs->windows, window_key(r->process, a.window));
	if (!window || window == AMBIGUOUS || l != &row->lanes[0] ||
	    !mpi_window(w, (uint32_t)window, &p.a) || (kind != FENCE && a.rank < 0)) {
		unplaced_add(&w->unplaced, unknown_window, 1);
		return;
	}
	p.kind = ends[kind];
	p.b = kind == FENCE ? OTF2_UNDEFINED_UINT32 : (uint32_t)a.rank;
	p.c = lock_type(a.type);
	begin_epoch(w, archive_events(&w->archive, l->location), r->start, kind, &p);
	row_point(w, row, &p);
}

void epochs_point(struct otf2 *w, OTF2_EvtWriter *e, const struct point *p)
{
	uint64_t time = otf2_time(p->time);
	OTF2_ErrorCode code;

	if (p->kind == POINT_FENCE_END)
		code = OTF2_EvtWriter_RmaCollectiveEnd(
			e, NULL, time, OTF2_COLLECTIVE_OP_BARRIER,
			OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY, p->a, p->b, 0, 0);
	else if (p->kind == POINT_WINDOW_LOCK)
		code = OTF2_EvtWriter_RmaAcquireLock(e, NULL, time, p->a, p->b, 0,
						     (OTF2_LockType)p->c);
	else
		code = OTF2_EvtWriter_RmaReleaseLock(e, NULL, time, p->a, p->b, 0);
	archive_check(&w->archive, code);
}

void epochs_release(struct otf2 *w)
{
	if (!w->epochs)
		return;
	free(w->epochs->kinds);
	map_release(&w->epochs->windows);
	free(w->epochs);
}
