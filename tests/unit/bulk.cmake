# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(bulk ${CMAKE_CURRENT_LIST_DIR}/bulk_test.c LIBS kymo_base)
