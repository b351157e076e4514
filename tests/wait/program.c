/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeps, polls, and waits for signals and processes in every way, and tells of each call what a trace must have: its name,
 * the thread, the limit in ns (-: none, ~N: at most N), what it answered (-: nothing), kinds of descriptors (-: none).
 *
 *	wait_program each|two|results|cancelled
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000

static void say(const char *call, const char *limit, const char *answer, const char *kinds)
{
	flockfile(stdout);
	printf("%s %d %s %s %s\n", call, (int)syscall(SYS_gettid), limit, answer, kinds);
	funlockfile(stdout);
}

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "wait_program: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- sleeps ---- */

static void sleeps(void)
{
	struct timespec t = {0, 3 * MS};

	need(nanosleep(&t, &t) == 0, "nanosleep"); /* the rest would be where the length is */
	say("nanosleep", "3000000", "-", "-");
	t = (struct timespec){0, 2 * MS};
	need(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL) == 0, "clock_nanosleep");
	say("clock_nanosleep", "2000000", "-", "-");
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec++;
	t.tv_nsec -= t.tv_nsec >= 995 * MS ? 995 * MS : 0;
	need(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL) == 0, "until");
	say("clock_nanosleep", "~1000000000", "-", "-");
	usleep(1500);
	say("usleep", "1500000", "-", "-");
	need(sleep(0) == 0, "sleep");
	say("sleep", "0", "-", "-");
	sched_yield();
	say("sched_yield", "-", "-", "-");
}

/* ---- descriptors ---- */

static void polls(void)
{
	int pipes[2], sockets[2], event = eventfd(1, 0), epoll = epoll_create1(0);
	struct timespec t = {0, 4 * MS}, tiny = {0, 5 * MS};
	struct epoll_event e = {.events = EPOLLIN};
	struct pollfd fds[3];
	struct timeval v = {0, 4000};
	sigset_t none;
	fd_set set;

	sigemptyset(&none);
	need(pipe(pipes) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "pipe");
	fds[0] = (struct pollfd){pipes[0], POLLIN, 0};
	fds[1] = (struct pollfd){sockets[0], POLLIN, 0};
	fds[2] = (struct pollfd){event, POLLIN, 0};
	need(poll(fds, 2, 5) == 0, "poll");
	say("poll", "5000000", "0", "pipe,socket");
	need(ppoll(fds, 1, &t, &none) == 0, "ppoll");
	say("ppoll", "4000000", "0", "pipe");
	need(poll(fds, 3, -1) == 1, "poll");
	say("poll", "-", "1", "?"); /* it took no time: nobody looked */
	need(poll(NULL, 0, 3) == 0, "poll");
	say("poll", "3000000", "0", "-");
	FD_ZERO(&set);
	FD_SET(pipes[0], &set);
	need(select(pipes[0] + 1, &set, NULL, NULL, &v) == 0, "select");
	say("select", "4000000", "0", "-");
	FD_SET(pipes[0], &set);
	need(pselect(pipes[0] + 1, &set, NULL, NULL, &tiny, &none) == 0, "pselect");
	say("pselect", "5000000", "0", "-");
	need(epoll_ctl(epoll, EPOLL_CTL_ADD, event, &e) == 0, "epoll_ctl");
	need(epoll_wait(epoll, &e, 1, -1) == 1, "epoll_wait");
	say("epoll_wait", "-", "1", "-");
	need(epoll_pwait(epoll, &e, 1, 7, &none) == 1, "epoll_pwait");
	say("epoll_pwait", "7000000", "1", "-");
	need(epoll_pwait2(epoll, &e, 1, &t, &none) == 1, "epoll_pwait2");
	say("epoll_pwait2", "4000000", "1", "-");
	close(pipes[0]);
	close(pipes[1]);
	close(sockets[0]);
	close(sockets[1]);
	close(event);
	close(epoll);
}

/* ---- signals, processes, futexes ---- */

static void handle(int signal)
{
}

static void signals(void)
{
	struct sigaction action = {.sa_handler = handle};
	struct timespec t = {0, 3 * MS};
	sigset_t set, before;
	char number[16];
	int signal;

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	snprintf(number, sizeof(number), "%d", SIGUSR1);
	pthread_kill(pthread_self(), SIGUSR1);
	need(sigwait(&set, &signal) == 0 && signal == SIGUSR1, "sigwait");
	say("sigwait", "-", number, "-");
	pthread_kill(pthread_self(), SIGUSR1);
	need(sigwaitinfo(&set, NULL) == SIGUSR1, "sigwaitinfo");
	say("sigwaitinfo", "-", number, "-");
	need(sigtimedwait(&set, NULL, &t) == -1 && errno == EAGAIN, "sigtimedwait");
	say("sigtimedwait", "3000000", "0", "-");
	pthread_kill(pthread_self(), SIGUSR1);
	sigdelset(&before, SIGUSR1);
	need(sigsuspend(&before) == -1 && errno == EINTR, "sigsuspend");
	say("sigsuspend", "-", "-", "-");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static pid_t child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return pid;
}

static void processes(void)
{
	struct rusage usage;
	char number[16];
	siginfo_t info;
	int status;
	pid_t pid;

#define CHILD(call, what)                                                                          \
	do {                                                                                       \
		pid = child();                                                                     \
		need((what), call);                                                                \
		snprintf(number, sizeof(number), "%d", (int)pid);                                  \
		say(call, "-", number, "-");                                                       \
	} while (0)
	CHILD("wait", wait(&status) == pid);
	CHILD("waitpid", waitpid(pid, &status, 0) == pid);
	CHILD("wait3", wait3(&status, 0, &usage) == pid);
	CHILD("wait4", wait4(pid, &status, 0, &usage) == pid);
	CHILD("waitid", waitid(P_PID, (id_t)pid, &info, WEXITED) == 0);
}

static void futexes(void)
{
	struct timespec t = {0, 2 * MS};
	int word = 1;

	need(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &t, NULL, 0) == -1 &&
		     errno == ETIMEDOUT,
	     "futex");
	say("futex", "2000000", "-", "-");
	need(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0, "wake");
}

/* ---- two threads at once ---- */

static void *sleep_some(void *number)
{
	const long n = (long)number;

	for (long i = 0; i < 3; i++) {
		const struct timespec t = {0, (1 + n) * MS};
		char limit[16];

		nanosleep(&t, NULL);
		snprintf(limit, sizeof(limit), "%ld", (1 + n) * MS);
		say("nanosleep", limit, "-", "-");
	}
	return NULL;
}

static void two(void)
{
	pthread_t t[2];

	for (long i = 0; i < 2; i++)
		need(pthread_create(&t[i], NULL, sleep_some, (void *)i) == 0, "pthread_create");
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

/* ---- what calls return is what they return without Kymo ---- */

static void results(void)
{
	struct timespec wrong = {0, -1}, t = {5, 0}, *volatile bad = (struct timespec *)8;
	struct sigaction action = {.sa_handler = handle};
	struct pollfd closed = {999, POLLIN, 0};
	struct itimerspec soon = {.it_value = {0, 20 * MS}}, often = {{0, 20 * MS}, {0, 20 * MS}};
	timer_t timer;
	sigset_t all;
	int status;

	printf("nanosleep %d %d\n", nanosleep(&wrong, NULL), errno);
	printf("bad %d %d\n", nanosleep(bad, NULL), errno);
	printf("clock %d\n", clock_nanosleep(CLOCK_MONOTONIC, 0, bad, NULL));
	printf("poll %d", poll(&closed, 1, 0));
	printf(" %d\n", closed.revents);
	errno = 0;
	printf("wait %d %d\n", (int)waitpid(-1, &status, 0), errno);
	printf("epoll %d %d\n", epoll_wait(-1, NULL, 1, 0), errno);
	sigaction(SIGALRM, &action, NULL);
	need(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0, "timer_create");
	timer_settime(timer, 0, &soon, NULL);
	printf("interrupted %d %d", nanosleep(&t, &t), errno);
	printf(" %d\n", t.tv_sec == 4);
	timer_settime(timer, 0, &soon, NULL);
	printf("sleep %d\n", sleep(10) > 0);
	timer_settime(timer, 0, &often, NULL);
	printf("sleep %u\n", sleep(1)); /* nothing is left of it in whole seconds */
	timer_settime(timer, 0, &soon, NULL);
	errno = 0;
	printf("pause %d", pause());
	printf(" %d\n", errno);
	/* A mask for as long as it waits: the signal comes there, and nowhere else. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	raise(SIGALRM);
	sigdelset(&all, SIGALRM);
	t = (struct timespec){5, 0};
	printf("ppoll %d", ppoll(NULL, 0, &t, &all));
	printf(" %d\n", errno);
	raise(SIGALRM);
	printf("pselect %d", pselect(0, NULL, NULL, NULL, &t, &all));
	printf(" %d\n", errno);
	printf("syscall %d\n", syscall(SYS_getpid) == getpid());
}

static void *sleep_long(void *data)
{
	const struct timespec hour = {3600, 0};

	for (;;)
		data ? (void)nanosleep(&hour, NULL) : (void)poll(NULL, 0, -1);
	return NULL;
}

static void cancelled(void)
{
	pthread_t t;
	void *result;

	for (long i = 0; i < 2; i++) {
		need(pthread_create(&t, NULL, sleep_long, (void *)i) == 0, "pthread_create");
		pthread_cancel(t);
		pthread_join(t, &result);
		printf("cancelled %d\n", result == PTHREAD_CANCELED);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(what, "each") == 0) {
		sleeps();
		polls();
		signals();
		processes();
		futexes();
	} else if (strcmp(what, "two") == 0) {
		two();
	} else if (strcmp(what, "results") == 0) {
		results();
	} else if (strcmp(what, "cancelled") == 0) {
		cancelled();
	} else {
		return 2;
	}
	return 0;
}
