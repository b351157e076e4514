# SPDX-License-Identifier: Apache-2.0
# A drain that writes into the memory which a program shares with it: the program must not notice.
if(TARGET kymo AND TARGET kymo-inject)
	add_executable(hostile ${CMAKE_CURRENT_LIST_DIR}/hostile.c)
	target_link_libraries(hostile PRIVATE kymo_wire)
	add_executable(victim ${CMAKE_CURRENT_LIST_DIR}/victim.c)
	target_include_directories(victim PRIVATE ${PROJECT_SOURCE_DIR}/include)
	target_link_libraries(victim PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
	add_test(NAME harm.hostile COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/hostile.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:hostile> $<TARGET_FILE:victim>)
	set_tests_properties(harm.hostile PROPERTIES LABELS harm TIMEOUT 600)
	if(KYMO_SANITIZE) # the sanitizer's library would have to be preloaded first
		set_tests_properties(harm.hostile PROPERTIES DISABLED TRUE)
	endif()
endif()
