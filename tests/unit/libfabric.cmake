# SPDX-License-Identifier: Apache-2.0
# The backend of libfabric against a fake provider.
if(TARGET kymo_capture_libfabric AND LIBFABRIC_HAS_FLAGS)
  kymo_unit_test(libfabric ${CMAKE_CURRENT_LIST_DIR}/libfabric_test.c LIBS kymo_capture_libfabric)
  target_include_directories(test_libfabric PRIVATE ${LIBFABRIC_HEADERS})
  if(NOT KYMO_SANITIZE) # which have an allocator of their own
    target_compile_definitions(test_libfabric PRIVATE REFUSE)
    target_compile_options(test_libfabric PRIVATE -fno-builtin -Wno-missing-prototypes)
  endif()
endif()
