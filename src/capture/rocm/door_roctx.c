/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ROCTx's own libraries, for where AMD's are not or do not tell tools of themselves: built under both
 * of their names, libroctx64.so.4 (the older, which registers no tables) and
 * librocprofiler-sdk-roctx.so.1. They lie in a folder of their own and take AMD's place only when they
 * are preloaded or linked. Without Kymo in the process they do nothing but keep count of levels.
 *
 * Where AMD's library comes after them in the process it is called as well; the one that registers
 * its tables is only called, for Kymo hears of it there.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <kymo/marker.h>

#define EXPORT __attribute__((visibility("default")))

static kymo_string_t domain = KYMO_STRING("roctx");
static _Thread_local int level; /* of open ranges, where there is no other to say */

/* AMD's function after this one, or NULL; *tells: Kymo hears of its calls by its tables. */
static void *next(const char *name, bool *tells)
{
	void *symbol = dlsym(RTLD_NEXT, name);
	Dl_info info;

	*tells = symbol && dladdr(symbol, &info) && info.dli_fname &&
		 strstr(info.dli_fname, "rocprofiler-sdk-roctx");
	return symbol;
}

/* NEXT(type, parameters): `other` is AMD's function of this name, `tells` as above. */
#define NEXT(type, parameters)                                                                     \
	static void *found;                                                                        \
	static bool looked, tells;                                                                 \
	type(*other) parameters;                                                                   \
                                                                                                   \
	if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {                                         \
		found = next(__func__, &tells);                                                    \
		__atomic_store_n(&looked, true, __ATOMIC_RELEASE);                                 \
	}                                                                                          \
	memcpy(&other, &found, sizeof(other))

static kymo_marker_t marker(const char *message)
{
	kymo_marker_t m = {sizeof(m), NULL, NULL, NULL, NULL, 0, 0, NULL};

	m.name = message;
	m.domain = &domain;
	return m;
}

EXPORT void roctxMarkA(const char *message);
EXPORT int roctxRangePushA(const char *message);
EXPORT int roctxRangePop(void);
EXPORT uint64_t roctxRangeStartA(const char *message);
EXPORT void roctxRangeStop(uint64_t id);
EXPORT int roctxProfilerPause(uint64_t tid);
EXPORT int roctxProfilerResume(uint64_t tid);
EXPORT int roctxNameOsThread(const char *name);
EXPORT int roctxNameHsaAgent(const char *name, const uint64_t *agent);
EXPORT int roctxNameHipDevice(const char *name, int device);
EXPORT int roctxNameHipStream(const char *name, const void *stream);
EXPORT int roctxGetThreadId(uint64_t *tid);
#ifdef ROCTX_4
EXPORT uint32_t roctx_version_major(void);
EXPORT uint32_t roctx_version_minor(void);
EXPORT void roctxRegisterTracerCallback(int (*function)(uint32_t domain, uint32_t op, void *data));
#endif

void roctxMarkA(const char *message)
{
	kymo_marker_t m = marker(message);
	NEXT(void, (const char *));

	if (!tells)
		kymo_mark_full(&m);
	if (other)
		other(message);
}

int roctxRangePushA(const char *message)
{
	kymo_marker_t m = marker(message);
	NEXT(int, (const char *));

	if (!tells)
		kymo_range_push_full(&m);
	return other ? other(message) : level++;
}

int roctxRangePop(void)
{
	NEXT(int, (void));

	if (!tells)
		kymo_range_pop_domain(&domain);
	if (other)
		return other();
	return level > 0 ? --level : -1;
}

/* The id is Kymo's where there is no other library: programs only hand it back. */
uint64_t roctxRangeStartA(const char *message)
{
	kymo_marker_t m = marker(message);
	NEXT(uint64_t, (const char *));

	return other ? other(message) : kymo_range_start_full(&m);
}

void roctxRangeStop(uint64_t id)
{
	NEXT(void, (uint64_t));

	if (other)
		other(id);
	else
		kymo_range_stop(id);
}

static void control(uint64_t tid, kymo_control_t all, kymo_control_t thread)
{
	if (tid == 0)
		kymo_control(all);
	else if (tid == (uint64_t)syscall(SYS_gettid))
		kymo_control(thread);
}

int roctxProfilerPause(uint64_t tid)
{
	NEXT(int, (uint64_t));

	if (!tells)
		control(tid, KYMO_PAUSE_ALL, KYMO_PAUSE_THREAD);
	return other ? other(tid) : 0;
}

int roctxProfilerResume(uint64_t tid)
{
	NEXT(int, (uint64_t));

	if (!tells)
		control(tid, KYMO_RESUME_ALL, KYMO_RESUME_THREAD);
	return other ? other(tid) : 0;
}

int roctxNameOsThread(const char *name)
{
	NEXT(int, (const char *));

	if (!tells)
		kymo_name_thread(name);
	return other ? other(name) : 0;
}

int roctxNameHsaAgent(const char *name, const uint64_t *agent)
{
	NEXT(int, (const char *, const uint64_t *));

	if (!tells && agent)
		kymo_name(KYMO_OBJECT_DEVICE, "hsa", *agent, name);
	return other ? other(name, agent) : 0;
}

int roctxNameHipDevice(const char *name, int device)
{
	NEXT(int, (const char *, int));

	if (!tells)
		kymo_name(KYMO_OBJECT_DEVICE, "hip", (uint32_t)device, name);
	return other ? other(name, device) : 0;
}

int roctxNameHipStream(const char *name, const void *stream)
{
	NEXT(int, (const char *, const void *));

	if (!tells)
		kymo_name(KYMO_OBJECT_QUEUE, "hip", (uintptr_t)stream, name);
	return other ? other(name, stream) : 0;
}

int roctxGetThreadId(uint64_t *tid)
{
	NEXT(int, (uint64_t *));

	if (other)
		return other(tid);
	if (!tid)
		return -1;
	*tid = (uint64_t)syscall(SYS_gettid);
	return 0;
}

#ifdef ROCTX_4 /* of the older library alone */

/* The interface that programs were built for, and that this library has. */
uint32_t roctx_version_major(void)
{
	NEXT(uint32_t, (void));

	return other ? other() : 4;
}

uint32_t roctx_version_minor(void)
{
	NEXT(uint32_t, (void));

	return other ? other() : 1;
}

/* AMD's older tracer asks its library to tell it of calls; where that is not, nobody is told. */
void roctxRegisterTracerCallback(int (*function)(uint32_t domain, uint32_t op, void *data))
{
	NEXT(void, (int (*)(uint32_t, uint32_t, void *)));

	if (other)
		other(function);
}

#endif
