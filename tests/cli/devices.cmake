# SPDX-License-Identifier: Apache-2.0
# Devices on the command line; tracing alone looks at none of them.
if(TARGET kymo)
	add_test(NAME cli.devices COMMAND ${Python3_EXECUTABLE} -B
		${CMAKE_CURRENT_LIST_DIR}/devices.py $<TARGET_FILE:kymo>)
	set_tests_properties(cli.devices PROPERTIES LABELS cli TIMEOUT 60)
endif()
