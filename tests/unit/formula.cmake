# SPDX-License-Identifier: Apache-2.0
if(TARGET kymo_analysis)
  kymo_unit_test(formula unit/formula_test.c LIBS kymo_analysis)
  kymo_unit_test(expression unit/expression_test.c LIBS kymo_analysis)
endif()
