/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes ROCpd: a SQLite database that has a set of tables for each process, or a folder with a
 * database for each and a list of them, index.yaml. See writer.h.
 */
#include "formats/rocpd/writer.h"
#include "formats/rocpd/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

static struct rocpd *self(struct stream_sink *s)
{
	return (struct rocpd *)s;
}

/* ---- begin ------------------------------------------------------------------------------------- */

/*
 * Rows of threads are their ids, as readers of this format may think that they are; where the system
 * gave an id again, the later one has a number that it gives to none.
 */
static void number_threads(struct rocpd *w, struct map *taken)
{
	const struct trace *t = w->t;

	for (uint32_t i = 1; i < t->threads_count; i++) {
		const struct t_thread *h = &t->threads[i];
		uint64_t key = (uint64_t)h->process << 32 | h->tid;
		bool free = h->tid && !map_get(taken, key) && map_set(taken, key, i);

		w->thread_row[i] = free ? h->tid : (int64_t)((UINT64_C(1) << 32) + i);
		if (h->main && h->process < t->processes_count)
			w->parts[h->process].main = w->thread_row[i];
	}
	for (uint32_t i = 0; i < t->processes_count; i++) {
		if (!w->parts[i].main)
			w->parts[i].main = t->processes[i].pid;
	}
}

static kymo_status_t check_sets(struct rocpd *w)
{
	if (w->folder || w->t->processes_count <= ROCPD_SETS_MAX)
		return KYMO_OK;
	stream_error(w->o.log,
		     "%u processes are more than the views of one ROCpd file can join (%d): write "
		     "a folder, --to rocpd:folder",
		     w->t->processes_count - 1, ROCPD_SETS_MAX);
	return KYMO_ERROR_LIMIT;
}

static kymo_status_t begin(struct stream_sink *s, const struct trace *t)
{
	struct rocpd *w = self(s);
	struct map taken = {0};
	kymo_status_t status;

	w->t = t;
	w->part_count = t->processes_count;
	w->site_count = t->sites_count;
	w->parts = calloc(t->processes_count + 1u, sizeof(*w->parts));
	w->thread_row = calloc(t->threads_count + 1u, sizeof(*w->thread_row));
	w->agent_row = calloc(t->agents_count + 1u, sizeof(*w->agent_row));
	w->site_text = calloc(t->sites_count + 1u, sizeof(*w->site_text));
	w->counter_text = calloc(t->counters_count + 1u, sizeof(*w->counter_text));
	w->symbols = symbols_new(t, w->o.log);
	if (!w->parts || !w->thread_row || !w->agent_row || !w->site_text || !w->counter_text ||
	    !w->symbols)
		return KYMO_ERROR_NO_MEMORY;
	for (uint32_t i = 0; i < t->processes_count; i++) {
		w->parts[i].w = w;
		w->parts[i].process = i;
		part_name(&w->parts[i]);
	}
	number_threads(w, &taken);
	map_release(&taken);
	agents_number(w);
	status = check_sets(w);
	if (status == KYMO_OK && !w->folder && !parts_begin(w))
		status = KYMO_ERROR_SYSTEM;
	return status;
}

/* ---- end --------------------------------------------------------------------------------------- */

/* The views of a file, which are those of one part or of all. */
static bool write_views(struct rocpd *w, sqlite3 *db, const char *const *suffixes, uint32_t count)
{
	struct text sql = {0};
	bool ok;

	rocpd_schema_views(&sql, &w->schema, suffixes, count);
	text_add(&sql, "COMMIT");
	ok = !sql.failed && sqlite3_exec(db, sql.s, NULL, NULL, NULL) == SQLITE_OK;
	text_release(&sql);
	return ok;
}

static kymo_status_t finish_file(struct rocpd *w)
{
	const char **suffixes = calloc(w->t->processes_count + 1u, sizeof(*suffixes));
	struct part *first = NULL;
	uint32_t count = 0;
	bool ok = suffixes != NULL;

	for (uint32_t i = 0; ok && i < w->t->processes_count; i++)
		ok = !w->parts[i].begun || part_flush(&w->parts[i]);
	ok = ok && place_define(&w->one);
	for (uint32_t i = 0; ok && i < w->t->processes_count; i++) {
		if (!w->parts[i].begun)
			continue;
		first = first ? first : &w->parts[i];
		suffixes[count++] = w->parts[i].suffix;
		ok = part_finish(&w->parts[i]);
	}
	if (ok && first && !write_views(w, w->one.db, suffixes, count)) {
		part_error(first);
		ok = false;
	}
	free(suffixes);
	return ok ? KYMO_OK : KYMO_ERROR_SYSTEM;
}

static kymo_status_t write_index(struct rocpd *w)
{
	char path[4300];
	struct output o;
	kymo_status_t status;

	snprintf(path, sizeof(path), "%s/index.yaml", w->path);
	status = output_open(&o, path, true, w->o.log);
	if (status != KYMO_OK)
		return status;
	output_text(&o, "rocprofiler-sdk:\n  rocpd:\n    rocpd_package_version: \"1.0\"\n"
			"    path: \".\"\n    files:\n");
	for (uint32_t i = 0; i < w->t->processes_count; i++) {
		const struct t_process *r = &w->t->processes[i];

		if (!w->parts[i].begun)
			continue;
		output_text(&o, "      - \"");
		output_text(&o, r->hostname);
		output_char(&o, '_');
		output_unsigned(&o, r->pid);
		output_char(&o, '_');
		output_text(&o, w->parts[i].guid);
		output_text(&o, ".db\"\n");
	}
	return output_close(&o, w->o.log);
}

static kymo_status_t finish_folder(struct rocpd *w)
{
	for (uint32_t i = 0; i < w->t->processes_count; i++) {
		struct part *p = &w->parts[i];
		const char *suffix = p->suffix;

		if (!p->begun)
			continue;
		if (!part_flush(p) || !place_define(p->place))
			return part_error(p);
		if (!part_finish(p))
			return KYMO_ERROR_SYSTEM;
		if (!write_views(w, p->place->db, &suffix, 1))
			return part_error(p);
	}
	return write_index(w);
}

static void tell(struct rocpd *w, const struct trace *t)
{
	uint64_t calls = 0;

	for (uint32_t i = 1; i < t->tallies_count; i++)
		calls += t->tallies[i].count;
	unplaced_add(&w->unplaced, "calls and activities that were counted, not recorded,", calls);
	unplaced_add(&w->unplaced, "notes of Kymo's", t->notes_count ? t->notes_count - 1 : 0);
	unplaced_tell(&w->unplaced, w->o.log, "rocpd has no place for");
	agents_tell(w);
	if (w->untimed)
		stream_warn(w->o.log,
			    "rocpd: %" PRIu64
			    " piece%s of device work without device times: of 1 ns "
			    "here, when submitted",
			    w->untimed, plural(w->untimed));
}

static kymo_status_t end(struct stream_sink *s, const struct trace *t)
{
	struct rocpd *w = self(s);
	kymo_status_t status = KYMO_OK;

	w->t = t;
	if (t->processes_count <=
	    1) /* a database needs tables: those of a process that is not known */
		status = part_get(w, 0) ? KYMO_OK : KYMO_ERROR_SYSTEM;
	for (uint32_t i = 1; i < t->processes_count && status == KYMO_OK; i++)
		status = part_get(w, i) ? KYMO_OK : KYMO_ERROR_SYSTEM;
	if (status == KYMO_OK)
		status = w->folder ? finish_folder(w) : finish_file(w);
	if (status == KYMO_OK)
		tell(w, t);
	w->complete = status == KYMO_OK;
	return status;
}

/* ---- the format -------------------------------------------------------------------------------- */

static void rocpd_free(struct stream_sink *s)
{
	struct rocpd *w = self(s);

	if (!s)
		return;
	for (uint32_t i = 0; w->parts && i < w->part_count; i++)
		part_release(&w->parts[i]);
	place_release(&w->one);
	if (!w->complete && !w->folder)
		unlink(w->path);
	for (uint32_t i = 0; w->site_text && i < w->site_count; i++)
		free(w->site_text[i]);
	for (uint32_t i = 0; i < w->kept_count; i++)
		free(w->kept[i]);
	free(w->kept);
	free(w->site_text);
	free(w->counter_text);
	free(w->thread_row);
	free(w->agent_row);
	free(w->parts);
	symbols_free(w->symbols);
	free(w->path);
	free(w);
}

/* "3.0.2", "folder", "folder,3.0.2". */
static bool read_variant(const char *variant, struct rocpd_schema *schema, bool *folder)
{
	char word[16];

	rocpd_schema_parse("3", schema);
	*folder = false;
	while (variant && *variant) {
		size_t n = strcspn(variant, ",");

		if (n >= sizeof(word))
			return false;
		memcpy(word, variant, n);
		word[n] = '\0';
		if (strcmp(word, "folder") == 0)
			*folder = true;
		else if (!rocpd_schema_parse(word, schema))
			return false;
		variant += n + (variant[n] == ',');
	}
	return true;
}

static bool rocpd_variant(const char *variant, bool *folder)
{
	struct rocpd_schema schema;

	return read_variant(variant, &schema, folder);
}

static kymo_status_t prepare_place(struct rocpd *w)
{
	if (w->folder)
		return output_folder(w->path, w->o.force, w->o.log);
	return output_replace(w->path, w->o.force, w->o.log);
}

static kymo_status_t rocpd_write(const struct format_options *o, struct stream_sink **sink)
{
	struct rocpd *w;
	kymo_status_t status;

	if (!o->output) {
		stream_error(o->log, "a ROCpd database is a file: say where with --output");
		return KYMO_ERROR_INVALID_ARGUMENT;
	}
	w = calloc(1, sizeof(*w));
	if (!w)
		return KYMO_ERROR_NO_MEMORY;
	w->o = *o;
	w->path = strdup(o->output);
	w->sink = (struct stream_sink){
		.begin = begin, .end = end, .lists = true, .unplaced = &w->unplaced};
	rocpd_set_records(&w->sink);
	stream_sink_complete(&w->sink);
	status = !w->path || !read_variant(o->variant, &w->schema, &w->folder)
			 ? KYMO_ERROR_INVALID_ARGUMENT
			 : prepare_place(w);
	if (status != KYMO_OK) {
		w->complete = true; /* what is there is not ours */
		rocpd_free(&w->sink);
		return status;
	}
	*sink = &w->sink;
	return KYMO_OK;
}

const struct format format_rocpd = {
	.name = "rocpd",
	.kinds = FORMAT_KEEPS_EVERYTHING,
	.summary = "SQLite database as AMD's rocpd and rocprofv3 have it, schema 3.0.0 to 3.0.3",
	.suffix = ".db",
	.variants = "3 (default), 3.0.1, 3.0.2, 3.0.3; folder (a file a process)",
	.variant = rocpd_variant,
	.probe = rocpd_probe,
	.read = rocpd_read,
	.reads_ordered = true,
	.write = rocpd_write,
	.sink_free = rocpd_free,
};
