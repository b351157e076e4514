/* SPDX-License-Identifier: Apache-2.0 */
/* Marks and ranges that are over when they are told of, with times that the program took itself. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/marker/hide.h"
#include "core/marker/marker.h"
#include "core/publish/publish.h"

#define FUTURE_NS 1000000    /* how far a time may lie ahead: readings of two clocks */
#define PAST_NS   1000000000 /* and how far before the process: its age is known in 10 ms */

/* ---- times that cannot be ---- */

/* Nanoseconds since the process began; 0: not known. */
static uint64_t process_age(void)
{
	char text[1024];
	int saved = errno, file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = file >= 0 ? read(file, text, sizeof(text) - 1) : -1;
	unsigned long long began = 0;
	uint64_t now = clock_ns(CLOCK_BOOTTIME);
	long rate = sysconf(_SC_CLK_TCK);
	const char *at;

	if (file >= 0)
		close(file);
	errno = saved;
	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ')'); /* the name before it may hold anything */
	for (unsigned field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at || rate <= 0 || sscanf(at, "%llu", &began) != 1)
		return 0;
	began = began * (1000000000ull / (unsigned long)rate);
	return now > began ? now - began : 0;
}

/* Node time before which this process did nothing. */
static uint64_t earliest(void)
{
	static _Atomic uint64_t known;
	uint64_t age, now, at = atomic_load(&known);

	if (at)
		return at;
	age = process_age();
	now = kymo_time();
	at = age && age + PAST_NS < now ? now - age - PAST_NS : 1;
	atomic_store(&known, at);
	return at;
}

uint64_t marker_host_time(kymo_clock_t clock, uint64_t units)
{
	return publish_clock_host(publish_clock_id(clock), publish_clock_ns(clock, units));
}

bool marker_possible(kymo_clock_t clock, uint64_t start, uint64_t end)
{
	return start <= end && marker_host_time(clock, start) >= earliest() &&
	       marker_host_time(clock, end) <= kymo_time() + FUTURE_NS;
}

/* Shown where it was submitted, with what was said. */
static void submit_impossible(const kymo_marker_t *k, uint64_t start, uint64_t end)
{
	enum { MORE = 3, MOST = 64 };
	kymo_payload_t all[MORE + MOST] = {kymo_text("times", "impossible"),
					   kymo_uint64("begin", start), kymo_uint64("end", end)};
	uint32_t more = k->payload && k->payload_count < MOST ? k->payload_count : 0;
	kymo_marker_t m = *k;

	marker_fault(FAULT_TIMES);
	if (more)
		memcpy(all + MORE, k->payload, more * sizeof(all[0]));
	m.payload = all;
	m.payload_count = MORE + more;
	marker_mark(&m);
}

/* ---- records ---- */

static void put_text(struct wire_enc *e, const kymo_marker_t *k)
{
	const char *text = k->string ? k->string->text : k->name;
	const struct marker_name *name = NULL;
	uint32_t id = k->string ? marker_string_id(k->string) : 0;

	if (!text)
		marker_fault(FAULT_NULL);
	else if (!id)
		name = marker_name(text);
	id = name ? name->id : id;
	wire_unsigned(e, MARKER_NAME, id);
	if (!id && text)
		wire_array(e, MARKER_TEXT, text, strnlen(text, KYMO_STRING_MAX), 1,
			   KYMO_STRING_MAX);
}

static void put_fields(struct wire_enc *e, const kymo_marker_t *k, int64_t scope)
{
	uint8_t payload[MARKER_PAYLOAD_MAX];
	size_t used = marker_payload_put(payload, 0, k->payload, k->payload_count);

	wire_unsigned(e, MARKER_SCOPE, (uint64_t)scope);
	put_text(e, k);
	wire_unsigned(e, MARKER_DOMAIN, marker_string_id(k->domain));
	wire_unsigned(e, MARKER_CATEGORY, marker_string_id(k->category));
	wire_unsigned(e, MARKER_COLOR, k->color);
	if (used)
		wire_array(e, MARKER_PAYLOAD, payload, used, 1, MARKER_PAYLOAD_MAX);
	wire_unsigned(e, MARKER_HOW, MARKER_ENDED);
	wire_unsigned(e, MARKER_PROCESS_THREAD, scope ? cap_thread_current->index : 0);
}

static void write_submitted(const kymo_marker_t *k, const kymo_publication_t *p, int64_t scope)
{
	struct cap_op *op = &marker_ops[MARKER_OP_SUBMITTED_MARK];
	uint64_t now = tick_now();
	struct cap_submission submission;
	struct cap_frame f;
	struct wire_enc e;

	if (scope)
		op = &marker_ops[MARKER_OP_SUBMITTED_RANGE];
	if (!cap_submission_take(&submission, NULL, op, NULL))
		return;
	submission.scope = 0; /* that of now need not have been that of then */
	if (cap_activity_begin(&f, &e, op, &submission, now, now,
			       MARKER_PROCESS_FIELDS + TIMED_FIELDS)) {
		bool outermost = core_publishing_begin(f.id);

		put_fields(&e, k, scope);
		core_timed_put(&e, MARKER_PROCESS_FIELDS, p, 0);
		cap_activity_commit(&f, &e);
		if (outermost)
			core_publishing_end();
	}
	cap_submission_end(&submission);
}

void marker_submit(const kymo_marker_t *k, kymo_clock_t clock, uint64_t start, uint64_t end)
{
	const kymo_publication_t p = {.clock = clock, .start = start, .end = end};
	int64_t scope = marker_new_scope();

	if (!scope || marker_hides(k))
		return;
	if (!k || k->size < sizeof(*k))
		marker_fault(FAULT_NULL);
	else if (!marker_possible(clock, start, end))
		submit_impossible(k, start, end);
	else
		write_submitted(k, &p, start == end ? 0 : scope);
}
