/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of functions known only at run time: any runtime may hand one over, and each of its
 * entries is replaced by a thunk. One wrapper in assembly serves all described functions: it finds
 * the arguments where the calling convention puts them. What is not described runs and is counted.
 *
 * The wrapper makes an ordinary stack frame with unwind information and calls the function from
 * it, copying the arguments that lie on the stack. Exceptions, longjmp, unwinders and shadow stacks
 * see nothing unusual: no return address is ever replaced. That is why a function whose arguments
 * are unknown (how many lie on the stack?) is only counted, by a jump that touches nothing.
 */
#ifndef CORE_TABLE_TABLE_H
#define CORE_TABLE_TABLE_H

#include <kymo/register.h>

#include "core/capture.h"
#include "wire/place.h"

#define TABLE_SLOTS 8192u /* entries of all tables at one time */

/* ---- what a function looks like ---- */

/* One argument as it is passed. */
struct table_arg {
	uint8_t bytes;
	uint8_t fields; /* consecutive fields that it consists of; 0: passed, not recorded */
};

/* Where a field's value is found. */
enum table_place {
	TABLE_GP, /* general register */
	TABLE_FP, /* vector register */
	TABLE_STACK,
	TABLE_RESULT,
	TABLE_FP_RESULT
};

struct table_field {
	/* Where it is in the wrapper's frame, for what lies there itself: all that records of most calls look at. */
	struct wire_place in;
	uint8_t place;  /* enum table_place */
	uint8_t index;  /* of the register, or word on the stack */
	uint8_t offset; /* bytes from there */
	uint8_t kind;   /* kymo_kind_t */
	uint8_t size;
	bool indirect; /* what is found there is a pointer, `offset` counts from where it points */
	bool deref;    /* the value is where the one found points to; null: there is none */
	bool out;      /* valid after a call that succeeded */
	bool after;    /* known only after the call */
	uint16_t behind; /* with `deref`: bytes from where the pointer points */
};

struct table_call;

struct table_op {
	bool described; /* else only counted */
	bool status;    /* the function returns its status */
	int32_t status_ok;
	uint16_t field_count;
	uint16_t stack_words; /* of arguments on the stack */
	struct table_field *fields;
	void (*after)(const struct table_call *call); /* or NULL */
};

/*
 * Lays out a described op: op->field_count entries at op->fields are filled. `args` may be NULL: each
 * field that is an argument is one. False: not such as can be passed.
 */
bool table_layout(const kymo_op_desc_t *desc, const struct table_arg *args, unsigned arg_count,
		  struct table_op *op);

/* ---- tables ---- */

struct table_after {
	const char *op;
	void (*run)(const struct table_call *call);
};

struct table_args {
	uint16_t first; /* in the model's `arg_rows` */
	uint8_t count;  /* 0: as the fields say */
};

/* One of the tables of a known runtime: its functions are ops of the domain from `first` on. */
struct table_piece {
	const char *name;
	uint32_t first;
	uint32_t count;
};

/* What is known of a runtime. */
struct table_model {
	const kymo_domain_desc_t *desc; /* NULL: of `packed`, when table_describe() was called */
	const struct packed *packed;
	const struct table_args *args; /* for each op, or NULL */
	const struct table_arg *arg_rows;
	/*
	 * For each op, or NULL: where in `behind_rows` it says for each of its fields where the value
	 * lies behind the pointer; 0: of none. So are members described of a structure that a pointer
	 * leads to.
	 */
	const uint16_t *behind;
	const uint16_t *behind_rows;
	const struct table_after *after; /* ended by a null op, or NULL */
	bool keep_after; /* ops with `after` are wrapped whatever tools want of them */
	bool (*needed)(const char *op);   /* as long as this says so; asked when that may change */
	void (*flush)(uint64_t deadline); /* collects device work, at _exit() too; or NULL */
	bool borrowed;                    /* set by table_take(): it must stay as it is, for ever */
};

/* A piece of a table: entries from `first_op` of the domain on; those beyond `known` are unknown. */
struct table_part {
	const char *name; /* of the table, for notes; static */
	void **entries;
	uint32_t count;
	uint32_t first_op;
	uint32_t known;
	uint32_t instance; /* of the runtime */
	uint64_t version;  /* as it says itself */
};

/*
 * Wraps the entries of `parts` in place. Entries that are wrapped already stay as they are. On
 * failure nothing is changed. `token` identifies the table for table_return(). Thread-safe; no lock
 * is held while tools are called.
 */
kymo_status_t table_take(struct table_model *model, const struct table_part *parts,
			 unsigned part_count, uint64_t *token);

/* Puts the entries back. None may be running. */
void table_return(uint64_t token);

/* The model's description, which it has from then on. Any thread. NULL: there is no memory. */
const kymo_domain_desc_t *table_describe(struct table_model *model);

/* A copy of what a library told of itself, which outlives the library. NULL: not valid. */
struct table_model *table_model_copy(const kymo_domain_desc_t *desc);
/* Describes a table by its number of entries: "entry0", ... */
struct table_model *table_model_unknown(const char *name, uint32_t entries);
void table_model_free(struct table_model *model);

/* ---- shared with the assembly ---- */

struct table_domain;

/* A part that was taken. */
struct table_given {
	struct table_domain *domain;
	uint64_t token;
	const char *name;
	void **place;       /* its first entry */
	uint64_t intercept; /* its number in the intercept service, 0: none */
	struct table_given *next;
};

/* Each thunk jumps to its slot's target and leaves the slot's address in a scratch register. */
struct table_slot {
	void *_Atomic target;
	void *next;             /* the function; NULL: the slot is free */
	_Atomic uint64_t calls; /* while only counted, since they were last reported */
	uint32_t stack_words;
	uint32_t entry;            /* index in its part */
	const struct table_op *op; /* NULL: beyond what is known */
	struct cap_op *cap;        /* likewise */
	void **place;
	struct table_given *given;
};

#if defined(__x86_64__)
#define TABLE_GP_COUNT   6
#define TABLE_THUNK_SIZE 16
#define TABLE_STACK_AT   336
#elif defined(__aarch64__)
#define TABLE_GP_COUNT   8
#define TABLE_THUNK_SIZE 32
#define TABLE_STACK_AT   352
#else
#define TABLE_GP_COUNT   0 /* tables are not wrapped here: ERROR_UNSUPPORTED */
#define TABLE_THUNK_SIZE 0
#define TABLE_STACK_AT   0
#endif
#define TABLE_FP_COUNT 8

/*
 * The wrapper's frame: registers as they were at entry, then as the function left them. Arguments on the stack lie
 * TABLE_STACK_AT bytes above it, what the wrapper itself needs between the two.
 */
struct table_call {
	uint64_t gp[TABLE_GP_COUNT];
	uint64_t fp[TABLE_FP_COUNT][2];
	uint64_t scratch[2];
	const uint64_t *stack;
	const void *caller;
	uint64_t result[2];
	uint64_t fp_result[4][2];
	struct cap_frame *frame; /* NULL: not traced */
	struct table_slot *slot;
};

extern struct table_slot table_slots[TABLE_SLOTS];
extern const char table_thunks[];  /* TABLE_SLOTS of TABLE_THUNK_SIZE bytes */
extern const char table_counted[]; /* targets */
extern const char table_traced[];

/* Called by the wrapper. */
void table_enter(struct table_call *call);
void table_leave(struct table_call *call);

void table_encode(const struct table_op *op, const void *args, bool ok, struct wire_enc *e);

/* The value of a field, extended to 64 bits; false: there is none. */
bool table_value(const struct table_call *call, const struct table_field *field, bool ok,
		 uint64_t *value);

#endif
