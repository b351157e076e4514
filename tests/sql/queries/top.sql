SELECT name, total_calls, total_duration, round(average, 3) AS average, round(percentage, 3) AS percentage FROM top
