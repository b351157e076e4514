# SPDX-License-Identifier: Apache-2.0
# Memory in use over the run, against SQL over the same trace.
if(TARGET kymo AND TARGET kymo-inject AND TARGET heat)
	add_test(NAME cli.curve COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/curve.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:heat>)
	set_tests_properties(cli.curve PROPERTIES LABELS cli TIMEOUT 120)
endif()
