/* SPDX-License-Identifier: Apache-2.0 */
/* Serves a page on 127.0.0.1 to who knows its token. libmicrohttpd is loaded when it is needed. */
#ifndef PAGE_SERVE_H
#define PAGE_SERVE_H

#include "page/kept.h"
#include "page/record.h"

struct page_server;

enum { PAGE_TOKEN = 33 };

struct page_server_options {
	uint16_t port; /* 0: any that is free */
	const char *name;
	const struct page_kept *kept;
	struct page_records *records;
};

/* NULL: said why in `log`. What the options point to must stay. */
struct page_server *page_server_start(const struct page_server_options *o, struct stream_log *log);
/* Where it is: http://127.0.0.1:PORT/?token=TOKEN */
const char *page_server_address(const struct page_server *s);
void page_server_stop(struct page_server *s);

#endif
