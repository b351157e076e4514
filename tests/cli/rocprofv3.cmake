# SPDX-License-Identifier: Apache-2.0
# CSV files with rocprofv3's names and columns, against SQL over the same trace.
if(TARGET kymo AND TARGET kymo-inject AND TARGET heat AND TARGET ocl_two AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.rocprofv3 COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/rocprofv3.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> $<TARGET_FILE:heat> $<TARGET_FILE:ocl_two>)
	set_tests_properties(cli.rocprofv3 PROPERTIES LABELS cli TIMEOUT 300)
endif()
