/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as what a client of `kymo view` sends, through a connection as clients have. "TOKEN" and "PORT"
 * in it become those of the server, as nothing would get past it otherwise. Nobody who lacks the token is
 * answered with anything of the trace.
 */
#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "page/serve.h"
#include "support/synth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(struct stream_log *l, int severity, const char *text)
{
}

static struct stream_log quiet = {ignore};
static struct page_kept kept = {.fd = -1};
static struct page_records *records;
static struct page_server *server;
static char work[] = "/tmp/kymo-fuzz-view-XXXXXX";
static char token[PAGE_TOKEN], port[8];

static void stop(void)
{
	page_server_stop(server);
	page_records_free(records);
	page_kept_close(&kept);
	file_remove_tree(work);
}

static bool make_data(const char *trace)
{
	const struct format_options o = {.log = &quiet};
	char file[PATH_MAX];
	struct page p = {.size = 0};
	bool ok;

	snprintf(file, sizeof(file), "%s/page.data", work);
	ok = page_make(&p, trace, work, &o) == KYMO_OK && page_kept_write(&p, file, 1) &&
	     page_kept_open(&kept, file, 1);
	page_release(&p);
	return ok;
}

static void start(void)
{
	struct page_server_options o = {.name = "trace"};
	char trace[PATH_MAX];

	signal(SIGPIPE, SIG_IGN);
	if (!mkdtemp(work))
		abort();
	snprintf(trace, sizeof(trace), "%s/demo.kymo", work);
	synth_demo(trace, false);
	if (!make_data(trace))
		abort();
	records = o.records = page_records_new(trace, &quiet);
	server = records ? page_server_start(&o, &quiet) : NULL;
	if (!server || sscanf(page_server_address(server),
			      "http://127.0.0.1:%7[0-9]/?token=%32[0-9a-f]", port, token) != 2)
		abort();
	page_server_ready(server, &kept);
	atexit(stop);
}

/* With what the server is known by. */
static void fill_in(struct text *out, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size;) {
		bool is_token = size - i >= 5 && memcmp(data + i, "TOKEN", 5) == 0;
		bool is_port = size - i >= 4 && memcmp(data + i, "PORT", 4) == 0;

		if (is_token || is_port)
			text_add(out, is_token ? token : port);
		else
			text_add_bytes(out, (const char *)data + i, 1);
		i += is_token ? 5 : is_port ? 4 : 1;
	}
}

static int connected(void)
{
	struct sockaddr_in where = {.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)atoi(port)),
				    .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&where, sizeof(where)) != 0)
		abort();
	return fd;
}

/* All that the server says until it ends the connection, which it does when nothing more can come. */
static void ask(const struct text *request, struct text *said)
{
	char part[65536];
	int fd = connected();
	size_t sent = 0;
	ssize_t n;

	while (sent < request->length &&
	       (n = send(fd, request->s + sent, request->length - sent, 0)) > 0)
		sent += (size_t)n;
	shutdown(fd, SHUT_WR);
	while ((n = recv(fd, part, sizeof(part), 0)) > 0)
		text_add_bytes(said, part, (size_t)n);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text request = {0}, said = {0};

	if (!server)
		start();
	fill_in(&request, data, size);
	if (request.length)
		ask(&request, &said);
	if (said.length && memmem(said.s, said.length, " 200 OK", 7) &&
	    !memmem(request.s, request.length, token, strlen(token)))
		abort();
	text_release(&request);
	text_release(&said);
	return 0;
}
