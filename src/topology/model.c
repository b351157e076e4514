/* SPDX-License-Identifier: Apache-2.0 */
/* A machine being put together: memory, agents and their parts, descriptions for the outside. */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "topology/model.h"

#define BLOCK_BYTES 16384u
#define TEXT_MAX    1024u

/* ---- memory ---- */

struct topo_block {
	struct topo_block *next;
	size_t used, room;
	_Alignas(16) unsigned char data[];
};

void *topo_alloc(struct topo *t, size_t bytes)
{
	struct topo_block *b = t->blocks;
	void *p;

	bytes = (bytes + 15) & ~(size_t)15;
	if (!b || b->room - b->used < bytes) {
		size_t room = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;

		b = calloc(1, sizeof(*b) + room);
		if (!b) {
			t->no_memory = true;
			return NULL;
		}
		b->room = room;
		b->next = t->blocks;
		t->blocks = b;
	}
	p = b->data + b->used;
	b->used += bytes;
	return p;
}

void topo_free(struct topo *t)
{
	struct topo_block *next;

	if (!t)
		return;
	for (struct topo_block *b = t->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	free(t);
}

const char *topo_text(struct topo *t, const char *s)
{
	size_t n = 0;
	char *copy;

	if (!s)
		return NULL;
	while (*s && (isspace((unsigned char)*s) || iscntrl((unsigned char)*s)))
		s++;
	copy = topo_alloc(t, strnlen(s, TEXT_MAX) + 1);
	if (!copy)
		return NULL;
	for (; *s && n < TEXT_MAX; s++)
		if (!iscntrl((unsigned char)*s))
			copy[n++] = *s;
	while (n && copy[n - 1] == ' ')
		n--;
	copy[n] = '\0';
	return n ? copy : NULL;
}

const char *topo_format(struct topo *t, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return topo_text(t, text);
}

/* ---- agents ---- */

struct topo_agent *topo_agent_new(struct topo *t, kymo_agent_type_t type)
{
	uint32_t n = atomic_load_explicit(&t->count, memory_order_relaxed);
	struct topo_agent *a;

	if (n == TOPO_AGENTS) {
		t->lost++;
		return NULL;
	}
	a = topo_alloc(t, sizeof(*a));
	if (!a)
		return NULL;
	a->a.size = sizeof(a->a);
	a->a.id = n + 1;
	a->a.type = type;
	a->a.numa_node = -1;
	a->kfd_node = -1;
	t->agents[n] = a;
	/* Readers skip what has no description yet. */
	atomic_store_explicit(&t->count, n + 1, memory_order_release);
	return a;
}

struct topo_agent *topo_by_id(const struct topo *t, uint32_t id)
{
	uint32_t n = atomic_load_explicit(&t->count, memory_order_acquire);

	return id && id <= n ? t->agents[id - 1] : NULL;
}

struct topo_agent *topo_by_pci(const struct topo *t, uint32_t domain, unsigned bus, unsigned device,
			       unsigned function)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct topo_agent *a = t->agents[i];

		/* A part has its parent's address; the whole comes first. */
		if (a->has_pci && a->pci.domain == domain && a->pci.bus == bus &&
		    a->pci.device == device && a->pci.function == function)
			return a;
	}
	return NULL;
}

static bool has_room(struct topo *t, uint32_t used)
{
	if (used < TOPO_LIST)
		return true;
	t->lost++;
	return false;
}

void topo_property(struct topo *t, struct topo_agent *a, const char *name, const char *format, ...)
{
	char text[TEXT_MAX];
	kymo_agent_property_t *p;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!has_room(t, a->properties))
		return;
	p = topo_alloc(t, sizeof(*p));
	if (!p)
		return;
	p->size = sizeof(*p);
	p->name = topo_text(t, name);
	p->value = topo_text(t, text);
	if (p->name && p->value)
		a->property[a->properties++] = p;
}

void topo_cache(struct topo *t, struct topo_agent *a, const kymo_agent_cache_t *c, uint32_t count)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < a->caches; i++) {
		kymo_agent_cache_t *o = a->cache[i];

		if (o->level == c->level && o->type == c->type && o->bytes == c->bytes &&
		    o->line_bytes == c->line_bytes && o->shared_by == c->shared_by) {
			o->count += count;
			return;
		}
	}
	if (!has_room(t, a->caches))
		return;
	while (at < a->caches &&
	       (a->cache[at]->level < c->level ||
		(a->cache[at]->level == c->level && a->cache[at]->type <= c->type)))
		at++;
	memmove(&a->cache[at + 1], &a->cache[at], (a->caches - at) * sizeof(a->cache[0]));
	a->cache[at] = topo_alloc(t, sizeof(*c));
	if (!a->cache[at]) {
		memmove(&a->cache[at], &a->cache[at + 1], (a->caches - at) * sizeof(a->cache[0]));
		return;
	}
	*a->cache[at] = *c;
	a->cache[at]->size = sizeof(*c);
	a->cache[at]->count = count;
	a->caches++;
}

void topo_numa(struct topo *t, struct topo_agent *a, uint32_t node, uint32_t threads,
	       uint64_t bytes)
{
	kymo_agent_numa_t *n;

	if (!has_room(t, a->numa))
		return;
	n = topo_alloc(t, sizeof(*n));
	if (!n)
		return;
	n->size = sizeof(*n);
	n->node = node;
	n->threads = threads;
	n->memory_bytes = bytes;
	a->node[a->numa++] = n;
	if (a->a.numa_node < 0)
		a->a.numa_node = (int32_t)node;
}

void topo_source_add(struct topo *t, const char *name, kymo_status_t status, const char *format,
		     ...)
{
	kymo_agent_source_t *s;
	char text[TEXT_MAX];
	va_list args;

	if (t->sources == TOPO_SOURCES)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	s = &t->source[t->sources];
	s->size = sizeof(*s);
	s->name = name;
	s->status = status;
	s->text = topo_text(t, text);
	if (s->text)
		t->sources++;
}

void topo_uuid_plain(const char *uuid, char out[65])
{
	size_t n = 0;

	if (uuid && (strncmp(uuid, "GPU-", 4) == 0 || strncmp(uuid, "MIG-", 4) == 0))
		uuid += 4;
	for (; uuid && *uuid && n < 64; uuid++)
		if (isxdigit((unsigned char)*uuid))
			out[n++] = (char)tolower((unsigned char)*uuid);
	out[n] = '\0';
}

/* ---- descriptions ---- */

/* A copy of a list of pointers with NULL at its end. */
static void *list_copy(struct topo *t, const void *list, uint32_t count)
{
	void **copy = topo_alloc(t, (count + 1) * sizeof(void *));

	if (copy)
		memcpy(copy, list, count * sizeof(void *));
	return copy;
}

bool topo_publish(struct topo *t, struct topo_agent *a)
{
	kymo_agent_t *out = topo_alloc(t, sizeof(*out));
	kymo_agent_pci_t *pci = a->has_pci ? topo_alloc(t, sizeof(*pci)) : NULL;

	if (!out || (a->has_pci && !pci))
		return false;
	*out = a->a;
	if (pci) {
		*pci = a->pci;
		pci->size = sizeof(*pci);
	}
	out->pci = pci;
	out->caches = list_copy(t, a->cache, a->caches);
	out->numa = list_copy(t, a->node, a->numa);
	out->handles = list_copy(t, a->handle, a->handles);
	out->properties = list_copy(t, a->property, a->properties);
	if (!out->caches || !out->numa || !out->handles || !out->properties)
		return false;
	atomic_store_explicit(&a->current, out, memory_order_release);
	return true;
}
