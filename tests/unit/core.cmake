# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(core ${CMAKE_CURRENT_LIST_DIR}/test_core.c LIBS kymo_core)
