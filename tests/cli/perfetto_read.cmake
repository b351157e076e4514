# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET kymo_format_perfetto AND TARGET kymo-synth AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.perfetto.read COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/perfetto_read.py $<TARGET_FILE:kymo>
	         $<TARGET_FILE:kymo-synth>)
	set_tests_properties(cli.perfetto.read PROPERTIES LABELS cli TIMEOUT 300)
endif()
