/* SPDX-License-Identifier: Apache-2.0 */
/* The picture as lines of text: for a terminal of any size, and for `--once`. Nothing in it depends on colours. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/brief_names.h"
#include "analysis/table.h"
#include "base/plain.h"
#include "base/units.h"
#include "base/vec.h"
#include "cli/run.h"
#include "cli/top.h"

enum { NUMBER = 10, NUMBER_WIDE = 12, WIDE = 100, NAME_LEAST = 12, ROWS_ONCE = 10 };

/* ---- lines ------------------------------------------------------------------------------------- */

static struct top_line *line(struct top_picture *p, enum top_weight weight)
{
	if (!vec_reserve_zero(&p->lines, &p->room, p->count, 1)) {
		p->failed = true;
		return NULL;
	}
	p->lines[p->count] = (struct top_line){.weight = weight};
	return &p->lines[p->count++];
}

/* Cut to the width. */
static void add_line(struct top_picture *p, const struct top_look *look, enum top_weight weight,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));
static void add_line(struct top_picture *p, const struct top_look *look, enum top_weight weight,
		     const char *format, ...)
{
	struct top_line *l = line(p, weight);
	struct text t = {0};
	va_list args;

	va_start(args, format);
	plain_vaddf(&t, format, args);
	va_end(args);
	if (l && t.s)
		plain_add_cut(&l->text, t.s, look->width);
	text_release(&t);
}

void top_picture_release(struct top_picture *p)
{
	for (unsigned i = 0; i < p->count; i++)
		text_release(&p->lines[i].text);
	free(p->lines);
	*p = (struct top_picture){0};
}

/* ---- numbers ----------------------------------------------------------------------------------- */

/* Exact below a million, else four digits. */
static const char *number_text(double v, char out[UNITS_TEXT])
{
	static const char units[] = " kMGTP";
	unsigned u = 0;

	if (!isfinite(v))
		return "-";
	if (v >= 0 && v < 999999.5 && (v == floor(v) || v >= 100))
		return units_count((uint64_t)round(v), out);
	if (v < 999999.5) {
		snprintf(out, UNITS_TEXT, "%.1f", v);
		return out;
	}
	while (v >= 999.95 && units[u + 1]) {
		v /= 1000;
		u++;
	}
	snprintf(out, UNITS_TEXT, "%.*f %c", v < 9.9995 ? 3 : v < 99.995 ? 2 : 1, v, units[u]);
	return out;
}

static const char *rate_text(double v, char out[UNITS_TEXT])
{
	char number[UNITS_TEXT];

	if (!isfinite(v))
		return "-";
	if (v >= 10000 && v < 999999.5)
		snprintf(number, sizeof(number), "%.1f k", v / 1000);
	else
		snprintf(number, sizeof(number), "%s", number_text(v, out));
	snprintf(out, UNITS_TEXT, "%.24s/s", number);
	return out;
}

static const char *share_text(double v, char out[UNITS_TEXT])
{
	if (!isfinite(v))
		return "-";
	snprintf(out, UNITS_TEXT, "%.1f %%", 100 * v);
	return out;
}

static const char *time_text(double ns, char out[UNITS_TEXT])
{
	return isfinite(ns) ? units_time(ns > 0 ? (uint64_t)ns : 0, out) : "-";
}

static const char *bytes_text(double bytes, char out[UNITS_TEXT])
{
	return isfinite(bytes) ? units_bytes(bytes > 0 ? bytes : 0, out) : "-";
}

static const char *byte_rate_text(double rate, char out[UNITS_TEXT])
{
	return isfinite(rate) ? units_rate(rate > 0 ? rate : 0, out) : "-";
}

/* The line has no room for more. */
static const char *direction_text(const char *direction)
{
	if (strcmp(direction, "device to host") == 0)
		return "to host";
	if (strcmp(direction, "host to device") == 0)
		return "to device";
	return strcmp(direction, "device") == 0 ? "in devices" : direction;
}

/* ---- head -------------------------------------------------------------------------------------- */

struct totals {
	double kernels, kernels_then, overhead, unrecorded;
	uint32_t running, ended, ranks;
};

static struct totals add_up(const struct follow *f)
{
	struct totals t = {0};

	for (uint32_t i = 0; i < f->process_count; i++) {
		const struct follow_process *p = f->processes[i];

		if (!top_is_process(p))
			continue;
		t.kernels += p->kernels_sum.count;
		t.kernels_then += p->kernels_then.count;
		t.overhead += top_overhead_ns(p);
		t.unrecorded += p->unrecorded_calls;
		t.running += !p->ended;
		t.ended += p->ended;
		t.ranks += p->rank >= 0;
	}
	return t;
}

/* One that goes on, if any does. */
static const struct follow_recording *first_of(const struct follow *f)
{
	for (uint32_t i = 0; i < f->recording_count; i++)
		if (f->recordings[i]->running)
			return f->recordings[i];
	return f->recording_count ? f->recordings[0] : NULL;
}

/* What is left of the width goes to the name; a path loses its beginning. */
static void draw_title(struct top_picture *p, const struct follow *f, const struct top_look *look)
{
	const struct follow_recording *r = first_of(f);
	char state[64], time[UNITS_TEXT], more[32] = "";
	struct text name = {0};
	unsigned room;

	snprintf(state, sizeof(state), "%s  %s", time_text((double)top_elapsed(f), time),
		 look->held           ? "HELD"
		 : follow_running(f)  ? "recording"
		 : f->recording_count ? "ENDED"
				      : "waiting");
	if (f->recording_count > 1)
		snprintf(more, sizeof(more), " and %u more", f->recording_count - 1);
	room = look->width > strlen(state) + strlen(more) + 8
		       ? look->width - (unsigned)(strlen(state) + strlen(more)) - 8
		       : 1;
	if (r) {
		size_t n = strlen(r->trace), cut = n > room && room > 3 ? n - room + 3 : 0;

		text_addf(&name, "%s%s", cut ? "..." : "", r->trace + cut);
	}
	add_line(p, look, TOP_STRONG, "kymo  %s%s%*s%s", name.s ? name.s : "no recording", more,
		 (int)(name.s && room > plain_width(name.s) ? room - plain_width(name.s) : 0) + 2,
		 "", state);
	text_release(&name);
}

static void draw_program(struct top_picture *p, const struct follow *f, const struct top_look *look,
			 const struct totals *t)
{
	struct text words = {0}, counts = {0};

	for (uint32_t i = 0; i < f->recording_count; i++) {
		const struct follow_recording *r = f->recordings[i];

		if (!r->command)
			continue;
		text_add(&words, words.length ? "; " : "");
		trace_command_words(r->command, true, &words);
		text_add(&words, r->running || f->recording_count == 1 ? "" : " (ended)");
	}
	text_addf(&counts, "%u process%s", t->running, t->running == 1 ? "" : "es");
	if (t->ranks)
		text_addf(&counts, " (%u rank%s)", t->ranks, plural(t->ranks));
	if (t->ended)
		text_addf(&counts, ", %u ended", t->ended);
	if (f->unrecorded)
		text_addf(&counts, ", %u NOT RECORDED", f->unrecorded);
	add_line(p, look, TOP_PLAIN, "%s: %s", counts.s ? counts.s : "",
		 words.s ? words.s : "nothing of this user is being recorded");
	text_release(&words);
	text_release(&counts);
}

static void draw_rates(struct top_picture *p, const struct follow *f, const struct top_look *look,
		       const struct totals *t)
{
	char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT], e[UNITS_TEXT];

	add_line(p, look, TOP_PLAIN, "Calls    %10s %9s   Kernels %10s %9s   Waiting %s",
		 rate_text(top_per_s(f, f->calls_now, f->calls_then), a),
		 number_text(f->calls_now, b),
		 rate_text(top_per_s(f, t->kernels, t->kernels_then), c),
		 number_text(t->kernels, d), share_text(top_waiting_all(f), e));
}

static void draw_copies(struct top_picture *p, const struct follow *f, const struct top_look *look)
{
	uint32_t *places = top_sort_rows(&f->copies, TOP_BY_TIME);
	char a[UNITS_TEXT], b[UNITS_TEXT];
	struct text t = {0};

	for (uint32_t i = 0; places && i < f->copies.count; i++) {
		const struct follow_row *r = &f->copies.at[places[i]];

		if (r->now.count > 0)
			text_addf(&t, "%s%s %s (%s)", t.length ? ", " : "", direction_text(r->name),
				  byte_rate_text(top_per_s(f, r->now.bytes, r->then.bytes), a),
				  bytes_text(r->now.bytes, b));
	}
	add_line(p, look, TOP_PLAIN, "Copies   %s", t.s ? t.s : "none");
	text_release(&t);
	free(places);
}

static void draw_memory(struct top_picture *p, const struct follow *f, const struct top_look *look)
{
	double sums[TOP_MEMORY_KINDS] = {0};
	bool there[TOP_MEMORY_KINDS] = {false};
	char a[UNITS_TEXT];
	struct text t = {0};

	for (uint32_t i = 0; i < f->memory_count; i++) {
		uint32_t kind = f->memory[i].kind < TOP_MEMORY_KINDS ? f->memory[i].kind : 0;

		sums[kind] += f->memory[i].bytes;
		there[kind] |= f->memory[i].peak > 0;
	}
	for (unsigned i = 0; i < TOP_MEMORY_KINDS; i++)
		if (there[i])
			text_addf(&t, "%s%s %s", t.length ? ", " : "", top_memory_kinds[i],
				  bytes_text(sums[i], a));
	add_line(p, look, TOP_PLAIN, "Memory   %s",
		 !follow_complete(f) ? "not known: not all records were looked into"
		 : t.s               ? t.s
				     : "none of devices");
	text_release(&t);
}

static void draw_ranks(struct top_picture *p, const struct follow *f, const struct top_look *look)
{
	const struct follow_process *slowest, *fastest;
	char a[UNITS_TEXT], b[UNITS_TEXT];

	if (top_extremes(f, &slowest, &fastest))
		add_line(p, look, TOP_PLAIN,
			 "Ranks    slowest %lld (waits %s), fastest %lld (waits %s)",
			 (long long)slowest->rank, share_text(top_waiting(f, slowest), a),
			 (long long)fastest->rank, share_text(top_waiting(f, fastest), b));
}

static void draw_cost(struct top_picture *p, const struct follow *f, const struct top_look *look,
		      const struct totals *t)
{
	char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT], e[UNITS_TEXT];
	struct follow_losses lost = follow_lost(f);

	add_line(p, look, TOP_PLAIN, "Lost     %s record%s   Overhead %s, %s   Written %s (%s)",
		 number_text(lost.records, a), lost.records == 1 ? "" : "s",
		 time_text(t->overhead, b), share_text(top_overhead_share(f), c),
		 byte_rate_text(top_per_s(f, f->written_now, f->written_then), d),
		 bytes_text(f->written_now, e));
	if (lost.definitions > 0 || lost.overwritten > 0)
		add_line(p, look, TOP_PLAIN, "         %s definitions lost, %s records overwritten",
			 number_text(lost.definitions, a), number_text(lost.overwritten, b));
}

/* What is written last of a path. */
static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void draw_silence(struct top_picture *p, const struct follow *f, const struct top_look *look)
{
	char a[UNITS_TEXT];

	for (uint32_t i = 0; i < f->recording_count; i++)
		if (f->recordings[i]->silent)
			add_line(p, look, TOP_STRONG,
				 "No answer from the drain for %s (stopped?): buffers fill up: %s",
				 time_text((double)f->recordings[i]->silent, a),
				 base_of(f->recordings[i]->trace));
}

static void draw_doubts(struct top_picture *p, const struct follow *f, const struct top_look *look,
			const struct totals *t)
{
	char a[UNITS_TEXT];

	if (t->unrecorded > 0)
		add_line(p, look, TOP_PLAIN, "         %s calls are left out in this mode",
			 number_text(t->unrecorded, a));
	if (!follow_complete(f))
		add_line(p, look, TOP_STRONG, "Estimated: %s of the records were looked into",
			 share_text(top_read_share(f), a));
	if (f->damaged)
		add_line(p, look, TOP_STRONG, "Damaged: %s blocks of raw files could not be read",
			 number_text((double)f->damaged, a));
	if (top_age(f) > 1000000000)
		add_line(p, look, TOP_STRONG,
			 "Up to %s old: only files can be seen, which get full chunks",
			 time_text((double)top_age(f), a));
	if (f->failed)
		add_line(p, look, TOP_STRONG, "Memory ran out: numbers are too small");
}

static void draw_head(struct top_picture *p, const struct follow *f, const struct top_look *look)
{
	const struct totals t = add_up(f);

	draw_title(p, f, look);
	draw_program(p, f, look, &t);
	draw_rates(p, f, look, &t);
	draw_copies(p, f, look);
	draw_memory(p, f, look);
	draw_ranks(p, f, look);
	draw_cost(p, f, look, &t);
	draw_silence(p, f, look);
	draw_doubts(p, f, look, &t);
}

/* ---- tables ------------------------------------------------------------------------------------ */

static unsigned number_width(const struct top_look *look)
{
	return look->width < WIDE ? NUMBER : NUMBER_WIDE;
}

/* What is left beside `columns` numbers for a name and a space. */
static unsigned name_room(const struct top_look *look, unsigned columns)
{
	unsigned numbers = number_width(look) * columns;

	return look->width > numbers + NAME_LEAST ? look->width - numbers : NAME_LEAST;
}

/* The name, as wide as there is room beside `columns` numbers. */
static void add_name(struct text *out, const struct top_look *look, unsigned columns,
		     const char *name)
{
	unsigned room = name_room(look, columns);
	struct text plain = {0};
	unsigned took = 0;

	plain_add(&plain, name, strlen(name));
	if (plain.s && plain_width(plain.s) > room - 1) {
		took = plain_add_cut(out, plain.s, room - 3) + 2;
		text_add(out, "..");
	} else if (plain.s) {
		took = plain_add_cut(out, plain.s, room - 1);
	}
	text_addf(out, "%*s", (int)(room - took), "");
	text_release(&plain);
}

static void add_cell(struct text *out, const struct top_look *look, const char *s)
{
	text_addf(out, "%*s", (int)number_width(look), s);
}

static void end_row(struct top_picture *p, const struct top_look *look, enum top_weight weight,
		    struct text *row)
{
	struct top_line *l = line(p, weight);

	if (l && row->s)
		plain_add_cut(&l->text, row->s, look->width);
	text_release(row);
}

static void add_heading(struct top_picture *p, const struct top_look *look, const char *name,
			const char *const *columns)
{
	struct text row = {0};
	unsigned n = 0;

	while (columns[n])
		n++;
	add_name(&row, look, n, name);
	for (unsigned i = 0; i < n; i++)
		add_cell(&row, look, columns[i]);
	end_row(p, look, TOP_HEADING, &row);
}

/* ns of all rows of a table, and as they were at the look before. */
struct sums {
	double now, then;
};

enum { ROW_NUMBERS = 5 };

static void draw_row(struct top_picture *p, const struct follow *f, const struct top_look *look,
		     const struct follow_row *r, const char *name, const struct sums *all)
{
	struct text row = {0};
	char a[UNITS_TEXT];

	add_name(&row, look, ROW_NUMBERS, name);
	add_cell(&row, look, rate_text(top_per_s(f, r->now.count, r->then.count), a));
	add_cell(&row, look, number_text(r->now.count, a));
	add_cell(&row, look, time_text(r->now.ns, a));
	add_cell(&row, look, share_text(all->now > 0 ? r->now.ns / all->now : NAN, a));
	add_cell(&row, look,
		 share_text(f->interval && all->now > all->then
				    ? (r->now.ns - r->then.ns) / (all->now - all->then)
				    : NAN,
			    a));
	end_row(p, look, TOP_PLAIN, &row);
}

/* So many rows, with names that differ where they can; see brief_names(). */
static void draw_some(struct top_picture *p, const struct follow *f, const struct top_look *look,
		      const struct follow_row *const *rows, unsigned count, const struct sums *all)
{
	struct text names[BRIEF_NAMES_MOST] = {0};

	for (unsigned i = 0; i < count; i++)
		text_add(&names[i], rows[i]->name);
	brief_names(names, count, name_room(look, ROW_NUMBERS) - 1);
	for (unsigned i = 0; i < count; i++) {
		draw_row(p, f, look, rows[i], names[i].s ? names[i].s : "", all);
		text_release(&names[i]);
	}
}

/* `most` rows from look->first on. Returns how many there are. */
static unsigned draw_rows(struct top_picture *p, const struct follow *f,
			  const struct top_look *look, const struct follow_rows *rows,
			  const char *name, unsigned most)
{
	static const char *const columns[ROW_NUMBERS + 1] = {"rate",  "count", "time",
							     "share", "now",   NULL};
	const struct follow_row *some[BRIEF_NAMES_MOST];
	uint32_t *places = top_sort_rows(rows, look->order), n = 0;
	unsigned count = 0;
	struct sums all = {0};

	for (uint32_t i = 0; i < rows->count; i++) {
		all.now += rows->at[i].now.ns;
		all.then += rows->at[i].then.ns;
	}
	add_heading(p, look, name, columns);
	for (uint32_t i = 0; places && i < rows->count; i++) {
		const struct follow_row *r = &rows->at[places[i]];

		if (r->now.count <= 0 || n++ < look->first || n > look->first + most)
			continue;
		some[count++] = r;
		if (count == BRIEF_NAMES_MOST) {
			draw_some(p, f, look, some, count, &all);
			count = 0;
		}
	}
	draw_some(p, f, look, some, count, &all);
	free(places);
	return n;
}

static unsigned draw_devices(struct top_picture *p, const struct follow *f,
			     const struct top_look *look, unsigned most)
{
	static const char *const columns[] = {"busy now", "busy",      "kernels/s",
					      "kernels",  "under way", NULL};
	unsigned n = 0;
	char a[UNITS_TEXT];

	add_heading(p, look, "Device", columns);
	for (uint32_t i = 0; i < f->device_count; i++) {
		const struct follow_device *d = &f->devices[i];
		struct text row = {0}, name = {0};

		if ((!d->now.count && !d->under_way) || n++ < look->first || n > look->first + most)
			continue;
		if (d->name)
			text_addf(&name, "%u %s", d->number, d->name);
		add_name(&row, look, 5, name.s ? name.s : "(no device)");
		add_cell(&row, look, share_text(top_busy_now(f, d), a));
		add_cell(&row, look, share_text(top_busy(f, d), a));
		add_cell(&row, look, rate_text(top_per_s(f, d->now.count, d->then.count), a));
		add_cell(&row, look, number_text(d->now.count, a));
		add_cell(&row, look, number_text((double)d->under_way, a));
		end_row(p, look, TOP_PLAIN, &row);
		text_release(&name);
	}
	return n;
}

/* The program without its folder; a call that is open stands where its arguments do else. */
static void add_process_name(struct text *out, const struct follow_process *p)
{
	const struct follow_op *open =
		p->open.start && p->open.op < p->op_room ? &p->ops[p->open.op] : NULL;
	const char *words = p->program ? p->program : "", *end = words + strcspn(words, " "),
		   *name = words;

	for (const char *c = words; c < end; c++)
		name = *c == '/' ? c + 1 : name;
	if (p->rank >= 0)
		text_addf(out, "rank %lld, ", (long long)p->rank);
	text_addf(out, "%u %.*s", p->header.pid, (int)(end - name), name);
	if (p->ended)
		text_add(out, ", ended");
	else if (open && open->name)
		text_addf(out, " in %s", open->name);
	else
		text_add(out, end);
}

static unsigned draw_processes(struct top_picture *p, const struct follow *f,
			       const struct top_look *look, unsigned most)
{
	static const char *const columns[] = {"calls/s", "calls", "waiting",
					      "kernels", "lost",  NULL};
	uint32_t count, *places = top_sort_processes(f, look->order, &count);
	char a[UNITS_TEXT];

	add_heading(p, look, "Process", columns);
	for (uint32_t i = look->first; places && i < count && i < look->first + most; i++) {
		const struct follow_process *q = f->processes[places[i]];
		struct text row = {0}, name = {0};

		add_process_name(&name, q);
		add_name(&row, look, 5, name.s ? name.s : "");
		add_cell(&row, look,
			 rate_text(top_per_s(f, q->calls.count, q->calls_then.count), a));
		add_cell(&row, look, number_text(q->calls.count, a));
		add_cell(&row, look, share_text(top_waiting(f, q), a));
		add_cell(&row, look, number_text(q->kernels_sum.count, a));
		add_cell(&row, look, number_text(top_lost(q), a));
		end_row(p, look, TOP_PLAIN, &row);
		text_release(&name);
	}
	free(places);
	return count;
}

/* ---- the picture ------------------------------------------------------------------------------- */

static uint32_t used_rows(const struct follow_rows *rows)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < rows->count; i++)
		n += rows->at[i].now.count > 0;
	return n;
}

static uint32_t used_devices(const struct follow *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->device_count; i++)
		n += f->devices[i].now.count > 0 || f->devices[i].under_way > 0;
	return n;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Devices, kernels and calls share the lines that are left; who needs fewer leaves them to the others. */
static void draw_overview(struct top_picture *p, const struct follow *f,
			  const struct top_look *look, unsigned room)
{
	uint32_t devices = used_devices(f), kernels = used_rows(&f->kernels),
		 calls = used_rows(&f->calls);
	unsigned tables = (devices > 0) + (kernels > 0) + 1, half;

	room = room > tables ? room - tables : 0;
	if (devices) {
		devices = least(devices, room / 4 > 1 ? room / 4 : 1);
		draw_devices(p, f, look, devices);
		room = room > devices ? room - devices : 0;
	}
	half = room / 2 + room % 2;
	if (kernels) {
		kernels = least(kernels, room - least(calls, half));
		draw_rows(p, f, look, &f->kernels, "Kernel", kernels);
		room = room > kernels ? room - kernels : 0;
	}
	draw_rows(p, f, look, &f->calls, "Call", room);
}

static void draw_help(struct top_picture *p, const struct top_look *look)
{
	static const char *const lines[] = {
		"1 overview   2 kernels   3 calls   4 processes   5 devices   Tab the next one",
		"s   what tables are sorted by: time since the start, time in the last interval,",
		"    count, name; of processes: waiting, calls in the last interval, calls, rank",
		"Up Down PgUp PgDn Home   scroll the table",
		"p or Space   hold the picture; the program is not held",
		"+ -   look more often, less often",
		"q   leave; the recording goes on",
		"",
		"now        of the last interval; all else since the start",
		"busy       time that at least one kernel ran on the device",
		"Waiting    of the threads' time, that of calls that wait for others or devices",
		"slowest    the rank that waits least: the others wait for it",
		"under way  commands that were submitted and have not been seen complete"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		add_line(p, look, TOP_PLAIN, "%s", lines[i]);
}

static void draw_view(struct top_picture *p, const struct follow *f, const struct top_look *look,
		      unsigned room)
{
	struct top_look plain = *look;
	unsigned rows = room > 1 ? room - 1 : 0;

	switch (look->view) {
	case TOP_KERNELS:
		p->rows = draw_rows(p, f, look, &f->kernels, "Kernel", rows);
		break;
	case TOP_CALLS:
		p->rows = draw_rows(p, f, look, &f->calls, "Call", rows);
		break;
	case TOP_PROCESSES:
		p->rows = draw_processes(p, f, look, rows);
		break;
	case TOP_DEVICES:
		p->rows = draw_devices(p, f, look, rows);
		break;
	default:
		plain.first = 0;
		draw_overview(p, f, &plain, room);
	}
}

static void draw_once(struct top_picture *p, const struct follow *f, const struct top_look *look)
{
	struct top_look plain = *look;

	plain.first = 0;
	line(p, TOP_PLAIN);
	draw_devices(p, f, &plain, ROWS_ONCE);
	line(p, TOP_PLAIN);
	draw_rows(p, f, &plain, &f->kernels, "Kernel", ROWS_ONCE);
	line(p, TOP_PLAIN);
	draw_rows(p, f, &plain, &f->calls, "Call", ROWS_ONCE);
	line(p, TOP_PLAIN);
	if (draw_processes(p, f, &plain, ROWS_ONCE) > ROWS_ONCE)
		add_line(p, look, TOP_PLAIN, "...");
}

static void draw_keys(struct top_picture *p, const struct top_look *look)
{
	static const char *const orders[TOP_ORDERS] = {"time", "now", "count", "name"},
				 *const process_orders[TOP_ORDERS] = {"waiting", "calls now",
								      "calls", "rank"};
	const char *order =
		look->view == TOP_PROCESSES ? process_orders[look->order] : orders[look->order];

	while (p->count + 1 < look->height && line(p, TOP_PLAIN))
		;
	add_line(p, look, TOP_HEADING,
		 "q quit  h help  p %s  1-5 views  s sort: %-9s  every %.1f s",
		 look->held ? "go on" : "hold ", order, (double)look->delay_ns / 1e9);
}

void top_draw(struct top_picture *p, const struct follow *f, const struct top_look *look)
{
	unsigned room;

	draw_head(p, f, look);
	if (!look->height) {
		draw_once(p, f, look);
		return;
	}
	line(p, TOP_PLAIN);
	room = look->height > p->count + 1 ? look->height - p->count - 1 : 0;
	if (look->help)
		draw_help(p, look);
	else
		draw_view(p, f, look, room);
	while (p->count + 1 > look->height && p->count)
		text_release(&p->lines[--p->count].text);
	draw_keys(p, look);
}
