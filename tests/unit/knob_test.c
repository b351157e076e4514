/* SPDX-License-Identifier: Apache-2.0 */
/* Knob tables, text and job detection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/job.h"
#include "base/knob.h"
#include "base/run_options.h"
#include "base/text.h"

static char error[KNOB_ERROR_MAX];
static struct run_options *const o = &run_options_values;

static bool parse(int *operands, ...)
{
	static char *argv[20];
	va_list args;
	bool help;
	int argc = 1;

	argv[0] = "run";
	va_start(args, operands);
	while ((argv[argc] = va_arg(args, char *)))
		argc++;
	va_end(args);
	error[0] = '\0';
	return knob_parse_arguments(&run_options_table, argc, argv, operands, &help, error);
}

static int setup(void **state)
{
	clearenv();
	knob_defaults(&run_options_table);
	return 0;
}

static void defaults(void **state)
{
	assert_int_equal(o->mode, RUN_MODE_DEFAULT);
	assert_int_equal(o->args, RUN_ARGS_FULL);
	assert_int_equal(o->on_full, RUN_BLOCK);
	assert_int_equal(o->block_ns, 10000000);
	assert_null(o->output);
	assert_null(o->stacks);
	assert_false(o->force);
}

static void arguments(void **state)
{
	int n;

	assert_true(parse(&n, "-fo", "dir", "--mode=full", "--buffer-size", "3M", "--stacks",
			  "prog", "--mode", "x", NULL));
	assert_int_equal(n, 3); /* options end at the program */
	assert_true(o->force);
	assert_string_equal(o->output, "dir");
	assert_int_equal(o->mode, RUN_MODE_FULL);
	assert_int_equal(o->buffer_size, 3u << 20);
	assert_string_equal(o->stacks, ".");
	assert_true(parse(&n, "--stacks=^cl", "-odir2", "--", "-x", NULL));
	assert_int_equal(n, 1);
	assert_string_equal(o->stacks, "^cl");
	assert_string_equal(o->output, "dir2");
}

static void mistakes(void **state)
{
	static const struct {
		char *word, *said;
	} cases[] = {
		{"--outpt=x", "did you mean --output?"},
		{"--bufer-size=1", "did you mean --buffer-size?"},
		{"--zzzzzzz", "unknown option --zzzzzzz"},
		{"-q", "unknown option -q"},
		{"--mode=loud", "none of summary|minimal|default|full"},
		{"--buffer-size=12X", "not a whole number"},
		{"--buffer-size=-1", "not a whole number"},
		{"--buffer-size=99999999999G", "too large: at most 9223372036854775807"},
		{"--buffer-size=18446744073709551616", "too large"},
		{"--buffer-size=18446744073709551616X", "not a whole number"},
		{"--delay=soon", "not a duration"},
		{"--include=(", "not a regular expression"},
		{"--backends=opencl,nosuch", "\"nosuch\" is none of"},
		{"--backends=openkl", "did you mean \"opencl\"?"},
		{"--backends=all,-openkl", "did you mean \"opencl\"?"},
		{"--backends=-all", "\"all\" is none of"},
		{"--backends=hip,-mpi", "\"hip,-mpi\" names \"hip\", and what is left out"},
		{"--backends=-mpi,mpi", "names \"mpi\", and what is left out"},
		{"--backends=none,-mpi", "names \"none\", and what is left out"},
		{"--kernel=scale#0", "the first one is 1"},
		{"--exclude-kernel=scale#3-1", "the first one is 1"},
		{"--kernel=@/nowhere/at-all",
		 "the file \"/nowhere/at-all\" cannot be read: No such"},
		{"--include=@/", "the file \"/\" cannot be read: Is a directory"},
		{"--exclude=@/dev/null", "has no expression"},
		{"--force=maybe", "neither yes nor no"},
		{"--output", "needs a value: DIR"},
	};
	int n;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_false(parse(&n, cases[i].word, NULL));
		if (!strstr(error, cases[i].said))
			fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].word, error,
				 cases[i].said);
	}
}

static char *file_of(const char *text, size_t bytes)
{
	static char word[64];
	char path[] = "/tmp/kymo-knob-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, bytes), bytes);
	close(fd);
	snprintf(word, sizeof(word), "@%s", path);
	return word;
}

static void refused_file(const char *text, size_t bytes, const char *said)
{
	char *word = file_of(text, bytes);
	int n;

	assert_false(parse(&n, "-k", word, NULL));
	if (!strstr(error, said))
		fail_msg("\"%s\" does not say \"%s\"", error, said);
	unlink(word + 1);
}

/* `times` times the same, between two texts. */
static bool bears(const char *before, const char *part, unsigned times, const char *behind,
		  const char *because)
{
	static char s[20000];
	char why[100] = "";
	bool is;

	strcpy(s, before);
	for (unsigned i = 0; i < times; i++)
		strcat(s, part);
	strcat(s, behind);
	is = text_regex_bearable(s, why, sizeof(why));
	assert_int_equal(is, !*why);
	if (!is && !strstr(why, because))
		fail_msg("%s is refused as it %s", s, why);
	return is;
}

/* Where the C library would take all memory, an expression is refused; and nothing else is. */
static void expressions(void **state)
{
	static const struct {
		const char *before, *part;
		unsigned times;
		const char *behind, *because; /* NULL: it is taken */
	} all[] = {
		{"", "", 0, "", NULL},
		{"", "a", 4000, "", NULL},
		{"", "a", 4001, "", "is too long"},
		{"0X7f00", "+", 23, "12", "repeats too much"},
		{"a", "+", 10, "", NULL},
		{"", "(", 100, "", NULL},
		{"", "(", 101, "", "more than 100 groups"},
		{"((((((((((((((a", "+)", 14, "", "repeats too much"},
		{"", "(ab+)+", 400, "", NULL},
		{"a", "{1,}", 13, "", "repeats too much"},
		{"a", "{,2}", 13, "", "repeats too much"},
		{"a", "{3}", 8, "", "repeats too much"},
		{"a", "{3}", 7, "", NULL},
		{"a{2000}|b{1999}", "", 0, "", NULL},
		{"a{2000}|b{2001}", "", 0, "", "repeats too much"},
		{"((a{1,200}){1,200}){1,200}", "", 0, "", "repeats too much"},
		{"(a{20}|b)", "{100}", 1, "c", NULL},
		{"(a{20}|b)", "{200}", 1, "c", "repeats too much"},
		{"a{99999999999999999999}", "", 0, "", "repeats too much"},
		{"", "{x", 1000, "", NULL}, /* a brace of its own */
		{"[]", "+({2}", 500, "]", NULL},
		{"[^]", "+", 500, "]", NULL},
		{"[[:alpha:][.].]]", "+", 20, "", "repeats too much"},
		{"[[:alpha:][.].]", "+", 20, "]", NULL},
		{"[a", "[:", 20, "++++++++++++++++++++", NULL},
		{"\\[", "+", 20, "", "repeats too much"},
		{"", "\\+", 500, "", NULL},
		{"(a)", "\\1", 1, "", "refers back"},
		{"a\\", "", 0, "", NULL},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (bears(all[i].before, all[i].part, all[i].times, all[i].behind,
			  all[i].because ? all[i].because : "") == !!all[i].because)
			fail_msg("%s %s %u", all[i].before, all[i].part, all[i].times);
}

static void files_of_patterns(void **state)
{
	static const char text[] = "# kernels\n\n  scale#1-3 \r\n\t# no\nadd(float*, int)\nlast";
	char many[2 * 1001], *word = file_of(text, sizeof(text) - 1);
	int n;

	assert_true(parse(&n, "-k", word, "-i", "[@]x", NULL));
	assert_string_equal(o->kernel, "scale#1-3\nadd(float*, int)\nlast");
	assert_string_equal(o->include, "[@]x");
	free((char *)(uintptr_t)o->kernel); /* kept for ever but for parse(), which forgets it */
	unlink(word + 1);
	refused_file("a\n(\n", 4, "\"(\" is not a regular expression");
	refused_file("a\n\nb#0\n", 7, "\"b#0\": after # come the numbers");
	refused_file("a\0b\n", 4, "has a byte of value 0");
	refused_file("(a)\\1\n", 6, "refers back");
	for (size_t i = 0; i < sizeof(many); i++)
		many[i] = i % 2 ? '\n' : 'a';
	refused_file(many, sizeof(many), "more than 1000 expressions");
}

static void durations(void **state)
{
	static const struct {
		char *word;
		uint64_t ns;
	} cases[] = {{"--delay=1.5", 1500000000},  {"--delay=20ms", 20000000},
		     {"--delay=3m", 180000000000}, {"--delay=.5s", 500000000},
		     {"--delay=7us", 7000},        {"--delay=9ns", 9}};
	int n;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(parse(&n, cases[i].word, NULL));
		assert_int_equal(o->delay_ns, cases[i].ns);
	}
}

static char *write_config(const char *text)
{
	static char path[] = "/tmp/kymo-knob-XXXXXX";
	int fd;

	strcpy(path, "/tmp/kymo-knob-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return path;
}

static void precedence(void **state)
{
	char *path = write_config("# comment\n\nmode = minimal\nargs=none\n on-full = drop \n"
				  "summary.format = json\n");
	int n;

	setenv("KYMO_MODE", "summary", 1);
	setenv("KYMO_ARGS", "scalars", 1);
	setenv("KYMO_BACKENDS", "", 1);
	assert_true(parse(&n, "--mode", "full", NULL));
	assert_true(knob_parse_environment(&run_options_table, error));
	assert_true(knob_parse_config(&run_options_table, path, error));
	assert_int_equal(o->mode, RUN_MODE_FULL);    /* command line */
	assert_int_equal(o->args, RUN_ARGS_SCALARS); /* environment */
	assert_int_equal(o->on_full, RUN_DROP);      /* file */
	assert_string_equal(o->backends, "all");     /* default: empty is unset */
	unlink(path);
}

static void bad_config(void **state)
{
	char *path = write_config("mode = full\nmoode = full\n");

	assert_false(knob_parse_config(&run_options_table, path, error));
	assert_non_null(strstr(error, ":2:"));
	assert_non_null(strstr(error, "did you mean \"mode\""));
	unlink(path);
	assert_false(knob_parse_config(&run_options_table, path, error));
	assert_non_null(strstr(error, "No such file"));
}

/* What the program writes it reads. */
static void config_round_trip(void **state)
{
	char *path = write_config("");
	FILE *f = fopen(path, "w");

	knob_write_config(&run_options_table, f);
	fclose(f);
	if (!knob_parse_config(&run_options_table, path, error))
		fail_msg("%s", error);
	defaults(state);
	unlink(path);
}

/* Every value that is handed on reads back as itself. */
static void values_as_text(void **state)
{
	static char texts[KNOB_ROWS_MAX][256]; /* the options borrow them */
	int n;

	assert_true(parse(&n, "--buffer-size=3M", "--delay=1.25", "--mode=minimal", "--include=^cl",
			  NULL));
	for (unsigned i = 0; i < run_options_table.count; i++) {
		struct run_options before = *o;

		if (!knob_text(&run_options_table, i, texts[i], sizeof(texts[i])))
			continue;
		if (!knob_set(&run_options_table, i, texts[i], KNOB_ARGUMENT, error))
			fail_msg("%s", error);
		assert_int_equal(before.buffer_size, o->buffer_size);
		assert_int_equal(before.delay_ns, o->delay_ns);
		assert_int_equal(before.mode, o->mode);
		assert_int_equal(before.block_ns, o->block_ns);
	}
}

static char unknown_name[80], unknown_guess[80];

static void unknown(const char *name, const char *guess)
{
	snprintf(unknown_name, sizeof(unknown_name), "%s", name);
	snprintf(unknown_guess, sizeof(unknown_guess), "%s", guess ? guess : "");
}

static void variables(void **state)
{
	const struct knob_table *tables[] = {&run_options_table, NULL};
	static const char *const others[] = {"KYMO_TRACE", NULL};

	setenv("KYMO_MODE", "full", 1);
	setenv("KYMO_TRACE", "x", 1);
	knob_check_environment(tables, others, unknown);
	assert_string_equal(unknown_name, "");
	setenv("KYMO_OUTPT", "x", 1);
	knob_check_environment(tables, others, unknown);
	assert_string_equal(unknown_name, "KYMO_OUTPT");
	assert_string_equal(unknown_guess, "KYMO_OUTPUT");
}

static void lists(void **state)
{
	assert_true(knob_list_has(NULL, "opencl"));
	assert_true(knob_list_has("all", "opencl"));
	assert_true(knob_list_has("mpi,opencl", "opencl"));
	assert_false(knob_list_has("mpi,opencl2", "opencl"));
	assert_false(knob_list_has("none", "opencl"));
	assert_false(knob_list_has("all,-opencl", "opencl"));
	assert_false(knob_list_has("-opencl", "opencl"));
	assert_false(knob_list_has("-mpi,-opencl", "opencl"));
	assert_true(knob_list_has("-mpi,-opencl", "hip"));
	assert_true(knob_list_has("all,-opencl2", "opencl"));
}

static void json_and_shell(void **state)
{
	struct text t = {0};

	text_add_json(&t, "a\"b\\\n\xff\xc3\xa9");
	assert_string_equal(t.s, "\"a\\\"b\\\\\\n\xef\xbf\xbd\xc3\xa9\"");
	text_release(&t);
	text_add_shell(&t, "plain-1.0");
	text_add(&t, " ");
	text_add_shell(&t, "it's");
	text_add(&t, " ");
	text_add_shell(&t, "");
	assert_string_equal(t.s, "plain-1.0 'it'\\''s' ''");
	text_release(&t);
	assert_int_equal(text_distance("kitten", "sitting"), 3);
	assert_int_equal(text_distance("ab", "ba"), 1);
}

#define JOB(block, starter) job_from_environment(&j, block, sizeof(block) - 1, starter)

static void jobs(void **state)
{
	const struct job_starter plain = {.parent = "host-9-1234"};
	struct job j;

	JOB("A=1\0PMIX_NAMESPACE=123@4\0PMIX_RANK=3\0OMPI_COMM_WORLD_SIZE=8", &plain);
	assert_string_equal(j.id, "123_4");
	assert_int_equal(j.rank, 3);
	assert_int_equal(j.size, 8);
	JOB("SLURM_JOB_ID=77\0SLURM_STEP_ID=2\0SLURM_PROCID=1\0SLURM_NTASKS=4", &plain);
	assert_string_equal(j.id, "slurm-77.2");
	assert_int_equal(j.rank, 1);
	JOB("SLURM_JOB_ID=77\0SLURM_NTASKS=4", &plain); /* a batch script itself */
	assert_string_equal(j.id, "");
	JOB("PMI_RANK=1\0PMI_SIZE=2", &plain);
	assert_string_equal(j.id, "host-9-1234");
	assert_int_equal(j.rank, 1);
	JOB("PMI_JOBID=a/../b\0PMI_RANK=1\0PMI_SIZE=2", &plain);
	assert_string_equal(j.id, "a_.._b");
	assert_int_equal(j.rank, 1);
	JOB("PMI_JOBID=a/../b\0PMI_RANK=x", &plain); /* who has no rank is not of the job */
	assert_string_equal(j.id, "");
	assert_int_equal(j.rank, JOB_UNKNOWN);
	JOB("HOME=/root", &plain);
	assert_string_equal(j.id, "");
	assert_int_equal(j.rank, JOB_UNKNOWN);
	/* Of long names the end counts. */
	JOB("PMIX_NAMESPACE=prterun-a-very-long-name-of-a-node-in-a-large-cluster.example.org-123@"
	    "1\0PMIX_RANK=3\0OMPI_COMM_WORLD_SIZE=8",
	    NULL);
	assert_string_equal(j.id + strlen(j.id) - 6, "-123_1");
}

/* Launchers that give a name, with what each leaves in the environment of all its ranks. */
static void jobs_of_launchers(void **state)
{
	const struct job_starter proxy = {
		.hydra = "head:34507-0", .parent = "node7-9-1234", .since = 5};
	struct job j;

	/* Hydra, also under a batch system, whose step has the proxies for tasks. */
	JOB("PMI_RANK=6\0PMI_SIZE=8", &proxy);
	assert_string_equal(j.id, "head_34507-0");
	assert_int_equal(j.rank, 6);
	assert_int_equal(j.since, 5);
	JOB("SLURM_JOB_ID=77\0SLURM_STEP_ID=0\0SLURM_PROCID=1\0PMI_RANK=6\0PMI_SIZE=8", &proxy);
	assert_string_equal(j.id, "head_34507-0");
	assert_int_equal(j.rank, 6);
	JOB("FLUX_JOB_ID=f23X\0FLUX_TASK_RANK=2\0FLUX_JOB_SIZE=4\0PMI_RANK=2\0PMI_SIZE=4", NULL);
	assert_string_equal(j.id, "f23X");
	assert_int_equal(j.size, 4);
	assert_int_equal(j.since, 0);
	JOB("FLUX_JOB_ID=f23X\0FLUX_TASK_RANK=2\0FLUX_JOB_SIZE=4", NULL);
	assert_int_equal(j.rank, 2);
	JOB("FLUX_JOB_ID=f23X", NULL); /* a batch script */
	assert_string_equal(j.id, "");
	JOB("MPISPAWN_MPIRUN_HOST=head\0MPISPAWN_MPIRUN_ID=321\0MPISPAWN_MPIRUN_PORT=4711\0"
	    "MV2_COMM_WORLD_RANK=3\0MV2_COMM_WORLD_SIZE=4\0PMI_ID=3",
	    NULL);
	assert_string_equal(j.id, "head-321-4711");
	assert_int_equal(j.rank, 3);
	JOB("PALS_APID=6a5c-11\0PALS_RANKID=1\0PMI_RANK=1\0PMI_SIZE=2", &proxy);
	assert_string_equal(j.id, "6a5c-11");
}

#define PROXY(words) job_of_hydra(name, sizeof(name), words, sizeof(words) - 1)

static void proxies(void **state)
{
	char name[96];

	PROXY("/usr/bin/hydra_pmi_proxy\0--control-port\0vm:34507\0--rmk\0user\0--pgid\0"
	      "0\0--proxy-id\0"
	      "1");
	assert_string_equal(name, "vm:34507-0");
	PROXY("/usr/bin/hydra_pmi_proxy\0--control-port\0vm:34507\0--pgid\0"
	      "1"); /* spawned */
	assert_string_equal(name, "vm:34507-1");
	PROXY("/opt/bin//hydra_bstrap_proxy\0--upstream-host\0z5.x\0--upstream-port\0"
	      "34921\0--pgid\0"
	      "0");
	assert_string_equal(name, "z5.x-34921-0");
	PROXY("srun\0-N\0"
	      "2\0hydra_pmi_proxy\0--control-port\0vm:34507\0--pgid\0"
	      "0");
	assert_string_equal(name, "");
	PROXY("hydra_pmi_proxy\0--control-port");
	assert_string_equal(name, "");
	PROXY("");
	assert_string_equal(name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(defaults, setup),
		cmocka_unit_test_setup(arguments, setup),
		cmocka_unit_test_setup(mistakes, setup),
		cmocka_unit_test_setup(files_of_patterns, setup),
		cmocka_unit_test(expressions),
		cmocka_unit_test_setup(durations, setup),
		cmocka_unit_test_setup(precedence, setup),
		cmocka_unit_test_setup(bad_config, setup),
		cmocka_unit_test_setup(config_round_trip, setup),
		cmocka_unit_test_setup(values_as_text, setup),
		cmocka_unit_test_setup(variables, setup),
		cmocka_unit_test_setup(lists, setup),
		cmocka_unit_test_setup(json_and_shell, setup),
		cmocka_unit_test_setup(jobs, setup),
		cmocka_unit_test_setup(jobs_of_launchers, setup),
		cmocka_unit_test_setup(proxies, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
