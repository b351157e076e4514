# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET kymo_format_xspace AND TARGET kymo_format_chrome AND TARGET kymo-synth AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.xspace.written COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/xspace_written.py $<TARGET_FILE:kymo>
	         $<TARGET_FILE:kymo-synth>)
	add_test(NAME cli.xspace.read COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/xspace_read.py $<TARGET_FILE:kymo>)
	set_tests_properties(cli.xspace.written cli.xspace.read PROPERTIES LABELS cli TIMEOUT 300)
endif()
