# SPDX-License-Identifier: Apache-2.0
# Paraver's files, against SQL over the same trace.
if(TARGET kymo AND TARGET kymo-inject AND TARGET heat AND TARGET ocl_two AND TARGET annotated AND KYMO_HAVE_SQLITE)
	add_test(NAME cli.paraver COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/paraver.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> $<TARGET_FILE:heat> $<TARGET_FILE:ocl_two>
		$<TARGET_FILE:annotated> ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
	set_tests_properties(cli.paraver PROPERTIES LABELS cli TIMEOUT 300)
endif()
