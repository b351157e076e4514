/* SPDX-License-Identifier: Apache-2.0 */
/* The summary at the end of `kymo run`; see analysis/summary.h. */
#include "analysis/summary.h"
#include "report/report.h"

bool summary_tells_losses(const char *trace_path, struct stream_log *log)
{
	struct format_options o = {.log = log};
	struct summary s;
	bool lossy;

	if (summary_read(&s, trace_path, SUMMARY_ANY, &o) != KYMO_OK)
		return false; /* said why */
	lossy = summary_lossy(&s, 1);
	summary_release(&s);
	return lossy;
}

kymo_status_t summary_print(const char *trace_path, FILE *out, struct stream_log *log)
{
	struct format_options o = {.log = log};
	struct report r = {0};
	struct summary s;
	kymo_status_t status = summary_read(&s, trace_path, SUMMARY_ANY, &o);

	if (status != KYMO_OK)
		return status;
	status = summary_report(&r, &s, 1, BY_OP);
	if (status == KYMO_OK && !report_print(&r, REPORT_TEXT, out))
		status = KYMO_ERROR_SYSTEM;
	report_release(&r);
	summary_release(&s);
	return status;
}
