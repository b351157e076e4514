/* SPDX-License-Identifier: Apache-2.0 */
/* Sums as rocprofv3's summaries have them; see rocprofv3.h. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "formats/rocprofv3/rocprofv3.h"

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static struct rp_stat *find(struct rp_stats *s, uint32_t process, uint32_t list, const char *name)
{
	uint64_t key, i;

	key = hash_mix(hash_mix(hash_u64(process), list), name ? hash_string(name) : 0);
	map_each(&s->found, key, i)
		if (s->at[i - 1].process == process && s->at[i - 1].list == list &&
		    is_same(s->at[i - 1].name, name))
			return &s->at[i - 1];
	if (!vec_reserve(&s->at, &s->room, s->count, 1) || !map_add(&s->found, key, s->count + 1))
		return NULL;
	s->at[s->count] =
		(struct rp_stat){.process = process, .list = list, .name = name, .min = UINT64_MAX};
	return &s->at[s->count++];
}

/* Names stay, so that most are known by their address. */
static struct rp_stat *look_up(struct rp_stats *s, uint32_t process, uint32_t list,
			       const char *name)
{
	size_t known = sizeof(s->recent) / sizeof(*s->recent);
	uint32_t *recent = &s->recent[(((uintptr_t)name >> 3) + list * 7 + process * 31) % known];
	struct rp_stat *x = *recent ? &s->at[*recent - 1] : NULL;

	if (x && x->process == process && x->list == list && x->name == name)
		return x;
	x = find(s, process, list, name);
	if (x)
		*recent = (uint32_t)(x - s->at) + 1;
	return x;
}

static bool add(struct rp_stats *s, uint32_t process, uint32_t list, const char *name, uint64_t ns)
{
	struct rp_stat *x = look_up(s, process, list, name);

	if (!x)
		return false;
	x->count++;
	x->sum += ns;
	x->squares += (double)ns * (double)ns;
	x->min = ns < x->min ? ns : x->min;
	x->max = ns > x->max ? ns : x->max;
	return true;
}

bool rp_stats_add(struct rp_stats *s, uint32_t process, uint32_t list, const char *name,
		  uint64_t ns)
{
	return add(s, process, list, name, ns) && add(s, process, list, NULL, ns);
}

static int compare(const void *pa, const void *pb)
{
	const struct rp_stat *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->list != b->list)
		return a->list < b->list ? -1 : 1;
	if (!a->name || !b->name)
		return a->name ? 1 : b->name ? -1 : 0;
	if (a->sum != b->sum)
		return a->sum > b->sum ? -1 : 1;
	return strcmp(a->name, b->name);
}

void rp_stats_sort(struct rp_stats *s)
{
	if (s->count)
		qsort(s->at, s->count, sizeof(*s->at), compare);
}

double rp_stat_variance(const struct rp_stat *s)
{
	double n = (double)s->count, sum = (double)s->sum, v;

	if (s->count < 2)
		return 0;
	v = (s->squares - sum * sum / n) / (n - 1);
	return v > 0 ? v : 0;
}

void rp_stats_release(struct rp_stats *s)
{
	free(s->at);
	map_release(&s->found);
}
