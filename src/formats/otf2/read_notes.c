/* SPDX-License-Identifier: Apache-2.0 */
/* Markers as notes: libotf2 has them in a file of their own, beside the anchor. See reader.h. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/vec.h"
#include "formats/otf2/reader.h"

static OTF2_CallbackCode on_kind(void *data, OTF2_MarkerRef self, const char *group,
				 const char *category, OTF2_MarkerSeverity severity)
{
	struct reader *r = data;

	if (map_get(&r->notes_at, self))
		return OTF2_CALLBACK_SUCCESS;
	if (!vec_reserve(&r->notes, &r->notes_room, r->notes_count, 1) ||
	    !map_set(&r->notes_at, self, r->notes_count + UINT64_C(1))) {
		r->emptied = true;
		return OTF2_CALLBACK_INTERRUPT;
	}
	r->notes[r->notes_count++] =
		(struct note_in){.part = trace_string(r->t, group, strlen(group)),
				 .severity = severity == OTF2_SEVERITY_HIGH     ? 3
					     : severity == OTF2_SEVERITY_MEDIUM ? 2
										: 1};
	return OTF2_CALLBACK_SUCCESS;
}

/* "... (3 times)" of Kymo. */
static size_t take_count(const struct reader *r, const char *text, uint64_t *count)
{
	const char *at = r->kymo ? strrchr(text, '(') : NULL;
	unsigned long long n;
	int end = 0;

	if (!at || at < text + 2 || sscanf(at, "(%llu times)%n", &n, &end) != 1 || !end || at[end])
		return strlen(text);
	*count = n;
	return (size_t)(at - 1 - text);
}

static OTF2_CallbackCode on_marker(void *data, OTF2_TimeStamp time, OTF2_TimeStamp duration,
				   OTF2_MarkerRef kind, OTF2_MarkerScope scope, uint64_t of,
				   const char *text)
{
	struct reader *r = data;
	uint32_t i = otf2r_at(&r->notes_at, kind), g = 0;
	struct t_note n = {.severity = i ? r->notes[i - 1].severity : 1,
			   .part = i ? r->notes[i - 1].part : "",
			   .time = otf2r_time(r, time),
			   .count = 1};
	size_t length = take_count(r, text, &n.count);

	if (scope == OTF2_MARKER_SCOPE_LOCATION_GROUP)
		g = otf2r_at(&r->groups_at, of);
	n.process = g ? r->groups[g - 1].process : 0;
	n.text = trace_string(r->t, text, length);
	*trace_add(r->t, notes) = n;
	return OTF2_CALLBACK_SUCCESS;
}

/* "traces.marker" of "traces.otf2". */
static bool has_markers(const struct reader *r)
{
	struct text name = {0};
	bool is;

	text_add_bytes(&name, r->anchor, strlen(r->anchor) - strlen("otf2"));
	text_add(&name, "marker");
	is = name.s && access(name.s, R_OK) == 0;
	text_release(&name);
	return is;
}

void otf2r_markers(struct reader *r)
{
	OTF2_MarkerReaderCallbacks *c;
	OTF2_MarkerReader *m = has_markers(r) ? OTF2_Reader_GetMarkerReader(r->archive) : NULL;
	uint64_t n;

	if (!m)
		return;
	c = OTF2_MarkerReaderCallbacks_New();
	if (c) {
		OTF2_MarkerReaderCallbacks_SetDefMarkerCallback(c, on_kind);
		OTF2_MarkerReaderCallbacks_SetMarkerCallback(c, on_marker);
		OTF2_Reader_RegisterMarkerCallbacks(r->archive, m, c, r);
		OTF2_Reader_ReadAllMarkers(r->archive, m, &n);
		OTF2_MarkerReaderCallbacks_Delete(c);
	} else {
		r->emptied = true;
	}
	OTF2_Reader_CloseMarkerReader(r->archive, m);
}
