# SPDX-License-Identifier: Apache-2.0
# Call-path profiles for Hatchet against SQL over the same trace.
if(TARGET kymo AND TARGET kymo-inject AND TARGET ocl_two AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
	add_test(NAME cli.caliper COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/caliper.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> $<TARGET_FILE:ocl_two> $<TARGET_FILE:profiles_program>
		$<TARGET_FILE:annotated>)
	set_tests_properties(cli.caliper PROPERTIES LABELS cli TIMEOUT 300)
endif()
