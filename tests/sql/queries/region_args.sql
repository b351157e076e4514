SELECT id, pid, type, name, value FROM region_args WHERE id = 1 AND type NOT IN ('float', 'double', 'uint64_t')
