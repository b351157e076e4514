/* SPDX-License-Identifier: Apache-2.0 */
/* Serves a page on 127.0.0.1 to who knows its token. libmicrohttpd is loaded when it is needed. */
#ifndef PAGE_SERVE_H
#define PAGE_SERVE_H

#include "page/glance.h"
#include "page/kept.h"
#include "page/record.h"

struct page_server;

enum { PAGE_TOKEN = 33 };

struct page_server_options {
	uint16_t port; /* 0: any that is free */
	const char *name;
	struct page_records *records;
};

/*
 * NULL: said why in `log`, which several threads use from then on. What the options point to must stay. Who asks for the head
 * or for sections waits until page_server_ready().
 */
struct page_server *page_server_start(const struct page_server_options *o, struct stream_log *log);
/* Where it is: http://127.0.0.1:PORT/?token=TOKEN */
const char *page_server_address(const struct page_server *s);
/* What prepares the data (a text that stays), and how much of it is done. */
void page_server_tell(struct page_server *s, const char *doing, double done);
/* Parts of the trace may be asked for from now on. */
void page_server_glances(struct page_server *s, struct page_glances *glances);
/* The data is there, and stays. */
void page_server_ready(struct page_server *s, const struct page_kept *kept);
void page_server_stop(struct page_server *s);

#endif
