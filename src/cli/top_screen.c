/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live view: ncurses sends the cells that changed, once a look or a key. Signals come by a descriptor, so that
 * none interrupts a picture; a crash puts the terminal right with what was prepared before.
 */
#include "cli/top.h"

#include "cli/cli.h"

#ifndef KYMO_CURSES_LIBRARY

int top_live(struct follow *f, uint64_t delay_ns, void (*refresh)(struct follow *f))
{
	(void)f;
	(void)delay_ns;
	(void)refresh;
	cli_error("this Kymo was built without ncurses, which the live view needs: install "
		  "libncurses-dev and build it again; --once and --json work without");
	return CLI_FAILURE;
}

#else

#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plain.h"
#include "cli/top_curses.h"

#define DELAY_LEAST 100000000ull
#define DELAY_MOST  60000000000ull

enum { COLUMNS_LEAST = 20, LINES_LEAST = 4, PAGE = 10 };

struct screen {
	const struct top_curses *x;
	SCREEN *screen;
	WINDOW *window;
	struct top_look look;
	unsigned rows; /* of the table that is shown */
	bool utf8, over;
	int signals;  /* signalfd */
	int ended_by; /* signal, 0 */
};

/* ---- the terminal ------------------------------------------------------------------------------ */

static struct termios terminal_before;
static char leave[64]; /* what puts the screen back */

static void on_crash(int sig)
{
	ssize_t n = write(STDOUT_FILENO, leave, strlen(leave));

	(void)n;
	tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void add_capability(const struct top_curses *x, const char *name)
{
	const char *s = x->tigetstr(name);

	/* (char *)-1: no such capability. Padding is not for today's terminals. */
	if (s && s != (const char *)-1 && !strstr(s, "$<") &&
	    strlen(leave) + strlen(s) < sizeof(leave))
		strcat(leave, s);
}

static void watch_crashes(const struct top_curses *x)
{
	static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	struct sigaction sa = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};

	add_capability(x, "rmcup");
	add_capability(x, "cnorm");
	add_capability(x, "rmkx");
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		sigaction(crashes[i], &sa, NULL);
}

static int open_signals(void)
{
	static const int some[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		sigaddset(&set, some[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void take_size(struct screen *s)
{
	struct winsize w;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 || !w.ws_col || !w.ws_row)
		w = (struct winsize){.ws_col = 80, .ws_row = 24};
	s->look.width = w.ws_col > COLUMNS_LEAST ? w.ws_col : COLUMNS_LEAST;
	s->look.height = w.ws_row > LINES_LEAST ? w.ws_row : LINES_LEAST;
	s->x->resizeterm(w.ws_row, w.ws_col);
	s->x->wresize(s->window, (int)s->look.height, (int)s->look.width);
	s->x->clearok(s->window, TRUE);
}

/* It can write where it wants to; a "dumb" terminal, or one that nobody knows, cannot. */
static bool has_screen(const struct screen *s)
{
	const char *type = getenv("TERM"), *move = s->screen ? s->x->tigetstr("cup") : NULL;

	if (move && move != (const char *)-1)
		return true;
	if (!type || !*type)
		cli_note("TERM is not set, so that it is not known what the terminal can: one "
			 "picture, as with --once");
	else
		cli_note("the terminal \"%s\" (TERM) %s: one picture, as with --once", type,
			 s->screen ? "has no way to place text" : "is not known to ncurses");
	return false;
}

/* The exit status; TOP_NO_SCREEN. */
static int open_screen(struct screen *s)
{
	const struct top_curses *x = s->x;

	setlocale(LC_CTYPE, "");
	s->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	tcgetattr(STDIN_FILENO, &terminal_before);
	s->screen = x->newterm(NULL, stdout, stdin);
	if (s->screen)
		x->set_term(s->screen);
	if (!has_screen(s))
		return TOP_NO_SCREEN;
	s->signals = open_signals();
	s->window = x->newwin(0, 0, 0, 0);
	if (!s->window || s->signals < 0) {
		cli_error("not enough memory or descriptors");
		return CLI_FAILURE;
	}
	x->cbreak();
	x->noecho();
	x->curs_set(0);
	x->keypad(s->window, TRUE);
	x->nodelay(s->window, TRUE);
	watch_crashes(x);
	take_size(s);
	return CLI_OK;
}

static void close_screen(struct screen *s)
{
	if (s->window)
		s->x->delwin(s->window);
	if (s->screen) {
		s->x->endwin();
		s->x->delscreen(s->screen);
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
	}
	if (s->signals >= 0)
		close(s->signals);
}

/* ---- the picture ------------------------------------------------------------------------------- */

/* A terminal that has no UTF-8 gets a question mark for what it cannot show. */
static void add_text(const struct screen *s, const struct text *t)
{
	if (!t->s)
		return;
	if (!s->utf8)
		for (size_t i = 0, n; i < t->length; i += n) {
			uint32_t code;

			n = plain_next(t->s + i, t->length - i, &code);
			s->x->waddnstr(s->window, code < 128 ? t->s + i : "?", 1);
		}
	else
		s->x->waddnstr(s->window, t->s, (int)t->length);
}

static void draw(struct screen *s, const struct follow *f)
{
	static const attr_t weights[] = {A_NORMAL, A_BOLD, A_REVERSE};
	struct top_picture p = {0};

	top_draw(&p, f, &s->look);
	s->rows = p.rows;
	s->x->werase(s->window);
	for (unsigned i = 0; i < p.count && i < s->look.height; i++) {
		s->x->wmove(s->window, (int)i, 0);
		s->x->wattrset(s->window, (int)weights[p.lines[i].weight]);
		add_text(s, &p.lines[i].text);
		/* Headings go across. */
		for (unsigned k = p.lines[i].weight == TOP_HEADING
					  ? plain_width(p.lines[i].text.s ? p.lines[i].text.s : "")
					  : s->look.width;
		     k < s->look.width; k++)
			s->x->waddnstr(s->window, " ", 1);
	}
	s->x->wattrset(s->window, A_NORMAL);
	s->x->wnoutrefresh(s->window);
	s->x->doupdate();
	top_picture_release(&p);
}

/* ---- keys and signals -------------------------------------------------------------------------- */

static void scroll_by(struct screen *s, int by)
{
	long first = (long)s->look.first + by, most = s->rows ? (long)s->rows - 1 : 0;

	s->look.first = (unsigned)(first < 0 ? 0 : first > most ? most : first);
}

static void show_view(struct screen *s, enum top_view view)
{
	s->look.view = view;
	s->look.first = 0;
	s->look.help = false;
}

static void set_delay(struct screen *s, uint64_t ns)
{
	s->look.delay_ns = ns < DELAY_LEAST ? DELAY_LEAST : ns > DELAY_MOST ? DELAY_MOST : ns;
}

static void take_scroll_key(struct screen *s, int key)
{
	if (key == KEY_UP)
		scroll_by(s, -1);
	else if (key == KEY_DOWN)
		scroll_by(s, 1);
	else if (key == KEY_PPAGE)
		scroll_by(s, -PAGE);
	else if (key == KEY_NPAGE)
		scroll_by(s, PAGE);
	else if (key == KEY_HOME)
		s->look.first = 0;
}

static void take_key(struct screen *s, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		s->over = true;
		break;
	case 'h':
	case '?':
		s->look.help = !s->look.help;
		break;
	case 'p':
	case ' ':
		s->look.held = !s->look.held;
		break;
	case 's':
		s->look.order = (s->look.order + 1) % TOP_ORDERS;
		break;
	case '\t':
		show_view(s, (s->look.view + 1) % TOP_VIEWS);
		break;
	case '+':
		set_delay(s, s->look.delay_ns / 2);
		break;
	case '-':
		set_delay(s, s->look.delay_ns * 2);
		break;
	case 'L' - '@':
		s->x->clearok(s->window, TRUE);
		break;
	default:
		if (key >= '1' && key < '1' + TOP_VIEWS)
			show_view(s, (enum top_view)(key - '1'));
		else
			take_scroll_key(s, key);
	}
}

/* As any program: it stops, and has its screen again when it goes on. */
static void stop(struct screen *s)
{
	s->x->endwin();
	raise(SIGSTOP);
	take_size(s);
}

static void take_signals(struct screen *s)
{
	struct signalfd_siginfo i;

	while (read(s->signals, &i, sizeof(i)) == (ssize_t)sizeof(i)) {
		if (i.ssi_signo == SIGWINCH) {
			take_size(s);
		} else if (i.ssi_signo == SIGTSTP) {
			stop(s);
		} else {
			s->ended_by = (int)i.ssi_signo;
			s->over = true;
		}
	}
}

/* ---- the loop ---------------------------------------------------------------------------------- */

/* Until the next look is due, or something has come. False: it is due. */
static bool wait_for(struct screen *s, uint64_t due)
{
	struct pollfd p[] = {{STDIN_FILENO, POLLIN, 0}, {s->signals, POLLIN, 0}};
	uint64_t now = clock_ns(CLOCK_MONOTONIC), left = due > now ? due - now : 0;
	struct timespec t = {(time_t)(left / 1000000000), (long)(left % 1000000000)};

	if (ppoll(p, 2, &t, NULL) <= 0)
		return false;
	s->over |= (p[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0; /* the terminal is gone */
	return true;
}

static void look_on(struct screen *s, struct follow *f, void (*refresh)(struct follow *f))
{
	uint64_t due = 0;

	while (!s->over) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);
		int key;

		if (now >= due) {
			if (!s->look.held)
				refresh(f);
			/* The first picture has no rates: they follow soon. */
			due = now + (f->interval ? s->look.delay_ns : DELAY_LEAST);
		}
		draw(s, f);
		if (!wait_for(s, due))
			continue;
		take_signals(s);
		while ((key = s->x->wgetch(s->window)) != ERR)
			take_key(s, key);
	}
}

int top_live(struct follow *f, uint64_t delay_ns, void (*refresh)(struct follow *f))
{
	char why[LIBRARY_WHY];
	struct screen s = {.x = top_curses_load(why), .signals = -1};
	int status;

	if (!s.x) {
		cli_error("the live view needs ncurses: %s; --once and --json work without", why);
		return CLI_FAILURE;
	}
	set_delay(&s, delay_ns);
	status = open_screen(&s);
	if (status == CLI_OK)
		look_on(&s, f, refresh);
	close_screen(&s);
	if (s.ended_by) {
		sigset_t set;

		signal(s.ended_by, SIG_DFL);
		sigemptyset(&set);
		sigaddset(&set, s.ended_by);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		raise(s.ended_by);
	}
	return status;
}

#endif
