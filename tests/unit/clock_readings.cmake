# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(clock_readings ${CMAKE_CURRENT_LIST_DIR}/clock_readings_test.c LIBS kymo_core)
