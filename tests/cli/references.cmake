# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET ocl_errors AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.references COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/references.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:ocl_errors>)
	set_tests_properties(cli.references PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
