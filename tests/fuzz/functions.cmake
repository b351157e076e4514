# SPDX-License-Identifier: Apache-2.0
# As raw.cmake: the fuzzer itself needs clang, build/bin/fuzz_functions CORPUS_DIR. The corpus is unit/functions_forms.S as libraries, and
# plans of them.
if(TARGET kymo_functions)
  file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/functions/*)
  add_executable(mini_fuzz_functions fuzz/functions_fuzz_main.c fuzz/functions_fuzz.c support/memory_file.c)
  target_include_directories(mini_fuzz_functions PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(mini_fuzz_functions PRIVATE kymo_functions)
  add_test(NAME fuzz.functions COMMAND mini_fuzz_functions ${corpus})
  set_tests_properties(fuzz.functions PROPERTIES LABELS fuzz TIMEOUT 120
                       ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1)
  if(CMAKE_C_COMPILER_ID MATCHES Clang AND KYMO_SANITIZE MATCHES address)
    add_executable(fuzz_functions fuzz/functions_fuzz.c)
    target_compile_options(fuzz_functions PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_functions PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_functions PRIVATE kymo_functions)
  endif()
endif()
