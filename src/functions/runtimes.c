/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of runtimes that walk stacks by themselves. They look up each return address in tables of their own code, and end the program where
 * one is not there, as it is while a call is traced; much of their code is not called as the ABI has it either. V8: its embedded builtins, and
 * what compiled JavaScript calls (exit frames). OCaml: all that its compiler made. Go, GHC: all that has no call frame information.
 * LuaJIT unwinds to frames whose stack pointer it has from libgcc, which has another one there behind a call that is traced (entry.S): of it, and
 * of what is linked with it, which it calls, nothing can be traced.
 */
#include <string.h>

#include "functions/judge.h"

#define BEGINS(s, with) (strncmp(s, with, sizeof(with) - 1) == 0)

static bool begins_with_any(const char *s, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(s, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}

static bool is_of_v8(const char *name)
{
	if (BEGINS(name, "Builtins_") || strstr(name, "N2v820FunctionCallbackInfo") ||
	    strstr(name, "N2v820PropertyCallbackInfo"))
		return true;
	return BEGINS(name, "_ZN2v88internal") &&
	       (strstr(name, "Runtime_") || strstr(name, "Builtin_") ||
		strstr(name, "CheckStackGuardState"));
}

static bool is_of_ocaml(const char *name)
{
	/* What the compiler puts between functions, and the runtime's assembly. */
	static const char *const between[] = {
		"caml_call_",      "caml_alloc1",     "caml_alloc2",   "caml_alloc3",
		"caml_allocN",     "caml_c_call",     "caml_start_pr", "caml_callback_",
		"caml_callback2_", "caml_callback3_", "caml_raise_ex", "caml_perform",
		"caml_reperform",  "caml_resume",     "caml_runstack", "caml_program",
		"caml_apply",      "caml_curry",      "caml_tuplify",  "caml_send"};

	return (BEGINS(name, "caml") && name[4] >= 'A' && name[4] <= 'Z') ||
	       begins_with_any(name, between, sizeof(between) / sizeof(between[0]));
}

/* A function whose name begins so is in the file: so is the runtime. */
static const char *const unnamed_marks[] = {"_ZN2v87Isolate", "caml_startup"};
static const char *const unframed_marks[] = {"runtime.morestack", "stg_ap_"};

void judge_runtimes(struct judge *j)
{
	uint32_t symbols = 0, framed = 0;

	for (uint32_t i = 0; i < j->f->count; i++) {
		const struct function *x = &j->f->items[i];

		if (!x->name)
			continue;
		symbols += x->bytes > 0;
		framed += x->bytes > 0 && (x->source & FUNCTION_FRAME);
		j->unnamed |= begins_with_any(x->name, unnamed_marks, 2);
		j->unframed |= begins_with_any(x->name, unframed_marks, 2);
		j->luajit |= BEGINS(x->name, "luaJIT_");
	}
	j->luajit |= image_needs(&j->f->image, "libluajit");
	j->framed = framed > symbols / 2;
}

enum verdict judge_runtime(const struct judge *j, const struct function *x)
{
	if (j->luajit)
		return VERDICT_RUNTIME;
	if (!x->name)
		return j->unnamed ? VERDICT_RUNTIME : VERDICT_CHOSEN;
	if (is_of_v8(x->name) || is_of_ocaml(x->name))
		return VERDICT_RUNTIME;
	return !(x->source & FUNCTION_FRAME) && j->unframed ? VERDICT_RUNTIME : VERDICT_CHOSEN;
}

bool judge_unframed(const struct judge *j, const struct function *x)
{
	return j->framed && !(x->source & (FUNCTION_FRAME | FUNCTION_LINKED));
}
