# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET ocl_two AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.two_devices COMMAND ${Python3_EXECUTABLE} -B
		${CMAKE_CURRENT_LIST_DIR}/two_devices.py $<TARGET_FILE:kymo> $<TARGET_FILE:ocl_two>
		${CMAKE_CURRENT_SOURCE_DIR}/golden/perfetto_check.py)
	set_tests_properties(cli.two_devices PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
	add_test(NAME cli.parts COMMAND ${Python3_EXECUTABLE} -B
		${CMAKE_CURRENT_LIST_DIR}/parts.py $<TARGET_FILE:kymo> $<TARGET_FILE:ocl_parts>)
	set_tests_properties(cli.parts PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
