# SPDX-License-Identifier: Apache-2.0
# What options of other profilers are called here; a build for a sanitizer leaves tests out that the pages name.
if(NOT KYMO_SANITIZE AND TARGET kymo)
	add_test(NAME cli.options_map COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/tools/check/options.py
		${PROJECT_SOURCE_DIR}/docs/options $<TARGET_FILE:kymo> ${CMAKE_BINARY_DIR})
	add_test(NAME cli.options_map_planted COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/options_map.py
		${PROJECT_SOURCE_DIR}/tools/check/options.py $<TARGET_FILE:kymo>)
	set_tests_properties(cli.options_map cli.options_map_planted PROPERTIES LABELS cli TIMEOUT 300)
endif()
