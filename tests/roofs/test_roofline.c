/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rooflines of points that are known: which points and roofs are shown, where the terminal's plot has them, what the
 * picture says. With a folder as argument, pictures are left there to be looked at.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/plain.h"
#include "page/plot.h"
#include "page/plot_roofline.h"

static struct roofs roofs;

static void add_roof(const char *name, const char *type, enum roof_kind kind, double value)
{
	struct roof *r = &roofs.roofs[roofs.count++];

	*r = (struct roof){
		.kind = (uint8_t)kind, .value = value, .interval = value / 100, .peak = NAN};
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->type, sizeof(r->type), "%s", type);
}

/* About an H200's. */
static void make_roofs(void)
{
	roofs = (struct roofs){.device = {.name = "Some GPU", .host = "node1"},
			       .date = "2026-01-02"};
	add_roof("memory", "memory", ROOF_BANDWIDTH, 4e12);
	add_roof("l2", "l2", ROOF_BANDWIDTH, 9e12);
	add_roof("l1", "l1", ROOF_BANDWIDTH, 3e13);
	add_roof("local", "local", ROOF_BANDWIDTH, 3.1e13);
	add_roof("l3", "l3", ROOF_BANDWIDTH, NAN);
	add_roof("fp64x1", "fp64", ROOF_COMPUTE, 3e13);
	add_roof("fp32x1", "fp32", ROOF_COMPUTE, 5e13);
	add_roof("fp32x4", "fp32", ROOF_COMPUTE, 6e13);
	add_roof("h2d_pinned", "h2d_pin", ROOF_TRANSFER, 5e10);
}

#define HOSTILE "\x1b[31mevil<kernel>"

static const struct roofline_point points[] = {
	{"matmul", "memory", 100, 2e13, 0.6}, {"matmul", "l2", 20, 2e13, 0.6},
	{"matmul", "l1", 2, 2e13, 0.6},       {"copy", "memory", 0.0625, 2e11, 0.25},
	{HOSTILE, "memory", 1, 1e12, 0.15},   {"empty", "memory", 0, 0, NAN},
	{"none", "memory", NAN, 1e9, NAN},
};
enum { POINTS = sizeof(points) / sizeof(points[0]) };

static void make(struct roofline *l)
{
	char why[ROOF_WHY];

	make_roofs();
	assert_true(roofline_make(l, &roofs, points, POINTS, why));
}

static void test_shown(void **state)
{
	struct roofline l;

	(void)state;
	make(&l);
	assert_int_equal(l.points_count, 5);
	assert_int_equal(l.left_out, 2);
	assert_int_equal(l.kernels, 3);
	assert_int_equal(l.slanted_count, 4); /* not what was not measured */
	assert_string_equal(l.slanted[0]->name, "local");
	assert_string_equal(l.slanted[3]->name, "memory");
	assert_int_equal(l.flat_count, 2); /* the best of each type */
	assert_string_equal(l.flat[0]->name, "fp32x4");
	assert_float_equal(roofline_ridge(&l, l.slanted[3]), 15, 1e-9);
	assert_float_equal(roofline_attained(&l, &points[0]), 2e13 / 6e13,
			   1e-9); /* below the flat one */
	assert_float_equal(roofline_attained(&l, &points[3]), 2e11 / (0.0625 * 4e12), 1e-9);
	assert_true(l.x0 == 0.01 && l.x1 == 1000 && l.y0 == 1e10 && l.y1 == 1e14);
	roofline_release(&l);
}

static void test_refused(void **state)
{
	struct roofline l;
	char why[ROOF_WHY];

	(void)state;
	make_roofs();
	for (unsigned i = 5; i < 8; i++)
		roofs.roofs[i].value = NAN;
	assert_false(roofline_make(&l, &roofs, points, POINTS, why));
	assert_non_null(strstr(why, "arithmetic"));
}

/* Points outside of the usual axes widen them; more kernels than are told apart are left out, and counted. */
static void test_ends(void **state)
{
	const struct roofline_point far[] = {{"a", "memory", 1e-4, 1e3, NAN},
					     {"b", "l2", 2e5, 7e14, 1}};
	struct roofline_point many[2 * ROOFLINE_KERNELS];
	char names[2 * ROOFLINE_KERNELS][8], why[ROOF_WHY];
	struct roofline l;

	(void)state;
	make_roofs();
	assert_true(roofline_make(&l, &roofs, far, 2, why));
	assert_true(fabs(l.x0 / 1e-4 - 1) < 1e-9 && fabs(l.x1 / 1e6 - 1) < 1e-9);
	assert_true(fabs(l.y0 / 1e3 - 1) < 1e-9 && fabs(l.y1 / 1e15 - 1) < 1e-9);
	roofline_release(&l);
	for (unsigned i = 0; i < 2 * ROOFLINE_KERNELS; i++) {
		snprintf(names[i], sizeof(names[i]), "k%u", i);
		many[i] = (struct roofline_point){names[i], "memory", 1, 1e12, NAN};
	}
	assert_true(roofline_make(&l, &roofs, many, 2 * ROOFLINE_KERNELS, why));
	assert_int_equal(l.kernels, ROOFLINE_KERNELS);
	assert_int_equal(l.left_out, ROOFLINE_KERNELS);
	roofline_release(&l);
}

/* Column of the digit in the plot's part of the lines; -1: not there. */
static int column_of(const char *text, char digit, int *row)
{
	const char *line = strchr(text, '\n') + 1;

	for (*row = 0; line[9] == '|'; line = strchr(line, '\n') + 1, ++*row)
		for (int c = 10; line[c] && line[c] != '\n' && c < 64; c++)
			if (line[c] == digit)
				return c - 10;
	return -1;
}

static void check_size(const char *text, unsigned columns)
{
	unsigned lines = 0;

	for (const char *line = text; *line; lines++) {
		size_t n = strcspn(line, "\n");
		char *one = strndup(line, n);

		assert_true(plain_width(one) <= columns);
		free(one);
		line += n + 1;
	}
	assert_true(lines <= 24);
}

static void test_terminal(void **state)
{
	static const unsigned columns[] = {100, 80, 60};
	struct roofline l;
	int row, other;

	(void)state;
	make(&l);
	for (unsigned i = 0; i < 6; i++) {
		struct text t = {0};

		roofline_text(&l, columns[i / 2], i % 2, &t);
		check_size(t.s, columns[i / 2]);
		assert_null(strchr(t.s, '\x1b'));
		assert_non_null(strstr(t.s, "matmul"));
		assert_non_null(
			strstr(t.s, i % 2 ? "4.000 \xc2\xb1 0.040 TB/s" : "4.000 +- 0.040 TB/s"));
		text_release(&t);
	}
	{
		struct text t = {0};

		roofline_text(&l, 100, false, &t);
		if (getenv("ROOFLINE_SHOW"))
			fputs(t.s, stderr);
		/* 54 columns are five decades; copy is at 10^-1.2, 2e11 FLOP/s of 1e10 to 1e14 */
		assert_int_equal(column_of(t.s, '2', &row),
				 (int)lround((2 + log10(0.0625)) / 5 * 53));
		assert_true(column_of(t.s, '1', &other) >= 0 &&
			    other < row); /* a faster one is higher */
		assert_non_null(strstr(t.s, "matmul"));
		assert_non_null(strstr(t.s, "memory 0.0625 (80 %)"));
		text_release(&t);
	}
	roofline_release(&l);
}

static void draw_to(const char *folder, const char *name, enum draw_form form, bool dark,
		    char **svg)
{
	struct roofline l;
	const char *why;
	char path[512];
	size_t bytes;
	FILE *out;
	struct draw *d;

	make(&l);
	snprintf(path, sizeof(path), "%s/%s", folder ? folder : "", name);
	out = folder ? fopen(path, "w") : open_memstream(svg, &bytes);
	assert_non_null(out);
	d = draw_begin(form, PLOT_WIDTH, PLOT_HEIGHT, out, "Roofline", &why);
	if (d) {
		roofline_draw(d, &l, dark);
		assert_true(draw_end(d));
	}
	fclose(out);
	roofline_release(&l);
}

static unsigned count_of(const char *s, const char *what)
{
	unsigned n = 0;

	for (; (s = strstr(s, what)); s += strlen(what))
		n++;
	return n;
}

static void test_picture(void **state)
{
	const char *folder = getenv("ROOFLINE_FOLDER");
	char *light = NULL, *dark = NULL;

	(void)state;
	draw_to(NULL, "", DRAW_SVG, false, &light);
	draw_to(NULL, "", DRAW_SVG, true, &dark);
	assert_int_equal(count_of(light, "<title>matmul, "), 3);
	assert_non_null(strstr(light, "<title>copy, memory: 0.0625 FLOP/byte, 2e+11 FLOP/s"));
	assert_non_null(strstr(light, "4.000 \xc2\xb1 0.040 TB/s"));
	assert_non_null(strstr(light, "60.00 \xc2\xb1 0.60 TFLOP/s"));
	assert_null(strstr(light, "50.00 \xc2\xb1")); /* the worse vector width */
	assert_null(strchr(light, '\x1b'));
	assert_null(strstr(light, "evil<kernel>"));
	assert_non_null(strstr(light, "2 points are not here"));
	assert_non_null(strstr(dark, "fill=\"#16181c\""));
	assert_null(strstr(dark, "fill=\"#1c1f23\">")); /* dark text on dark ground */
	free(light);
	free(dark);
	if (folder) {
		draw_to(folder, "light.png", DRAW_PNG, false, NULL);
		draw_to(folder, "dark.png", DRAW_PNG, true, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shown),   cmocka_unit_test(test_refused),
		cmocka_unit_test(test_ends),    cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_picture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
