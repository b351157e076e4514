SELECT o.name, h.low, h.width, h.count FROM histogram h JOIN tally_call t ON t.id = h.row AND h.kind = 'tally_call' JOIN op o ON o.id = t.op ORDER BY t.id, h.bucket
