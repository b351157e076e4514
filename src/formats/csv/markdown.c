/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of records in one Markdown file. Records of all kinds come mixed: each table grows in a file of its own that
 * has no name, and they are put together at the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/plain.h"
#include "base/temporary.h"
#include "formats/csv/csv.h"
#include "stream/spool.h"

/* A table that is not empty has a file. */
static bool open_table(struct csv_out *o)
{
	const char *header = csv_header(o->table);
	struct output *out = &o->out;
	struct text name = {0};

	if (out->data || out->error)
		return !out->error;
	if (output_open(out, NULL, false, o->writer->o.log) != KYMO_OK) {
		out->error = ENOMEM;
		return false;
	}
	out->fd = temporary_file(temporary_directory());
	if (out->fd < 0)
		out->error = errno;
	text_addf(&name, "temporary file in %s (set TMPDIR)", temporary_directory());
	out->path = name.s; /* for messages; with one, it is closed */
	output_text(out, "| ");
	for (const char *p = header; *p; p++)
		if (*p == ',')
			output_text(out, " | ");
		else if (*p == '_')
			output_text(out, "\\_");
		else
			output_char(out, *p);
	output_text(out, " |\n|---|");
	for (const char *p = strchr(header, ','); p; p = strchr(p + 1, ','))
		output_text(out, "---|");
	output_text(out, "\n|");
	return !out->error;
}

static void markdown_text(struct csv_out *o, const char *s, size_t n)
{
	struct text escaped = {0};

	if (!open_table(o))
		return;
	output_char(&o->out, ' ');
	if (n)
		plain_add_markdown(&escaped, s, n);
	if (escaped.failed)
		o->out.error = ENOMEM;
	else
		output_put(&o->out, escaped.s ? escaped.s : "", escaped.length);
	output_text(&o->out, " |");
	text_release(&escaped);
}

static void markdown_number(struct csv_out *o, const char *digits)
{
	if (!open_table(o))
		return;
	output_char(&o->out, ' ');
	output_text(&o->out, digits);
	output_text(&o->out, " |");
}

static kymo_status_t markdown_end_row(struct csv_out *o)
{
	output_text(&o->out, "\n|");
	return output_status(&o->out);
}

static kymo_status_t markdown_open(struct csv_writer *w)
{
	return output_open(&w->file, w->o.output, w->o.force, w->o.log);
}

/* All of a table but the bar with which its next row would begin. */
static kymo_status_t append(struct csv_writer *w, struct csv_out *o)
{
	char piece[65536];
	int fd = dup(o->out.fd);
	kymo_status_t status = output_close(&o->out, w->o.log);
	off_t left = fd < 0 ? -1 : lseek(fd, 0, SEEK_END) - 1, at = 0;

	output_text(&w->file, "\n## ");
	output_text(&w->file, csv_name(o->table));
	output_text(&w->file, "\n\n");
	while (status == KYMO_OK && left > 0) {
		size_t most = left < (off_t)sizeof(piece) ? (size_t)left : sizeof(piece);
		ssize_t n = pread(fd, piece, most, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			spool_tell(w->o.log, n ? errno : EIO);
			status = KYMO_ERROR_SYSTEM;
			break;
		}
		output_put(&w->file, piece, (size_t)n);
		at += n;
		left -= n;
	}
	if (fd >= 0)
		close(fd);
	return left < 0 ? KYMO_ERROR_SYSTEM : status;
}

static kymo_status_t markdown_close(struct csv_writer *w)
{
	kymo_status_t status = KYMO_OK, closed;
	struct text title = {0};

	plain_add_markdown(&title, w->t->command, strlen(w->t->command));
	output_text(&w->file, "# ");
	output_text(&w->file, title.s ? title.s : "Trace");
	output_text(&w->file, "\n\nTimes are ns since the trace began.\n");
	text_release(&title);
	for (unsigned i = 0; i < CSV_TABLES && status == KYMO_OK; i++) {
		if (w->out[i].out.data)
			status = append(w, &w->out[i]);
	}
	closed = output_close(&w->file, w->o.log);
	return status == KYMO_OK ? closed : status;
}

static void markdown_release(struct csv_writer *w)
{
	for (unsigned i = 0; i < CSV_TABLES; i++) {
		w->out[i].out.used = 0;
		output_close(&w->out[i].out, w->o.log);
	}
	output_close(&w->file, w->o.log);
}

static const struct csv_form markdown = {
	.open = markdown_open,
	.text = markdown_text,
	.number = markdown_number,
	.end_row = markdown_end_row,
	.close = markdown_close,
	.release = markdown_release,
};

static kymo_status_t md_write(const struct format_options *o, struct stream_sink **sink)
{
	return csv_make(o, &markdown, sink);
}

extern const struct format format_md;
const struct format format_md = {
	.name = "md",
	.summary = "Markdown with a table for each kind of record, for pages about a few of them",
	.suffix = ".md",
	.kinds = FORMAT_KEEPS_EVERYTHING,
	.write = md_write,
	.sink_free = csv_free,
};
