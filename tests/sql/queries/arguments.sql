SELECT id, name, kymo_args(id) AS args FROM regions WHERE kymo_args(id) IS NOT NULL ORDER BY id
