/* SPDX-License-Identifier: Apache-2.0 */
/* What of telemetry is wanted; see choice.h. */
#include "telemetry/choice.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/source.h"

/* Length of the item that `text` begins with: "a:device=0,2-3" goes on behind commas with numbers. */
static size_t item_length(const char *text)
{
	size_t n = strcspn(text, ",");

	while (text[n] && text[n + 1] >= '0' && text[n + 1] <= '9')
		n += 1 + strcspn(text + n + 1, ",");
	return n;
}

static bool parse_numbers(struct number_list *l, const struct choice_item *i, const char *text,
			  char *error, size_t size)
{
	if (!l->count && numbers_parse(l, text))
		return true;
	snprintf(error, size, "\"%s\" of %s is no list of numbers such as 0,2-3", text, i->name);
	return false;
}

static bool parse_part(struct choice_item *i, char *part, char *error, size_t size)
{
	char *is = strchr(part, '='), *text = is ? is + 1 : part;
	size_t n = (size_t)(text - part);

	if (n == 7 && strncmp(part, "device=", n) == 0 && *text && !i->called &&
	    strchr("0123456789", *text) == NULL) {
		i->called = text;
		return true;
	}
	if (n == 7 && strncmp(part, "device=", n) == 0 && !i->called)
		return parse_numbers(&i->devices, i, text, error, size);
	if (n == 4 && strncmp(part, "cpu=", n) == 0)
		return parse_numbers(&i->cpus, i, text, error, size);
	if (n == 10 && strncmp(part, "interface=", n) == 0 && *text && !i->called &&
	    !i->devices.count) {
		i->called = text;
		i->interface = true;
		return true;
	}
	if (n == 6 && strncmp(part, "value=", n) == 0 && *text && i->value_count < CHOICE_VALUES) {
		i->values[i->value_count++] = text;
		return true;
	}
	snprintf(error, size,
		 "%s takes :device=NUMBERS or NAME, :cpu=NUMBERS, :interface=NAME and :value=NAME, "
		 "not "
		 "\":%s\"",
		 i->name, part);
	return false;
}

static bool parse_item(struct choice_item *i, char *error, size_t size)
{
	char *part = strchr(i->name, ':');

	while (part) {
		char *next = strchr(part + 1, ':');

		*part++ = '\0';
		if (next)
			*next = '\0';
		if (!parse_part(i, part, error, size))
			return false;
		part = next;
	}
	if (*i->name)
		return true;
	snprintf(error, size, "a name is missing");
	return false;
}

bool choice_parse(struct choice *c, const char *text, char *error, size_t size)
{
	*c = (struct choice){.count = 0};
	while (text) {
		size_t n = item_length(text);
		struct choice_item *i = &c->items[c->count];

		if (c->count == CHOICE_ITEMS) {
			snprintf(error, size, "more than %d names", CHOICE_ITEMS);
			return false;
		}
		i->name = strndup(text, n);
		if (!i->name) {
			snprintf(error, size, "there is no memory");
			return false;
		}
		c->count++;
		if (!parse_item(i, error, size))
			return false;
		text = text[n] ? text + n + 1 : NULL;
	}
	return true;
}

void choice_release(struct choice *c)
{
	for (unsigned i = 0; i < c->count; i++) {
		free(c->items[i].name); /* the other texts are in it */
		free(c->items[i].devices.at);
		free(c->items[i].cpus.at);
	}
	c->count = 0;
}

static bool is_source(const char *name)
{
	for (unsigned i = 0; telemetry_sources[i]; i++)
		if (strcmp(telemetry_sources[i]->name, name) == 0)
			return true;
	return false;
}

bool choice_source(const struct choice *c, const char *source)
{
	for (unsigned i = 0; i < c->count; i++)
		if (strcmp(c->items[i].name, source) == 0 || !is_source(c->items[i].name))
			return true;
	return !c->count;
}

bool choice_cpu(const struct choice *c, const char *source, uint64_t cpu)
{
	for (unsigned i = 0; i < c->count; i++) {
		const struct choice_item *k = &c->items[i];

		if (k->cpus.count && numbers_have(&k->cpus, cpu) &&
		    (strcmp(k->name, source) == 0 || !is_source(k->name)))
			return true;
	}
	return false;
}

bool choice_pattern(const char *pattern, const struct choice_value *v)
{
	return fnmatch(pattern, v->name, 0) == 0;
}

bool choice_named(const struct choice_item *i, const struct choice_value *v)
{
	return strcmp(i->name, v->source) == 0 ||
	       (!is_source(i->name) && choice_pattern(i->name, v));
}

/* "mlx5_0" stands for all ports of the adapter. */
bool choice_called(const struct choice_item *i, const struct choice_value *v)
{
	bool net = strcmp(v->source, "net") == 0;
	size_t n = i->called ? strlen(i->called) : 0;

	if (!i->called || (net && strncmp(v->device, i->called, n) == 0 &&
			   strncmp(v->device + n, " port ", 6) == 0))
		return true;
	return (net || !i->interface) && *v->device && fnmatch(i->called, v->device, 0) == 0;
}

static bool has_device(const struct choice_item *i, const struct choice_value *v)
{
	return !i->devices.count ||
	       (v->number >= 0 && numbers_have(&i->devices, (uint64_t)v->number));
}

static bool has_cpu(const struct choice_item *i, const struct choice_value *v)
{
	return !i->cpus.count ||
	       (v->by_cpu && (v->cpu < 0 || numbers_have(&i->cpus, (uint64_t)v->cpu)));
}

static bool has_value(const struct choice_item *i, const struct choice_value *v)
{
	for (unsigned k = 0; k < i->value_count; k++)
		if (choice_pattern(i->values[k], v))
			return true;
	return !i->value_count;
}

bool choice_wants(const struct choice *c, const struct choice_value *v)
{
	for (unsigned i = 0; i < c->count; i++)
		if (choice_named(&c->items[i], v) && has_device(&c->items[i], v) &&
		    has_cpu(&c->items[i], v) && has_value(&c->items[i], v) &&
		    choice_called(&c->items[i], v))
			return true;
	return !c->count;
}
