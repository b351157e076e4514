# SPDX-License-Identifier: Apache-2.0
# Frames of Python in stacks of samples, where the system's python3 is of a version that they are read of.
if(TARGET kymo AND TARGET kymo-inject AND KYMO_HAVE_SQLITE AND NOT KYMO_SANITIZE AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64"
   AND Python3_VERSION VERSION_GREATER_EQUAL 3.11 AND Python3_VERSION VERSION_LESS 3.14)
	add_executable(python_fake ${CMAKE_CURRENT_LIST_DIR}/python_fake.c)
	target_compile_options(python_fake PRIVATE -O1 -fno-lto)
	set_target_properties(python_fake PROPERTIES ENABLE_EXPORTS ON)
	add_test(NAME cli.python_frames COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/python_frames.py $<TARGET_FILE:kymo>
		${CMAKE_CURRENT_LIST_DIR}/python_frames_program.py ${Python3_EXECUTABLE} $<TARGET_FILE:python_fake>)
	set_tests_properties(cli.python_frames PROPERTIES LABELS cli TIMEOUT 300)
endif()
