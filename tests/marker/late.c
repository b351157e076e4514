/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that knows libkymo by its header alone and loads it late, out of sight, with a tool:
 * before that nothing happens, afterwards the tool hears; also what a plugin says that comes later
 * still. late LIBKYMO PLUGIN
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <kymo/tool.h>

#include <kymo/marker.h>

static int enters, exits, marks;
static uint64_t word;

static void hear(kymo_context_t c, const kymo_callback_record_t *r, void *data)
{
	const kymo_marker_args_t *a = r->args;
	const char *op = r->domain->ops[r->op].name;

	if (strcmp(op, "mark") == 0) {
		marks++;
		printf("mark %s in %d\n", a->name, r->scope != 0);
	} else if (r->phase == KYMO_PHASE_ENTER) {
		enters++;
		*r->user = ++word;
		printf("enter %s %s\n", op, a->name);
	} else {
		exits++;
		printf("exit %s %s word %d\n", op, a->name, (int)*r->user);
	}
}

/* A tool of the program's own, made of functions that it finds by name. */
static int listen(void *library)
{
	kymo_status_t (*create)(kymo_context_t *) = dlsym(library, "kymo_context_create");
	kymo_status_t (*service)(kymo_context_t, const kymo_selection_t *, kymo_callback_fn,
				 void *) = dlsym(library, "kymo_callback_service");
	kymo_status_t (*start)(kymo_context_t) = dlsym(library, "kymo_context_start");
	kymo_selection_t all = {.size = sizeof(all), .domain = "marker"};
	kymo_context_t context;

	return create && service && start && create(&context) == KYMO_OK &&
	       service(context, &all, hear, NULL) == KYMO_OK && start(context) == KYMO_OK;
}

static void plugin(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*say)(void) = handle ? (void (*)(void))dlsym(handle, "second_file") : NULL;

	if (say)
		say();
	else
		puts(dlerror());
	if (handle)
		dlclose(handle);
}

int main(int argc, char **argv)
{
	void *library;

	printf("before: %d\n", kymo_range_push("nobody hears"));
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!library || !listen(library)) {
		puts("libkymo was not loaded");
		return 1;
	}
	printf("after: %d\n", kymo_range_push("outer"));
	kymo_mark("mark");
	plugin(argv[2]);
	plugin(argv[2]); /* once more, after it was unloaded */
	kymo_range_pop();
	printf("unbalanced: %d\n", kymo_range_pop());
	printf("%d %d %d\n", enters, exits, marks);
	return 0;
}
