/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of many shapes that make marks and count them in a file that outlives them, before each and after it:
 * shapes FILE SHAPE [GIVE_UP [exec [WORD...]]]. What was recorded and what was lost must be what was counted, however they end.
 *
 * GIVE_UP comes before the first mark: limit:NUMBER:VALUE sets a limit of the system's, refuse:NUMBER:ERROR makes
 * a system call fail; with `exec` the program, or what the words say, starts anew under it. Status 77: the system does not let it do that.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/marker.h>

enum { SOME = 1000, BUSY = 4, SMALLEST = 16384, NOT_HERE = 77 };

static struct count {
	_Atomic uint64_t begun, done, pad[6];
} * count;

static const char *self, *file;
static _Atomic int stop;
static pthread_barrier_t all;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "shapes: %s failed\n", what);
	_exit(99);
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		stop = 1; /* standard output may be closed */
}

static void mark(void)
{
	atomic_fetch_add(&count->begun, 1);
	kymo_mark("m0.shape");
	atomic_fetch_add(&count->done, 1);
}

/* A function with a loop, which --functions takes. */
__attribute__((noinline)) static void marks(int n)
{
	for (int i = 0; i < n; i++)
		mark();
}

static void nap(long ns)
{
	nanosleep(&(struct timespec){0, ns}, NULL);
}

static void *keep_marking(void *arg)
{
	while (!stop)
		mark();
	return NULL;
}

static void *keep_a_pace(void *arg)
{
	while (!stop) {
		marks(64);
		nap(1000000);
	}
	return NULL;
}

static void start(pthread_t *t, int n, size_t stack, void *(*fn)(void *))
{
	pthread_attr_t a;

	pthread_attr_init(&a);
	must(!stack || pthread_attr_setstacksize(&a, stack) == 0, "pthread_attr_setstacksize");
	for (int i = 0; i < n; i++)
		must(pthread_create(&t[i], &a, fn, NULL) == 0, "pthread_create");
}

static void join(const pthread_t *t, int n)
{
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

/* Threads that go on until `stop`, all of which have begun. */
static void busy(pthread_t *t)
{
	start(t, BUSY, 0, keep_marking);
	while (count->done < SOME)
		sched_yield();
}

/* ---- ends ------------------------------------------------------------------------------------- */

static void mark_at_end(void)
{
	marks(SOME);
	say("handler\n");
}

static void plain(void)
{
	marks(3 * SOME);
}

static void at_exit(void)
{
	atexit(mark_at_end);
	marks(SOME);
}

static bool marks_last;

/* The last of this program's destructors, behind that of <kymo/marker.h>. */
__attribute__((destructor(101))) static void at_last(void)
{
	if (marks_last)
		mark_at_end();
}

static void destructor(void)
{
	marks_last = true;
	marks(SOME);
}

static void quick(void)
{
	at_quick_exit(mark_at_end);
	marks(SOME);
	quick_exit(6);
}

static void at_once(void)
{
	marks(SOME);
	_exit(8);
}

static void aborts(void)
{
	marks(SOME);
	abort();
}

static void faults(void)
{
	volatile int *nothing = NULL;

	marks(SOME);
	*nothing = 1;
}

static void killed(void)
{
	marks(SOME);
	raise(SIGKILL);
}

static void busy_group(void)
{
	pthread_t t[BUSY];

	busy(t);
	syscall(SYS_exit_group, 9);
}

static void busy_exit(void)
{
	pthread_t t[BUSY];

	busy(t);
	exit(10);
}

static void busy_kill(void)
{
	pthread_t t[BUSY];

	busy(t);
	raise(SIGTERM);
}

static void *outlive(void *arg)
{
	nap(20000000);
	marks(SOME);
	say("worker done\n");
	return NULL;
}

static void main_leaves(void)
{
	pthread_t t[BUSY];

	start(t, BUSY, 0, outlive);
	marks(SOME);
	pthread_exit(NULL);
}

static int deep(int level)
{
	volatile char here[4096];

	here[0] = (char)level;
	return stop ? level : deep(level + 1) + here[0];
}

static void overflown(int sig)
{
	say("overflown\n");
	_exit(11);
}

static void overflow(void)
{
	static char other[65536];
	stack_t s = {.ss_sp = other, .ss_size = sizeof(other)};
	struct sigaction a = {.sa_handler = overflown, .sa_flags = SA_ONSTACK};

	must(sigaltstack(&s, NULL) == 0 && sigaction(SIGSEGV, &a, NULL) == 0, "sigaltstack");
	marks(SOME);
	stop = deep(0);
}

/* Until a signal ends them: soak.py. */
static void endless(void)
{
	pthread_t t[BUSY];

	start(t, BUSY, 0, keep_marking);
	join(t, BUSY);
}

static void paced(void)
{
	pthread_t t[BUSY];

	start(t, BUSY, 0, keep_a_pace);
	join(t, BUSY);
}

/* ---- threads ---------------------------------------------------------------------------------- */

static void *few(void *arg)
{
	marks(4);
	return NULL;
}

static void come_and_go(void)
{
	pthread_t t[BUSY];

	for (int i = 0; i < SOME; i++) {
		start(t, BUSY, 0, few);
		join(t, BUSY);
	}
}

static void *stay(void *arg)
{
	mark();
	pthread_barrier_wait(&all);
	mark();
	pthread_barrier_wait(&all);
	return NULL;
}

static void crowd(void)
{
	enum { MANY = 5000 };
	static pthread_t t[MANY];

	pthread_barrier_init(&all, NULL, MANY + 1);
	start(t, MANY, 65536, stay);
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	join(t, MANY);
}

static void *many(void *arg)
{
	marks(100);
	return NULL;
}

static void small_stacks(void)
{
	pthread_t t[50];

	start(t, 50, SMALLEST, many);
	join(t, 50);
}

static pthread_key_t key;

static void mark_late(void *arg)
{
	marks(10);
}

static void *has_key(void *arg)
{
	pthread_setspecific(key, &key);
	return many(NULL);
}

static void destructors(void)
{
	pthread_t t[50];

	must(pthread_key_create(&key, mark_late) == 0, "pthread_key_create");
	start(t, 50, 0, has_key);
	join(t, 50);
}

static void *until_cancelled(void *arg)
{
	while (!stop) {
		mark();
		pthread_testcancel();
	}
	return NULL;
}

static void cancelled(void)
{
	pthread_t t[50];

	start(t, 50, 0, until_cancelled);
	while (count->done < SOME)
		sched_yield();
	for (int i = 0; i < 50; i++)
		pthread_cancel(t[i]);
	join(t, 50);
}

/* ---- processes -------------------------------------------------------------------------------- */

static int await_all(void)
{
	int sum = 0, status;

	while (wait(&status) > 0)
		sum += WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
	return sum;
}

static void report(int sum)
{
	char text[32];

	snprintf(text, sizeof(text), "sum %d\n", sum);
	say(text);
}

static void forks(void)
{
	for (int i = 0; i < 100; i++) {
		if (fork() == 0) {
			marks(10);
			_exit(i);
		}
	}
	marks(SOME);
	report(await_all());
}

static void storm(void)
{
	int sum = 1;

	for (int i = 0; i < 5; i++) {
		mark();
		if (fork() == 0) {
			sum = 1;
			mark();
		}
	}
	sum += await_all();
	if (sum == 32)
		report(sum);
	exit(sum);
}

static void busy_forks(void)
{
	pthread_t t[BUSY];

	busy(t);
	for (int i = 0; i < 30; i++) {
		if (fork() == 0) {
			marks(10);
			_exit(1);
		}
	}
	report(await_all());
	stop = 1;
	join(t, BUSY);
}

static char *const *words(const char *shape)
{
	static char *w[4];

	w[0] = (char *)self;
	w[1] = (char *)file;
	w[2] = (char *)shape;
	return w;
}

static void one(void)
{
	marks(10);
	_exit(3);
}

static void vforks(void)
{
	for (volatile int i = 0; i < 20; i++) {
		char *const *w = words("one");

		mark();
		if (vfork() == 0) {
			execv(self, w);
			_exit(99);
		}
	}
	report(await_all());
}

static void vfork_marks(void)
{
	marks(10);
	for (int i = 0; i < 20; i++) {
		if (vfork() == 0) {
			mark();
			_exit(2);
		}
		mark();
	}
	report(await_all());
}

static void spawns(void)
{
	pid_t pid;

	mark();
	for (int i = 0; i < 20; i++)
		must(posix_spawn(&pid, self, NULL, NULL, words("one"), environ) == 0,
		     "posix_spawn");
	report(await_all());
}

static void raw_clone(void)
{
	mark();
	for (int i = 0; i < 20; i++) {
		if (syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) == 0) {
			marks(10);
			syscall(SYS_exit_group, 4);
		}
	}
	report(await_all());
}

static void chain3(void)
{
	mark();
	execv(self, words("one"));
}

static void chain2(void)
{
	mark();
	execv(self, words("chain3"));
}

static void chain(void)
{
	marks(SOME);
	execv(self, words("chain2"));
}

static void busy_exec(void)
{
	pthread_t t[BUSY];

	busy(t);
	execv(self, words("one"));
}

static void background(void)
{
	marks(10);
	if (fork())
		return;
	setsid();
	if (fork())
		_exit(0);
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	nap(200000000);
	marks(SOME);
	_exit(0);
}

static void stopped(void)
{
	pid_t me = getpid(), child = fork();
	siginfo_t seen;

	if (child == 0) { /* a grandchild would not do: only parents can wait for who stops */
		if (fork() == 0) {
			char path[64], text[256] = "", *p;

			snprintf(path, sizeof(path), "/proc/%d/stat", me);
			do {
				FILE *f = fopen(path, "re");

				must(f && fgets(text, sizeof(text), f), path);
				fclose(f);
				p = strrchr(text, ')');
				sched_yield();
			} while (!p || p[2] != 'T');
			kill(me, SIGCONT);
		}
		_exit(0);
	}
	must(waitid(P_PID, (id_t)child, &seen, WEXITED) == 0, "waitid");
	marks(SOME);
	raise(SIGSTOP);
	marks(SOME);
	say("went on\n");
}

/* ---- signals and libraries -------------------------------------------------------------------- */

static volatile sig_atomic_t seen;
static sigjmp_buf away;

static void see(int sig)
{
	seen++;
}

static void jump(int sig)
{
	siglongjmp(away, 1);
}

static void marks_there(int sig)
{
	mark();
	seen++;
}

static void every(long us, void (*fn)(int))
{
	struct sigaction a = {.sa_handler = fn, .sa_flags = SA_RESTART};
	struct itimerval t = {{0, us}, {0, us}};

	must(sigaction(SIGALRM, &a, NULL) == 0 && setitimer(ITIMER_REAL, &t, NULL) == 0,
	     "setitimer");
}

static void every_millisecond(void (*fn)(int))
{
	every(1000, fn);
}

static void handler(void)
{
	every_millisecond(see);
	while (seen < 100)
		mark();
}

static void handler_marks(void)
{
	every_millisecond(marks_there);
	while (seen < 100)
		mark();
}

/* A name that is new, mostly; of a handler, too. */
static void mark_named(char who, unsigned n)
{
	char name[] = "m0.x00000";

	name[3] = who;
	for (char *p = name + sizeof(name) - 2; *p == '0'; p--, n /= 10)
		*p = (char)('0' + n % 10);
	atomic_fetch_add(&count->begun, 1);
	kymo_mark(name);
	atomic_fetch_add(&count->done, 1);
}

static void name_there(int sig)
{
	static _Atomic unsigned n;

	mark_named('h', atomic_fetch_add(&n, 1) % 20000);
	kymo_range_stop(kymo_range_start("m0.shape"));
	seen++;
}

static void *first_mark(void *p)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	mark();
	return NULL;
}

/* In what takes a lock: names that are new, ranges of the process, the first mark of a thread. */
static void handler_names(void)
{
	sigset_t set;
	pthread_t t;

	every(20, name_there);
	for (unsigned n = 0; seen < 2000; n++) {
		mark_named('m', n % 20000);
		kymo_range_stop(kymo_range_start("m0.shape"));
	}
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	every(20, marks_there); /* a new name takes memory of malloc(), in which a thread may end */
	for (int i = 0; i < 300; i++) {
		must(pthread_create(&t, NULL, first_mark, NULL) == 0, "pthread_create");
		pthread_join(t, NULL);
	}
	setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
}

static void jumps(void)
{
	static volatile int times;

	marks(SOME);
	sigsetjmp(away, 1);
	if (times++ == 0)
		every_millisecond(jump);
	while (times < 100)
		mark();
	setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
}

static void reload(void)
{
	for (int i = 0; i < 20; i++) {
		void *m = dlopen("libm.so.6", RTLD_NOW);

		must(m != NULL, "dlopen");
		marks(10);
		dlclose(m);
	}
}

static void closes_all(void)
{
	marks(10);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	marks(SOME);
	report(open("/dev/null", O_RDONLY) < 1024);
}

static const struct {
	const char *name;
	void (*run)(void);
} shapes[] = {
	{"plain", plain},
	{"at_exit", at_exit},
	{"destructor", destructor},
	{"quick", quick},
	{"at_once", at_once},
	{"aborts", aborts},
	{"faults", faults},
	{"killed", killed},
	{"busy_group", busy_group},
	{"busy_exit", busy_exit},
	{"busy_kill", busy_kill},
	{"main_leaves", main_leaves},
	{"overflow", overflow},
	{"come_and_go", come_and_go},
	{"crowd", crowd},
	{"small_stacks", small_stacks},
	{"destructors", destructors},
	{"cancelled", cancelled},
	{"forks", forks},
	{"storm", storm},
	{"busy_forks", busy_forks},
	{"vforks", vforks},
	{"vfork_marks", vfork_marks},
	{"spawns", spawns},
	{"raw_clone", raw_clone},
	{"chain", chain},
	{"busy_exec", busy_exec},
	{"background", background},
	{"stopped", stopped},
	{"handler", handler},
	{"handler_marks", handler_marks},
	{"handler_names", handler_names},
	{"jumps", jumps},
	{"reload", reload},
	{"closes_all", closes_all},
	/* what others start and end */
	{"endless", endless},
	{"paced", paced},
	{"one", one},
	{"chain2", chain2},
	{"chain3", chain3},
};

static int refuse(unsigned number, unsigned error)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {sizeof(f) / sizeof(f[0]), f};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) == 0;
}

static int give_up(const char *what)
{
	unsigned long number, value;

	if (sscanf(what, "limit:%lu:%lu", &number, &value) == 2) {
		struct rlimit r = {value, value};

		return setrlimit((__rlimit_resource_t)number, &r) == 0;
	}
	must(sscanf(what, "refuse:%lu:%lu", &number, &value) == 2, "the command line");
	return refuse((unsigned)number, (unsigned)value);
}

static void open_count(void)
{
	int fd = open(file, O_RDWR | O_CREAT, 0666);
	struct stat st;

	/* It is as it is after exec(), where files may not grow. */
	must(fd >= 0 && fstat(fd, &st) == 0, "the file of counts");
	must(st.st_size > 0 || ftruncate(fd, sizeof(*count)) == 0, "the file of counts");
	count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(count != MAP_FAILED, "the file of counts");
	close(fd);
}

int main(int argc, char **argv)
{
	must(argc > 2, "the command line");
	self = "/proc/self/exe";
	file = argv[1];
	open_count();
	if (argc > 3 && !give_up(argv[3]))
		return NOT_HERE;
	if (argc > 4) {
		execv(argc > 5 ? argv[5] : self, argc > 5 ? argv + 5 : words(argv[2]));
		return NOT_HERE;
	}
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (strcmp(argv[2], shapes[i].name) == 0) {
			shapes[i].run();
			say("done\n");
			return 5;
		}
	}
	return 2;
}
