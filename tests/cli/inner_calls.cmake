# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET ocl_many)
	add_library(inner_calls_tool MODULE ${CMAKE_CURRENT_LIST_DIR}/inner_calls_tool.c)
	target_link_libraries(inner_calls_tool PRIVATE libkymo program_support)
	add_test(NAME cli.inner_calls COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/inner_calls.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:inner_calls_tool> $<TARGET_FILE:ocl_many>)
	set_tests_properties(cli.inner_calls PROPERTIES LABELS cli TIMEOUT 240)
endif()
