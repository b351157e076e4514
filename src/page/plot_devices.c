/* SPDX-License-Identifier: Apache-2.0 */
/* Plots of devices: how busy they are when, why they idle, copies beside kernels, how long kernels take. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "page/plot.h"

enum {
	BINS = 300,
	HEAT_ROWS = 48, /* neighbours are one row where there are more devices */
	BAR_ROWS = 24,
	PARTS = IDLE_CAUSES + 2,
	DURATIONS = 64,
	BUSY_GREY = 0xd9d9d4,
	REST_GREY = 0xebebe7
};

static bool has_devices(const struct page *p)
{
	return p->read.timeline->devices_count;
}

static const char *label_of(const struct page *p, uint32_t device)
{
	return p->read.trace->agents[p->read.timeline->devices[device].agent].label;
}

static const struct page *sorted; /* by_label() */

/* #2 before #10. */
static int by_label(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strverscmp(label_of(sorted, x), label_of(sorted, y));

	return order ? order : (x > y) - (x < y);
}

/* Devices in the order of their names; to be freed. NULL: no memory. */
static uint32_t *sort_devices(const struct page *p)
{
	const uint32_t n = p->read.timeline->devices_count;
	uint32_t *order = calloc(n + 1u, sizeof(*order));

	for (uint32_t i = 0; order && i < n; i++)
		order[i] = i;
	sorted = p;
	if (order)
		qsort(order, n, sizeof(*order), by_label);
	return order;
}

/* ---- busy over time ---------------------------------------------------------------------------- */

static int64_t edge(const struct timeline *tl, unsigned bin)
{
	return tl->start + (int64_t)((double)timeline_length(tl) / BINS * bin + 0.5);
}

/* Of the devices of a row, in one bin. */
static double busy_share(const struct timeline *tl, const uint32_t *devices, uint32_t count,
			 unsigned bin)
{
	int64_t from = edge(tl, bin), to = edge(tl, bin + 1);
	double busy = 0;

	for (uint32_t i = 0; i < count; i++)
		busy += (double)intervals_within(&tl->devices[devices[i]].all, from, to);
	return to > from ? busy / count / (double)(to - from) : 0;
}

static void heat_row(const struct page *p, struct draw *d, const struct plot_box *row,
		     const uint32_t *devices, uint32_t count)
{
	const struct timeline *tl = p->read.timeline;
	double wide = (row->right - row->left) / BINS, high = row->bottom - row->top;
	double gap = high > 12 ? 2 : 0;
	char told[120], a[UNITS_TEXT], b[UNITS_TEXT], name[160];

	for (unsigned k = 0; k < BINS; k++) {
		double share = busy_share(tl, devices, count, k);

		snprintf(told, sizeof(told), "%.4f %% busy from %s to %s", 100 * share,
			 units_time((uint64_t)(edge(tl, k) - tl->start), a),
			 units_time((uint64_t)(edge(tl, k + 1) - tl->start), b));
		draw_rect(d, row->left + k * wide, row->top, wide, high - gap,
			  share > 0 ? plot_cividis(share) : DRAW_EMPTY, told);
	}
	snprintf(name, sizeof(name), "%.150s%s", label_of(p, devices[0]), count > 1 ? " ..." : "");
	plot_label(d, row->left - 12, row->top + high / 2, high, name);
}

static bool draw_heat(const struct page *p, struct draw *d, unsigned picture)
{
	const uint32_t n = p->read.timeline->devices_count, each = (n + HEAT_ROWS - 1) / HEAT_ROWS;
	const uint32_t rows = (n + each - 1) / each;
	double high = fmin(240, 640.0 / rows);
	struct plot_box b = {420, 140, PLOT_WIDTH - 80, 140 + rows * high};
	uint32_t *order = sort_devices(p);
	const bool ok = order;

	for (uint32_t i = 0; ok && i < rows; i++) {
		struct plot_box row = {b.left, b.top + i * high, b.right, b.top + (i + 1) * high};
		uint32_t first = i * each, count = first + each > n ? n - first : each;

		heat_row(p, d, &row, order + first, count);
	}
	if (each > 1)
		plot_note(d,
			  "the mean of %" PRIu32 " neighbours in each row: there are %" PRIu32
			  " devices",
			  each, n);
	plot_scale(d, &b, "0 %", "100 %");
	plot_axis_time(d, &b, p);
	free(order);
	return ok;
}

static const struct plot busy = {
	"devices",   "Devices over time", "share of each interval in which a device has work",
	has_devices, draw_heat,           NULL};

/* ---- bars of parts ----------------------------------------------------------------------------- */

struct part {
	const char *name;
	uint32_t colour;
	unsigned texture;
};

/* ns: of each part; `seen` tells which there are. */
static void draw_bar(struct draw *d, const struct plot_box *bar, const struct part *parts,
		     unsigned count, const uint64_t *ns, double length, bool *seen)
{
	double x = bar->left, high = bar->bottom - bar->top;

	for (unsigned k = 0; k < count; k++) {
		double w = (double)ns[k] / length * (bar->right - bar->left);
		char told[160], time[UNITS_TEXT];

		if (!ns[k])
			continue;
		snprintf(told, sizeof(told), "%s: %" PRIu64 " ns (%s, %.2f %% of the run)",
			 parts[k].name, ns[k], units_time(ns[k], time),
			 100 * (double)ns[k] / length);
		draw_area(d, x, bar->top, w, high, parts[k].colour, parts[k].texture, told);
		seen[k] = true;
		x += w;
	}
}

/* One bar a device. */
static bool draw_bars(const struct page *p, struct draw *d, const struct part *parts,
		      unsigned count,
		      void (*measure)(const struct page *p, uint32_t device, uint64_t *ns))
{
	const uint32_t n = p->read.timeline->devices_count, rows = n < BAR_ROWS ? n : BAR_ROWS;
	const double high = fmin(240, 580.0 / rows), inset = fmin(10, 0.12 * high);
	const struct plot_box b = {420, 140, PLOT_WIDTH - 80, 140 + rows * high};
	struct plot_legend legend[PARTS];
	bool seen[PARTS] = {false};
	unsigned shown = 0;
	uint32_t *order = sort_devices(p);
	const bool ok = order;

	for (uint32_t i = 0; ok && i < rows; i++) {
		const double y = b.top + i * high;
		const struct plot_box bar = {b.left, y + inset, b.right, y + high - inset};
		uint64_t ns[PARTS];

		measure(p, order[i], ns);
		draw_bar(d, &bar, parts, count, ns, (double)timeline_length(p->read.timeline),
			 seen);
		plot_label(d, b.left - 12, y + high / 2, high, label_of(p, order[i]));
	}
	free(order);
	for (unsigned k = 0; k < count; k++)
		if (seen[k])
			legend[shown++] = (struct plot_legend){.colour = parts[k].colour,
							       .texture = parts[k].texture,
							       .text = parts[k].name};
	if (n > rows)
		plot_note(d, "the first %" PRIu32 " of %" PRIu32 " devices; kymo summary has all",
			  rows, n);
	plot_axis_x(d, &b, 100, PLOT_PERCENT, "share of the run");
	plot_legend(d, 40, b.bottom + 98, PLOT_WIDTH - 80, legend, shown);
	return ok;
}

/* ---- why devices idle -------------------------------------------------------------------------- */

static void measure_idle(const struct page *p, uint32_t device, uint64_t *ns)
{
	const struct idle *idle = &p->findings.idle[device];

	ns[0] = idle->kernels;
	ns[1] = idle->transfers;
	for (unsigned k = 0; k < IDLE_CAUSES; k++)
		ns[k + 2] = idle->cause[k];
}

static bool draw_idle(const struct page *p, struct draw *d, unsigned picture)
{
	static const unsigned textures[] = {DRAW_SMOOTH,  DRAW_RISING,   DRAW_CROSSED,
					    DRAW_FALLING, DRAW_STANDING, DRAW_DENSE};
	struct part parts[PARTS] = {{"kernels", BUSY_GREY, DRAW_SMOOTH},
				    {"copies and the like alone", 0xb4b4ae, DRAW_LYING}};

	for (unsigned k = 0; k < IDLE_CAUSES; k++) {
		parts[k + 2] = (struct part){
			idle_name((enum idle_cause)k), plot_series[k % PLOT_SERIES],
			textures[(k + k / PLOT_SERIES) % (sizeof(textures) / sizeof(*textures))]};
	}
	parts[IDLE_UNKNOWN + 2].colour = DRAW_MUTED;
	parts[IDLE_UNKNOWN + 2].texture = DRAW_DOTTED;
	return draw_bars(p, d, parts, PARTS, measure_idle);
}

static const struct plot idle_plot = {
	"idle",
	"Why devices idle",
	"share of the run by what the host did meanwhile, as the summary has it",
	has_devices,
	draw_idle,
	NULL};

/* ---- copies beside kernels --------------------------------------------------------------------- */

static void measure_overlap(const struct page *p, uint32_t device, uint64_t *ns)
{
	const struct tl_device *v = &p->read.timeline->devices[device];
	uint64_t kernels = intervals_length(&v->kernels), copies = intervals_length(&v->transfers);
	uint64_t both = intervals_common(&v->kernels, &v->transfers);
	uint64_t all = kernels + copies - both, length = timeline_length(p->read.timeline);

	ns[0] = kernels - both;
	ns[1] = both;
	ns[2] = copies - both;
	ns[3] = length > all ? length - all : 0;
}

static bool draw_overlap(const struct page *p, struct draw *d, unsigned picture)
{
	const struct part parts[] = {{"kernels alone", plot_series[0], DRAW_SMOOTH},
				     {"both at once", plot_series[2], DRAW_CROSSED},
				     {"copies and the like alone", plot_series[1], DRAW_RISING},
				     {"neither", REST_GREY, DRAW_SMOOTH}};

	return draw_bars(p, d, parts, sizeof(parts) / sizeof(*parts), measure_overlap);
}

static const struct plot overlap = {
	"overlap",
	"Copies beside kernels",
	"share of the run in which a device computes, copies, does both",
	has_devices,
	draw_overlap,
	NULL};

/* ---- how long kernels take --------------------------------------------------------------------- */

static unsigned power_of(uint64_t ns)
{
	return ns ? 63u - (unsigned)__builtin_clzll(ns) : 0;
}

static bool has_kernels(const struct page *p)
{
	const struct timeline *tl = p->read.timeline;

	for (uint32_t i = 0; i < tl->devices_count; i++)
		if (tl->devices[i].number[WORK_KERNEL])
			return true;
	return false;
}

static void count_durations(const struct timeline *tl, uint64_t *count)
{
	for (uint32_t i = 0; i < tl->work_count; i++)
		if (tl->work[i].kind == WORK_KERNEL)
			count[power_of((uint64_t)(tl->work[i].end - tl->work[i].start))]++;
}

static void duration_bar(struct draw *d, const struct plot_box *b, unsigned power, uint64_t count)
{
	double inset = (b->right - b->left) * 0.04;
	char told[120], from[UNITS_TEXT], to[UNITS_TEXT];

	snprintf(told, sizeof(told), "%" PRIu64 " from %s to below %s", count,
		 units_time(UINT64_C(1) << power, from), units_time(UINT64_C(2) << power, to));
	if (count)
		draw_rect(d, b->left + inset, b->top, b->right - b->left - 2 * inset,
			  b->bottom - b->top, plot_series[0], told);
}

static bool draw_durations(const struct page *p, struct draw *d, unsigned picture)
{
	struct plot_box b = {180, 170, PLOT_WIDTH - 80, 770};
	uint64_t count[DURATIONS] = {0}, most = 1;
	unsigned low = DURATIONS - 1, high = 0, every;
	double wide;

	count_durations(p->read.timeline, count);
	for (unsigned i = 0; i < DURATIONS; i++) {
		most = count[i] > most ? count[i] : most;
		low = i < low && count[i] ? i : low;
		high = count[i] ? i : high;
	}
	wide = (b.right - b.left) / (high - low + 1);
	every = wide < 100 ? (unsigned)ceil(100 / wide) : 1;
	plot_axis_y(d, &b, (double)most, PLOT_COUNT, "kernels");
	for (unsigned i = low; i <= high + 1; i++) {
		double left = b.left + (i - low) * wide;
		double tall = i <= high ? (double)count[i] / (double)most * (b.bottom - b.top) : 0;
		struct plot_box bar = {left, b.bottom - tall, left + wide, b.bottom};
		char time[UNITS_TEXT];

		if (i <= high)
			duration_bar(d, &bar, i, count[i]);
		if ((i - low) % every == 0)
			draw_text(d, left, b.bottom + 30, 19, DRAW_PLAIN, DRAW_MIDDLE, DRAW_TEXT,
				  units_time(UINT64_C(1) << i, time));
	}
	draw_text(d, (b.left + b.right) / 2, b.bottom + 58, 19, DRAW_PLAIN, DRAW_MIDDLE, DRAW_MUTED,
		  "device time of a kernel, from the left mark of a bar to below the right one");
	return true;
}

static const struct plot durations = {
	"durations", "How long kernels take", "number of kernels by duration, in powers of two",
	has_kernels, draw_durations,          NULL};

/* ------------------------------------------------------------------------------------------------ */

extern const struct plot plot_bandwidth, plot_memory, plot_messages, plot_comparison,
	plot_telemetry, plot_counters, plot_roofline;
extern const struct plot plot_flame_samples, plot_flame_off_cpu, plot_flame_device,
	plot_flame_stacks, plot_flame_heap;

const struct plot *const plots[] = {&busy,
				    &plot_flame_samples,
				    &plot_flame_device,
				    &plot_flame_stacks,
				    &plot_flame_off_cpu,
				    &plot_flame_heap,
				    &durations,
				    &idle_plot,
				    &overlap,
				    &plot_bandwidth,
				    &plot_memory,
				    &plot_messages,
				    &plot_telemetry,
				    &plot_counters,
				    &plot_roofline,
				    &plot_comparison};
const unsigned plots_count = sizeof(plots) / sizeof(*plots);
