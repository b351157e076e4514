SELECT r.name, r.start AS called, k.name AS kernel, k.start FROM kernels k JOIN regions r ON r.id = k.call_id ORDER BY k.id
