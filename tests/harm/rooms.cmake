# SPDX-License-Identifier: Apache-2.0
# Drains with little room, with equals on the node, and killed.
if(TARGET kymo AND TARGET kymo-inject)
	add_library(harm_late_greeting SHARED ${CMAKE_CURRENT_LIST_DIR}/late_greeting.c)
	target_compile_options(harm_late_greeting PRIVATE -Wno-missing-prototypes -fvisibility=default)
	target_link_libraries(harm_late_greeting PRIVATE ${CMAKE_DL_LIBS})
	add_test(NAME harm.rooms COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/rooms.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:victim> $<TARGET_FILE:harm_late_greeting>)
	set_tests_properties(harm.rooms PROPERTIES LABELS harm TIMEOUT 900)
	if(KYMO_SANITIZE) # the sanitizer's library would have to be preloaded first
		set_tests_properties(harm.rooms PROPERTIES DISABLED TRUE)
	endif()
endif()
