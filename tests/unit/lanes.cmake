# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(lanes ${CMAKE_CURRENT_LIST_DIR}/lanes_test.c LIBS kymo_lanes)
