# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo)
	add_test(NAME cli.presets COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/presets.py
		$<TARGET_FILE:kymo> ${PROJECT_SOURCE_DIR}/presets)
	set_tests_properties(cli.presets PROPERTIES LABELS cli TIMEOUT 120)
endif()
