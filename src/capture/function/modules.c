/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which function an address is in: the plan's modules among the objects that are loaded, and a table of answers by address,
 * which is read without a lock. Objects are matched by build id, and by their file where they have none.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/elf.h"
#include "base/variables.h"
#include "capture/function/function.h"
#include "capture/function/note.h"

/* ---- the plan's file ---- */

static const void *map_file(const char *path, size_t *size)
{
	struct stat st;
	void *p = MAP_FAILED;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		*size = (size_t)st.st_size;
		p = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

bool function_plan_open(struct plan *out)
{
	const char *path = variable("KYMO_FUNCTIONS_PLAN");
	const void *bytes;
	size_t size = 0;

	if (!path || !*path)
		return false;
	bytes = map_file(path, &size);
	if (bytes && plan_open(out, bytes, size))
		return true;
	cap_note(2, "function", "functions are not traced: %s %s", path,
		 bytes ? "is no plan of this version" : "cannot be read");
	if (bytes)
		munmap((void *)(uintptr_t)bytes, size);
	return false;
}

/* ---- modules of the plan that are loaded ---- */

#define MODULES 256u

struct module {
	uintptr_t bias, low, high;
	const struct plan_module *planned;
};

struct module_list {
	uint32_t count;
	struct module at[MODULES];
};

/* An instrumented file has the build id of the one that it was made of, and another one in its note. */
static bool has_build_id(const struct dl_phdr_info *o, const struct plan_module *m)
{
	uint32_t bytes = PLAN_NOTE_ID;
	struct plan_note note;
	const uint8_t *id = function_note_of_plan(o, &note)
				    ? note.id
				    : function_note(o, "GNU", NT_GNU_BUILD_ID, &bytes);

	return id && bytes >= m->build_id_bytes && memcmp(id, m->build_id, m->build_id_bytes) == 0;
}

static bool same_file(const char *path, const struct plan_module *m)
{
	struct stat st;

	return stat(*path ? path : "/proc/self/exe", &st) == 0 && st.st_dev == m->device &&
	       st.st_ino == m->inode && (uint64_t)st.st_size == m->size &&
	       (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec ==
		       m->mtime_ns;
}

static int add_object(struct dl_phdr_info *o, size_t size, void *data)
{
	struct module_list *l = data;

	for (uint64_t i = 0; i < function_plan.module_count && l->count < MODULES; i++) {
		const struct plan_module *m = &function_plan.modules[i];

		if (m->build_id_bytes ? !has_build_id(o, m) : !same_file(o->dlpi_name, m))
			continue;
		l->at[l->count++] = (struct module){o->dlpi_addr, o->dlpi_addr + m->low,
						    o->dlpi_addr + m->high, m};
		break;
	}
	return 0;
}

/* Published whole; who reads one that is being replaced reads one that stays. */
static struct module_list *_Atomic loaded;
static _Atomic uint64_t looked; /* elf_objects_loaded() then */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool are_same(const struct module_list *a, const struct module_list *b)
{
	bool same = a->count == b->count;

	for (uint32_t i = 0; same && i < a->count; i++)
		same = a->at[i].bias == b->at[i].bias && a->at[i].low == b->at[i].low &&
		       a->at[i].high == b->at[i].high && a->at[i].planned == b->at[i].planned;
	return same;
}

static void look(void)
{
	uint64_t now = elf_objects_loaded();
	struct module_list *l = calloc(1, sizeof(*l)), *before = atomic_load(&loaded);

	if (!l)
		return;
	dl_iterate_phdr(add_object, l);
	if (before && are_same(before, l))
		free(l);
	else
		atomic_store(&loaded, l);
	atomic_store(&looked, now);
}

static const struct plan_function *in_module(const struct module *m, uintptr_t address)
{
	const struct plan_function *f = &function_plan.functions[m->planned->first_function];
	uint64_t low = 0, high = m->planned->functions, at = address - m->bias;

	while (low < high) {
		uint64_t middle = (low + high) / 2;

		if (f[middle].entry <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low && at - f[low - 1].entry < f[low - 1].bytes ? &f[low - 1] : NULL;
}

static const struct plan_function *in_loaded(uintptr_t address)
{
	const struct module_list *l = atomic_load(&loaded);

	for (uint32_t i = 0; l && i < l->count; i++)
		if (address - l->at[i].low < l->at[i].high - l->at[i].low)
			return in_module(&l->at[i], address);
	return NULL;
}

/* ---- answers by address ---- */

#define FIRST_BITS 14u

struct function_answers *_Atomic function_answers;

static size_t answers_bytes(uint32_t bits)
{
	return sizeof(struct function_answers) + (sizeof(struct function_answer) << bits);
}

static struct function_answers *answers_new(uint32_t bits)
{
	struct function_answers *a = mmap(NULL, answers_bytes(bits), PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (a == MAP_FAILED)
		return NULL;
	a->bits = bits;
	return a;
}

static void put(struct function_answers *a, uintptr_t address, struct cap_op *op)
{
	uint32_t i = function_answer_place(a, address), mask = (1u << a->bits) - 1;
	uintptr_t there;

	while ((there = atomic_load_explicit(&a->at[i].address, memory_order_relaxed)) != 0) {
		if (there == address)
			return;
		i = (i + 1) & mask;
	}
	a->at[i].op = op;
	a->count++;
	atomic_store_explicit(&a->at[i].address, address, memory_order_release);
}

/* Twice as large, with the same in it. Who still reads the old one finds in it what was there: it stays. */
static struct function_answers *grow(struct function_answers *old)
{
	struct function_answers *a = answers_new(old ? old->bits + 1 : FIRST_BITS);

	for (uint32_t i = 0; a && old && i < 1u << old->bits; i++)
		if (atomic_load_explicit(&old->at[i].address, memory_order_relaxed))
			put(a, old->at[i].address, old->at[i].op);
	if (a)
		atomic_store_explicit(&function_answers, a, memory_order_release);
	return a;
}

/* A signal's handler may come while its thread keeps an answer: it finds the same, and keeps nothing. */
static void keep(uintptr_t address, struct cap_op *op)
{
	struct function_answers *a;

	if (pthread_mutex_trylock(&lock) != 0)
		return;
	a = atomic_load_explicit(&function_answers, memory_order_relaxed);
	if (!a || a->count >= 1u << (a->bits - 1))
		a = grow(a);
	if (a)
		put(a, address, op);
	pthread_mutex_unlock(&lock);
}

static __attribute__((noinline, cold)) struct cap_op *find_slow(uintptr_t address)
{
	const struct plan_function *f;
	struct cap_op *op;
	int saved = errno;

	if (!function_ops)
		return NULL;
	if (atomic_load(&looked) != elf_objects_loaded() && pthread_mutex_trylock(&lock) == 0) {
		look();
		pthread_mutex_unlock(&lock);
	}
	f = in_loaded(address);
	op = f ? &function_ops[f - function_plan.functions] : NULL;
	keep(address, op);
	errno = saved;
	return op;
}

struct cap_op *function_find(uintptr_t address)
{
	struct cap_op *op;

	return function_known(address, &op) ? op : find_slow(address);
}

void function_forget(void)
{
	int saved = errno;

	pthread_mutex_lock(&lock);
	look();
	atomic_store(&function_answers, answers_new(FIRST_BITS));
	pthread_mutex_unlock(&lock);
	errno = saved;
}

void function_modules_each(void (*fn)(uintptr_t bias, const struct plan_module *m))
{
	const struct module_list *l;

	pthread_mutex_lock(&lock);
	look();
	pthread_mutex_unlock(&lock);
	l = atomic_load(&loaded);
	for (uint32_t i = 0; l && i < l->count; i++)
		fn(l->at[i].bias, l->at[i].planned);
}

void function_modules_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	function_start_fork_child();
}
