/* SPDX-License-Identifier: Apache-2.0 */
/* A program that makes threads and processes and uses nothing that is traced. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

extern char **environ;

static pthread_barrier_t barrier;

static void *worker(void *arg)
{
	pthread_setname_np(pthread_self(), "own name");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return arg;
}

static int worker11(void *arg)
{
	prctl(PR_SET_NAME, "eleven");
	return 11;
}

static void threads(void)
{
	pthread_t t;
	thrd_t t11;
	void *value;
	int result;

	pthread_barrier_init(&barrier, NULL, 2);
	assert(pthread_create(&t, NULL, worker, &t) == 0);
	pthread_barrier_wait(&barrier);
	assert(pthread_setname_np(t, "given name") == 0);
	pthread_barrier_wait(&barrier);
	assert(pthread_join(t, &value) == 0 && value == &t);
	assert(thrd_create(&t11, worker11, NULL) == thrd_success);
	assert(thrd_join(t11, &result) == thrd_success && result == 11);
}

static void await(pid_t pid)
{
	int status;

	assert(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void processes(void)
{
	char *argv[] = {"/bin/true", NULL};
	pid_t pid = fork();

	if (pid == 0) {
		threads();
		_exit(0);
	}
	await(pid);
	pid = fork();
	if (pid == 0)
		_exit(0);
	await(pid);
	pid = fork();
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(1);
	}
	await(pid);
	pid = vfork();
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(1);
	}
	await(pid);
	assert(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0);
	await(pid);
	assert(waitpid(-1, NULL, 0) == -1 && errno == ECHILD); /* nobody else's child is ours */
}

static void *nothing(void *arg)
{
	return arg;
}

static void many(int n)
{
	pthread_t t[50];

	for (int i = 0; i < n; i += 50) {
		for (int k = 0; k < 50; k++)
			assert(pthread_create(&t[k], NULL, nothing, NULL) == 0);
		for (int k = 0; k < 50; k++)
			pthread_join(t[k], NULL);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "daemon") == 0) {
		char byte;
		int fds[2];

		assert(pipe(fds) == 0);
		if (fork() == 0) {
			assert(daemon(1, 1) == 0);
			assert(write(fds[1], "x", 1) == 1);
			_exit(0);
		}
		assert(read(fds[0], &byte, 1) == 1);
		while (wait(NULL) > 0)
			;
	} else if (argc > 1) {
		many(atoi(argv[1]));
	} else {
		threads();
		processes();
	}
	puts("done");
	return 0;
}
