/* SPDX-License-Identifier: Apache-2.0 */
/* See refusal.h. */
#include "core/process/refusal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct texts {
	char of[REFUSALS][REFUSAL_SIZE];
};

static _Atomic uint64_t key_made; /* the key + 1 */

/* Not by pthread_once(), which ends a process to which futex is refused. False: there is none. */
static bool key_of_all(pthread_key_t *key)
{
	uint64_t there = atomic_load(&key_made);

	if (!there && pthread_key_create(key, free) == 0) {
		if (atomic_compare_exchange_strong(&key_made, &there, (uint64_t)*key + 1))
			return true;
		pthread_key_delete(*key); /* another thread's is there */
	}
	*key = (pthread_key_t)(there - 1);
	return there != 0;
}

static struct texts *texts_to_set(void)
{
	pthread_key_t key;
	struct texts *t;

	if (!key_of_all(&key))
		return NULL;
	t = pthread_getspecific(key);
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (t && pthread_setspecific(key, t) != 0) {
		free(t);
		t = NULL;
	}
	return t;
}

void core_refusal_set(enum refusal which, const char *format, ...)
{
	struct texts *t = texts_to_set();
	va_list args;

	if (!t)
		return;
	va_start(args, format);
	vsnprintf(t->of[which], REFUSAL_SIZE, format, args);
	va_end(args);
}

const char *core_refusal(enum refusal which)
{
	pthread_key_t key;
	const struct texts *t = key_of_all(&key) ? pthread_getspecific(key) : NULL;

	return t && t->of[which][0] ? t->of[which] : "nothing was refused in this thread";
}
