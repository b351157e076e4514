# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET raw_copy AND TARGET ocl_svm AND TARGET annotated AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.raw_copy COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/raw_copy.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:raw_copy> $<TARGET_FILE:kymo-synth> $<TARGET_FILE_DIR:ocl_svm>)
	set_tests_properties(cli.raw_copy PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
