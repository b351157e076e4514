# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET ocl_many AND TARGET kymo-synth)
	add_test(NAME cli.overwrite COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/overwrite.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:ocl_many> $<TARGET_FILE:kymo-synth>)
	set_tests_properties(cli.overwrite PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
