/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool: what each phase of a program (a range that it pushed with <kymo/marker.h>, NVTX, ITT or
 * ROCTx) took on the host, and what the devices did for it. Shows external ids: the number of the
 * phase is pushed when a range begins, and everything the thread submits from then on carries it,
 * also device work that completes long after the range has ended.
 *
 *   cc -shared -fPIC phases.c $(pkg-config --cflags --libs kymo) -o libphases.so
 *   KYMO_TOOLS=./libphases.so OPENCL_LAYERS=$(pkg-config --variable=library kymo) ./a.out
 */
#include <kymo/kymo.h>
#include <kymo/marker.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define PHASES 64 /* phases by name; 0 is "outside of all phases" */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct phase {
	char name[48];
	uint64_t runs, host_ns, kernels, kernel_ns, copies, copy_ns;
} phases[PHASES] = {{.name = "(outside)"}};
static unsigned count = 1; /* under `lock`, as `phases` */

static unsigned phase_of(const char *name)
{
	unsigned i = 1;

	while (i < count && strncmp(phases[i].name, name, sizeof(phases[i].name) - 1) != 0)
		i++;
	if (i == count && count < PHASES)
		snprintf(phases[count++].name, sizeof(phases[0].name), "%s", name);
	return i < PHASES ? i : 0;
}

/* A range begins or ends, on its thread. */
static void range(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	const kymo_marker_args_t *marker = r->args;

	if (r->phase == KYMO_PHASE_EXIT) {
		kymo_external_pop(context, NULL);
		return;
	}
	pthread_mutex_lock(&lock);
	kymo_external_push(context, phase_of(marker->name));
	pthread_mutex_unlock(&lock);
}

static kymo_value_t field(const kymo_record_t *r, const char *name)
{
	const kymo_op_desc_t *op = &r->domain->ops[r->op];
	kymo_value_t v = {.size = sizeof(v)};

	for (uint32_t i = 0; i < op->field_count; i++)
		if (strcmp(op->fields[i].name, name) == 0 && !kymo_record_value(r, i, &v))
			break;
	return v;
}

/* A scope has ended: the range, with what it took. */
static void scope(const kymo_record_t *r)
{
	kymo_value_t name = field(r, "name");
	char text[sizeof(phases[0].name)];
	unsigned i;

	snprintf(text, sizeof(text), "%.*s", (int)name.count, (const char *)name.data);
	i = phase_of(text);
	phases[i].runs++;
	phases[i].host_ns += r->end - r->start;
}

/* On a thread of Kymo's. */
static void record(kymo_buffer_t buffer, const kymo_record_t *r, void *data)
{
	struct phase *p = &phases[r->external < PHASES ? r->external : 0];

	pthread_mutex_lock(&lock);
	if (strcmp(r->domain->name, "scope") == 0) {
		scope(r);
	} else if (strcmp(r->domain->name, "dispatch") == 0) {
		p->kernels++;
		p->kernel_ns += field(r, "duration").u;
	} else {
		p->copies++;
		p->copy_ns += field(r, "duration").u;
	}
	pthread_mutex_unlock(&lock);
}

static bool is_range(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	return strcmp(domain->ops[op].name, "range") == 0;
}

static kymo_status_t start(void *data)
{
	static const char *const domains[] = {"scope", "dispatch", "copy"};
	kymo_selection_t ranges = {.size = sizeof(ranges), .domain = "marker", .select = is_range};
	kymo_buffer_desc_t desc = {.size = sizeof(desc), .deliver = record};
	kymo_context_t context;
	kymo_buffer_t buffer;
	kymo_status_t s = kymo_context_create(&context);

	s = s ? s : kymo_callback_service(context, &ranges, range, NULL);
	s = s ? s : kymo_buffer_create(context, &desc, &buffer);
	for (unsigned i = 0; i < 3; i++) {
		kymo_selection_t one = {.size = sizeof(one), .domain = domains[i]};

		s = s ? s : kymo_buffer_service(context, &one, buffer);
	}
	return s ? s : kymo_context_start(context);
}

static void print(void *data)
{
	for (unsigned i = 0; i < count; i++)
		fprintf(stderr,
			"%-12s %llu times, %llu ns; kernels %llu, %llu ns; copies %llu, %llu ns\n",
			phases[i].name, (unsigned long long)phases[i].runs,
			(unsigned long long)phases[i].host_ns,
			(unsigned long long)phases[i].kernels,
			(unsigned long long)phases[i].kernel_ns,
			(unsigned long long)phases[i].copies,
			(unsigned long long)phases[i].copy_ns);
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t n)
{
	static const kymo_tool_t tool = {sizeof(tool), "phases", start, print, NULL, NULL};

	return &tool;
}
