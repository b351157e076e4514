# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo-manual)
	add_test(NAME cli.manual COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/manual.py
		$<TARGET_FILE:kymo> ${CMAKE_BINARY_DIR}/share)
	set_tests_properties(cli.manual PROPERTIES LABELS cli TIMEOUT 300)
endif()
