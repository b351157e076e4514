# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET ocl_many)
	add_library(device_times_tool MODULE ${CMAKE_CURRENT_LIST_DIR}/device_times_tool.c)
	target_link_libraries(device_times_tool PRIVATE libkymo Threads::Threads)
	add_executable(device_times_program ${CMAKE_CURRENT_LIST_DIR}/device_times_program.c)
	target_link_libraries(device_times_program PRIVATE program_support Threads::Threads)
	add_test(NAME cli.device_times COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/device_times.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:device_times_tool> $<TARGET_FILE:device_times_program>)
	set_tests_properties(cli.device_times PROPERTIES LABELS cli TIMEOUT 500 SKIP_RETURN_CODE 77)
endif()
