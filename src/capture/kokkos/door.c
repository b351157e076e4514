/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kokkos Tools: Kokkos loads the library that KOKKOS_TOOLS_LIBS names (older: KOKKOS_PROFILE_LIBRARY)
 * and calls what it finds there by these names. Kernels, fences, deep copies and regions become ranges
 * of domain "kokkos", named as the program named them; memory of the host becomes allocations, copies
 * within it copies. What is in memory of devices their own runtime's backend tells.
 *
 * Names and signatures are those of Kokkos_Profiling_C_Interface.h.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <kymo/tool.h>

#include "core/annotation/map.h"
#include "core/annotation/string.h"
#include "core/activity/activity.h"
#include "core/capture.h"
#include "core/marker/marker.h"

/* Kokkos_Profiling_SpaceHandle: the name of a memory space, by value. */
struct space {
	char name[64];
};

/* Kokkos_Tools_ToolSettings */
struct settings {
	bool requires_global_fencing;
	bool padding[255];
};

static kymo_string_t domain = KYMO_STRING("kokkos");

/* ---- life ---- */

KYMO_EXPORT void kokkosp_init_library(int sequence, uint64_t version, uint32_t devices,
				      void *device);
KYMO_EXPORT void kokkosp_finalize_library(void);
KYMO_EXPORT void kokkosp_request_tool_settings(uint32_t count, struct settings *settings);
KYMO_EXPORT void kokkosp_parse_args(int argc, char **argv);
KYMO_EXPORT void kokkosp_print_help(char *program);

/* Allocations are recorded by core, which nobody may have started yet. `device` may be NULL. */
void kokkosp_init_library(int sequence, uint64_t version, uint32_t devices, void *device)
{
	marker_begin(0);
}

void kokkosp_finalize_library(void)
{
}

/* Without this answer Kokkos would wait for every kernel, and nothing would overlap any more. */
void kokkosp_request_tool_settings(uint32_t count, struct settings *settings)
{
	if (count > 0 && settings)
		settings->requires_global_fencing = false;
}

void kokkosp_parse_args(int argc, char **argv)
{
}

void kokkosp_print_help(char *program)
{
}

/* ---- ranges ---- */

static void push(const char *name, kymo_string_t *category, const kymo_payload_t *payload,
		 uint32_t count)
{
	kymo_marker_t m = {.size = sizeof(m),
			   .name = name,
			   .domain = &domain,
			   .category = category,
			   .payload = payload,
			   .payload_count = count};

	kymo_range_push_full(&m);
}

static void pop(void)
{
	kymo_range_pop_domain(&domain);
}

static void mark(const char *name, const char *category, const kymo_payload_t *payload,
		 uint32_t count)
{
	kymo_marker_t m = {.size = sizeof(m),
			   .name = name,
			   .domain = &domain,
			   .payload = payload,
			   .payload_count = count};

	m.category = annotation_string(category);
	kymo_mark_full(&m);
}

static void begin(const char *name, kymo_string_t *category, uint32_t device, uint64_t *id)
{
	static _Atomic uint64_t last;
	kymo_payload_t p = kymo_uint64("device", device);

	if (id)
		*id = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	push(name, category, &p, 1);
}

/* BEGIN_END(what): kokkosp_begin_WHAT() and kokkosp_end_WHAT() of kernels and fences. */
#define BEGIN_END(what)                                                                            \
	KYMO_EXPORT void kokkosp_begin_##what(const char *name, uint32_t device, uint64_t *id);    \
	KYMO_EXPORT void kokkosp_end_##what(uint64_t id);                                          \
	void kokkosp_begin_##what(const char *name, uint32_t device, uint64_t *id)                 \
	{                                                                                          \
		static kymo_string_t category = KYMO_STRING(#what);                                \
                                                                                                   \
		begin(name, &category, device, id);                                                \
	}                                                                                          \
	void kokkosp_end_##what(uint64_t id)                                                       \
	{                                                                                          \
		pop();                                                                             \
	}

BEGIN_END(parallel_for)
BEGIN_END(parallel_reduce)
BEGIN_END(parallel_scan)
BEGIN_END(fence)

KYMO_EXPORT void kokkosp_push_profile_region(const char *name);
KYMO_EXPORT void kokkosp_pop_profile_region(void);
KYMO_EXPORT void kokkosp_profile_event(const char *name);
KYMO_EXPORT void kokkosp_declare_metadata(const char *key, const char *value);

void kokkosp_push_profile_region(const char *name)
{
	static kymo_string_t category = KYMO_STRING("region");

	push(name, &category, NULL, 0);
}

void kokkosp_pop_profile_region(void)
{
	pop();
}

void kokkosp_profile_event(const char *name)
{
	mark(name, "event", NULL, 0);
}

void kokkosp_declare_metadata(const char *key, const char *value)
{
	kymo_payload_t p = kymo_text("value", value);

	mark(key, "metadata", &p, 1);
}

/* ---- sections: ranges that are started and stopped by number, in any order ---- */

#define SECTIONS 4096u
static struct {
	kymo_string_t *_Atomic name;
	_Atomic uint64_t range; /* 0: not running */
} sections[SECTIONS];

KYMO_EXPORT void kokkosp_create_profile_section(const char *name, uint32_t *id);
KYMO_EXPORT void kokkosp_start_profile_section(uint32_t id);
KYMO_EXPORT void kokkosp_stop_profile_section(uint32_t id);
KYMO_EXPORT void kokkosp_destroy_profile_section(uint32_t id);

/* Numbers are used again after the first 4,095. */
void kokkosp_create_profile_section(const char *name, uint32_t *id)
{
	static _Atomic uint32_t last;

	if (!id)
		return;
	*id = atomic_fetch_add(&last, 1) % (SECTIONS - 1) + 1;
	atomic_store(&sections[*id].name, annotation_string(name));
}

void kokkosp_start_profile_section(uint32_t id)
{
	kymo_marker_t m = {.size = sizeof(m), .domain = &domain};

	if (id == 0 || id >= SECTIONS)
		return;
	m.string = atomic_load(&sections[id].name);
	m.category = annotation_string("section");
	atomic_store(&sections[id].range, kymo_range_start_full(&m));
}

void kokkosp_stop_profile_section(uint32_t id)
{
	if (id > 0 && id < SECTIONS)
		kymo_range_stop(atomic_exchange(&sections[id].range, 0));
}

void kokkosp_destroy_profile_section(uint32_t id)
{
	kokkosp_stop_profile_section(id);
}

/* ---- memory ---- */

KYMO_EXPORT void kokkosp_allocate_data(struct space space, const char *label, const void *address,
				       uint64_t bytes);
KYMO_EXPORT void kokkosp_deallocate_data(struct space space, const char *label, const void *address,
					 uint64_t bytes);
KYMO_EXPORT void kokkosp_begin_deep_copy(struct space to, const char *to_label,
					 const void *to_address, struct space from,
					 const char *from_label, const void *from_address,
					 uint64_t bytes);
KYMO_EXPORT void kokkosp_end_deep_copy(void);
KYMO_EXPORT void kokkosp_dual_view_sync(const char *label, const void *data, bool device);
KYMO_EXPORT void kokkosp_dual_view_modify(const char *label, const void *data, bool device);

static bool is_host(const struct space *s)
{
	return strncmp(s->name, "Host", sizeof(s->name)) == 0;
}

static kymo_payload_t space_value(const char *key, const struct space *s)
{
	kymo_payload_t p = kymo_text(key, s->name);

	p.length = strnlen(s->name, sizeof(s->name));
	return p;
}

/* The label is worth a mark of its own: allocations have no names. */
static void say_memory(const char *what, const struct space *s, const char *label,
		       const void *address, uint64_t bytes)
{
	kymo_payload_t p[] = {space_value("space", s), kymo_uint64("bytes", bytes),
			      kymo_uint64("address", (uintptr_t)address)};

	mark(label, what, p, 3);
}

void kokkosp_allocate_data(struct space space, const char *label, const void *address,
			   uint64_t bytes)
{
	say_memory("allocate", &space, label, address, bytes);
	if (is_host(&space))
		annotation_allocated(address, bytes);
}

void kokkosp_deallocate_data(struct space space, const char *label, const void *address,
			     uint64_t bytes)
{
	say_memory("free", &space, label, address, bytes);
	if (is_host(&space))
		annotation_freed(address);
}

/* A copy within the host's memory: nobody else would tell of it. It has no device, so no device time. */
static void record_copy(uint64_t bytes)
{
	uint64_t now = tick_now();
	struct cap_frame f;
	struct wire_enc e;

	if (!cap_activity_begin(&f, &e, &core_copy_ops[COPY_OP_COPY], NULL, now, now, COPY_FIELDS))
		return;
	wire_unsigned(&e, COPY_CORRELATION, cap_current_id());
	wire_unsigned(&e, COPY_BYTES, bytes);
	wire_unsigned(&e, COPY_SOURCE_KIND, MEMORY_HOST_PAGEABLE);
	wire_unsigned(&e, COPY_DESTINATION_KIND, MEMORY_HOST_PAGEABLE);
	wire_unsigned(&e, COPY_BLOCKING, 1);
	wire_unsigned(&e, COPY_UNTIMED, UNTIMED_NOT_REPORTED);
	wire_unsigned(&e, COPY_SUBMIT_TICK, now);
	cap_activity_commit(&f, &e);
}

void kokkosp_begin_deep_copy(struct space to, const char *to_label, const void *to_address,
			     struct space from, const char *from_label, const void *from_address,
			     uint64_t bytes)
{
	static kymo_string_t category = KYMO_STRING("deep_copy");
	kymo_payload_t p[] = {space_value("from_space", &from), kymo_text("from", from_label),
			      space_value("to_space", &to), kymo_text("to", to_label),
			      kymo_uint64("bytes", bytes)};

	push("deep_copy", &category, p, 5);
	if (is_host(&to) && is_host(&from))
		record_copy(bytes);
}

void kokkosp_end_deep_copy(void)
{
	pop();
}

static void say_view(const char *what, const char *label, bool device)
{
	kymo_payload_t p = kymo_text("where", device ? "device" : "host");

	mark(label, what, &p, 1);
}

void kokkosp_dual_view_sync(const char *label, const void *data, bool device)
{
	say_view("dual view sync", label, device);
}

void kokkosp_dual_view_modify(const char *label, const void *data, bool device)
{
	say_view("dual view modify", label, device);
}
