/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls of HIP and HSA do on devices: rules that say where a call's arguments hold what, the
 * objects that calls name, and the records of the vendor-neutral domains. Everything is learnt from
 * calls that go by; the runtimes are never asked.
 *
 * A table tells what was submitted, not when the device did it: all device work is recorded with
 * UNTIMED_NO_TIMER.
 */
#ifndef CAPTURE_ROCM_WORK_H
#define CAPTURE_ROCM_WORK_H

#include "capture/rocm/models.h"
#include "core/activity/activity.h"
#include "core/activity/memory.h"

/* ---- rules ---- */

/* What an argument means for the rule's function. */
enum rocm_role {
	ROCM_ADDRESS, /* of memory, or the destination */
	ROCM_SOURCE,
	ROCM_BYTES, /* times rows, times slices, times the rule's unit */
	ROCM_ROWS,
	ROCM_SLICES,
	ROCM_STREAM,
	ROCM_KIND, /* direction of a copy, attribute of a query */
	ROCM_DEVICE,
	ROCM_SOURCE_DEVICE,
	ROCM_OBJECT, /* kernel, event, module, queue */
	ROCM_NAME,
	ROCM_GRID,  /* first of three */
	ROCM_BLOCK, /* first of three */
	ROCM_SHARED,
	ROCM_ROLES
};

enum {
	ROCM_WAITS = 1,         /* the call returns when the work is done */
	ROCM_THREAD_STREAM = 2, /* stream 0 is the thread's own */
	ROCM_ITEMS = 4,         /* the grid counts work items, not blocks */
	ROCM_FAILED = 8,        /* also of a call that fails */
};

struct rocm_rule;

struct rocm_call {
	const struct table_call *table;
	const struct rocm_rule *rule;
	const struct cap_frame *frame;
};

struct rocm_traits {
	uint32_t activities; /* what the rule is needed for; 0: objects, always */
	uint8_t unit;        /* bytes of an element; 0: 1 */
	uint8_t detail;      /* the function's own */
	uint8_t what;        /* likewise */
	uint8_t flags;
};

struct rocm_rule {
	const char *op;
	void (*run)(const struct rocm_call *c);
	struct rocm_traits traits;
	const char *names[ROCM_ROLES]; /* of the fields; a dimension by its first */
	int8_t fields[ROCM_ROLES];     /* found by rocm_rules_apply() */
};

struct rocm_rules {
	struct rocm_rule *rules;
	struct table_after *after;      /* one more than there can be rules */
	const struct rocm_rule **by_op; /* of the model */
	uint32_t count, room;
};

/* Rules are added when the runtime is there: a table of them would be relocated in every process. */
#define ROCM_RULES(name, most, ops)                                                                \
	static struct rocm_rule name##_rules[most];                                                \
	static struct table_after name##_after[(most) + 1];                                        \
	static const struct rocm_rule *name##_by_op[ops];                                          \
	static struct rocm_rules name = {name##_rules, name##_after, name##_by_op, 0, most}

/* Adds a rule. The names follow, each after its role, and ROCM_ROLES. */
void rocm_rule_add(struct rocm_rules *r, const char *op, void (*run)(const struct rocm_call *c),
		   struct rocm_traits traits, ...);

/*
 * Makes the rules those of the model, once. `after` is what core is to call: it calls rocm_run().
 * False: a rule names what the model does not have, it is then left out; or there is no room for all.
 */
bool rocm_rules_apply(const struct rocm_rules *r, struct table_model *m,
		      void (*after)(const struct table_call *call));

/* Runs the rule of a call that succeeded, or of any with ROCM_FAILED. */
void rocm_run(const struct rocm_rules *r, const struct table_call *call);

/* Whether a rule of an op is needed by somebody now. */
bool rocm_rule_needed(const struct rocm_rules *r, const char *op);

/* An argument, or a word of its three, or 0. */
uint64_t rocm_word(const struct rocm_call *c, enum rocm_role role, unsigned i);
static inline uint64_t rocm_argument(const struct rocm_call *c, enum rocm_role role)
{
	return rocm_word(c, role, 0);
}
bool rocm_has(const struct rocm_call *c, enum rocm_role role);
/* Bytes times rows times slices times unit. */
uint64_t rocm_bytes(const struct rocm_call *c);
const void *rocm_pointer(uint64_t value);

/* ---- memory ---- */

/* Keeps and records what `f` allocated. */
void rocm_allocated(const struct cap_frame *f, struct cap_memory m);
/* Records the end of what begins there, if it was there before the call began. */
void rocm_freed(const struct cap_frame *f, uint64_t address);
/* What an address belongs to; id 0: the program's own. */
struct cap_memory rocm_memory_of(uint64_t address);

void rocm_memory_prepare(void);

/* ---- objects ---- */

enum rocm_type { /* handles of different types may be equal */
		 ROCM_QUEUE,
		 ROCM_KERNEL,
		 ROCM_PROGRAM,
		 ROCM_CONTEXT,
		 ROCM_EVENT,
		 ROCM_HSA_AGENT,
		 ROCM_HSA_QUEUE,
		 ROCM_HSA_POOL,
		 ROCM_HSA_PROGRAM,
		 ROCM_HSA_SYMBOL
};

struct rocm_object {
	uint64_t handle;
	uint32_t type, extra; /* enum rocm_type; what else tells it apart */
	uint32_t id;          /* of its definition, or 0 */
	uint32_t agent;       /* id, or a device's number */
	uint32_t owner;       /* id of the program it is part of */
	uint64_t state;       /* the type's own */
};

/* False: not known. */
bool rocm_find(enum rocm_type type, uint64_t handle, uint32_t extra, struct rocm_object *out);
/*
 * Keeps `o`. With `replace` it takes the place of one of the same handle, else that stays and is
 * given back in `o`. True: `o` is kept, and the one it replaced is in `old` (type and id 0: none).
 */
bool rocm_keep(struct rocm_object *o, bool replace, struct rocm_object *old);
bool rocm_forget(enum rocm_type type, uint64_t handle, uint32_t extra, struct rocm_object *out);
/* Calls back for a copy of each object of the type, without locks. */
void rocm_each(enum rocm_type type, void (*run)(const struct rocm_object *o, void *data),
	       void *data);

void rocm_objects_prepare(void);

/* ---- definitions ---- */

/* Agents are defined when first referred to, with what is known by then. */
struct rocm_agent {
	const char *domain;
	uint64_t handle;
	int64_t ordinal;
	char name[128];
	char vendor[32];
	uint8_t type; /* kymo_agent_type_t, 0: not told */
	bool pci;
	uint32_t pci_domain;
	uint8_t pci_bus, pci_device, pci_function;
	uint64_t memory;
	uint32_t compute_units;
	_Atomic uint32_t id;
	_Atomic bool defined;
};

uint32_t rocm_agent_id(struct rocm_agent *a);
/* More was learnt. */
void rocm_agent_report(const struct rocm_agent *a);

uint32_t rocm_define_queue(const char *domain, uint64_t handle, uint32_t agent, const char *name);
uint32_t rocm_define_kernel(const char *domain, uint64_t handle, const char *name,
			    uint32_t program);
uint32_t rocm_define_program(const char *domain, uint64_t handle, const char *kind);
/* The program and the kernels of a type that are part of it are gone. */
void rocm_program_end(uint32_t program, enum rocm_type kernels);

/* ---- records ---- */

struct rocm_copy {
	unsigned op;
	uint32_t queue, source_agent, destination_agent;
	uint8_t source_kind, destination_kind;
	uint64_t source, destination; /* ids of allocations */
	uint64_t bytes;
	bool blocking;
};

struct rocm_launch {
	uint32_t agent, queue, kernel;
	uint64_t global[3], local[3];
	uint64_t shared, graph;
};

void rocm_record_copy(const struct cap_frame *f, const struct rocm_copy *c);
void rocm_record_launch(const struct cap_frame *f, const struct rocm_launch *l);

/* ---- the runtimes ---- */

/* Before tables are taken: rules, hooks. Any number of times. */
void rocm_hip_prepare(void);
void rocm_hsa_prepare(void);
/* HIP's own table was taken; `table` lies in its library. */
void rocm_hip_taken(const struct table_part *p, const void *table);
/* HSA is used by HIP here: what it does is HIP's, and recorded as that. */
bool rocm_inside_hip(const struct table_call *call);

#endif
