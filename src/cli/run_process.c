/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a run. The launcher starts the drain, then the program, in its own process group
 * and with everything it inherited: descriptors, CPUs, signal mask and dispositions. It then only
 * waits. What the terminal sends reaches the program by itself; what is sent to the launcher alone
 * is passed on. When the terminal stops the job, the launcher stops with the program, so that the
 * shell sees it and continues both; when somebody else stops the program alone (a debugger, cpulimit),
 * the launcher waits on: nobody would continue it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/peer.h"
#include "cli/run.h"
#include "drain/drain.h"
#include "drain/keeper.h"
#include "drain/place.h"
#include "drain/rawfile.h"
#include "telemetry/telemetry.h"

enum {
	BUSY_GRACE_MS = 300,
	LEAVE_MS = 10000,   /* a process that was attached to is asked to hand over what it has */
	STOPPING_MS = 5000, /* a program may tidy up between the terminal's signal and its stop */
	STOPPED = 0x7f,     /* statuses of waitpid() */
	CONTINUED = 0xffff
};

struct launcher {
	sigset_t original; /* mask at start */
	struct sigaction child_action;
	int signals;   /* signalfd */
	int report[2]; /* a pipe, for errno of a failed exec */
	int control;
	pid_t drain;
	struct outcome *out;
	bool ended;
	bool busy;
	unsigned grace_ms; /* for processes that go on when the program has ended */
	int stopped;       /* the signal that the program is stopped by, or 0 */
	int kill;          /* still to be sent; 0: nothing */
	uint64_t kill_ns;
	uint64_t stop_request; /* when the launcher itself got a stop signal; 0: it has not */
};

/* ---- the drain ------------------------------------------------------------------------------ */

int launch_drain(const struct launch *l, int *control)
{
	int pair[2], listener, saved;
	pid_t pid;

	*control = l->node.joined;
	if (*control >= 0)
		return 0;
	listener = drain_listen(l->socket);
	if (listener < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		saved = errno;
		close(listener);
		unlink(l->socket);
		errno = saved;
		return -1;
	}
	pid = fork();
	if (pid == 0) {
		struct drain_config c = {l->trace,    l->socket,
					 listener,    pair[1],
					 l->compress, l->manifest,
					 l->local,    l->node.meeting >= 0 ? l->node.meeting : 0,
					 {-1, -1}};

		drain_detach(&c);
		_exit(drain_keep(&c));
	}
	saved = errno;
	close(listener);
	close(pair[1]);
	if (l->node.meeting >= 0)
		close(l->node.meeting); /* it ends with the drain */
	if (pid < 0) {
		close(pair[0]);
		unlink(l->socket);
		errno = saved;
		return -1;
	}
	*control = pair[0];
	return pid;
}

void launch_tell_drain(int control, enum drain_message_type type, int pid, int status)
{
	struct drain_message m = {.type = type, .pid = pid, .status = status};

	/* Where a sandbox refuses it, the drain hears that nothing comes any more, and hangs up. */
	if (control >= 0 && peer_say(control, &m, sizeof(m), 0) < 0)
		shutdown(control, SHUT_RDWR);
}

/* A drain that went on in the place of another may have greeted again. */
static bool is_told(const struct drain_message *m, ssize_t n)
{
	return n == (ssize_t)sizeof(*m) && m->type >= DRAIN_BUSY && m->type <= DRAIN_DONE;
}

static void hear_drain(struct launcher *s)
{
	struct drain_message m;
	ssize_t n = recv(s->control, &m, sizeof(m), MSG_DONTWAIT);

	if (is_told(&m, n)) {
		s->out->totals = m.totals;
		s->out->drained = m.type == DRAIN_EMPTY || m.type == DRAIN_DONE;
		s->busy = m.type == DRAIN_BUSY;
	} else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		s->out->drain_failed = true;
		close(s->control);
		s->control = -1;
	}
}

/* ---- the program ---------------------------------------------------------------------------- */

/* Only returns in the parent. */
static pid_t start_program(struct launcher *s, const struct launch *l, int *exec_error)
{
	int error = 0;
	pid_t pid = fork();

	*exec_error = 0;
	if (pid == 0) {
		sigaction(SIGCHLD, &s->child_action, NULL);
		launch_restore_size_limit();
		sigprocmask(SIG_SETMASK, &s->original, NULL);
		if (l->instead) {
			close(s->report[1]);
			_exit(l->instead(l->data));
		}
		execvpe(l->program, l->argv, l->environment);
		error = errno;
		if (write(s->report[1], &error, sizeof(error)) < 0)
			_exit(125);
		_exit(127);
	}
	if (pid < 0)
		return -1;
	close(s->report[1]);
	s->report[1] = -1;
	if (read(s->report[0], &error, sizeof(error)) == (ssize_t)sizeof(error))
		*exec_error = error;
	return pid;
}

static bool is_terminal_stop(int sig)
{
	return sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

/*
 * The program is stopped: is that the terminal's job control? It reaches all of a process group, the
 * launcher too, unless the program has a group of its own. What only the program got is somebody
 * else's affair.
 */
static bool is_job_control(const struct launcher *s)
{
	if (s->stop_request &&
	    clock_ns(CLOCK_MONOTONIC) - s->stop_request < STOPPING_MS * 1000000ull)
		return true;
	return is_terminal_stop(s->stopped) && getpgid(s->out->program) != getpgrp();
}

/* Stops with the program. Whoever continues the job continues the launcher, which passes it on. */
static void stop_with_program(struct launcher *s)
{
	if (!s->stopped || !is_job_control(s))
		return;
	s->stopped = 0;
	s->stop_request = 0;
	kill(getpid(), SIGSTOP);
}

/* A status as of waitpid(). */
static int status_of(const siginfo_t *info)
{
	switch (info->si_code) {
	case CLD_CONTINUED:
		return CONTINUED;
	case CLD_STOPPED:
		return info->si_status << 8 | STOPPED;
	case CLD_EXITED:
		return (info->si_status & 0xff) << 8;
	default:
		return info->si_status | (info->si_code == CLD_DUMPED ? 0x80 : 0);
	}
}

/*
 * What has become of the program, without letting it go: the drain reads its status too. Where a filter refuses waitid()
 * it is let go, and the drain has what it is told. False: nothing.
 */
static bool news_of(pid_t program, int *status)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)program, &info,
		   WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) != 0)
		return errno != EINTR &&
		       waitpid(program, status, WUNTRACED | WCONTINUED | WNOHANG) == program;
	if (info.si_pid == 0)
		return false;
	*status = status_of(&info);
	if (info.si_code == CLD_STOPPED || info.si_code == CLD_CONTINUED)
		waitid(P_PID, (id_t)program, &info, WSTOPPED | WCONTINUED | WNOHANG);
	return true;
}

static void look_at_program(struct launcher *s)
{
	int status;

	if (s->ended || !news_of(s->out->program, &status))
		return;
	if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
		s->stopped = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
		stop_with_program(s);
		return;
	}
	s->ended = true;
	s->out->wait_status = status;
	launch_tell_drain(s->control, DRAIN_EXITED, s->out->program, s->out->wait_status);
}

static void pass_on(struct launcher *s, const struct signalfd_siginfo *i)
{
	if (i->ssi_signo == SIGCHLD)
		return;
	if (s->ended) {
		if (i->ssi_signo == SIGINT || i->ssi_signo == SIGTERM || i->ssi_signo == SIGHUP ||
		    i->ssi_signo == SIGQUIT)
			s->out->interrupted = (int)i->ssi_signo;
		return;
	}
	if (i->ssi_signo == SIGCONT)
		s->stop_request = 0;
	else if (is_terminal_stop((int)i->ssi_signo))
		s->stop_request = clock_ns(CLOCK_MONOTONIC);
	/* The terminal and the kernel send to the whole process group: the program has it already. */
	if (i->ssi_code == SI_KERNEL && i->ssi_signo != SIGCONT) {
		stop_with_program(s); /* it may have been first */
		return;
	}
	if (i->ssi_code == SI_QUEUE) {
		union sigval v = {.sival_ptr = (void *)(uintptr_t)i->ssi_ptr};

		sigqueue(s->out->program, (int)i->ssi_signo, v);
	} else {
		kill(s->out->program, (int)i->ssi_signo);
	}
}

/* ---- waiting -------------------------------------------------------------------------------- */

static struct sigaction size_action;

void launch_bear_size_limit(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGXFSZ, &ignore, &size_action);
}

void launch_restore_size_limit(void)
{
	sigaction(SIGXFSZ, &size_action, NULL);
}

static void block_signals(struct launcher *s)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};
	sigset_t all;

	/* Faults of the launcher itself still end it: the kernel does not hold those back. */
	sigfillset(&all);
	sigemptyset(&s->original);
	if (sigprocmask(SIG_SETMASK, &all, &s->original) != 0)
		return; /* nothing would tell when the program has ended */
	/* Ignored, children would vanish with their status. */
	sigaction(SIGCHLD, &plain, &s->child_action);
	s->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool still_waiting(const struct launcher *s, uint64_t ended)
{
	if (!s->ended)
		return true;
	if (s->control < 0 || s->out->drained || s->out->interrupted)
		return false;
	return !s->busy || clock_ns(CLOCK_MONOTONIC) - ended < s->grace_ms * 1000000ull;
}

/* Sends the signal of --kill when it is time. Returns how long to wait, in ms; -1: for ever. */
static int wait_ms(struct launcher *s)
{
	const uint64_t now = clock_ns(CLOCK_REALTIME), most = 3600000;

	if (s->kill && !s->ended && now >= s->kill_ns) {
		s->out->killed = kill_tree(s->out->program, s->kill);
		s->kill = 0;
	}
	if (s->busy)
		return 20;
	if (!s->kill || s->ended)
		return -1;
	return (s->kill_ns - now) / 1000000 < most ? (int)((s->kill_ns - now) / 1000000) + 1
						   : (int)most;
}

static void wait_for_end(struct launcher *s)
{
	struct signalfd_siginfo info;
	uint64_t ended = 0;

	for (;;) {
		struct pollfd p[2] = {{s->signals, POLLIN, 0}, {s->control, POLLIN, 0}};

		look_at_program(s);
		if (s->ended && !ended)
			ended = clock_ns(CLOCK_MONOTONIC);
		if (!still_waiting(s, ended))
			return;
		poll(p, 2, wait_ms(s));
		while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
			pass_on(s, &info);
		if (s->control >= 0 && p[1].revents)
			hear_drain(s);
	}
}

static void close_all(struct launcher *s)
{
	const int fds[] = {s->signals, s->report[0], s->report[1]};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void restore_signals(struct launcher *s)
{
	sigaction(SIGCHLD, &s->child_action, NULL);
	sigprocmask(SIG_SETMASK, &s->original, NULL);
}

/* Once nothing will be forked any more: a forked child has none of its threads. */
static struct telemetry *start_telemetry(const struct launch *l, struct outcome *out)
{
	struct telemetry_options o = {.trace = l->trace,
				      .root = telemetry_root(),
				      .interval_ns = l->telemetry_ns,
				      .delay_ns = l->telemetry_delay_ns,
				      .duration_ns = l->telemetry_duration_ns,
				      .only = l->telemetry_only,
				      .events = l->events,
				      .program = l->instead ? l->target : out->program,
				      .compress = l->compress};
	char token[PLACE_TOKEN];
	struct telemetry *t;

	if (!l->telemetry_ns || !l->socket || out->exec_error)
		return NULL;
	place_token(l->socket, token);
	rawfile_set_token(token);
	t = telemetry_start(&o);
	if (!t)
		out->telemetry = errno;
	return t;
}

/* What can fail for want of descriptors comes before the drain, which would begin to write into the trace. */
static bool start_all(struct launcher *s, const struct launch *l)
{
	if (s->signals < 0 || pipe2(s->report, O_CLOEXEC) != 0)
		return false;
	if (l->socket)
		s->drain = launch_drain(l, &s->control);
	if (l->socket && s->drain < 0)
		return false;
	s->out->program = start_program(s, l, &s->out->exec_error);
	return s->out->program >= 0;
}

/* Returns false when the drain, of which nobody wants anything, is gone. */
static bool not_started(struct launcher *s)
{
	const int error = errno;

	restore_signals(s);
	close_all(s);
	if (s->control >= 0)
		close(s->control);
	if (s->drain > 0 && !s->out->shared)
		waitpid(s->drain, NULL, 0);
	errno = error;
	return false;
}

bool launch(const struct launch *l, struct outcome *out)
{
	struct launcher s = {.signals = -1,
			     .control = -1,
			     .drain = -1,
			     .report = {-1, -1},
			     .out = out,
			     .kill = l->kill,
			     .kill_ns = l->kill_ns,
			     .grace_ms = l->instead ? LEAVE_MS : BUSY_GRACE_MS};
	struct telemetry *telemetry;

	memset(out, 0, sizeof(*out));
	out->control = -1;
	out->shared = l->node.joined >= 0 || l->node.meeting >= 0;
	block_signals(&s);
	if (!start_all(&s, l))
		return not_started(&s);
	launch_tell_drain(s.control, DRAIN_PROGRAM, out->program, l->instead != NULL);
	telemetry = start_telemetry(l, out);
	wait_for_end(&s);
	if (telemetry)
		out->telemetry = telemetry_stop(telemetry);
	if (out->drain_failed && l->socket)
		place_remove(l->socket); /* processes to come start a drain of their own */
	out->left = out->drained ? 0 : out->totals.alive;
	out->control = s.control;
	out->drain = s.drain;
	restore_signals(&s);
	close_all(&s);
	return true;
}

void launch_await_drain(struct outcome *out)
{
	struct launcher s = {
		.control = out->control, .out = out, .ended = true, .grace_ms = BUSY_GRACE_MS};
	uint64_t ended = clock_ns(CLOCK_MONOTONIC);

	while (still_waiting(&s, ended)) {
		struct pollfd p = {s.control, POLLIN, 0};

		if (poll(&p, 1, s.busy ? 20 : -1) > 0)
			hear_drain(&s);
	}
	out->left = out->drained ? 0 : out->totals.alive;
	out->control = s.control;
}

/* A drain that has others to record only hangs up, the last launcher sees it end. */
static void await_hangup(int control, uint64_t deadline)
{
	struct drain_message m;
	uint64_t now;
	ssize_t n = 1;

	while (n != 0 && (now = clock_ns(CLOCK_MONOTONIC)) < deadline) {
		struct pollfd p = {control, POLLIN, 0};

		if (poll(&p, 1, (int)((deadline - now) / 1000000u) + 1) <= 0)
			return;
		n = recv(control, &m, sizeof(m), MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
	}
}

void launch_finish(struct outcome *out, unsigned seconds)
{
	uint64_t deadline = clock_ns(CLOCK_MONOTONIC) + seconds * 1000000000ull, now;
	struct drain_message m;
	bool done = false, gone = false;
	ssize_t n;

	while (!done && out->control >= 0 && (now = clock_ns(CLOCK_MONOTONIC)) < deadline) {
		struct pollfd p = {out->control, POLLIN, 0};

		if (poll(&p, 1, (int)((deadline - now) / 1000000u) + 1) <= 0)
			break;
		n = recv(out->control, &m, sizeof(m), MSG_DONTWAIT);
		if (n != (ssize_t)sizeof(m))
			break;
		if (!is_told(&m, n))
			continue;
		out->totals = m.totals;
		done = m.type == DRAIN_DONE;
		gone = done && !m.status; /* or as good as that */
	}
	if (done && out->shared)
		await_hangup(out->control, deadline);
	else if (gone)
		waitpid(out->drain, NULL, 0);
	if (out->control >= 0)
		close(out->control);
	out->control = -1;
	waitpid(out->program, NULL, WNOHANG);
}

int launch_pass_on(int wait_status)
{
	struct rlimit none = {0, 0};
	sigset_t set;
	int sig;

	if (!WIFSIGNALED(wait_status))
		return WEXITSTATUS(wait_status);
	/* The program has left its core; ours would replace it. */
	sig = WTERMSIG(wait_status);
	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), sig);
	return 128 + sig;
}
