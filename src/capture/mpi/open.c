/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening the door: which MPI has the process loaded, and which module knows its types? Each module
 * in kymo/mpi beside libkymo is asked; a module that says no is unloaded again. One that says yes
 * gets the PMPI functions and its wrappers go into the door's slots.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/variables.h"
#include "capture/mpi/backend.h"
#include "capture/mpi/host.h"

#define LIBRARIES 4u

struct library { /* one that is an MPI */
	void *handle;
	uintptr_t low, high; /* addresses it is mapped at */
	char name[PATH_MAX];
};

struct search {
	char (*names)[PATH_MAX];
	uint32_t count, room;
	uintptr_t address, low, high; /* of the object that holds `address` */
};

const struct mpi_module *mpi_module;
const struct mpi_info *mpi_infos;
const kymo_op_desc_t *mpi_descs;
_Atomic bool mpi_is_alive;
struct mpi_bindings mpi_bindings;

/* Of the door, and of libkymo's exports. */
__attribute__((visibility("default"))) bool kymo_mpi_open(const struct mpi_door *door);

static struct library mpi; /* the one that is traced */
static bool opened;

static void *find_symbol(const char *name)
{
	return dlsym(mpi.handle, name);
}

/* Data may have been copied into the executable, and then that copy is the one that all use. */
static void *find_data(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	return found ? found : find_symbol(name);
}

/* ---- the process's libraries ---------------------------------------------------------------- */

static int add_name(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *s = data;

	if (info->dlpi_name && *info->dlpi_name && s->count < s->room)
		snprintf(s->names[s->count++], PATH_MAX, "%s", info->dlpi_name);
	return 0;
}

static int count_names(struct dl_phdr_info *info, size_t size, void *data)
{
	((struct search *)data)->room++;
	return 0;
}

static int holds(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *s = data;
	uintptr_t low = UINTPTR_MAX, high = 0;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		low = start < low ? start : low;
		high = start + p->p_memsz > high ? start + p->p_memsz : high;
	}
	if (s->address < low || s->address >= high)
		return 0;
	s->low = low;
	s->high = high;
	return 1;
}

/* The address of a function that the library has itself. */
static uintptr_t own_function(const struct library *l, const char *function)
{
	void *address = dlsym(l->handle, function);
	Dl_info owner;

	if (!address || !dladdr(address, &owner) || !owner.dli_fname)
		return 0;
	return strcmp(owner.dli_fname, l->name) == 0 ? (uintptr_t)address : 0;
}

/*
 * The library of that name, if it is an MPI. Tools may stand before PMPI_Init, too; that they stand
 * before a function which moves and changes nothing is not to be expected.
 */
static bool is_mpi(const char *name, struct library *out)
{
	struct search s = {0};

	snprintf(out->name, sizeof(out->name), "%s", name);
	out->handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	if (!out->handle)
		return false;
	s.address = own_function(out, "PMPI_Init");
	if (s.address && own_function(out, "PMPI_Comm_rank") && dl_iterate_phdr(holds, &s)) {
		out->low = s.low;
		out->high = s.high;
		return true;
	}
	dlclose(out->handle);
	return false;
}

/*
 * All MPIs of the process behind the door. What is before it and has the functions of an MPI passes them
 * on to it: the list is in the order in which names are looked up. A door that was brought to a program which runs already
 * comes last in it, and all are behind it.
 */
static uint32_t find_libraries(struct library *out, uintptr_t door)
{
	struct search s = {0};
	uint32_t n = 0;

	dl_iterate_phdr(count_names, &s);
	s.room += 8;
	s.names = calloc(s.room, sizeof(*s.names));
	if (!s.names)
		return 0;
	dl_iterate_phdr(add_name, &s);
	for (uint32_t i = 0; i < s.count && n < LIBRARIES; i++) {
		if (!is_mpi(s.names[i], &out[n]))
			continue;
		if (door >= out[n].low && door < out[n].high) {
			dlclose(out[n].handle);
			while (n > 0 && !variable("KYMO_ATTACHED_BY"))
				dlclose(out[--n].handle);
		} else {
			n++;
		}
	}
	free(s.names);
	return n;
}

/* ---- modules -------------------------------------------------------------------------------- */

/* Without a door it is only looked at. */
static struct mpi_module *try_module(const char *path, const struct mpi_door *door)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct mpi_module *(*get)(void);
	struct mpi_module *m = NULL;

	if (!handle)
		return NULL;
	*(void **)&get = dlsym(handle, "kymo_mpi_module");
	if (get)
		m = get();
	if (m && m->contract == MPI_CONTRACT && m->ops == MPI_OP_COUNT) {
		if (!door)
			return m;
		for (uint32_t op = 0; op < MPI_OP_COUNT; op++)
			m->next[op] = find_symbol(door->names[op]);
		if (m->bind(&mpi_host_functions, find_data))
			return m;
	}
	dlclose(handle);
	return NULL;
}

static bool modules_folder(char path[PATH_MAX])
{
	Dl_info info;
	char *slash;

	if (!dladdr((void *)(uintptr_t)kymo_mpi_open, &info) || !info.dli_fname)
		return false;
	snprintf(path, PATH_MAX, "%.*s", PATH_MAX - 64, info.dli_fname);
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	snprintf(slash, 16, "/kymo/mpi");
	return true;
}

static struct mpi_module *find_module(const struct mpi_door *door)
{
	struct {
		char folder[PATH_MAX], path[PATH_MAX + 256];
	} *at = malloc(sizeof(*at)); /* too much for a small stack */
	struct mpi_module *m = NULL;
	struct dirent *e;
	DIR *dir;

	dir = at && modules_folder(at->folder) ? opendir(at->folder) : NULL;
	while (dir && !m && (e = readdir(dir))) {
		if (strncmp(e->d_name, "libkymo-mpi-", 12) != 0)
			continue;
		snprintf(at->path, sizeof(at->path), "%s/%s", at->folder, e->d_name);
		m = try_module(at->path, door);
	}
	if (dir)
		closedir(dir);
	free(at);
	return m;
}

static const kymo_domain_desc_t *description(void)
{
	const struct mpi_module *m = find_module(NULL);

	return m ? m->description->domain : NULL;
}
CAP_KNOWN_DOMAIN(mpi, description());

/* ---- slots ---------------------------------------------------------------------------------- */

static void slot_set(struct cap_slot *s, uint32_t op, void *wrapper, void *next)
{
	s->wrapper = wrapper ? wrapper : next;
	s->next = next;
	s->op = (uint16_t)op;
	atomic_store_explicit(&s->target, next, memory_order_release);
}

/* Nothing is traced: everything goes on to what would have been called without the door. */
static void slots_pass(const struct mpi_door *door)
{
	for (uint32_t i = 0; i < 2 * MPI_OP_COUNT; i++) {
		const char *name = door->names[i / 2] + (i % 2 == 0); /* MPI_X, PMPI_X */
		void *behind = door->next(name);

		/* One that was loaded without RTLD_GLOBAL is behind nothing. */
		if (!behind)
			behind = find_symbol(name);
		if (behind)
			slot_set(&door->slots[i], i / 2, NULL, behind);
	}
}

/*
 * PMPI_X leads to the implementation through its wrapper. So does MPI_X, unless another tool's
 * MPI_X comes first: then to that tool, which calls PMPI_X.
 */
static void slots_fill(const struct mpi_door *door, const struct mpi_module *m)
{
	for (uint32_t op = 0; op < MPI_OP_COUNT; op++) {
		void *real = find_symbol(door->names[op]), *first = door->next(door->names[op] + 1);
		void *wrapper = m->wrappers[op];
		uintptr_t address = (uintptr_t)first;
		bool own = !first || (address >= mpi.low && address < mpi.high);

		if (real)
			slot_set(&door->slots[2 * op + 1], op, wrapper, real);
		if (own && real)
			slot_set(&door->slots[2 * op], op, wrapper, real);
		else if (first)
			slot_set(&door->slots[2 * op], op, NULL, first);
	}
}

/* Where the bindings of Fortran lie, as far as they are loaded now. */
static void bindings_find(const struct mpi_door *door)
{
	static const char *const names[] = {"mpi_init_", "mpi_init_f08_", "mpi_comm_rank_f08_"};

	mpi_bindings.caller = door->fortran_caller;
	for (unsigned i = 0; i < MPI_BINDINGS; i++) {
		struct search s = {0};
		bool known = false;

		s.address = (uintptr_t)door->next(names[i]);
		if (!s.address || !dl_iterate_phdr(holds, &s))
			continue;
		for (uint32_t k = 0; k < mpi_bindings.count; k++)
			known |= mpi_bindings.low[k] == s.low;
		if (known)
			continue;
		mpi_bindings.low[mpi_bindings.count] = s.low;
		mpi_bindings.high[mpi_bindings.count++] = s.high;
	}
}

static void describe_module(const struct mpi_module *m)
{
	mpi_module = m;
	mpi_infos = m->description->infos;
	mpi_descs = m->description->ops;
}

static bool is_so(const struct mpi_module *m, uint32_t op)
{
	int (*ask)(int *flag);
	int flag = 0;

	memcpy(&ask, &m->next[op], sizeof(ask));
	return ask && ask(&flag) == 0 && flag;
}

/* ---- the domain ----------------------------------------------------------------------------- */

static struct cap_domain *domain;

/*
 * What ranks do together, and what becomes of handles, must be seen even while nobody records.
 * Calls on files call MPI inside, which is not to be taken for the program's.
 */
static bool always(enum mpi_class group)
{
	return group != MPI_CLASS_NONE && group != MPI_CLASS_FREE &&
	       (group < MPI_CLASS_SEND || group > MPI_CLASS_STARTALL || group == MPI_CLASS_READ ||
		group == MPI_CLASS_WRITE ||
		(group >= MPI_CLASS_BARRIER && group <= MPI_CLASS_REDUCE_SCATTER_BLOCK));
}

static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;
_Atomic bool mpi_moves[MPI_OP_COUNT];

static bool starts(enum mpi_class group)
{
	return group >= MPI_CLASS_SEND && group <= MPI_CLASS_WRITE;
}

static bool completes(enum mpi_class group)
{
	return group >= MPI_CLASS_WAIT && group <= MPI_CLASS_STARTALL;
}

static void keep(uint32_t op, bool on)
{
	if (atomic_load(&mpi_ops[op].keep) != on)
		cap_require_wrapper(domain, op, on);
}

/*
 * Who wants messages needs the wrappers of the calls that start them; and if any are wanted, of all
 * that complete some.
 */
static void wanted(uint32_t activities)
{
	bool any = false;

	if (!domain)
		return;
	pthread_mutex_lock(&keeping);
	for (uint32_t op = 0; op < MPI_OP_COUNT; op++) {
		enum mpi_class group = (enum mpi_class)mpi_infos[op].group;
		bool moves = starts(group) && comm_wanted_of(&mpi_ops[op]);

		any |= moves;
		atomic_store(&mpi_moves[op], moves);
		if (!completes(group))
			keep(op, moves || always(group));
	}
	for (uint32_t op = 0; op < MPI_OP_COUNT; op++)
		if (completes((enum mpi_class)mpi_infos[op].group))
			keep(op, any);
	pthread_mutex_unlock(&keeping);
}

static void fork_child(void)
{
	keeping = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	mpi_objects_fork_child();
	mpi_requests_fork_child();
}

static bool register_domain(struct cap_slot *slots)
{
	static struct cap_domain_info info = {
		.ops = mpi_ops,
		.slot_count = 2 * MPI_OP_COUNT,
		.wanted = wanted,
		.fork_child = fork_child,
	};

	info.desc = mpi_module->description->domain;
	info.slots = slots;
	if (!comm_register() || cap_domain_register(&info, &domain) != KYMO_OK)
		return false;
	wanted(0);
	return true;
}

bool kymo_mpi_open(const struct mpi_door *door)
{
	static struct library
		found[LIBRARIES]; /* the door lets one thread in; its stack may be small */
	struct mpi_module *m = NULL;
	uint32_t n;

	if (opened)
		return true;
	cap_load();
	if (door->contract != MPI_CONTRACT || door->ops != MPI_OP_COUNT)
		return false;
	n = find_libraries(found, (uintptr_t)door->names);
	if (n == 0)
		return false;
	opened = true;
	mpi = found[0];
	if (n == 1)
		m = find_module(door);
	if (m) {
		slots_fill(door, m);
	} else {
		slots_pass(door);
		comm_register(); /* so that there is a trace that the note is in */
	}
	if (n > 1)
		cap_note(2, "mpi",
			 "two MPI libraries in one process (%.200s and %.200s): calls of MPI "
			 "are not recorded",
			 found[0].name, found[1].name);
	else if (!m)
		cap_note(2, "mpi",
			 "%.300s is no MPI that a module of Kymo supports: calls of MPI are not "
			 "recorded",
			 mpi.name);
	if (!m)
		return true;
	describe_module(m);
	bindings_find(door);
	if (!register_domain(door->slots))
		cap_note(2, "mpi", "calls of MPI cannot be recorded: too many domains");
	if (variable("KYMO_ATTACHED_BY") && is_so(m, MPI_OP_Initialized) &&
	    !is_so(m, MPI_OP_Finalized))
		mpi_job_came_late();
	return true;
}
