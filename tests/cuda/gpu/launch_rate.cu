/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches COUNT empty kernels (default 1,000,000) in batches that the device keeps up with, and
 * prints nanoseconds a launch: the median of 20 parts, and the whole.
 *
 * With COUNT 0 it serves as train.py does: for each line "COUNT [CPU]" read it launches so many, bound
 * to that CPU, and prints what one took. With a second argument, SECONDS, it launches flat out for
 * so long and prints its resident memory after each tenth of the time.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

__global__ void empty_kernel() {}

static double now()
{
	using namespace std::chrono;
	return duration<double, std::nano>(steady_clock::now().time_since_epoch()).count();
}

static double cpu_time(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void launch(int count)
{
	for (int i = 0; i < count; i++)
		empty_kernel<<<1, 1>>>();
}

static long resident_kb()
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void bind(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void serve()
{
	FILE *answers = fdopen(dup(1), "w");
	int count, cpu;
	char line[64];

	dup2(2, 1); /* tools may print */
	fprintf(answers, "{\"ready\": %d}\n", (int)getpid());
	fflush(answers);
	while (fgets(line, sizeof(line), stdin)) {
		int words = sscanf(line, "%d %d", &count, &cpu);

		if (words < 1)
			break;
		if (words == 2)
			bind(cpu);
		launch(count / 10);
		cudaDeviceSynchronize();
		double start = now(), mine = cpu_time(CLOCK_THREAD_CPUTIME_ID),
		       all = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
		launch(count);
		double took = now() - start;
		mine = cpu_time(CLOCK_THREAD_CPUTIME_ID) - mine;
		cudaDeviceSynchronize();
		all = cpu_time(CLOCK_PROCESS_CPUTIME_ID) - all;
		fprintf(answers, "{\"time\": %.1f, \"launching\": %.1f, \"others\": %.1f}\n",
			took / count, mine / count, (all - mine) / count);
		fflush(answers);
	}
}

static void flat_out(int seconds)
{
	double begin = now();
	long launched = 0;

	printf("rss_kb");
	for (int tenth = 1; tenth <= 10; tenth++) {
		while (now() - begin < seconds * 1e8 * tenth) {
			launch(10000);
			cudaDeviceSynchronize();
			launched += 10000;
		}
		printf(" %ld", resident_kb());
	}
	printf(" launches %ld\n", launched + 1000);
}

static void rate(int count)
{
	const int parts = 20, part = count / parts;
	std::vector<double> times;
	double whole = now();
	struct rusage used;

	for (int p = 0; p < parts; p++) {
		double start = now();

		launch(part);
		times.push_back((now() - start) / part);
		cudaDeviceSynchronize();
	}
	whole = (now() - whole) / count;
	std::sort(times.begin(), times.end());
	getrusage(RUSAGE_SELF, &used);
	printf("launches %d median_ns %.0f mean_ns %.0f rss_kb %ld\n", parts * part + 1000,
	       times[parts / 2], whole, used.ru_maxrss);
}

int main(int argc, char **argv)
{
	const int count = argc > 1 ? atoi(argv[1]) : 1000000;

	launch(1000);
	cudaDeviceSynchronize();
	if (argc > 2)
		flat_out(atoi(argv[2]));
	else if (count == 0)
		serve();
	else
		rate(count);
	return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
