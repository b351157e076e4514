# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(place ${CMAKE_CURRENT_SOURCE_DIR}/unit/place_test.c LIBS kymo_wire)
