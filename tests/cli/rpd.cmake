# SPDX-License-Identifier: Apache-2.0
# RPD read, also damaged and hostile databases; tests/cli/rpd.py.
if(TARGET kymo AND TARGET kymo_format_rpd)
	add_test(NAME cli.rpd COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/rpd.py $<TARGET_FILE:kymo>)
	set_tests_properties(cli.rpd PROPERTIES LABELS cli TIMEOUT 300)
endif()
