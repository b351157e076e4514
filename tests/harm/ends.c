/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that ends in one of many ways, most of them after its main thread has left: see
 * `shapes`. What it prints and its status are compared with those without Kymo. It makes two marks.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/marker.h>

static pthread_t main_thread;

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		abort();
}

static void at_end(void)
{
	sigset_t set;

	pthread_sigmask(SIG_SETMASK, NULL, &set);
	say(sigismember(&set, SIGTERM) ? "handler, SIGTERM blocked\n" : "handler\n");
}

/* Until the kernel says that the main thread is gone. */
static void await_main_gone(void)
{
	char text[256] = "", *p;

	do {
		FILE *f = fopen("/proc/self/stat", "re");

		if (!f || !fgets(text, sizeof(text), f))
			abort();
		fclose(f);
		p = strrchr(text, ')');
		sched_yield();
	} while (!p || p[2] != 'Z');
}

static void *outlive(void *unused)
{
	await_main_gone();
	kymo_mark("second");
	say("worker done\n");
	return NULL;
}

static void *join_main(void *unused)
{
	pthread_join(main_thread, NULL);
	return outlive(NULL);
}

static void *cancel_main(void *unused)
{
	pthread_cancel(main_thread);
	return outlive(NULL);
}

static void *wait_for_signal(void *unused)
{
	kymo_mark("second");
	await_main_gone();
	say("ready\n");
	for (;;)
		pause();
	return NULL;
}

static void start(void *(*fn)(void *), bool detached)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, NULL) != 0)
		abort();
	if (detached)
		pthread_detach(t);
}

static void leave(void)
{
	start(outlive, false);
	pthread_exit(NULL);
}

static void leave_detached(void)
{
	start(outlive, true);
	pthread_exit(NULL);
}

static void joined(void)
{
	start(join_main, true);
	pthread_exit(NULL);
}

static void cancelled(void)
{
	start(cancel_main, false);
	for (;;)
		pause();
}

static void leave_alone(void)
{
	kymo_mark("second");
	pthread_exit(NULL);
}

static void system_call(void)
{
	kymo_mark("second");
	syscall(SYS_exit, 5);
}

static void system_call_first(void)
{
	start(outlive, false);
	syscall(SYS_exit, 7);
}

static void waits(void)
{
	start(wait_for_signal, false);
	pthread_exit(NULL);
}

static int cloned(void *unused)
{
	kymo_mark("second");
	return 18;
}

static void clone_child(void)
{
	static char stack[1 << 20] __attribute__((aligned(16)));
	int status = 0, pid = clone(cloned, stack + sizeof(stack), SIGCHLD, NULL);
	char text[64];

	if (waitpid(pid, &status, 0) != pid)
		abort();
	snprintf(text, sizeof(text), "child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	say(text);
	exit(3);
}

static void await_child(pid_t pid)
{
	int status = 0;

	if (waitpid(pid, &status, 0) != pid)
		abort();
	exit(WIFEXITED(status) ? 20 + WEXITSTATUS(status) : 1);
}

static void fork_child(void)
{
	pid_t pid = fork();

	if (pid)
		await_child(pid);
	leave();
}

static void *fork_here(void *unused)
{
	pid_t pid = fork();

	if (pid)
		await_child(pid);
	leave(); /* it is the child's main thread */
	return NULL;
}

static void fork_thread(void)
{
	start(fork_here, true);
	for (;;)
		pause();
}

static const struct {
	const char *name;
	void (*run)(void);
} shapes[] = {
	{"leave", leave},
	{"leave_detached", leave_detached},
	{"leave_alone", leave_alone},
	{"joined", joined},
	{"cancelled", cancelled},
	{"system_call", system_call},
	{"system_call_first", system_call_first},
	{"waits", waits},
	{"clone_child", clone_child},
	{"fork_child", fork_child},
	{"fork_thread", fork_thread},
};

int main(int argc, char **argv)
{
	main_thread = pthread_self();
	atexit(at_end);
	if (argc < 2)
		return 2;
	kymo_mark("first");
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (strcmp(argv[1], shapes[i].name) == 0)
			shapes[i].run();
	return 2;
}
