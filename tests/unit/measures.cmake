# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo_analysis)
  kymo_unit_test(measures ${CMAKE_CURRENT_LIST_DIR}/measures_test.c LIBS kymo_analysis)
endif()
