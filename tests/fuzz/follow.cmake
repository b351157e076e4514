# SPDX-License-Identifier: Apache-2.0
# As raw.cmake: the fuzzer itself needs clang, build/bin/fuzz_follow tests/fuzz/follow. A look takes longer than reading a
# file: there are fewer rounds.
if(TARGET kymo_follow)
  add_executable(mini_fuzz_follow fuzz/protobuf_fuzz_main.c fuzz/follow_fuzz.c support/memory_file.c)
  target_compile_definitions(mini_fuzz_follow PRIVATE FUZZ_ROUNDS=500)
  target_include_directories(mini_fuzz_follow PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(mini_fuzz_follow PRIVATE kymo_follow)
  file(GLOB follow_corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/follow/*.kyr)
  add_test(NAME fuzz.follow COMMAND mini_fuzz_follow ${follow_corpus})
  set_tests_properties(fuzz.follow PROPERTIES LABELS fuzz TIMEOUT 120
                       ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1)
  if(CMAKE_C_COMPILER_ID MATCHES Clang AND KYMO_SANITIZE MATCHES address)
    add_executable(fuzz_follow fuzz/follow_fuzz.c)
    target_include_directories(fuzz_follow PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_options(fuzz_follow PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_follow PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_follow PRIVATE kymo_follow)
  endif()
endif()
