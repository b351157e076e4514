# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo_analysis)
  kymo_unit_test(intervals unit/intervals_test.c LIBS kymo_analysis)
endif()
