# SPDX-License-Identifier: Apache-2.0
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  kymo_unit_test(handler ${CMAKE_CURRENT_SOURCE_DIR}/unit/handler_test.c LIBS kymo_core)
endif()
