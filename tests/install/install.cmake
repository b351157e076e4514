# SPDX-License-Identifier: Apache-2.0
find_package(OpenCL REQUIRED)
foreach(name leaky patient)
	add_executable(install-${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
	set_target_properties(install-${name} PROPERTIES OUTPUT_NAME ${name}
		RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/install)
	target_compile_definitions(install-${name} PRIVATE CL_TARGET_OPENCL_VERSION=120)
	target_link_libraries(install-${name} PRIVATE OpenCL::OpenCL)
endforeach()
if(TARGET kymo AND TARGET heat AND NOT KYMO_SANITIZE)
	add_test(NAME install.package COMMAND ${Python3_EXECUTABLE}
		${CMAKE_CURRENT_LIST_DIR}/install.py ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR}
		$<TARGET_FILE:heat> $<TARGET_FILE:annotated> ${CMAKE_BINARY_DIR}/tests/install)
	set_tests_properties(install.package PROPERTIES LABELS install TIMEOUT 300)
endif()
