/* SPDX-License-Identifier: Apache-2.0 */
/* The meter; see meter.h. */
#include "telemetry/meter.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

void meter_init(struct meter *m, const char *root)
{
	memset(m, 0, sizeof(*m));
	pthread_mutex_init(&m->lock, NULL);
	m->root = root ? root : "";
}

void meter_release(struct meter *m)
{
	for (uint32_t i = 0; i < m->metric_count; i++) {
		struct metric_info *k = &m->metrics[i]->info;

		free((char *)(uintptr_t)k->name);
		free((char *)(uintptr_t)k->description);
		free((char *)(uintptr_t)k->dimensions);
		free(m->metrics[i]);
	}
	pthread_mutex_destroy(&m->lock);
}

unsigned meter_own_program(void *data, int *pids, unsigned room)
{
	if (room)
		pids[0] = (int)getpid();
	return room ? 1 : 0;
}

/* ---- devices ------------------------------------------------------------------------------- */

/* What devices call themselves goes into names: of what does not print a question mark is left. */
static void copy_text(char *out, size_t size, const char *s)
{
	size_t i = 0;

	for (; s && s[i] && i + 1 < size; i++)
		out[i] = s[i] >= ' ' && s[i] <= '~' ? s[i] : '?';
	out[i] = '\0';
}

static bool same_device(const struct device *d, const struct device_info *i)
{
	if (i->uuid && d->has_uuid)
		return memcmp(i->uuid, d->uuid, 16) == 0;
	return i->pci && d->has_pci && strcasecmp(i->pci, d->pci) == 0;
}

static void tell_device(struct meter *m, uint32_t id)
{
	struct device *d = &m->devices[id - 1];
	struct device_info i = {.type = d->type,
				.name = d->name,
				.vendor = d->vendor,
				.driver = d->driver,
				.pci = d->has_pci ? d->pci : NULL,
				.uuid = d->has_uuid ? d->uuid : NULL};

	if (m->output && !d->told)
		tfile_device(m->output, id, &i);
	d->told = true;
}

static uint32_t add_device(struct meter *m, const struct device_info *i)
{
	struct device *d = &m->devices[m->device_count];

	for (uint32_t k = 0; k < m->device_count; k++)
		if (same_device(&m->devices[k], i))
			return k + 1;
	if (m->device_count == METER_DEVICES) {
		m->refused++;
		return 0;
	}
	copy_text(d->type, sizeof(d->type), i->type);
	copy_text(d->name, sizeof(d->name), i->name);
	copy_text(d->vendor, sizeof(d->vendor), i->vendor);
	copy_text(d->driver, sizeof(d->driver), i->driver);
	copy_text(d->pci, sizeof(d->pci), i->pci);
	d->has_pci = i->pci != NULL;
	d->has_uuid = i->uuid != NULL;
	if (i->uuid)
		memcpy(d->uuid, i->uuid, 16);
	m->device_count++;
	if (!m->choice)
		tell_device(m, m->device_count); /* else with its first metric that is wanted */
	return m->device_count;
}

/* Returns the number of a device among those of its source, from 0; it is the next if it is new. */
static int number_of(struct probe *p, uint32_t device)
{
	for (uint32_t i = 0; i < p->device_count; i++)
		if (p->devices[i] == device)
			return (int)i;
	if (!device || p->device_count == METER_DEVICES)
		return -1;
	p->devices[p->device_count] = device;
	return (int)p->device_count++;
}

uint32_t meter_device(struct probe *p, const struct device_info *d)
{
	uint32_t id;

	pthread_mutex_lock(&p->meter->lock);
	id = add_device(p->meter, d);
	pthread_mutex_unlock(&p->meter->lock);
	number_of(p, id);
	return id;
}

/* ---- metrics ------------------------------------------------------------------------------- */

static struct metric *new_metric(const struct metric_info *i, const struct source *source)
{
	struct metric *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->info = *i;
	k->info.name = strdup(i->name);
	k->info.description = strdup(i->description ? i->description : "");
	k->info.dimensions = i->dimensions ? strdup(i->dimensions) : NULL;
	k->info.scale = i->scale != 0 ? i->scale : 1;
	k->source = source;
	return k;
}

struct choice_value meter_value(const struct meter *m, const struct metric *k)
{
	return (struct choice_value){k->source->name,
				     k->info.name,
				     k->info.device ? m->devices[k->info.device - 1].name : "",
				     k->number,
				     k->info.dimensions &&
					     strncmp(k->info.dimensions, "cpu:", 4) == 0,
				     -1};
}

/* Under the lock. */
static void tell_metric(struct probe *p, struct metric *k, uint32_t id)
{
	struct meter *m = p->meter;
	struct choice_value v = meter_value(m, k);

	k->hidden = m->choice && !choice_wants(m->choice, &v);
	if (k->hidden)
		return;
	p->shown++;
	if (k->info.device)
		tell_device(m, k->info.device);
	if (m->output)
		tfile_metric(m->output, id, &k->info, p->source->name);
}

uint32_t meter_metric(struct probe *p, const struct metric_info *i)
{
	struct meter *m = p->meter;
	struct metric *k = NULL;
	uint32_t id = 0;

	pthread_mutex_lock(&m->lock);
	if (m->metric_count < METER_METRICS)
		k = new_metric(i, p->source);
	if (k) {
		m->metrics[m->metric_count] = k;
		id = ++m->metric_count;
		k->number = number_of(p, i->device);
		tell_metric(p, k, id);
	} else {
		m->refused++;
	}
	pthread_mutex_unlock(&m->lock);
	if (id && !p->first)
		p->first = id;
	p->last = id ? id : p->last;
	return id;
}

bool meter_shown(struct probe *p, uint32_t id)
{
	return id && !p->meter->metrics[id - 1]->hidden;
}

static void note_missing(struct probe *p, bool denied, const char *format, va_list args)
{
	struct meter *m = p->meter;
	char text[400], line[500];

	vsnprintf(text, sizeof(text), format, args);
	pthread_mutex_lock(&m->lock);
	if (m->visitor)
		m->visitor->missing(m->visitor->data, p->source->name, text, denied);
	if (denied && m->output) {
		snprintf(line, sizeof(line), "%s: %s", p->source->name, text);
		tfile_note(m->output, NOTE_WARNING, line, 1);
	}
	pthread_mutex_unlock(&m->lock);
}

void meter_missing(struct probe *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note_missing(p, false, format, args);
	va_end(args);
}

void meter_denied(struct probe *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note_missing(p, true, format, args);
	va_end(args);
}

void meter_told(struct probe *p, const char *format, ...)
{
	struct meter *m = p->meter;
	char text[400], line[500];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(line, sizeof(line), "%s: %s", p->source->name, text);
	pthread_mutex_lock(&m->lock);
	if (m->output)
		tfile_note(m->output, NOTE_INFO, line, 1);
	pthread_mutex_unlock(&m->lock);
}

bool meter_cpu(const struct probe *p, uint64_t cpu)
{
	return p->meter->choice && choice_cpu(p->meter->choice, p->source->name, cpu);
}

const char *meter_events(const struct probe *p)
{
	return p->meter->events;
}

const char *meter_root(const struct probe *p)
{
	return p->meter->root;
}

unsigned meter_programs(const struct probe *p, int *pids, unsigned room)
{
	const struct meter *m = p->meter;

	return m->programs ? m->programs(m->programs_data, pids, room) : 0;
}

/* ---- values -------------------------------------------------------------------------------- */

uint64_t meter_before(struct probe *p)
{
	p->before = clock_ns(CLOCK_MONOTONIC_RAW);
	return p->before;
}

static struct metric *metric_of(struct probe *p, uint32_t id)
{
	return id ? p->meter->metrics[id - 1] : NULL;
}

/* Each item of a choice may list processors of its own. */
static bool instance_wanted(const struct meter *m, const struct metric *k, uint64_t instance)
{
	struct choice_value v = meter_value(m, k);

	v.cpu = (int64_t)instance;
	return !m->choice || !v.by_cpu || choice_wants(m->choice, &v);
}

static void put_value(struct probe *p, uint32_t id, uint64_t instance, double value,
		      uint64_t duration)
{
	struct meter *m = p->meter;
	struct metric *k = m->metrics[id - 1];
	struct tfile_value v = {.metric = id,
				.device = k->info.device,
				.instance = instance,
				.value = value,
				.before = p->before,
				.duration = duration};

	pthread_mutex_lock(&m->lock);
	v.after = clock_ns(CLOCK_MONOTONIC_RAW);
	k->values++;
	k->shown = duration ? value / ((double)duration / 1e9) : value;
	k->per_second = duration != 0;
	k->instance = instance;
	if (m->output && !k->hidden && instance_wanted(m, k, instance))
		tfile_value(m->output, &v);
	pthread_mutex_unlock(&m->lock);
}

void meter_gap(struct probe *p, uint32_t id, const char *why)
{
	struct metric *k = metric_of(p, id);

	if (!k)
		return;
	if (k->integrated)
		k->begun = false; /* a total goes on after a gap, power over time does not */
	pthread_mutex_lock(&p->meter->lock);
	k->gaps++;
	if (!k->why)
		k->why = why;
	pthread_mutex_unlock(&p->meter->lock);
}

void meter_level_of(struct probe *p, uint32_t id, uint64_t instance, double value)
{
	struct metric *k = metric_of(p, id);

	if (!k)
		return;
	if (isfinite(value))
		put_value(p, id, instance, value * k->info.scale, 0);
	else
		meter_gap(p, id, "it was no number");
}

void meter_level(struct probe *p, uint32_t id, double value)
{
	meter_level_of(p, id, 0, value);
}

/* False: it went back although it does not wrap there, so what was counted before is not known. */
static bool counter_growth(const struct metric *k, uint64_t raw, uint64_t ns, uint64_t *by)
{
	if (raw >= k->last_raw) {
		*by = raw - k->last_raw;
		return true;
	}
	*by = k->info.wrap - k->last_raw + raw;
	return k->info.wrap && k->last_raw <= k->info.wrap &&
	       (k->info.most == 0 || (double)*by <= k->info.most * (double)ns / 1e9);
}

bool meter_total(struct probe *p, uint32_t id, uint64_t raw, struct growth *g)
{
	struct metric *k = metric_of(p, id);
	uint64_t now = clock_ns(CLOCK_MONOTONIC_RAW), by = 0, duration;
	uint64_t at = p->before + (now - p->before) / 2;
	bool known;

	if (!k)
		return false;
	known = k->begun && at > k->last_ns && counter_growth(k, raw, at - k->last_ns, &by);
	if (k->begun && !known)
		meter_gap(p, id, "the count began anew");
	duration = at - k->last_ns;
	k->begun = true;
	k->last_raw = raw;
	k->last_ns = at;
	if (!known)
		return false;
	put_value(p, id, 0, (double)by * k->info.scale, duration);
	if (g)
		*g = (struct growth){(double)by * k->info.scale, (double)duration / 1e9};
	return true;
}

void meter_growth_of(struct probe *p, uint32_t id, uint64_t instance, double value, uint64_t ns)
{
	if (id)
		put_value(p, id, instance, value, ns);
}

void meter_again(struct probe *p, uint32_t id)
{
	struct metric *k = metric_of(p, id);

	if (k)
		k->begun = false;
}

void meter_full(struct probe *p, uint32_t id)
{
	meter_again(p, id);
	meter_gap(p, id,
		  "the counter is full and stands still; perfquery -R clears those of InfiniBand");
}

void meter_integrate(struct probe *p, uint32_t id, double watts)
{
	struct metric *k = metric_of(p, id);
	uint64_t now = clock_ns(CLOCK_MONOTONIC_RAW), duration;
	uint64_t at = p->before + (now - p->before) / 2;

	if (!k || !isfinite(watts) || watts < 0)
		return;
	k->integrated = true;
	duration = at - k->last_ns;
	if (k->begun && at > k->last_ns)
		put_value(p, id, 0, (k->last_watts + watts) / 2 * (double)duration / 1e9, duration);
	k->begun = true;
	k->last_ns = at;
	k->last_watts = watts;
}

void meter_note_gaps(struct meter *m)
{
	char text[300];

	for (uint32_t i = 0; i < m->metric_count; i++) {
		const struct metric *k = m->metrics[i];
		const struct device *d = k->info.device ? &m->devices[k->info.device - 1] : NULL;

		if (!k->gaps || k->hidden)
			continue;
		snprintf(text, sizeof(text), "%s: %.100s%s%.60s could not be read: %s",
			 k->source->name, d ? d->name : "", d ? ": " : "", k->info.name, k->why);
		tfile_note(m->output, NOTE_WARNING, text, k->gaps);
	}
	if (m->refused)
		tfile_note(m->output, NOTE_WARNING,
			   "there were more devices or values than are "
			   "looked at",
			   m->refused);
}

/* ---- probes -------------------------------------------------------------------------------- */

bool probe_open(struct probe *p, struct meter *m, const struct source *s)
{
	*p = (struct probe){.meter = m, .source = s};
	p->state = s->open(p);
	return p->state != NULL;
}

void probe_read(struct probe *p)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC_RAW);

	p->before = start;
	p->source->read(p, p->state);
	p->reads++;
	p->read_ns += clock_ns(CLOCK_MONOTONIC_RAW) - start;
}

void probe_close(struct probe *p)
{
	if (p->state)
		p->source->close(p->state);
	p->state = NULL;
}
