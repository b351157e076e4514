/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Disks, from /proc/diskstats: what they read and write, how many requests wait and how busy they are. Partitions are
 * parts of their disks and left out; so are disks that have never done anything, until they do.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "telemetry/source.h"
#include "telemetry/values.h"

enum { DISKS = 128, TEXT = 1 << 17, SECTOR = 512 };

/* The columns of a line behind the name; times are in ms and 32 bits wide. */
enum column {
	READS,
	READS_MERGED,
	SECTORS_READ,
	MS_READ,
	WRITES,
	WRITES_MERGED,
	SECTORS_WRITTEN,
	MS_WRITTEN,
	IN_FLIGHT,
	MS_BUSY,
	MS_WAITED, /* of all requests together */
	COLUMNS
};

static const struct {
	enum column column;
	const char *name, *unit, *what;
	double scale;
} totals[] = {
	{SECTORS_READ, "disk.read", "bytes", "Bytes read from the disk", SECTOR},
	{SECTORS_WRITTEN, "disk.written", "bytes", "Bytes written to the disk", SECTOR},
	{READS, "disk.operations.read", "operations", "Requests to read that were served", 1},
	{WRITES, "disk.operations.written", "operations", "Requests to write that were served", 1},
};
#define TOTALS (sizeof(totals) / sizeof(totals[0]))

struct disk {
	char name[64];
	uint32_t totals[TOTALS], busy, queue;
	uint32_t ms_busy, ms_waited;
	uint64_t at; /* of these, ns; 0: there are none */
	bool partition, told, here, seen;
};

struct disks {
	struct value_file file;
	struct disk list[DISKS];
	unsigned count, refused;
	bool later;
	char text[TEXT];
};

/* ---- lines ----------------------------------------------------------------------------------- */

/* False: it is no line of a disk. */
static bool parse_line(const char *line, char name[64], uint64_t out[COLUMNS])
{
	int n = 0;

	if (sscanf(line, "%*u %*u %63s%n", name, &n) != 1)
		return false;
	line += n;
	for (unsigned i = 0; i < COLUMNS; i++) {
		char *end;

		while (*line == ' ')
			line++;
		if (*line < '0' || *line > '9')
			return false;
		errno = 0;
		out[i] = strtoull(line, &end, 10);
		if (errno || !strchr(" \n", *end))
			return false;
		line = end;
	}
	return true;
}

static bool is_partition(struct probe *p, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s/sys/class/block/%s/partition", PATH_MAX - 128,
		 meter_root(p), name);
	return access(path, F_OK) == 0;
}

/* ---- disks ----------------------------------------------------------------------------------- */

static struct disk *disk_of(struct probe *p, struct disks *d, const char *name)
{
	struct disk *x;

	for (unsigned i = 0; i < d->count; i++)
		if (strcmp(d->list[i].name, name) == 0)
			return &d->list[i];
	if (d->count == DISKS) {
		if (!d->refused++)
			meter_denied(p, "more than %d disks: others are left out", DISKS);
		return NULL;
	}
	x = &d->list[d->count++];
	*x = (struct disk){.partition = is_partition(p, name)};
	snprintf(x->name, sizeof(x->name), "%s", name);
	return x;
}

static void tell_disk(struct probe *p, struct disks *d, struct disk *x)
{
	uint32_t device = meter_device(
		p, &(struct device_info){.type = "other", .name = x->name, .driver = "diskstats"});

	if (!device)
		return; /* too many */
	for (unsigned i = 0; i < TOTALS; i++)
		x->totals[i] = meter_metric(p, &(struct metric_info){.name = totals[i].name,
								     .unit = totals[i].unit,
								     .description = totals[i].what,
								     .device = device,
								     .kind = METRIC_TOTAL,
								     .scale = totals[i].scale});
	x->busy = meter_metric(
		p,
		&(struct metric_info){.name = "disk.busy",
				      .unit = "%",
				      .device = device,
				      .description = "Time in which the disk had something to do"});
	x->queue = meter_metric(
		p,
		&(struct metric_info){.name = "disk.queue",
				      .unit = "requests",
				      .device = device,
				      .description = "Requests under way or waiting, on average"});
	x->told = true;
	if (d->later && meter_shown(p, x->busy))
		meter_told(p, "%s appeared", x->name);
}

static void tell_times(struct probe *p, struct disk *x, const uint64_t *v, uint64_t now)
{
	uint32_t busy = (uint32_t)v[MS_BUSY] - x->ms_busy;
	uint32_t waited = (uint32_t)v[MS_WAITED] - x->ms_waited;
	double ms = (double)(now - x->at) / 1e6;
	/* A count that began anew is no time: more than has passed, but for how the kernel rounds. */
	bool known = x->at && now > x->at && (int32_t)busy >= 0 && (int32_t)waited >= 0 &&
		     busy <= 2 * ms + 100;

	if (known) {
		meter_level(p, x->busy, busy < ms ? 100 * busy / ms : 100);
		meter_level(p, x->queue, waited / ms);
	} else if (x->at) {
		meter_gap(p, x->busy, "the count began anew");
	}
	x->ms_busy = (uint32_t)v[MS_BUSY];
	x->ms_waited = (uint32_t)v[MS_WAITED];
	x->at = now;
}

static void read_disk(struct probe *p, struct disk *x, const uint64_t *v, uint64_t now)
{
	if (!x->here && x->seen && meter_shown(p, x->busy))
		meter_told(p, "%s is there again", x->name);
	if (!x->here) {
		for (unsigned i = 0; i < TOTALS; i++)
			meter_again(p, x->totals[i]);
		x->at = 0;
	}
	for (unsigned i = 0; i < TOTALS; i++)
		meter_total(p, x->totals[i], v[totals[i].column], NULL);
	tell_times(p, x, v, now);
	x->here = x->seen = true;
}

static void read_lines(struct probe *p, struct disks *d, bool only_tell)
{
	uint64_t v[COLUMNS], now = meter_before(p);
	bool found[DISKS] = {false};
	char name[64];

	for (char *line = d->text; line && *line; line = strchr(line, '\n')) {
		struct disk *x;

		line += *line == '\n';
		x = parse_line(line, name, v) ? disk_of(p, d, name) : NULL;
		if (!x || x->partition)
			continue;
		found[x - d->list] = true;
		if (!x->told && (v[READS] || v[WRITES]))
			tell_disk(p, d, x);
		if (x->told && !only_tell)
			read_disk(p, x, v, now);
	}
	for (unsigned i = 0; i < d->count; i++) {
		if (d->list[i].here && !found[i] && meter_shown(p, d->list[i].busy))
			meter_told(p, "%s went away", d->list[i].name);
		d->list[i].here &= found[i];
	}
}

/* ---- the source ------------------------------------------------------------------------------ */

static void *disk_open(struct probe *p)
{
	struct disks *d = calloc(1, sizeof(*d));
	int error;
	size_t n;

	if (!d)
		return NULL;
	value_file_init(&d->file, "%s/proc/diskstats", meter_root(p));
	error = value_file_text(&d->file, d->text, sizeof(d->text), &n);
	if (!error)
		read_lines(p, d, true);
	d->later = true;
	for (unsigned i = 0; i < d->count; i++)
		if (d->list[i].told)
			return d;
	if (error && error != ENOENT && error != ENODATA)
		meter_denied(p, "/proc/diskstats: %s", value_error(error));
	else
		meter_missing(p, "no disk in /proc/diskstats has done anything");
	value_file_close(&d->file);
	free(d);
	return NULL;
}

static void disk_read(struct probe *p, void *state)
{
	struct disks *d = state;
	int error;
	size_t n;

	meter_before(p);
	error = value_file_text(&d->file, d->text, sizeof(d->text), &n);
	if (!error) {
		read_lines(p, d, false);
		return;
	}
	for (unsigned i = 0; i < d->count; i++)
		meter_gap(p, d->list[i].busy, value_error(error));
}

static void disk_close(void *state)
{
	struct disks *d = state;

	value_file_close(&d->file);
	free(d);
}

extern const struct source source_disk;
const struct source source_disk = {
	.name = "disk",
	.about = "disks: /proc/diskstats",
	.interval_ns = 10 * MILLISECOND,
	.open = disk_open,
	.read = disk_read,
	.close = disk_close,
};
