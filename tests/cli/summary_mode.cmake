# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET heat AND NOT KYMO_SANITIZE)
	add_test(NAME cli.summary_mode COMMAND ${Python3_EXECUTABLE}
		${CMAKE_CURRENT_LIST_DIR}/summary_mode.py $<TARGET_FILE:kymo>
		${CMAKE_BINARY_DIR}/tests/summary_mode $<TARGET_FILE:heat> $<TARGET_FILE:annotated>
		$<TARGET_FILE:ocl_copies> $<TARGET_FILE:ocl_svm>)
	set_tests_properties(cli.summary_mode PROPERTIES LABELS cli TIMEOUT 120)
endif()
