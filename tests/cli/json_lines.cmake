# SPDX-License-Identifier: Apache-2.0
# JSON lines against the JSON document and SQL over the same trace.
if(TARGET kymo AND TARGET kymo-inject AND TARGET ocl_two AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
	add_test(NAME cli.json_lines COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/json_lines.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> $<TARGET_FILE:ocl_two> $<TARGET_FILE:profiles_program>
		$<TARGET_FILE:annotated>)
	set_tests_properties(cli.json_lines PROPERTIES LABELS cli TIMEOUT 300)
endif()
if(TARGET kymo-synth)
	add_test(NAME cli.synth_timed COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/synth_timed.py $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
	set_tests_properties(cli.synth_timed PROPERTIES LABELS cli TIMEOUT 300)
endif()
