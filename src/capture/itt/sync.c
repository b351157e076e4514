/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ITT synchronisation: waiting for an object of the program's own is a range of category "acquire",
 * releasing it a mark; and the program's own allocators, whose memory is recorded as any other.
 */
#include <stdio.h>
#include <stdlib.h>

#include "capture/itt/itt.h"
#include "core/marker/marker.h"

static kymo_string_t itt = KYMO_STRING("itt");

/*
 * ---- names by address: the latest 4,096, in the order of a hash ----
 * Not base/map.h: read without a lock, and nobody says when an address means nothing any more.
 */

#define NAMES 4096u
static struct {
	void *_Atomic address;
	kymo_string_t *_Atomic name;
} names[NAMES];

static unsigned slot(const void *address)
{
	return (unsigned)(((uintptr_t)address * 0x9e3779b97f4a7c15ull) >> 52) % NAMES;
}

static void set_name(void *address, kymo_string_t *name)
{
	unsigned i = slot(address);

	if (!address)
		return;
	atomic_store(&names[i].name, name);
	atomic_store(&names[i].address, address);
}

static kymo_string_t *name_of(const void *address)
{
	unsigned i = slot(address);
	kymo_string_t *name = atomic_load(&names[i].name);

	return atomic_load(&names[i].address) == address && name
		       ? name
		       : annotation_string("synchronisation");
}

/* The name of the object, or what kind of object it is. */
static void create(void *address, const char *type, const char *name, int attribute)
{
	set_name(address, annotation_string(name && *name ? name : type));
}

static void rename_(void *address, const char *name)
{
	set_name(address, annotation_string(name));
}

static void destroy(void *address)
{
	if (atomic_load(&names[slot(address)].address) == address)
		atomic_store(&names[slot(address)].address, NULL);
}

static int name_legacy(void *address, const char *type, int type_length, const char *name,
		       int name_length, int attribute)
{
	char text[KYMO_STRING_MAX];

	if (!name || name_length < 0)
		return -1;
	snprintf(text, sizeof(text), "%.*s", name_length, name);
	set_name(address, annotation_string(text));
	return 0;
}

/* ---- waits ---- */

static kymo_marker_t marker(const void *address, const char *category)
{
	return (kymo_marker_t){.size = sizeof(kymo_marker_t),
			       .string = name_of(address),
			       .domain = &itt,
			       .category = annotation_string(category)};
}

static void begin_acquire(void *address)
{
	kymo_marker_t m = marker(address, "acquire");

	if (address)
		annotation_wait_start(address, &m);
}

static void acquired(void *address)
{
	annotation_wait_stop(address);
}

static void cancel(void *address)
{
	kymo_marker_t m = marker(address, "not acquired");

	if (!address)
		return;
	annotation_wait_stop(address);
	kymo_mark_full(&m);
}

static void releasing(void *address)
{
	kymo_marker_t m = marker(address, "release");

	if (address)
		kymo_mark_full(&m);
}

/* ---- allocators ---- */

static void *heap_create(const char *name, const char *domain)
{
	marker_begin(0); /* allocations are recorded by core, which nobody may have started yet */
	return annotation_string(name ? name : "");
}

static void allocate_begin(void *heap, size_t size, int initialized)
{
}

static void allocate_end(void *heap, void **address, size_t size, int initialized)
{
	if (address)
		annotation_allocated(*address, size);
}

static void free_begin(void *heap, void *address)
{
	annotation_freed(address);
}

static void free_end(void *heap, void *address)
{
}

static void reallocate_begin(void *heap, void *address, size_t size, int initialized)
{
	annotation_freed(address);
}

static void reallocate_end(void *heap, void *address, void **now, size_t size, int initialized)
{
	if (now)
		annotation_allocated(*now, size);
}

void itt_sync_functions(itt_tell *tell, void *data)
{
	ITT_FUNCTION("sync_create", create);
	ITT_FUNCTION("sync_set_name", create);
	ITT_FUNCTION("notify_sync_name", name_legacy);
	ITT_FUNCTION("sync_rename", rename_);
	ITT_FUNCTION("sync_destroy", destroy);
	ITT_FUNCTION("sync_prepare", begin_acquire);
	ITT_FUNCTION("sync_acquired", acquired);
	ITT_FUNCTION("sync_cancel", cancel);
	ITT_FUNCTION("sync_releasing", releasing);
	ITT_FUNCTION("fsync_prepare", begin_acquire);
	ITT_FUNCTION("fsync_acquired", acquired);
	ITT_FUNCTION("fsync_cancel", cancel);
	ITT_FUNCTION("fsync_releasing", releasing);
	ITT_FUNCTION("notify_sync_prepare", begin_acquire);
	ITT_FUNCTION("notify_sync_acquired", acquired);
	ITT_FUNCTION("notify_sync_cancel", cancel);
	ITT_FUNCTION("notify_sync_releasing", releasing);
	ITT_FUNCTION("heap_function_create", heap_create);
	ITT_FUNCTION("heap_allocate_begin", allocate_begin);
	ITT_FUNCTION("heap_allocate_end", allocate_end);
	ITT_FUNCTION("heap_free_begin", free_begin);
	ITT_FUNCTION("heap_free_end", free_end);
	ITT_FUNCTION("heap_reallocate_begin", reallocate_begin);
	ITT_FUNCTION("heap_reallocate_end", reallocate_end);
}
