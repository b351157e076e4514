/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kymo list counters`, and looking over what the user wants counted and sampled before a program
 * runs. The library that is loaded into programs knows; it is loaded here for that alone.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/agent.h>
#include <kymo/counter.h>
#include <kymo/sample.h>

#include "analysis/formula.h"
#include "base/numbers.h"
#include "base/perf_named.h"
#include "base/plain.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/list_output.h"
#include "cli/run.h"
#include "launch/launch.h"
#include "telemetry/perf_list.h"
#include "telemetry/telemetry.h"

struct library {
	void *handle;
	__typeof__(kymo_counters) *counters;
	__typeof__(kymo_counter_find) *find;
	__typeof__(kymo_counter_set_parse) *parse;
	__typeof__(kymo_counter_passes) *passes;
	__typeof__(kymo_counter_item) *item;
	__typeof__(kymo_counter_error) *counter_error;
	__typeof__(kymo_sample_check) *sample_check;
	__typeof__(kymo_sample_error) *sample_error;
};

static bool library_open(struct library *l)
{
	char path[PATH_MAX];

	launch_path(cli_libdir(), "libkymo.so.1", path);
	l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!l->handle) {
		cli_error("%s cannot be loaded: %s", path, dlerror());
		return false;
	}
	l->counters = (__typeof__(l->counters))dlsym(l->handle, "kymo_counters");
	l->find = (__typeof__(l->find))dlsym(l->handle, "kymo_counter_find");
	l->parse = (__typeof__(l->parse))dlsym(l->handle, "kymo_counter_set_parse");
	l->passes = (__typeof__(l->passes))dlsym(l->handle, "kymo_counter_passes");
	l->item = (__typeof__(l->item))dlsym(l->handle, "kymo_counter_item");
	l->counter_error = (__typeof__(l->counter_error))dlsym(l->handle, "kymo_counter_error");
	l->sample_check = (__typeof__(l->sample_check))dlsym(l->handle, "kymo_sample_check");
	l->sample_error = (__typeof__(l->sample_error))dlsym(l->handle, "kymo_sample_error");
	if (l->counters && l->find && l->parse && l->passes && l->item && l->counter_error &&
	    l->sample_check && l->sample_error)
		return true;
	cli_error("%s is of another version", path);
	return false;
}

/* Tools may bring counters: what their libraries register when they are loaded is known here as well. */
static void load_tools(const char *tools)
{
	char *list = tools ? strdup(tools) : NULL, *save = NULL;

	for (char *p = list ? strtok_r(list, ":", &save) : NULL; p; p = strtok_r(NULL, ":", &save))
		dlopen(p,
		       RTLD_NOW |
			       RTLD_LOCAL); /* kept; what is wrong with it is told in the trace */
	free(list);
}

/* Of a runtime that has not started: it is not for the launcher to initialise it. */
static bool is_later(const struct library *l, const char *word)
{
	kymo_counter_t counter;

	return l->find(word, 0, &counter) == KYMO_ERROR_STATE;
}

static bool of_preset(const char *option)
{
	return run_options_table.source[knob_find(&run_options_table, option)] == KNOB_PRESET;
}

/* Takes the first item off the list, which it changes; NULL: there is none. */
static char *next_item(const struct library *l, char **list)
{
	char *item = *list + strspn(*list, ",");
	size_t length = l->item(item);

	*list = item[length] ? item + length + 1 : item + length;
	item[length] = '\0';
	return length ? item : NULL;
}

#define OF_KERNELS ":kernel"

/* What is counted of kernels is the counter without it, which is cut off. */
static bool cut_kernel(char *word)
{
	const size_t suffix = strlen(OF_KERNELS), n = strlen(word);

	if (n <= suffix || strcmp(word + n - suffix, OF_KERNELS) != 0)
		return false;
	word[n - suffix] = '\0';
	return true;
}

static kymo_status_t count_device(const kymo_agent_t *a, void *data)
{
	*(uint32_t *)data += a->type == KYMO_AGENT_GPU || a->type == KYMO_AGENT_NPU;
	return KYMO_OK;
}

/*
 * Numbers of devices can be judged once a runtime has told of them: what is no number, or greater than those
 * that this machine has, is a mistake already.
 */
static bool devices_can_be(const char *word)
{
	const char *list = strstr(word, ":device=");
	struct number_list numbers = {0};
	uint32_t count = 0;
	bool ok = true;

	if (!list)
		return true;
	kymo_agents(count_device, &count);
	if (!numbers_parse(&numbers, list + strlen(":device="))) {
		cli_error("--counters: \"%s\": devices are numbers and ranges, as in :device=0,2-3",
			  word);
		ok = false;
	}
	for (uint32_t i = 0; ok && count && i < numbers.count; i++) {
		ok = numbers.at[i].last < count;
		if (!ok)
			cli_error("--counters: \"%s\": this machine has %u device%s: numbers are 0 "
				  "to %u (kymo list devices)",
				  word, count, plural(count), count - 1);
	}
	free(numbers.at);
	return ok;
}

/* Of a preset's counters those that are here; what is not is said. */
static const char *counters_here(struct library *l, const char *list)
{
	char *words = strdup(list), *rest = words;
	kymo_counter_set_t set;
	struct text here = {0};

	for (char *w = words ? next_item(l, &rest) : NULL; w; w = next_item(l, &rest)) {
		if (is_later(l, w) || l->parse("recorder", w, &set) == KYMO_OK)
			text_addf(&here, "%s%s", here.length ? "," : "", w);
		else
			cli_note("--preset: not counted: %s", l->counter_error());
	}
	free(words);
	return here.s; /* kept */
}

/* What is counted twice would be added up twice. */
static bool each_once(struct library *l, const char *list)
{
	char *words = strdup(list), *rest = words;
	bool once = true;

	for (char *w = words ? next_item(l, &rest) : NULL; w && once; w = next_item(l, &rest)) {
		char *others = strdup(rest), *left = others;

		for (char *x = others ? next_item(l, &left) : NULL; x && once;
		     x = next_item(l, &left))
			once = strcmp(w, x) != 0;
		if (!once)
			cli_error("--counters: %s is named twice", w);
		free(others);
	}
	free(words);
	return once;
}

static bool few_enough(const struct library *l, const char *list)
{
	char *words = strdup(list), *rest = words;
	unsigned n = 0;

	while (words && next_item(l, &rest))
		n++;
	free(words);
	if (n > KYMO_COUNTER_CHOICES)
		cli_error(
			"--counters, --metrics: that are %u counters, and a run counts %u at most: "
			"leave some out, or count them in several runs",
			n, KYMO_COUNTER_CHOICES);
	return n <= KYMO_COUNTER_CHOICES;
}

static bool counters_check(struct library *l, const char *list)
{
	char *words = strdup(list), *rest = words;
	kymo_counter_set_t set;
	bool ok = words != NULL, can_be = each_once(l, list) && few_enough(l, list);

	if (ok && !list[strspn(list, ",")])
		ok = l->parse("recorder", list, &set) == KYMO_OK;
	for (char *w = ok ? next_item(l, &rest) : NULL; w && ok && can_be;
	     w = next_item(l, &rest)) {
		const bool kernel = cut_kernel(w);

		if (is_later(l, w))
			can_be = devices_can_be(w);
		else
			ok = l->parse("recorder", w, &set) == KYMO_OK &&
			     (!kernel || l->passes(set, NULL, NULL) == KYMO_OK);
	}
	if (!ok)
		cli_error("--counters: %s; kymo list counters shows what there is",
			  l->counter_error());
	free(words);
	return ok && can_be;
}

/* ---- one run for each pass ---- */

/* What is counted of calls and threads, of kernels on processors, and of those on devices. */
enum kind { OF_CALLS, OF_PROCESSORS, OF_DEVICES, KINDS };

struct planned {
	uint8_t pass_of[KYMO_COUNTER_CHOICES];
	uint32_t passes; /* 0: nothing is counted of them */
	unsigned next;   /* which of its words is the next one */
};

/* Cuts off what says so. */
static enum kind kind_of(const struct library *l, char *word)
{
	if (cut_kernel(word))
		return OF_PROCESSORS;
	return is_later(l, word) ? OF_DEVICES : OF_CALLS;
}

/* Counters of devices are planned for the first one: a word is a choice then. */
static void add_word(struct text *out, const char *word, enum kind kind)
{
	const char *device = kind == OF_DEVICES ? strstr(word, ":device=") : NULL;

	text_addf(out, "%s%.*s%s", out->length ? "," : "",
		  device ? (int)(device - word) : (int)strlen(word), word,
		  kind == OF_DEVICES ? ":device=0" : "");
}

static bool plan(const struct library *l, const char *list, struct planned *p)
{
	kymo_counter_set_t set;

	if (l->parse("recorder", list, &set) == KYMO_OK &&
	    l->passes(set, p->pass_of, &p->passes) == KYMO_OK)
		return true;
	cli_error("--counters: %s", l->counter_error());
	return false;
}

static void start_devices(void);

/* Devices are started here, in the launcher, if any is to count: else nobody can say what fits. */
static bool plan_all(const struct library *l, const char *list, struct planned of[KINDS])
{
	char *words = strdup(list), *rest = words;
	struct text lists[KINDS] = {0};
	bool ok = words != NULL;

	for (char *w = words ? next_item(l, &rest) : NULL; w; w = next_item(l, &rest)) {
		enum kind kind = kind_of(l, w);

		add_word(&lists[kind], w, kind);
	}
	if (lists[OF_DEVICES].length)
		start_devices();
	for (enum kind k = OF_PROCESSORS; k < KINDS; k++) {
		ok = ok && (!lists[k].length || plan(l, lists[k].s, &of[k]));
		text_release(&lists[k]);
	}
	text_release(&lists[OF_CALLS]);
	free(words);
	return ok;
}

/* Of word `n`. */
static struct planned *planned_of(struct planned of[KINDS], bool kernel, uint64_t devices,
				  unsigned n)
{
	return &of[kernel ? OF_PROCESSORS : devices >> n & 1 ? OF_DEVICES : OF_CALLS];
}

/*
 * All that is counted of calls and threads, and of kernels what is in this pass. `devices`: those counters that
 * are of devices, found before these were started.
 */
static const char *of_pass(const struct library *l, const char *list, struct planned of[KINDS],
			   uint64_t devices, unsigned pass)
{
	char *words = strdup(list), *rest = words;
	struct text out = {0};
	unsigned n = 0;

	for (char *w = words ? next_item(l, &rest) : NULL; w; w = next_item(l, &rest), n++) {
		bool kernel = cut_kernel(w);
		struct planned *p = planned_of(of, kernel, devices, n);

		if (!p->passes || p->pass_of[p->next++] == pass)
			text_addf(&out, "%s%s%s", out.length ? "," : "", w,
				  kernel ? OF_KERNELS : "");
	}
	free(words);
	return out.s; /* kept */
}

static uint64_t devices_of(const struct library *l, const char *list)
{
	char *words = strdup(list), *rest = words;
	uint64_t devices = 0;
	unsigned n = 0;

	for (char *w = words ? next_item(l, &rest) : NULL; w && n < 64;
	     w = next_item(l, &rest), n++)
		devices |= (uint64_t)(kind_of(l, w) == OF_DEVICES) << n;
	free(words);
	return devices;
}

static bool counts_kernels(const struct library *l, const char *list)
{
	return list && (strstr(list, OF_KERNELS) || devices_of(l, list));
}

/* The counters of each pass; kept. */
static const char **of_each_pass(const struct library *l, const char *list,
				 struct planned of[KINDS], uint64_t devices, uint32_t passes)
{
	const char **lists = calloc(passes, sizeof(*lists));

	for (uint32_t i = 0; lists && i < passes; i++) {
		for (enum kind k = 0; k < KINDS; k++)
			of[k].next = 0;
		lists[i] = of_pass(l, list, of, devices, i);
	}
	return lists;
}

/* Planning starts devices and asks them of each counter in each pass: whoever began the runs has done that for all. */
static bool take_planned(struct run_options *o)
{
	const char *planned = getenv(PASS_COUNTERS);

	if (planned && o->replay_pass)
		o->counters = strdup(planned); /* kept */
	unsetenv(PASS_COUNTERS);               /* of this run alone */
	return planned && o->replay_pass;
}

unsigned passes_take(struct run_options *o, const char *const **of_each)
{
	struct planned of[KINDS] = {0};
	const char *const *lists;
	uint64_t devices;
	uint32_t passes;
	struct library l;

	if (take_planned(o) || o->replay != RUN_REPLAY_APPLICATION || !o->counters)
		return 1;
	if (!library_open(&l))
		return 0;
	devices = devices_of(&l, o->counters);
	if (!plan_all(&l, o->counters, of))
		return 0;
	passes = of[OF_PROCESSORS].passes > of[OF_DEVICES].passes ? of[OF_PROCESSORS].passes
								  : of[OF_DEVICES].passes;
	passes = passes ? passes : 1;
	if (o->replay_pass < 0 || o->replay_pass > passes) {
		cli_error("--replay-pass %lld: the counters take %u pass%s",
			  (long long)o->replay_pass, passes, passes == 1 ? "" : "es");
		return 0;
	}
	lists = of_each_pass(&l, o->counters, of, devices, passes);
	if (!lists) {
		cli_error("--replay application: %s", strerror(ENOMEM));
		return 0;
	}
	*of_each = lists;
	if (!o->replay_pass)
		return passes;
	o->counters = lists[o->replay_pass - 1];
	return 1;
}

static void add_events(struct text *t)
{
	for (unsigned i = 0; i < PERF_NAMED; i++)
		text_addf(t, "%s%s", i ? ", " : "", perf_named[i].name);
}

static bool event_check(const char *text)
{
	struct text names = {0};
	const struct perf_named *e;
	char reason[256];
	uint64_t every;

	e = perf_named_parse(text, &every);
	if (e && perf_named_try(e, every, reason, sizeof(reason)))
		return true;
	if (e) {
		cli_error("--sample-event %s: %s", text, reason);
		return false;
	}
	add_events(&names);
	cli_error("--sample-event \"%s\" is not EVENT:N, as in page-faults:100; events are %s",
		  text, names.s ? names.s : "");
	text_release(&names);
	return false;
}

static bool sampling_check(const struct run_options *o)
{
	const char *list = o->sample_threads;

	if (o->sample_event && o->sample_hz) {
		cli_error("--sample is by time, --sample-event instead of that: give one of them");
		return false;
	}
	if (o->sample_clock == RUN_SAMPLE_WALL && !o->sample_hz) {
		cli_error("--sample-clock goes with --sample");
		return false;
	}
	if (o->off_cpu && o->sample_clock == RUN_SAMPLE_WALL) {
		cli_error("--off-cpu goes with samples by time on a processor, not with "
			  "--sample-clock wall");
		return false;
	}
	if (list && !o->off_cpu && !o->sample_event && !o->sample_hz) {
		cli_error("--sample-threads goes with --sample, --sample-event or --off-cpu");
		return false;
	}
	if (list && (!*list || *list == ',' || list[strlen(list) - 1] == ',' ||
		     strstr(list, ",,") || strlen(list) > 1000)) {
		cli_error("--sample-threads \"%s\": a name is missing, or there are too many",
			  list);
		return false;
	}
	return !o->sample_event || event_check(o->sample_event);
}

bool measures_check(struct run_options *o)
{
	const kymo_sample_method_t method =
		o->sample_clock == RUN_SAMPLE_WALL ? KYMO_SAMPLE_TIMER : KYMO_SAMPLE_QUIET;
	struct library l;

	if (o->pc_sampling && (o->pc_sampling < 5 || o->pc_sampling > 31)) {
		cli_error("--pc-sampling takes 5 to 31: a sample every 2^N cycles");
		return false;
	}
	if (o->replay_pass && o->replay != RUN_REPLAY_APPLICATION) {
		cli_error("--replay-pass goes with --replay application");
		return false;
	}
	if (o->pc_serialize && !o->pc_sampling) {
		cli_error("--pc-serialize goes with --pc-sampling");
		return false;
	}
	if (!instrumenting_check(o) || !sampling_check(o))
		return false;
	if (!o->counters && !o->sample_hz && !o->off_cpu && !o->count_kernel)
		return true;
	if (o->sample_hz > 10000) {
		cli_error("--sample takes at most 10000 samples a second");
		return false;
	}
	if (!library_open(&l))
		return false;
	if (o->count_kernel && !counts_kernels(&l, o->counters)) {
		cli_error("--count-kernel goes with counters of kernels: --counters NAME:kernel, "
			  "those of devices, --metrics");
		return false;
	}
	if (o->counters)
		load_tools(o->tools);
	if (o->counters && of_preset("counters"))
		o->counters = counters_here(&l, o->counters);
	if (o->counters && !counters_check(&l, o->counters))
		return false;
	if (o->sample_hz && of_preset("sample") && l.sample_check(method) != KYMO_OK) {
		cli_note("--preset: not sampled: %s", l.sample_error());
		o->sample_hz = 0;
	}
	if (o->off_cpu && l.sample_check(KYMO_SAMPLE_PERF) != KYMO_OK) {
		cli_error("--off-cpu: %s", l.sample_error());
		return false;
	}
	if (o->sample_hz && l.sample_check(method) != KYMO_OK) {
		cli_error("--sample: %s%s", l.sample_error(),
			  method == KYMO_SAMPLE_QUIET &&
					  l.sample_check(KYMO_SAMPLE_TIMER) == KYMO_OK
				  ? "; --sample-clock wall samples by timers, which work here"
				  : "");
		return false;
	}
	return true;
}

/* ---- listing ---- */

static void add_dimensions(struct text *out, const kymo_counter_info_t *i)
{
	for (uint32_t d = 0; d < i->dimension_count; d++)
		text_addf(out, "%s%s:%u", d ? "," : "", i->dimensions[d].name,
			  i->dimensions[d].size);
}

struct listing {
	bool available;
	uint32_t device;        /* the first one that has counters: others have the same */
	struct list_output out; /* for programs */
};

static void print_lines(const char *name, const kymo_counter_info_t *i, const char *dimensions)
{
	plain_printf(stdout, "%-34s %s", name, i->description);
	if (*dimensions)
		plain_printf(stdout, " [%s]", dimensions);
	if (*i->unit)
		plain_printf(stdout, " (%s)", i->unit);
	if (!i->unavailable && i->read_ns)
		plain_printf(stdout, "; a reading costs about %u ns", i->read_ns);
	if (i->unavailable)
		plain_printf(stdout, "\n%-34s not here: %s", "", i->unavailable);
	putchar('\n');
}

static void add_counter(struct list_output *o, const char *name, const kymo_counter_info_t *i,
			const char *dimensions)
{
	char cost[16] = "";

	if (i->read_ns)
		snprintf(cost, sizeof(cost), "%u", i->read_ns);
	LIST_ROW(o, name, i->description, dimensions, i->unit, cost, i->unavailable);
}

static kymo_status_t print_one(kymo_counter_t counter, const char *provider,
			       const kymo_counter_info_t *i, void *data)
{
	struct listing *l = data;
	struct text dimensions = {0};
	char name[96];

	l->device = l->device ? l->device : i->agent;
	if ((i->unavailable == NULL) != l->available || (i->agent && i->agent != l->device))
		return KYMO_OK;
	snprintf(name, sizeof(name), "%s:%s", provider, i->name);
	add_dimensions(&dimensions, i);
	if (list_format() == REPORT_TEXT)
		print_lines(name, i, dimensions.s ? dimensions.s : "");
	else
		add_counter(&l->out, name, i, dimensions.s ? dimensions.s : "");
	text_release(&dimensions);
	return KYMO_OK;
}

/* Their devices' counters are there once the runtimes have loaded the library. */
static void start_devices(void)
{
	char path[PATH_MAX];

	launch_path(cli_libdir(), "libkymo.so.1", path);
	for (const struct kymo_launch *const *l = launch_table; *l; l++)
		if ((*l)->start_devices)
			(*l)->start_devices(path);
}

static void print_formulas(void)
{
	char why[200];
	struct formula f;

	printf("\nFormulas (--counters NAME; others: NAME=EXPRESSION):\n");
	for (size_t i = 0; formulas_known[i]; i++) {
		if (formula_parse(&f, formulas_known[i], why, sizeof(why)))
			printf("%-34s %s (%s): %s\n", f.name, f.description, f.unit, f.expression);
		formula_release(&f);
	}
}

/* Of whole processors, over time: outside of programs, so that the library has no part in it. */
static void print_processors(void)
{
	struct text pmus = {0};
	char why[400], *save = NULL;

	perf_list_all(telemetry_root(), &pmus);
	if (telemetry_events_check(telemetry_root(), "cpu-clock:cpu=0", why, sizeof(why)))
		printf("\nOver time, of whole processors (perf:NAME:cpu=0,2-3), and of PMUs:\n");
	else
		plain_printf(stdout, "\nOver time, of whole processors and PMUs, not here: %s\n",
			     why);
	for (char *w = pmus.length ? strtok_r(pmus.s, "\n", &save) : NULL; w;
	     w = strtok_r(NULL, "\n", &save))
		plain_printf(stdout, "%s\n", w);
	text_release(&pmus);
}

static void add_passes(struct list_output *o, const struct library *l, const char *list,
		       struct planned of[KINDS], uint64_t devices)
{
	char *words = strdup(list), *rest = words, pass[16];
	unsigned n = 0;

	for (char *w = words ? next_item(l, &rest) : NULL; w; w = next_item(l, &rest), n++) {
		bool kernel = cut_kernel(w);
		struct planned *p = planned_of(of, kernel, devices, n);
		const unsigned at = p->passes ? p->pass_of[p->next++] : 0;

		snprintf(pass, sizeof(pass), "%u", at + 1);
		LIST_ROW(o, w,
			 !p->passes                   ? "of calls and threads"
			 : at == KYMO_COUNTER_NO_PASS ? "several by itself"
						      : pass);
	}
	free(words);
}

/* How the counters of a list share passes. */
static int list_passes(const struct library *l, const char *list)
{
	const uint64_t devices = devices_of(l, list);
	struct planned of[KINDS] = {0};
	struct list_output out;

	if (!plan_all(l, list, of))
		return CLI_USAGE;
	list_begin(&out, "passes", "Passes", (const char *const[]){"name", "pass", NULL},
		   (const unsigned[]){48, 0});
	add_passes(&out, l, list, of, devices);
	return list_end(&out);
}

static int run(int argc, char **argv)
{
	struct library l;
	struct listing all = {.available = true};
	int status;

	if (argc > 1)
		return cli_usage("list", "list counters takes one list, not \"%s\" as well",
				 argv[1]);
	if (!library_open(&l))
		return CLI_FAILURE;
	if (argc)
		return list_passes(&l, argv[0]);
	list_begin(&all.out, "counters", "Counters",
		   (const char *const[]){"name", "description", "dimensions", "unit", "read_ns",
					 "unavailable", NULL},
		   (const unsigned[]){0, 0, 0, 0, 0});
	start_devices();
	l.counters(KYMO_COUNTER_ALL, print_one, &all);
	all.available = false;
	l.counters(KYMO_COUNTER_ALL, print_one, &all);
	status = list_end(&all.out);
	if (list_format() == REPORT_TEXT) {
		print_formulas();
		print_processors();
	}
	return status;
}

extern const struct list list_counters;
const struct list list_counters = {"counters",
				   "What can be counted here (run --counters), and what cannot, "
				   "and why; LIST: the passes it takes",
				   run, NULL};
