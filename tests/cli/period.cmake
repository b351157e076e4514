# SPDX-License-Identifier: Apache-2.0
# Windows of time that repeat, and the end of the program with the last.
if(TARGET kymo AND KYMO_HAVE_SQLITE)
	add_executable(period_program ${CMAKE_CURRENT_LIST_DIR}/period_program.c)
	target_include_directories(period_program PRIVATE ${PROJECT_SOURCE_DIR}/include)
	target_link_libraries(period_program PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
	add_test(NAME cli.period COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/period.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:period_program>)
	add_test(NAME cli.kill_at_end COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/kill_at_end.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:period_program>)
	add_test(NAME cli.recordings COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/recordings.py $<TARGET_FILE:kymo>)
	set_tests_properties(cli.recordings PROPERTIES LABELS cli TIMEOUT 300)
	set_tests_properties(cli.period cli.kill_at_end PROPERTIES LABELS cli TIMEOUT 300)
endif()
