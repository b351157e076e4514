# SPDX-License-Identifier: Apache-2.0
add_test(NAME base.kymotest COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_kymotest.py)
set_tests_properties(base.kymotest PROPERTIES LABELS unit TIMEOUT 300)
