/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads that call write() and lseek() while a timer's handler leaves whatever they are in by siglongjmp(). Prints how many calls came back, and how often
 * they were left.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { JUMPS = 60, LATER = 100, EVERY_NS = 100000 };

static _Thread_local sigjmp_buf back;
static _Thread_local volatile sig_atomic_t armed;
static _Thread_local volatile unsigned long jumps, calls;
static int file;

static void handler(int signal)
{
	(void)signal;
	if (armed) {
		armed = 0;
		siglongjmp(back, 1);
	}
}

static void work(void)
{
	if (write(file, "", 1) != 1)
		abort();
	calls++;
	lseek(file, 0, SEEK_SET);
	calls++;
}

static void *thread(void *argument)
{
	struct itimerspec every = {{0, EVERY_NS}, {0, EVERY_NS}}, never = {{0, 0}, {0, 0}};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	timer_t timer;

	(void)argument;
	event._sigev_un._tid = (int)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
		abort();
	timer_settime(timer, 0, &every, NULL);
	while (jumps < JUMPS) {
		if (sigsetjmp(back, 1) == 0) {
			armed = 1;
			for (;;)
				work();
		}
		jumps++;
	}
	timer_settime(timer, 0, &never, NULL);
	for (int i = 0; i < LATER; i++)
		work();
	printf("%lu %lu\n", calls, jumps);
	return NULL;
}

int main(void)
{
	const struct sigaction action = {.sa_handler = handler};
	pthread_t other;

	file = open("/dev/null", O_WRONLY);
	sigaction(SIGUSR1, &action, NULL);
	if (pthread_create(&other, NULL, thread, NULL) != 0)
		return 1;
	thread(NULL);
	pthread_join(other, NULL);
	return 0;
}
