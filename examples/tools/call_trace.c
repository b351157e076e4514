/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool: prints every call of every traced runtime as it returns, with its arguments and what it
 * took. Shows callbacks (phases, the word that a tool may keep from ENTER to EXIT) and reflection:
 * the tool includes no header of OpenCL, MPI or CUDA and still prints their arguments by name.
 *
 *   cc -shared -fPIC call_trace.c $(pkg-config --cflags --libs kymo) -o libcalls.so
 *   KYMO_TOOLS=./libcalls.so OPENCL_LAYERS=$(pkg-config --variable=library kymo) ./a.out
 */
#include <kymo/kymo.h>

#include <stdio.h>
#include <string.h>

/* "name=value, name=value": those that the call was given and that it has written by now. */
static void arguments(const kymo_callback_record_t *r, char *out, size_t room)
{
	const kymo_op_desc_t *op = &r->domain->ops[r->op];
	kymo_value_t v = {.size = sizeof(v)};
	char text[64];
	size_t used = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < op->field_count && used < room; i++) {
		if (kymo_callback_value(r, i, &v) || !v.present)
			continue;
		kymo_value_text(&v, text, sizeof(text), NULL);
		used += (size_t)snprintf(out + used, room - used, "%s%s=%s", used ? ", " : "",
					 op->fields[i].name, text);
	}
}

/* On the thread that makes the call; a line is written at once, so that threads do not mix. */
static void call(kymo_context_t context, const kymo_callback_record_t *r, void *data)
{
	const kymo_op_desc_t *op = &r->domain->ops[r->op];
	char text[800];

	if (r->phase == KYMO_PHASE_ENTER) {
		*r->user = kymo_time();
		return;
	}
	arguments(r, text, sizeof(text));
	fprintf(stderr, "%u %s:%s(%s) #%llu = %d, %llu ns\n", r->tid, r->domain->name, op->name,
		text, (unsigned long long)r->correlation, r->status,
		(unsigned long long)(kymo_time() - *r->user));
}

/* Calls alone, of every domain, also of those that come later. */
static bool is_call(const kymo_domain_desc_t *domain, uint32_t op, void *data)
{
	return !(domain->ops[op].flags & KYMO_OP_ACTIVITY);
}

static kymo_status_t start(void *data)
{
	kymo_selection_t calls = {.size = sizeof(calls), .select = is_call};
	kymo_context_t context;
	kymo_status_t s = kymo_context_create(&context);

	s = s ? s : kymo_callback_service(context, &calls, call, NULL);
	return s ? s : kymo_context_start(context);
}

KYMO_EXPORT const kymo_tool_t *kymo_configure(uint32_t version, const char *library, uint32_t n)
{
	static const kymo_tool_t tool = {sizeof(tool), "call trace", start, NULL, NULL, NULL};

	return &tool;
}
