# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo_report)
  kymo_unit_test(cell ${CMAKE_CURRENT_LIST_DIR}/cell_test.c LIBS kymo_report)
endif()
