# SPDX-License-Identifier: Apache-2.0
# Kymo's own code in stacks: recorded, and shown as one frame.
if(TARGET kymo AND TARGET kymo-posix AND TARGET kymo-heap AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
	add_executable(own_frames_program ${CMAKE_CURRENT_LIST_DIR}/own_frames_program.c)
	target_compile_options(own_frames_program PRIVATE -O1 -fno-builtin -fno-optimize-sibling-calls)
	target_link_libraries(own_frames_program PRIVATE Threads::Threads)
	add_test(NAME cli.own_frames COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/own_frames.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:own_frames_program>)
	set_tests_properties(cli.own_frames PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
