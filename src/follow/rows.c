/* SPDX-License-Identifier: Apache-2.0 */
/* What all recordings are added up in: kernels and calls by name, devices, memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "follow/process.h"

enum { ROWS_MOST = 1 << 16, DEVICES_MOST = 4096 };

static bool is_row(const struct follow_row *r, const char *domain, const char *name, size_t length)
{
	return strncmp(r->name, name, length) == 0 && r->name[length] == '\0' &&
	       strcmp(r->domain, domain) == 0;
}

uint32_t follow_row(struct follow *f, struct follow_rows *rows, const char *domain,
		    const char *name, size_t length)
{
	uint64_t hash, i;

	if (rows->count == ROWS_MOST) { /* names that never end: the others share a row */
		name = "(others)";
		length = strlen(name);
		domain = "";
	}
	hash = hash_add(hash_string(domain), name, length);
	map_each(&rows->names, hash, i)
		if (is_row(&rows->at[i - 1], domain, name, length))
			return (uint32_t)i;
	f->failed = f->failed || !vec_reserve_zero(&rows->at, &rows->room, rows->count, 1) ||
		    !map_reserve(&rows->names);
	if (f->failed)
		return 0;
	rows->at[rows->count] =
		(struct follow_row){.name = strndup(name, length), .domain = strdup(domain)};
	if (!rows->at[rows->count].name || !rows->at[rows->count].domain) {
		free(rows->at[rows->count].name);
		free(rows->at[rows->count].domain);
		f->failed = true;
		return 0;
	}
	map_add(&rows->names, hash, ++rows->count);
	return rows->count;
}

void follow_rows_release(struct follow_rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		free(rows->at[i].name);
		free(rows->at[i].domain);
	}
	free(rows->at);
	map_release(&rows->names);
	*rows = (struct follow_rows){0};
}

/* ---- devices ----------------------------------------------------------------------------------- */

static char *text_of(const struct wire_def *d, unsigned i)
{
	size_t length;
	const char *s = wire_def_text(d, i, &length);

	return strndup(s, length);
}

static bool same(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/*
 * Which of those of one name it is: a process defines the devices that it sees in their order, and its nth one is the
 * nth one of another process.
 */
static uint32_t number_of(struct follow *f, const struct follow_process *p,
			  const struct follow_device *new)
{
	uint32_t number = 0;

	for (uint32_t i = 0; p->agents.entries && i <= p->agents.mask; i++) {
		const struct map_entry *e = &p->agents.entries[i];
		const struct follow_device *d = e->value ? &f->devices[e->value - 1] : NULL;

		number += d && d->name && same(d->name, new->name) && same(d->domain, new->domain);
	}
	return number;
}

static bool is_device(const struct follow_device *a, const struct follow_device *b)
{
	return a->name && a->number == b->number && same(a->name, b->name) &&
	       same(a->host, b->host) && same(a->domain, b->domain);
}

uint32_t follow_device(struct follow *f, const struct follow_process *p, const struct wire_def *d)
{
	struct follow_device new = {
		.name = text_of(d, DEF_AGENT_NAME),
		.domain = text_of(d, DEF_AGENT_DOMAIN),
		.host = strndup((const char *)p->header.hostname, sizeof(p->header.hostname))};
	uint32_t i = 1;

	if (!new.name || !new.domain || !new.host) {
		f->failed = true;
		goto out;
	}
	new.number = number_of(f, p, &new);
	while (i < f->device_count && !is_device(&f->devices[i], &new))
		i++;
	if (i < f->device_count)
		goto out;
	i = 0;
	if (f->device_count == DEVICES_MOST)
		goto out;
	if (!vec_reserve(&f->devices, &f->device_room, f->device_count, 1)) {
		f->failed = true;
		goto out;
	}
	f->devices[f->device_count] = new;
	return f->device_count++;
out:
	free(new.name);
	free(new.domain);
	free(new.host);
	return i < f->device_count ? i : 0;
}

uint32_t follow_memory(struct follow *f, uint32_t device, uint32_t kind)
{
	for (uint32_t i = 0; i < f->memory_count; i++)
		if (f->memory[i].device == device && f->memory[i].kind == kind)
			return i + 1;
	if (!vec_reserve(&f->memory, &f->memory_room, f->memory_count, 1)) {
		f->failed = true;
		return 0;
	}
	f->memory[f->memory_count] = (struct follow_memory){.device = device, .kind = kind};
	return ++f->memory_count;
}
