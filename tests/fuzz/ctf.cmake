# SPDX-License-Identifier: Apache-2.0
# As raw.cmake: the fuzzer itself needs clang, build/bin/fuzz_ctf tests/fuzz/ctf. Each round is a process and a
# folder: fewer of them than elsewhere.
if(TARGET kymo_format_ctf AND TARGET kymo_format_json)
  add_executable(mini_fuzz_ctf fuzz/protobuf_fuzz_main.c fuzz/ctf_fuzz.c support/memory_file.c)
  target_include_directories(mini_fuzz_ctf PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(mini_fuzz_ctf PRIVATE FUZZ_ROUNDS=100)
  target_link_libraries(mini_fuzz_ctf PRIVATE kymo_format_ctf kymo_format_json)
  file(GLOB ctf_corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/ctf/*.packed)
  add_test(NAME fuzz.ctf COMMAND mini_fuzz_ctf ${ctf_corpus})
  set_tests_properties(fuzz.ctf PROPERTIES LABELS fuzz TIMEOUT 300
                       ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1)
  if(CMAKE_C_COMPILER_ID MATCHES Clang AND KYMO_SANITIZE MATCHES address)
    add_executable(fuzz_ctf fuzz/ctf_fuzz.c support/memory_file.c)
    target_include_directories(fuzz_ctf PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_options(fuzz_ctf PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_ctf PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_ctf PRIVATE kymo_format_ctf kymo_format_json)
  endif()
endif()
