# SPDX-License-Identifier: Apache-2.0
# Memory of writers that keep something of each record until the end; tests/cli/write_memory.py.
if(TARGET kymo AND TARGET kymo-synth)
	add_test(NAME cli.write_memory COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/write_memory.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
	set_tests_properties(cli.write_memory PROPERTIES LABELS cli TIMEOUT 300)
endif()
