/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mistakes of annotations and limits that they met: counted while the program runs, a note of the
 * trace each when it ends. Of values that were cut the first is named, so that it can be found.
 */
#include "core/marker/marker.h"

#include <stdio.h>

static _Atomic uint64_t faults[FAULTS];

/* The first value that was cut; written by the thread that claims it. */
static struct {
	_Atomic bool claimed, told;
	bool left_out; /* for want of room */
	char key[64];
	size_t bytes;
} first;

void marker_fault(enum marker_fault fault)
{
	atomic_fetch_add_explicit(&faults[fault], 1, memory_order_relaxed);
}

void marker_fault_cut(const kymo_payload_t *p, size_t bytes, bool left_out)
{
	marker_fault(FAULT_CUT_PAYLOAD);
	if (atomic_exchange(&first.claimed, true))
		return;
	first.left_out = left_out;
	first.bytes = bytes;
	snprintf(first.key, sizeof(first.key), "%.60s", p->key ? p->key : "");
	atomic_store(&first.told, true);
}

static void note(const char *text, uint64_t n)
{
	struct wire_def d;

	wire_def_init(&d, DEF_NOTE);
	wire_def_u64(&d, 2);
	wire_def_string(&d, "marker");
	wire_def_string(&d, text);
	wire_def_u64(&d, tick_now());
	wire_def_u64(&d, n);
	cap_define(&d);
}

static void note_cut(uint64_t n)
{
	char text[320], what[128] = "";

	if (atomic_load(&first.told))
		snprintf(what, sizeof(what), "; the first was \"%s\" of %zu bytes, %s", first.key,
			 first.bytes, first.left_out ? "left out" : "cut");
	snprintf(
		text, sizeof(text),
		"a value longer than 256 bytes, or beyond 800 of a mark or range in all, was cut "
		"or "
		"left out%s: make it shorter, or put first what matters; names and times are whole",
		what);
	note(text, n);
}

void marker_faults_note(void)
{
	static const char texts[FAULTS][72] = {
		[FAULT_UNBALANCED] = "a range was popped that was not pushed",
		[FAULT_UNKNOWN] = "a range was stopped that was not open",
		[FAULT_DEEP] = "a range was nested deeper than 256 and not recorded",
		[FAULT_MANY] = "a range was started while 65536 were open and not recorded",
		[FAULT_NULL] = "an annotation was given no text, or invalid values",
		[FAULT_CUT_TEXT] = "a text longer than 512 bytes was cut",
		[FAULT_NAMES] = "a name beyond the first 65536 is not counted apart",
		[FAULT_TIMES] = "a range was submitted with times that cannot be; shown as a mark",
	};

	for (unsigned i = 0; i < FAULTS; i++) {
		uint64_t n = atomic_exchange(&faults[i], 0);

		if (n && i == FAULT_CUT_PAYLOAD)
			note_cut(n);
		else if (n)
			note(texts[i], n);
	}
}

void marker_faults_fork_child(void)
{
	for (unsigned i = 0; i < FAULTS; i++)
		atomic_store(&faults[i], 0);
	atomic_store(&first.claimed, false);
	atomic_store(&first.told, false);
}
