# SPDX-License-Identifier: Apache-2.0
# Roofs: what microkernels do, what is kept, the picture.
if(TARGET kymo_page)
	kymo_unit_test(roofline ${CMAKE_CURRENT_LIST_DIR}/test_roofline.c LIBS kymo_page kymo_roofs)
endif()
