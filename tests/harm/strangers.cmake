# SPDX-License-Identifier: Apache-2.0
# Other users of the machine. Needs root, which can be two users.
if(TARGET kymo AND TARGET kymo-inject)
	add_test(NAME harm.strangers COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/strangers.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:victim> $<TARGET_FILE:ocl_sleepy>)
	set_tests_properties(harm.strangers PROPERTIES LABELS harm TIMEOUT 600 SKIP_RETURN_CODE 77)
	if(KYMO_SANITIZE) # the sanitizer's library would have to be preloaded first
		set_tests_properties(harm.strangers PROPERTIES DISABLED TRUE)
	endif()
endif()
