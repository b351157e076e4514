# SPDX-License-Identifier: Apache-2.0
# How many rows of the summary's tables are shown, and which names are one row; the pager that shows them.
if(TARGET kymo AND TARGET kymo-inject)
	add_executable(rows_program ${CMAKE_CURRENT_LIST_DIR}/rows_program.c)
	target_include_directories(rows_program PRIVATE ${PROJECT_SOURCE_DIR}/include)
	target_link_libraries(rows_program PRIVATE ${CMAKE_DL_LIBS})
	add_test(NAME cli.rows COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/rows.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:rows_program>)
	set_tests_properties(cli.rows PROPERTIES LABELS cli TIMEOUT 120)
	add_test(NAME cli.pager COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/pager.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:rows_program> $<TARGET_FILE:kymo-synth>)
	set_tests_properties(cli.pager PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
