# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET ocl_calls)
	add_test(NAME cli.seek COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/seek.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:ocl_calls>)
	set_tests_properties(cli.seek PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
