/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin calls a function while another thread is in dlopen(): loader PLUGIN SLOW OTHER. When
 * somebody who stands before that function walks over the loaded objects, the other thread begins
 * to load SLOW, whose constructor loads OTHER as soon as the first object is looked at. Who waits
 * for the loader from there hangs, and so does the loader.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int (*look_fn)(struct dl_phdr_info *object, size_t size, void *data);

enum { LONG = 100 }; /* seconds */

int dl_iterate_phdr(look_fn look, void *data);
void loader_in_constructor(void);

static int (*real)(look_fn look, void *data);
static _Atomic int armed, constructing, looking, loaded;
static const char *slow, *other;
static pthread_t thread;

static void wait_for(_Atomic int *flag)
{
	while (!atomic_load(flag))
		usleep(1000);
}

/* Called by SLOW's constructor. */
void loader_in_constructor(void)
{
	atomic_store(&constructing, 1);
	wait_for(&looking);
	atomic_store(&loaded, dlopen(other, RTLD_NOW) != NULL);
}

static void *load(void *unused)
{
	dlopen(slow, RTLD_NOW);
	return NULL;
}

struct walk {
	look_fn look;
	void *data;
};

static int look_at(struct dl_phdr_info *object, size_t size, void *data)
{
	const struct walk *w = data;

	atomic_store(&looking, 1);
	return w->look(object, size, w->data);
}

int dl_iterate_phdr(look_fn look, void *data)
{
	struct walk w = {look, data};
	void *symbol;

	if (!real) {
		symbol = dlsym(RTLD_NEXT, "dl_iterate_phdr");
		memcpy(&real, &symbol, sizeof(symbol));
	}
	if (!atomic_exchange(&armed, 0))
		return real(look, data);
	pthread_create(&thread, NULL, load, NULL);
	wait_for(&constructing);
	return real(look_at, &w);
}

int main(int argc, char **argv)
{
	void *plugin = argc > 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	void *symbol = plugin ? dlsym(plugin, "loader_plugin") : NULL;
	void (*run)(void);

	memcpy(&run, &symbol, sizeof(symbol));
	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	slow = argv[2];
	other = argv[3];
	alarm(LONG);
	atomic_store(&armed, 1);
	run();
	if (atomic_exchange(&armed, 0)) {
		puts("nobody walked over the objects");
		return 0;
	}
	pthread_join(thread, NULL);
	puts(atomic_load(&loaded) ? "loaded meanwhile" : "not loaded");
	return 0;
}
