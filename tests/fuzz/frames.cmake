# SPDX-License-Identifier: Apache-2.0
# As raw.cmake: the fuzzer itself needs clang, build/bin/fuzz_frames CORPUS_DIR.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_executable(mini_fuzz_frames fuzz/frames_fuzz_main.c fuzz/frames_fuzz.c)
  target_link_libraries(mini_fuzz_frames PRIVATE kymo_core)
  add_test(NAME fuzz.frames COMMAND mini_fuzz_frames)
  set_tests_properties(fuzz.frames PROPERTIES LABELS fuzz TIMEOUT 120
                       ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1)
  if(CMAKE_C_COMPILER_ID MATCHES Clang AND KYMO_SANITIZE MATCHES address)
    add_executable(fuzz_frames fuzz/frames_fuzz.c)
    target_compile_options(fuzz_frames PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_frames PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_frames PRIVATE kymo_core)
  endif()
endif()
