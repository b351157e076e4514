# SPDX-License-Identifier: Apache-2.0
# Waits of threads for threads: programs that know who waits for whom.
if(TARGET kymo AND TARGET kymo-lock AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE AND OpenCL_FOUND)
  set(folder ${CMAKE_CURRENT_LIST_DIR}/../lock)
  add_executable(lock_program ${folder}/program.c)
  target_link_libraries(lock_program PRIVATE Threads::Threads)
  add_executable(lock_idle_program ${folder}/idle_program.c)
  target_compile_options(lock_idle_program PRIVATE -Wno-deprecated-declarations)
  target_link_libraries(lock_idle_program PRIVATE OpenCL::OpenCL Threads::Threads)
  foreach(what each two kinds idle unasked)
    add_test(NAME cli.lock.${what} COMMAND ${Python3_EXECUTABLE} -B ${folder}/test_locks.py $<TARGET_FILE:kymo>
             $<TARGET_FILE:lock_program> $<TARGET_FILE:lock_idle_program> ${what})
    set_tests_properties(cli.lock.${what} PROPERTIES LABELS cli TIMEOUT 300)
  endforeach()
endif()
