# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo_functions)
  enable_language(ASM)
  kymo_unit_test(functions ${CMAKE_CURRENT_SOURCE_DIR}/unit/functions_test.c
                 ${CMAKE_CURRENT_SOURCE_DIR}/unit/functions_forms.S LIBS kymo_functions)
endif()
