/* SPDX-License-Identifier: Apache-2.0 */
/* What records refer to: the file has names of functions and kernels, and numbers of all else; see reader.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/rpd/reader.h"

/* ---- metadata ---------------------------------------------------------------------------------- */

static int64_t number_in(const struct dbvalue *v)
{
	char text[24] = "";

	if (v->type == DB_INTEGER)
		return v->integer;
	if (v->type == DB_TEXT)
		snprintf(text, sizeof(text), "%.*s", (int)(v->length & 0x1f), v->text);
	return strtoll(text, NULL, 10);
}

static void take_metadata(struct reader *r, const struct dbrow *row, enum rpd_table table)
{
	const struct dbvalue *tag = dbrow_value(row, C_METADATA_TAG);
	int64_t v = number_in(dbrow_value(row, C_METADATA_VALUE));

	if (v > 0 && dbvalue_is(tag, "pid_stride"))
		r->pid_stride = v;
	if (v > 0 && dbvalue_is(tag, "gpu_stride"))
		r->gpu_stride = v;
}

void rpd_metadata(struct reader *r)
{
	rpd_each(r, T_METADATA, take_metadata);
}

/* Files of several nodes that were made one have a node's number in front of others. */
static int64_t within(int64_t number, int64_t stride)
{
	return stride && number > 0 ? number % stride : number;
}

/* ---- texts ------------------------------------------------------------------------------------- */

uint32_t rpd_text(struct reader *r, int64_t id)
{
	uint64_t known = map_get(&r->strings.kept, (uint64_t)id);
	struct dbvalue all[DBFILE_COLUMNS];
	const struct dbvalue *v;
	uint32_t string = 0;

	if (known)
		return (uint32_t)known - 1;
	v = dbindex_text(&r->strings, id, C_STRING_TEXT, all);
	if (v)
		string = keyed_text(&r->keyed, v->text, v->length);
	if (!map_set(&r->strings.kept, (uint64_t)id, string + UINT64_C(1)))
		r->failed = true;
	return string;
}

const char *rpd_string(struct reader *r, int64_t id)
{
	return keyed_string(&r->keyed, rpd_text(r, id));
}

/* ---- processes and threads --------------------------------------------------------------------- */

uint32_t rpd_process(struct reader *r, int64_t pid)
{
	uint32_t process =
		keyed_process(&r->keyed, (uint64_t)pid, (uint32_t)within(pid, r->pid_stride));

	r->nodes |= r->pid_stride && pid / r->pid_stride > 0;
	return process;
}

uint32_t rpd_thread(struct reader *r, int64_t pid, int64_t tid)
{
	return keyed_thread(&r->keyed, hash_mix(hash_u64((uint64_t)pid), (uint64_t)tid),
			    rpd_process(r, pid), (uint32_t)within(tid, r->pid_stride));
}

/* ---- calls ------------------------------------------------------------------------------------- */

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* What the file says, since version 3; else by the function's name. */
static const char *domain_of(const char *said, const char *name, enum rpd_table table)
{
	if (begins(name, "cuda"))
		return "cuda_runtime";
	if (*said && table == T_API)
		return said;
	if (table == T_HSA || begins(name, "hsa_"))
		return "hsa";
	if (begins(name, "hip"))
		return "hip";
	if (begins(name, "cu") && name[2] >= 'A' && name[2] <= 'Z')
		return "cuda";
	return begins(name, "roctx") ? "roctx" : "rpd";
}

uint32_t rpd_op(struct reader *r, const struct dbrow *row, enum rpd_table table)
{
	static const struct make_field arguments = {"args", KYMO_KIND_STRING};
	int64_t name = rpd_number(r, row, C_API_NAME), domain = rpd_number(r, row, C_API_DOMAIN);
	uint64_t key = hash_mix(hash_mix(hash_u64(table), (uint64_t)name), (uint64_t)domain);
	uint32_t known = (uint32_t)map_get(&r->call_ops, key);
	const char *text;

	if (known)
		return known;
	text = rpd_string(r, name);
	known = keyed_op(&r->keyed, domain_of(rpd_string(r, domain), text, table),
			 *text ? text : "(no name)", &arguments, 1);
	if (!map_set(&r->call_ops, key, known))
		r->failed = true;
	return known;
}

/* A mark or range of the program: its text is what calls have as arguments. */
bool rpd_is_marker(struct reader *r, const struct dbrow *row)
{
	return strcmp(rpd_string(r, rpd_number(r, row, C_API_NAME)), "UserMarker") == 0;
}

const struct dbvalue *rpd_arguments(struct reader *r, const struct dbrow *row,
				    struct dbvalue all[DBFILE_COLUMNS])
{
	const struct dbvalue *v = dbindex_text(&r->arguments, rpd_number(r, row, C_API_ARGUMENTS),
					       C_STRING_TEXT, all);

	return v && v->length ? v : NULL;
}

uint32_t rpd_marker_name(struct reader *r, const struct dbrow *row)
{
	struct dbvalue all[DBFILE_COLUMNS];
	const struct dbvalue *v = rpd_arguments(r, row, all);

	return v ? keyed_text(&r->keyed, v->text, v->length) : 0;
}

static bool number_behind(const char *text, const char *word, uint64_t *out)
{
	const char *at = strstr(text, word);

	*out = at ? strtoull(at + strlen(word), NULL, 16) : 0;
	return at != NULL;
}

/* "ptr=0x7f3ebca00000 | size=0x77400000", as the tool writes what allocating calls got. */
bool rpd_memory(struct reader *r, const struct dbrow *row, uint64_t *address, uint64_t *bytes,
		bool *gone)
{
	const char *name = rpd_string(r, rpd_number(r, row, C_API_NAME));
	struct dbvalue all[DBFILE_COLUMNS];
	const struct dbvalue *v;
	char text[80] = "";
	bool sized;

	*gone = begins(name, "hipFree") || begins(name, "cudaFree");
	if (!*gone && !begins(name, "hipMalloc") && !begins(name, "hipExtMalloc") &&
	    !begins(name, "cudaMalloc"))
		return false;
	v = rpd_arguments(r, row, all);
	if (!v || v->length >= sizeof(text))
		return false;
	memcpy(text, v->text, v->length);
	sized = number_behind(text, "size=0x", bytes);
	return number_behind(text, "ptr=0x", address) && (sized || *gone);
}

/* ---- ops --------------------------------------------------------------------------------------- */

static bool has(const char *type, const char *name, const char *word)
{
	return strcasestr(type, word) || strcasestr(name, word);
}

static enum rpd_class way_of(const char *type, const char *name)
{
	if (has(type, name, "HostToDevice") || has(type, name, "HOST_TO_DEVICE") ||
	    has(type, name, "HtoD"))
		return CLASS_WRITE;
	if (has(type, name, "DeviceToHost") || has(type, name, "DEVICE_TO_HOST") ||
	    has(type, name, "DtoH"))
		return CLASS_READ;
	return CLASS_COPY;
}

enum rpd_class rpd_class(struct reader *r, const struct dbrow *op)
{
	const char *type = rpd_string(r, rpd_number(r, op, C_OP_TYPE));

	if (begins(type, "Copy") || begins(type, "Memcpy") || begins(type, "MEMORY_COPY"))
		return way_of(type, rpd_string(r, rpd_number(r, op, C_OP_NAME)));
	if (begins(type, "Fill") || begins(type, "Memset"))
		return CLASS_FILL;
	return begins(type, "Barrier") || begins(type, "Marker") ? CLASS_BARRIER : CLASS_KERNEL;
}

/* As the tool's own summary has it: by its name, without one by its type. */
uint32_t rpd_kernel(struct reader *r, uint32_t process, const struct dbrow *op)
{
	uint32_t name = rpd_text(r, rpd_number(r, op, C_OP_NAME));

	name = name ? name : rpd_text(r, rpd_number(r, op, C_OP_TYPE));
	return keyed_kernel(&r->keyed, process, name, 0, r->runtime);
}

uint32_t rpd_agent(struct reader *r, uint32_t process, int64_t gpu)
{
	struct t_agent a = {.type = "gpu",
			    .vendor = "",
			    .driver = "",
			    .domain = r->runtime,
			    .platform = "",
			    .properties = ""};
	char name[40];

	if (gpu < 0)
		return 0;
	a.handle = (uint64_t)within(gpu, r->gpu_stride);
	snprintf(name, sizeof(name), "device %llu", (unsigned long long)a.handle);
	a.name = keyed_string(&r->keyed, keyed_text(&r->keyed, name, strlen(name)));
	return keyed_agent(&r->keyed, process, (uint64_t)gpu, &a);
}

/* "0x7f9f3915ad70"; 0: the default one. */
static uint64_t parse_stream(const struct dbvalue *v)
{
	char text[24] = "";

	if (v && v->type == DB_TEXT && v->length < sizeof(text))
		memcpy(text, v->text, v->length);
	return strtoull(text, NULL, 16);
}

uint32_t rpd_queue(struct reader *r, uint32_t process, uint32_t agent, int64_t queue,
		   const struct dbvalue *stream)
{
	struct t_queue q = {.process = process,
			    .agent = agent,
			    .handle = parse_stream(stream),
			    .domain = r->runtime,
			    .name = ""};

	if (!q.handle)
		q.handle = (uint64_t)within(queue, r->gpu_stride);
	return keyed_queue(&r->keyed, &q);
}

/* ---- counters ---------------------------------------------------------------------------------- */

static const char *unit_of(const char *monitor)
{
	return strcmp(monitor, "sclk") == 0 ? "MHz" : strcmp(monitor, "power") == 0 ? "W" : "";
}

uint32_t rpd_monitor(struct reader *r, const struct dbrow *row)
{
	const struct dbvalue *type = dbrow_value(row, C_MONITOR_TYPE);
	int64_t device = rpd_number(r, row, C_MONITOR_DEVICE);
	uint32_t name = type->type == DB_TEXT ? keyed_text(&r->keyed, type->text, type->length) : 0;
	struct t_counter c = {.process = 1,
			      .flags = 1,
			      .name = keyed_string(&r->keyed, name),
			      .description = "",
			      .provider = "rpd",
			      .dimensions = ""};

	c.unit = unit_of(c.name);
	if (dbvalue_is(dbrow_value(row, C_MONITOR_DEVICE_TYPE), "gpu"))
		c.agent = rpd_agent(r, 1, device);
	return keyed_counter(&r->keyed, hash_mix(hash_u64((uint64_t)device), name), &c);
}

uint32_t rpd_counter(struct reader *r, uint32_t process, const struct dbrow *row)
{
	uint32_t name = rpd_text(r, rpd_number(r, row, C_COUNTER_NAME));
	struct t_counter c = {.process = process,
			      .name = keyed_string(&r->keyed, name),
			      .unit = "",
			      .description = "",
			      .provider = "rpd",
			      .dimensions = ""};

	return keyed_counter(&r->keyed, hash_mix(hash_string("kernels"), name), &c);
}

/* ---- the end ----------------------------------------------------------------------------------- */

static void complete_process(struct reader *r, int64_t pid, uint32_t process)
{
	struct t_process *p = &r->t->processes[process];
	char node[40];

	p->argv = "(no name)";
	p->file = r->t->path;
	if (!r->nodes)
		return;
	snprintf(node, sizeof(node), "node %lld", (long long)(pid / r->pid_stride));
	p->hostname = trace_string(r->t, node, strlen(node));
}

void rpd_complete(struct reader *r)
{
	struct trace *t = r->t;
	const struct map_entry *m;

	for (size_t at = 0; (m = map_entry(&r->keyed.processes, &at));)
		complete_process(r, (int64_t)m->key, (uint32_t)m->value);
	t->command = t->hostname = t->version = "";
	t->origin = r->all.first + r->all.shift;
	t->end = r->all.last + r->all.shift;
	if (!keyed_complete(&r->keyed, t->origin, t->end) || !make_complete(t))
		r->failed = true;
}
