# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo AND TARGET heat AND NOT KYMO_SANITIZE)
	add_test(NAME install.package COMMAND ${Python3_EXECUTABLE}
		${CMAKE_CURRENT_LIST_DIR}/install.py ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR}
		$<TARGET_FILE:heat>)
	set_tests_properties(install.package PROPERTIES LABELS install TIMEOUT 300)
endif()
