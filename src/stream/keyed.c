/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions found again by what a foreign file calls them; see keyed.h. */
#include "stream/keyed.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void keyed_release(struct keyed *k)
{
	struct map *const maps[] = {&k->strings,  &k->processes, &k->threads, &k->agents,
				    &k->contexts, &k->queues,    &k->kernels, &k->counters,
				    &k->ops,      &k->sites,     &k->stacks};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_release(maps[i]);
}

/* What was added last has the index `count` - 1. */
static uint32_t added(struct keyed *k, struct map *m, uint64_t key, uint32_t count)
{
	if (!map_set(m, key, count - 1u))
		k->failed = true;
	return count - 1;
}

static uint64_t key_in(uint32_t process, uint64_t key)
{
	return hash_mix(hash_u64(process), key);
}

/* ---- strings --------------------------------------------------------------------------------- */

uint32_t keyed_text(struct keyed *k, const char *s, size_t n)
{
	uint64_t hash = hash_bytes(s, n), i;
	uint32_t string;

	if (!n)
		return 0;
	map_each(&k->strings, hash, i)
		if (k->t->strings[i].length == n && memcmp(k->t->strings[i].text, s, n) == 0)
			return (uint32_t)i;
	string = make_string(k->t, s, n);
	if (!string || !map_add(&k->strings, hash, string))
		k->failed = true;
	return string;
}

const char *keyed_string(const struct keyed *k, uint32_t string)
{
	return k->t->strings[string].text;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

uint32_t keyed_process(struct keyed *k, uint64_t key, uint32_t pid)
{
	uint32_t known = (uint32_t)map_get(&k->processes, key);

	if (known || k->complete)
		return known;
	*trace_add(k->t, processes) = (struct t_process){.pid = pid,
							 .rank = UINT32_MAX,
							 .of_rank = UINT32_MAX,
							 .exe = "",
							 .argv = "",
							 .cwd = "",
							 .hostname = "",
							 .job = "",
							 .file = "",
							 .version = "",
							 .mpi = "",
							 .rank_by = "",
							 .filters = "",
							 .how_ended = 4,
							 .thread_level = -1};
	return added(k, &k->processes, key, k->t->processes_count);
}

uint32_t keyed_thread(struct keyed *k, uint64_t key, uint32_t process, uint32_t tid)
{
	uint32_t known = (uint32_t)map_get(&k->threads, key);

	if (known || k->complete)
		return known;
	*trace_add(k->t, threads) = (struct t_thread){.process = process, .tid = tid, .name = ""};
	return added(k, &k->threads, key, k->t->threads_count);
}

/* ---- devices --------------------------------------------------------------------------------- */

uint32_t keyed_agent(struct keyed *k, uint32_t process, uint64_t key, const struct t_agent *what)
{
	uint32_t known = (uint32_t)map_get(&k->agents, key_in(process, key));
	struct t_agent *a;

	if (known || k->complete)
		return known;
	a = trace_add(k->t, agents);
	*a = *what;
	a->process = process;
	return added(k, &k->agents, key_in(process, key), k->t->agents_count);
}

uint32_t keyed_context(struct keyed *k, uint32_t process, uint64_t handle, const char *domain)
{
	uint32_t known = (uint32_t)map_get(&k->contexts, key_in(process, handle));

	if (known || k->complete)
		return known;
	*trace_add(k->t, contexts) =
		(struct t_device_context){.process = process, .handle = handle, .domain = domain};
	return added(k, &k->contexts, key_in(process, handle), k->t->contexts_count);
}

uint32_t keyed_queue(struct keyed *k, const struct t_queue *what)
{
	uint64_t key = hash_mix(key_in(what->process, what->handle), what->agent);
	uint32_t known = (uint32_t)map_get(&k->queues, key);

	if (known || k->complete)
		return known;
	*trace_add(k->t, queues) = *what;
	return added(k, &k->queues, key, k->t->queues_count);
}

uint32_t keyed_counter(struct keyed *k, uint64_t key, const struct t_counter *what)
{
	uint32_t known = (uint32_t)map_get(&k->counters, key_in(what->process, key));

	if (known || k->complete)
		return known;
	*trace_add(k->t, counters) = *what;
	return added(k, &k->counters, key_in(what->process, key), k->t->counters_count);
}

uint32_t keyed_kernel(struct keyed *k, uint32_t process, uint32_t name, uint32_t symbol,
		      const char *domain)
{
	uint64_t key = key_in(process, (uint64_t)symbol << 32 | name);
	uint32_t known = (uint32_t)map_get(&k->kernels, key);

	if (known || k->complete)
		return known;
	*trace_add(k->t, kernels) = (struct t_kernel){.process = process,
						      .domain = domain,
						      .name = keyed_string(k, name),
						      .symbol = keyed_string(k, symbol),
						      .framework = "",
						      .source = "",
						      .device = ""};
	return added(k, &k->kernels, key, k->t->kernels_count);
}

/* ---- places in programs ---------------------------------------------------------------------- */

uint32_t keyed_site(struct keyed *k, uint32_t process, const struct keyed_place *p)
{
	uint64_t key = hash_mix(key_in(process, p->function ? 0 : p->address),
				(uint64_t)p->function << 32 | p->file);
	struct t_site site = {.process = process, .address = p->address, .line = p->line};
	uint64_t i;

	key = hash_mix(key, p->line);
	site.function = p->function ? keyed_string(k, p->function) : NULL;
	site.file = p->file ? keyed_string(k, p->file) : NULL;
	map_each(&k->sites, key, i) {
		const struct t_site *s = &k->t->sites[i];

		if (s->process == process && s->function == site.function && s->file == site.file &&
		    s->line == p->line && (p->function || s->address == p->address))
			return (uint32_t)i;
	}
	if (k->complete)
		return 0;
	i = k->t->sites_count;
	site.address = p->function ? i : p->address;
	*trace_add(k->t, sites) = site;
	if (!map_add(&k->sites, key, i))
		k->failed = true;
	return (uint32_t)i;
}

uint32_t keyed_stack(struct keyed *k, uint32_t process, const uint32_t *sites, uint32_t count)
{
	uint64_t key = hash_bytes(sites, count * sizeof(*sites)), i;
	uint32_t *copy;

	key = key_in(process, key);
	if (!count)
		return 0;
	map_each(&k->stacks, key, i)
		if (k->t->stacks[i].process == process && k->t->stacks[i].count == count &&
		    memcmp(k->t->stacks[i].sites, sites, count * sizeof(*sites)) == 0)
			return (uint32_t)i;
	if (k->complete)
		return 0;
	copy = trace_alloc(k->t, count * sizeof(*copy));
	if (!copy)
		return 0;
	memcpy(copy, sites, count * sizeof(*copy));
	i = k->t->stacks_count;
	*trace_add(k->t, stacks) = (struct t_stack){process, count, copy, NULL};
	if (!map_add(&k->stacks, key, i))
		k->failed = true;
	return (uint32_t)i;
}

/* ---- operations ------------------------------------------------------------------------------ */

uint32_t keyed_op(struct keyed *k, const char *domain, const char *name,
		  const struct make_field *fields, uint32_t count)
{
	uint64_t key = hash_mix(hash_string(domain), hash_string(name));
	uint64_t i;

	map_each(&k->ops, key, i)
		if (strcmp(k->t->ops[i].name, name) == 0 &&
		    make_is_foreign_domain(k->t, k->t->ops[i].domain, domain))
			return (uint32_t)i;
	if (k->complete)
		return 0;
	i = make_op(k->t, make_foreign_domain(k->t, domain), name, fields, count);
	if (!map_add(&k->ops, key, i))
		k->failed = true;
	return (uint32_t)i;
}

/* ---- the end --------------------------------------------------------------------------------- */

bool keyed_complete(struct keyed *k, int64_t start, int64_t end)
{
	struct trace *t = k->t;
	uint32_t *threads = calloc((size_t)t->processes_count + 1, sizeof(*threads));

	if (!threads)
		return false;
	for (uint32_t i = 1; i < t->threads_count; i++) {
		struct t_thread *h = &t->threads[i];

		h->index = threads[h->process]++;
		h->main = h->tid && h->tid == t->processes[h->process].pid;
	}
	for (uint32_t i = 1; i < t->processes_count; i++) {
		struct t_process *p = &t->processes[i];

		p->start = p->start ? p->start : start;
		p->end = p->end ? p->end : end;
	}
	free(threads);
	k->complete = true;
	return !k->failed && !trace_failed(t);
}
