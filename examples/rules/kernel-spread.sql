-- SPDX-License-Identifier: Apache-2.0
-- A rule of a site: kymo diagnose --rules examples/rules TRACE (docs/diagnose.md).
-- id: kernel-spread
-- what: executions of one kernel and size take far longer than its others
-- threshold: 5 %
-- why: a few slow executions are what any machine does
-- cost: what executions that take twice the mean of their kernel and size, or more, take longer than that
-- text: {count} of {executions} executions of {name} take twice their mean of {mean_ns} or more, {gain_ns} too long
-- try: see what the device did meanwhile (kymo run --telemetry): clocks, temperature, other processes
WITH usual AS (
	SELECT name, agent_name, grid_x, grid_y, grid_z, count(*) AS executions, avg(duration) AS mean
	FROM kernels WHERE duration > 0 GROUP BY 1, 2, 3, 4, 5 HAVING executions >= 20)
SELECT k.name, u.executions, u.mean AS mean_ns, count(*) AS count,
	sum(k.duration - u.mean) AS gain_ns, min(k.start) AS start_ns, max(k."end") AS end_ns,
	k.agent_name AS place,
	printf('the longest takes %.1f times the mean', max(k.duration) / u.mean) AS evidence
FROM kernels k JOIN usual u ON u.name = k.name AND u.agent_name IS k.agent_name
	AND u.grid_x IS k.grid_x AND u.grid_y IS k.grid_y AND u.grid_z IS k.grid_z
WHERE k.duration >= 2 * u.mean
GROUP BY k.name, k.agent_name, k.grid_x, k.grid_y, k.grid_z
ORDER BY gain_ns DESC;
