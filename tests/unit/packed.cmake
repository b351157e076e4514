# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(packed ${CMAKE_CURRENT_SOURCE_DIR}/unit/packed_test.c LIBS kymo_base)
