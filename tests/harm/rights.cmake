# SPDX-License-Identifier: Apache-2.0
# What the system or the C library does for processes of one thread alone.
if(TARGET kymo AND TARGET kymo-inject AND NOT KYMO_SANITIZE)
  add_test(NAME harm.rights COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/rights.py
    $<TARGET_FILE:kymo>)
  set_tests_properties(harm.rights PROPERTIES LABELS harm TIMEOUT 300)
endif()
