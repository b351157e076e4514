# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET accelerator)
	add_executable(publish_late ${CMAKE_CURRENT_LIST_DIR}/publish_late.c)
	target_link_libraries(publish_late PRIVATE libkymo Threads::Threads)
	add_test(NAME cli.publish COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/publish.py
		$<TARGET_FILE:kymo> ${CMAKE_SOURCE_DIR}/tests/golden/perfetto_check.py
		$<TARGET_FILE:accelerator> $<TARGET_FILE:publish_late>)
	set_tests_properties(cli.publish PROPERTIES LABELS cli TIMEOUT 120)
endif()
