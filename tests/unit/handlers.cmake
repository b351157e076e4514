# SPDX-License-Identifier: Apache-2.0
kymo_unit_test(handlers ${CMAKE_CURRENT_LIST_DIR}/handlers_test.c LIBS kymo_handlers)
