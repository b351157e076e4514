/* SPDX-License-Identifier: Apache-2.0 */
/* See roofs.h: whose roofs they are, and which is meant. */
#include "roofs/roofs.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "roofs/keep.h"

const char *roof_unit(const struct roof *r)
{
	static const char *const units[ROOF_KINDS] = {[ROOF_BANDWIDTH] = "B/s",
						      [ROOF_COMPUTE] = "FLOP/s",
						      [ROOF_TRANSFER] = "B/s",
						      [ROOF_LATENCY] = "s"};

	return r->kind == ROOF_COMPUTE && strncmp(r->type, "int", 3) == 0 ? "OP/s" : units[r->kind];
}

/* Powers of 1000, as the value has them: the interval is in the same. */
const char *roof_text(const struct roof *r, bool utf8, char out[ROOF_TEXT])
{
	static const char *const prefixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P"};
	enum { ONE = 3, LAST = sizeof(prefixes) / sizeof(prefixes[0]) - 1 };
	double value = r->value, scale = 1;
	int at = ONE, digits;

	if (isnan(value)) {
		snprintf(out, ROOF_TEXT, "N/A");
		return out;
	}
	for (; value / scale >= 1000 && at < LAST; at++)
		scale *= 1000;
	for (; value / scale < 1 && at > 0; at--)
		scale /= 1000;
	digits = value / scale >= 100 ? 1 : value / scale >= 10 ? 2 : 3;
	snprintf(out, ROOF_TEXT, "%.*f %s %.*f %s%s", digits, value / scale,
		 utf8 ? "\xc2\xb1" : "+-", digits, r->interval / scale, prefixes[at], roof_unit(r));
	return out;
}

const struct roof *roofs_best(const struct roofs *r, const char *name)
{
	const struct roof *best = NULL;

	for (unsigned i = 0; i < r->count; i++) {
		const struct roof *x = &r->roofs[i];

		if (isnan(x->value) || (strcmp(x->name, name) != 0 && strcmp(x->type, name) != 0))
			continue;
		if (!best || x->value > best->value)
			best = x;
	}
	return best;
}

bool roofs_were_disturbed(const struct roofs *r)
{
	return strcmp(r->device.type, "cpu") == 0 && r->load > r->device.units / 2.0;
}

double roofs_value(const struct roofs *r, const char *name)
{
	const struct roof *best = roofs_best(r, name);

	return best ? best->value : NAN;
}

/* Digits alone, in lower case: "GPU-8F3C-..." and "8f3c..." are the same. */
static void uuid_digits(const char *s, char out[40])
{
	size_t n = 0;

	if (s && strncmp(s, "GPU-", 4) == 0)
		s += 4;
	for (; s && *s && n < 39; s++)
		if (isxdigit((unsigned char)*s))
			out[n++] = (char)tolower((unsigned char)*s);
	out[n] = '\0';
}

static bool here(const struct roofs *r, const struct roofs_wanted *w)
{
	char host[65] = "";

	gethostname(host, sizeof(host) - 1);
	return w->any_host || strcmp(r->device.host, w->host && *w->host ? w->host : host) == 0;
}

static bool has_uuid(const struct roofs *r, const char *uuid)
{
	char own[40];

	uuid_digits(r->device.uuid, own);
	return *uuid && strcmp(own, uuid) == 0;
}

/* Later ones are better, of one device through one runtime after an update of its driver. */
static bool newer(const struct roofs *a, const struct roofs *b)
{
	return strcmp(a->date, b->date) > 0;
}

static bool same_one(const struct roofs *a, const struct roofs *b)
{
	return strcmp(a->device.uuid, b->device.uuid) == 0 &&
	       strcmp(a->device.pci, b->device.pci) == 0 &&
	       strcmp(a->device.host, b->device.host) == 0 && a->device.twin == b->device.twin;
}

bool roofs_among(const struct roofs_list *l, const struct roofs_wanted *wanted, struct roofs *out,
		 char why[ROOF_WHY])
{
	const struct roofs *by_uuid = NULL, *by_name = NULL;
	const char *name = wanted->name ? wanted->name : "";
	bool several = false;
	char uuid[40];

	uuid_digits(wanted->uuid, uuid);
	for (uint32_t i = 0; i < l->count; i++) {
		const struct roofs *r = &l->list[i];

		if (has_uuid(r, uuid) && (!by_uuid || newer(r, by_uuid)))
			by_uuid = r;
		if (strcmp(r->device.name, name) != 0 || !here(r, wanted))
			continue;
		several = several || (by_name && !same_one(by_name, r));
		if (!by_name || newer(r, by_name))
			by_name = r;
	}
	if (by_uuid || (by_name && !several)) {
		*out = by_uuid ? *by_uuid : *by_name;
		return true;
	}
	if (several)
		snprintf(why, ROOF_WHY,
			 "there are several devices \"%.80s\", and no uuid tells which", name);
	else
		snprintf(why, ROOF_WHY,
			 "no roofs of \"%.80s\" are known: run kymo calibrate where it is", name);
	return false;
}

bool roofs_of_device(const struct roofs_wanted *wanted, struct roofs *out, char why[ROOF_WHY])
{
	struct roofs_list l = {0};
	bool found;

	keep_all(&l);
	found = roofs_among(&l, wanted, out, why);
	roofs_list_release(&l);
	return found;
}
