/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OTF2 format: a directory with an archive for the tools that read OTF2 (Vampir, Score-P's, own
 * scripts with its library). docs/otf2.md says how what Kymo records is mapped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/otf2/reader.h"
#include "stream/output.h"
#include "stream/trace.h"

kymo_status_t otf2_status(struct otf2 *w)
{
	const struct archive *a = &w->archive;

	if (!archive_failed(a))
		return KYMO_OK;
	if (a->error == OTF2_ERROR_MEM_ALLOC_FAILED && !a->chunks.error) {
		stream_error(w->log, "%s: out of memory", w->path);
		return KYMO_ERROR_NO_MEMORY;
	}
	stream_error(w->log, "%s: cannot write: %s%s%s", w->path,
		     OTF2_Error_GetDescription(a->error), a->chunks.error ? ": " : "",
		     a->chunks.error ? strerror(a->chunks.error) : "");
	return KYMO_ERROR_SYSTEM;
}

/* ---- the archive as a whole ---------------------------------------------------------------- */

static void describe(struct otf2 *w)
{
	struct archive *a = &w->archive;
	const struct trace *t = w->t;

	archive_check(a, OTF2_Archive_SetCreator(a->file, "Kymo"));
	if (t->command && *t->command)
		archive_check(a, OTF2_Archive_SetDescription(a->file, t->command));
	if (t->hostname && *t->hostname)
		archive_check(a, OTF2_Archive_SetMachineName(a->file, t->hostname));
	archive_check(a, OTF2_Archive_SetProperty(a->file, "OTF2::KYMO::OFFLOAD_MODEL", "1", true));
}

static kymo_status_t on_begin(struct stream_sink *s, const struct trace *t)
{
	struct otf2 *w = otf2_of(s);
	kymo_status_t status;

	w->t = t;
	describe(w);
	status = define_begin(w);
	if (!status && (!host_init(w) || !details_begin(w)))
		status = KYMO_ERROR_NO_MEMORY;
	if (!status)
		status = mpi_begin(w);
	if (!status)
		status = epochs_begin(w);
	if (!status)
		status = openmp_begin(w);
	if (!status)
		status = metrics_begin(w);
	if (!status)
		host_pauses(w);
	return status ? status : otf2_status(w);
}

static void write_clock(struct otf2 *w)
{
	const struct trace *t = w->t;
	int64_t realtime = trace_to_realtime(t);
	uint64_t origin = otf2_time(t->origin), end = otf2_time(t->end);

	archive_check(
		&w->archive,
		OTF2_GlobalDefWriter_WriteClockProperties(
			w->archive.defs, 1000000000u, origin, end > origin ? end - origin : 1,
			realtime ? (uint64_t)(t->origin + realtime) : OTF2_UNDEFINED_TIMESTAMP));
}

/* What the trace says beside records. */
static void count_rest(struct otf2 *w)
{
	const struct trace *t = w->t;

	if (t->tallies_count > 1)
		unplaced_add(&w->unplaced, "rows of tallies", t->tallies_count - 1u);
	if (t->programs_count > 1)
		unplaced_add(&w->unplaced, "programs", t->programs_count - 1u);
}

static kymo_status_t on_end(struct stream_sink *s, const struct trace *t)
{
	struct otf2 *w = otf2_of(s);
	struct numbers n = {0};

	w->t = t;
	queue_end(w);
	rows_end(w);
	metrics_flush(w);
	if (!w->archive.location_count) /* readers want one */
		row_location(w, &w->processes[t->processes_count > 1]);
	write_clock(w);
	define_end(w);
	mpi_end(w, &n);
	openmp_end(w, &n);
	windows_end(w, &n);
	metrics_end(w);
	samples_end(w);
	notes_end(w);
	archive_close(&w->archive);
	count_rest(w);
	unplaced_tell(&w->unplaced, w->log, "OTF2 has no place for");
	w->finished = !archive_failed(&w->archive);
	return otf2_status(w);
}

/* ---- life ---------------------------------------------------------------------------------- */

static void free_rows(struct row *rows, uint32_t count)
{
	for (uint32_t i = 0; rows && i < count; i++)
		row_release(&rows[i]);
	free(rows);
}

static void otf2_free(struct stream_sink *s)
{
	struct otf2 *w = otf2_of(s);

	for (uint32_t i = 0; w->queue_states && i < w->queue_count; i++)
		free(w->queue_states[i].pending);
	free_rows(w->threads, w->thread_count);
	free_rows(w->processes, w->process_count);
	free_rows(w->queues, w->queue_count);
	free_rows(w->agents, w->agent_count);
	free(w->queue_states);
	free(w->op_regions);
	free(w->op_roles);
	free(w->kernel_regions);
	free(w->name_regions);
	free(w->nodes);
	free(w->queue_fields);
	free(w->wait_fields);
	free(w->accelerators);
	free(w->configurations);
	map_release(&w->configuration_places);
	map_release(&w->queue_handles);
	map_release(&w->accelerator_places);
	map_release(&w->node_places);
	windows_release(w);
	mpi_release(w);
	epochs_release(w);
	openmp_release(w);
	metrics_release(w);
	samples_release(w);
	details_release(w);
	archive_release(&w->archive);
	if (w->attributes)
		OTF2_AttributeList_Delete(w->attributes);
	if (w->late)
		OTF2_AttributeList_Delete(w->late);
	free(w->path);
	free(w);
}

static kymo_status_t open_directory(struct otf2 *w, const struct format_options *o)
{
	if (!o->output) {
		stream_error(o->log, "an OTF2 archive is a directory of files: give it a name");
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	w->path = strdup(o->output);
	if (!w->path)
		return KYMO_ERROR_NO_MEMORY;
	if (output_folder(o->output, o->force, o->log) != KYMO_OK)
		return KYMO_ERROR_SYSTEM;
	if (archive_open(&w->archive, o->output, "traces") == KYMO_OK)
		return KYMO_OK;
	stream_error(o->log, "%s: libotf2 cannot make an archive there: %s", o->output,
		     strerror(errno));
	return KYMO_ERROR_SYSTEM;
}

static void set_functions(struct stream_sink *s)
{
	*s = (struct stream_sink){.begin = on_begin,
				  .call = host_call,
				  .dispatch = queue_dispatch,
				  .copy = queue_copy,
				  .allocation = metrics_allocation,
				  .sync = host_sync,
				  .marker = host_marker,
				  .counter = metrics_counter,
				  .comm = mpi_comm,
				  .sample = samples_sample,
				  .device_sample = samples_device_sample,
				  .other = host_other,
				  .loss = host_loss,
				  .open_call = host_open_call,
				  .unfinished = queue_unfinished,
				  .end = on_end,
				  .unplaced = &otf2_of(s)->unplaced};
}

static kymo_status_t otf2_write(const struct format_options *o, struct stream_sink **sink)
{
	struct otf2 *w = calloc(1, sizeof(*w));
	kymo_status_t status;

	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->archive.chunks.fd = -1;
	w->log = o->log;
	w->device_only = o->device_only;
	w->intercomm = o->variant != NULL; /* there is one */
	w->attributes = OTF2_AttributeList_New();
	w->late = OTF2_AttributeList_New();
	set_functions(&w->sink);
	status = w->attributes && w->late ? open_directory(w, o) : KYMO_ERROR_NO_MEMORY;
	if (status) {
		otf2_free(&w->sink);
		return status;
	}
	*sink = &w->sink;
	return KYMO_OK;
}

static bool otf2_variant(const char *variant, bool *folder)
{
	*folder = true;
	return strcmp(variant, "intercomm") == 0;
}

#define STANDARD "OTF2 3.0, "
static const struct format_kind kinds[] = {
	{"dispatch", FORMAT_KEEPS_PART, "numbers of graphs",
	 "no attribute that is agreed on; the launch of a graph is told"},
	{"copy", FORMAT_KEEPS_PART, "numbers of graphs", "likewise"},
	{"allocation", FORMAT_KEEPS_PART, "numbers of allocations",
	 "no attribute that is agreed on; addresses tell them apart"},
	{"sync", FORMAT_KEEPS_PART,
	 "numbers of events waited for; waits for a device that is not told",
	 STANDARD "Event Records: a barrier is of a location"},
	{"comm", FORMAT_KEEPS_PART,
	 "messages of libraries other than MPI outside of recorded calls",
	 STANDARD "MpiSend and its kin are of paradigm MPI; RMA records need a window"},
	{"sample", FORMAT_KEEPS_PART, "samples lost",
	 STANDARD "CallingContextSample: what is lost has no context"},
	{"device_sample", FORMAT_KEEPS_PART, "samples of kernels lost",
	 STANDARD "CallingContextSample, likewise"},
	{"*", FORMAT_KEEPS_ALL, NULL, NULL},
	{0}};

extern const struct format format_otf2;
const struct format format_otf2 = {
	.name = "otf2",
	.summary = "OTF2 archives: of Score-P and others read, for Vampir and Score-P's tools "
		   "written (a directory; libotf2)",
	.suffix = "",
	.variants = "intercomm (OTF2 3.0's own definition of intercommunicators)",
	.variant = otf2_variant,
	.needs_order = true,
	.probe = otf2_probe,
	.read = otf2_read,
	.kinds = kinds,
	.write = otf2_write,
	.sink_free = otf2_free,
};
