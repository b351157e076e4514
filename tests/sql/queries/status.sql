SELECT name, status, kymo_status(op, status) AS status_name FROM regions WHERE failed
