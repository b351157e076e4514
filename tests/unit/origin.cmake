kymo_unit_test(origin ${CMAKE_CURRENT_LIST_DIR}/origin_test.c LIBS kymo_core)
