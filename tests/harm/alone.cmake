# SPDX-License-Identifier: Apache-2.0
# Kymo preloaded by hand, and Kymo with little room.
if(TARGET kymo AND TARGET kymo-inject)
	add_test(NAME harm.alone COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/alone.py
		$<TARGET_FILE:kymo> $<TARGET_FILE_DIR:kymo-inject>)
	set_tests_properties(harm.alone PROPERTIES LABELS harm TIMEOUT 120)
	if(KYMO_SANITIZE) # the sanitizer's library would have to be preloaded first
		set_tests_properties(harm.alone PROPERTIES DISABLED TRUE)
	endif()
endif()
