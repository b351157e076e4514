# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo_page)
  kymo_unit_test(page unit/page_test.c LIBS kymo_page)
endif()
