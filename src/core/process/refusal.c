/* SPDX-License-Identifier: Apache-2.0 */
/* See refusal.h. */
#include "core/process/refusal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct texts {
	char of[REFUSALS][REFUSAL_SIZE];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int keyed;

static void make_key(void)
{
	keyed = pthread_key_create(&key, free) == 0;
}

static struct texts *texts_of_thread(void)
{
	pthread_once(&once, make_key);
	return keyed ? pthread_getspecific(key) : NULL;
}

void core_refusal_set(enum refusal which, const char *format, ...)
{
	struct texts *t = texts_of_thread();
	va_list args;

	if (!t && keyed) {
		t = calloc(1, sizeof(*t));
		if (t && pthread_setspecific(key, t) != 0) {
			free(t);
			t = NULL;
		}
	}
	if (!t)
		return;
	va_start(args, format);
	vsnprintf(t->of[which], REFUSAL_SIZE, format, args);
	va_end(args);
}

const char *core_refusal(enum refusal which)
{
	const struct texts *t = texts_of_thread();

	return t && t->of[which][0] ? t->of[which] : "nothing was refused in this thread";
}
