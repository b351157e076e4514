# SPDX-License-Identifier: Apache-2.0
# The launcher does no harm: what a program sees, and how it ends, is as without Kymo.
if(TARGET kymo AND TARGET kymo-inject)
	add_test(NAME harm.run COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/run.py
		$<TARGET_FILE:kymo> $<TARGET_FILE:ocl_sleepy>)
	set_tests_properties(harm.run PROPERTIES LABELS harm TIMEOUT 300)
	if(KYMO_SANITIZE)
		set_tests_properties(harm.run PROPERTIES ENVIRONMENT TEST_SANITIZED=1)
	endif()
endif()
