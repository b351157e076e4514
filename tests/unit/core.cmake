kymo_unit_test(core ${CMAKE_CURRENT_LIST_DIR}/test_core.c LIBS kymo_core)
