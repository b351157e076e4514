# SPDX-License-Identifier: Apache-2.0
# Sleeps and polls: a program that knows what it waits for, and a device that idles meanwhile.
if(TARGET kymo AND TARGET kymo-wait AND TARGET lock_idle_program AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
  set(folder ${CMAKE_CURRENT_LIST_DIR}/../wait)
  add_executable(wait_program ${folder}/program.c)
  target_link_libraries(wait_program PRIVATE Threads::Threads)
  # Calls that must fail are made.
  target_compile_options(wait_program PRIVATE -Wno-nonnull -Wno-array-bounds -U_FORTIFY_SOURCE -UNDEBUG)
  foreach(what each two results idle unasked)
    add_test(NAME cli.wait.${what} COMMAND ${Python3_EXECUTABLE} -B ${folder}/test_waits.py $<TARGET_FILE:kymo>
             $<TARGET_FILE:wait_program> $<TARGET_FILE:lock_idle_program> ${what})
    set_tests_properties(cli.wait.${what} PROPERTIES LABELS cli TIMEOUT 300)
  endforeach()
endif()
