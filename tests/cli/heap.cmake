# SPDX-License-Identifier: Apache-2.0
# Memory of malloc(): a program that knows what it allocates, another allocator, a program with its own.
if(TARGET kymo AND TARGET kymo-heap AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE)
  set(folder ${CMAKE_CURRENT_LIST_DIR}/../heap)
  add_executable(heap_program ${folder}/program.c)
  target_compile_options(heap_program PRIVATE -O2 -fno-builtin)
  target_link_libraries(heap_program PRIVATE Threads::Threads)
  add_executable(heap_own_program ${folder}/own.c)
  target_compile_options(heap_own_program PRIVATE -fno-builtin -fvisibility=default)
  add_library(heap_allocator SHARED ${folder}/allocator.c)
  target_compile_options(heap_allocator PRIVATE -fno-builtin -fvisibility=default)
  set_target_properties(heap_own_program PROPERTIES ENABLE_EXPORTS ON)
  foreach(what exact sampled lost processes beside allocators profiles unasked)
    add_test(NAME cli.heap.${what} COMMAND ${Python3_EXECUTABLE} -B ${folder}/test_heap.py $<TARGET_FILE:kymo>
             $<TARGET_FILE:heap_program> $<TARGET_FILE:heap_own_program> $<TARGET_FILE:heap_allocator> ${what})
    set_tests_properties(cli.heap.${what} PROPERTIES LABELS cli TIMEOUT 300)
  endforeach()
endif()
