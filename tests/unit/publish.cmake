# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(publish ${CMAKE_CURRENT_LIST_DIR}/publish_test.c LIBS kymo_core)
