/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's side of OpenCL (launch/launch.h): layer or preload, and what `kymo doctor` says of
 * the loader and the drivers (ICDs) that it would find.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "launch/launch.h"

#define DEFAULT_FOLDER "/etc/OpenCL/vendors"
#define PRELOAD        "libkymo-opencl-preload.so"

/* The loader that programs here would use, "" if there is none; *layers: knows layers. */
static void find_loader(char path[PATH_MAX], bool *layers)
{
	void *handle = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map = NULL;

	path[0] = '\0';
	*layers = false;
	if (!handle)
		return;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map)
		snprintf(path, PATH_MAX, "%s", map->l_name);
	dlclose(handle);
	/* Loaders that know layers read this variable. */
	*layers = launch_mentions(path, "OPENCL_LAYERS");
}

/* Where the loader knows no layers, OpenCL is entered by preloading. */
static bool doors(struct launch_environment *e, const struct kymo_launch *self)
{
	char loader[PATH_MAX], layer[PATH_MAX];
	bool layers;

	if (!launch_wants(e, self))
		return true;
	find_loader(loader, &layers);
	if (*loader && !layers && launch_preload(e, LAUNCH_LOADER, PRELOAD))
		return true;
	launch_path(e->libdir, "libkymo.so.1", layer);
	return launch_set_list(e, "OPENCL_LAYERS", layer, ":");
}

/* ---- drivers ---- */

/* The name of an .icd file, the library named there. */
typedef void visit_fn(void *data, const char *name, const char *library);

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_icd(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && strcmp(name + n - 4, ".icd") == 0;
}

/* Folder, file or library where the loader looks for drivers. */
static const char *driver_place(void)
{
	const char *place = getenv("OCL_ICD_VENDORS");

	if (!place || !*place)
		place = getenv("OPENCL_VENDOR_PATH");
	return place && *place ? place : DEFAULT_FOLDER;
}

/* The library that the file names in its first line. */
static void add_file(const char *folder, const char *file, visit_fn *visit, void *data)
{
	char path[PATH_MAX], *text;

	snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", file);
	text = file_read(path, NULL);
	if (text)
		text[strcspn(text, "\r\n")] = '\0';
	visit(data, file, text ? text : "");
	free(text);
}

static void add_list(const char *list, visit_fn *visit, void *data)
{
	while (list && *list) {
		size_t n = strcspn(list, ":");
		char library[PATH_MAX];

		snprintf(library, sizeof(library), "%.*s", (int)n, list);
		if (n)
			visit(data, library, library);
		list += n + (list[n] != '\0');
	}
}

static void each_driver(visit_fn *visit, void *data)
{
	const char *place = driver_place();
	struct dirent *e;
	DIR *d;

	add_list(getenv("OCL_ICD_FILENAMES"), visit, data);
	if (!is_folder(place)) {
		if (is_icd(place))
			add_file(strchr(place, '/') ? "" : DEFAULT_FOLDER, place, visit, data);
		else if (*place != '/' || access(place, F_OK) == 0)
			visit(data, place, place);
		return;
	}
	d = opendir(place);
	while (d && (e = readdir(d)))
		if (is_icd(e->d_name))
			add_file(place, e->d_name, visit, data);
	if (d)
		closedir(d);
}

static void count_driver(void *data, const char *name, const char *library)
{
	++*(unsigned *)data;
}

static void absent(struct text *out)
{
	char loader[PATH_MAX];
	unsigned drivers = 0;
	bool layers;

	find_loader(loader, &layers);
	each_driver(count_driver, &drivers);
	if (!*loader)
		text_add(out, "; there is no OpenCL loader (libOpenCL.so.1) on this machine");
	else if (drivers == 0)
		text_addf(out, "; there is no OpenCL driver in %s", driver_place());
}

/* ---- kymo doctor ---- */

static void check_loader(const struct launch_doctor *d)
{
	char path[PATH_MAX], preload[PATH_MAX];
	struct text t = {0};
	bool layers;

	find_loader(path, &layers);
	launch_path(d->libdir, PRELOAD, preload);
	if (!*path) {
		d->say(LAUNCH_FAIR, "OpenCL loader",
		       "libOpenCL.so.1 was not found; programs that bring their own are recorded "
		       "all the "
		       "same (Debian: ocl-icd-libopencl1)");
	} else if (layers) {
		text_addf(&t, "%s, supports layers", path);
		d->say(LAUNCH_GOOD, "OpenCL loader", t.s);
	} else if (access(preload, R_OK) == 0) {
		text_addf(&t, "%s supports no layers: Kymo is preloaded instead", path);
		d->say(LAUNCH_FAIR, "OpenCL loader", t.s);
	} else {
		text_addf(
			&t,
			"%s supports no layers and %s is missing: OpenCL is not recorded; install "
			"ocl-icd 2.3 or the Khronos loader",
			path, preload);
		d->say(LAUNCH_BAD, "OpenCL loader", t.s);
	}
	text_release(&t);
}

struct drivers {
	struct text good, bad;
};

static void check_driver(void *data, const char *name, const char *library)
{
	int n = (int)strlen(name);
	struct drivers *d = data;
	struct text why = {0};

	if (is_icd(name))
		n -= 4;
	if (!*library)
		text_addf(&d->bad, "%s%.*s: names no library", d->bad.length ? "; " : "", n, name);
	else if (launch_loads(library, &why))
		text_addf(&d->good, "%s%.*s", d->good.length ? ", " : "", n, name);
	else
		text_addf(&d->bad, "%s%.*s: %s", d->bad.length ? "; " : "", n, name, why.s);
	text_release(&why);
}

static void check_drivers(const struct launch_doctor *d)
{
	struct drivers found = {{0}, {0}};
	const char *place = driver_place();
	struct text good = {0}, bad = {0};

	each_driver(check_driver, &found);
	if (found.good.length)
		text_addf(&good, "%s (in %s)", found.good.s, place);
	else if (!found.bad.length)
		text_addf(&bad, "none in %s (Debian: pocl-opencl-icd for CPUs)", place);
	if (found.bad.length)
		text_addf(&bad, "cannot be loaded: %s (in %s)", found.bad.s, place);
	if (good.length)
		d->say(LAUNCH_GOOD, "OpenCL drivers", good.s);
	if (bad.length)
		d->say(LAUNCH_FAIR, "OpenCL drivers", bad.s);
	text_release(&found.good);
	text_release(&found.bad);
	text_release(&good);
	text_release(&bad);
}

static void doctor(const struct launch_doctor *d)
{
	check_loader(d);
	check_drivers(d);
}

const struct kymo_launch kymo_launch_opencl = {
	.domains = (const char *const[]){"opencl", NULL},
	.doors = doors,
	.own = (const char *const[]){"/" PRELOAD, NULL},
	.doctor = doctor,
	.told = LAUNCH_TOLD_FIRST,
	.absent = absent,
};
