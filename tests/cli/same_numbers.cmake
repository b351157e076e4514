# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND KYMO_HAVE_SQLITE AND TARGET annotated AND TARGET ocl_many AND NOT KYMO_SANITIZE)
	add_test(NAME cli.same_numbers COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/same_numbers.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:annotated> $<TARGET_FILE:ocl_many>
		${PROJECT_SOURCE_DIR}/tests/openmp/regions.c)
	set_tests_properties(cli.same_numbers PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
