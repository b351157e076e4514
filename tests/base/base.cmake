# SPDX-License-Identifier: Apache-2.0
add_test(NAME base.kymotest COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_kymotest.py)
set_tests_properties(base.kymotest PROPERTIES LABELS unit TIMEOUT 300)
if(TARGET kymo AND TARGET ocl_copies AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE) # else not all of them are there
	add_test(NAME base.quick COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/quick.py ${PROJECT_BINARY_DIR})
	set_tests_properties(base.quick PROPERTIES LABELS unit TIMEOUT 300)
endif()
