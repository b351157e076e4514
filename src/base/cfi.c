/* SPDX-License-Identifier: Apache-2.0 */
/* Reading call frame information; see cfi.h. */
#include "base/cfi.h"

#include <string.h>

#include "base/careful.h"

#define WINDOW    128u  /* bytes read at once */
#define STATES    8u    /* DW_CFA_remember_state inside each other */
#define STEPS     65536 /* instructions of one function */
#define TEXT_MAX  8u    /* letters of an augmentation */
#define EXPR_MAX  36u   /* what Kymo's own code has */
#define REG_RBX   3u
#define REG_RBP   6u
#define REG_RSP   7u
#define REG_RA    16u
#define DATA_PC   0x10u /* encodings: relative to where the value stands */
#define DATA_OMIT 0xffu

/* ---- reading ---- */

struct cursor {
	const struct cfi_tables *t;
	uint64_t at, end;
	uint64_t window; /* address of the bytes */
	uint32_t have;
	bool bad;
	uint8_t bytes[WINDOW];
};

static bool copy(const struct cfi_tables *t, uint64_t at, void *out, uint64_t n)
{
	const void *from = (const void *)(uintptr_t)at;

	if (at < t->start || at >= t->end || n > t->end - at)
		return false;
	if (!t->stays)
		return careful_copy(out, from, n) == n;
	memcpy(out, from, n);
	return true;
}

static void cursor_init(struct cursor *c, const struct cfi_tables *t, uint64_t at, uint64_t end)
{
	c->t = t;
	c->at = at;
	c->end = end < t->end ? end : t->end;
	c->window = c->have = 0;
	c->bad = at < t->start || at > c->end;
}

static void take(struct cursor *c, void *out, uint32_t n)
{
	memset(out, 0, n);
	if (c->bad || n > c->end - c->at) {
		c->bad = true;
		return;
	}
	if (c->at < c->window || c->at + n > c->window + c->have) {
		c->window = c->at;
		c->have = c->end - c->at < WINDOW ? (uint32_t)(c->end - c->at) : WINDOW;
		if (!copy(c->t, c->at, c->bytes, c->have)) {
			c->have = 0;
			c->bad = true;
			return;
		}
	}
	memcpy(out, c->bytes + (c->at - c->window), n);
	c->at += n;
}

static uint64_t fixed(struct cursor *c, uint32_t n)
{
	uint64_t v = 0;

	take(c, &v, n);
	return v;
}

static uint8_t byte(struct cursor *c)
{
	return (uint8_t)fixed(c, 1);
}

static void skip(struct cursor *c, uint64_t n)
{
	if (n > c->end - c->at)
		c->bad = true;
	else
		c->at += n;
}

static uint64_t leb(struct cursor *c, bool is_signed)
{
	uint64_t v = 0;
	uint32_t shift = 0;
	uint8_t b;

	do {
		b = byte(c);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while ((b & 0x80) && !c->bad);
	if (is_signed && (b & 0x40) && shift < 64)
		v |= ~0ull << shift;
	return v;
}

static uint64_t uleb(struct cursor *c)
{
	return leb(c, false);
}

static int64_t sleb(struct cursor *c)
{
	return (int64_t)leb(c, true);
}

/* A pointer as `encoding` says; absolute, or relative to itself. */
static uint64_t pointer(struct cursor *c, uint8_t encoding)
{
	uint64_t base = (encoding & 0x70) == DATA_PC ? c->at : 0;

	if ((encoding & 0x70) != DATA_PC && (encoding & 0x70) != 0)
		c->bad = true;
	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		return base + fixed(c, 8);
	case 0x01:
		return base + uleb(c);
	case 0x02:
		return base + fixed(c, 2);
	case 0x03:
		return base + fixed(c, 4);
	case 0x09:
		return base + (uint64_t)sleb(c);
	case 0x0a:
		return base + (uint64_t)(int64_t)(int16_t)fixed(c, 2);
	case 0x0b:
		return base + (uint64_t)(int64_t)(int32_t)fixed(c, 4);
	default:
		c->bad = true;
		return 0;
	}
}

/* ---- finding the function ---- */

static bool in_table(const struct cfi_tables *t, uint32_t i, int32_t *function, int32_t *fde)
{
	int32_t pair[2];

	if (!copy(t, t->header + 12 + 8ull * i, pair, sizeof(pair)))
		return false;
	*function = pair[0];
	*fde = pair[1];
	return true;
}

/* Address of the description of the last function that begins at `pc` or before; 0: none. */
static uint64_t search(const struct cfi_tables *t, uint64_t pc)
{
	int64_t wanted = (int64_t)(pc - t->header);
	uint8_t head[12];
	uint32_t low = 0, high;
	int32_t function, fde = 0;

	/* Pointers to itself of 4 bytes, a count of 4, a table of 4 and 4 relative to the header. */
	if (!t->header || !copy(t, t->header, head, sizeof(head)) || head[0] != 1 ||
	    head[1] != 0x1b || head[2] != 0x03 || head[3] != 0x3b)
		return 0;
	memcpy(&high, head + 8, 4);
	if (!high || high > (t->end - t->header) / 8)
		return 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (!in_table(t, middle, &function, &fde))
			return 0;
		if (function <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || !in_table(t, low - 1, &function, &fde))
		return 0;
	return t->header + (uint64_t)(int64_t)fde;
}

struct common { /* of the functions of a CIE */
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool augmented, signal;
	struct cursor first; /* instructions */
};

/* At the length of an entry: false, it is none. */
static bool entry(struct cursor *c)
{
	uint64_t length = fixed(c, 4);

	if (c->bad || !length || length >= 0xfffffff0u || length > c->end - c->at)
		return false;
	c->end = c->at + length;
	return true;
}

static void augmentation(struct cursor *c, struct common *k, const char *text)
{
	uint64_t size = uleb(c), end = c->at + size;
	uint8_t encoding;

	if (size > c->end - c->at) {
		c->bad = true;
		return;
	}
	k->augmented = true;
	for (; *text && !c->bad; text++) {
		if (*text == 'R') {
			k->encoding = byte(c);
		} else if (*text == 'L') {
			byte(c);
		} else if (*text == 'P') {
			encoding = byte(c);
			pointer(c, encoding & 0x1f); /* its value is of no interest */
		} else if (*text == 'S') {
			k->signal = true;
		} else {
			c->bad = true;
		}
	}
	if (c->at > end)
		c->bad = true;
	c->at = end;
}

static bool read_common(const struct cfi_tables *t, uint64_t at, struct common *k)
{
	struct cursor *c = &k->first;
	char text[TEXT_MAX] = "";
	uint8_t version, length = 0;

	*k = (struct common){0};
	cursor_init(c, t, at, t->end);
	if (!entry(c) || fixed(c, 4) != 0)
		return false;
	version = byte(c);
	do {
		text[length] = (char)byte(c);
	} while (!c->bad && text[length] && ++length < TEXT_MAX);
	if (c->bad || length == TEXT_MAX || (version != 1 && version != 3))
		return false;
	k->code_align = uleb(c);
	k->data_align = sleb(c);
	if ((version == 1 ? byte(c) : uleb(c)) != REG_RA)
		return false;
	if (text[0] == 'z')
		augmentation(c, k, text + 1);
	else if (text[0])
		return false;
	return !c->bad;
}

/* ---- instructions ---- */

enum kept { SAME, AT_CFA, AT_REGISTER, LOST, ODD };

struct state {
	enum { CFA_REGISTER, CFA_WORD_AT, CFA_PLT, CFA_ODD } cfa;
	uint64_t reg;
	int64_t offset;
	struct place {
		enum kept how;
		int64_t offset;
	} rbp, rbx, ra;
	bool moved_rsp; /* rsp of the caller is not the CFA */
};

struct machine {
	struct state now, first, stack[STATES];
	uint32_t depth;
	uint64_t pc, wanted;
	const struct common *common;
};

/* NULL: of no interest. */
static struct place *place_of(struct state *s, uint64_t reg)
{
	switch (reg) {
	case REG_RBX:
		return &s->rbx;
	case REG_RBP:
		return &s->rbp;
	case REG_RA:
		return &s->ra;
	default:
		return NULL;
	}
}

static void keep(struct machine *m, uint64_t reg, enum kept how, int64_t offset)
{
	struct place *p = place_of(&m->now, reg);

	if (p)
		*p = (struct place){how, offset};
	else if (reg == REG_RSP)
		m->now.moved_rsp = how != SAME;
}

static void restore(struct machine *m, uint64_t reg)
{
	struct place *p = place_of(&m->now, reg);

	if (p)
		*p = *place_of(&m->first, reg);
	else if (reg == REG_RSP)
		m->now.moved_rsp = m->first.moved_rsp;
}

/* An expression: what it says where it is one of those that compilers and linkers make. */
struct expression {
	uint64_t size;
	uint8_t bytes[EXPR_MAX];
};

static void take_expression(struct cursor *c, struct expression *e)
{
	e->size = uleb(c);
	memset(e->bytes, 0, sizeof(e->bytes));
	take(c, e->bytes, e->size < EXPR_MAX ? (uint32_t)e->size : EXPR_MAX);
	if (e->size > EXPR_MAX)
		skip(c, e->size - EXPR_MAX);
}

/* DW_OP_breg6 and a number of one or two bytes: how long that is; 0: it is not. */
static uint32_t of_rbp(const struct expression *e, int64_t *offset)
{
	uint32_t n = e->bytes[1] & 0x80 ? 3 : 2;
	uint32_t value = (e->bytes[1] & 0x7fu) | (n == 3 ? (uint32_t)(e->bytes[2] & 0x7f) << 7 : 0);
	uint32_t sign = n == 3 ? 0x2000 : 0x40;

	if (e->bytes[0] != 0x76 || (n == 3 && e->bytes[2] & 0x80) || e->size < n)
		return 0;
	*offset = (int64_t)value - (value & sign ? 2 * (int64_t)sign : 0);
	return n;
}

static void cfa_expression(struct machine *m, const struct expression *e)
{
	/* breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus: binutils' lazy PLT; other lengths with endbr64 */
	static const uint8_t plt[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
	uint32_t n = of_rbp(e, &m->now.offset);
	uint8_t length = e->bytes[6];

	m->now.cfa = CFA_ODD;
	if (e->size == sizeof(plt) && memcmp(e->bytes, plt, 6) == 0 && length >= 0x30 &&
	    length <= 0x3f && memcmp(e->bytes + 7, plt + 7, sizeof(plt) - 7) == 0) {
		m->now.cfa = CFA_PLT;
		m->now.offset = length - 0x30;
	} else if (n && e->size == n + 1 && e->bytes[n] == 0x06) { /* deref */
		m->now.cfa = CFA_WORD_AT;
	}
}

/* A return address that Kymo has made from the word below the CFA (capture/function/entry.S): that word is there, and known to who asks. */
static bool is_stubs(const struct expression *e)
{
	/* call_frame_cfa on the stack; lit8, minus, deref, const1s -8, and */
	static const uint8_t begin[] = {0x12, 0x38, 0x1c, 0x06, 0x09, 0xf8, 0x1a};

	return e->size == EXPR_MAX && memcmp(e->bytes, begin, sizeof(begin)) == 0;
}

static void expression(struct machine *m, struct cursor *c, uint8_t op)
{
	uint64_t reg = op == 0x0f ? 0 : uleb(c);
	struct expression e;
	int64_t offset = 0;

	take_expression(c, &e);
	if (op == 0x0f)
		cfa_expression(m, &e);
	else if (op == 0x10 && of_rbp(&e, &offset) == e.size)
		keep(m, reg, AT_REGISTER, offset);
	else if (op == 0x16 && reg == REG_RA && is_stubs(&e))
		keep(m, reg, AT_CFA, -8);
	else
		keep(m, reg, ODD, 0);
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
	m->now.cfa = CFA_REGISTER;
	m->now.reg = reg;
	m->now.offset = offset;
}

/* Offsets are in units of the CIE's, modulo 2^64 in damaged tables. */
static int64_t scaled(const struct machine *m, uint64_t n)
{
	return (int64_t)(n * (uint64_t)m->common->data_align);
}

static void remember(struct machine *m, struct cursor *c, bool push)
{
	if (push && m->depth < STATES)
		m->stack[m->depth++] = m->now;
	else if (!push && m->depth)
		m->now = m->stack[--m->depth];
	else
		c->bad = true;
}

static void change_registers(struct machine *m, struct cursor *c, uint8_t op)
{
	uint64_t reg = uleb(c);

	switch (op) {
	case 0x05: /* offset_extended */
		keep(m, reg, AT_CFA, scaled(m, uleb(c)));
		break;
	case 0x11: /* offset_extended_sf */
		keep(m, reg, AT_CFA, scaled(m, (uint64_t)sleb(c)));
		break;
	case 0x06:
		restore(m, reg);
		break;
	case 0x07:
		keep(m, reg, LOST, 0);
		break;
	case 0x08:
		keep(m, reg, SAME, 0);
		break;
	case 0x09: /* in another register */
	case 0x14: /* a value */
	case 0x15:
		uleb(c);
		keep(m, reg, ODD, 0);
		break;
	case 0x0c:
		set_cfa(m, reg, (int64_t)uleb(c));
		break;
	case 0x12:
		set_cfa(m, reg, scaled(m, (uint64_t)sleb(c)));
		break;
	case 0x0d: /* the register alone: as psABI has it, what was an expression is one no more */
		set_cfa(m, reg, m->now.offset);
		break;
	default:
		c->bad = true;
	}
}

static void others(struct machine *m, struct cursor *c, uint8_t op)
{
	switch (op) {
	case 0x00: /* nop */
		break;
	case 0x01:
		m->pc = pointer(c, m->common->encoding);
		break;
	case 0x02:
		m->pc += byte(c) * m->common->code_align;
		break;
	case 0x03:
		m->pc += fixed(c, 2) * m->common->code_align;
		break;
	case 0x04:
		m->pc += fixed(c, 4) * m->common->code_align;
		break;
	case 0x0a:
		remember(m, c, true);
		break;
	case 0x0b:
		remember(m, c, false);
		break;
	case 0x0e:
		m->now.offset = (int64_t)uleb(c);
		break;
	case 0x13:
		m->now.offset = scaled(m, (uint64_t)sleb(c));
		break;
	case 0x0f:
	case 0x10:
	case 0x16:
		expression(m, c, op);
		break;
	case 0x2e: /* GNU_args_size */
		uleb(c);
		break;
	default:
		change_registers(m, c, op);
	}
}

/* Runs until the row of the wanted address is made. */
static bool run(struct machine *m, struct cursor *c)
{
	for (int i = 0; c->at < c->end && i < STEPS; i++) {
		struct state before = m->now;
		uint8_t op = byte(c), low = op & 0x3f;

		switch (op >> 6) {
		case 1:
			m->pc += low * m->common->code_align;
			break;
		case 2:
			keep(m, low, AT_CFA, scaled(m, uleb(c)));
			break;
		case 3:
			restore(m, low);
			break;
		default:
			others(m, c, op);
		}
		if (c->bad)
			return false;
		if (m->pc > m->wanted) {
			m->now = before;
			return true;
		}
	}
	return c->at == c->end;
}

/* ---- the rule ---- */

static bool fits(int64_t v)
{
	return v >= INT16_MIN && v <= INT16_MAX;
}

/* A register that is kept where no rule can say it is lost. */
static uint8_t kept_rule(const struct place *p, int16_t *offset)
{
	*offset = 0;
	if (p->how == LOST || p->how == ODD || !fits(p->offset))
		return CFI_LOST;
	*offset = (int16_t)p->offset;
	return p->how == SAME ? CFI_SAME : p->how == AT_CFA ? CFI_BELOW : CFI_BY_RBP;
}

static enum cfi_cfa cfa_rule(const struct state *s)
{
	switch (s->cfa) {
	case CFA_PLT:
		return CFI_PLT;
	case CFA_WORD_AT:
		return CFI_AT_RBP;
	case CFA_REGISTER:
		return s->reg == REG_RSP   ? CFI_RSP
		       : s->reg == REG_RBP ? CFI_RBP
		       : s->reg == REG_RBX ? CFI_RBX
					   : CFI_NONE;
	default:
		return CFI_NONE;
	}
}

static void rule_of(const struct state *s, struct cfi_rule *out)
{
	*out = (struct cfi_rule){.cfa = CFI_NONE};
	if (s->ra.how == LOST) {
		out->cfa = CFI_OUTERMOST;
		return;
	}
	if (s->ra.how != AT_CFA || s->ra.offset != -8 || s->moved_rsp || s->offset < INT32_MIN ||
	    s->offset > INT32_MAX || cfa_rule(s) == CFI_NONE)
		return;
	out->cfa = (uint8_t)cfa_rule(s);
	out->cfa_offset = (int32_t)s->offset;
	out->rbp = kept_rule(&s->rbp, &out->rbp_offset);
	out->rbx = kept_rule(&s->rbx, &out->rbx_offset);
}

static bool describe(struct machine *m, struct cursor *c, struct common *k, struct cfi_rule *out)
{
	*m = (struct machine){
		.now = {.cfa = CFA_ODD}, .common = k, .wanted = m->wanted, .pc = m->pc};
	if (!run(m, &k->first))
		return false;
	m->first = m->now;
	if (!run(m, c))
		return false;
	rule_of(&m->now, out);
	if (k->signal)
		*out = (struct cfi_rule){.cfa = CFI_SIGNAL};
	return true;
}

bool cfi_find(const struct cfi_tables *t, uint64_t pc, struct cfi_rule *out)
{
	uint64_t at = search(t, pc), start, size, back;
	struct machine m;
	struct common k;
	struct cursor c;

	*out = (struct cfi_rule){.cfa = CFI_NONE};
	if (!at)
		return false;
	cursor_init(&c, t, at, t->end);
	if (!entry(&c))
		return false;
	back = c.at;
	back -= fixed(&c, 4);
	if (!read_common(t, back, &k))
		return false;
	start = pointer(&c, k.encoding);
	size = pointer(&c, k.encoding & 0x0f);
	if (k.augmented)
		skip(&c, uleb(&c));
	if (c.bad || pc < start || pc - start >= size)
		return false;
	m.wanted = pc;
	m.pc = start;
	return describe(&m, &c, &k, out);
}
