/* SPDX-License-Identifier: Apache-2.0 */
/* See fake_profile.h. Sizes and names of CUPTI's are facts of its headers, stated here once more. */
#include "fake_profile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	OK = 0,
	INVALID_PARAMETER = 1,
	INVALID_OPERATION = 7,
	OUT_OF_MEMORY = 8,
	INVALID_MODULE = 24
};

/* ---- binaries ---- */

static const char with_lines[] = "a binary\0.debug_line\0/src\0hot.cu";
static const char without[] = "a binary without";

void fake_module(bool lines)
{
	struct {
		uint32_t id;
		size_t bytes;
		const void *cubin;
	} m = {1, lines ? sizeof(with_lines) : sizeof(without), NULL};
	void *copy = malloc(m.bytes); /* it is there during the callback only */

	memcpy(copy, lines ? with_lines : without, m.bytes);
	m.cubin = copy;
	fake_resource(6, NULL, &m);
	memset(copy, 'x', m.bytes);
	free(copy);
}

struct crc {
	size_t size, bytes;
	const void *cubin;
	uint64_t crc;
};

int cuptiGetCubinCrc(struct crc *p)
{
	if (p->size != sizeof(*p) || !p->cubin || !p->bytes)
		return INVALID_PARAMETER;
	p->crc = p->bytes == sizeof(with_lines) ? 77 : 78;
	return OK;
}

struct source {
	size_t size;
	const void *cubin;
	const char *function;
	size_t bytes;
	uint32_t line;
	uint64_t offset;
	char *file, *folder;
};

int cuptiGetSassToSourceCorrelation(struct source *p)
{
	if (p->size != sizeof(*p))
		return INVALID_PARAMETER;
	if (p->bytes != sizeof(with_lines) || memcmp(p->cubin, with_lines, p->bytes) != 0)
		return INVALID_MODULE;
	p->line = 100 + (uint32_t)(p->offset / 16);
	p->file = strdup("hot.cu");
	p->folder = strdup("/src");
	return OK;
}

/* ---- samples ---- */

#define MET 8192

static const char *const stall_names[] = {
	"smsp__pcsamp_sample_count",
	"smsp__pcsamp_warps_issue_stalled_wait",
	"smsp__pcsamp_warps_issue_stalled_wait_not_issued",
	"smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
	"smsp__pcsamp_warps_issue_stalled_long_scoreboard",
	"smsp__pcsamp_warps_issue_stalled_selected"};
#define STALLS (sizeof(stall_names) / sizeof(stall_names[0]))
/* Their numbers are no positions. */
#define NUMBER(i) (40u - 3u * (uint32_t)(i))

struct stall {
	uint32_t reason, samples;
};

struct pc {
	size_t size;
	uint64_t crc, offset;
	uint32_t index, pad;
	char *function;
	size_t count;
	struct stall *stalls;
	uint32_t correlation; /* from CUDA 12.4 on */
};

struct data {
	size_t size, room;
	uint64_t total, dropped;
	size_t count, remaining;
	uint64_t range;
	void *pcs;
	uint64_t other;
	uint8_t full;
};

static struct {
	pthread_mutex_t lock;
	void *enabled; /* the one context that can be sampled */
	struct data *rest;
	uint32_t mode, period;
	uint64_t dropped, total;
	bool full;
	unsigned count;
	struct {
		uint64_t crc, offset;
		const char *function;
		uint32_t reason, idle_reason, samples, idle, correlation;
	} met[MET];
} pcs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t pc_bytes(void)
{
	const char *v = getenv("FAKE_VERSION");

	return !v || atoi(v) >= 22 ? 64 : 56;
}

static int refused(void)
{
	const char *r = getenv("FAKE_REFUSE_PROFILE");

	return r ? atoi(r) : OK;
}

static uint32_t number_of(const char *reason, const char *suffix)
{
	char name[128] = "smsp__pcsamp_warps_issue_stalled_";

	strcat(strcat(name, reason), suffix);
	for (size_t i = 0; i < STALLS; i++)
		if (strcmp(stall_names[i], name) == 0)
			return NUMBER(i);
	return 0;
}

void fake_pc(void *context, uint64_t crc, const char *function, uint64_t offset, const char *reason,
	     uint32_t samples, uint32_t idle, uint32_t correlation)
{
	pthread_mutex_lock(&pcs.lock);
	if (pcs.enabled && pcs.enabled == context && !pcs.full && pcs.count < MET) {
		unsigned i = pcs.count++;

		pcs.met[i].crc = crc;
		pcs.met[i].offset = offset;
		pcs.met[i].function = function;
		pcs.met[i].reason = number_of(reason, "");
		pcs.met[i].idle_reason = number_of(reason, "_not_issued");
		pcs.met[i].samples = samples;
		pcs.met[i].idle = idle;
		pcs.met[i].correlation = pcs.mode == 2 ? correlation : 0;
		pcs.total += samples;
	}
	pthread_mutex_unlock(&pcs.lock);
}

void fake_pc_dropped(uint64_t samples)
{
	pthread_mutex_lock(&pcs.lock);
	pcs.dropped += samples;
	pcs.total += samples;
	pthread_mutex_unlock(&pcs.lock);
}

void fake_pc_full(void)
{
	pthread_mutex_lock(&pcs.lock);
	pcs.full = true;
	pthread_mutex_unlock(&pcs.lock);
}

unsigned fake_pc_period(void)
{
	return pcs.enabled ? pcs.period : 0;
}

unsigned fake_pc_mode(void)
{
	return pcs.enabled ? pcs.mode : 0;
}

/* Caller holds the lock. */
static void give(struct data *d)
{
	unsigned n = pcs.count < d->room ? pcs.count : (unsigned)d->room;

	d->total = pcs.total;
	d->dropped = pcs.dropped;
	d->full = pcs.full;
	pcs.total = pcs.dropped = 0;
	for (unsigned i = 0; i < n; i++) {
		struct pc *pc = (struct pc *)((char *)d->pcs + i * pc_bytes());

		if (pc->size != pc_bytes() || pc->count < 2)
			abort();
		pc->crc = pcs.met[i].crc;
		pc->offset = pcs.met[i].offset;
		pc->function = (char *)pcs.met[i].function;
		pc->count = 0;
		pc->stalls[pc->count++] = (struct stall){pcs.met[i].reason, pcs.met[i].samples};
		if (pcs.met[i].idle)
			pc->stalls[pc->count++] =
				(struct stall){pcs.met[i].idle_reason, pcs.met[i].idle};
		if (pc_bytes() == 64)
			pc->correlation = pcs.met[i].correlation;
	}
	memmove(pcs.met, pcs.met + n, (pcs.count - n) * sizeof(pcs.met[0]));
	pcs.count -= n;
	d->count = n;
	d->remaining = pcs.count;
}

struct context_params {
	size_t size;
	void *reserved, *context;
};

int cuptiPCSamplingEnable(struct context_params *p)
{
	if (p->size != sizeof(*p))
		return INVALID_PARAMETER;
	if (refused())
		return refused();
	pcs.enabled = p->context;
	return OK;
}

int cuptiPCSamplingDisable(struct context_params *p)
{
	if (p->size != sizeof(*p) || p->context != pcs.enabled)
		return INVALID_PARAMETER;
	pthread_mutex_lock(&pcs.lock);
	if (pcs.rest)
		give(pcs.rest);
	pcs.enabled = pcs.rest = NULL;
	pcs.count = 0;
	pthread_mutex_unlock(&pcs.lock);
	return OK;
}

struct get_params {
	size_t size;
	void *reserved, *context;
	struct data *data;
};

int cuptiPCSamplingGetData(struct get_params *p)
{
	if (p->size != sizeof(*p) || p->data->size != sizeof(*p->data))
		return INVALID_PARAMETER;
	if (p->context != pcs.enabled)
		return INVALID_OPERATION;
	pthread_mutex_lock(&pcs.lock);
	give(p->data);
	pthread_mutex_unlock(&pcs.lock);
	return p->data->full ? OUT_OF_MEMORY : OK;
}

struct count_params {
	size_t size;
	void *reserved, *context;
	size_t *count;
};

int cuptiPCSamplingGetNumStallReasons(struct count_params *p)
{
	if (p->size != sizeof(*p))
		return INVALID_PARAMETER;
	if (p->context != pcs.enabled)
		return INVALID_OPERATION;
	*p->count = STALLS;
	return OK;
}

struct names_params {
	size_t size;
	void *reserved, *context;
	size_t count;
	uint32_t *indexes;
	char **names;
};

int cuptiPCSamplingGetStallReasons(struct names_params *p)
{
	if (p->size != sizeof(*p) || p->count != STALLS)
		return INVALID_PARAMETER;
	if (p->context != pcs.enabled)
		return INVALID_OPERATION;
	for (size_t i = 0; i < STALLS; i++) {
		p->indexes[i] = NUMBER(i);
		strcpy(p->names[i], stall_names[i]);
	}
	return OK;
}

struct attribute {
	int32_t type, status;
	union {
		uint64_t data[3];
		uint32_t number;
		void *buffer;
	};
};

struct configuration {
	size_t size;
	void *reserved, *context;
	size_t count;
	struct attribute *attributes;
};

int cuptiPCSamplingSetConfigurationAttribute(struct configuration *p)
{
	if (p->size != sizeof(*p))
		return INVALID_PARAMETER;
	if (p->context != pcs.enabled)
		return INVALID_OPERATION;
	for (size_t i = 0; i < p->count; i++) {
		const struct attribute *a = &p->attributes[i];

		if (a->type == 1 && (a->number < 5 || a->number > 31))
			return INVALID_PARAMETER;
		if (a->type == 1)
			pcs.period = a->number;
		else if (a->type == 5)
			pcs.mode = a->number;
		else if (a->type == 8)
			pcs.rest = a->buffer;
	}
	return pcs.rest ? OK : INVALID_PARAMETER;
}
