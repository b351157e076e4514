# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(marker ${CMAKE_CURRENT_LIST_DIR}/marker_test.c LIBS kymo_core)
