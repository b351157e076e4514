# SPDX-License-Identifier: Apache-2.0
# The protocol of the ring in all orders of its steps; larger worlds: make model.
find_program(KYMO_SPIN spin)
if(KYMO_SPIN)
  add_test(NAME model.ring COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_model.py)
  set_tests_properties(model.ring PROPERTIES LABELS model TIMEOUT 600)
endif()
