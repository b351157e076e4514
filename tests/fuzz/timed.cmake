# SPDX-License-Identifier: Apache-2.0
# Every fuzz target (mini_fuzz_NAME) for KYMO_FUZZ_SECONDS over its corpus fuzz/NAME. Where the
# compiler has libFuzzer and the tree is built with it (CC=clang, KYMO_SANITIZE=address: make fuzz), that does it.
set(KYMO_FUZZ_SECONDS 5 CACHE STRING "Seconds that each fuzz target runs as a test")

function(kymo_fuzz_for_a_while)
  add_custom_target(fuzz_targets)
  get_property(targets DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(mini ${targets})
    if(NOT mini MATCHES "^mini_fuzz_(.+)$")
      continue()
    endif()
    set(name ${CMAKE_MATCH_1})
    file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/${name}/*)
    if(NOT corpus)
      message(FATAL_ERROR "${mini}: there is no corpus tests/fuzz/${name}")
    endif()
    if(TARGET fuzz_${name})
      add_test(NAME fuzz.${name}.timed COMMAND fuzz_${name} -max_total_time=${KYMO_FUZZ_SECONDS} -timeout=60
               -rss_limit_mb=4096 -print_final_stats=1 ${CMAKE_CURRENT_BINARY_DIR}/fuzz-${name}
               ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/${name})
      file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fuzz-${name}) # what it finds
      add_dependencies(fuzz_targets fuzz_${name})
    else()
      get_target_property(sources ${mini} SOURCES)
      list(FILTER sources EXCLUDE REGEX "_main\\.c$")
      add_executable(timed_fuzz_${name} fuzz/timed_main.c ${sources})
      if(NOT sources MATCHES "memory_file\\.c")
        target_sources(timed_fuzz_${name} PRIVATE support/memory_file.c)
      endif()
      target_include_directories(timed_fuzz_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
      target_link_libraries(timed_fuzz_${name} PRIVATE $<TARGET_PROPERTY:${mini},LINK_LIBRARIES>)
      add_dependencies(fuzz_targets timed_fuzz_${name})
      add_test(NAME fuzz.${name}.timed COMMAND timed_fuzz_${name} ${KYMO_FUZZ_SECONDS} ${corpus})
    endif()
    set_tests_properties(fuzz.${name}.timed PROPERTIES LABELS fuzz TIMEOUT 120 ENVIRONMENT
                         "UBSAN_OPTIONS=halt_on_error=1;ASAN_OPTIONS=allocator_may_return_null=1;LSAN_OPTIONS=print_suppressions=0:suppressions=${CMAKE_CURRENT_SOURCE_DIR}/support/lsan.supp")
    if(KYMO_SANITIZE) # the same inputs take ten to thirty times as long
      set_tests_properties(fuzz.${name} fuzz.${name}.timed PROPERTIES TIMEOUT 900)
    endif()
  endforeach()
endfunction()

# Behind all that is in this folder.
cmake_language(DEFER CALL kymo_fuzz_for_a_while)
