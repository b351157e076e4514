SELECT agent_id, type, GpuTime, WallTime, round(Busy, 6) AS Busy FROM busy
