# SPDX-License-Identifier: Apache-2.0
if(KYMO_HAVE_DW)
  kymo_unit_test(symbol_index ${CMAKE_CURRENT_SOURCE_DIR}/unit/symbol_index_test.c LIBS kymo_stream PkgConfig::DW)
endif()
