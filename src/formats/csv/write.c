/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CSV format: a directory with a file for each kind of record and of definition, as RFC 4180
 * says (CRLF, quotes where needed), each with a header row. Times are ns since the trace began.
 * Names cannot do harm in a spreadsheet or terminal: plain_add_csv() says how they are escaped.
 */
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

void csv_text(struct output *o, const char *s)
{
	output_csv(o, s, strlen(s));
	output_char(o, ',');
}

void csv_unsigned(struct output *o, uint64_t v)
{
	output_unsigned(o, v);
	output_char(o, ',');
}

void csv_signed(struct output *o, int64_t v)
{
	output_signed(o, v);
	output_char(o, ',');
}

void csv_real(struct output *o, double v)
{
	char text[40];

	snprintf(text, sizeof(text), "%.17g", v);
	csv_text(o, text);
}

void csv_hex(struct output *o, uint64_t v)
{
	output_hex(o, v);
	output_char(o, ',');
}

kymo_status_t csv_end_row(struct output *o)
{
	o->used--; /* the comma after the last column, which is still in the buffer */
	output_put(o, "\r\n", 2);
	return output_status(o);
}

/* ---- files --------------------------------------------------------------------------------- */

static kymo_status_t open_table(struct csv_writer *w, unsigned i)
{
	char path[4200];
	kymo_status_t status;

	snprintf(path, sizeof(path), "%s/%s.csv", w->o.output, tables[i].name);
	status = output_open(&w->out[i], path, w->o.force, w->o.log);
	if (status == KYMO_OK) {
		output_text(&w->out[i], tables[i].header);
		output_put(&w->out[i], "\r\n", 2);
	}
	return status;
}

static kymo_status_t close_tables(struct csv_writer *w)
{
	kymo_status_t worst = KYMO_OK;

	for (unsigned i = 0; i < CSV_TABLES; i++) {
		kymo_status_t status = output_close(&w->out[i], w->o.log);

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
	return w->symbols ? KYMO_OK : KYMO_ERROR_NO_MEMORY;
}

static kymo_status_t end(struct stream_sink *s, const struct trace *t)
{
	struct csv_writer *w = csv_writer_of(s);

	csv_definitions(w);
	return close_tables(w);
}

static void csv_free(struct stream_sink *s)
{
	struct csv_writer *w = csv_writer_of(s);

	if (!s)
		return;
	close_tables(w);
	symbols_free(w->symbols);
	free(w);
}

static kymo_status_t csv_write(const struct format_options *o, struct stream_sink **sink)
{
	kymo_status_t status = make_directory(o);
	struct csv_writer *w = status == KYMO_OK ? calloc(1, sizeof(*w)) : NULL;

	*sink = NULL;
	if (!w)
		return status == KYMO_OK ? KYMO_ERROR_NO_MEMORY : status;
	w->o = *o;
	w->sink.begin = begin;
	w->sink.end = end;
	csv_set_records(&w->sink);
	stream_sink_complete(&w->sink);
	for (unsigned i = 0; i < CSV_TABLES && status == KYMO_OK; i++)
		status = open_table(w, i);
	if (status != KYMO_OK) {
		csv_free(&w->sink);
		return status;
	}
	*sink = &w->sink;
	return KYMO_OK;
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
