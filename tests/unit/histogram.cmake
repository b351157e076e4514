# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo_tally)
  kymo_unit_test(histogram unit/histogram_test.c LIBS kymo_tally)
endif()
