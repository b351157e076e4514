# SPDX-License-Identifier: Apache-2.0
# What is loaded into programs must stay small and harmless; headers must stand alone; what others
# were built against must stay as it is.
# What the compiler read is known from ninja only.
set(layers_build)
if(CMAKE_GENERATOR STREQUAL Ninja)
  set(layers_build ${CMAKE_BINARY_DIR})
endif()
add_test(NAME abi.layers COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/check/layers.py
         ${PROJECT_SOURCE_DIR} ${layers_build})
add_test(NAME abi.layers_planted COMMAND Python3::Interpreter -B
         ${PROJECT_SOURCE_DIR}/tests/abi/test_layers.py ${PROJECT_SOURCE_DIR})
# The linker says nothing of a function that two libraries of a program define.
if(CMAKE_GENERATOR STREQUAL Ninja)
  if(NOT KYMO_SANITIZE AND TARGET kymo AND TARGET test_jit)
    add_test(NAME abi.clashes COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/tools/check/clashes.py ${CMAKE_BINARY_DIR})
    set_tests_properties(abi.clashes PROPERTIES LABELS abi)
  endif()
  add_test(NAME abi.clashes_planted COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/test_clashes.py
           ${PROJECT_SOURCE_DIR}/tools/check/clashes.py ${CMAKE_C_COMPILER})
  set_tests_properties(abi.clashes_planted PROPERTIES LABELS abi)
endif()
# Tests of parts that this build leaves out cannot be found.
if(NOT KYMO_SANITIZE AND TARGET kymo_synth AND TARGET kymo_report AND TARGET kymo_format_json)
  add_test(NAME abi.security_doc COMMAND Python3::Interpreter
           ${PROJECT_SOURCE_DIR}/tools/check/security_doc.py ${PROJECT_SOURCE_DIR}
           ${CMAKE_BINARY_DIR} ${CMAKE_CTEST_COMMAND})
  set_tests_properties(abi.security_doc PROPERTIES LABELS abi)
endif()
if(NOT KYMO_SANITIZE)
  add_test(NAME abi.needed COMMAND Python3::Interpreter
           ${PROJECT_SOURCE_DIR}/tools/check/needed.py $<TARGET_FILE:libkymo>
           $<TARGET_FILE:kymo-inject> $<TARGET_FILE:kymo-register>
           $<TARGET_FILE:kymo-rocprofiler>)
  add_test(NAME abi.relocations COMMAND Python3::Interpreter
           ${CMAKE_CURRENT_LIST_DIR}/relocations.py $<TARGET_FILE:libkymo> 1000 80)
  set_tests_properties(abi.needed abi.relocations PROPERTIES LABELS abi)
endif()
add_test(NAME lint COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/tools/check/lint.py)
# As the sources were compiled, with what is generated. One build is enough. They start first, one after the other, and
# take all processors as long as the tests beside them do not.
if(NOT KYMO_SANITIZE)
  add_test(NAME lint.cppcheck COMMAND nice -n 19 $<TARGET_FILE:Python3::Interpreter> -B
           ${PROJECT_SOURCE_DIR}/tools/check/lint.py --build ${CMAKE_BINARY_DIR} cppcheck)
  add_test(NAME lint.tidy COMMAND nice -n 19 $<TARGET_FILE:Python3::Interpreter> -B
           ${PROJECT_SOURCE_DIR}/tools/check/lint.py --build ${CMAKE_BINARY_DIR} tidy)
  set_tests_properties(lint.cppcheck lint.tidy PROPERTIES LABELS abi TIMEOUT 2400 RESOURCE_LOCK spare_processors)
  set_tests_properties(lint.cppcheck PROPERTIES COST 1000)
  set_tests_properties(lint.tidy PROPERTIES COST 900)
endif()
add_test(NAME abi.lint_planted COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/test_lint.py
         ${PROJECT_SOURCE_DIR}/tools/check/lint.py)
set_tests_properties(lint abi.lint_planted PROPERTIES LABELS abi TIMEOUT 900)
add_test(NAME abi.loader_lock COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/tools/check/loader_lock.py
         ${PROJECT_SOURCE_DIR})
add_test(NAME abi.loader_lock_planted COMMAND Python3::Interpreter -B
         ${PROJECT_SOURCE_DIR}/tools/check/loader_lock.py --planted)
set_tests_properties(abi.loader_lock abi.loader_lock_planted PROPERTIES LABELS abi)
add_test(NAME abi.headers COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/headers.sh
         ${PROJECT_SOURCE_DIR}/include)

add_executable(builtin_ops ${CMAKE_CURRENT_LIST_DIR}/builtin_ops.c)
target_link_libraries(builtin_ops PRIVATE ${CMAKE_DL_LIBS})
if(NOT KYMO_SANITIZE)
  set(abi Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/abi.py)
  set(modules)
  foreach(module kymo-mpi-openmpi kymo-mpi-mpich)
    if(TARGET ${module})
      list(APPEND modules $<TARGET_FILE:${module}>)
    endif()
  endforeach()
  add_test(NAME abi.ops COMMAND ${abi} ops $<TARGET_FILE:builtin_ops> $<TARGET_FILE:libkymo>
           ${modules})
  add_test(NAME abi.check COMMAND ${abi} check ${PROJECT_SOURCE_DIR}/include
           $<TARGET_SONAME_FILE:libkymo> $<TARGET_SONAME_FILE:kymo-register>)
  add_test(NAME abi.detects COMMAND ${abi} detects ${PROJECT_SOURCE_DIR}/include)
  set_tests_properties(abi.ops abi.check abi.detects PROPERTIES LABELS abi TIMEOUT 120
                       SKIP_RETURN_CODE 77)
endif()
set_tests_properties(abi.layers abi.headers PROPERTIES LABELS abi)
# Claims on locks: clang looks at them where it is installed.
add_test(NAME abi.locks COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/check/locks.py
         ${PROJECT_SOURCE_DIR} ${CMAKE_BINARY_DIR})
add_test(NAME abi.locks_planted COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/check/locks.py
         ${PROJECT_SOURCE_DIR})
set_tests_properties(abi.locks abi.locks_planted PROPERTIES LABELS abi TIMEOUT 600 SKIP_RETURN_CODE 77)
