/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a runtime supports tools. What this takes is marked: a table that every call goes through, a
 * description of its entries (without it calls are only counted), and one call when the library is
 * loaded. The rest is the runtime itself. The library does not even link Kymo's: where it is not
 * installed, nothing is missing.
 */
#include "sums.h"

#include <stddef.h>

#define SUMS_MAX 16u

static double sums[SUMS_MAX];
static uint64_t opened;

static int open_sum(const char *name, uint64_t *out)
{
	if (!name || opened == SUMS_MAX)
		return -1;
	sums[opened] = 0;
	*out = ++opened;
	return 0;
}

static int add_to_sum(uint64_t sum, double value, int32_t times)
{
	if (sum == 0 || sum > opened)
		return -2;
	sums[sum - 1] += value * times;
	return 0;
}

static double read_sum(uint64_t sum)
{
	return sum && sum <= opened ? sums[sum - 1] : 0;
}

static int close_sum(uint64_t sum)
{
	return sum && sum <= opened ? 0 : -2;
}

/* ---- support for tools: from here ---- */

#include <kymo/register.h>

static struct {
	size_t size;
	int (*open)(const char *name, uint64_t *out);
	int (*add)(uint64_t sum, double value, int32_t times);
	double (*read)(uint64_t sum);
	int (*close)(uint64_t sum);
} table = {sizeof(table), open_sum, add_to_sum, read_sum, close_sum};

static const kymo_enum_value_t codes[] = {{"OK", 0}, {"FULL", -1}, {"NO_SUCH_SUM", -2}};
static const kymo_enum_set_t status = {"sums_status", codes, 3};
#define SUM                                                                                        \
	{                                                                                          \
		"sum", "uint64_t", NULL, KYMO_KIND_HANDLE, 0, 8, KYMO_FIELD_IN                     \
	}
static const kymo_field_t open_fields[] = {
	{"name", "const char *", NULL, KYMO_KIND_STRING, 0, 8, KYMO_FIELD_IN},
	{"out", "uint64_t *", NULL, KYMO_KIND_HANDLE, 0, 8, KYMO_FIELD_OUT}};
static const kymo_field_t add_fields[] = {
	SUM,
	{"value", "double", NULL, KYMO_KIND_FLOAT, 0, 8, KYMO_FIELD_IN},
	{"times", "int32_t", NULL, KYMO_KIND_SIGNED, 0, 4, KYMO_FIELD_IN}};
static const kymo_field_t read_fields[] = {
	SUM, {"result", "double", NULL, KYMO_KIND_FLOAT, 0, 8, KYMO_FIELD_RESULT}};
static const kymo_field_t close_fields[] = {SUM};
static const kymo_op_desc_t ops[] = {{"sums_open", open_fields, 2, 0, &status, 0},
				     {"sums_add", add_fields, 3, 0, &status, 0},
				     {"sums_read", read_fields, 2, 0, NULL, 0},
				     {"sums_close", close_fields, 1, 0, &status, 0}};
static const kymo_domain_desc_t desc = {sizeof(desc), "sums", "Sums", 1, 4, ops};

__attribute__((constructor)) static void support_tools(void)
{
	const kymo_registration_t r = {sizeof(r), "sums", 100, &table, &desc};

	kymo_register_table_dynamic(&r, NULL);
}

/* ---- to here ---- */

int sums_open(const char *name, uint64_t *out)
{
	return table.open(name, out);
}

int sums_add(uint64_t sum, double value, int32_t times)
{
	return table.add(sum, value, times);
}

double sums_read(uint64_t sum)
{
	return table.read(sum);
}

int sums_close(uint64_t sum)
{
	return table.close(sum);
}
