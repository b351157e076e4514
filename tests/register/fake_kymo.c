/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime that registers by Kymo's interface, in the style STYLE_LINKED, STYLE_WEAK or
 * STYLE_DYNAMIC; IN_CONSTRUCTOR registers when it is loaded.
 */
#ifdef STYLE_WEAK
#define KYMO_REGISTER_WEAK
#endif
#include <kymo/register.h>

#include "fake_kymo.h"

#ifndef FAKE_NAME
#define FAKE_NAME "fake"
#endif

static int twice(int n)
{
	return 2 * n;
}

static int nothing(void)
{
	return 42;
}

static double unknown(double x)
{
	return x + 1;
}

static struct {
	size_t size;
	int (*twice)(int);
	int (*nothing)(void);
	void *absent;
	double (*unknown)(double); /* beyond the description */
} table = {sizeof(table), twice, nothing, NULL, unknown};

static const kymo_field_t twice_fields[] = {
	{"n", "int", NULL, KYMO_KIND_SIGNED, 0, 4, KYMO_FIELD_IN},
	{"result", "int", NULL, KYMO_KIND_SIGNED, 0, 4, KYMO_FIELD_RESULT}};
static const kymo_field_t nothing_fields[] = {
	{"result", "int", NULL, KYMO_KIND_SIGNED, 0, 4, KYMO_FIELD_RESULT}};
static const kymo_op_desc_t ops[] = {{"twice", twice_fields, 2, 0, NULL, 0},
				     {"nothing", nothing_fields, 1, 0, NULL, 0},
				     {"absent", NULL, 0, 0, NULL, 0}};
static const kymo_domain_desc_t desc = {sizeof(desc), FAKE_NAME, "Fake", 1, 3, ops};

static kymo_registration_id_t id;

int fake_kymo_register(void)
{
	const kymo_registration_t r = {sizeof(r), FAKE_NAME, 100, &table, &desc};

#if defined(STYLE_DYNAMIC)
	return kymo_register_table_dynamic(&r, &id);
#else
#if defined(STYLE_WEAK)
	if (!kymo_register_table)
		return FAKE_KYMO_ABSENT;
#endif
	return kymo_register_table(&r, &id);
#endif
}

int fake_kymo_unregister(void)
{
#if defined(STYLE_LINKED)
	return kymo_unregister_table(id);
#else
	return FAKE_KYMO_ABSENT;
#endif
}

int fake_kymo_work(int calls)
{
	int wrong = 0;

	for (int i = 0; i < calls; i++)
		wrong += table.twice(i) != 2 * i;
	return wrong + (table.nothing() != 42) + (table.unknown(1.5) != 2.5);
}

int fake_kymo_wrapped(void)
{
	return table.twice != twice;
}

#ifdef IN_CONSTRUCTOR
__attribute__((constructor)) static void loaded(void)
{
	fake_kymo_register();
}
#endif
