/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the times that threads were without a processor: domain "off_cpu". */
#include <string.h>

#include "core/publish/publish.h"
#include "core/sample/host.h"
#include "core/sample/sample.h"

enum {
	FIELD_CPU_BEFORE,
	FIELD_CPU_AFTER,
	FIELD_CALL,
	FIELD_PATH,
	FIELD_OBJECT,
	FIELD_PC,
	FIELD_STACK,
	FIELDS,
	/* of times that nobody looked at */
	FIELD_SHORT_STACK = 2,
	SHORT_FIELDS
};

static const kymo_field_t fields[FIELDS] = {
	[FIELD_CPU_BEFORE] = {"cpu_before", "u32", NULL, KYMO_KIND_UNSIGNED, 0, 4, 0},
	[FIELD_CPU_AFTER] = {"cpu_after", "u32", NULL, KYMO_KIND_UNSIGNED, 0, 4, 0},
	[FIELD_CALL] = {"system_call", "string", NULL, KYMO_KIND_STRING, 0, 1, 0},
	[FIELD_PATH] = {"path", "string", NULL, KYMO_KIND_STRING, 0, 1, 0},
	[FIELD_OBJECT] = {"object", "pointer", NULL, KYMO_KIND_POINTER, 0, 8, 0},
	[FIELD_PC] = {"pc", "pointer", NULL, KYMO_KIND_POINTER, 0, 8, 0},
	[FIELD_STACK] = {"stack", "stack", NULL, KYMO_KIND_REF, 0, 4, 0},
};

static const kymo_field_t short_fields[SHORT_FIELDS] = {
	[FIELD_CPU_BEFORE] = {"cpu_before", "u32", NULL, KYMO_KIND_UNSIGNED, 0, 4, 0},
	[FIELD_CPU_AFTER] = {"cpu_after", "u32", NULL, KYMO_KIND_UNSIGNED, 0, 4, 0},
	[FIELD_SHORT_STACK] = {"stack", "stack", NULL, KYMO_KIND_REF, 0, 4, 0},
};

#define OP_OF(kind, name, fields, count)                                                           \
	[CAP_OFF_CPU_##kind] = {name, fields, count, KYMO_OP_MINIMAL | KYMO_OP_STATE, NULL, 0}
#define OP(kind, name)       OP_OF(kind, name, fields, FIELDS)
#define OP_SHORT(kind, name) OP_OF(kind, name, short_fields, SHORT_FIELDS)

static const kymo_op_desc_t ops[CAP_OFF_CPU_OPS] = {
	OP_SHORT(PREEMPTED, "preempted"),
	OP_SHORT(WAIT, "wait"),
	OP(LOCK, "wait_lock"),
	OP(SLEEP, "sleep"),
	OP(POLL, "wait_descriptors"),
	OP(IO, "wait_file"),
	OP(NETWORK, "wait_socket"),
	OP(CHILD, "wait_process"),
	OP(FAULT, "wait_page"),
	OP(OTHER, "wait_system_call"),
};

static const kymo_domain_desc_t desc = {sizeof(desc),    "off_cpu", "Without a processor", 1,
					CAP_OFF_CPU_OPS, ops};
CAP_KNOWN_DOMAIN(off_cpu, &desc);

static kymo_published_domain_t domain;
/* Who gets records, by op: those who still are to get what was over before they stopped, too. */
static _Atomic uint64_t buffers[CAP_OFF_CPU_OPS];

void sample_off_cpu_look(uint64_t contexts)
{
	for (unsigned i = 0; domain.handle && i < CAP_OFF_CPU_OPS; i++)
		atomic_store(&buffers[i],
			     atomic_load(&core_published_op(domain, i)->buffers) & contexts);
}

kymo_status_t sample_off_cpu_ready(void)
{
	return domain.handle ? KYMO_OK : kymo_domain_publish(&desc, &domain);
}

static void put_text(kymo_value_t *v, const char *text)
{
	*v = (kymo_value_t){.size = sizeof(*v),
			    .present = text[0] != '\0',
			    .data = text,
			    .count = (uint32_t)strlen(text)};
}

static void put_number(kymo_value_t *v, uint64_t number, bool present)
{
	*v = (kymo_value_t){.size = sizeof(*v), .present = present, .u = number};
}

void cap_off_cpu(const struct cap_off_cpu_time *t)
{
	uint64_t to = atomic_load(&buffers[t->kind]);
	uint32_t thread = to ? sample_thread_index(t->tid) : 0;
	kymo_value_t values[FIELDS];
	kymo_publication_t p = {.size = sizeof(p),
				.start = t->start,
				.end = t->end,
				.values = values,
				.value_count = t->call ? FIELDS : SHORT_FIELDS};

	if (!thread)
		return;
	put_number(&values[FIELD_CPU_BEFORE], t->cpu_before, true);
	put_number(&values[FIELD_CPU_AFTER], t->cpu_after, true);
	put_number(&values[t->call ? FIELD_STACK : FIELD_SHORT_STACK], t->stack, t->stack != 0);
	if (t->call) {
		put_text(&values[FIELD_CALL], t->call);
		put_text(&values[FIELD_PATH], t->path);
		put_number(&values[FIELD_OBJECT], t->object, t->object != 0);
		put_number(&values[FIELD_PC], t->pc, true);
	}
	core_publish_on(domain, t->kind, to, &p, thread);
}
