SELECT type, agent_name, size, printf('0x%x', address) AS address, start, region_name FROM memory_allocations ORDER BY id
