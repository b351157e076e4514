# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET kymo_format_ctf AND TARGET kymo-synth AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.ctf COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/ctf.py $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>
	         $<$<TARGET_EXISTS:heat>:$<TARGET_FILE:heat>>)
	set_tests_properties(cli.ctf PROPERTIES LABELS cli TIMEOUT 300)
	add_test(NAME cli.ctf-foreign COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/ctf_foreign.py $<TARGET_FILE:kymo>)
	set_tests_properties(cli.ctf-foreign PROPERTIES LABELS cli TIMEOUT 120)
endif()
