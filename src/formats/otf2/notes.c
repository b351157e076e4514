/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of the recording (what it warns of) as OTF2's markers, which annotate a place and a time. */
#include <stdio.h>

#include "base/hash.h"
#include "formats/otf2/otf2.h"

static OTF2_MarkerSeverity severity_of(uint32_t severity)
{
	return severity >= 3   ? OTF2_SEVERITY_HIGH
	       : severity == 2 ? OTF2_SEVERITY_MEDIUM
			       : OTF2_SEVERITY_LOW;
}

static void write_note(struct otf2 *w, OTF2_MarkerWriter *writer, struct map *kinds,
		       const struct t_note *n)
{
	static const char *const categories[] = {"note", "note", "warning", "error"};
	uint32_t severity = n->severity < 3 ? n->severity : 3;
	uint64_t key = hash_mix(hash_string(n->part ? n->part : ""), severity);
	uint64_t kind = map_get(kinds, key);
	char text[600];
	OTF2_MarkerScope scope =
		n->process ? OTF2_MARKER_SCOPE_LOCATION_GROUP : OTF2_MARKER_SCOPE_GLOBAL;

	if (!kind) {
		kind = kinds->count + 1u;
		if (!map_set(kinds, key, kind))
			archive_check(&w->archive, OTF2_ERROR_MEM_ALLOC_FAILED);
		archive_check(&w->archive,
			      OTF2_MarkerWriter_WriteDefMarker(
				      writer, (uint32_t)kind - 1, n->part ? n->part : "",
				      categories[severity], severity_of(severity)));
	}
	if (n->count > 1)
		snprintf(text, sizeof(text), "%s (%llu times)", n->text ? n->text : "",
			 (unsigned long long)n->count);
	else
		snprintf(text, sizeof(text), "%s", n->text ? n->text : "");
	archive_check(&w->archive,
		      OTF2_MarkerWriter_WriteMarker(
			      writer, otf2_time(n->time ? n->time : w->t->origin), 0,
			      (uint32_t)kind - 1, scope,
			      n->process ? define_process_group(w, n->process) : 0, text));
}

void notes_end(struct otf2 *w)
{
	OTF2_MarkerWriter *writer;
	struct map kinds = {0};

	if (w->t->notes_count <= 1)
		return;
	writer = OTF2_Archive_GetMarkerWriter(w->archive.file);
	if (!writer) {
		archive_check(&w->archive, OTF2_ERROR_FILE_CAN_NOT_OPEN);
		return;
	}
	for (uint32_t i = 1; i < w->t->notes_count; i++)
		write_note(w, writer, &kinds, &w->t->notes[i]);
	archive_check(&w->archive, OTF2_Archive_CloseMarkerWriter(w->archive.file, writer));
	map_release(&kinds);
}
