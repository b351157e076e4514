/* SPDX-License-Identifier: Apache-2.0 */
/* See clusters.h. */
#include "page/clusters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "stream/names.h"
#include "stream/recorded.h"

enum {
	FEATURES = 32, /* that take most time; all others of a kind are one */
	KINDS = 4,
	SHARES = FEATURES + KINDS
};

static const double NEAR = 0.02; /* of the shares of a kind: what differs by less is alike */

/* What time is spent on: an op or a kernel, by its name in all processes. */
struct feature {
	uint64_t name; /* hash */
	uint64_t ns;
	unsigned kind; /* of `kinds` */
};

struct vectors {
	struct feature *features;
	uint32_t count, room;
	struct map places;    /* by name: index + 1, 0: below those that count */
	double (*at)[SHARES]; /* by member: shares of its time */
	double mean[CLUSTERS_MOST][SHARES];
	unsigned kind[SHARES]; /* of each share */
	uint32_t *member;      /* by process: index + 1 */
};

/* ---- what processes spend their time on -------------------------------------------------------- */

static uint64_t name_of(const struct trace *t, unsigned kind, const struct tally *y)
{
	uint32_t op = kind == TALLY_COPY ? y->key[KEY_COPY_OP] : y->key[KEY_OP];

	if (kind == TALLY_MARKER) {
		uint32_t n = y->key[KEY_MARKER_NAME];

		return hash_mix(kind, n < t->strings_count ? hash_string(t->strings[n].text) : 0);
	}
	if (kind == TALLY_DISPATCH) {
		uint32_t k = y->key[KEY_DISPATCH_KERNEL];
		const char *name = k < t->kernels_count ? t->kernels[k].name : NULL;

		return hash_mix(kind, hash_string(name ? name : ""));
	}
	return hash_mix(kind, hash_string(t->ops[op].name));
}

static const unsigned kinds[KINDS] = {TALLY_CALL, TALLY_MARKER, TALLY_DISPATCH, TALLY_COPY};

/* Calls in calls count once, and ranges in ranges. */
static uint64_t time_of(unsigned kind, const struct tally *y)
{
	return kind == TALLY_CALL || kind == TALLY_MARKER ? y->self : y->total;
}

static bool collect(struct vectors *v, const struct summary *s)
{
	for (unsigned k = 0; k < KINDS; k++) {
		const struct tally_set *set = &s->tallies->set[kinds[k]];

		for (uint32_t i = 0; i < set->count; i++) {
			uint64_t name = name_of(s->trace, kinds[k], set->rows[i]);
			uint64_t at = map_get(&v->places, name);

			if (!at) {
				if (!vec_reserve(&v->features, &v->room, v->count, 1) ||
				    !map_set(&v->places, name, v->count + 1u))
					return false;
				v->features[v->count++] = (struct feature){.name = name, .kind = k};
				at = v->count;
			}
			v->features[at - 1].ns += time_of(kinds[k], set->rows[i]);
		}
	}
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct feature *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->name > y->name) - (x->name < y->name);
}

static bool rank_features(struct vectors *v)
{
	bool ok = true;

	if (v->count)
		qsort(v->features, v->count, sizeof(*v->features), by_time);
	for (uint32_t i = 0; i < v->count; i++) {
		uint32_t place = i < FEATURES ? i : FEATURES + v->features[i].kind;

		v->kind[place] = v->features[i].kind;
		ok &= map_set(&v->places, v->features[i].name, place + 1u);
	}
	return ok;
}

static void fill(struct vectors *v, const struct clusters *c, const struct summary *s)
{
	for (unsigned k = 0; k < KINDS; k++) {
		const struct tally_set *set = &s->tallies->set[kinds[k]];

		for (uint32_t i = 0; i < set->count; i++) {
			const struct tally *y = set->rows[i];
			uint32_t m = v->member[y->key[KEY_PROCESS]];
			uint64_t at = map_get(&v->places, name_of(s->trace, kinds[k], y));

			if (m && at)
				v->at[m - 1][at - 1] += (double)time_of(kinds[k], y);
		}
	}
	for (uint32_t m = 0; m < c->count; m++) {
		double lived = (double)recorded_of(s->trace, c->members[m].process).lived;

		for (unsigned f = 0; f < SHARES; f++)
			v->at[m][f] /= lived > 1 ? lived : 1;
	}
}

/* Several threads, or devices, may spend more than a life on a kind: of no process do its shares add up to more than 1. */
static void scale(struct vectors *v, const struct clusters *c)
{
	double most[KINDS] = {1, 1, 1, 1};

	for (uint32_t m = 0; m < c->count; m++) {
		double sum[KINDS] = {0};

		for (unsigned f = 0; f < SHARES; f++)
			sum[v->kind[f]] += v->at[m][f];
		for (unsigned k = 0; k < KINDS; k++)
			most[k] = fmax(most[k], sum[k]);
	}
	for (uint32_t m = 0; m < c->count; m++)
		for (unsigned f = 0; f < SHARES; f++)
			v->at[m][f] /= most[v->kind[f]];
}

/* ---- clusters ---------------------------------------------------------------------------------- */

/* 1 where two have nothing in common, of a kind that both spend as much on as any does. */
static double distance(const struct vectors *v, const double a[SHARES], const double b[SHARES])
{
	double sum[KINDS] = {0}, most = 0;

	for (unsigned f = 0; f < SHARES; f++)
		sum[v->kind[f]] += fabs(a[f] - b[f]);
	for (unsigned k = 0; k < KINDS; k++)
		most = fmax(most, sum[k] / 2);
	return most;
}

/* The mean of those that belong to it. */
static void find_means(struct vectors *v, const struct clusters *c)
{
	uint32_t number[CLUSTERS_MOST] = {0};

	memset(v->mean, 0, sizeof(v->mean));
	for (uint32_t m = 0; m < c->count; m++) {
		uint32_t k = c->members[m].cluster;

		number[k]++;
		for (unsigned f = 0; f < SHARES; f++)
			v->mean[k][f] += v->at[m][f];
	}
	for (uint32_t k = 0; k < c->clusters; k++)
		for (unsigned f = 0; f < SHARES; f++)
			v->mean[k][f] /= number[k] ? number[k] : 1;
}

/* Each to the nearest. */
static void assign(const struct vectors *v, struct clusters *c)
{
	for (uint32_t m = 0; m < c->count; m++) {
		struct cluster_member *x = &c->members[m];

		x->distance = INFINITY;
		for (uint32_t k = 0; k < c->clusters; k++) {
			double d = distance(v, v->at[m], v->mean[k]);

			if (d < x->distance) {
				x->distance = d;
				x->cluster = k;
			}
		}
	}
}

/* Those that are alike mostly have the same. */
static uint64_t about(const double at[SHARES])
{
	uint64_t hash = 0;

	for (unsigned f = 0; f < SHARES; f++)
		hash = hash_mix(hash, (uint64_t)(at[f] / (4 * NEAR)));
	return hash;
}

/*
 * Of those that are like no cluster, one of the kind that has most; of equals the farthest. False in *any: there are
 * none. False: no memory.
 */
static bool find_next(const struct vectors *v, const struct clusters *c, uint32_t *next, bool *any)
{
	struct map numbers = {0};
	uint64_t most = 0;
	bool ok = true;

	*any = false;
	for (uint32_t m = 0; m < c->count && ok; m++) {
		uint64_t hash = about(v->at[m]);

		if (c->members[m].distance > NEAR)
			ok = map_set(&numbers, hash, map_get(&numbers, hash) + 1);
	}
	for (uint32_t m = 0; m < c->count && ok; m++) {
		const struct cluster_member *x = &c->members[m];
		uint64_t number = x->distance > NEAR ? map_get(&numbers, about(v->at[m])) : 0;

		if (number > most ||
		    (number && number == most && x->distance > c->members[*next].distance)) {
			*next = m;
			most = number;
			*any = true;
		}
	}
	map_release(&numbers);
	return ok;
}

static bool find_clusters(struct vectors *v, struct clusters *c)
{
	uint32_t next = 0;
	bool any;

	c->clusters = 1;
	memcpy(v->mean[0], v->at[0], sizeof(v->mean[0]));
	for (;;) {
		for (unsigned round = 0; round < 3; round++) {
			assign(v, c);
			find_means(v, c);
		}
		assign(v, c);
		if (c->clusters == CLUSTERS_MOST)
			return true;
		if (!find_next(v, c, &next, &any))
			return false;
		if (!any)
			return true;
		memcpy(v->mean[c->clusters++], v->at[next], sizeof(v->mean[0]));
	}
}

/* One that has nobody, as others have moved to where it began, is none. */
static void find_middles(struct clusters *c)
{
	for (uint32_t k = 0; k < c->clusters; k++) {
		struct cluster_member *best = NULL;
		uint32_t number = 0;

		for (uint32_t m = 0; m < c->count; m++) {
			struct cluster_member *x = &c->members[m];

			if (x->cluster != k)
				continue;
			x->cluster = c->drawn;
			number++;
			if (!best || x->distance < best->distance)
				best = x;
		}
		if (best) {
			best->place = number > 1 ? CLUSTER_MIDDLE : CLUSTER_ALONE;
			c->alone += number == 1;
			c->drawn++;
		}
	}
	c->clusters = c->drawn;
}

/* Those that are farther from their middle than NEAR, the farthest first. */
static void find_outliers(struct clusters *c, uint32_t most)
{
	for (;;) {
		struct cluster_member *far = NULL;

		for (uint32_t m = 0; m < c->count; m++) {
			struct cluster_member *x = &c->members[m];

			if (x->place == CLUSTER_MEMBER && x->distance > NEAR &&
			    (!far || x->distance > far->distance))
				far = x;
		}
		if (!far)
			return;
		if (c->drawn == most) {
			for (uint32_t m = 0; m < c->count; m++)
				c->left_out += c->members[m].place == CLUSTER_MEMBER &&
					       c->members[m].distance > NEAR;
			return;
		}
		far->place = CLUSTER_OUTLIER;
		c->drawn++;
	}
}

/* Of each cluster, the one that is drawn stands for those that are not and are like it. */
static void count_like(struct clusters *c)
{
	uint32_t number[CLUSTERS_MOST] = {0};

	for (uint32_t m = 0; m < c->count; m++)
		number[c->members[m].cluster] +=
			c->members[m].place == CLUSTER_MEMBER && c->members[m].distance <= NEAR;
	for (uint32_t m = 0; m < c->count; m++)
		if (c->members[m].place == CLUSTER_MIDDLE)
			c->like[c->members[m].process] = number[c->members[m].cluster];
}

/* ------------------------------------------------------------------------------------------------ */

/* Of what is selected, those that have some of it. */
static bool list_members(struct clusters *c, const struct summary *s)
{
	const struct trace *t = s->trace;
	bool *there = calloc(t->processes_count + 1u, sizeof(*there)), ok;

	c->members = calloc(t->processes_count + 1u, sizeof(*c->members));
	for (unsigned k = 0; there && k < TALLY_KINDS; k++)
		for (uint32_t i = 0; i < s->tallies->set[k].count; i++)
			there[s->tallies->set[k].rows[i]->key[KEY_PROCESS]] = true;
	for (uint32_t i = 1; there && c->members && i < t->processes_count; i++)
		if (!t->processes[i].telemetry && (there[i] || !s->selection))
			c->members[c->count++].process = i;
	ok = there && c->members;
	free(there);
	return ok;
}

static bool cluster(struct vectors *v, struct clusters *c, const struct summary *s, uint32_t most)
{
	const struct trace *t = s->trace;

	v->member = calloc(t->processes_count + 1u, sizeof(*v->member));
	v->at = calloc(c->count + 1u, sizeof(*v->at));
	c->draws = calloc(t->processes_count + 1u, sizeof(*c->draws));
	c->like = calloc(t->processes_count + 1u, sizeof(*c->like));
	if (!v->member || !v->at || !c->draws || !c->like || !collect(v, s) || !rank_features(v))
		return false;
	for (uint32_t m = 0; m < c->count; m++)
		v->member[c->members[m].process] = m + 1;
	fill(v, c, s);
	scale(v, c);
	if (!find_clusters(v, c))
		return false;
	find_middles(c);
	find_outliers(c, most);
	count_like(c);
	for (uint32_t i = 0; i < t->processes_count; i++)
		c->draws[i] = t->processes[i].telemetry || i == 0;
	for (uint32_t m = 0; m < c->count; m++)
		c->draws[c->members[m].process] = c->members[m].place != CLUSTER_MEMBER;
	return true;
}

bool clusters_find(struct clusters *c, const struct summary *s, uint32_t most)
{
	struct vectors *v = calloc(1, sizeof(*v));
	bool ok;

	*c = (struct clusters){0};
	ok = v && list_members(c, s);
	if (ok && c->count > most)
		ok = cluster(v, c, s, most);
	else
		c->drawn = c->count;
	if (v) {
		free(v->features);
		free(v->at);
		free(v->member);
		map_release(&v->places);
	}
	free(v);
	return ok;
}

void clusters_release(struct clusters *c)
{
	free(c->members);
	free(c->draws);
	free(c->like);
	*c = (struct clusters){0};
}

static void put_row(struct table *t, const struct cluster_member *m, const struct trace *trace)
{
	const struct t_process *p = &trace->processes[m->process];
	static const char *const places[] = {
		"no, it is like the one in the middle", "yes, in the middle of its cluster",
		"yes, it is like no other", "yes, it is unlike its cluster"};
	struct cell *cells = table_row(t);

	if (!cells)
		return;
	if (p->rank != UINT32_MAX) {
		cell_number(&cells[0], p->world);
		cell_number(&cells[1], p->rank);
	}
	cell_number(&cells[2], p->pid);
	cell_text(t, &cells[3], p->hostname);
	cell_number(&cells[4], m->cluster + 1);
	cell_text(t, &cells[5],
		  m->place == CLUSTER_MEMBER && m->distance > NEAR
			  ? "no, though it is unlike its cluster: too many are"
			  : places[m->place]);
	cell_real(&cells[6], 100 * m->distance);
}

void clusters_table(const struct clusters *c, const struct trace *t, struct report *r)
{
	struct table *table =
		c->draws ? report_table(r, "clusters", "Processes by what they spend time on")
			 : NULL;

	if (!table)
		return;
	table_column_if(table, t->worlds > 1, "world", "world", CELL_ID);
	table_column(table, "rank", "rank", CELL_ID);
	table_column(table, "process", "process", CELL_ID);
	table_column(table, "host", "host", CELL_TEXT);
	table_column(table, "cluster", "cluster", CELL_ID);
	table_column(table, "drawn", "drawn", CELL_TEXT);
	table_column(table, "distance_percent", "% of time unlike its cluster", CELL_PERCENT);
	for (uint32_t m = 0; m < c->count; m++)
		put_row(table, &c->members[m], t);
}
