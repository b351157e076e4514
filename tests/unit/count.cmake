# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(count ${CMAKE_CURRENT_SOURCE_DIR}/unit/count_test.c LIBS kymo_core)
