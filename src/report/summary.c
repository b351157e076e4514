/* SPDX-License-Identifier: Apache-2.0 */
/* The summary at the end of `kymo run`; see analysis/summary.h. */
#include "analysis/device_legend.h"
#include "analysis/summary.h"
#include "report/report.h"

static kymo_status_t print(const struct summary *s, FILE *out)
{
	struct report r = {.top = TABLE_TOP,
			   .more = "kymo summary --all",
			   .people = true,
			   .fold = true,
			   .utf8 = report_utf8()};
	kymo_status_t status = summary_report(&r, s, 1, BY_OP);

	if (status == KYMO_OK && !device_legend(&r, s, 1))
		status = KYMO_ERROR_NO_MEMORY;
	if (status == KYMO_OK && !report_print(&r, REPORT_TEXT, out))
		status = KYMO_ERROR_SYSTEM;
	report_release(&r);
	return status;
}

kymo_status_t summary_print(const char *trace_path, FILE *out, bool *lossy, struct stream_log *log)
{
	struct format_options o = {.log = log};
	struct summary s;
	kymo_status_t status;

	*lossy = true; /* nobody can tell of a trace that cannot be read */
	status = summary_read(&s, trace_path, SUMMARY_ANY, &o);
	if (status != KYMO_OK)
		return status;
	*lossy = summary_lossy(&s, 1);
	if (out)
		status = print(&s, out);
	summary_release(&s);
	return status;
}
