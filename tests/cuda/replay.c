/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says to the fake what gpu/capture.c wrote down beside a real CUPTI (the form of its lines is
 * explained there): replay CAPTURE. Calls are made by as many threads as then, in the same order and
 * not earlier after the start; what parameters pointed to has copies here, and records' times are
 * moved to now.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/cuda/cupti.h"
#include "fake.h"

#define WORDS   16u
#define POINTED 256u
#define NESTED  32u
#define THREADS 64u
#define LATER   1000000000u /* ns */

struct call {
	struct fake_call stand;
	uint64_t words[WORDS];
};

struct thread {
	pthread_t id;
	sem_t go, done;
	char *line; /* what to do next; NULL: to end */
	struct call calls[NESTED];
	unsigned depth;
};

static struct thread threads[THREADS];
static uint64_t
	shift; /* of calls; records come LATER, so that slow replays begin no kernel early */
static uint64_t began; /* when the first event was, here */
static unsigned records, calls;

static void fail(const char *what, const char *line)
{
	fprintf(stderr, "replay: %s: %.80s\n", what, line);
	exit(2);
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t bytes_of(const char *hex, uint8_t *out, size_t room)
{
	size_t n = 0;

	for (; n < room && digit(hex[0]) >= 0 && digit(hex[1]) >= 0; n++, hex += 2)
		out[n] = (uint8_t)(digit(hex[0]) << 4 | digit(hex[1]));
	return n;
}

/* ---- what parameters point to ---- */

static struct copy {
	struct copy *next;
	uint64_t address;
	uint8_t bytes[POINTED + 1]; /* strings end */
} * copies;
static struct stream {
	struct stream *next;
	uint64_t handle;
} * streams;

static bool is_stream(uint64_t value)
{
	const struct stream *s = streams;

	while (s && s->handle != value)
		s = s->next;
	return s != NULL;
}

/* One for each address, so that what was equal stays equal. */
static struct copy *copy_of(uint64_t address)
{
	struct copy *c = copies;

	while (c && c->address != address)
		c = c->next;
	if (!c) {
		c = calloc(1, sizeof(*c));
		c->address = address;
		c->next = copies;
		copies = c;
	}
	return c;
}

static void words_of(struct call *c, const char *text)
{
	const char *at = text;

	memset(c->words, 0, sizeof(c->words));
	bytes_of(text, (uint8_t *)c->words, sizeof(c->words));
	while ((at = strchr(at, ' ')) != NULL) {
		char *hex;
		unsigned long i = strtoul(++at, &hex, 10);
		struct copy *copy;

		if (*hex != '=' || i >= WORDS)
			fail("no place", at);
		if (is_stream(c->words[i]))
			continue;
		copy = copy_of(c->words[i]);
		memset(copy->bytes, 0, sizeof(copy->bytes));
		bytes_of(hex + 1, copy->bytes, POINTED);
		c->words[i] = (uintptr_t)copy->bytes;
	}
	c->stand.params = c->words;
}

/* ---- events ---- */

static struct call *call_for(struct thread *t, int site, unsigned correlation, unsigned cbid)
{
	struct call *c;

	if (site == 0) {
		if (t->depth == NESTED)
			fail("too deep", t->line);
		c = &t->calls[t->depth++];
		memset(c, 0, sizeof(*c));
		return c;
	}
	for (unsigned i = t->depth; i-- > 0;)
		if (t->calls[i].stand.correlation == correlation &&
		    t->calls[i].stand.cbid == cbid) {
			t->depth = i;
			return &t->calls[i];
		}
	return NULL;
}

static void call(struct thread *t)
{
	unsigned thread, cbid, context, correlation;
	char function[256], *symbol = malloc(strlen(t->line));
	int domain, site, result, at = 0;
	struct call *c;

	if (sscanf(t->line, "%*u C %u %d %u %d %u %u %d %255s %s %n", &thread, &domain, &cbid,
		   &site, &context, &correlation, &result, function, symbol, &at) != 9 ||
	    !at)
		fail("not a call", t->line);
	c = call_for(t, site, correlation, cbid);
	if (c) {
		words_of(c, t->line + at);
		c->stand.domain = domain;
		c->stand.cbid = cbid;
		c->stand.correlation = correlation;
		c->stand.context_id = context;
		if (site == 0)
			c->stand.symbol = strcmp(symbol, "-") != 0 ? strdup(symbol) : NULL;
		if (site == 0)
			fake_enter(&c->stand);
		else
			fake_leave(&c->stand, result);
		calls += site == 0 && fake_enabled(domain, cbid);
	}
	free(symbol);
}

static void context(const struct thread *t)
{
	unsigned id;

	if (sscanf(t->line, "%*u T %*u %u", &id) == 1)
		fake_context(id);
}

static void *work(void *arg)
{
	struct thread *t = arg;

	while (sem_wait(&t->go) == 0 && t->line) {
		if (strchr(t->line, ' ')[1] == 'C')
			call(t);
		else
			context(t);
		sem_post(&t->done);
	}
	return NULL;
}

static void on_its_thread(char *line)
{
	unsigned n;
	struct thread *t;

	if (sscanf(line, "%*u %*c %u", &n) != 1 || n >= THREADS)
		fail("no thread", line);
	t = &threads[n];
	if (!t->id) {
		sem_init(&t->go, 0, 0);
		sem_init(&t->done, 0, 0);
		pthread_create(&t->id, NULL, work, t);
	}
	t->line = line;
	sem_post(&t->go);
	sem_wait(&t->done);
}

static void later(uint64_t *time)
{
	if (*time)
		*time += shift + LATER;
}

static void move(void *record)
{
	struct cupti_kernel *k = record;
	struct cupti_memcpy *c = record;
	struct cupti_memset *m = record;
	struct cupti_overhead *o = record;
	struct cupti_memory_counter *u = record;
	struct cupti_graph *g = record;

	switch (k->kind) {
	case CUPTI_CONCURRENT_KERNEL:
		later(&k->start), later(&k->end), later(&k->completed);
		later(&k->queued), later(&k->submitted);
		break;
	case CUPTI_MEMCPY:
	case CUPTI_MEMCPY2:
		later(&c->start), later(&c->end);
		break;
	case CUPTI_MEMSET:
		later(&m->start), later(&m->end);
		break;
	case CUPTI_OVERHEAD:
		later(&o->start), later(&o->end);
		break;
	case CUPTI_UNIFIED_MEMORY_COUNTER:
		later(&u->start), later(&u->end);
		break;
	case CUPTI_GRAPH_TRACE:
		later(&g->start), later(&g->end);
		break;
	}
}

static void record(char *line)
{
	union {
		uint8_t bytes[1024];
		struct cupti_kernel kernel;
		struct cupti_device device;
		uint32_t kind;
	} r = {{0}};
	size_t size;
	int at = 0;
	char *name;

	if (sscanf(line, "%*u R %zu %n", &size, &at) != 1 || !at || size > sizeof(r))
		fail("not a record", line);
	bytes_of(line + at, r.bytes, sizeof(r.bytes));
	name = strchr(line + at, ' ');
	if (r.kind == CUPTI_CONCURRENT_KERNEL)
		r.kernel.name = name ? strdup(name + 1) : NULL;
	if (r.kind == CUPTI_DEVICE)
		r.device.name = name ? strdup(name + 1) : NULL;
	move(&r);
	fake_size(r.kind, size);
	fake_record(&r, size);
	records++;
}

static void stream(const char *line)
{
	struct stream *s = calloc(1, sizeof(*s));
	unsigned long long handle;
	unsigned id;

	if (sscanf(line, "%*u S %llx %*u %u", &handle, &id) != 2)
		fail("not a stream", line);
	s->handle = handle;
	s->next = streams;
	streams = s;
	fake_stream((const void *)(uintptr_t)handle, id);
}

static void version(const char *line)
{
	unsigned long long start;
	char text[32];

	if (sscanf(line, "%*u V %31s %llu", text, &start) != 2)
		fail("not a version", line);
	setenv("FAKE_VERSION", text, 1);
	fake_init();
	began = fake_now() - strtoull(line, NULL, 10);
	shift = began - start;
}

static char kind_of(const char *line)
{
	const char *space = strchr(line, ' ');

	return space ? space[1] : 0;
}

static void event(char *line)
{
	switch (kind_of(line)) {
	case 'V':
		version(line);
		break;
	case 'C':
	case 'T':
		on_its_thread(line);
		break;
	case 'R':
		record(line);
		break;
	case 'D':
		fake_deliver();
		break;
	case 'S':
		break; /* was known before the call that asked for it */
	default:
		fail("not an event", line);
	}
}

static char *next_line(FILE *in)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t n = getline(&line, &size, in);

	if (n <= 0) {
		free(line);
		return NULL;
	}
	line[strcspn(line, "\n")] = 0;
	return line;
}

/* Not before it is as late after the start as it was then. */
static void pace(const char *line)
{
	while (began && fake_now() - began < strtoull(line, NULL, 10))
		;
}

int main(int argc, char **argv)
{
	FILE *in = argc > 1 ? fopen(argv[1], "r") : NULL;
	char *line, *next;

	if (!in)
		return 2;
	setenv("FAKE_REPLAY", "1", 1);
	for (line = next_line(in); line; line = next) {
		next = next_line(in);
		if (next && kind_of(next) == 'S')
			stream(next);
		pace(line);
		event(line);
		free(line);
	}
	printf("%u calls, %u records\n", calls, records);
	return 0;
}
