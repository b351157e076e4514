# SPDX-License-Identifier: Apache-2.0
# Files and sockets: a program that counts for itself, programs that others wrote, handlers of signals.
if(TARGET kymo AND TARGET kymo-posix AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
  set(folder ${CMAKE_CURRENT_LIST_DIR}/../posix)
  add_executable(posix_program ${folder}/program.c)
  target_link_libraries(posix_program PRIVATE Threads::Threads)
  # Calls that must fail are made, and none may be another function than it says.
  target_compile_options(posix_program PRIVATE -Wno-stringop-overread -Wno-nonnull -U_FORTIFY_SOURCE -UNDEBUG)
  add_library(posix_preload SHARED ${folder}/preload.c)
  target_link_libraries(posix_preload PRIVATE ${CMAKE_DL_LIBS})
  foreach(what counted handlers programs shell beside unasked together)
    add_test(NAME cli.posix.${what} COMMAND ${Python3_EXECUTABLE} -B ${folder}/test_posix.py $<TARGET_FILE:kymo>
             $<TARGET_FILE:posix_program> $<TARGET_FILE:posix_preload> ${what})
    set_tests_properties(cli.posix.${what} PROPERTIES LABELS cli TIMEOUT 1200)
  endforeach()
endif()
