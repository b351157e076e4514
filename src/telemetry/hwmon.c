/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sensors of the kernel: temperatures, power, energy, fans, frequencies of whatever has a driver in
 * /sys/class/hwmon; devices on PCI are known by their address, so that GPUs are the same here and
 * for their vendor's library.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/source.h"
#include "telemetry/values.h"

enum { SENSORS = 512, SENSORS_OF_CHIP = 64 };

struct sensor {
	struct value_file file;
	uint32_t metric, energy; /* `energy`: what power comes to over time */
	bool total;
};

struct hwmon {
	struct sensor sensors[SENSORS];
	unsigned count, refused;
};

static const struct kind {
	const char *prefix, *suffix, *name, *unit, *what;
	double scale;
	bool total;
} kinds[] = {
	{"temp", "_input", "temperature", "C", "Temperature", 1e-3, false},
	{"power", "_input", "power", "W", "Power", 1e-6, false},
	{"power", "_average", "power", "W", "Power, on average over the driver's window", 1e-6,
	 false},
	{"energy", "_input", "energy", "J", "Energy", 1e-6, true},
	{"fan", "_input", "fan", "rpm", "Speed of a fan", 1, false},
	{"freq", "_input", "frequency", "MHz", "Frequency", 1e-6, false},
	{"in", "_input", "voltage", "V", "Voltage", 1e-3, false},
	{"curr", "_input", "current", "A", "Current", 1e-3, false},
};

/* "temp2_input": the kind, and 2. */
static const struct kind *kind_of(const char *file, unsigned *number)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = strlen(kinds[i].prefix);
		char *end;

		if (strncmp(file, kinds[i].prefix, n) != 0 || !isdigit((unsigned char)file[n]))
			continue;
		*number = (unsigned)strtoul(file + n, &end, 10);
		if (strcmp(end, kinds[i].suffix) == 0)
			return &kinds[i];
	}
	return NULL;
}

/* The last part of where the chip's device lies, if that is a PCI address. */
static bool pci_of(const char *chip, char out[24])
{
	char path[PATH_MAX + 128], real[PATH_MAX];
	unsigned domain, bus, device, function;
	const char *base;
	int n = 0;

	snprintf(path, sizeof(path), "%s/device", chip);
	if (!realpath(path, real))
		return false;
	base = strrchr(real, '/');
	if (!base ||
	    sscanf(base + 1, "%x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &n) != 4 ||
	    base[1 + n] != '\0')
		return false;
	snprintf(out, 24, "%04x:%02x:%02x.%x", domain & 0xffffffffu, bus & 0xff, device & 0xff,
		 function & 0xf);
	return true;
}

static bool is_gpu(const char *chip)
{
	char path[PATH_MAX + 128], text[32];

	snprintf(path, sizeof(path), "%s/device/class", chip);
	return value_line(path, text, sizeof(text)) == 0 && strncmp(text, "0x03", 4) == 0;
}

static uint32_t device_of(struct probe *p, const char *chip, const char *name)
{
	char pci[24];
	bool has_pci = pci_of(chip, pci);

	return meter_device(p, &(struct device_info){.type = is_gpu(chip) ? "gpu" : "custom",
						     .name = name,
						     .driver = "hwmon",
						     .pci = has_pci ? pci : NULL});
}

static void label_of(const char *chip, const struct kind *k, unsigned number, char *out,
		     size_t size)
{
	char path[PATH_MAX + 128];

	snprintf(path, sizeof(path), "%s/%s%u_label", chip, k->prefix, number);
	if (value_line(path, out, size) != 0)
		snprintf(out, size, "%u", number);
	for (char *c = out; *c; c++)
		*c = *c == ' ' ? '_' : *c;
}

static void add_sensor(struct probe *p, struct hwmon *h, const char *chip, uint32_t device,
		       const char *file, const struct kind *k, unsigned number)
{
	struct sensor *s = &h->sensors[h->count];
	char label[32], name[64];
	int64_t v;
	int error;

	value_file_init(&s->file, "%s/%.60s", chip, file);
	error = value_file_number(&s->file, &v);
	if (error == EACCES || error == EPERM)
		meter_denied(p, "%s: permission denied", s->file.path);
	if (error)
		return; /* sensors that are switched off are common */
	label_of(chip, k, number, label, sizeof(label));
	snprintf(name, sizeof(name), "%s.%s", k->name, label);
	s->total = k->total;
	s->metric = meter_metric(
		p, &(struct metric_info){.name = name,
					 .unit = k->unit,
					 .description = k->what,
					 .device = device,
					 .kind = k->total ? METRIC_TOTAL : METRIC_LEVEL,
					 .scale = k->scale});
	snprintf(name, sizeof(name), "energy.%s", label);
	s->energy = strcmp(k->name, "power") != 0
			    ? 0
			    : meter_metric(p, &(struct metric_info){
						      .name = name,
						      .unit = "J",
						      .description = "Energy: power over time",
						      .device = device,
						      .kind = METRIC_TOTAL});
	h->count++;
}

static void add_chip(struct probe *p, struct hwmon *h, const char *chip)
{
	char path[PATH_MAX + 128], name[64];
	struct dirent **files = NULL;
	unsigned of_chip = 0, number;
	uint32_t device = 0;
	int count;

	snprintf(path, sizeof(path), "%s/name", chip);
	if (value_line(path, name, sizeof(name)) != 0)
		return;
	count = scandir(chip, &files, NULL, versionsort);
	for (int i = 0; i < count; i++) {
		const struct kind *k = kind_of(files[i]->d_name, &number);

		if (k && (h->count == SENSORS || of_chip == SENSORS_OF_CHIP)) {
			h->refused++;
		} else if (k) {
			device = device ? device : device_of(p, chip, name);
			add_sensor(p, h, chip, device, files[i]->d_name, k, number);
			of_chip++;
		}
		free(files[i]);
	}
	free(files);
}

static void *hwmon_open(struct probe *p)
{
	char folder[PATH_MAX], chip[PATH_MAX + 64];
	struct hwmon *h = calloc(1, sizeof(*h));
	struct dirent **names = NULL;
	int count;

	snprintf(folder, sizeof(folder), "%.*s/sys/class/hwmon", PATH_MAX - 256, meter_root(p));
	count = h ? scandir(folder, &names, NULL, versionsort) : -1;
	for (int i = 0; i < count; i++) {
		snprintf(chip, sizeof(chip), "%s/%.60s", folder, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			add_chip(p, h, chip);
		free(names[i]);
	}
	free(names);
	if (h && h->refused)
		meter_denied(p, "%u sensors are left out: too many", h->refused);
	if (h && h->count)
		return h;
	meter_missing(p, "no sensor in /sys/class/hwmon");
	free(h);
	return NULL;
}

static void hwmon_read(struct probe *p, void *state)
{
	struct hwmon *h = state;

	for (unsigned i = 0; i < h->count; i++) {
		struct sensor *s = &h->sensors[i];
		int64_t v;
		int error;

		meter_before(p);
		error = value_file_number(&s->file, &v);
		if (!error && s->total && v < 0)
			error = EBADMSG;
		if (error) {
			meter_gap(p, s->metric, value_error(error));
			meter_gap(p, s->energy, value_error(error));
		} else if (s->total) {
			meter_total(p, s->metric, (uint64_t)v, NULL);
		} else {
			meter_level(p, s->metric, (double)v);
			meter_integrate(p, s->energy, (double)v * 1e-6);
		}
	}
}

static void hwmon_close(void *state)
{
	struct hwmon *h = state;

	for (unsigned i = 0; i < h->count; i++)
		value_file_close(&h->sensors[i].file);
	free(h);
}

extern const struct source source_hwmon;
const struct source source_hwmon = {
	.name = "hwmon",
	.about = "sensors of the kernel: /sys/class/hwmon",
	.interval_ns = 100 * MILLISECOND, /* some are read over slow buses */
	.open = hwmon_open,
	.read = hwmon_read,
	.close = hwmon_close,
};
