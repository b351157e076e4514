/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How soon what a load brings is used, from the text of instructions: registers are read off their operands. What follows a jump, or
 * stands where one may lead, is another block.
 */
#include <stdlib.h>
#include <string.h>

#include "metrics/sass.h"

/* Registers R`from` to R`from + count - 1`. */
struct registers {
	unsigned from, count;
};

struct operation {
	char name[16]; /* "LDG" of "@!P0 LDG.E.64 R2, ..." */
	const char *modifiers, *operands;
	bool guarded; /* by a predicate */
};

static struct operation read_operation(const char *text)
{
	struct operation o = {.guarded = *text == '@'};
	size_t n;

	if (o.guarded)
		text += strcspn(text, " \t");
	text += strspn(text, " \t");
	n = strcspn(text, ". \t");
	memcpy(o.name, text, n < sizeof(o.name) - 1 ? n : sizeof(o.name) - 1);
	o.modifiers = text + n;
	o.operands = text + strcspn(text, " \t");
	return o;
}

static bool is_one_of(const char *name, const char *const *list)
{
	while (*list && strcmp(*list, name) != 0)
		list++;
	return *list != NULL;
}

static bool has_modifier(const struct operation *o, const char *modifier)
{
	const size_t n = strlen(modifier);

	for (const char *p = strchr(o->modifiers, '.'); p && p < o->operands;
	     p = strchr(p + 1, '.'))
		if (strncmp(p + 1, modifier, n) == 0 && strchr(". \t", p[1 + n]))
			return true;
	return false;
}

/* Registers that a value of the operation's width fills. */
static unsigned width_of(const struct operation *o)
{
	if (has_modifier(o, "128") || has_modifier(o, "4"))
		return 4;
	return has_modifier(o, "64") || has_modifier(o, "2") ? 2 : 1;
}

static bool is_load(const struct operation *o)
{
	static const char *const loads[] = {"LDG", "LD", "LDS", "LDL", "LDC", "LDSM", NULL};

	return is_one_of(o->name, loads);
}

static bool ends_block(const struct operation *o)
{
	static const char *const jumps[] = {"BRA", "BRX",  "BRXU",  "JMP",   "JMX",  "JMXU", "CALL",
					    "RET", "EXIT", "BSYNC", "BREAK", "KILL", NULL};

	return is_one_of(o->name, jumps);
}

/* Operations whose first register is read: they bring nothing. */
static bool brings_nothing(const struct operation *o)
{
	static const char *const silent[] = {"ST",     "STG",   "STS",       "STL",    "STSM",
					     "RED",    "REDG",  "ISETP",     "FSETP",  "DSETP",
					     "HSETP2", "PLOP3", "CCTL",      "R2UR",   "R2P",
					     "SUST",   "BAR",   "NANOSLEEP", "LDGSTS", NULL};

	return is_one_of(o->name, silent) || ends_block(o);
}

/* How many registers an operand without a width of its own names. */
static unsigned source_width(const struct operation *o)
{
	static const char *const stores[] = {"ST", "STG", "STS", "STL", NULL};
	static const char *const doubles[] = {"DADD", "DFMA", "DMUL", "DSETP", NULL};
	static const char *const matrices[] = {"HMMA", "IMMA", "BMMA", "DMMA", "QMMA", NULL};

	if (is_one_of(o->name, stores))
		return width_of(o);
	if (is_one_of(o->name, matrices))
		return 4;
	return is_one_of(o->name, doubles) ? 2 : 1;
}

/* The next register in the text: not of "UR4", nor "RZ". NULL: there is none. */
static const char *next_register(const char *p, struct registers *r, unsigned width)
{
	char before = ' ';

	for (; *p; before = *p++) {
		char *end;

		if (*p != 'R' || p[1] < '0' || p[1] > '9' || (before >= 'A' && before <= 'Z'))
			continue;
		r->from = (unsigned)strtoul(p + 1, &end, 10);
		r->count = strncmp(end, ".64", 3) == 0 && width < 2 ? 2 : width;
		return end;
	}
	return NULL;
}

static bool meet(struct registers a, struct registers b)
{
	return a.from < b.from + b.count && b.from < a.from + a.count;
}

/* What it writes; a count of 0: nothing. *rest is where sources begin. */
static struct registers destination(const struct operation *o, const char **rest)
{
	struct registers r = {0, 0};
	const char *first = o->operands + strspn(o->operands, " \t"), *end;

	*rest = o->operands;
	if (brings_nothing(o))
		return r;
	/* A predicate may stand first, of what brings a register, too: SHFL, ATOMG. */
	if (*first == 'P' && (strncmp(o->name, "SHFL", 4) == 0 || strncmp(o->name, "ATOM", 4) == 0))
		first += strcspn(first, ",") + 1;
	first += strspn(first, " \t");
	if (*first != 'R')
		return r;
	end = next_register(first, &r, is_load(o) ? width_of(o) : 1);
	if (!end || end > first + strcspn(first, ",")) { /* RZ */
		r.count = 0;
		end = first + strcspn(first, ",");
	}
	*rest = end;
	return r;
}

static bool uses(const struct operation *o, struct registers what)
{
	struct registers r;
	const char *p;

	destination(o, &p);
	while ((p = next_register(p, &r, source_width(o))))
		if (meet(r, what))
			return true;
	return false;
}

/* All of it is written over, in any case. */
static bool replaces(const struct operation *o, struct registers what)
{
	const char *rest;
	const struct registers r = destination(o, &rest);

	return !o->guarded && r.count && r.from <= what.from &&
	       r.from + r.count >= what.from + what.count;
}

uint32_t sass_load_use(const struct sass_code *at, uint32_t count, uint32_t i)
{
	struct operation o = read_operation(at[i].text);
	struct registers loaded;
	const char *rest;

	if (!is_load(&o))
		return 0;
	loaded = destination(&o, &rest);
	for (uint32_t k = i + 1; loaded.count && k < count && !at[k].first; k++) {
		o = read_operation(at[k].text);
		if (uses(&o, loaded))
			return k - i;
		if (ends_block(&o) || replaces(&o, loaded))
			break;
	}
	return 0;
}

uint32_t sass_load_of(const struct sass_code *at, uint32_t count, uint32_t i)
{
	for (uint32_t k = i; k-- > 0 && !at[k + 1].first;) {
		const struct operation o = read_operation(at[k].text);

		if (ends_block(&o))
			break;
		if (sass_load_use(at, count, k) == i - k)
			return k;
	}
	return UINT32_MAX;
}

uint32_t sass_at(const struct sass_code *at, uint32_t count, uint64_t offset)
{
	for (uint32_t i = 0; i < count && at[i].address - at[0].address <= offset; i++)
		if (at[i].address - at[0].address == offset)
			return i;
	return UINT32_MAX;
}
