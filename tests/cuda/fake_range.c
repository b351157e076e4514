/* SPDX-License-Identifier: Apache-2.0 */
/* Counting of kernels; see fake_profile.h. Sizes of CUPTI's are facts of its headers. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_profile.h"

enum {
	OK = 0,
	INVALID_PARAMETER = 1,
	INVALID_OPERATION = 7,
	INVALID_METRIC_NAME = 17,
	NOT_SUPPORTED = 27,
	INVALID_CHIP = 46
};

static const char *const bases[3][4] = {
	{"sm__cycles_elapsed", "smsp__warps_launched", "smsp__inst_executed", "CTC.Some.x__y"},
	{"sm__some"},
	{"sm__throughput"}};
static const char *const forms[] = {".sum",
				    ".avg",
				    ".min",
				    ".max",
				    ".ratio",
				    ".sum.per_second",
				    ".avg.pct_of_peak_sustained_elapsed"};

#define NAMES 16

struct host {
	char *names[NAMES];
	size_t count;
};

struct image {
	uint64_t count;
	double values[64];
};

static struct profiler {
	void *context; /* NULL: off */
	bool started, initialized;
	unsigned starts;
	struct image ran;
	struct image *image;
	size_t most;
} profiler;

static bool capturing, spoilt;

/* As the real one: what the profiler does while a stream is captured fails. */
void fake_capture(bool on)
{
	capturing = on;
}

/* As the real one: after a graph that it saw it gives no values any more. */
void fake_graph(void)
{
	spoilt |= profiler.started;
}

void fake_range(void *context, double value)
{
	if (capturing && profiler.started)
		abort();
	if (spoilt)
		return;
	if (profiler.started && profiler.context == context && profiler.ran.count < profiler.most)
		profiler.ran.values[profiler.ran.count++] = value;
}

unsigned fake_range_starts(void)
{
	return profiler.starts;
}

bool fake_range_on(void)
{
	return profiler.context != NULL;
}

bool fake_profiler_ready(void)
{
	return profiler.initialized;
}

/* ---- the host's side ---- */

int cuptiProfilerInitialize(void *p)
{
	profiler.initialized = true;
	return *(size_t *)p == 16 ? OK : INVALID_PARAMETER;
}

struct chip {
	size_t size;
	void *reserved;
	size_t device;
	const char *name;
};

int cuptiDeviceGetChipName(struct chip *p)
{
	const char *devices = getenv("FAKE_DEVICES");

	if (p->size != sizeof(*p))
		return INVALID_PARAMETER;
	p->name = p->device >= (devices ? (size_t)atoi(devices) : 1)
			  ? "Unknown" /* of devices that are not there, too: CUPTI 13 */
			  : "STAND100";
	return OK;
}

int cuptiProfilerGetCounterAvailability(void *p)
{
	return OK;
}

struct host_init {
	size_t size;
	void *reserved;
	int32_t profiler;
	const char *chip;
	const uint8_t *availability;
	struct host *host;
};

int cuptiProfilerHostInitialize(struct host_init *p)
{
	if (p->size != sizeof(*p) || p->profiler != 0)
		return INVALID_PARAMETER;
	if (strcmp(p->chip, "STAND100") != 0)
		return INVALID_CHIP;
	p->host = calloc(1, sizeof(*p->host));
	return OK;
}

struct host_params {
	size_t size;
	void *reserved;
	struct host *host;
};

int cuptiProfilerHostDeinitialize(struct host_params *p)
{
	for (size_t i = 0; i < p->host->count; i++)
		free(p->host->names[i]);
	free(p->host);
	return OK;
}

struct base_metrics {
	size_t size;
	void *reserved;
	struct host *host;
	int32_t type;
	const char **names;
	size_t count;
};

int cuptiProfilerHostGetBaseMetrics(struct base_metrics *p)
{
	if (p->size != sizeof(*p) || !p->host || p->type > 2)
		return INVALID_PARAMETER;
	p->names = (const char **)(uintptr_t)bases[p->type];
	for (p->count = 0; p->count < 4 && bases[p->type][p->count]; p->count++)
		;
	return OK;
}

/* A name with a form, or alone. Returns the position, or -1. */
static int metric_of(const char *name, bool alone)
{
	for (int type = 0; type < 3; type++) {
		for (int i = 0; i < 4 && bases[type][i]; i++) {
			size_t n = strlen(bases[type][i]);

			if (strncmp(name, bases[type][i], n) != 0)
				continue;
			if (alone && !name[n])
				return type * 4 + i;
			for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++)
				if (strcmp(name + n, forms[f]) == 0)
					return type * 4 + i;
		}
	}
	return -1;
}

struct metric {
	size_t size;
	void *reserved;
	struct host *host;
	const char *name, *description, *hardware, *unit;
	int32_t type;
};

int cuptiProfilerHostGetMetricProperties(struct metric *p)
{
	static char said[64]; /* written over by the next */
	int at = metric_of(p->name, true);

	if (p->size != offsetof(struct metric, type) + 4)
		return INVALID_PARAMETER;
	if (at < 0)
		return INVALID_METRIC_NAME;
	snprintf(said, sizeof(said), "%s", at == 1 ? "# of warps launched" : "");
	p->description = said;
	p->hardware = "sm";
	p->unit = at == 1 ? "warp" : "cycle";
	p->type = at / 4;
	return OK;
}

struct metrics {
	size_t size;
	void *reserved;
	struct host *host;
	const char **names;
	size_t count;
};

int cuptiProfilerHostConfigAddMetrics(struct metrics *p)
{
	const char *apart = getenv(
		"FAKE_APART"); /* in names of what it takes by itself alone, as CUPTI 13 that of links */

	if (p->size != sizeof(*p) || p->host->count || p->count > NAMES)
		return INVALID_PARAMETER;
	for (size_t i = 0; i < p->count; i++) {
		if (apart && p->count > 1 && strstr(p->names[i], apart))
			return NOT_SUPPORTED;
		if (metric_of(p->names[i], false) < 0)
			return INVALID_METRIC_NAME;
		p->host->names[p->host->count++] = strdup(p->names[i]);
	}
	return OK;
}

struct config {
	size_t size;
	void *reserved;
	struct host *host;
	size_t bytes;
	uint8_t *image;
};

/* Two metrics fit into a pass; a throughput alone needs two. */
int cuptiProfilerHostGetConfigImageSize(struct config *p)
{
	p->bytes = 0;
	for (size_t i = 0; i < p->host->count; i++)
		p->bytes += metric_of(p->host->names[i], false) / 4 == 2 ? 3 : 1;
	return p->size == offsetof(struct config, image) ? OK : INVALID_PARAMETER;
}

int cuptiProfilerHostGetConfigImage(struct config *p)
{
	memset(p->image, 7, p->bytes);
	return p->size == sizeof(*p) ? OK : INVALID_PARAMETER;
}

struct passes {
	size_t size;
	void *reserved;
	size_t bytes;
	uint8_t *image;
	size_t passes;
};

/* FAKE_ASKED: a file that gets a line with the program's name for each question. */
static void asked(void)
{
	const char *path = getenv("FAKE_ASKED");
	FILE *f = path ? fopen(path, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "%d %s\n", getpid(), program_invocation_short_name);
	fclose(f);
}

int cuptiProfilerHostGetNumOfPasses(struct passes *p)
{
	asked();
	if (p->size != sizeof(*p) || p->image[0] != 7)
		return INVALID_PARAMETER;
	p->passes = (p->bytes + 1) / 2;
	return OK;
}

struct evaluation {
	size_t size;
	void *reserved;
	struct host *host;
	const struct image *image;
	size_t bytes, range;
	const char **names;
	size_t count;
	double *values;
};

/* Warps are what ran, instructions a hundred times as many, cycles ten times. */
int cuptiProfilerHostEvaluateToGpuValues(struct evaluation *p)
{
	static const double times[] = {10, 1, 100};

	if (p->size != sizeof(*p) || p->range >= p->image->count)
		return INVALID_PARAMETER;
	for (size_t i = 0; i < p->count; i++)
		p->values[i] =
			p->image->values[p->range] * times[metric_of(p->names[i], false) % 3];
	return OK;
}

/* ---- the device's side ---- */

struct enable {
	size_t size;
	void *reserved, *context;
	struct profiler *profiler;
};

int cuptiRangeProfilerEnable(struct enable *p)
{
	const char *refuse = getenv("FAKE_REFUSE_PROFILE");

	if (p->size != sizeof(*p) || profiler.context || !profiler.initialized || capturing)
		return INVALID_OPERATION;
	if (refuse)
		return atoi(refuse);
	profiler.context = p->context;
	p->profiler = &profiler;
	return OK;
}

struct range {
	size_t size;
	void *reserved;
	struct profiler *profiler;
};

int cuptiRangeProfilerDisable(struct range *p)
{
	if (p->profiler->started)
		return INVALID_OPERATION;
	p->profiler->context = NULL;
	return OK;
}

int cuptiRangeProfilerStart(struct range *p)
{
	if (p->size != sizeof(*p) || p->profiler->started || !p->profiler->image)
		return INVALID_OPERATION;
	p->profiler->started = true;
	p->profiler->starts++;
	p->profiler->ran.count = 0;
	return OK;
}

struct stop {
	size_t size;
	void *reserved;
	struct profiler *profiler;
	size_t pass, nesting;
	uint8_t all;
};

int cuptiRangeProfilerStop(struct stop *p)
{
	if (p->size != offsetof(struct stop, all) + 1 || !p->profiler->started)
		return INVALID_OPERATION;
	p->profiler->started = false;
	p->all = 1;
	return OK;
}

struct decode {
	size_t size;
	void *reserved;
	struct profiler *profiler;
	size_t dropped;
};

int cuptiRangeProfilerDecodeData(struct decode *p)
{
	if (p->size != sizeof(*p) || p->profiler->started)
		return INVALID_OPERATION;
	*p->profiler->image = p->profiler->ran;
	return OK;
}

struct image_size {
	size_t size;
	void *reserved;
	struct profiler *profiler;
	const char **names;
	size_t count, ranges;
	uint32_t nodes;
	size_t bytes;
};

int cuptiRangeProfilerGetCounterDataSize(struct image_size *p)
{
	if (p->size != sizeof(*p) || !p->count || p->nodes < p->ranges)
		return INVALID_PARAMETER;
	p->bytes = sizeof(struct image);
	return OK;
}

struct image_params {
	size_t size;
	void *reserved;
	struct profiler *profiler;
	size_t bytes;
	struct image *image;
};

int cuptiRangeProfilerCounterDataImageInitialize(struct image_params *p)
{
	if (p->size != sizeof(*p) || p->bytes != sizeof(struct image))
		return INVALID_PARAMETER;
	memset(p->image, 0, p->bytes);
	return OK;
}

struct set_config {
	size_t size;
	void *reserved;
	struct profiler *profiler;
	size_t config_bytes;
	const uint8_t *config;
	size_t image_bytes;
	struct image *image;
	int32_t range, replay;
	size_t ranges;
	uint16_t levels, least;
	size_t pass;
	uint16_t target;
};

int cuptiRangeProfilerSetConfig(struct set_config *p)
{
	if (p->size != offsetof(struct set_config, target) + 2 || p->range != 1 || p->replay != 2 ||
	    p->config[0] != 7 || p->levels != 1 || p->least != 1 || p->target != 1 ||
	    p->ranges > 64)
		return INVALID_PARAMETER;
	p->profiler->image = p->image;
	p->profiler->most = p->ranges;
	return OK;
}

struct info {
	size_t size;
	void *reserved;
	const struct image *image;
	size_t bytes, ranges;
};

int cuptiRangeProfilerGetCounterDataInfo(struct info *p)
{
	if (p->size != sizeof(*p))
		return INVALID_PARAMETER;
	p->ranges = p->image->count;
	return OK;
}
