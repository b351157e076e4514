# SPDX-License-Identifier: Apache-2.0
# libfabric: a program that counts for itself, fi_pingpong, Open MPI over it.
find_library(LIBFABRIC_LIBRARY fabric)
mark_as_advanced(LIBFABRIC_LIBRARY)
if(TARGET kymo AND TARGET kymo-libfabric AND LIBFABRIC_LIBRARY AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
  set(folder ${CMAKE_CURRENT_LIST_DIR}/../libfabric)
  add_executable(libfabric_program ${folder}/program.c)
  target_link_libraries(libfabric_program PRIVATE ${LIBFABRIC_LIBRARY})
  foreach(what counted pingpong openmpi unasked looked)
    add_test(NAME cli.libfabric.${what} COMMAND ${Python3_EXECUTABLE} -B ${folder}/test_libfabric.py $<TARGET_FILE:kymo>
             $<TARGET_FILE:libfabric_program> ${what})
    set_tests_properties(cli.libfabric.${what} PROPERTIES LABELS cli TIMEOUT 1200)
  endforeach()
endif()
