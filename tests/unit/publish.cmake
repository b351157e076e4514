# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(publish ${CMAKE_CURRENT_LIST_DIR}/publish_test.c LIBS kymo_core)
set_tests_properties(unit.publish PROPERTIES ENVIRONMENT TSAN_OPTIONS=die_after_fork=0)
