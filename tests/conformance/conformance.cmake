# SPDX-License-Identifier: Apache-2.0
# What every tool is promised, checked over OpenCL and over fake runtimes by one and the same tool.
set(conf ${CMAKE_CURRENT_LIST_DIR})
set(conf_out ${CMAKE_BINARY_DIR}/tests/conformance)
add_library(conformance_tool MODULE ${conf}/tool.c ${conf}/checks.c)
set_target_properties(conformance_tool PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${conf_out})
target_link_libraries(conformance_tool PRIVATE libkymo Threads::Threads)
add_executable(conformance_program ${conf}/program.c)
set_target_properties(conformance_program PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${conf_out})
target_include_directories(conformance_program PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(conformance_program PRIVATE Threads::Threads ${CMAKE_DL_LIBS})

foreach(program fake fake_drops rocm ocl_copies ocl_many ocl_svm ocl_errors ocl_callbacks ocl_poll
        ocl_drops ocl_extensions)
  add_test(NAME conformance.${program}
    COMMAND Python3::Interpreter -B ${conf}/test_conformance.py ${CMAKE_BINARY_DIR} ${program})
  set_tests_properties(conformance.${program} PROPERTIES LABELS conformance TIMEOUT 300
    SKIP_RETURN_CODE 77)
endforeach()
