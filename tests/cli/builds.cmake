# SPDX-License-Identifier: Apache-2.0
# Builds by program, with the log of one that failed.
if(TARGET kymo AND TARGET kymo-inject AND TARGET ocl_two)
	add_executable(builds_program ${CMAKE_CURRENT_LIST_DIR}/builds_program.c)
	target_link_libraries(builds_program PRIVATE OpenCL::OpenCL)
	add_test(NAME cli.builds COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/builds.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:builds_program>)
	set_tests_properties(cli.builds PROPERTIES LABELS cli TIMEOUT 120)
endif()
