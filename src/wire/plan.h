/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan: how functions of files are traced by patching their first bytes in memory. The command line makes it (src/functions), the
 * library in the program carries it out, who reads the trace has the functions' names from it. Little endian, fixed widths, no pointers.
 *
 *	struct plan_header
 *	struct plan_module   modules[]
 *	struct plan_function functions[]  in the order of their modules, by rising address
 *	struct plan_fixup    fixups[]     those of a function together, by rising `at`
 *	struct plan_move     moves[]      those of a function together, by rising `to`
 *	uint8_t              code[]
 *	char                 strings[]    each ends with a zero; the first is ""
 *
 * Each table begins at a multiple of 8 bytes. Addresses are those of the ELF file; in the program the object's load bias
 * (dl_phdr_info.dlpi_addr) is added.
 *
 * A function: the `covered` bytes at `site`, whole instructions, are taken out of use. The first PLAN_JUMP of them become `jmp rel32`
 * to a trampoline; the others stay as they are and are never executed. The trampoline does what it wants, restores all registers
 * and flags, and goes on at a copy of the function's `code`, which does what the covered instructions did and jumps to the rest of
 * the function (or wherever they led). The planner has made sure that nothing else branches to a covered byte but the first.
 *
 *   - `code` is copied to a place from which rel32 reaches every address of the module, then its fixups are applied: `code_bytes` <= PLAN_CODE_MAX.
 *   - A call among the instructions pushes the return address that it had in the original place (PLAN_CALLS), so that unwinders find
 *     what they know; the callee returns into the original function. Not where a shadow stack is in use.
 *   - A thread that was stopped at original address `site + from` may go on at the copy's `to` (plan_move), and one in the copy is, for an
 *     unwinder, at `site + from`: the same registers, the same stack. An instruction that became several has one move, for its first.
 *   - Where `expected` is not what memory has, leave the function alone: somebody else has patched it, or the file is another.
 *
 * In a file that was instrumented (src/functions/instrument.c) all of that is done already, and a plan of PLAN_SLOT functions lies in it,
 * which a note (plan_note) tells of.
 */
#ifndef WIRE_PLAN_H
#define WIRE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_MAGIC   "kymoplan"
#define PLAN_VERSION 1u

enum {
	PLAN_JUMP = 5,         /* bytes of a jmp rel32 */
	PLAN_COVERED_MAX = 24, /* 4 and the longest instruction are 19 */
	PLAN_CODE_MAX = 128,
	PLAN_BUILD_ID = 32 /* bytes kept of a build id; most have 20 */
};

struct plan_table {
	uint64_t at; /* from the beginning of the file */
	uint64_t count;
};

struct plan_header {
	char magic[8];
	uint32_t version;
	uint32_t bytes; /* of this header */
	uint64_t size;  /* of the file */
	struct plan_table modules, functions, fixups, moves, code, strings;
};

/* A file with functions to patch. All of it must be as the object that is mapped has it. */
struct plan_module {
	uint64_t device, inode; /* st_dev, st_ino */
	uint64_t size;          /* of the file */
	uint64_t mtime_ns;
	uint64_t low, high;      /* addresses of its segments: from, to */
	uint64_t first_function; /* index */
	uint64_t functions;      /* how many */
	uint32_t path;           /* string: absolute, links resolved */
	uint32_t build_id_bytes; /* 0: it has none */
	uint8_t build_id[PLAN_BUILD_ID];
};

/* What was found at the site. */
enum plan_how {
	PLAN_CODE = 0, /* instructions of the function; `code` does their work */
	PLAN_NOPS =
		1, /* nothing but nops (-fpatchable-function-entry, -mnop-mcount): `code` is the jump back alone */
	PLAN_XRAY = 2, /* an XRay sled: a jump of two bytes over 9 bytes of nop */
	PLAN_HOOK =
		3, /* the compiler has put a call of a hook there: nothing is patched; no bytes are covered, there is no code */
	PLAN_SLOT =
		4 /* the file was instrumented: `site` is the address of the function's slot, `code` that of its stub; nothing is to be patched */
};

enum plan_flags {
	PLAN_SINGLE = 1, /* one instruction is covered: no thread can be inside */
	PLAN_TWO_STEP =
		2, /* bytes 2 to 4 are not executed: write them first, then the first two at once; `site` is even */
	PLAN_CALLS = 4,   /* ends with a call: see above */
	PLAN_RETURNS = 8, /* the whole function is in `code`: there is no way back into it */
	PLAN_TAIL =
		16, /* leaves by a jump to another function, somewhere: only with PLAN_DECODED */
	PLAN_LOOPS = 32,      /* has a branch backwards: only with PLAN_DECODED */
	PLAN_DECODED = 64,    /* all of the function was decoded: `instructions` is known */
	PLAN_FRAMELESS = 128, /* the covered instructions leave rsp where it was */
	PLAN_ENDBR = 256,     /* an endbr64 stands before the site, which stays */
	PLAN_LISTED =
		512, /* the compiler lists the site: __patchable_function_entries, __mcount_loc, xray_instr_map */
	PLAN_UNNAMED =
		1024, /* found by its call frame information alone: its name is made from its address */
	PLAN_SHARED =
		2048 /* several names have this address (aliases, identical code folded); `name` is the first */
};

struct plan_function {
	uint64_t entry; /* where callers jump to */
	uint64_t site;  /* entry, or behind its endbr64 and XRay sled */
	uint64_t bytes; /* from entry */
	uint32_t id;    /* unique in the plan, not 0 */
	uint32_t name;  /* string, as the symbol table has it (mangled) */
	uint32_t code; /* place in the table of code; PLAN_SLOT: address, less that of the module */
	uint32_t first_fixup;
	uint32_t first_move;
	uint32_t instructions;
	uint16_t flags; /* enum plan_flags */
	uint8_t how;    /* enum plan_how */
	uint8_t covered;
	uint8_t code_bytes;
	uint8_t fixups, moves;              /* how many */
	uint8_t offset;                     /* PLAN_SLOT: of what was patched from `entry` */
	uint8_t expected[PLAN_COVERED_MAX]; /* the covered bytes; the rest is zero */
};

enum plan_fixup_kind {
	PLAN_REL32 = 0, /* the 4 bytes at `at`: target - (address of the copy + at + ends) */
	PLAN_ABS64 = 1  /* the 8 bytes at `at`: the target's address in the program */
};

struct plan_fixup {
	uint64_t target; /* address of the file */
	uint8_t at;      /* in the function's code */
	uint8_t ends;    /* PLAN_REL32: bytes from `at` to the end of the instruction */
	uint8_t kind;    /* enum plan_fixup_kind */
	uint8_t reserved[5];
};

struct plan_move {
	uint8_t from; /* an instruction's offset from `site` */
	uint8_t to;   /* where it begins in `code` */
};

/*
 * Of a file that was instrumented: the contents of a note of this name and type. Each function has a slot of 8 bytes that can be written,
 * zero in the file. Where it is not, the function calls first what the 8 bytes before the first slot of all have the address of;
 * the 4 bytes at the return address - 13 are the slot's distance from the return address - 8. Whoever fills slots fills those before.
 * A function's stub begins with PLAN_STUB_HEAD bytes that do this; its moves are of what follows.
 */
#define PLAN_NOTE_NAME  "Kymo"
#define PLAN_NOTE_MAGIC "kymo instrument"

enum { PLAN_NOTE = 1, PLAN_NOTE_ID = 16, PLAN_STUB_HEAD = 16 };

struct plan_note {
	char magic[16];
	uint8_t id[PLAN_NOTE_ID];  /* of this file: build_id of the plan's module */
	uint64_t plan, plan_bytes; /* address, at a multiple of 8 */
};

/* A plan that was checked; pointers into the bytes. */
struct plan {
	const struct plan_header *header;
	const struct plan_module *modules;
	const struct plan_function *functions;
	const struct plan_fixup *fixups;
	const struct plan_move *moves;
	const uint8_t *code;
	const char *strings;
	uint64_t module_count, function_count;
};

/*
 * Checks all of the `size` bytes (at a multiple of 8), so that nothing in them leads out of them. False: they are no plan, or a
 * damaged one. `out` is valid as long as the bytes.
 */
bool plan_open(struct plan *out, const void *bytes, size_t size);

/* A string of the plan. */
static inline const char *plan_string(const struct plan *p, uint32_t at)
{
	return p->strings + at;
}

/*
 * Writes the code of a function to `out`, code_bytes of it, as it has to be at the address `place` of a program where the module has
 * this load bias. False: an address is out of reach.
 */
bool plan_code(const struct plan *p, const struct plan_function *f, uint64_t bias, uint64_t place,
	       uint8_t *out);

/*
 * The original address (of the file) that belongs to an offset in the function's copy: of the instruction that it is in. *more: bytes that
 * the stack has there and had not in the original place.
 */
uint64_t plan_origin(const struct plan *p, const struct plan_function *f, uint32_t offset,
		     uint64_t *more);

#endif
