# SPDX-License-Identifier: Apache-2.0
# The page in a browser; skipped where there is none.
add_test(NAME page.browser COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_page.py)
add_test(NAME page.bundle COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/bundle.py)
if(TARGET kymo_page)
  add_test(NAME page.report COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_report.py $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth>)
  foreach(part data browser)
    add_test(NAME page.comparison.${part} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/comparison.py $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> ${part})
    set_tests_properties(page.comparison.${part} PROPERTIES LABELS page TIMEOUT 900 SKIP_RETURN_CODE 77)
  endforeach()
  set_tests_properties(page.report PROPERTIES LABELS page TIMEOUT 900 SKIP_RETURN_CODE 77)
  if(MICROHTTPD_INCLUDE AND MICROHTTPD_LIBRARY AND TARGET every_kind)
    add_test(NAME page.view COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/test_view.py
      $<TARGET_FILE:kymo> $<TARGET_FILE:kymo-synth> $<TARGET_FILE:every_kind>)
    set_tests_properties(page.view PROPERTIES LABELS page TIMEOUT 900 SKIP_RETURN_CODE 77)
  endif()
endif()
set_tests_properties(page.browser page.bundle PROPERTIES LABELS page TIMEOUT 900 SKIP_RETURN_CODE 77)
