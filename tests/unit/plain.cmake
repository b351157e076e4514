# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(plain ${CMAKE_CURRENT_SOURCE_DIR}/unit/plain_test.c LIBS kymo_base)
