# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo_synth AND TARGET kymo_report AND TARGET kymo_format_store)
  kymo_unit_test(store ${CMAKE_CURRENT_LIST_DIR}/store_test.c
                 LIBS kymo_synth kymo_report kymo_analysis kymo_format_store m)
endif()
