# SPDX-License-Identifier: Apache-2.0
# With a real runtime below the layer. The argument structures stand alone, as C and as C++.
find_package(OpenCL QUIET)
if(TARGET OpenCL::OpenCL AND TARGET libkymo)
  kymo_unit_test(answer ${CMAKE_CURRENT_LIST_DIR}/answer_test.c LIBS libkymo OpenCL::OpenCL)
  add_dependencies(test_answer opencl_gen)
  target_include_directories(test_answer PRIVATE ${CMAKE_BINARY_DIR}/src/capture/opencl/gen)
  set_tests_properties(unit.answer PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT OPENCL_LAYERS=$<TARGET_FILE:libkymo>)
endif()
add_test(NAME unit.answer_args COMMAND sh -c "for l in 'c c11' 'c++ c++11'; do set -- $l; \
  cc -x $1 -std=$2 -pedantic -Wall -Wextra -Werror -fsyntax-only \
  ${CMAKE_BINARY_DIR}/src/capture/opencl/gen/opencl_args.h || exit 1; done")
set_tests_properties(unit.answer_args PROPERTIES LABELS unit)
