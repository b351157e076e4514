SELECT name, calls, total, average, round(percentage, 3) AS percentage, min, max, untimed FROM kernel_summary
