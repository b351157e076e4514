# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo_sql)
  kymo_unit_test(dbappend ${CMAKE_CURRENT_SOURCE_DIR}/unit/dbappend_test.c LIBS kymo_sql)
endif()
