/* SPDX-License-Identifier: Apache-2.0 */
/* Scenes: how programs end, and work that does not. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenes.h"
#include "calls.h"

void forked(void)
{
	pid_t child;

	fake_context(1);
	ran("parent", launch("parent", NULL, 1), fake_now(), fake_now() + 10, 7, 1);
	child = fork();
	if (child == 0) {
		whole(RUNTIME, RT_GET_DEVICE, NULL, 3);
		whole(DRIVER, CU_LAUNCH, NULL, 3); /* not initialised: what CUDA says in a child */
		exit(7);
	}
	waitpid(child, NULL, 0);
	ran("after", launch("after", NULL, 1), fake_now(), fake_now() + 10, 7, 1);
}

/* Ten kernels that CUPTI has not handed over. Returns what cannot be. */
int ends(const char *how)
{
	pid_t child;
	int status = 0;

	fake_context(1);
	for (unsigned i = 0; i < 10; i++)
		ran("empty", launch("empty", NULL, 1), fake_now(), fake_now() + 1000, 7, 1);
	if (strcmp(how, "kill") == 0) {
		while (fake_held()) /* until somebody asks for it */
			sched_yield();
		launch("lost", NULL, 1);
		raise(SIGKILL);
	}
	if (strcmp(how, "quick") == 0)
		quick_exit(3);
	if (strcmp(how, "children") == 0) { /* which have nothing to collect */
		child = fork();
		if (child == 0)
			_exit(4);
		waitpid(child, &status, 0);
		child = WEXITSTATUS(status) == 4 ? vfork() : -1;
		if (child == 0)
			_exit(5);
		waitpid(child, &status, 0);
		if (WEXITSTATUS(status) != 5 || fake_flushed())
			return 1;
	}
	if (strcmp(how, "_Exit") == 0)
		_Exit(3);
	_exit(3);
}

/* On a device of its own, by a thread of its own: a kernel and a memset. */
static void *hang_there(void *arg)
{
	struct memset_record s = {.kind = 2, .bytes = 4096, .device = 1, .context = 2, .stream = 7};
	struct kernel k = {.kind = 10,
			   .grid = {1, 1, 1},
			   .block = {1, 1, 1},
			   .device = 1,
			   .context = 2,
			   .stream = 7,
			   .name = "there"};
	struct {
		uint64_t to;
		unsigned char value;
		size_t n;
	} p = {0x7f0000001000, 1, 4096};
	struct fake_call c;

	k.correlation = launch("there", NULL, 1);
	fake_record(&k, by_version(216, 208, 200));
	s.correlation = fake_correlation();
	begin(&c, DRIVER, CU_MEMSET, &p, s.correlation);
	fake_leave(&c, 0);
	fake_record(&s, by_version(88, 88, 88));
	return NULL;
}

/* What does not hang, though CUPTI has no record of it to give. */
static void around(void *stream)
{
	struct {
		void *to;
		const void *from;
		size_t count;
		int kind;
	} nothing = {&nothing, &nothing, 0, 1};
	struct {
		void *stream;
		int mode;
	} capture = {stream, 0};
	struct {
		void *stream, **graph;
	} captured = {stream, NULL};
	uint64_t now = fake_now();
	void *legacy = NULL;

	ran("seen", launch("seen", NULL, 1), now, now + 10, 7, 1);
	whole(DRIVER, CU_CTX_SYNC, NULL, 0);
	ran("waited", launch("waited", stream, 1), now, now + 10, 0x0d, 1);
	whole(DRIVER, CU_STREAM_SYNC, &stream, 0);
	whole(RUNTIME, RT_MEMCPY, &nothing, 0);
	whole(DRIVER, CU_BEGIN_CAPTURE, &capture, 0);
	launch("captured", stream, 1);
	whole(DRIVER, CU_END_CAPTURE, &captured, 0);
	whole(DRIVER, CU_STREAM_SYNC, &legacy,
	      999); /* failed: it says nothing of what came before */
}

/* Kernels on two devices and a memset that do not end, seen to hang; then the process ends as told. */
int hang(const char *how, int more)
{
	void *stream = make_stream(0);
	uint64_t now = fake_now();
	pthread_t other;

	fake_context(1);
	fake_context(2);
	ran("before", launch("before", NULL, 1), now, now + 10, 7, 1);
	fake_deliver();
	fake_hold(true);
	around(stream);
	ran("hung", launch("hung", stream, 1), 0, 0, 0x0d, 1);
	for (int i = 0; i < more; i++) /* behind it */
		launch("behind", stream, 1);
	context_id = 2;
	if (pthread_create(&other, NULL, hang_there, NULL) != 0)
		return 1;
	pthread_join(other, NULL);
	while (strcmp(how, "live") != 0 && fake_kind(10) && fake_looked() < 4)
		sched_yield();
	printf("hangs\n");
	fflush(stdout);
	if (strcmp(how, "ends") == 0) /* and the program as well */
		fake_hold(false);
	else if (strcmp(how, "live") == 0)
		pause();
	else if (strcmp(how, "_exit") == 0)
		_exit(0);
	else if (strcmp(how, "exit") != 0)
		raise(atoi(how));
	return 0;
}
