/* SPDX-License-Identifier: Apache-2.0 */
/* What records refer to: processes, threads, devices, queues, kernels, operations, counters, names. */
#include <stdio.h>
#include <stdlib.h>

#include <kymo/counter.h>

#include "base/hash.h"
#include "base/json.h"
#include "formats/xspace/reader.h"

enum { FIELDS_MAX = 24, PLANES_MAX = 2048 };

static void keep(struct reader *r, struct map *m, uint64_t key, uint32_t index)
{
	if (!map_set(m, key, index))
		r->failed = true;
}

/* ---- texts ----------------------------------------------------------------------------------- */

uint32_t xread_text(struct reader *r, struct part text)
{
	uint64_t hash, i;

	if (!text.n)
		return 0;
	if (text.n > UINT16_MAX) { /* names are cut, as everywhere in a trace */
		unplaced_add(&r->unplaced, "ends of texts longer than 65,535 bytes", 1);
		text.n = UINT16_MAX;
	}
	hash = hash_bytes(text.s, text.n);
	map_each(&r->strings, hash, i)
		if (r->t->strings[i].length == text.n &&
		    memcmp(r->t->strings[i].text, text.s, text.n) == 0)
			return (uint32_t)i;
	i = make_string(r->t, (const char *)text.s, text.n);
	if (!i || !map_add(&r->strings, hash, i))
		r->failed = true;
	return (uint32_t)i;
}

const char *xread_kept(struct reader *r, struct part text)
{
	uint32_t i = xread_text(r, text); /* which may move the list */

	return r->t->strings[i].text;
}

void xread_count_stat(struct reader *r, struct part name)
{
	uint32_t i = r->left_out.count < 64
			     ? names_get(&r->left_out, &r->scratch, (const char *)name.s,
					 name.n < 80 ? name.n : 80)
			     : 0;

	unplaced_add(&r->unplaced, i ? r->left_out.texts[i - 1] : "other stats", 1);
}

/* ---- processes and threads ------------------------------------------------------------------- */

static uint32_t add_process(struct reader *r, uint32_t input, uint32_t pid)
{
	const struct t_process p = {
		.pid = pid,
		.rank = UINT32_MAX,
		.of_rank = UINT32_MAX,
		.exe = "",
		.argv = "",
		.cwd = "",
		.hostname = r->t->strings[r->in.files[input].host].text,
		.job = "",
		.file = xread_kept(r, (struct part){(uint8_t *)r->in.files[input].path,
						    strlen(r->in.files[input].path)}),
		.version = "",
		.mpi = "",
		.rank_by = "",
		.filters = "",
		.how_ended = 4,
		.thread_level = -1};

	*trace_add(r->t, processes) = p;
	return r->t->processes_count - 1;
}

uint32_t xread_default_process(struct reader *r, uint32_t input)
{
	struct input *in = &r->in.files[input];

	if (!in->process)
		in->process = add_process(r, input, 0);
	return in->process;
}

static uint64_t pid_key(uint32_t input, uint64_t pid)
{
	return hash_mix(hash_u64(input), pid);
}

uint32_t xread_process_of_pid(struct reader *r, uint32_t input, uint64_t pid)
{
	uint32_t known = (uint32_t)map_get(&r->pids, pid_key(input, pid));

	if (!known)
		unplaced_add(&r->unplaced, "numbers of processes that have no plane", 1);
	return known ? known : xread_default_process(r, input);
}

static void describe(struct reader *r, const struct plane_in *p, struct t_process *x)
{
	if (p->process_name.n)
		x->exe = xread_kept(r, p->process_name);
	if (p->hostname.n)
		x->hostname = xread_kept(r, p->hostname);
	if (!p->has_rank)
		return;
	x->rank = (uint32_t)p->rank;
	x->ranks = p->ranks < UINT32_MAX ? (uint32_t)p->ranks : 0;
	x->rank_by = "profile";
}

/* A plane that says whose it is, is that process's; others are of the one that its file has. */
static void define_process(struct reader *r, struct plane_in *p)
{
	struct input *in = &r->in.files[p->input];

	if (!p->has_pid) {
		p->process = xread_default_process(r, p->input);
		return;
	}
	p->process = (uint32_t)map_get(&r->pids, pid_key(p->input, p->pid));
	if (!p->process) {
		p->process = add_process(r, p->input, (uint32_t)p->pid);
		keep(r, &r->pids, pid_key(p->input, p->pid), p->process);
	}
	in->process = in->process ? in->process : p->process;
	describe(r, p, &r->t->processes[p->process]);
}

void xread_define_processes(struct reader *r)
{
	for (uint32_t i = 0; i < r->plane_count && !r->failed; i++)
		if (r->planes[i].kind == PLANE_HOST)
			define_process(r, &r->planes[i]);
}

/* "Host Threads/17" and "Host Threads/17/NVTX" are no names. */
static bool number_in_name(struct part name, uint32_t *out)
{
	char digits[16] = "";
	size_t at = strlen("Host Threads/");

	if (!part_begins(name, "Host Threads/"))
		return false;
	memcpy(digits, name.s + at, name.n - at < 15 ? name.n - at : 15);
	*out = (uint32_t)strtoul(digits, NULL, 10);
	return true;
}

void xread_thread(struct reader *r, struct line_in *l)
{
	const struct plane_in *p = &r->planes[l->plane];
	uint64_t key = hash_mix(hash_u64(p->process), (uint64_t)l->id);
	struct t_thread th = {.process = p->process, .name = ""};

	l->thread = l->first < (uint32_t)(l - r->lines) ? r->lines[l->first].thread
							: (uint32_t)map_get(&r->threads, key);
	if (l->thread)
		return;
	th.tid = l->id > 0 && l->id < 0x50000000 ? (uint32_t)l->id : 0;
	if (!number_in_name(l->name, &th.tid))
		th.name = xread_kept(r, l->name);
	*trace_add(r->t, threads) = th;
	l->thread = r->t->threads_count - 1;
	keep(r, &r->threads, key, l->thread);
}

/* ---- operations ------------------------------------------------------------------------------ */

static const char *domain_by_name(struct part name)
{
	return part_begins(name, "hip")    ? "hip"
	       : part_begins(name, "hsa")  ? "hsa"
	       : part_begins(name, "cuda") ? "cuda_runtime"
	       : part_begins(name, "cu")   ? "cuda"
	       : part_begins(name, "cl")   ? "opencl"
	       : part_begins(name, "nccl") ? "nccl"
					   : "api";
}

static uint8_t kind_of(const struct stat_value *v)
{
	if (v->type == TYPE_TEXT)
		return part_begins(v->s, "0x") ? KYMO_KIND_POINTER : KYMO_KIND_STRING;
	return v->type == TYPE_SIGNED     ? KYMO_KIND_SIGNED
	       : v->type == TYPE_UNSIGNED ? KYMO_KIND_UNSIGNED
					  : KYMO_KIND_STRING;
}

/* Arguments are those of the first event of that name; others show what they have of them. */
static uint32_t fields_of(struct reader *r, const struct entry *e, struct make_field *fields)
{
	struct stat_walk w = xread_stat_walk(r, e);
	struct stat_value v;
	uint32_t n = 0;

	while (n < FIELDS_MAX && xread_next_stat(r, &w, &v)) {
		struct part name = xread_argument(&v);

		if (name.n)
			fields[n++] = (struct make_field){xread_kept(r, name), kind_of(&v)};
	}
	return n;
}

uint32_t xread_op(struct reader *r, const struct entry *e, const struct stats *s)
{
	struct part name = xread_name(r, e), domain = stat_text(s, STAT_DOMAIN);
	const char *d = domain.n ? xread_kept(r, domain) : domain_by_name(name);
	uint64_t key = hash_add(hash_string(d), name.s, name.n);
	uint32_t known = (uint32_t)map_get(&r->ops, key);
	struct make_field fields[FIELDS_MAX];

	if (known)
		return known;
	known = make_op(r->t, make_domain(r->t, d, d), name.n ? xread_kept(r, name) : "(no name)",
			fields, fields_of(r, e, fields));
	keep(r, &r->ops, key, known);
	return known;
}

uint32_t xread_counter(struct reader *r, uint32_t process, uint32_t agent, struct part name)
{
	uint32_t text = xread_text(r, name);
	uint64_t key = hash_mix(hash_mix(hash_u64(process), agent), text);
	uint32_t known = (uint32_t)map_get(&r->counters, key);

	if (known)
		return known;
	*trace_add(r->t, counters) = (struct t_counter){.process = process,
							.agent = agent,
							.flags = KYMO_COUNTER_GAUGE,
							.name = r->t->strings[text].text,
							.unit = "",
							.description = "",
							.provider = "xspace",
							.dimensions = ""};
	keep(r, &r->counters, key, r->t->counters_count - 1);
	return r->t->counters_count - 1;
}

/* ---- devices --------------------------------------------------------------------------------- */

static void add_number(struct json *j, const char *name, uint64_t v)
{
	if (!v)
		return;
	json_name(j, name);
	json_add_unsigned(j, v);
}

/* Under the names that the rules of `kymo diagnose` know. */
static const char *properties_of(struct reader *r, const struct plane_in *p)
{
	struct text out = {0};
	struct json j = {.out = &out, .compact = true};
	char capability[48];
	const char *kept;
	int n;

	json_open(&j, '{');
	json_name(&j, "device");
	json_add_unsigned(&j, (uint64_t)p->id);
	n = snprintf(capability, sizeof(capability), "%llu.%llu", (unsigned long long)p->major,
		     (unsigned long long)p->minor);
	if (p->has_capability) {
		json_name(&j, "compute_capability");
		json_add_bytes(&j, capability, (size_t)n);
	}
	add_number(&j, "memory_bytes", p->memory);
	add_number(&j, "memory_bandwidth_kb_s", p->bandwidth / 1000);
	add_number(&j, p->gpu ? "multiprocessors" : "compute_units", p->cores);
	add_number(&j, "clock_khz", p->clock_khz);
	json_close(&j);
	kept = trace_string(r->t, out.s ? out.s : "", out.length);
	text_release(&out);
	return kept;
}

static uint64_t agent_key(uint32_t process, uint32_t plane)
{
	return hash_mix(hash_u64(process), plane);
}

static const char *runtime_of(struct reader *r, const struct plane_in *p)
{
	if (p->runtime.n)
		return xread_kept(r, p->runtime);
	return part_is(p->vendor, "AMD") ? "hip" : p->gpu ? "cuda" : "device";
}

static void add_agent(struct reader *r, uint32_t process, uint32_t plane)
{
	const struct plane_in *p = &r->planes[plane];
	size_t skip = strlen("/device:");
	struct part name = {p->name.s + skip, p->name.n - skip};

	if (p->device_name.n)
		name = p->device_name;
	*trace_add(r->t, agents) =
		(struct t_agent){.process = process,
				 .type = p->device_type.n && !p->gpu ? xread_kept(r, p->device_type)
					 : p->gpu                    ? "gpu"
								     : "accelerator",
				 .name = xread_kept(r, name),
				 .vendor = xread_kept(r, p->vendor),
				 .driver = "",
				 .domain = runtime_of(r, p),
				 .platform = "",
				 .properties = properties_of(r, p),
				 .handle = (uint64_t)p->id};
	keep(r, &r->agents, agent_key(process, plane), r->t->agents_count - 1);
}

/*
 * Devices of one name have no other identity than their place: all of the file come into a process with the
 * first, so that each is the same one in all processes.
 */
uint32_t xread_agent(struct reader *r, uint32_t process, uint32_t plane)
{
	uint32_t input;

	if (!plane)
		return 0;
	input = r->planes[plane - 1].input;
	if (map_get(&r->agents, agent_key(process, plane - 1)))
		return (uint32_t)map_get(&r->agents, agent_key(process, plane - 1));
	if (r->plane_count > PLANES_MAX) /* no machine has so many: all in all would be too many */
		add_agent(r, process, plane - 1);
	for (uint32_t i = 0; i < r->plane_count && r->plane_count <= PLANES_MAX; i++)
		if (r->planes[i].kind == PLANE_DEVICE && r->planes[i].input == input)
			add_agent(r, process, i);
	return (uint32_t)map_get(&r->agents, agent_key(process, plane - 1));
}

uint32_t xread_device_plane(const struct reader *r, uint32_t input, const struct stat_value *number)
{
	for (uint32_t i = 0; number && i < r->plane_count; i++)
		if (r->planes[i].kind == PLANE_DEVICE && r->planes[i].input == input &&
		    r->planes[i].id == number->i)
			return i + 1;
	return 0;
}

/* "Stream #7(Kernel,MemcpyH2D)": the runtime's number. */
static bool stream_in_name(struct part name, uint64_t *out)
{
	char digits[24] = "";
	size_t at = strlen("Stream #");

	if (!part_begins(name, "Stream #"))
		return false;
	memcpy(digits, name.s + at, name.n - at < 23 ? name.n - at : 23);
	*out = strtoull(digits, NULL, 10);
	return true;
}

uint32_t xread_queue(struct reader *r, uint32_t process, uint32_t line)
{
	const struct line_in *l = &r->lines[r->lines[line].first];
	uint64_t key = hash_mix(hash_u64(process), r->lines[line].first), handle = (uint64_t)l->id;
	uint32_t known = (uint32_t)map_get(&r->queues, key), agent;
	bool stream;

	if (l->what != ROW_QUEUE || known)
		return known;
	agent = xread_agent(r, process, l->plane + 1);
	stream = stream_in_name(l->name, &handle);
	*trace_add(r->t, queues) = (struct t_queue){
		.process = process,
		.agent = agent,
		.handle = handle,
		.domain = r->t->agents[agent].domain,
		.name = xread_kept(r, l->display.n || stream ? l->display : l->name)};
	keep(r, &r->queues, key, r->t->queues_count - 1);
	return r->t->queues_count - 1;
}

uint32_t xread_kernel(struct reader *r, uint32_t process, struct part name)
{
	uint32_t text = xread_text(r, name);
	uint64_t key = hash_mix(hash_u64(process), text);
	uint32_t known = (uint32_t)map_get(&r->kernels, key);

	if (known)
		return known;
	*trace_add(r->t, kernels) = (struct t_kernel){
		.process = process, .domain = "device", .name = r->t->strings[text].text};
	keep(r, &r->kernels, key, r->t->kernels_count - 1);
	return r->t->kernels_count - 1;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void complete_process(struct reader *r, struct t_process *p)
{
	int64_t start = r->window[0] + r->shift;

	p->argv = *p->exe ? p->exe : "(no name)";
	p->start = start;
	p->end = r->window[1] + r->shift;
	p->realtime_offset = r->dated ? -r->shift : 0;
	p->start_realtime = r->dated ? start + p->realtime_offset : 0;
}

void xread_complete(struct reader *r)
{
	struct trace *t = r->t;

	for (uint32_t i = 1; i < t->processes_count; i++)
		complete_process(r, &t->processes[i]);
	for (uint32_t i = 1; i < t->threads_count; i++) {
		struct t_thread *th = &t->threads[i];

		th->index = r->threads_of[th->process]++;
		th->main = th->tid && th->tid == t->processes[th->process].pid;
	}
	t->path = r->in.files[0].path;
	t->command = t->processes_count > 1 ? t->processes[1].argv : "";
	t->hostname = t->processes_count > 1 ? t->processes[1].hostname : "";
	t->version = "";
	t->started = t->processes_count > 1 ? t->processes[1].start_realtime / 1000000000 : 0;
	t->origin = r->window[0] + r->shift;
	t->end = r->window[1] + r->shift;
}
