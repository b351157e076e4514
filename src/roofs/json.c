/* SPDX-License-Identifier: Apache-2.0 */
/* Roofs as JSON: what `kymo calibrate --format json` prints and the cache keeps. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef KYMO_HAVE_JANSSON
#include <jansson.h>
#endif

#include "base/file.h"
#include "base/json.h"
#include "base/vec.h"
#include "roofs/roofs.h"

enum { FILE_MOST = 16 << 20 };

static const char *const kinds[ROOF_KINDS] = {[ROOF_BANDWIDTH] = "bandwidth",
					      [ROOF_COMPUTE] = "compute",
					      [ROOF_TRANSFER] = "transfer",
					      [ROOF_LATENCY] = "latency"};

void roofs_list_release(struct roofs_list *l)
{
	free(l->list);
	*l = (struct roofs_list){0};
}

/* ---- writing ------------------------------------------------------------------------------------- */

static void add_number(struct json *j, const char *name, double v)
{
	char number[40];

	json_name(j, name);
	snprintf(number, sizeof(number), "%.10g", v);
	if (isfinite(v))
		json_add_raw(j, number);
	else
		json_add_null(j);
}

static void add_string(struct json *j, const char *name, const char *s)
{
	json_name(j, name);
	json_add_string(j, s);
}

static void add_unsigned(struct json *j, const char *name, uint64_t v)
{
	json_name(j, name);
	json_add_unsigned(j, v);
}

static void write_roof(struct json *j, const struct roof *r)
{
	json_line(j, 6);
	json_open(j, '{');
	add_string(j, "name", r->name);
	add_string(j, "type", r->type);
	add_string(j, "kind", kinds[r->kind]);
	add_string(j, "unit", roof_unit(r));
	add_number(j, "value", r->value);
	add_number(j, "interval", r->interval);
	add_number(j, "peak", r->peak);
	add_unsigned(j, "experiments", r->experiments);
	add_unsigned(j, "dropped", r->dropped);
	add_unsigned(j, "bytes", r->bytes);
	add_string(j, "about", r->about);
	add_string(j, "why", r->why);
	json_close(j);
}

static void write_device(struct json *j, const struct roof_device *d)
{
	add_string(j, "api", d->api);
	add_string(j, "type", d->type);
	add_string(j, "platform", d->platform);
	add_string(j, "name", d->name);
	add_string(j, "vendor", d->vendor);
	add_string(j, "driver", d->driver);
	add_string(j, "uuid", d->uuid);
	add_string(j, "pci", d->pci);
	add_string(j, "host", d->host);
	add_unsigned(j, "twin", d->twin);
	add_unsigned(j, "units", d->units);
	add_unsigned(j, "clock_mhz", d->clock_mhz);
	add_unsigned(j, "memory_bytes", d->memory_bytes);
	json_name(j, "cache_bytes");
	json_open(j, '[');
	for (unsigned i = 0; i < 3; i++)
		json_add_unsigned(j, d->cache[i]);
	json_close(j);
	json_name(j, "local_is_cached");
	json_add_bool(j, d->local_is_cached);
}

static void write_one(struct json *j, const struct roofs *r)
{
	json_line(j, 2);
	json_open(j, '{');
	write_device(j, &r->device);
	json_line(j, 4);
	add_string(j, "date", r->date);
	add_string(j, "kymo", r->version);
	add_number(j, "load", r->load);
	add_number(j, "seconds", r->seconds);
	json_name(j, "quick");
	json_add_bool(j, r->quick);
	add_string(j, "note", r->note);
	json_line(j, 4);
	json_name(j, "roofs");
	json_open(j, '[');
	for (unsigned i = 0; i < r->count; i++)
		write_roof(j, &r->roofs[i]);
	json_close(j);
	json_close(j);
}

void roofs_write(const struct roofs_list *l, struct text *out)
{
	struct json j = {.out = out};

	json_open(&j, '{');
	json_name(&j, "devices");
	json_open(&j, '[');
	for (uint32_t i = 0; i < l->count; i++)
		write_one(&j, &l->list[i]);
	json_close(&j);
	json_close(&j);
	text_add(out, "\n");
}

/* ---- reading ------------------------------------------------------------------------------------- */

#ifdef KYMO_HAVE_JANSSON
/* What is not there, or of another type, is "" or 0 or NAN: each reader says what it cannot do without. */
static void take_string(const json_t *o, const char *name, char *out, size_t room)
{
	const char *s = json_string_value(json_object_get(o, name));

	snprintf(out, room, "%.*s", (int)room - 1, s ? s : "");
}
#define TAKE_STRING(o, name, member) take_string(o, name, member, sizeof(member))

static double take_number(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static uint64_t take_unsigned(const json_t *o, const char *name)
{
	json_int_t v = json_integer_value(json_object_get(o, name));

	return v > 0 ? (uint64_t)v : 0;
}

static bool read_roof(const json_t *o, struct roof *r)
{
	char kind[16];

	TAKE_STRING(o, "name", r->name);
	TAKE_STRING(o, "type", r->type);
	TAKE_STRING(o, "about", r->about);
	TAKE_STRING(o, "why", r->why);
	TAKE_STRING(o, "kind", kind);
	r->value = take_number(o, "value");
	r->interval = take_number(o, "interval");
	r->peak = take_number(o, "peak");
	r->experiments = (uint32_t)take_unsigned(o, "experiments");
	r->dropped = (uint32_t)take_unsigned(o, "dropped");
	r->bytes = take_unsigned(o, "bytes");
	for (r->kind = 0; r->kind < ROOF_KINDS; r->kind++)
		if (strcmp(kind, kinds[r->kind]) == 0)
			break;
	return *r->name && r->kind < ROOF_KINDS && (isnan(r->value) || r->value > 0);
}

static void read_device(const json_t *o, struct roof_device *d)
{
	TAKE_STRING(o, "api", d->api);
	TAKE_STRING(o, "type", d->type);
	TAKE_STRING(o, "platform", d->platform);
	TAKE_STRING(o, "name", d->name);
	TAKE_STRING(o, "vendor", d->vendor);
	TAKE_STRING(o, "driver", d->driver);
	TAKE_STRING(o, "uuid", d->uuid);
	TAKE_STRING(o, "pci", d->pci);
	TAKE_STRING(o, "host", d->host);
	d->twin = (uint32_t)take_unsigned(o, "twin");
	d->units = (uint32_t)take_unsigned(o, "units");
	d->clock_mhz = (uint32_t)take_unsigned(o, "clock_mhz");
	d->memory_bytes = take_unsigned(o, "memory_bytes");
	for (unsigned i = 0; i < 3; i++) {
		json_int_t v =
			json_integer_value(json_array_get(json_object_get(o, "cache_bytes"), i));

		d->cache[i] = v > 0 ? (uint64_t)v : 0;
	}
	d->local_is_cached = json_is_true(json_object_get(o, "local_is_cached"));
}

static bool read_one(const json_t *o, struct roofs *r)
{
	const json_t *list = json_object_get(o, "roofs");

	*r = (struct roofs){0};
	read_device(o, &r->device);
	TAKE_STRING(o, "date", r->date);
	TAKE_STRING(o, "kymo", r->version);
	TAKE_STRING(o, "note", r->note);
	r->load = take_number(o, "load");
	r->seconds = take_number(o, "seconds");
	r->quick = json_is_true(json_object_get(o, "quick"));
	if (!*r->device.name || !json_is_array(list) || json_array_size(list) > ROOFS_MOST)
		return false;
	for (; r->count < json_array_size(list); r->count++)
		if (!read_roof(json_array_get(list, r->count), &r->roofs[r->count]))
			return false;
	return true;
}

static bool read_all(const json_t *root, struct roofs_list *out, char why[ROOF_WHY])
{
	const json_t *list = json_object_get(root, "devices");

	if (!json_is_array(list)) {
		snprintf(why, ROOF_WHY, "has no roofs: \"devices\" is missing");
		return false;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (!vec_reserve(&out->list, &out->room, out->count, 1)) {
			snprintf(why, ROOF_WHY, "no memory");
			return false;
		}
		if (!read_one(json_array_get(list, i), &out->list[out->count])) {
			snprintf(why, ROOF_WHY,
				 "device %zu has no name, or its roofs make no sense", i + 1);
			return false;
		}
		out->count++;
	}
	return true;
}

bool roofs_read(const char *json, size_t bytes, struct roofs_list *out, char why[ROOF_WHY])
{
	json_error_t error;
	json_t *root = json_loadb(json, bytes, 0, &error);
	bool ok = root && read_all(root, out, why);

	if (!root)
		snprintf(why, ROOF_WHY, "is no JSON: line %d: %.120s", error.line, error.text);
	if (!ok)
		roofs_list_release(out);
	json_decref(root);
	return ok;
}
#else
bool roofs_read(const char *json, size_t bytes, struct roofs_list *out, char why[ROOF_WHY])
{
	(void)json;
	(void)bytes;
	(void)out;
	snprintf(why, ROOF_WHY, "cannot be read: this kymo was built without libjansson");
	return false;
}
#endif

bool roofs_read_file(const char *path, struct roofs_list *out, char why[ROOF_WHY])
{
	char *json = file_read_limited(path, FILE_MOST);
	bool ok;

	if (!json) {
		snprintf(why, ROOF_WHY, "%s", strerror(errno));
		return false;
	}
	ok = roofs_read(json, strlen(json), out, why);
	free(json);
	return ok;
}
