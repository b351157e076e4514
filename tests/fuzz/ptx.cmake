# SPDX-License-Identifier: Apache-2.0
# As raw.cmake: the fuzzer itself needs clang, build/bin/fuzz_ptx CORPUS_DIR. The corpus is PTX written by hand, and fat binaries made of it.
file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/ptx/*)
add_executable(mini_fuzz_ptx fuzz/functions_fuzz_main.c fuzz/ptx_fuzz.c support/memory_file.c)
target_include_directories(mini_fuzz_ptx PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(mini_fuzz_ptx PRIVATE kymo_ptx)
add_test(NAME fuzz.ptx COMMAND mini_fuzz_ptx ${corpus})
set_tests_properties(fuzz.ptx PROPERTIES LABELS fuzz TIMEOUT 120 ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1)
if(CMAKE_C_COMPILER_ID MATCHES Clang AND KYMO_SANITIZE MATCHES address)
  add_executable(fuzz_ptx fuzz/ptx_fuzz.c)
  target_compile_options(fuzz_ptx PRIVATE -fsanitize=fuzzer)
  target_link_options(fuzz_ptx PRIVATE -fsanitize=fuzzer)
  target_link_libraries(fuzz_ptx PRIVATE kymo_ptx)
endif()
