# SPDX-License-Identifier: Apache-2.0
# As raw.cmake: the fuzzer itself needs clang, build/bin/fuzz_containers CORPUS_DIR.
if(KYMO_HAVE_JANSSON)
  add_executable(mini_fuzz_containers fuzz/containers_fuzz_main.c fuzz/containers_fuzz.c)
  target_link_libraries(mini_fuzz_containers PRIVATE kymo_base PkgConfig::JANSSON)
  add_test(NAME fuzz.containers COMMAND mini_fuzz_containers)
  set_tests_properties(fuzz.containers PROPERTIES LABELS fuzz TIMEOUT 120
                       ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1)
  if(CMAKE_C_COMPILER_ID MATCHES Clang AND KYMO_SANITIZE MATCHES address)
    add_executable(fuzz_containers fuzz/containers_fuzz.c)
    target_compile_options(fuzz_containers PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_containers PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_containers PRIVATE kymo_base PkgConfig::JANSSON)
  endif()
endif()
