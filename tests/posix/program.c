/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that moves bytes by every function there is for it, and counts what it does: program WHAT FOLDER. It prints lines
 * "call NAME COUNT" and "file NAME READS BYTES WRITES BYTES", and a sum of what it has read.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 };
static struct {
	const char *name;
	unsigned long n;
} calls[MOST];

static void add(const char *name, unsigned long n)
{
	unsigned i = 0;

	while (i < MOST && calls[i].name && strcmp(calls[i].name, name) != 0)
		i++;
	assert(i < MOST);
	calls[i].name = name;
	calls[i].n += n;
}

#define COUNTED(name, call) (add(name, 1), call)

static struct traffic {
	unsigned long reads, read, writes, written;
} first, second, shared, sockets;

static ssize_t took(struct traffic *t, ssize_t n)
{
	t->reads++;
	t->read += n > 0 ? (size_t)n : 0;
	return n;
}

static ssize_t gave(struct traffic *t, ssize_t n)
{
	t->writes++;
	t->written += n > 0 ? (size_t)n : 0;
	return n;
}

static void tell(const char *name, const struct traffic *t)
{
	printf("file %s %lu %lu %lu %lu\n", name, t->reads, t->read, t->writes, t->written);
}

static void tell_all(void)
{
	for (unsigned i = 0; i < MOST && calls[i].name; i++)
		printf("call %s %lu\n", calls[i].name, calls[i].n);
	fflush(stdout);
}

/* ---- each function once ---- */

int __open_2(const char *path, int flags);
ssize_t __read_chk(int fd, void *data, size_t size, size_t room);

static char data[1000], back[1000];
static struct iovec parts[2] = {{data, 300}, {data + 300, 200}};
static struct iovec places[2] = {{back, 300}, {back + 300, 200}};

static void moves(int fd)
{
	assert(gave(&first, COUNTED("write", write(fd, data, 1000))) == 1000);
	assert(gave(&first, COUNTED("pwrite", pwrite(fd, data, 100, 1000))) == 100);
	assert(gave(&first, COUNTED("pwrite", pwrite64(fd, data, 100, 1100))) == 100);
	assert(gave(&first, COUNTED("writev", writev(fd, parts, 2))) == 500);
	assert(gave(&first, COUNTED("pwritev", pwritev(fd, parts, 2, 10))) == 500);
	assert(gave(&first, COUNTED("pwritev", pwritev64(fd, parts, 2, 10))) == 500);
	assert(gave(&first, COUNTED("pwritev2", pwritev2(fd, parts, 2, 10, 0))) == 500);
	assert(COUNTED("lseek", lseek(fd, 0, SEEK_SET)) == 0);
	assert(COUNTED("lseek", lseek64(fd, 0, SEEK_SET)) == 0);
	assert(took(&first, COUNTED("read", read(fd, back, 1000))) == 1000);
	assert(memcmp(data + 600, back + 600, 400) == 0);
	assert(took(&first, COUNTED("read", __read_chk(fd, back, 50, 1000))) == 50);
	assert(took(&first, COUNTED("pread", pread(fd, back, 70, 3))) == 70);
	assert(took(&first, COUNTED("pread", pread64(fd, back, 70, 3))) == 70);
	assert(took(&first, COUNTED("readv", readv(fd, places, 2))) > 0);
	assert(took(&first, COUNTED("preadv", preadv(fd, places, 2, 0))) == 500);
	assert(took(&first, COUNTED("preadv2", preadv2(fd, places, 2, 0, 0))) == 500);
}

static void copies(int from, int to)
{
	off_t at = 0, there = 0;

	took(&first, gave(&second, COUNTED("sendfile", sendfile(to, from, &at, 400))));
	at = 0;
	took(&first, gave(&second, COUNTED("copy_file_range",
					   copy_file_range(from, &at, to, &there, 300, 0))));
}

static void keeps(int fd)
{
	void *mapped;

	assert(COUNTED("fsync", fsync(fd)) == 0);
	assert(COUNTED("fdatasync", fdatasync(fd)) == 0);
	assert(COUNTED("ftruncate", ftruncate(fd, 5000)) == 0);
	assert(COUNTED("posix_fallocate", posix_fallocate(fd, 0, 6000)) == 0);
	assert(COUNTED("posix_fallocate", posix_fallocate(fd, 0, -1)) == EINVAL);
	assert(COUNTED("flock", flock(fd, LOCK_EX)) == 0);
	mapped = COUNTED("mmap", mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0));
	assert(mapped != MAP_FAILED);
	assert(COUNTED("msync", msync(mapped, 4096, MS_SYNC)) == 0);
	munmap(mapped, 4096);
	mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* no file's */
	munmap(mapped, 4096);
}

static void descriptors(int fd)
{
	int other = COUNTED("dup", dup(fd));

	assert(other > fd);
	assert(COUNTED("dup2", dup2(fd, other)) == other);
	assert(COUNTED("dup3", dup3(fd, other, O_CLOEXEC)) == other);
	assert(took(&first, COUNTED("pread", pread(other, back, 10, 0))) == 10);
	assert(COUNTED("close", close(other)) == 0);
	other = COUNTED("fcntl", fcntl(fd, F_DUPFD, 100));
	assert(other >= 100);
	assert(fcntl(fd, F_GETFL) >= 0); /* is not recorded */
	assert(COUNTED("close", close(other)) == 0);
}

/* errno of what fails is the system's. */
static void failures(void)
{
	errno = 0;
	assert(COUNTED("read", read(-1, back, 1)) == -1 && errno == EBADF);
	assert(COUNTED("write", write(999999, data, 1)) == -1 && errno == EBADF);
	assert(COUNTED("open", open("/nowhere/at all", O_RDONLY)) == -1 && errno == ENOENT);
	assert(COUNTED("openat", openat(AT_FDCWD, "/nowhere/at all", O_RDONLY)) == -1);
	assert(COUNTED("open", open((const char *)8, O_RDONLY)) == -1 && errno == EFAULT);
	assert(COUNTED("writev", writev(1, (const struct iovec *)8, 3)) == -1 && errno == EFAULT);
	assert(COUNTED("close", close(-1)) == -1 && errno == EBADF);
	assert(COUNTED("dup", dup(-1)) == -1 && errno == EBADF);
	assert(COUNTED("connect", connect(-1, NULL, 0)) == -1 && errno == EBADF);
	errno = 0;
	assert(COUNTED("lseek", lseek(0, 0, 77)) == -1 && (errno == EINVAL || errno == ESPIPE));
}

static void one_of_each(const char *folder)
{
	char path[2][4096];
	int fd, other;

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7);
	snprintf(path[0], sizeof(path[0]), "%s/first", folder);
	snprintf(path[1], sizeof(path[1]), "%s/second", folder);
	fd = COUNTED("creat", creat(path[1], 0600));
	assert(fd >= 0 && COUNTED("close", close(fd)) == 0);
	fd = COUNTED("open", open64(path[0], O_RDWR | O_CREAT | O_TRUNC, 0600));
	other = COUNTED("openat", openat(AT_FDCWD, path[1], O_RDWR));
	assert(fd >= 0 && other >= 0);
	moves(fd);
	copies(fd, other);
	keeps(fd);
	descriptors(fd);
	failures();
	assert(COUNTED("close", close(fd)) == 0 && COUNTED("close", close(other)) == 0);
	/* The number is another file's now. */
	other = COUNTED("open", __open_2(path[1], O_RDONLY));
	assert(other == fd && took(&second, COUNTED("read", read(other, back, 20))) == 20);
	assert(COUNTED("close", close(other)) == 0);
	tell(path[0], &first);
	tell(path[1], &second);
	tell_all();
}

/* ---- threads that write one file, and one each ---- */

enum { THREADS = 4, BLOCKS = 200, BLOCK = 4096 };
static const char *folder_of;
static int shared_fd;
static unsigned long sums[THREADS];

static void *writer(void *argument)
{
	const long me = (long)(intptr_t)argument;
	char path[4096], block[BLOCK];
	int fd;

	snprintf(path, sizeof(path), "%s/own%ld", folder_of, me);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert(fd >= 0);
	for (int i = 0; i < BLOCKS; i++) {
		memset(block, (int)(me * 31 + i), sizeof(block));
		assert(pwrite(shared_fd, block, BLOCK, ((off_t)i * THREADS + me) * BLOCK) == BLOCK);
		assert(write(fd, block, BLOCK / 2) == BLOCK / 2);
	}
	for (int i = 0; i < BLOCKS; i++) {
		assert(pread(shared_fd, block, BLOCK, ((off_t)i * THREADS + me) * BLOCK) == BLOCK);
		sums[me] = sums[me] * 3 + (unsigned char)block[i % BLOCK];
	}
	assert(close(fd) == 0);
	return NULL;
}

static void writers(const char *folder)
{
	pthread_t threads[THREADS];
	char path[4096];

	folder_of = folder;
	snprintf(path, sizeof(path), "%s/shared", folder);
	shared_fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert(shared_fd >= 0);
	for (long i = 0; i < THREADS; i++)
		assert(pthread_create(&threads[i], NULL, writer, (void *)(intptr_t)i) == 0);
	for (long i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert(close(shared_fd) == 0);
	shared = (struct traffic){THREADS * BLOCKS, (unsigned long)THREADS * BLOCKS * BLOCK,
				  THREADS * BLOCKS, (unsigned long)THREADS * BLOCKS * BLOCK};
	tell(path, &shared);
	for (long i = 0; i < THREADS; i++) {
		const struct traffic own = {0, 0, BLOCKS, BLOCKS * BLOCK / 2};

		snprintf(path, sizeof(path), "%s/own%ld", folder, i);
		tell(path, &own);
		printf("sum %lu\n", sums[i]);
	}
	printf("call open %d\ncall close %d\ncall pwrite %d\ncall pread %d\ncall write %d\n",
	       THREADS + 1, THREADS + 1, THREADS * BLOCKS, THREADS * BLOCKS, THREADS * BLOCKS);
}

/* ---- a server and a client ---- */

enum { MESSAGES = 20 };

static void *serve(void *argument)
{
	const int listening = *(int *)argument;
	struct iovec part = {back, 100};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct mmsghdr many = {.msg_hdr = message};
	int fd = accept(listening, NULL, NULL);

	assert(fd >= 0);
	for (int i = 0; i < MESSAGES; i++)
		assert(recv(fd, back, 100, MSG_WAITALL) == 100);
	assert(recvfrom(fd, back, 100, MSG_WAITALL, NULL, NULL) == 100);
	assert(recvmsg(fd, &message, MSG_WAITALL) == 100);
	assert(recvmmsg(fd, &many, 1, MSG_WAITALL, NULL) == 1);
	assert(recv(fd, back, 100, 0) == 0);
	close(fd);
	return NULL;
}

static void client(const struct sockaddr_in *to)
{
	struct iovec part = {data, 100};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct mmsghdr many = {.msg_hdr = message};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert(connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0);
	for (int i = 0; i < MESSAGES; i++)
		assert(gave(&sockets, send(fd, data, 100, 0)) == 100);
	assert(gave(&sockets, sendto(fd, data, 100, 0, NULL, 0)) == 100);
	assert(gave(&sockets, sendmsg(fd, &message, 0)) == 100);
	assert(sendmmsg(fd, &many, 1, 0) == 1);
	gave(&sockets, many.msg_len);
	assert(shutdown(fd, SHUT_WR) == 0);
	close(fd);
}

static void network(void)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof(here);
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	const struct traffic server = {MESSAGES + 4, 100 * (MESSAGES + 3), 0, 0};
	pthread_t thread;
	char name[100];

	assert(bind(listening, (struct sockaddr *)&here, length) == 0 && listen(listening, 1) == 0);
	assert(getsockname(listening, (struct sockaddr *)&here, &length) == 0);
	assert(pthread_create(&thread, NULL, serve, &listening) == 0);
	client(&here);
	pthread_join(thread, NULL);
	snprintf(name, sizeof(name), "tcp_127.0.0.1:%u", ntohs(here.sin_port));
	tell(name, &sockets);
	snprintf(name, sizeof(name), "tcp_127.0.0.1_to_port_%u", ntohs(here.sin_port));
	tell(name, &server);
}

/* ---- handlers that write, while the thread is in malloc() and in recorded calls ---- */

static int pipes[2];
static volatile sig_atomic_t handled;
static sigjmp_buf away;

static void on_timer(int signal)
{
	const int saved = errno;

	if (write(pipes[1], "x", 1) == 1)
		handled++;
	errno = saved;
}

static void jump(int signal)
{
	if (write(pipes[1], "y", 1) == 1)
		handled++;
	siglongjmp(away, 1);
}

static void handlers(const char *folder)
{
	const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
	struct sigaction jumps = {.sa_handler = jump};
	static volatile int rounds;
	static unsigned long writes;
	static unsigned long received;
	char path[4096], text[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/first", folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert(fd >= 0 && pipe2(pipes, O_NONBLOCK) == 0);
	fcntl(pipes[1], F_SETPIPE_SZ, 1 << 20);
	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGUSR1, &jumps, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (; handled < 1000 && writes < 2000000; writes++) {
		free(malloc(writes % 3000));
		assert(pwrite(fd, data, 100, 0) == 100);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	for (rounds = 0; rounds < 10; rounds++)
		if (sigsetjmp(away, 1) == 0)
			raise(SIGUSR1);
	while ((n = read(pipes[0], text, sizeof(text))) > 0)
		received += (unsigned long)n;
	assert(received == (unsigned long)handled);
	printf("writes %lu\nhandled %lu\n", writes, (unsigned long)handled);
}

/* ---- children ---- */

static void children(const char *folder)
{
	char path[4096];
	int fd, status;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/first", folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	pid = fork();
	if (pid == 0) {
		assert(write(fd, data, 70) == 70);
		_exit(7);
	}
	assert(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
	pid = vfork();
	if (pid == 0) {
		if (write(fd, data, 80) != 80)
			_exit(1);
		_exit(8);
	}
	assert(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 8);
	assert(write(fd, data, 90) == 90);
	close(fd);
	printf("file %s 0 0 2 160\n", path);
}

/* ---- io_uring: 77 where there is none ---- */

static int ring(void)
{
	char parameters[256] = {0};

	return syscall(SYS_io_uring_setup, 1, parameters) < 0 ? 77 : 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "each") == 0)
		one_of_each(argv[2]);
	else if (strcmp(argv[1], "writers") == 0)
		writers(argv[2]);
	else if (strcmp(argv[1], "network") == 0)
		network();
	else if (strcmp(argv[1], "handlers") == 0)
		handlers(argv[2]);
	else if (strcmp(argv[1], "children") == 0)
		children(argv[2]);
	else if (strcmp(argv[1], "ring") == 0)
		return ring();
	else
		return 2;
	return 0;
}
