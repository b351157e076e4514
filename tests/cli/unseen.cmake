# SPDX-License-Identifier: Apache-2.0
# The true reason where nothing was recorded.
if(TARGET kymo AND TARGET kymo-inject AND TARGET ocl_quick)
	add_test(NAME cli.unseen COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/unseen.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:ocl_quick>)
	set_tests_properties(cli.unseen PROPERTIES LABELS cli TIMEOUT 300)
endif()
