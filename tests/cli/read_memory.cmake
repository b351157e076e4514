# SPDX-License-Identifier: Apache-2.0
# Memory of what reads files without an order of time; tests/cli/read_memory.py.
if(TARGET kymo AND TARGET kymo-synth AND TARGET kymo_format_nsys)
	add_test(NAME cli.read_memory COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/read_memory.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
	set_tests_properties(cli.read_memory PROPERTIES LABELS cli TIMEOUT 300)
endif()
