# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(ranks ${CMAKE_CURRENT_SOURCE_DIR}/unit/ranks_test.c LIBS kymo_base)
