# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET heat)
	add_test(NAME cli.args COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/args.py $<TARGET_FILE:kymo> $<TARGET_FILE:heat>)
	set_tests_properties(cli.args PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
