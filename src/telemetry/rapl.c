/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Energy of processor packages and their parts, from the counters of powercap (Intel and AMD). They
 * wrap; most kernels let only root read them.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/source.h"
#include "telemetry/values.h"

enum { ZONES = 64 };

struct zone {
	struct value_file energy;
	uint32_t joules, watts;
};

struct rapl {
	struct zone zones[ZONES];
	unsigned count;
};

/* "intel-rapl:1" and "intel-rapl:1:0" belong to package 1; others are seen through these. */
static bool package_of(const char *zone, unsigned *package, bool *whole)
{
	unsigned part;
	int n = 0;

	if (sscanf(zone, "intel-rapl:%u%n", package, &n) != 1 || *package > 1023)
		return false;
	*whole = zone[n] == '\0';
	return *whole || (sscanf(zone + n, ":%u", &part) == 1);
}

static uint32_t device_of(struct probe *p, unsigned package)
{
	char name[32];

	snprintf(name, sizeof(name), "CPU package %u", package);
	return meter_device(
		p, &(struct device_info){.type = "cpu", .name = name, .driver = "powercap"});
}

static void add_metrics(struct probe *p, struct zone *z, uint32_t device, const char *part,
			int64_t wrap)
{
	char energy[64], power[64];
	bool whole = !*part;

	snprintf(energy, sizeof(energy), "energy%s%.32s", whole ? "" : ".", part);
	snprintf(power, sizeof(power), "power%s%.32s", whole ? "" : ".", part);
	z->joules = meter_metric(
		p, &(struct metric_info){.name = energy,
					 .unit = "J",
					 .kind = METRIC_TOTAL,
					 .device = device,
					 .scale = 1e-6,
					 .wrap = wrap > 0 ? (uint64_t)wrap : 0,
					 .description = whole ? "Energy of the package"
							      : "Energy of a part of the package"});
	z->watts = meter_metric(
		p,
		&(struct metric_info){.name = power,
				      .unit = "W",
				      .device = device,
				      .description = "Power, on average since the reading before"});
}

static void add_zone(struct probe *p, struct rapl *r, const char *folder, const char *zone)
{
	struct zone *z = &r->zones[r->count];
	char path[PATH_MAX + 128], part[64] = "";
	unsigned package;
	int64_t wrap = 0, now;
	bool whole;
	int error;

	if (r->count == ZONES || !package_of(zone, &package, &whole))
		return;
	snprintf(path, sizeof(path), "%s/%.60s/name", folder, zone);
	if (!whole && value_line(path, part, sizeof(part)) != 0)
		return;
	snprintf(path, sizeof(path), "%s/%.60s/max_energy_range_uj", folder, zone);
	value_number(path, &wrap);
	value_file_init(&z->energy, "%s/%.60s/energy_uj", folder, zone);
	error = value_file_number(&z->energy, &now);
	if (error == EACCES || error == EPERM)
		meter_denied(p,
			     "%s/energy_uj: permission denied; root may read it, or: chmod a+r %s",
			     zone, z->energy.path);
	else if (error)
		meter_denied(p, "%s/energy_uj: %s", zone, value_error(error));
	if (error)
		return;
	add_metrics(p, z, device_of(p, package), whole ? "" : part, wrap);
	r->count++;
}

static void *rapl_open(struct probe *p)
{
	char folder[PATH_MAX];
	struct rapl *r = calloc(1, sizeof(*r));
	struct dirent **names = NULL;
	int count;

	snprintf(folder, sizeof(folder), "%.*s/sys/class/powercap", PATH_MAX - 64, meter_root(p));
	count = r ? scandir(folder, &names, NULL, versionsort) : -1;
	if (count < 0)
		meter_missing(p,
			      "no energy counters of processors: /sys/class/powercap is not there");
	for (int i = 0; i < count; i++) {
		add_zone(p, r, folder, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	if (r && r->count)
		return r;
	if (count >= 0)
		meter_missing(p, "no energy counter in /sys/class/powercap can be read");
	free(r);
	return NULL;
}

static void rapl_read(struct probe *p, void *state)
{
	struct rapl *r = state;

	for (unsigned i = 0; i < r->count; i++) {
		struct zone *z = &r->zones[i];
		struct growth g;
		int64_t uj;
		int error;

		meter_before(p);
		error = value_file_number(&z->energy, &uj);
		if (error || uj < 0) {
			meter_gap(p, z->joules, value_error(error ? error : EBADMSG));
			continue;
		}
		if (meter_total(p, z->joules, (uint64_t)uj, &g) && g.seconds > 0)
			meter_level(p, z->watts, g.value / g.seconds);
	}
}

static void rapl_close(void *state)
{
	struct rapl *r = state;

	for (unsigned i = 0; i < r->count; i++)
		value_file_close(&r->zones[i].energy);
	free(r);
}

extern const struct source source_rapl;
const struct source source_rapl = {
	.name = "rapl",
	.about = "energy of processors: powercap",
	.interval_ns = 10 * MILLISECOND, /* renewed every 1 ms */
	.open = rapl_open,
	.read = rapl_read,
	.close = rapl_close,
};
