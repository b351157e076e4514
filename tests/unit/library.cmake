# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(library ${CMAKE_CURRENT_SOURCE_DIR}/unit/library_test.c LIBS kymo_base)
