/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks as what they stand for. Descriptors say processes, threads and counters; what is below them only names say:
 * those of iprof ("Hostname H" > "Process P" > "Thread T" > "Device D" > "SubDevice S"), of rocprofv3 and
 * rocprofiler-systems ("COMPUTE AGENT [1] STREAM [0] (GPU)"), and Kymo's ("gpu NAME" > "queue 0").
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/counter.h>

#include "formats/perfetto/reader.h"

enum { THREAD_TIME = 1, INSTRUCTIONS = 2 }; /* CounterDescriptor.BuiltinCounterType */

enum salt { BY_NUMBER = 1, BY_TRACK, BY_PID, BY_HOST, SAMPLER, NOBODY };

static uint64_t salted(enum salt salt, uint64_t a, uint64_t b)
{
	return hash_mix(hash_mix(hash_u64(salt), a), b);
}

bool pfread_numbered(const char *name, const char *word, uint64_t *number)
{
	size_t n = strlen(word);
	char *end;

	if (strncmp(name, word, n) != 0 || name[n] < '0' || name[n] > '9')
		return false;
	*number = strtoull(name + n, &end, 10);
	return !*end;
}

static const char *name_of(const struct pfreader *r, const struct track_in *t)
{
	return pfread_string(r, t->name);
}

static struct track_in *above(struct pfreader *r, const struct track_in *t)
{
	return t->up ? &r->tracks[t->up - 1] : NULL;
}

/* ---- processes and threads -------------------------------------------------------------------- */

/* "heat rank 3" is heat: what the file says of a rank is beside it. */
static const char *program_of(struct pfreader *r, const struct track_in *t)
{
	const char *name = pfread_string(r, t->process_name ? t->process_name : t->name);
	const char *rank = t->label_rank ? strstr(name, " rank ") : NULL;

	return rank ? trace_string(r->t, name, (size_t)(rank - name)) : name;
}

static uint32_t process_of_pid(struct pfreader *r, uint32_t pid)
{
	uint32_t process = keyed_process(&r->keyed, salted(BY_PID, pid, 0), pid);
	struct t_process *p = &r->t->processes[process];
	uint32_t name = (uint32_t)map_get(&r->tree, (uint64_t)pid << 1);

	if (!*p->exe && name)
		p->exe = pfread_string(r, name);
	return process;
}

static void define_process(struct pfreader *r, struct track_in *t)
{
	struct t_process *p;
	const char *name = program_of(r, t);

	t->what = TRACK_PROCESS;
	t->process = process_of_pid(r, t->pid);
	p = &r->t->processes[t->process];
	p->exe = *name ? name : p->exe;
	if (t->command)
		p->argv = pfread_string(r, t->command);
	if (t->host)
		p->hostname = pfread_string(r, t->host);
	if (t->label_rank)
		p->rank = t->label_rank - 1;
	t->host = 0; /* not as iprof's, which is of a track */
}

static void define_thread(struct pfreader *r, struct track_in *t, uint32_t process, uint32_t tid)
{
	uint32_t name = t->thread_name ? t->thread_name : t->is_thread ? t->name : 0;
	struct t_thread *h;

	t->what = TRACK_THREAD;
	t->process = process;
	t->thread = keyed_thread(&r->keyed, salted(BY_PID, process, tid), process, tid);
	h = &r->t->threads[t->thread];
	if (!name)
		name = (uint32_t)map_get(&r->tree, (uint64_t)tid << 1 | 1);
	if (name)
		h->name = pfread_string(r, name);
}

uint32_t pfread_fallback(struct pfreader *r)
{
	if (r->fallback)
		return r->fallback;
	r->fallback =
		r->t->processes_count == 2 ? 1 : keyed_process(&r->keyed, salted(NOBODY, 0, 0), 0);
	return r->fallback;
}

/* ---- rows by their names ---------------------------------------------------------------------- */

/* "THREAD 2 (4711)" of rocprofv3. */
static bool is_numbered_thread(const char *name, uint32_t *tid)
{
	const char *open = strchr(name, '(');
	char *end;

	if (strncmp(name, "THREAD ", 7) != 0 || !open)
		return false;
	*tid = (uint32_t)strtoul(open + 1, &end, 10);
	return end > open + 1 && strcmp(end, ")") == 0;
}

static void define_sampler(struct pfreader *r, struct track_in *t)
{
	struct t_process *p;

	t->process = keyed_process(&r->keyed, salted(SAMPLER, t->host, 0), 0);
	p = &r->t->processes[t->process];
	p->exe = "iprof";
	p->hostname = pfread_string(r, t->host);
	p->telemetry = true;
}

static void define_row(struct pfreader *r, struct track_in *t, const struct track_in *up)
{
	const char *name = name_of(r, t);
	uint64_t number;
	uint32_t tid;

	t->what = TRACK_ROW;
	if (up) {
		t->process = up->process;
		t->thread = up->thread;
		t->host = up->host;
	}
	if (!t->process && strncmp(name, "Hostname ", 9) == 0) {
		t->host = keyed_text(&r->keyed, name + 9, strlen(name + 9));
	} else if (!t->process && t->host && pfread_numbered(name, "Process ", &number)) {
		t->what = TRACK_PROCESS;
		t->process = keyed_process(&r->keyed, salted(BY_HOST, t->host, number),
					   (uint32_t)number);
		r->t->processes[t->process].hostname = pfread_string(r, t->host);
	} else if (!t->process && t->host && strcmp(name, "Sampling") == 0) {
		define_sampler(r, t);
	} else if (t->host && up && up->what == TRACK_PROCESS &&
		   pfread_numbered(name, "Thread ", &number)) {
		define_thread(r, t, t->process, (uint32_t)number);
	} else if (!t->is_counter && is_numbered_thread(name, &tid)) {
		define_thread(r, t, t->process ? t->process : pfread_fallback(r), tid);
	}
}

/* ---- the tree --------------------------------------------------------------------------------- */

/* Of several that are drawn as one, the first. */
static void find_same(struct pfreader *r, uint32_t place)
{
	struct track_in *t = &r->tracks[place];
	uint64_t key = salted(BY_TRACK, t->up, t->name), first;

	if (t->by_key) {
		first = map_get(&r->track_places, t->merge);
		t->same = first && first - 1 != place ? (uint32_t)first : 0;
		return;
	}
	if (t->apart || !t->name)
		return;
	first = map_get(&r->rows, key);
	if (first)
		t->same = (uint32_t)first;
	else if (!map_set(&r->rows, key, place + 1u))
		r->failed = true;
}

static void resolve_one(struct pfreader *r, uint32_t place)
{
	struct track_in *t = &r->tracks[place];

	t->state = TRACK_DONE;
	if (t->is_process || t->is_thread)
		return;
	define_row(r, t, above(r, t));
	if (t->what == TRACK_ROW)
		find_same(r, place);
}

/* Up to one that is done, then down again. */
static void resolve(struct pfreader *r, uint32_t place)
{
	uint32_t below = 0;

	for (;;) {
		struct track_in *t = &r->tracks[place];
		uint64_t up = t->has_parent ? map_get(&r->track_places, t->parent) : 0;

		t->state = TRACK_VISITED;
		t->below = below;
		if (up && r->tracks[up - 1].state == TRACK_VISITED) {
			r->cyclic++;
			up = 0;
		}
		t->up = (uint32_t)up;
		if (!up || r->tracks[up - 1].state == TRACK_DONE)
			break;
		below = place + 1;
		place = (uint32_t)up - 1;
	}
	for (uint32_t next = place + 1; next; next = r->tracks[next - 1].below)
		resolve_one(r, next - 1);
}

/* Queues have their numbers in the order of their rows. */
static void define_queues(struct pfreader *r)
{
	for (uint32_t i = 0; i < r->track_count && !r->failed; i++) {
		const struct track_in *t = &r->tracks[i], *up = above(r, t);

		if (t->what == TRACK_ROW && up && up->what == TRACK_ROW && !t->is_counter &&
		    !t->same && strncmp(name_of(r, t), "queue ", 6) == 0)
			pfread_device_row(r, i);
	}
}

void pfread_resolve(struct pfreader *r)
{
	for (uint32_t i = 0; i < r->track_count && !r->failed; i++)
		if (r->tracks[i].is_process)
			define_process(r, &r->tracks[i]);
	for (uint32_t i = 0; i < r->track_count && !r->failed; i++)
		if (r->tracks[i].is_thread)
			define_thread(r, &r->tracks[i], process_of_pid(r, r->tracks[i].pid),
				      r->tracks[i].tid);
	for (uint32_t i = 0; i < r->track_count && !r->failed; i++)
		if (r->tracks[i].state == TRACK_NEW)
			resolve(r, i);
	define_queues(r);
}

/* ---- devices ---------------------------------------------------------------------------------- */

static uint64_t name_key(uint32_t process, const char *name, size_t n)
{
	return hash_add(hash_u64(process), name, n);
}

uint32_t pfread_agent_named(const struct pfreader *r, uint32_t process, const char *name, size_t n)
{
	return (uint32_t)map_get(&r->device_names, name_key(process, name, n));
}

static uint32_t agent(struct pfreader *r, uint32_t process, uint64_t key, const char *type,
		      const char *name, const char *domain, uint64_t handle)
{
	const struct t_agent a = {.type = type,
				  .name = name,
				  .vendor = "",
				  .driver = "",
				  .domain = domain,
				  .platform = "",
				  .properties = "",
				  .handle = handle};

	return keyed_agent(&r->keyed, process, key, &a);
}

/* "gpu NAME" is a device NAME. */
static uint32_t agent_of_track(struct pfreader *r, const struct track_in *t, uint32_t process)
{
	static const char *const types[] = {"gpu", "cpu", "accelerator", "agent"};
	const char *name = name_of(r, t), *whole = name, *type = "gpu";
	uint32_t index;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		size_t n = strlen(types[i]);

		if (strncmp(name, types[i], n) == 0 && name[n] == ' ' && name[n + 1]) {
			type = types[i];
			name += n + 1;
			break;
		}
	}
	index = agent(r, process, salted(BY_TRACK, t->uuid, 0), type, *name ? name : "device",
		      "device", t->uuid);
	if (!pfread_agent_named(r, process, whole, strlen(whole)) &&
	    !map_set(&r->device_names, name_key(process, whole, strlen(whole)), index))
		r->failed = true;
	return index;
}

static uint32_t agent_of_number(struct pfreader *r, uint32_t process, uint64_t number, bool cpu,
				const char *domain)
{
	char name[48];
	int n = snprintf(name, sizeof(name), "%s %llu", cpu ? "agent" : "device",
			 (unsigned long long)number);
	uint64_t key = salted(BY_NUMBER, number, 0);
	uint32_t text = keyed_text(&r->keyed, name, (size_t)n);

	return agent(r, process, key, cpu ? "cpu" : "gpu", pfread_string(r, text), domain, number);
}

/* A number in brackets, or behind a space, after one of the words. */
static bool number_after(const char *name, const char *const *words, uint64_t *out)
{
	for (; *words; words++) {
		const char *at = strcasestr(name, *words);

		if (!at)
			continue;
		at += strlen(*words);
		at += strspn(at, " [");
		if (*at >= '0' && *at <= '9') {
			*out = strtoull(at, NULL, 10);
			return true;
		}
	}
	return false;
}

static uint32_t queue(struct pfreader *r, uint32_t process, uint32_t agent, uint64_t handle,
		      const char *name)
{
	const struct t_queue q = {.process = process,
				  .agent = agent,
				  .handle = handle,
				  .domain = "device",
				  .name = name};

	return keyed_queue(&r->keyed, &q);
}

/* "queue 3 (main)": main, as the user called it; of other rows their name. */
static const char *queue_name(struct pfreader *r, const char *name)
{
	const char *open = strchr(name, '('), *rest = name + 6;
	size_t n = strlen(name);

	if (strncmp(name, "queue ", 6) != 0)
		return name;
	rest += strspn(rest, "0123456789");
	if (!*rest || rest == name + 6)
		return "";
	if (!open || open != rest + 1 || name[n - 1] != ')')
		return "";
	return trace_string(r->t, open + 1, (size_t)(name + n - 1 - open - 1));
}

/* "COMPUTE AGENT [1] STREAM [0] (GPU)", "GPU Kernel Dispatch [0] Queue 3". */
static bool row_by_numbers(struct pfreader *r, struct track_in *t, uint32_t process)
{
	static const char *const agents[] = {"AGENT", "Dispatch", "Device", "GPU", "COMPUTE", NULL};
	static const char *const queues[] = {"STREAM", "QUEUE", NULL};
	const char *name = name_of(r, t), *bracket = strchr(name, '[');
	uint64_t number;

	if (!number_after(name, agents, &number)) {
		if (!bracket || bracket[1] < '0' || bracket[1] > '9')
			return false;
		number = strtoull(bracket + 1, NULL, 10);
	}
	t->agent = agent_of_number(r, process, number, strstr(name, "CPU") != NULL, "hip");
	t->queue = number_after(name, queues, &number) ? queue(r, process, t->agent, number, "")
						       : queue(r, process, t->agent, t->uuid, name);
	return true;
}

/* iprof: each thread has rows of its devices of its own. */
static bool row_of_thread(struct pfreader *r, struct track_in *t, uint32_t process)
{
	const struct track_in *up = above(r, t);
	uint64_t device, part;
	uint32_t whole;
	char name[64];

	if (pfread_numbered(name_of(r, t), "Device ", &device)) {
		t->agent = agent_of_number(r, process, device, false, "ze");
	} else if (up && pfread_numbered(name_of(r, t), "SubDevice ", &part) &&
		   pfread_numbered(name_of(r, up), "Device ", &device)) {
		int n = snprintf(name, sizeof(name), "device %llu part %llu",
				 (unsigned long long)device, (unsigned long long)part);
		uint32_t text = keyed_text(&r->keyed, name, (size_t)n);

		whole = agent_of_number(r, process, device, false, "ze");
		t->agent = agent(r, process, salted(BY_NUMBER, device, part + 1), "gpu",
				 pfread_string(r, text), "ze", part);
		if (t->agent && t->agent != whole)
			r->t->agents[t->agent].parent = whole;
	} else {
		return false;
	}
	t->queue = queue(r, process, t->agent, t->thread, "");
	return true;
}

static void find_device(struct pfreader *r, struct track_in *t, uint32_t process)
{
	struct track_in *up = above(r, t);

	if (t->what != TRACK_ROW) { /* no row of its own: neither is known */
		t->agent = t->queue = 0;
	} else if (t->device) { /* of the system's own events */
		uint64_t number = t->queue;

		t->agent = agent_of_number(r, process, t->agent, false, "gpu");
		t->queue = queue(r, process, t->agent, number, "");
	} else if (up && up->what == TRACK_ROW && up->up &&
		   strncmp(name_of(r, t), "queue ", 6) == 0) {
		t->agent = agent_of_track(r, up, process);
		t->queue = queue(r, process, t->agent, t->uuid, queue_name(r, name_of(r, t)));
	} else if (!row_of_thread(r, t, process) && !row_by_numbers(r, t, process)) {
		bool own = !up || up->what != TRACK_ROW || !up->name;

		t->agent = agent_of_track(r, own ? t : up, process);
		t->queue = own ? 0 : queue(r, process, t->agent, t->uuid, name_of(r, t));
	}
	t->device = true;
	t->state = TRACK_DONE + 1;
}

void pfread_device_row(struct pfreader *r, uint32_t place)
{
	struct track_in *t = &r->tracks[place];
	struct track_in *first = t->same ? &r->tracks[t->same - 1] : t;
	uint32_t process = t->process ? t->process : pfread_fallback(r);

	if (t->state > TRACK_DONE)
		return;
	if (first->what != TRACK_ROW || first->is_counter)
		first = t;
	if (first->state <= TRACK_DONE)
		find_device(r, first, first->process ? first->process : process);
	t = &r->tracks[place];
	if (t == first)
		return;
	t->agent = first->agent;
	t->queue = first->queue;
	t->process = first->process ? first->process : process;
	t->device = true;
	t->state = TRACK_DONE + 1;
}

/* ---- counters --------------------------------------------------------------------------------- */

static uint32_t agent_of_counter(struct pfreader *r, const struct track_in *t, uint32_t process)
{
	static const char *const words[] = {"GPU [", NULL};
	struct track_in *up = above(r, t);
	uint64_t number;

	if (number_after(name_of(r, t), words, &number))
		return agent_of_number(r, process, number, false, "hip");
	for (; up && up->what == TRACK_ROW && up->up; up = above(r, up)) {
		uint64_t device;

		if (up->is_counter || !up->name || strcmp(name_of(r, up), "Sampling") == 0)
			return 0;
		if (pfread_numbered(name_of(r, up), "Device ", &device))
			return agent_of_number(r, process, device, false, "ze");
		if (strncmp(name_of(r, up), "gpu ", 4) == 0 ||
		    strncmp(name_of(r, up), "cpu ", 4) == 0 ||
		    strncmp(name_of(r, up), "accelerator ", 12) == 0)
			return agent_of_track(r, up, process);
	}
	return 0;
}

/* iprof names the value, and what it is of by the row around it. */
static const char *counter_name(struct pfreader *r, const struct track_in *t)
{
	const struct track_in *up = above(r, t);
	const char *name = name_of(r, t);
	uint64_t number;
	char text[256];
	int n;

	if (!*name)
		name = t->type == THREAD_TIME    ? "thread time"
		       : t->type == INSTRUCTIONS ? "thread instructions"
						 : "counter";
	if (!up || !pfread_numbered(name_of(r, up), "SubDevice ", &number))
		return name;
	n = snprintf(text, sizeof(text), "%.200s [part %llu]", name, (unsigned long long)number);
	return pfread_string(r, keyed_text(&r->keyed, text, (size_t)n));
}

uint32_t pfread_counter(struct pfreader *r, uint32_t place)
{
	struct track_in *t = &r->tracks[place];
	uint32_t process = t->process ? t->process : pfread_fallback(r);

	if (!t->counter) {
		const struct t_counter c = {.process = process,
					    .agent = agent_of_counter(r, t, process),
					    .flags = KYMO_COUNTER_GAUGE,
					    .name = counter_name(r, t),
					    .unit = pfread_string(r, t->unit),
					    .description = "",
					    .provider = "perfetto",
					    .dimensions = ""};

		t->process = process;
		t->counter = keyed_counter(&r->keyed, place, &c);
	}
	return t->counter;
}
