/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of records, in all their forms; the CSV format: a directory with a file for each kind of record and of definition, as RFC 4180
 * says (CRLF, quotes where needed), each with a header row. Times are ns since the trace began.
 * Names cannot do harm in a spreadsheet or terminal: plain_add_csv() says how they are escaped.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/csv/csv.h"
#include "record/csv_headers.h"

static const struct {
	const char *name, *header;
} tables[CSV_TABLES] = {
	[CSV_CALLS] = {"calls", "start,end,duration,pid,tid,domain,name,id,parent,status,"
				"status_name,ok,unwound,external,scope,site,result,arguments"},
	[CSV_DISPATCHES] = {"dispatches",
			    "start,end,duration,queued,submitted,pid,tid,agent,queue,kernel,"
			    "global_x,global_y,global_z,local_x,local_y,local_z,registers,"
			    "static_shared,dynamic_shared,local_memory,correlation,call_start,"
			    "status,untimed,causal_violation,collected" CSV_DEFAULT_DISPATCH},
	[CSV_COPIES] = {"copies", "start,end,duration,queued,submitted,pid,tid,name,bytes,agent,"
				  "queue,source_agent,source_kind,destination_agent,"
				  "destination_kind,blocking,correlation,call_start,status,untimed,"
				  "causal_violation,collected" CSV_DEFAULT_COPY},
	[CSV_ALLOCATIONS] = {"allocations",
			     "time,pid,tid,name,what,memory,bytes,address,"
			     "allocation,parent,agent,correlation" CSV_DEFAULT_ALLOCATION},
	[CSV_SYNCS] = {"syncs", "start,end,duration,pid,tid,name,agent,queue,events,correlation,"
				"event" CSV_DEFAULT_SYNC},
	[CSV_MARKERS] = {"markers", "start,end,duration,pid,tid,kind,name,domain,category,color,"
				    "scope,parent_scope,left_open,payload" CSV_DEFAULT_MARKER},
	[CSV_MESSAGES] = {"messages",
			  "start,end,duration,pid,tid,name,rank,peer,tag,sent,received,datatype,"
			  "communicator,communicator_size,request,state,correlation,"
			  "completed_by" CSV_DEFAULT_COMM},
	[CSV_OTHERS] = {"others", "start,end,duration,pid,tid,domain,name,arguments"},
	[CSV_LOSSES] = {"losses", "start,end,pid,tid,records"},
	[CSV_PROCESSES] = {"processes", "pid,ppid,rank,hostname,exe,command,start,start_realtime,"
					"ended,lost_records,overwritten_records,"
					"lost_definitions,damaged_blocks,"
					"untraced_calls,untimed,clock_error,name,unlisted,"
					"lived,recorded,pauses,filters"},
	[CSV_THREADS] = {"threads", "pid,tid,name,main,lost_records"},
	[CSV_AGENTS] = {"agents", "pid,name,type,vendor,driver,platform,clock_error,label"},
	[CSV_QUEUES] = {"queues", "pid,agent,name,handle,out_of_order,profiling_forced,context"},
	[CSV_OPEN_CALLS] = {"open_calls", "start,pid,tid,domain,name,id,depth"},
	[CSV_UNFINISHED] = {"unfinished",
			    "submit,pid,tid,operation,name,bytes,agent,queue,correlation"},
	[CSV_NOT_RECORDED] = {"not_recorded", "pid,tid,domain,name,calls"},
	[CSV_NOTES] = {"notes", "time,pid,severity,part,text,count"},
};

/* ---- columns ------------------------------------------------------------------------------- */

static void csv_digits(struct csv_out *o, bool negative, uint64_t v)
{
	char *p = output_room(&o->out, OUTPUT_DIGITS + 2), *end = p;

	if (!p)
		return;
	*end = '-';
	end = output_digits(end + negative, v);
	*end++ = ',';
	output_advance(&o->out, (size_t)(end - p));
}

static void csv_cell(struct csv_out *o, const char *s, size_t n)
{
	output_put(&o->out, s, n);
	output_char(&o->out, ',');
}

void csv_bytes(struct csv_out *o, const char *s, size_t n)
{
	if (o->form) {
		o->form->text(o, s, n);
		return;
	}
	if (n)
		output_csv(&o->out, s, n);
	output_char(&o->out, ',');
}

void csv_text(struct csv_out *o, const char *s)
{
	csv_bytes(o, s, strlen(s));
}

void csv_unsigned(struct csv_out *o, uint64_t v)
{
	char text[24];

	if (o->form) {
		snprintf(text, sizeof(text), "%" PRIu64, v);
		o->form->number(o, text);
		return;
	}
	csv_digits(o, false, v);
}

void csv_signed(struct csv_out *o, int64_t v)
{
	char text[24];

	if (o->form) {
		snprintf(text, sizeof(text), "%" PRIi64, v);
		o->form->number(o, text);
		return;
	}
	csv_digits(o, v < 0, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void csv_number(struct csv_out *o, const char *digits)
{
	if (!*digits)
		csv_bytes(o, "", 0);
	else if (o->form)
		o->form->number(o, digits);
	else
		csv_cell(o, digits, strlen(digits));
}

void csv_real(struct csv_out *o, double v)
{
	char text[40];

	snprintf(text, sizeof(text), "%.17g", v);
	if (isfinite(v))
		csv_number(o, text);
	else
		csv_text(o, text);
}

void csv_hex(struct csv_out *o, uint64_t v)
{
	char text[24];

	if (o->form) {
		snprintf(text, sizeof(text), "0x%" PRIx64, v);
		csv_text(o, text);
		return;
	}
	output_hex(&o->out, v);
	output_char(&o->out, ',');
}

kymo_status_t csv_end_row(struct csv_out *o)
{
	if (o->form)
		return o->form->end_row(o);
	o->out.used--; /* the comma after the last column, which is still in the buffer */
	output_put(&o->out, "\r\n", 2);
	return output_status(&o->out);
}

const char *csv_name(enum csv_table table)
{
	return tables[table].name;
}

const char *csv_header(enum csv_table table)
{
	return tables[table].header;
}

/* ---- files --------------------------------------------------------------------------------- */

static kymo_status_t open_table(struct csv_writer *w, unsigned i)
{
	char path[4200];
	kymo_status_t status;

	snprintf(path, sizeof(path), "%s/%s.csv", w->o.output, tables[i].name);
	status = output_open(&w->out[i].out, path, w->o.force, w->o.log);
	if (status == KYMO_OK) {
		output_text(&w->out[i].out, tables[i].header);
		output_put(&w->out[i].out, "\r\n", 2);
	}
	return status;
}

static kymo_status_t close_tables(struct csv_writer *w)
{
	kymo_status_t worst = KYMO_OK;

	for (unsigned i = 0; i < CSV_TABLES; i++) {
		kymo_status_t status = output_close(&w->out[i].out, w->o.log);

		worst = worst == KYMO_OK ? status : worst;
	}
	return worst;
}

static kymo_status_t make_directory(const struct format_options *o)
{
	if (!o->output) {
		stream_error(o->log, "csv is a directory of files: give it a name");
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	return output_folder(o->output, o->force, o->log);
}

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	struct csv_writer *w = csv_writer_of(s);

	w->t = t;
	w->symbols = symbols_new(t, w->o.log);
	w->sites_count = t->sites_count;
	w->sites = calloc((size_t)t->sites_count + 1, sizeof(*w->sites));
	return w->symbols && w->sites ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t end(struct stream_sink *s, const struct trace *t)
{
	struct csv_writer *w = csv_writer_of(s);

	csv_definitions(w);
	return w->form ? w->form->close(w) : close_tables(w);
}

void csv_free(struct stream_sink *s)
{
	struct csv_writer *w = csv_writer_of(s);

	if (!s)
		return;
	if (w->form)
		w->form->release(w);
	else
		close_tables(w);
	symbols_free(w->symbols);
	for (uint32_t i = 0; w->sites && i < w->sites_count; i++)
		free(w->sites[i]);
	free(w->sites);
	text_release(&w->values);
	free(w);
}

static kymo_status_t open_tables(struct csv_writer *w)
{
	kymo_status_t status = make_directory(&w->o);

	for (unsigned i = 0; i < CSV_TABLES && status == KYMO_OK; i++)
		status = open_table(w, i);
	return status;
}

kymo_status_t csv_make(const struct format_options *o, const struct csv_form *form,
		       struct stream_sink **sink)
{
	struct csv_writer *w = calloc(1, sizeof(*w));
	kymo_status_t status;

	*sink = NULL;
	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->o = *o;
	w->form = form;
	w->sink.begin = begin;
	w->sink.end = end;
	w->sink.unplaced = &w->unplaced;
	csv_set_records(&w->sink);
	stream_sink_complete(&w->sink);
	for (unsigned i = 0; i < CSV_TABLES; i++)
		w->out[i] =
			(struct csv_out){.out = {.fd = -1}, .form = form, .writer = w, .table = i};
	status = form ? form->open(w) : open_tables(w);
	if (status != KYMO_OK) {
		csv_free(&w->sink);
		return status;
	}
	*sink = &w->sink;
	return KYMO_OK;
}

static kymo_status_t csv_write(const struct format_options *o, struct stream_sink **sink)
{
	return csv_make(o, NULL, sink);
}

extern const struct format format_csv;
const struct format format_csv = {
	.name = "csv",
	.kinds = FORMAT_KEEPS_EVERYTHING,
	.summary = "a directory with a CSV file for each kind of record (RFC 4180)",
	.suffix = "",
	.write = csv_write,
	.sink_free = csv_free,
};
