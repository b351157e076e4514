/* SPDX-License-Identifier: Apache-2.0 */
/* What OpenMP does on the host, in numbers that the test knows. */
#include <omp.h>
#include <stdio.h>

static int sum;

static void regions(void)
{
#pragma omp parallel num_threads(2)
	{
#pragma omp for schedule(static)
		for (int i = 0; i < 100; i++)
#pragma omp atomic
			sum += i;
#pragma omp for schedule(dynamic, 10) reduction(+ : sum)
		for (int i = 0; i < 100; i++)
			sum += i;
#pragma omp sections
		{
#pragma omp section
			sum += 0;
#pragma omp section
			sum += 0;
		}
#pragma omp single
		sum += 0;
#pragma omp masked
		sum += 0;
#pragma omp barrier
#pragma omp critical(mine)
		sum += 1;
	}
}

static void tasks(void)
{
	int a = 0, b = 0;

#pragma omp parallel num_threads(2)
#pragma omp single
	{
#pragma omp task depend(out : a)
		a = 1;
#pragma omp task depend(in : a) depend(out : b)
		b = a + 1;
#pragma omp taskwait
#pragma omp task untied
		{
#pragma omp taskyield
			b += 1;
		}
#pragma omp taskgroup
		{
#pragma omp task
			{
#pragma omp task
				a += 1;
#pragma omp taskwait
			}
		}
#pragma omp taskloop num_tasks(4)
		for (int i = 0; i < 8; i++)
			;
	}
	sum += a + b;
}

static void locks(void)
{
	omp_nest_lock_t n;
	omp_lock_t l;

	omp_init_lock(&l);
	omp_set_lock(&l);
	if (omp_test_lock(&l))
		puts("never");
	omp_unset_lock(&l);
	if (omp_test_lock(&l))
		omp_unset_lock(&l);
	omp_destroy_lock(&l);
	omp_init_nest_lock(&n);
	omp_set_nest_lock(&n);
	omp_set_nest_lock(&n);
	omp_unset_nest_lock(&n);
	omp_unset_nest_lock(&n);
	omp_destroy_nest_lock(&n);
}

static void nested(void)
{
	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
#pragma omp atomic
	sum += 1;
#pragma omp parallel if (0)
	sum += 1;
}

/* The second thread works for 20 ms, the first has nothing to do. */
static void uneven(void)
{
	double until = omp_get_wtime() + 0.02;

#pragma omp parallel num_threads(2)
	while (omp_get_thread_num() && omp_get_wtime() < until)
		;
}

static void ordered(void)
{
#pragma omp parallel for ordered num_threads(2)
	for (int i = 0; i < 4; i++)
#pragma omp ordered
		sum += i;
}

static void pauses(void)
{
	omp_control_tool(omp_control_tool_pause, 7, NULL);
#pragma omp parallel num_threads(2)
	{
#pragma omp barrier
	} omp_control_tool(omp_control_tool_start, 7, NULL);
}

int main(void)
{
	omp_set_dynamic(0);
	regions();
	tasks();
	locks();
	nested();
	uneven();
	ordered();
	pauses();
	printf("%d\n", sum);
	return 0;
}
