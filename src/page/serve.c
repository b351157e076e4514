/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See serve.h. Other programs of this machine, and pages of others in the user's browser, can send requests to the port
 * as well: every request must have the token, and must have been meant for this host (else a name that is made to lead
 * here would do). Nothing is changed by a request, and no answer may be read by pages from elsewhere.
 */
#include "page/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/library.h"
#include "base/peer.h"

#define HTTP_FUNCTIONS(X)                                                                          \
	X(MHD_start_daemon)                                                                        \
	X(MHD_stop_daemon)                                                                         \
	X(MHD_create_response_from_buffer)                                                         \
	X(MHD_create_response_from_fd_at_offset64)                                                 \
	X(MHD_add_response_header)                                                                 \
	X(MHD_queue_response)                                                                      \
	X(MHD_destroy_response)                                                                    \
	X(MHD_lookup_connection_value)

/* Each has a thread of its own: what takes long holds up no other request. */
static const unsigned CONNECTIONS = 64;

struct http {
	HTTP_FUNCTIONS(LIBRARY_POINTER)
};

struct page_server {
	struct http http;
	struct MHD_Daemon *daemon;
	struct page_records *records;
	pthread_mutex_t reading;   /* held by who uses `records` */
	pthread_mutex_t preparing; /* held by who uses the next six */
	pthread_cond_t changed;
	const struct page_kept *kept; /* NULL: it is being prepared */
	struct page_glances *glances; /* NULL: there are none, or not yet */
	bool ends;
	const char *doing; /* of what prepares it, and how much of that is done */
	double done;
	char token[PAGE_TOKEN];
	char address[80];
	char host[2][32]; /* that requests may be meant for */
	struct text policy;
	char *html;
	size_t html_bytes;
	uint16_t port;
	struct stream_log *log;
	bool told; /* that others were turned away */
};

static bool load(struct http *h, struct stream_log *log)
{
#define ROW(name) LIBRARY_FUNCTION(struct http, name, #name),
	static const struct library_function rows[] = {HTTP_FUNCTIONS(ROW)};
#undef ROW
	static const char *const names[] = {KYMO_MICROHTTPD_LIBRARY, NULL};
	char why[LIBRARY_WHY];
	bool ok = library_find(names, "libmicrohttpd12", rows, sizeof(rows) / sizeof(rows[0]), h,
			       why);

	if (!ok)
		stream_error(log, "kymo view needs libmicrohttpd: %s; kymo report needs none", why);
	return ok;
}

/* ---- answers ----------------------------------------------------------------------------------- */

static enum MHD_Result answer(const struct page_server *s, struct MHD_Connection *c,
			      unsigned status, const char *type, struct MHD_Response *r)
{
	const char *const headers[][2] = {
		{"Content-Type", type},
		{"Cache-Control", "no-store"},
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Content-Security-Policy", s->policy.s},
		{status == MHD_HTTP_METHOD_NOT_ALLOWED ? "Allow" : NULL, "GET"},
	};
	enum MHD_Result result;

	if (!r)
		return MHD_NO;
	for (unsigned i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		if (headers[i][0])
			s->http.MHD_add_response_header(r, headers[i][0], headers[i][1]);
	result = s->http.MHD_queue_response(c, status, r);
	s->http.MHD_destroy_response(r);
	return result;
}

static enum MHD_Result answer_text(const struct page_server *s, struct MHD_Connection *c,
				   unsigned status, const char *type, const char *text, size_t n)
{
	return answer(s, c, status, type,
		      s->http.MHD_create_response_from_buffer(n, (void *)(uintptr_t)text,
							      MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result refuse(const struct page_server *s, struct MHD_Connection *c,
			      unsigned status, const char *why)
{
	return answer_text(s, c, status, "text/plain; charset=utf-8", why, strlen(why));
}

/* What is prepared, once it is; NULL: this ends before. */
static const struct page_kept *prepared(struct page_server *s)
{
	const struct page_kept *kept;

	pthread_mutex_lock(&s->preparing);
	while (!s->kept && !s->ends)
		pthread_cond_wait(&s->changed, &s->preparing);
	kept = s->kept;
	pthread_mutex_unlock(&s->preparing);
	return kept;
}

static enum MHD_Result answer_ended(const struct page_server *s, struct MHD_Connection *c)
{
	return refuse(s, c, MHD_HTTP_SERVICE_UNAVAILABLE, "kymo view has been ended\n");
}

static enum MHD_Result answer_part(const struct page_server *s, struct MHD_Connection *c,
				   const struct page_kept *kept, const char *type, uint64_t offset,
				   uint64_t bytes)
{
	int fd = dup(kept->fd);
	struct MHD_Response *r =
		fd < 0 ? NULL : s->http.MHD_create_response_from_fd_at_offset64(bytes, fd, offset);

	if (fd >= 0 && !r)
		close(fd);
	return answer(s, c, MHD_HTTP_OK, type, r);
}

/* What was made for this answer alone; it is released. */
static enum MHD_Result answer_made(const struct page_server *s, struct MHD_Connection *c,
				   const char *type, bool made, struct text *text)
{
	struct MHD_Response *r = NULL;

	if (made)
		r = s->http.MHD_create_response_from_buffer(text->length, text->s,
							    MHD_RESPMEM_MUST_COPY);
	text_release(text);
	if (!r)
		return refuse(s, c, MHD_HTTP_INTERNAL_SERVER_ERROR, "the trace cannot be read\n");
	return answer(s, c, MHD_HTTP_OK, type, r);
}

static enum MHD_Result answer_state(struct page_server *s, struct MHD_Connection *c)
{
	struct text text = {0};

	pthread_mutex_lock(&s->preparing);
	text_addf(&text, "{\"ready\": %s, \"glances\": %s, \"doing\": \"%s\", \"done\": %.4f}\n",
		  s->kept ? "true" : "false", s->glances ? "true" : "false", s->doing, s->done);
	pthread_mutex_unlock(&s->preparing);
	return answer_made(s, c, "application/json", !text.failed, &text);
}

static enum MHD_Result answer_record(struct page_server *s, struct MHD_Connection *c,
				     const struct page_asked *asked)
{
	struct text text = {0};
	bool found;

	pthread_mutex_lock(&s->reading);
	found = page_records_find(s->records, asked, &text);
	pthread_mutex_unlock(&s->reading);
	return answer_made(s, c, "application/json", found, &text);
}

/* ---- requests ---------------------------------------------------------------------------------- */

/* Takes as long wherever they differ. */
static bool same(const char *a, const char *b)
{
	size_t n = strlen(b);
	unsigned char differ = 0;

	if (!a || strlen(a) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return !differ;
}

static bool is_for_us(const struct page_server *s, struct MHD_Connection *c)
{
	const char *host = s->http.MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");

	return host && (strcmp(host, s->host[0]) == 0 || strcmp(host, s->host[1]) == 0);
}

/* A number of a path; UINT32_MAX: that is none. */
static uint32_t number_in(const char *text)
{
	char *end;
	unsigned long n;

	if (*text < '0' || *text > '9')
		return UINT32_MAX;
	errno = 0;
	n = strtoul(text, &end, 10);
	return *end || errno || n >= UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static enum MHD_Result on_section(struct page_server *s, struct MHD_Connection *c, uint32_t n)
{
	const struct page_kept *kept = prepared(s);

	if (!kept)
		return answer_ended(s, c);
	if (n >= kept->count)
		return refuse(s, c, MHD_HTTP_NOT_FOUND, "there is no such thing here\n");
	return answer_part(s, c, kept, "application/octet-stream", kept->data + kept->at[n].offset,
			   kept->at[n].length);
}

static enum MHD_Result on_head(struct page_server *s, struct MHD_Connection *c)
{
	const struct page_kept *kept = prepared(s);

	return kept ? answer_part(s, c, kept, "application/json", kept->head, kept->head_bytes)
		    : answer_ended(s, c);
}

/* A number of the request; one that is missing is 0. False: it is none. */
static bool number_of(const struct page_server *s, struct MHD_Connection *c, const char *name,
		      uint64_t most, uint64_t *out)
{
	const char *text = s->http.MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, name);
	char *end;

	*out = 0;
	if (!text)
		return true;
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return !*end && !errno && *out <= most;
}

static enum MHD_Result on_record(struct page_server *s, struct MHD_Connection *c)
{
	static const struct {
		const char *name;
		uint64_t most;
	} numbers[] = {{"process", UINT32_MAX},
		       {"thread", UINT32_MAX},
		       {"queue", UINT32_MAX},
		       {"start", INT64_MAX},
		       {"end", INT64_MAX},
		       {"id", UINT64_MAX},
		       {"work", 1}};
	uint64_t v[sizeof(numbers) / sizeof(*numbers)];
	struct page_asked asked;

	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!number_of(s, c, numbers[i].name, numbers[i].most, &v[i]))
			return refuse(s, c, MHD_HTTP_BAD_REQUEST, "this is no record\n");
	asked = (struct page_asked){.process = (uint32_t)v[0],
				    .thread = (uint32_t)v[1],
				    .queue = (uint32_t)v[2],
				    .start = (int64_t)v[3],
				    .end = (int64_t)v[4],
				    .id = v[5],
				    .work = v[6] != 0};
	return answer_record(s, c, &asked);
}

static enum MHD_Result on_glance(struct page_server *s, struct MHD_Connection *c)
{
	uint64_t start, end, effort;
	struct text text = {0};
	struct page_glances *glances;
	bool made;

	pthread_mutex_lock(&s->preparing);
	glances = s->glances;
	pthread_mutex_unlock(&s->preparing);
	if (!glances || !number_of(s, c, "start", INT64_MAX, &start) ||
	    !number_of(s, c, "end", INT64_MAX, &end) ||
	    !number_of(s, c, "effort", GLANCE_EFFORTS - 1, &effort))
		return refuse(s, c, MHD_HTTP_BAD_REQUEST, "this is no window\n");
	end = end ? end : INT64_MAX;
	made = page_glance(glances, (int64_t)start, (int64_t)end, (unsigned)effort, &text);
	return answer_made(s, c, "application/octet-stream", made, &text);
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **state)
{
	static const char section[] = "/section/";
	struct page_server *s = data;
	uint32_t n;

	if (strcmp(method, "GET") != 0)
		return refuse(s, c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET alone\n");
	if (!is_for_us(s, c))
		return refuse(s, c, MHD_HTTP_FORBIDDEN, "not for this host\n");
	if (!same(s->http.MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token"), s->token))
		return refuse(s, c, MHD_HTTP_FORBIDDEN,
			      "this needs the token of the address that kymo view has printed\n");
	if (strcmp(url, "/") == 0)
		return answer_text(s, c, MHD_HTTP_OK, "text/html; charset=utf-8", s->html,
				   s->html_bytes);
	if (strcmp(url, "/head.json") == 0)
		return on_head(s, c);
	if (strcmp(url, "/state") == 0)
		return answer_state(s, c);
	if (strcmp(url, "/glance") == 0)
		return on_glance(s, c);
	if (strcmp(url, "/record") == 0)
		return on_record(s, c);
	if (strncmp(url, section, sizeof(section) - 1) != 0 ||
	    (n = number_in(url + sizeof(section) - 1)) == UINT32_MAX)
		return refuse(s, c, MHD_HTTP_NOT_FOUND, "there is no such thing here\n");
	return on_section(s, c, n);
}

/*
 * Other users could hold all connections that there are, also without the token. Of 127.0.0.1 the kernel tells whose
 * the other end is.
 */
static enum MHD_Result on_connection(void *data, const struct sockaddr *from, socklen_t size)
{
	struct page_server *s = data;
	struct sockaddr_in in;
	uid_t who;

	if (size < sizeof(in) || from->sa_family != AF_INET)
		return MHD_NO;
	memcpy(&in, from, sizeof(in));
	if (peer_port_may_ask(ntohs(in.sin_port), s->port, &who) != PEER_PORT_MAY_NOT)
		return MHD_YES;
	if (!s->told) {
		stream_warn(s->log, "another user (uid %u) wants to connect: turned away",
			    (unsigned)who);
	}
	s->told = true;
	return MHD_NO;
}

/* ---- life -------------------------------------------------------------------------------------- */

static bool make_page(struct page_server *s, const char *name)
{
	FILE *out = open_memstream(&s->html, &s->html_bytes);

	text_addf(&s->policy,
		  "default-src 'none'; script-src '%s'; style-src '%s'; connect-src 'self'; "
		  "worker-src blob:; img-src data: blob:; base-uri 'none'; form-action 'none'; "
		  "frame-ancestors 'none'",
		  page_script.hash, page_style.hash);
	if (!out)
		return false;
	page_write_served(name, out);
	return fclose(out) == 0 && !s->policy.failed;
}

static bool make_token(char token[PAGE_TOKEN])
{
	unsigned char random[(PAGE_TOKEN - 1) / 2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return false;
	for (unsigned i = 0; i < sizeof(random); i++)
		snprintf(token + 2 * (size_t)i, 3, "%02x", random[i]);
	return true;
}

/* -1: errno. The port is chosen by the system where it is 0. */
static int listen_at(uint16_t *port)
{
	struct sockaddr_in where = {.sin_family = AF_INET,
				    .sin_port = htons(*port),
				    .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(where);
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    bind(fd, (struct sockaddr *)&where, size) == 0 && listen(fd, SOMAXCONN) == 0 &&
	    getsockname(fd, (struct sockaddr *)&where, &size) == 0) {
		*port = ntohs(where.sin_port);
		return fd;
	}
	close(fd);
	return -1;
}

static bool start(struct page_server *s, uint16_t port, struct stream_log *log)
{
	int fd = listen_at(&port);

	if (fd < 0) {
		stream_error(log, "port %u of 127.0.0.1: %s; --port names another", port,
			     strerror(errno));
		return false;
	}
	s->port = port;
	s->log = log;
	snprintf(s->address, sizeof(s->address), "http://127.0.0.1:%u/?token=%s", port, s->token);
	snprintf(s->host[0], sizeof(s->host[0]), "127.0.0.1:%u", port);
	snprintf(s->host[1], sizeof(s->host[1]), "localhost:%u", port);
	s->daemon = s->http.MHD_start_daemon(
		MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0,
		on_connection, s, on_request, s, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_TIMEOUT, 60u, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
		MHD_OPTION_END);
	if (!s->daemon) {
		stream_error(log, "port %u of 127.0.0.1: it cannot be served: %s", port,
			     errno ? strerror(errno) : "libmicrohttpd gives no reason");
		close(fd);
	}
	return s->daemon != NULL;
}

struct page_server *page_server_start(const struct page_server_options *o, struct stream_log *log)
{
	struct page_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->reading, NULL);
	pthread_mutex_init(&s->preparing, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->doing = "";
	s->records = o->records;
	if (load(&s->http, log)) {
		if (!make_page(s, o->name) || !make_token(s->token))
			stream_error(log, "%s: not enough memory", o->name);
		else if (start(s, o->port, log))
			return s;
	}
	page_server_stop(s);
	return NULL;
}

const char *page_server_address(const struct page_server *s)
{
	return s->address;
}

void page_server_tell(struct page_server *s, const char *doing, double done)
{
	pthread_mutex_lock(&s->preparing);
	s->doing = doing;
	s->done = done;
	pthread_mutex_unlock(&s->preparing);
}

void page_server_glances(struct page_server *s, struct page_glances *glances)
{
	pthread_mutex_lock(&s->preparing);
	s->glances = glances;
	pthread_mutex_unlock(&s->preparing);
}

void page_server_ready(struct page_server *s, const struct page_kept *kept)
{
	pthread_mutex_lock(&s->preparing);
	s->kept = kept;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->preparing);
}

void page_server_stop(struct page_server *s)
{
	pthread_mutex_lock(&s->preparing);
	s->ends = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->preparing);
	if (s->daemon)
		s->http.MHD_stop_daemon(s->daemon);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->preparing);
	pthread_mutex_destroy(&s->reading);
	text_release(&s->policy);
	free(s->html);
	free(s);
}
