/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A raw file from a list of what took how long, so that a test can choose every time in it. Lines, in
 * order of time (ns since the process began; what one thread did):
 *
 *   kernel NAME ITEMS START NS [DEVICE [TIMES STEP]]   TIMES of them, STEP ns from one to the next
 *   call OP START NS              a function of domain "test", by number
 *   write BYTES START NS          a copy to device 1
 *   range NAME START NS SCOPE     a range that was scope SCOPE
 *   in SCOPE                      what follows was submitted and called there; 0: in none
 *   aligned OFFSET                its job's clock was compared: ns ahead of its node's
 *   lost COUNT                    so many records were lost here
 *   pause START NS                nothing was recorded
 *   end TIME
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/synth.h"

#define DEVICE0 7000000000ull
#define NAMES   4096

enum { RANGE_SCOPE, RANGE_NAME, RANGE_FIELDS };

static const kymo_field_t range_fields[RANGE_FIELDS] = {
	{"scope", "u64", NULL, KYMO_KIND_UNSIGNED, 0, 8, 0},
	{"name", "string", NULL, KYMO_KIND_REF, 0, 4, 0}};
static const kymo_op_desc_t range_ops[] = {
	{"mark", range_fields, RANGE_FIELDS, KYMO_OP_ACTIVITY, NULL, 0},
	{"range", range_fields, RANGE_FIELDS, KYMO_OP_ACTIVITY, NULL, 0}};
static const kymo_domain_desc_t range_domain = {
	sizeof(kymo_domain_desc_t), "marker", "Markers", 1, 2, range_ops};

struct timed {
	struct synth *s;
	uint16_t test, marker;
	uint32_t thread;
	int64_t scope;
	char *kernels[NAMES], *ranges[NAMES];
	uint64_t seen; /* when what the device did is told */
	bool paused;   /* there was a pause: that it recorded before was told */
};

static void bad_line(const char *line)
{
	fprintf(stderr, "kymo-synth: not understood: %s\n", line);
	exit(2);
}

/* Number of the name, from 1; *fresh: it was not there. */
static uint32_t number_of(char **names, const char *name, bool *fresh)
{
	uint32_t i = 0;

	while (i < NAMES && names[i] && strcmp(names[i], name) != 0)
		i++;
	if (i == NAMES)
		bad_line(name);
	*fresh = !names[i];
	if (*fresh)
		names[i] = strdup(name);
	return i + 1;
}

static uint64_t call(struct timed *t, uint32_t op, uint64_t start, uint64_t ns)
{
	static const uint64_t global[] = {64, 1};
	const struct synth_value launch[] = {V_U(0xb001), V_U(0xc001), V_A(global, 2)};
	/* As many as any function has fields: what is not given is 0, or absent. */
	const struct synth_value other[TEST_FIELDS_MOST] = {V_U(0xb001)};
	const struct wire_event as = {.scope = t->scope};
	uint64_t id = synth_enter(t->s, t->thread, (uint16_t)(t->test + op), start, 0);

	synth_leave_as(t->s, t->thread, start + ns, &as, op == TEST_LAUNCH ? launch : other);
	t->seen = start + ns > t->seen ? start + ns : t->seen;
	return id;
}

static void kernel(struct timed *t, const char *name, uint64_t items, uint64_t start, uint64_t ns,
		   uint64_t device)
{
	bool fresh;
	uint32_t k = number_of(t->kernels, name, &fresh);
	uint64_t id = t->scope ? call(t, TEST_LAUNCH, start > 600 ? start - 600 : 0, 500) : 0;

	if (fresh)
		synth_kernel(t->s, k, name, 0);
	const struct synth_value v[23] = {
		V_U(id), V_U(device), V_U(device), V_U(k), V_U(DEVICE0 + start),
		V_U(ns), V_U(200),    V_U(100),    V_U(1), V_U(items),
		V_U(0),  V_U(0),      V_U(64)};

	t->seen = start + ns + 100 > t->seen ? start + ns + 100 : t->seen;
	synth_activity(t->s, t->thread, synth_activity_base(t->s, SYNTH_DISPATCH), t->seen, t->seen,
		       v);
}

static void copy(struct timed *t, uint64_t bytes, uint64_t start, uint64_t ns)
{
	const struct synth_value v[21] = {V_U(0),
					  V_U(1),
					  V_U(0),
					  V_U(1),
					  V_U(bytes),
					  V_U(MEMORY_HOST_PAGEABLE),
					  V_U(MEMORY_DEVICE),
					  V_U(DEVICE0 + start),
					  V_U(ns),
					  V_U(300),
					  V_U(200)};

	t->seen = start + ns + 100 > t->seen ? start + ns + 100 : t->seen;
	synth_activity(t->s, t->thread,
		       (uint16_t)(synth_activity_base(t->s, SYNTH_COPY) + COPY_OP_WRITE), t->seen,
		       t->seen, v);
}

static void range(struct timed *t, const char *name, uint64_t start, uint64_t ns, uint64_t scope)
{
	bool fresh;
	uint32_t n = number_of(t->ranges, name, &fresh);
	const struct synth_value v[RANGE_FIELDS] = {V_U(scope), V_U(n)};
	struct wire_def d;

	if (fresh) {
		wire_def_init(&d, DEF_STRING);
		wire_def_u64(&d, n);
		wire_def_string(&d, name);
		wire_def_u64(&d, strlen(name));
		synth_define(t->s, &d);
	}
	synth_activity(t->s, t->thread, (uint16_t)(t->marker + 1), start, start + ns, v);
}

/* Names have their blanks as "~". */
static char *name_of(char *word)
{
	for (char *p = word; *p; p++)
		*p = *p == '~' ? ' ' : *p;
	return word;
}

static void align(struct timed *t, uint64_t offset)
{
	struct wire_def d;

	wire_def_init(&d, DEF_JOB_CLOCK);
	wire_def_u64(&d, SYNTH_TICK0);
	wire_def_u64(&d, SYNTH_NS0);
	wire_def_u64(&d, offset);
	for (unsigned i = DEF_JOB_CLOCK_ERROR; i <= DEF_JOB_CLOCK_EXCHANGES; i++)
		wire_def_u64(&d, i == DEF_JOB_CLOCK_METHOD ? JOB_CLOCK_SAME : 0);
	synth_define(t->s, &d);
}

/* A tick is half a ns. */
static void recording(struct timed *t, bool on, uint64_t time)
{
	struct wire_def d;

	wire_def_init(&d, DEF_RECORDING);
	wire_def_u64(&d, on);
	wire_def_u64(&d, time ? SYNTH_TICK0 + 2 * time : 0);
	synth_define(t->s, &d);
}

static void take_line(struct timed *t, char *line)
{
	uint64_t a, b, c, d = 1, times = 1, step = 0;
	char name[200];

	if (sscanf(line,
		   "kernel %199s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64,
		   name, &a, &b, &c, &d, &times, &step) >= 4) {
		name_of(name);
		for (uint64_t i = 0; i < times; i++)
			kernel(t, name, a, b + i * step, c, d);
	} else if (sscanf(line, "call %" SCNu64 " %" SCNu64 " %" SCNu64, &a, &b, &c) == 3 &&
		   a < TEST_OPS) {
		call(t, (uint32_t)a, b, c);
	} else if (sscanf(line, "write %" SCNu64 " %" SCNu64 " %" SCNu64, &a, &b, &c) == 3) {
		copy(t, a, b, c);
	} else if (sscanf(line, "range %199s %" SCNu64 " %" SCNu64 " %" SCNu64, name, &a, &b, &c) ==
		   4) {
		range(t, name_of(name), a, b, c);
	} else if (sscanf(line, "in %" SCNu64, &a) == 1) {
		t->scope = (int64_t)a;
	} else if (sscanf(line, "aligned %" SCNu64, &a) == 1) {
		align(t, a);
	} else if (sscanf(line, "lost %" SCNu64, &a) == 1) {
		synth_drop(t->s, t->thread, a);
	} else if (sscanf(line, "pause %" SCNu64 " %" SCNu64, &a, &b) == 2) {
		if (!t->paused)
			recording(t, true, 0);
		t->paused = true;
		recording(t, false, a);
		recording(t, true, a + b);
	} else if (sscanf(line, "end %" SCNu64, &a) == 1) {
		synth_clock_sync(t->s, 1, a - 200, a, DEVICE0 + a - 100);
		synth_close(t->s, 0, 0, a);
		t->s = NULL;
	} else {
		bad_line(line);
	}
}

/* Traces that are numbered were recorded one after the other. */
static uint64_t number_in(const char *directory)
{
	const char *name = strrchr(directory, '/');

	return strtoull(name ? name + 1 : directory, NULL, 10);
}

void synth_timed(const char *directory, FILE *list, uint32_t rank, const char *host,
		 const char *command, const char *job)
{
	struct timed *t = calloc(1, sizeof(*t));
	uint32_t pid = 4242 + (rank == RANK_NONE ? 0 : rank);
	char line[512];

	if (!t)
		exit(1);
	t->s = synth_open(&(struct synth_options){.directory = directory,
						  .pid = pid,
						  .rank = rank,
						  .host = host,
						  .command = command,
						  .job = job,
						  .later = number_in(directory)});
	t->test = synth_domain(t->s, &synth_test_domain);
	t->marker = synth_domain(t->s, &range_domain);
	t->thread = synth_thread(t->s, pid, "main");
	synth_clock(t->s, 1, "gpu clock");
	synth_clock_sync(t->s, 1, 0, 200, DEVICE0 + 100);
	synth_context(t->s, 1, 0xd001);
	for (uint32_t i = 1; i <= 2; i++) {
		synth_agent(t->s, i, "gpu", "Test GPU", 1);
		synth_queue(t->s, i, i, 1, 0, "");
	}
	while (fgets(line, sizeof(line), list) && t->s)
		take_line(t, line);
	if (t->s)
		bad_line("no end");
	for (unsigned i = 0; i < NAMES; i++) {
		free(t->kernels[i]);
		free(t->ranges[i]);
	}
	free(t);
}
