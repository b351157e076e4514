# SPDX-License-Identifier: Apache-2.0
# Small answers of the command line.
if(TARGET kymo AND TARGET kymo-inject)
	add_test(NAME cli.command_line COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/command_line.py
		$<TARGET_FILE:kymo>)
	set_tests_properties(cli.command_line PROPERTIES LABELS cli TIMEOUT 300)
endif()
