# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET kymo-synth AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.hostile_trace COMMAND ${Python3_EXECUTABLE} -B
		${CMAKE_CURRENT_LIST_DIR}/hostile_trace.py $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
	set_tests_properties(cli.hostile_trace PROPERTIES LABELS cli TIMEOUT 1200)
endif()
