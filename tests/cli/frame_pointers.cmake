# SPDX-License-Identifier: Apache-2.0
# Flame graphs of one program, built without frame pointers and with them.
if(TARGET kymo AND TARGET kymo-inject AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
	enable_language(CXX)
	foreach(kind omit no-omit)
		add_executable(frame_pointers_${kind} ${CMAKE_CURRENT_LIST_DIR}/frame_pointers_program.cc)
		target_compile_options(frame_pointers_${kind} PRIVATE -O2 -f${kind}-frame-pointer -fno-optimize-sibling-calls -fno-lto)
		target_link_libraries(frame_pointers_${kind} PRIVATE Threads::Threads)
	endforeach()
	add_test(NAME cli.frame_pointers COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/frame_pointers.py $<TARGET_FILE:kymo>
		$<TARGET_FILE:frame_pointers_omit> $<TARGET_FILE:frame_pointers_no-omit>)
	set_tests_properties(cli.frame_pointers PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
