# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET kymo_format_chrome AND TARGET every_kind AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.chrome COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/chrome.py $<TARGET_FILE:kymo> $<TARGET_FILE:every_kind>)
	set_tests_properties(cli.chrome PROPERTIES LABELS cli TIMEOUT 300)
endif()
