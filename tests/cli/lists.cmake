# SPDX-License-Identifier: Apache-2.0
# Lists in all forms; keys in names of traces.
if(TARGET kymo)
	add_test(NAME cli.list_forms COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/list_forms.py $<TARGET_FILE:kymo>)
	set_tests_properties(cli.list_forms PROPERTIES LABELS cli TIMEOUT 120)
	if(TARGET kymo-inject AND NOT KYMO_SANITIZE)
		add_test(NAME cli.keys COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/keys.py $<TARGET_FILE:kymo>)
		add_test(NAME cli.jobs COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/jobs.py $<TARGET_FILE:kymo>)
		set_tests_properties(cli.keys cli.jobs PROPERTIES LABELS cli TIMEOUT 120)
	endif()
endif()
