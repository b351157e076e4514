# SPDX-License-Identifier: Apache-2.0
# The page in a browser; skipped where there is none.
add_test(NAME page.browser COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_page.py)
add_test(NAME page.bundle COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/bundle.py)
if(TARGET kymo_page)
  add_test(NAME page.report COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_report.py $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
  set_tests_properties(page.report PROPERTIES LABELS page TIMEOUT 900 SKIP_RETURN_CODE 77)
  if(TARGET hold_open AND TARGET every_kind)
    add_test(NAME page.view COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_view.py
      $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> $<TARGET_FILE:every_kind> $<TARGET_FILE:hold_open>)
    set_tests_properties(page.view PROPERTIES LABELS page TIMEOUT 900 SKIP_RETURN_CODE 77)
  endif()
endif()
set_tests_properties(page.browser page.bundle PROPERTIES LABELS page TIMEOUT 900 SKIP_RETURN_CODE 77)
