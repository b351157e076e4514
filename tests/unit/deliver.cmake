# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(deliver ${CMAKE_CURRENT_LIST_DIR}/deliver_test.c LIBS kymo_core)
