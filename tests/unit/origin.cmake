# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(origin ${CMAKE_CURRENT_LIST_DIR}/origin_test.c LIBS kymo_core)
