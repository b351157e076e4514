# SPDX-License-Identifier: Apache-2.0
# Handlers that leave calls, and Kymo in them, by siglongjmp().
if(TARGET kymo AND TARGET kymo-posix AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
	add_executable(jumps_program ${CMAKE_CURRENT_LIST_DIR}/jumps_program.c)
	target_link_libraries(jumps_program PRIVATE Threads::Threads)
	add_executable(jumps_steps ${CMAKE_CURRENT_LIST_DIR}/jumps_steps.c)
	target_include_directories(jumps_steps PRIVATE ${PROJECT_SOURCE_DIR}/include)
	target_link_libraries(jumps_steps PRIVATE ${CMAKE_DL_LIBS})
	add_test(NAME cli.jumps COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/jumps.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:jumps_program> $<TARGET_FILE:jumps_steps>)
	set_tests_properties(cli.jumps PROPERTIES LABELS cli TIMEOUT 120)
endif()
