/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of functions: first instructions of all forms (functions_forms.S) do in another place what they did; what cannot be patched is
 * refused for its reason; a library all of whose functions are patched answers as before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cfi.h"
#include "functions/build.h"
#include "functions/choose.h"
#include "functions/instrument.h"

typedef uint64_t form_fn(uint64_t a, uint64_t b, void *c);

extern uint64_t word_c;
void form_load(void);

struct planned {
	struct functions f;
	struct choose c;
	struct decoder *d;
	struct build b;
	struct text bytes;
	struct plan plan;
	uint64_t bias;
};

/* Of `file`, loaded at `bias`, the functions that match. */
static void make_plan(struct planned *p, const char *file, const char *names, uint64_t bias)
{
	char why[CHOOSE_WHY];

	memset(p, 0, sizeof(*p));
	p->bias = bias;
	p->d = decoder_new(why, sizeof(why));
	assert_non_null(p->d);
	assert_true(choose_init(&p->c, names, NULL, why));
	assert_true(choose_functions(&p->c, &p->f, p->d, file, true, why));
	assert_true(build_add(&p->b, &p->f, p->d));
	assert_true(build_finish(&p->b, &p->bytes));
	assert_true(plan_open(&p->plan, p->bytes.s, p->bytes.length));
}

static void drop_plan(struct planned *p)
{
	text_release(&p->bytes);
	build_release(&p->b);
	choose_release(&p->c);
	functions_release(&p->f);
	decoder_free(p->d);
}

static const struct plan_function *find_planned(const struct planned *p, const char *name)
{
	for (uint64_t i = 0; i < p->plan.function_count; i++)
		if (strcmp(plan_string(&p->plan, p->plan.functions[i].name), name) == 0)
			return &p->plan.functions[i];
	return NULL;
}

/* Memory that rel32 reaches from all of the module. */
static uint8_t *near_memory(const struct planned *p, size_t size)
{
	const uint64_t high = p->bias + p->plan.modules[0].high, step = 1 << 20;

	for (uint64_t at = (high + step) & ~(step - 1); at < high + (1ull << 30); at += step) {
		void *m = mmap((void *)(uintptr_t)at, size, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (m != MAP_FAILED)
			return m;
	}
	fail_msg("no memory near the module");
	return NULL;
}

/* Writes the copy and the jump to it. */
static void patch(const struct planned *p, const struct plan_function *f, uint8_t *copy)
{
	uint8_t *site = (uint8_t *)(uintptr_t)(p->bias + f->site);
	uint8_t *page = (uint8_t *)((uintptr_t)site & ~(uintptr_t)4095);
	int32_t distance = (int32_t)(copy - (site + PLAN_JUMP));

	assert_memory_equal(site, f->expected, f->covered);
	assert_true(plan_code(&p->plan, f, p->bias, (uintptr_t)copy, copy));
	assert_int_equal(mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	site[0] = 0xe9;
	memcpy(site + 1, &distance, sizeof(distance));
	/* What is never executed must not matter. */
	memset(site + PLAN_JUMP, 0xcc, f->covered - (size_t)PLAN_JUMP);
}

/* ---- forms ---- */

static const uint64_t inputs[] = {
	0, 1, 2, 3, 5, 6, 7, 100, 0x12345678, UINT64_MAX, UINT64_MAX - 4, 0x80000000};
enum { INPUTS = sizeof(inputs) / sizeof(inputs[0]) };

static void run_form(form_fn *f, uint64_t out[2 * INPUTS])
{
	word_c = 0x40;
	for (unsigned i = 0; i < INPUTS; i++) {
		out[2 * i] = f(inputs[i], inputs[INPUTS - 1 - i], (void *)(uintptr_t)form_load);
		out[2 * i + 1] = word_c;
	}
}

static int own_base(struct dl_phdr_info *o, size_t size, void *data)
{
	*(uint64_t *)data = o->dlpi_addr;
	return 1; /* the program is the first */
}

static void make_own(struct planned *p, const char *names)
{
	uint64_t bias = 0;

	dl_iterate_phdr(own_base, &bias);
	make_plan(p, "/proc/self/exe", names, bias);
}

static void test_refused(void **state)
{
	char word[64];
	struct planned p;
	unsigned count = 0;

	make_own(&p, "^bad_|^form_");
	for (uint32_t i = 0; i < p.f.count; i++) {
		const struct function *x = &p.f.items[i];

		if (!x->name || strncmp(x->name, "bad_", 4) != 0)
			continue;
		snprintf(word, sizeof(word), "%s", verdict_word(x->verdict));
		for (char *s = word; *s; s++)
			*s = *s == '-' ? '_' : *s;
		if (strncmp(x->name + 4, word, strlen(word)) != 0)
			fail_msg("%s: %s", x->name, verdict_word(x->verdict));
		assert_null(find_planned(&p, x->name));
		count++;
	}
	assert_int_equal(count, 10);
	drop_plan(&p);
}

/* A name that is taken gets the file, and then the address: functions are told apart by their names. */
static void test_one_name(void **state)
{
	char why[CHOOSE_WHY], with_address[64];
	const struct plan_function *f;
	struct planned p = {0};

	p.d = decoder_new(why, sizeof(why));
	assert_non_null(p.d);
	assert_true(choose_init(&p.c, "^form_load$", NULL, why));
	assert_true(choose_functions(&p.c, &p.f, p.d, "/proc/self/exe", true, why));
	for (unsigned i = 0; i < 3; i++)
		assert_true(build_add(&p.b, &p.f, p.d));
	assert_true(build_finish(&p.b, &p.bytes));
	assert_true(plan_open(&p.plan, p.bytes.s, p.bytes.length));
	assert_int_equal(p.plan.function_count, 3);
	f = find_planned(&p, "form_load");
	assert_ptr_equal(f, &p.plan.functions[0]);
	assert_ptr_equal(find_planned(&p, "form_load [test_functions]"), &p.plan.functions[1]);
	snprintf(with_address, sizeof(with_address), "form_load [test_functions] [+0x%" PRIx64 "]",
		 f->entry);
	assert_ptr_equal(find_planned(&p, with_address), &p.plan.functions[2]);
	drop_plan(&p);
}

static struct function *find_function(const struct functions *f, const char *name)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (f->items[i].name && strcmp(f->items[i].name, name) == 0)
			return &f->items[i];
	fail_msg("%s", name);
	return NULL;
}

/* Judges all functions of this program; functions_release(). */
static void judge_all(struct functions *f, struct decoder *d)
{
	for (uint32_t i = 0; i < f->count; i++)
		f->items[i].wanted = true;
	assert_true(functions_judge(f, d));
}

/* Nobody calls where the program begins, which is known by the file's header, and by its call frame information. */
static void test_start(void **state)
{
	const struct frame *frame;
	char why[CHOOSE_WHY];
	struct planned p;
	struct functions f;

	make_own(&p, "^form_load$|^form_call$");
	frame = frames_at(&p.f.frames, p.f.image.start);
	assert_non_null(frame);
	assert_true(frame->outermost);
	frame = frames_at(&p.f.frames, find_function(&p.f, "main")->entry);
	assert_false(frame->outermost || frame->fragment);
	assert_true(functions_find(&f, "/proc/self/exe", why));
	f.image.start = find_function(&f, "form_load")->entry;
	judge_all(&f, p.d);
	assert_int_equal(find_function(&f, "form_load")->verdict, VERDICT_START);
	assert_int_equal(find_function(&f, "form_call")->verdict, VERDICT_CHOSEN);
	functions_release(&f);
	drop_plan(&p);
}

/* The verdict on form_load if it had this name and source, in a file that has a function `mark` too; NULL: no name, none. */
static enum verdict judge_as(struct decoder *d, const char *name, unsigned source, const char *mark)
{
	char why[CHOOSE_WHY];
	struct functions f;
	struct function *x;
	enum verdict v;

	assert_true(functions_find(&f, "/proc/self/exe", why));
	x = find_function(&f, "form_load");
	for (uint32_t i = 0; i < f.count; i++)
		f.items[i].source |= FUNCTION_FRAME;
	if (mark)
		find_function(&f, "form_call")->name = mark;
	x->name = name;
	x->source = (uint8_t)source;
	judge_all(&f, d);
	v = x->verdict;
	functions_release(&f);
	return v;
}

static void test_runtimes(void **state)
{
	const unsigned framed = FUNCTION_SYMBOL | FUNCTION_FRAME,
		       linked = FUNCTION_SYMBOL | FUNCTION_LINKED;
	const struct {
		const char *name;
		unsigned source;
		const char *mark;
		enum verdict verdict;
	} cases[] = {
		{"Builtins_ObjectIs", linked, NULL, VERDICT_RUNTIME},
		{"_ZN2v88internal15Runtime_IsArrayEiPmPNS0_7IsolateE", framed, NULL,
		 VERDICT_RUNTIME},
		{"_ZN4node5CloseERKN2v820FunctionCallbackInfoINS0_5ValueEEE", framed, NULL,
		 VERDICT_RUNTIME},
		{"_ZN2v88internal7Isolate4DumpEv", framed, NULL, VERDICT_CHOSEN},
		{"camlStdlib__List__map_1", framed, NULL, VERDICT_RUNTIME},
		{"caml_apply2", framed, NULL, VERDICT_RUNTIME},
		{"caml_call_gc", framed, NULL, VERDICT_RUNTIME},
		{"caml_alloc_string", framed, NULL, VERDICT_CHOSEN},
		{"camlike", framed, NULL, VERDICT_CHOSEN},
		{NULL, FUNCTION_FRAME, NULL, VERDICT_CHOSEN},
		{NULL, FUNCTION_FRAME, "_ZN2v87Isolate3NewEv", VERDICT_RUNTIME},
		{NULL, FUNCTION_FRAME, "caml_startup", VERDICT_RUNTIME},
		{"main.work", linked, NULL, VERDICT_CHOSEN},
		{"main.work", linked, "runtime.morestack.abi0", VERDICT_RUNTIME},
		{"Main_work_info", linked, "stg_ap_v_fast", VERDICT_RUNTIME},
		{"of_lua", framed, "luaJIT_setmode", VERDICT_RUNTIME},
		{"in_c", framed, "runtime.morestack.abi0", VERDICT_CHOSEN},
		{"of_assembly", FUNCTION_SYMBOL, NULL, VERDICT_UNFRAMED},
	};
	struct planned p;

	make_own(&p, "^form_load$");
	assert_true(find_function(&p.f, "form_load")->source & FUNCTION_LINKED);
	assert_true(image_needs(&p.f.image, "libcmocka"));
	assert_false(image_needs(&p.f.image, "libcmockb"));
	assert_false(find_function(&p.f, "add_row")->source & FUNCTION_LINKED);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum verdict v = judge_as(p.d, cases[i].name, cases[i].source, cases[i].mark);

		if (v != cases[i].verdict)
			fail_msg("%s, %s: %s", cases[i].name ? cases[i].name : "no name",
				 cases[i].mark ? cases[i].mark : "no mark", verdict_word(v));
	}
	drop_plan(&p);
}

static void test_flags(void **state)
{
	struct planned p;

	make_own(&p, "^form_");
	assert_int_equal(find_planned(&p, "form_patchable")->how, PLAN_NOPS);
	assert_int_equal(find_planned(&p, "form_sled")->how, PLAN_XRAY);
	assert_true(find_planned(&p, "form_sled")->flags & PLAN_TWO_STEP);
	assert_true(find_planned(&p, "form_endbr")->flags & PLAN_ENDBR);
	assert_int_equal(find_planned(&p, "form_endbr")->site,
			 find_planned(&p, "form_endbr")->entry + 4);
	assert_true(find_planned(&p, "form_load")->flags & PLAN_SINGLE);
	assert_true(find_planned(&p, "form_load")->flags & PLAN_FRAMELESS);
	assert_false(find_planned(&p, "form_pushes")->flags & (PLAN_SINGLE | PLAN_FRAMELESS));
	assert_true(find_planned(&p, "form_call")->flags & PLAN_CALLS);
	assert_true(find_planned(&p, "form_jump_near")->flags & PLAN_TAIL);
	assert_true(find_planned(&p, "form_padded")->flags & PLAN_RETURNS);
	assert_int_equal(find_planned(&p, "form_load")->instructions, 4);
	drop_plan(&p);
}

/* Moves: each instruction of the original is found again from any byte of what it became. */
static void test_moves(void **state)
{
	const struct plan_function *f;
	struct planned p;
	uint64_t more;

	make_own(&p, "^form_");
	f = find_planned(&p, "form_pushes");
	assert_int_equal(f->moves, 4); /* two bytes, two bytes, one, and the way back */
	assert_int_equal(plan_origin(&p.plan, f, 0, &more), f->site);
	assert_int_equal(plan_origin(&p.plan, f, 2, &more), f->site + 2);
	assert_int_equal(plan_origin(&p.plan, f, (uint32_t)f->code_bytes - 1u, &more),
			 f->site + f->covered);
	drop_plan(&p);
}

static void test_forms(void **state)
{
	uint64_t before[2 * INPUTS], after[2 * INPUTS];
	unsigned count = 0, most;
	struct planned p;
	uint8_t *copies;

	make_own(&p, "^form_");
	copies = near_memory(&p, p.plan.function_count * PLAN_CODE_MAX + 1);
	for (uint64_t i = 0; i < p.plan.function_count; i++) {
		const struct plan_function *f = &p.plan.functions[i];
		form_fn *own = (form_fn *)(uintptr_t)(p.bias + f->entry);

		if (strcmp(plan_string(&p.plan, f->name), "form_into_other") == 0)
			continue; /* leaves the stack as it is not to be */
		if (strstr(plan_string(&p.plan, f->name), "avx") && !__builtin_cpu_supports("avx"))
			continue;
		run_form(own, before);
		patch(&p, f, copies + i * PLAN_CODE_MAX);
		run_form(own, after);
		for (unsigned k = 0; k < 2 * INPUTS; k++)
			if (before[k] != after[k])
				fail_msg("%s(%#llx): %#llx, moved %#llx",
					 plan_string(&p.plan, f->name),
					 (unsigned long long)inputs[k / 2],
					 (unsigned long long)before[k],
					 (unsigned long long)after[k]);
		count++;
	}
	most = 0;
	for (uint32_t i = 0; i < p.f.count; i++)
		most += p.f.items[i].name && strncmp(p.f.items[i].name, "form_", 5) == 0;
	assert_int_equal(p.plan.function_count, most);
	assert_true(count >= most - 3);
	drop_plan(&p);
}

/* ---- a library ---- */

static int add_row(void *data, int n, char **values, char **names)
{
	for (int i = 0; i < n; i++)
		text_addf(data, "%s|", values[i] ? values[i] : "NULL");
	return 0;
}

static void ask(void *library, struct text *out)
{
	static const char script[] =
		"create table t(a integer primary key, b text, c real);"
		"with recursive n(i) as (select 1 union all select i + 1 from n where i < 500)"
		" insert into t select i, printf('%05d-%s', i * 7919 % 503, hex(i)), i / 7.0 from "
		"n;"
		"create index tb on t(b);"
		"select count(*), sum(a), avg(c), min(b), max(b), group_concat(a % 3, '') from t;"
		"select a, b from t where b like '0012%' order by b desc;"
		"select t1.a, t2.b from t t1 join t t2 on t1.a = t2.a + 1 where t1.c > 70 order by "
		"1 limit 5;"
		"select json_extract('{\"x\":[1,2,{\"y\":\"z\"}]}', '$.x[2].y');"
		"delete from t where a % 2; update t set c = c * 2; vacuum;"
		"select total(c), upper(max(b)), strftime('%Y', 0, 'unixepoch') from t;"
		"pragma integrity_check;";
	int (*open_it)(const char *, void **) =
		(int (*)(const char *, void **))dlsym(library, "sqlite3_open");
	int (*exec)(void *, const char *, int (*)(void *, int, char **, char **), void *, char **) =
		(__typeof__(exec))dlsym(library, "sqlite3_exec");
	int (*close_it)(void *) = (int (*)(void *))dlsym(library, "sqlite3_close");
	void *db = NULL;

	assert_true(open_it && exec && close_it);
	assert_int_equal(open_it(":memory:", &db), 0);
	assert_int_equal(exec(db, script, add_row, out, NULL), 0);
	assert_int_equal(close_it(db), 0);
}

static void test_library(void **state)
{
	void *library = dlopen("libsqlite3.so.0", RTLD_NOW);
	struct text before = {0}, after = {0};
	struct link_map *map;
	struct planned p;
	uint8_t *copies;
	unsigned refused = 0, functions = 0;

	if (!library)
		skip();
	assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	ask(library, &before);
	make_plan(&p, map->l_name, ".", map->l_addr);
	for (uint32_t i = 0; i < p.f.count; i++) {
		refused += p.f.items[i].verdict != VERDICT_CHOSEN &&
			   p.f.items[i].verdict != VERDICT_FRAGMENT;
		functions += p.f.items[i].verdict != VERDICT_FRAGMENT;
	}
	assert_true(functions > 1000 && refused * 20 <= functions);
	copies = near_memory(&p, p.plan.function_count * PLAN_CODE_MAX);
	for (uint64_t i = 0; i < p.plan.function_count; i++)
		patch(&p, &p.plan.functions[i], copies + i * PLAN_CODE_MAX);
	ask(library, &after);
	assert_true(before.length > 500);
	assert_string_equal(before.s, after.s);
	text_release(&before);
	text_release(&after);
	drop_plan(&p);
}

/* ---- plans that are damaged ---- */

static void test_damaged(void **state)
{
	struct planned p;
	struct plan plan;
	uint64_t *copy;

	make_own(&p, "^form_");
	copy = malloc(p.bytes.length + 8);
	assert_non_null(copy);
	for (size_t n = 0; n < p.bytes.length; n++) {
		memcpy(copy, p.bytes.s, n);
		assert_false(plan_open(&plan, copy, n));
	}
	for (size_t at = 0; at < p.bytes.length; at++) {
		memcpy(copy, p.bytes.s, p.bytes.length);
		((uint8_t *)copy)[at] ^= 0xff;
		if (plan_open(&plan, copy, p.bytes.length))
			for (uint64_t i = 0; i < plan.function_count; i++) {
				uint8_t code[PLAN_CODE_MAX];

				plan_code(&plan, &plan.functions[i], 0, 0, code);
				assert_true(strlen(plan_string(&plan, plan.functions[i].name)) <
					    p.bytes.length);
			}
	}
	free(copy);
	drop_plan(&p);
}

/* ---- files that were instrumented ---- */

/* What is said of an address of the file; its code lies as far from its beginning as in memory. */
static struct cfi_rule rule_of(const struct image *m, uint64_t at)
{
	const uint64_t begin = (uint64_t)(uintptr_t)m->bytes;
	const struct cfi_tables t = {.header = (uint64_t)(uintptr_t)m->frame_header.bytes,
				     .start = begin,
				     .end = begin + m->size,
				     .stays = true};
	struct cfi_rule rule;

	if (!cfi_find(&t, begin + at, &rule))
		fail_msg("nothing is said of %#llx", (unsigned long long)at);
	return rule;
}

static void same_rule(const struct cfi_rule *a, const struct cfi_rule *b)
{
	assert_int_equal(a->cfa, b->cfa);
	assert_int_equal(a->cfa_offset, b->cfa_offset);
	assert_int_equal(a->rbp, b->rbp);
	assert_int_equal(a->rbp_offset, b->rbp_offset);
	assert_int_equal(a->rbx, b->rbx);
	assert_int_equal(a->rbx_offset, b->rbx_offset);
}

/* Of each moved instruction, and what stands before them, the same is said as of the original ones; behind a call's push, of one word more. */
static unsigned check_stub(const struct planned *p, const struct image *now, uint64_t stub,
			   const struct plan_function *f)
{
	const struct plan_move *m = &p->plan.moves[f->first_move];
	struct cfi_rule was = rule_of(&p->f.image, f->site), is;

	for (unsigned i = 0; i < PLAN_STUB_HEAD; i++) {
		is = rule_of(now, stub + i);
		same_rule(&is, &was);
	}
	for (unsigned i = 0; i < f->moves; i++) {
		was = rule_of(&p->f.image, f->site + m[i].from);
		is = rule_of(now, stub + PLAN_STUB_HEAD + m[i].to);
		same_rule(&is, &was);
	}
	if (!(f->flags & PLAN_CALLS))
		return 0;
	is = rule_of(now, stub + PLAN_STUB_HEAD + m[f->moves - 1u].to + 5u);
	was.cfa_offset += was.cfa == CFI_RSP ? 8 : 0;
	same_rule(&is, &was);
	return 1;
}

/* A thread in a stub is in the function, at the instruction that it stands for. */
static void check_origin(const struct planned *p, const struct plan *made,
			 const struct plan_function *slot, const struct plan_function *f)
{
	for (uint32_t at = 0; at < slot->code_bytes; at++) {
		uint64_t more, more_was, to = plan_origin(made, slot, at, &more);

		assert_int_equal(to, plan_origin(&p->plan, f, at, &more_was));
		assert_int_equal(more, more_was);
	}
}

static void test_frames(void **state)
{
	struct instrumented told;
	struct text out = {0};
	char why[IMAGE_WHY];
	unsigned moved = 0, calls = 0;
	struct image now;
	struct planned p;
	struct plan made;
	uint64_t left;

	make_plan(&p, "/proc/self/exe", ".", 0);
	assert_true(instrument(&p.f, p.d, &out, &told));
	assert_false(told.unframed);
	assert_true(image_open_bytes(&now, out.s, out.length, why));
	assert_true(plan_open(&made, image_at(&now, now.plan_at, &left), now.plan_bytes));
	assert_int_equal(made.function_count, p.plan.function_count);
	for (uint64_t i = 0; i < made.function_count; i++) {
		const struct plan_function *f = &p.plan.functions[i], *slot = &made.functions[i];

		calls += check_stub(&p, &now, p.f.image.low + slot->code, f);
		check_origin(&p, &made, slot, f);
		moved += f->moves > 2;
	}
	assert_true(calls > 0 && moved > 20);
	for (uint32_t i = 0; i < p.f.frames.count; i++) {
		struct cfi_rule was = rule_of(&p.f.image, p.f.frames.items[i].at);
		struct cfi_rule is = rule_of(&now, p.f.frames.items[i].at);

		same_rule(&is, &was);
	}
	image_close(&now);
	text_release(&out);
	drop_plan(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),  cmocka_unit_test(test_start),
		cmocka_unit_test(test_runtimes), cmocka_unit_test(test_flags),
		cmocka_unit_test(test_moves),    cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_forms),    cmocka_unit_test(test_library),
		cmocka_unit_test(test_frames),   cmocka_unit_test(test_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
