# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET ocl_errors AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.questions COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/questions.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:ocl_errors> ${PROJECT_SOURCE_DIR}/docs/questions.md)
	set_tests_properties(cli.questions PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
