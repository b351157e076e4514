# SPDX-License-Identifier: Apache-2.0
# Exports of Nsight Systems read, also damaged and hostile ones; tests/cli/nsys.py.
if(TARGET kymo AND TARGET kymo_format_nsys)
	add_test(NAME cli.nsys COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/nsys.py $<TARGET_FILE:kymo>)
	set_tests_properties(cli.nsys PROPERTIES LABELS cli TIMEOUT 300)
endif()
