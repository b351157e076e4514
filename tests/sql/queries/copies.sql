SELECT name, region_name, size, src_agent_type, dst_agent_type, start, duration, queue_name, stack_id FROM memory_copies ORDER BY id
