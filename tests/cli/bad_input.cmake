# SPDX-License-Identifier: Apache-2.0
# What the commands say to bad input.
if(TARGET kymo AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.bad_input COMMAND ${Python3_EXECUTABLE}
		${CMAKE_CURRENT_LIST_DIR}/bad_input.py $<TARGET_FILE:kymo> $<TARGET_FILE:ocl_poll>)
	set_tests_properties(cli.bad_input PROPERTIES LABELS cli TIMEOUT 120)
endif()
