SELECT id, name, region, pid, tid, agent_name, queue, start, duration, grid_x, grid_y, workgroup_x, stack_id, queued, submitted, submit, untimed FROM kernels ORDER BY id
